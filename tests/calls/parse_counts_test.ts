import { assert, assertEquals } from "@std/assert";
import { parsesOf, sumRepairs } from "../../lib/calls/parse_counts.ts";
import type { ReplyEvent, TraceEvent } from "../../lib/calls/trace.ts";
import { HOSTILE, STEERING } from "../support/records.ts";

function reply(traits: Partial<ReplyEvent> = {}): ReplyEvent {
  const numbers = { request: 1, calls: 1, inputTokens: 1, outputTokens: 1, durationMs: 1 };
  return { kind: "reply", text: "", ...numbers, ...traits };
}

Deno.test("parsesOf() counts replies of the loop that attempt calls, by how they could be read", () => {
  const events: TraceEvent[] = [
    reply({ parsed: "strict" }),
    reply({ parsed: "strict" }),
    reply({ parsed: "repaired", repairs: ["single quotes"] }),
    reply({ parsed: "unreadable" }),
    // No calls were attempted, or not by the loop.
    reply({ calls: 0, repairs: ["single quotes"] }),
    reply({ parsed: "unreadable", stage: "plan" }),
    { kind: "answer", text: "", value: null },
  ];
  assertEquals(parsesOf(events), {
    strict: 2,
    repaired: 1,
    unreadable: 1,
    repairs: [{ repair: "single quotes", replies: 1 }],
  });
});

Deno.test("parsesOf() is nothing where no reply tells, as in older journals", () => {
  assertEquals(parsesOf([]), undefined);
  assertEquals(parsesOf([reply(), reply({ repairs: ["call 1 had no id"] })]), undefined);
});

Deno.test("parsesOf() counts a kind of repair once a reply, whichever calls had it", () => {
  const repairs = ["call 1 had no id", "call 2 had no id", "call 12 had no end"];
  assertEquals(
    parsesOf([
      reply({ parsed: "repaired", repairs }),
      reply({ parsed: "repaired", repairs: repairs.slice(0, 1) }),
    ])!.repairs,
    [
      { repair: "call N had no id", replies: 2 },
      { repair: "call N had no end", replies: 1 },
    ],
  );
});

Deno.test("parsesOf() takes an id that was taken already for the same kind of repair", () => {
  const given = (id: string) => reply({ parsed: "repaired", repairs: [`call 1 was given ${id}`] });
  assertEquals(
    parsesOf([given("call_1"), given("call_1_2"), given("call_1_12_3"), given("call_1_")])!.repairs,
    [
      { repair: "call N was given call_N", replies: 3 },
      { repair: "call N was given call_N_", replies: 1 },
    ],
  );
});

Deno.test("parsesOf() keeps repairs short and few, with nothing in them that steers a terminal", () => {
  const letters = "abcdefghijklmnopqrstuvwxyz";
  const repairs = [...letters].flatMap((one) => [...letters].map((other) => one + other));
  const many = parsesOf([reply({ parsed: "repaired", repairs })])!;
  assertEquals(many.repairs.length, 20);
  const [long, hostile] = ["x".repeat(1e6), HOSTILE];
  const odd = parsesOf([reply({ parsed: "repaired", repairs: [long, hostile, "__proto__"] })])!;
  assertEquals(odd.repairs.length, 3);
  for (const { repair } of odd.repairs) {
    assert(repair.length <= 100);
    assert(!STEERING.test(repair));
  }
});

Deno.test("sumRepairs() puts the commonest first, and equals in the order of their letters", () => {
  assertEquals(
    sumRepairs([
      { repair: "b", replies: 1 },
      { repair: "c", replies: 2 },
      { repair: "a", replies: 1 },
      { repair: "b", replies: 1 },
    ]),
    [{ repair: "b", replies: 2 }, { repair: "c", replies: 2 }, { repair: "a", replies: 1 }],
  );
});
