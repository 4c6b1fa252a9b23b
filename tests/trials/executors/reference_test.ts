import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import { InputError } from "../../../lib/base/errors.ts";
import { scripted, type ScriptedReply } from "../../../lib/models/scripted.ts";
import { assertAnswer } from "../../../lib/testing/assertions/runs.ts";
import { tool } from "../../../lib/tools/define_tool.ts";
import { SERVED } from "../../../lib/tools/tool.ts";
import { caseOpener } from "../../../lib/trials/executors/case.ts";
import { caseDigest, type ToolCase } from "../../../lib/trials/executors/tool_case.ts";
import { runTrial } from "../../../lib/trials/run_trial.ts";

class Order {
  status = "open";
}
const shop = () => ({
  orders: new Map([["A7", new Order()], ["B1", new Order()]]),
  log: new Set<unknown>(),
  at: new Date(0),
});
type Shop = ReturnType<typeof shop>;

const ORDER = { type: "object", properties: { order: {} }, required: ["order"] };
const tools = ({ orders, log }: Shop) => [
  tool({
    ...{ name: "refund", description: "Refunds an order", parameters: ORDER },
    execute({ order }) {
      const one = orders.get(`${order}`);
      if (one === undefined) return { error: "no such order" };
      one.status = "refunded";
      log.add(order);
      return "done";
    },
  }),
];
const refund = (order: string) => ({ tool: "refund", arguments: { order } });
const CALLS = [refund("A7")];
const raise = (text: string) => () => {
  throw new TypeError(text);
};

/** Runs trials of a case one after another, as a run does; returns how they ended, and what failed. */
async function tryAll(
  own: Partial<ToolCase<Shop>>,
  said: readonly string[][] = [["A7", "You get $1,234.50 back."]],
): Promise<string[]> {
  const rest = { state: shop, tools, prompt: "Refund A7.", reference: { calls: CALLS } };
  const open = caseOpener((): ToolCase<Shop> => ({ name: "refunds", ...rest, ...own }));
  const ends: string[] = [];
  for (const [order, text = ""] of said) {
    const call = { name: "refund", arguments: { order: order! } };
    const replies: ScriptedReply[] = [...order === "" ? [] : [{ calls: [call] }], { text }];
    const model = scripted("script", replies);
    const { outcome, events } = await runTrial({ case: "refunds", seed: 1 }, model, { open });
    const failed = events.flatMap((one) => one.kind === "assertion" ? [one.message] : []);
    ends.push([outcome, ...failed].join(": "));
  }
  return ends;
}

Deno.test("a reference decides by the state that is left; all that fails is told at once", async () => {
  const assert: ToolCase<Shop>["assert"] = (run) => assertAnswer(run, "back");
  const said = [["A7", "$1,234.50 back"], ["B1", "$11,234.50."], ["", "1234.5"]];
  const [right, wrong, none] = await tryAll({ communicate: [["sum", "1234.5"]], assert }, said);
  assertEquals(right, "solved");
  const lines = wrong!.split("\n").slice(0, 9);
  assertMatch(lines.pop()!, /^The answer is not /);
  assertEquals(lines, [
    'wrong_answer: The state differs in 3 places: orders.A7.status: reference "refunded", after "open"',
    '  orders.B1.status: reference "open", after "refunded"',
    '  log[0]: reference "A7", after "B1"',
    "",
    "No text of the model says what it must:",
    '  "sum" or "1234.5"',
    '  the last is "$11,234.50."',
    "",
  ]);
  assertMatch(none!, /in 2 places: .*\n {2}log\[0\]: .* "A7", after none\n\nThe answer is not/);
});

