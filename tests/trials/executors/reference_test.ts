import { assertEquals, assertMatch, assertNotEquals, assertRejects } from "@std/assert";
import { InputError } from "../../../lib/base/errors.ts";
import { scripted, type ScriptedReply } from "../../../lib/models/scripted.ts";
import { assertAnswer } from "../../../lib/testing/assertions/runs.ts";
import { tool } from "../../../lib/tools/define_tool.ts";
import { SERVED } from "../../../lib/tools/tool.ts";
import { caseOpener } from "../../../lib/trials/executors/case.ts";
import { caseDigest, type ToolCase } from "../../../lib/trials/executors/tool_case.ts";
import { runTrial } from "../../../lib/trials/run_trial.ts";
import type { Trial } from "../../../lib/trials/trial.ts";

class Order {
  status = "open";
  constructor(readonly total: number) {}
}
const shop = () => ({
  orders: new Map([["A7", new Order(1234.5)], ["B1", new Order(5)]]),
  log: new Set<string>(),
  at: new Date(0),
});
type Shop = ReturnType<typeof shop>;

/** Tools that refund, wait forever, throw, and return an error. */
const tools = (state: Shop) => [
  tool({
    name: "refund",
    description: "Refunds an order",
    parameters: {
      type: "object",
      properties: { order: { type: "string" } },
      required: ["order"],
    },
    execute({ order }) {
      const one = state.orders.get(`${order}`);
      if (order === "X") throw new Error("the shop is closed");
      if (one === undefined) return { error: "no such order" };
      one.status = "refunded";
      state.log.add(`${order}`);
      return { refunded: one.total };
    },
  }),
];
const refund = (order: string) => ({ tool: "refund", arguments: { order } });
const replies = (order: string, text: string): ScriptedReply[] => [
  { calls: [{ name: "refund", arguments: { order } }] },
  { text },
];
const CASE: ToolCase<Shop> = {
  ...{ name: "refunds", state: shop, tools, prompt: "Refund order A7." },
  reference: { calls: [refund("A7")] },
};

/** Runs trials of a case one after another, as a run does. */
async function tryAll<State = Shop>(
  own: Partial<ToolCase<State>>,
  scripts: readonly ScriptedReply[][] = [replies("A7", "You get $1,234.50 back.")],
): Promise<Trial[]> {
  const open = caseOpener(() => ({ ...CASE, ...own }) as ToolCase<State>);
  const trials: Trial[] = [];
  for (const [seed, script] of scripts.entries()) {
    trials.push(await runTrial({ case: "refunds", seed }, scripted("script", script), { open }));
  }
  return trials;
}
const messages = ({ events }: Trial) =>
  events.flatMap((event) => event.kind === "assertion" ? [event.message] : []);

Deno.test("a reference decides by the state, whichever calls led to it; all that fails is told at once", async () => {
  const twice = [...replies("A7", "").slice(0, 1), ...replies("A7", "1234.5")];
  const wrong = replies("B1", "You get $11,234.50.");
  const [once, again, other, none] = await tryAll({
    communicate: [["sum", "1234.5"]],
    assert: (run) => assertAnswer(run, "back"),
  }, [replies("A7", "$1,234.50 back"), twice, wrong, [{ text: "Sum: back" }]]);
  assertEquals(once!.outcome, "solved");
  assertEquals([again!.outcome, messages(again!).length], ["wrong_answer", 1]);
  assertMatch(messages(again!)[0]!, /^The answer is not /);
  assertMatch(
    messages(other!).join(),
    new RegExp(
      "^The state is not that of the reference: 3 differences\\.\n" +
        '  orders\\.A7\\.status: reference "refunded", after "open"\n' +
        '  orders\\.B1\\.status: reference "open", after "refunded"\n' +
        '  log\\[0\\]: reference "A7", after "B1"\n' +
        "No text of the model says what it must:\n" +
        '  "sum" or "1234\\.5"\n  the last is "You get \\$11,234\\.50\\."\nThe answer is not ',
    ),
  );
  assertMatch(
    messages(none!).join(),
    /^The state .*: 2 differences\.\n.*\n {2}log\[0\]: reference "A7", after none$/,
  );
});

