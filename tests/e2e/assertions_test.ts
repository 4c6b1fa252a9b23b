// Assertions as users meet them: tool tests in a project of their own, with judges, turns and calls that must never
// happen; what `deno test` prints of them, also to GitHub, and what their journals keep.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import type { Trial } from "../../lib/trials/trial.ts";
import { folder, ROOT, start } from "../support/child.ts";

const MOD = JSON.stringify(`file://${ROOT}/mod.ts`);

const FILE = `import {
  askJudges, assertAnswer, assertCalled, assertNever, assertNoCalls, judge, scripted, tool, toolSuite, toolTest,
} from ${MOD};
import { z } from "zod";

const find = tool({
  name: "find_order", description: "Finds an order",
  parameters: z.object({ order: z.string() }), returns: { cents: 1200 },
});
const refund = tool({
  name: "refund", description: "Pays back",
  parameters: z.object({ order: z.string(), cents: z.int() }), returns: "done",
});
const drop = tool({
  name: "delete_account", description: "Deletes it", parameters: z.object({}), returns: "done",
});
const tools = [find, refund, drop];
const own = { name: "find_order", arguments: { order: "A1" } };
const pay = { name: "refund", arguments: { order: "A1", cents: 1200 } };
const rate = (text: string) => ({
  calls: [{ name: "rate", arguments: {
    polite: { reason: /sorry/.test(text) ? "It apologizes." : "::error::It is curt.", score: /sorry/.test(text) ? 5 : 2 },
    complete: { reason: "It names the sum.", score: 4 },
  } }],
  usage: { inputTokens: 40, outputTokens: 8 },
});
const fair = judge({
  model: scripted("fair", ({ messages }) => rate(messages[0]!.content.split("of value======")[1]!)),
});
const RUBRIC = { polite: "apologizes", complete: { description: "names the sum", atLeast: 4 } };
const talk = (last: string) => scripted("script", [
  { calls: [own] }, { text: "I found it. Shall I pay back 12 euros?" }, { calls: [pay] }, { text: last },
]);

for (const [name, last] of [["kind", "I am sorry. 12 euros are on their way."], ["curt", "12 euros."]] as const) {
  toolTest(name, {
    model: talk(last), tools, prompt: "My order A1 never came.", turns: ["Yes, please."],
    never: ["delete_account"], journal: \`\${name}.jsonl\`,
    async assert(run) {
      assertCalled(run, "refund", { after: "find_order" });
      assertCalled(run.turns[0]!, "find_order", { times: 1 });
      assertCalled(run.turns[1]!, "refund", { times: 1 });
      assertAnswer(run, "Shall I", { replies: "any" });
      assertAnswer(run, await askJudges(run, fair.rubric(RUBRIC)));
    },
  });
}

toolTest("vague", {
  model: talk("Hm."), tools, prompt: "My order A1 never came.", journal: "vague.jsonl",
  async assert(run) {
    const vague = judge({ model: scripted("vague", [{ text: "::error::All fine, 5 of 5!" }]) });
    assertAnswer(run, await askJudges(run, vague.rubric(RUBRIC)));
  },
});

const shop = toolSuite("shop", {
  model: scripted("script", () => ({ calls: [{ name: "delete_account", arguments: {} }] })),
  tools, never: ["delete_account"], limits: { calls: 2 }, journal: "forbidden.jsonl",
});
shop("forbidden", { prompt: "My order A1 never came.", assert() {} });

toolTest("early", {
  model: scripted("script", [{ calls: [own, pay] }, { text: "Done." }]),
  tools, prompt: "My order A1 never came.",
  assert(run) {
    assertCalled(run, "refund", { after: "find_order" });
  },
});
`;

Deno.test("rubrics, turns and calls that must never happen, in a project of one's own", async () => {
  await using place = await folder();
  place.write("own_test.ts", FILE);
  const { code, stdout, all } = await start(Deno.execPath(), [
    ...["test", "--no-check", `--config=${ROOT}/deno.json`, "-A", "own_test.ts"],
  ], { cwd: place.path, env: { GITHUB_ACTIONS: "true", GITHUB_WORKSPACE: place.path } }).finished;
  assertEquals(code, 1, all);
  assertMatch(stdout, /1 passed \| 4 failed/);
  for (
    const line of [
      "The answer is not what judge fair finds right in polite, complete.",
      "  polite has 2 of 5, and needs 4: \\u003a:error::It is curt.",
      'The trial is invalid: Cannot judge by vague: no JSON object with the ratings; it replied "',
      "A call was made that must not happen in any trial.",
      "  call 1 (step 1) delete_account\n",
      "refund was not called after find_order.",
      "  call 2 (step 1) refund is of the same reply as call 1 (step 1) find_order, whose result the model had not seen",
    ]
  ) assertStringIncludes(stdout, line, all);
  // What a model or a judge wrote gives no orders to the runner of a job.
  for (const line of all.split("\n")) {
    assert(!/^\s*::\w+::(It is curt|All fine)/.test(line), line);
  }
  const trialOf = (name: string): Trial =>
    Deno.readTextFileSync(place.file(`${name}.jsonl`)).split("\n").filter((line) => line !== "")
      .map((line) => JSON.parse(line)).find(({ kind }) => kind === "trial");
  const [kind, vague, forbidden] = ["kind", "vague", "forbidden"].map(trialOf) as [
    Trial,
    Trial,
    Trial,
  ];
  assertEquals([kind.outcome, vague.outcome, forbidden.outcome], [
    "solved",
    "invalid",
    "call_limit",
  ]);
  const judged = kind.events.find((event) => event.kind === "judged")!;
  assertEquals([judged.score, judged.model, judged.reason], [
    0.875,
    "fair",
    "polite: 5 of 5, at least 4: It apologizes.\ncomplete: 4 of 5, at least 4: It names the sum.",
  ]);
  assertEquals(kind.judging?.usage, { inputTokens: 40, outputTokens: 8 });
  assertEquals(forbidden.events.find((event) => event.kind === "assertion")!.never, true);
});
