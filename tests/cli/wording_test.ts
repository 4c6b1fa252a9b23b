// What whole commands print, word for word: reports with every kind of table, verdicts, stories, tasks and scores.
// `TOOLGATE_UPDATE_GOLDEN=1 deno task test tests/cli/wording_test.ts` writes the texts in fixtures/golden/wording/
// anew, whose difference is to be read.

import { assertEquals } from "@std/assert";
import { ROOT } from "../support/child.ts";
import { toolgate } from "../support/command_line.ts";
import { Folder } from "../support/folders.ts";
import { rechained } from "../support/journals.ts";

const GOLDEN = `${ROOT}/fixtures/golden/wording`;
const isWriting = Deno.env.get("TOOLGATE_UPDATE_GOLDEN") === "1";
const CITY = `${ROOT}/fixtures/call_sets/city`;

const ERRS = "sim:noisy?stale=0.15&arity=0.15&distract=0.2&early=0.1&copy=0.05&seed=1";
const BREAKS = "sim:noisy?breakFormat=0.3&hopeless=0.2&averse=0.3&ignore=0.3&seed=1";

/** What is run, by the name of the file with its texts. */
const SUITES: Readonly<Record<string, Record<string, unknown>>> = {
  generated: {
    graphs: 2,
    tasks: [
      { core: [3, 5], depth: 2, connected: 2, disconnected: 1, linking: "names", surface: "rich" },
    ],
    models: [{ model: ERRS, name: "errs" }, "sim:planner"],
    strategies: ["plain", { strategy: "repair", attempts: 3, name: "repair thrice" }],
    repetitions: 2,
    limits: { calls: 9 },
    prices: { errs: { input: 1.25, output: 10 }, "sim:planner": { input: 0.5, output: 2 } },
    gate: {
      ...{ successRate: 0.8, margin: 0.3, confidence: 0.9, undecided: "pass" },
      atMost: { failures: { incorrect_value: 0.1 }, behaviours: { aversion: 0.05 }, tokens: 9000 },
    },
  },
  perturbed: {
    graphs: 2,
    tasks: [{ core: 4, depth: 2, connected: 3, surface: "rich", cues: "names" }],
    models: [{ model: ERRS, name: "errs" }],
    perturbations: ["none", "RD", "WT", "CP", "CF", "rename", "rate_limit:2"],
    gate: { successRate: 0.9, margin: 0.1, atMost: { flips: 0.1 } },
  },
  probed: {
    graphs: 1,
    tasks: [{ case: "all" }, { core: 3, depth: 2 }],
    models: [
      { model: BREAKS, name: "breaks (react)", api: "react" },
      { model: BREAKS, name: "breaks (hermes)", api: "hermes" },
    ],
    gate: { baseline: { model: "breaks (hermes)" }, margin: 0.2, discordance: 0.4 },
  },
  asked: {
    tasks: [{ set: CITY, mode: ["parameters", "routing", "tools"], difficulty: "hard", sample: 1 }],
    models: ["sim:truth", "sim:truth?syntax=0.3&route=0.2&value=0.2&judge=0.05"],
    strategies: ["plain", "route_then_fill"],
    repetitions: 2,
    judge: "sim:truth",
  },
};

/** Commands that need no journal. */
const LINES: readonly (readonly string[])[] = [
  ["generate", "--core", "4", "--depth", "2", "--connected", "1", "--seed", "7", "--format", "dot"],
  ["plan", "--rate", "0.8", "--margin", "0.05"],
  ["score", "callnavi", CITY, `${CITY}/../predictions.jsonl`],
  ...["SD", "CP", "CK"].map((method, place) => [
    ...["perturb", "--method", method],
    `${ROOT}/fixtures/documents/${["tool", "query", "return"][place]}.json`,
  ]),
];

/** What commands print one after another, without paths and progress. */
async function printed(place: Folder, lines: readonly (readonly string[])[]): Promise<string> {
  let text = "";
  for (const line of lines) {
    const { stdout, stderr, code } = await toolgate(line, { cwd: place.path });
    text += `$ toolgate ${line.join(" ")}\n${stderr}${stdout}(exit code ${code})\n\n`;
  }
  return text.replaceAll(`${place.path}/`, "").replaceAll(ROOT, "/project")
    .replaceAll(/^\d+\/\d+ trials, .*\n/gm, "");
}

/** Compares a text with the one that is kept. */
function assertKept(name: string, text: string): void {
  const path = `${GOLDEN}/${name}.txt`;
  if (isWriting) Deno.writeTextFileSync(path, text);
  assertEquals(text.split("\n"), Deno.readTextFileSync(path).split("\n"));
  if (isWriting) throw new Error(`${path} is written anew: read its difference, and test again`);
}

for (const [name, suite] of Object.entries(SUITES)) {
  Deno.test(`a suite is run, reported and gated in the same words: ${name}`, async () => {
    using place = new Folder();
    place.write("suite.json", JSON.stringify({ name, seed: 1, ...suite }));
    // Hints name the task of the folder's project: of a folder without any they name the path of this clone.
    const tasks = { toolgate: "deno run -A @toolgate/toolgate/cli" };
    place.write("deno.json", JSON.stringify({ tasks }));
    const run = ["run", "suite.json", "--out", "a.jsonl", "--concurrency", "1"];
    // What a run prints in the end are the tables below, with their times.
    const [before] = (await printed(place, [run])).split("\n\n");
    // Times differ from run to run.
    const text = place.read("a.jsonl").replaceAll(/"durationMs":[\d.]+/g, '"durationMs":100')
      .replaceAll(/"startedAt":"[^"]*"/g, '"startedAt":"2026-01-01T00:00:00.000Z"');
    const journal = rechained(text);
    place.write("a.jsonl", journal);
    const { id } = journal.split("\n").slice(1, -1).map((line) => JSON.parse(line))
      .find(({ solved }) => !solved);
    const after = await printed(place, [
      ["run", "a.jsonl", "--only", id],
      ["report", "a.jsonl", "--markdown", "a.md"],
      "gate" in suite ? ["gate", "a.jsonl"] : ["report", "a.jsonl"],
    ]);
    // The tables are the same, so that one report is enough as Markdown. Releases differ.
    const page = place.read("a.md").replace(/run by toolgate .*/, "run by toolgate 1.0.0");
    assertKept(name, `${before}\n\n${after}${name === "generated" ? page : ""}`);
  });
}

Deno.test("tasks, sizes, scores and perturbed documents are told in the same words", async () => {
  using place = new Folder();
  assertKept("others", await printed(place, LINES));
});