Deno.test("a reference runs once, on a state and tools of its own that go again", async () => {
  const log: string[] = [];
  const made = <Value extends object>(name: string, value: Value) => {
    log.push(`+${name}`);
    return Object.assign(value, { [Symbol.dispose]: () => void log.push(`-${name}`) });
  };
  const own: Partial<ToolCase<Shop>> = {
    state: () => made("state", shop()),
    tools: (state) => made("tools", tools(state)),
    prompt: () => (log.push("prompt"), "Refund A7."),
  };
  const snapshot = ({ orders }: Shop) => Promise.resolve({ orders });
  const reference = { ...CASE.reference!, snapshot };
  const trials = await tryAll({ ...own, reference }, Array(2).fill(replies("A7", "Done.")));
  assertEquals(trials.map(({ outcome }) => outcome), ["solved", "solved"]);
  const once = ["+state", "+tools", "-tools", "-state"];
  const trial = once.toSpliced(2, 0, "prompt");
  assertEquals(log, [...once, ...trial, ...trial]);
  // To plan or to look at a case runs nothing.
  const digest = caseDigest({ ...CASE, ...own, reference });
  caseOpener(() => ({ ...CASE, ...own, reference }))({ case: "refunds", seed: 1 });
  assertEquals(log.length, 14);
  for (
    const changed of [{ calls: [refund("B1")], snapshot }, {
      ...reference,
      snapshot: () => 1,
    }]
  ) {
    assertNotEquals(caseDigest({ ...CASE, ...own, reference: changed }), digest);
  }
  assertNotEquals(caseDigest({ ...CASE, ...own, reference, communicate: ["1"] }), digest);
});

Deno.test("a reference that cannot be run or compared is an error, and no verdict on the model", async () => {
  const shared = shop();
  const calls = [refund("A7")];
  let times = 0;
  const rows: [own: Partial<ToolCase<Shop>>, message: RegExp][] = [
    [
      { reference: { calls: [refund("A7"), refund("Z")] } },
      /^Cannot run the reference of tool test refunds as each of its calls must succeed: call 2, refund\({"order":"Z"}\): no such order$/,
    ],
    [{ reference: { calls: [refund("X")] } }, /call 1, .*: the shop is closed$/],
    [{ reference: { calls: [{ tool: "refund" }] } }, /call 1, refund\({}\): .* required property/],
    [{ reference: { calls: [{ tool: "pay" }] } }, /there is no tool pay, but refund$/],
    [
      { tools: (state) => tools(state).map((one) => ({ ...one, [SERVED]: true as const })) },
      /Cannot use reference as its tools must be functions of your own.*: refund is a tool of a server$/,
    ],
    [
      {
        state() {
          throw new Error("no shop");
        },
      },
      /its state and its tools must be made: set-up failed: state threw Error .*: no shop$/,
    ],
    [
      { reference: { calls, snapshot() {} } },
      /must be data that can be compared, .*: there is none$/,
    ],
    [
      {
        reference: {
          calls,
          snapshot() {
            throw new Error("gone");
          },
        },
      },
      /its snapshot must return what is compared: threw Error .*: gone$/,
    ],
    [
      { state: () => Object.assign(shop(), { rows: new Uint8Array(3), find() {} }) },
      /must be data that can be compared, .*: rows: 3 bytes$/,
    ],
    [{ state: () => Object.assign(shop(), { rows: Array(20_000).fill(0) }) }, /: it is too large$/],
    // What the reference or a trial has left in place would decide in the model's stead.
    [
      { state: () => shared },
      /Cannot compare tool test refunds with its reference as state must make the same state each time, .*: orders\.A7\.status: reference "open", trial "refunded"$/,
    ],
    [
      { state: () => ({ ...shop(), at: new Date(times++) }) },
      /: at: reference 1970.*Z, trial 1970/,
    ],
  ];
  for (const [own, message] of rows) {
    const { message: told } = await assertRejects(() => tryAll(own), InputError);
    assertMatch(told, message);
  }
});

Deno.test("what a model leaves cannot hide from the reference, nor a snapshot that fails on it", async () => {
  const hiding = (state: Shop) => [{
    ...tools(state)[0]!,
    execute: () => Promise.resolve(String(Object.assign(state, { more: new Uint8Array(1) }))),
  }];
  const [hidden] = await tryAll({ tools: hiding, reference: { calls: [] } });
  assertMatch(
    messages(hidden!).join(),
    /^The state is not that .*\n {2}more: reference none, after /,
  );
  const snapshot = ({ orders, log }: Shop) => {
    if (log.has("B1")) throw new TypeError("no B1");
    return orders;
  };
  const reference = { ...CASE.reference!, snapshot };
  const [failed] = await tryAll({ reference }, [replies("B1", "Done.")]);
  assertEquals(failed!.outcome, "wrong_answer");
  assertMatch(
    messages(failed!).join(),
    /^reference\.snapshot of the state after the trial threw TypeError .*no B1$/,
  );
});
