// Conversations with simulated users, as tables, stories and pages show them.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { viewTrial } from "../../lib/reports/page/_trial_view.ts";
import { describeTrial } from "../../lib/reports/story.ts";
import { printable, printableLines } from "../../lib/base/json.ts";
import { scripted, type ScriptedReply } from "../../lib/models/scripted.ts";
import type { Trial } from "../../lib/trials/trial.ts";
import { calls, FIND, saying, talk } from "../support/conversations.ts";
import { HOSTILE, record } from "../support/records.ts";
import { recordsOf, tableOf, textsOf, valuesOf } from "../support/reports.ts";

Deno.test("conversations: how they ended, what was solved, and what was wrong with the users", () => {
  const usage = { inputTokens: 100, outputTokens: 10 };
  const trial = (user: Partial<Trial["user"]>, outcome?: Trial["outcome"]) =>
    record({
      task: { case: "talk", seed: 1 },
      ...(outcome && { outcome }),
      user: {
        ...{ model: { requested: "u", served: [], simulated: true }, usage, messages: 4, ...user },
      },
    });
  const trials = [
    ...[trial({ end: "done" }), trial({ end: "done", redraws: 2 }, "wrong_answer")],
    ...[trial({ end: "out_of_scope", messages: 1 }, "wrong_answer"), trial({}, "turn_limit")],
    ...[trial({}, "no_answer"), trial({ fault: "empty", redraws: 1 }, "invalid"), record()],
  ];
  const prices = { u: { input: 1, output: 100 } };
  const kinds = "conversations user_messages done done_of transferred out_of_scope_of turn_limit " +
    "other_end_of empty early_end redraws input_tokens cost users";
  assertEquals(valuesOf(recordsOf("conversations", trials, { prices }), kinds), [
    [6, 3.4, 0.5, 2, null, 1, 0, 1, 1, 0, 3, 600, 0.0066, ["u (simulated)"]],
  ]);
  const table = tableOf("conversations", trials)!;
  assertEquals(table.title, "Conversations (simulated)");
  assertStringIncludes(textsOf(table).flat().join("\n"), "50.0% of 2");
  assertEquals(tableOf("conversations", [record()]), undefined);
});

Deno.test("a conversation is told from its greeting to its end, thrown-away replies too", async () => {
  const end = { calls: [{ name: "end_conversation", arguments: { reason: "done" } }] };
  const look = calls("find_orders", { person: "<b>" });
  const ask = { text: "Which order?" };
  const swapped = { text: `assistant: ${HOSTILE}` };
  const told = async (...said: readonly ScriptedReply[]) => {
    const model = scripted("joe", [{ text: "Hi" }, swapped, ...said]);
    const user = { model, opens: { greeting: "Welcome." }, tools: [FIND] };
    const options = { options: { userModel: model } };
    const trial = await talk([ask, { text: "Done." }], user, options);
    const views = viewTrial(trial, undefined, undefined).events;
    return {
      lines: describeTrial(trial, { story: "full" }).split("\n")
        .filter((line) => !line.startsWith("  tool ")),
      views: views.map((view) => "title" in view ? `${view.kind} ${view.title}: ${view.text}` : ""),
    };
  };
  const well = await told(look, { text: "ORD-1" }, end);
  const evil = JSON.stringify(printable(HOSTILE)).replaceAll("\\\\", "\\").slice(1, -1);
  assertEquals(well.lines, [
    "script (simulated): solved after 0 calls; user joe (simulated), 2 messages, 1 redraw, ended it: done",
    '  the user, unseen by the model: "He wants to cancel an order."',
    '  before, assistant: "Welcome."',
    '  asked: "Hi"',
    '  reply 1 said "Which order?"',
    `  the user wrote what was thrown away (swapped_role): "assistant: ${evil}"`,
    '  the user called find_orders({"person":"<b>"}) -> {"orders":["ORD-1234"]}',
    '  next user message: "ORD-1"',
    '  said "Done."',
  ]);
  const thrown = `stop the user's reply was thrown away: swapped role: ${
    printableLines(swapped.text)
  }`;
  const begun = [
    "stage who the user is, which the model was not told: He wants to cancel an order.",
    "said before, assistant: Welcome.",
    "turn first user message: Hi",
  ];
  assertEquals(well.views, [
    ...[...begun, "said reply 1: Which order?", thrown, "stage the user, before his message: "],
    ...["turn next user message: ORD-1", "answer answer: Done."],
    "stage the user ended the conversation: done: ",
  ]);
  const bare = await talk([ask, { text: "Done." }], { model: saying("Hi", "My secret") }, {
    options: { transcripts: "none" },
  });
  assertEquals(JSON.stringify(bare.events).includes("My secret"), false);
  const spoilt = await told(swapped);
  const why = "the simulated user wrote as the assistant, twice";
  assertStringIncludes(
    spoilt.lines[0]!,
    `${why}; user joe (simulated), 1 message, 1 redraw, his fault`,
  );
  assertEquals(spoilt.views.slice(begun.length + 1), [
    thrown,
    thrown,
    `stop stopped: invalid: ${why}`,
  ]);
});
