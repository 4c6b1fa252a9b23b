import { assert, assertEquals, assertRejects } from "@std/assert";
import {
  repairArguments,
  type RepairedArguments,
  type RepairRequest,
} from "../../../lib/trials/strategies/repair.ts";
import type { Message } from "../../../lib/tools/message.ts";
import type { ModelReply } from "../../../lib/models/model.ts";
import type { Limited } from "../../../lib/trials/agent/session.ts";
import fc from "../../support/fast_check.ts";

const LIMIT: Limited = { kind: "time_limit", message: "over" };

type Said = Partial<Pick<ModelReply, "text" | "calls">>;

function reply({ text = "", calls = [] }: Said): ModelReply {
  const usage = { inputTokens: 0, outputTokens: 0 };
  return { text, calls, finish: "stop", usage, served: "s", duration: 0, repairs: [] };
}

/** Mends by what is said in turn; arguments are right when they are `{"x":1}`. */
async function mended(
  says: readonly (Said | Limited)[],
  more: Partial<RepairRequest> = {},
): Promise<{ done: RepairedArguments | Limited; asked: Message[][]; refused: string[] }> {
  const asked: Message[][] = [];
  const refused: string[] = [];
  const done = await repairArguments({ id: "1", name: "f", arguments: "{}" }, {
    schema: { type: "object" },
    error: "x is missing",
    messages: [{ role: "user", content: "Do f" }],
    prompt: "{name} {arguments} {errors} {schema} {other}",
    attempts: 3,
    ask: (messages) => {
      asked.push([...messages]);
      const said = says[Math.min(asked.length, says.length) - 1]!;
      return Promise.resolve("kind" in said ? said : reply(said));
    },
    refuse: ({ arguments: written }) => {
      refused.push(written);
      return written === '{"x":1}' ? undefined : `not ${written}`;
    },
    ...more,
  });
  return { done, asked, refused };
}

Deno.test("repairArguments() asks until the arguments are right, each time with what is wrong now", async () => {
  const { done, asked, refused } = await mended([
    { text: "Hm." },
    { text: '{"x":2}' },
    { calls: [{ id: "1", name: "f", arguments: '{"x":1}' }] },
  ]);
  assertEquals(done, { attempts: 3, call: { id: "1", name: "f", arguments: '{"x":1}' } });
  assertEquals(refused, ['{"x":2}', '{"x":1}']);
  const schema = '{"type":"object"} {other}';
  assertEquals(asked.map((messages) => messages.length), [3, 5, 7]);
  assertEquals(asked[2]!.map(({ content }) => content), [
    "Do f",
    "f({})",
    `f {} x is missing ${schema}`,
    "f({})",
    `f {} The reply held no arguments ${schema}`,
    'f({"x":2})',
    `f {"x":2} not {"x":2} ${schema}`,
  ]);
});

Deno.test("repairArguments() gives up after as many attempts as it has", async () => {
  for (const attempts of [1, 2, 5]) {
    const { done, asked } = await mended([{ text: "{}" }], { attempts });
    assertEquals([done, asked.length], [{ attempts }, attempts]);
  }
  const { done, asked } = await mended([{ text: '{"x":1}' }], { attempts: 0 });
  assertEquals([done, asked], [{ attempts: 0 }, []]);
});

Deno.test("repairArguments() ends with a limit that is reached, and with an error that is thrown", async () => {
  const { done, asked } = await mended([{ text: "{}" }, LIMIT]);
  assertEquals([done, asked.length], [LIMIT, 2]);
  const ask = () => Promise.reject(new RangeError("no network"));
  await assertRejects(() => mended([{}], { ask }), RangeError, "no network");
});

Deno.test("repairArguments() takes nothing from a hostile reply but arguments that are right", async () => {
  const deep = '{"a":'.repeat(10_000) + "1" + "}".repeat(10_000);
  const pieces = fc.constantFrom(
    ...["{", "}", '"x"', ":", "1", '"name"', '"f"', '"arguments"', ",", " ", deep, "__proto__"],
  );
  await fc.assert(
    fc.asyncProperty(fc.array(pieces, { maxLength: 12 }), async (words) => {
      const { done } = await mended([{ text: words.join("") }], { attempts: 1 });
      assert(!("kind" in done));
      if (done.call !== undefined) assertEquals(done.call.arguments, '{"x":1}');
    }),
    { examples: [[['{"name":"f","arguments":{"x":1}}']], [[deep]]] },
  );
});
