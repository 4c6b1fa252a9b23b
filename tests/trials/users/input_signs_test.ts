// What a model does for want of a value that its simulated user has yet to tell.

import { assertEquals } from "@std/assert";
import type { ExpectedCall } from "../../../lib/tools/expected_call.ts";
import type { JsonObject } from "../../../lib/base/json.ts";
import type { ScriptedReply } from "../../../lib/models/scripted.ts";
import type { ToolUser } from "../../../lib/trials/users/user.ts";
import { anyOf, anything } from "../../../lib/calls/expected/matchers.ts";
import { calls, saying, talk } from "../../support/conversations.ts";

const RIGHT = { order: "ORD-1234", day: "2026-12-24", count: 40, reason: "unneeded", sure: true };
const EXPECTED: ExpectedCall[] = [{ tool: "cancel_order", arguments: RIGHT }];
const SCENARIO =
  "He cancels 40 chairs of his order ORD-1234 of 2026-12-24, which he needs no more. He is Ann Smith.";
const TOLD = "Cancel 40 of order ORD-1234 of 2026-12-24.";
const VAGUE = "Cancel it.";
const cancel = (more: JsonObject = {}) => calls("cancel_order", { ...RIGHT, ...more });
const find = (person: string) => calls("find_orders", { person });
const person = (value: ExpectedCall["arguments"]): ExpectedCall[] => [
  { tool: "find_orders", arguments: value! },
];
const ask = { text: "Which order is it?" };
const shall = { text: "Shall I?" };

/** What he says, what the model does before it is done, which behaviours that shows, and what else the test has. */
type Row = readonly [
  says: readonly string[],
  script: readonly ScriptedReply[],
  signs?: string,
  more?: Partial<ToolUser> & { readonly expected?: readonly ExpectedCall[] },
];

async function check(rows: Readonly<Record<string, Row>>) {
  for (const [name, [says, script, signs = "", more]] of Object.entries(rows)) {
    const { expected = EXPECTED, ...user } = more ?? {};
    const own = { scenario: SCENARIO, ...user, model: saying(...says) };
    const trial = await talk([...script, { text: "It is done." }], own, {
      expected,
      system: "Orders of 2025 are EX-2025.",
    });
    const shown = trial.behaviours.filter((sign) => /user|input/.test(sign)).join("+");
    assertEquals([trial.outcome, shown], ["solved", signs], name);
  }
}

Deno.test("behaviours() tell whether a model asked for what a user had yet to tell, or made it up", async () => {
  const other = cancel({ order: "ORD-7777" });
  const both = { calls: [...find("Ann").calls!, ...cancel().calls!] };
  const whom = { expected: person({ person: anyOf("Ann Smith", "A. Smith") }) };
  await check({
    "asked": [[VAGUE, TOLD], [ask, cancel()], "asked_user"],
    "made up": [[VAGUE], [other], "assumed_input"],
    "guessed": [[VAGUE], [cancel()], "assumed_input"],
    "made up, then asked": [[VAGUE, TOLD], [other, ask, cancel()], "asked_user+assumed_input"],
    "written before the result": [[VAGUE], [both], "assumed_input"],
    "a name, or another form of it": [[TOLD, "Ann Smith"], [ask, find("Bo")], "asked_user", whom],
    "a question in Arabic": [["Hi."], [{ text: "ما رقم الطلب؟" }], "asked_user"],
  });
});

Deno.test("behaviours() blame no model for values that were told, found or worded otherwise", async () => {
  const other = cancel({ order: "ORD-7777" });
  const soon = cancel({ day: "2026-12-01", count: 12 });
  const some = person({ person: anything() });
  const ann = person({ person: "Ann Smith" });
  const loose = [{ tool: "cancel_order", arguments: { reason: "unneeded", sure: true } }];
  const before = [{ role: "user", content: TOLD }, { role: "assistant", content: "Oh." }] as const;
  await check({
    "told at once": [[TOLD, "Yes."], [shall, cancel()]],
    "another one was told": [["Cancel ORD-7777."], [other]],
    "in other words": [["Forty (40) of ord 1234 of 24.12.2026", "Yes"], [shall, cancel()]],
    "a day and a number in words": [["Cancel a dozen of ORD-1234, of tomorrow."], [soon]],
    "in the history": [[TOLD, "Go on.", "Yes."], [shall, cancel()], "", { history: before }],
    "found by a tool": [["I am Ann Smith: cancel 40."], [find("Ann Smith"), soon]],
    "inflected": [["Ann Smithin"], [find("Ann Smith")], "", { expected: ann }],
    "an example of the tool": [[VAGUE], [cancel({ order: "EX-55" })]],
    "an example of the system text": [[VAGUE], [cancel({ order: "EX-2025" })]],
    "what he does not know": [[VAGUE, "I do not."], [ask, other], "", { scenario: "He cancels." }],
    "a call that is not needed": [["Hi."], [find("Bob")]],
    "any value": [["Hi."], [ask, find("Bob")], "", { expected: some }],
    "choices of a set": [["Hi."], [ask, cancel({ reason: "mistake" })], "", { expected: loose }],
    "asked after all was done": [[TOLD], [cancel(), { text: "Anything else?" }]],
    "an address": [["Hi."], [{ text: "See https://shop.example/?order" }]],
    "right calls are not known": [["Hi."], [ask], "", { expected: [] }],
  });
});
