// What a model does for want of a value that its simulated user has yet to tell.

import { assertEquals } from "@std/assert";
import type { ExpectedCall } from "../../../lib/tools/expected_call.ts";
import type { JsonObject } from "../../../lib/base/json.ts";
import type { ScriptedReply } from "../../../lib/models/scripted.ts";
import type { ToolUser } from "../../../lib/trials/users/user.ts";
import { anyOf, anything } from "../../../lib/calls/expected/matchers.ts";
import { calls, CANCEL, saying, talk } from "../../support/conversations.ts";

const RIGHT = { order: "ORD-1234", day: "2026-12-24", count: 40, reason: "unneeded", sure: true };
const SCENARIO =
  "He cancels 40 chairs of his order ORD-1234 of 2026-12-24, which he needs no more. He is Ann Smith.";
const cancel = (more: JsonObject = {}) => calls("cancel_order", { ...RIGHT, ...more });
const EXPECTED: ExpectedCall[] = [{ tool: "cancel_order", arguments: RIGHT }];
const BOTH = [{ tool: "find_orders", arguments: { person: "Ann Smith" } }, ...EXPECTED];
const ask = (text = "Which order is it?"): ScriptedReply => ({ text });
const DONE: ScriptedReply = { text: "It is cancelled." };

interface SignCase {
  readonly script: readonly ScriptedReply[];
  readonly says: readonly string[];
  readonly expected?: readonly ExpectedCall[];
  readonly user?: Partial<ToolUser>;
}

/** The behaviours of a conversation that are about inputs: `asked` and `assumed`. */
async function signsOf({ script, says, expected = EXPECTED, user }: SignCase): Promise<string> {
  const trial = await talk(script, { scenario: SCENARIO, ...user, model: saying(...says) }, {
    expected,
    system: "Orders of 2025 are EX-2025.",
  });
  return trial.behaviours.filter((sign) => /user|input/.test(sign)).join("+") || trial.outcome;
}

const TOLD = "Cancel 40 of order ORD-1234 of 2026-12-24.";

Deno.test("behaviours() tell whether a model asked for what a user had yet to tell, or made it up", async () => {
  const table: Record<string, [expected: string, one: SignCase]> = {
    "asked": ["asked_user", { script: [ask(), cancel(), DONE], says: ["Cancel it.", TOLD] }],
    "made up": ["assumed_input", {
      script: [cancel({ order: "ORD-7777" }), DONE],
      says: ["Cancel it."],
    }],
    "guessed": ["assumed_input", { script: [cancel(), DONE], says: ["Cancel it."] }],
    "made up, then asked": ["asked_user+assumed_input", {
      script: [cancel({ order: "ORD-7777" }), ask(), cancel(), DONE],
      says: ["Cancel it.", TOLD],
    }],
    "made up in a step before the result": ["assumed_input", {
      script: [
        { calls: [...calls("find_orders", { person: "Ann" }).calls!, ...cancel().calls!] },
        DONE,
      ],
      says: ["Cancel it."],
    }],
    "a name that he has yet to tell": ["asked_user", {
      script: [ask("Who are you?"), calls("find_orders", { person: "Ann Smith" }), cancel(), DONE],
      says: [TOLD, "Ann Smith"],
      expected: BOTH,
    }],
    "any of several": ["asked_user", {
      script: [ask("Who are you?"), DONE],
      says: ["Hello."],
      expected: [{ tool: "find_orders", arguments: { person: anyOf("Ann Smith", "A. Smith") } }],
    }],
    "a question in Arabic": ["asked_user", { script: [ask("ما رقم الطلب؟"), DONE], says: ["Hi."] }],
  };
  for (const [name, [expected, one]] of Object.entries(table)) {
    assertEquals(await signsOf(one), expected, name);
  }
});

Deno.test("behaviours() blame no model for values that were told, found or worded otherwise", async () => {
  const wrong = { order: "ORD-7777" };
  const table: Record<string, SignCase> = {
    "told at once": { script: [ask("Shall I?"), cancel(), DONE], says: [TOLD, "Yes."] },
    "another one was told": { script: [cancel(wrong), DONE], says: ["Cancel ORD-7777."] },
    "in other words": {
      script: [ask("Shall I?"), cancel({ day: "2026-12-31" }), DONE],
      says: ["Forty chairs (40) of ord 1234 of 24.12.2026", "Yes"],
    },
    "a day and a number in words": {
      script: [cancel({ day: "2026-12-01", count: 12 }), DONE],
      says: ["Cancel a dozen of ORD-1234, of tomorrow."],
    },
    "in the history": {
      script: [ask("Shall I?"), cancel(), DONE],
      says: [TOLD, "Go on.", "Yes."],
      user: { history: [{ role: "user", content: TOLD }, { role: "assistant", content: "Oh." }] },
    },
    "found by a tool": {
      script: [calls("find_orders", { person: "Ann Smith" }), cancel({ day: "2026-12-01" }), DONE],
      says: ["I am Ann Smith: cancel 40."],
    },
    "an inflected name": {
      script: [calls("find_orders", { person: "Ann Smith" }), DONE],
      says: ["Ann Smithin tilaus"],
      expected: [BOTH[0]!],
    },
    "the example of the tool, and the system's": {
      script: [cancel({ order: "EX-55" }), cancel({ order: "EX-2025" }), DONE],
      says: ["Cancel it."],
    },
    "what he does not know": {
      script: [ask(), cancel(wrong), DONE],
      says: ["Cancel it.", "I do not know."],
      user: { scenario: "He wants to cancel an order." },
    },
    "a call that is not needed": {
      script: [calls("find_orders", { person: "Bob" }), DONE],
      says: ["Hi."],
    },
    "any value": {
      script: [ask(), calls("find_orders", { person: "Bob" }), DONE],
      says: ["Hi."],
      expected: [{ tool: "find_orders", arguments: { person: anything() } }],
    },
    "choices, and what is not required": {
      script: [ask(), cancel({ reason: "mistake", note: "by phone" }), DONE],
      says: ["Hi."],
      expected: [{
        tool: "cancel_order",
        arguments: { reason: "unneeded", sure: true, note: "he needs no more" },
      }],
    },
    "asked after all was done": { script: [cancel(), ask("Anything else?"), DONE], says: [TOLD] },
    "an address": { script: [ask("See https://shop.example/?order"), DONE], says: ["Hi."] },
    "right calls are not known": { script: [ask(), DONE], says: ["Hi."], expected: [] },
  };
  for (const [name, one] of Object.entries(table)) {
    assertEquals(await signsOf(one), "solved", name);
  }
});