Deno.test("a reference runs once, on a state and tools of its own that go again; to plan runs nothing", async () => {
  const log: string[] = [];
  const made = <Value extends object>(name: string, value: Value) => {
    log.push(`+${name}`);
    return Object.assign(value, { [Symbol.dispose]: () => void log.push(`-${name}`) });
  };
  const own = {
    ...{ name: "refunds", prompt: "Refund A7." },
    state: () => made("state", shop()),
    tools: (state: Shop) => made("tools", tools(state)),
    reference: { calls: CALLS, snapshot: ({ orders }: Shop) => Promise.resolve({ orders }) },
  };
  assertEquals(await tryAll(own, [["A7", "Done."], ["A7", "Done."]]), ["solved", "solved"]);
  const once = ["+state", "+tools", "-tools", "-state"];
  assertEquals(log, [...once, ...once, ...once]);
  caseOpener(() => own)({ case: "refunds", seed: 1 });
  const { snapshot } = own.reference;
  const changed = [{ calls: [refund("B1")], snapshot }, { calls: CALLS }, own.reference];
  const others = changed.map((reference) => caseDigest<Shop>({ ...own, reference }));
  const said = caseDigest({ ...own, communicate: ["1"] });
  assertEquals([log.length, new Set([...others, said]).size], [12, 4]);
});

Deno.test("a reference that cannot be run or compared is an error, and no verdict on the model", async () => {
  const shared = shop();
  let times = 0;
  const more = (rows: unknown) => ({ state: () => Object.assign(shop(), { rows, find() {} }) });
  const served = (state: Shop) => tools(state).map((one) => ({ ...one, [SERVED]: true as const }));
  const rows: [own: Partial<ToolCase<Shop>>, message: RegExp][] = [
    [
      { reference: { calls: [...CALLS, refund("Z")] } },
      /^Cannot run the reference of tool test refunds as each of its calls must succeed: call 2, refund\({"order":"Z"}\): no such order$/,
    ],
    [{ reference: { calls: [{ tool: "refund" }] } }, /call 1, refund\({}\): .* required property/],
    [
      { reference: { calls: [{ tool: "pay" }] } },
      /there is no tool pay, but refund; calls of the user have by: "user"$/,
    ],
    [
      { reference: { calls: [{ ...refund("A7"), by: "user" }] } },
      /call 1, refund\(.*\): .* no .*refund/,
    ],
    [{ tools: served }, /functions of your own, .* copy: refund is a tool of a server$/],
    [{ state: raise("no shop") }, /must be made: set-up failed: state threw .*: no shop$/],
    [{ reference: { calls: CALLS, snapshot() {} } }, /must be data .*: there is none$/],
    [{ reference: { calls: CALLS, snapshot: raise("gone") } }, /snapshot must .*threw .*: gone$/],
    [more(new Uint8Array(3)), /must be data that can be compared, .*: rows: 3 bytes$/],
    [more(Array(20_000).fill(0)), /: it is too large$/],
    // What the reference or a trial has left in place would decide in the model's stead.
    [
      { state: () => shared },
      /Cannot compare tool test refunds with its reference as state must make the same state each time, .*: orders\.A7\.status: reference "open", trial "refunded"$/,
    ],
    [{ state: () => ({ ...shop(), at: new Date(times++) }) }, /: at: reference 1970.*, trial 1970/],
  ];
  for (const [own, message] of rows) {
    assertMatch((await assertRejects(() => tryAll(own), InputError)).message, message);
  }
});

Deno.test("what a model leaves cannot hide from the reference, nor be spared by a snapshot that fails on it", async () => {
  const execute = ({ log }: Shop) => () => Promise.resolve(`${log.add(new Uint8Array(1))}`);
  const hiding = (state: Shop) => tools(state).map((one) => ({ ...one, execute: execute(state) }));
  const [hidden] = await tryAll({ tools: hiding, reference: { calls: [] } });
  assertMatch(
    hidden!,
    /: The state differs: log\[0\]: reference none, after \[1 bytes\]$/,
  );
  const snapshot = ({ log, orders }: Shop) => log.has("B1") ? raise("no B1")() : orders;
  const [failed] = await tryAll({ reference: { calls: CALLS, snapshot } }, [["B1", ""]]);
  assertMatch(failed!, /: reference\.snapshot of the state after the trial threw .*: no B1$/);
  // The user's tools change the same state.
  const user = { model: () => ({ end: "done" as const }), scenario: "You run the shop.", tools };
  const calls = [...CALLS, { ...refund("B1"), by: "user" as const }];
  const [missed] = await tryAll({ user, reference: { calls } });
  assertMatch(
    missed!,
    /: The state differs in 2 places: orders\.B1\.status: .*\n {2}log\[1\]: .*, after none$/,
  );
});
