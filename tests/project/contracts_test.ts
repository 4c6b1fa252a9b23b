// docs/contracts.md names every field of the files that others rely on, and no other: compared with new files.

import { assertEquals } from "@std/assert";
import { parseTrialId, trialId } from "../../lib/trials/trial_id.ts";
import { folder, ROOT } from "../support/child.ts";
import { toolgate } from "../support/command_line.ts";
import { blocksOf, textOf } from "../support/documents.ts";

const PAGE = "docs/contracts.md";

/** The type of a field, whether it is always there, and the table of the objects in it, if another one. */
type Row = { readonly type: string; readonly always: boolean; readonly link: string | undefined };

const SECTIONS = textOf(PAGE).split(/^##+ /m).filter((text) => /^\| field/m.test(text));

/** The anchor of the heading of a section. */
const anchorOf = (section: string) => section.split("\n", 1)[0]!.toLowerCase().replaceAll(" ", "-");

/** The fields of each table of the page, by the anchor of its heading. */
const TABLES = new Map(SECTIONS.map((section) => {
  const rows = section.split("\n").filter((line) => line.startsWith("| `")).flatMap((line) => {
    const [names, type] = line.split("|").slice(1).map((cell) => cell.trim());
    const link = /\(#([\w-]+)\)/.exec(type!)?.[1];
    return [...names!.matchAll(/`([^`?]+)(\??)`/g)].map(([, name, optional]): [string, Row] => [
      name!,
      { type: type!, always: optional === "", link },
    ]);
  });
  return [anchorOf(section), new Map(rows)];
}));

/** The tables that people write: the others have the fields that types of lib/ have. */
const WRITTEN = SECTIONS.filter((section) => !section.includes("deno task tables")).map(anchorOf);

/** Fields of these of which no file here has an example. */
const RARE = Object.entries({
  recording:
    "replaced replacedIdle messages[].media results results[].tool results[].text results[].arguments " +
    "results[].failed results[].retryAfter results[].media",
  request: "server occurrence toolChoice toolChoice.function " +
    "reply.usage.estimated reply.failed reply.failed[].cause " +
    "reply.failed[].message reply.failed[].status redacted error error.kind " +
    "error.message error.ofRequest",
  manifest: "invalid invalid.replaced invalid.replacedIdle instead",
  record: "stopped subjects[].variant subjects[].estimated " +
    "subjects[].trials[].changed subjects[].trials[].unsolvable " +
    "subjects[].trials[].agent subjects[].trials[].replaced subjects[].trials[].unclear",
  report: "models[].temperature models[].topP models[].reasoningEffort partlyReplayed",
}).flatMap(([table, fields]) => fields.split(" ").map((field) => `${table}: ${field}`));

const IS: Readonly<Record<string, (value: unknown) => boolean>> = {
  any: () => true,
  text: (value) => typeof value === "string",
  number: (value) => typeof value === "number",
  boolean: (value) => typeof value === "boolean",
  list: Array.isArray,
  object: (value) => typeof value === "object" && value !== null && !Array.isArray(value),
  null: (value) => value === null,
};

/** Whether a value is of a type such as "number, null" or "`true`". */
function isOf(value: unknown, type: string): boolean {
  return type.split(", ").some((one) =>
    one.startsWith("`")
      ? JSON.stringify(value) === one.replaceAll("`", "")
      : IS[/^(?:open )?(\w+)/.exec(one)![1]!]!(value)
  );
}

const seen = new Set<string>();
const problems = new Set<string>();

/** Compares the fields of a value, or of all in a list, with those of a table; `path` leads to it. */
function compare(value: unknown, table: string, path = ""): void {
  if (Array.isArray(value)) return value.forEach((one) => compare(one, table, `${path}[]`));
  if (!IS["object"]!(value)) return;
  const { ...object } = value as Record<string, unknown>;
  const rows = TABLES.get(table)!;
  const isEvent = table === "events" && path === "";
  const prefix = isEvent ? `${object["kind"]}.` : path === "" ? "" : `${path}.`;
  if (isEvent) delete object["kind"];
  for (const [key, inner] of Object.entries(object)) {
    const name = [key, "*"].map((one) => prefix + one)
      .find((one) => rows.has(one) || [...rows.keys()].some((row) => row.startsWith(`${one}.`)));
    if (name === undefined) {
      problems.add(`${table}: ${prefix}${key} is not in the page`);
      continue;
    }
    const { type, link } = rows.get(name) ?? { type: "object", link: undefined };
    seen.add(`${table}: ${name}`);
    if (!isOf(inner, type)) problems.add(`${table}: ${name} is not ${type}: ${inner}`);
    if (type.includes("open ") || type === "any") continue;
    if (link === undefined) compare(inner, table, name);
    else [inner].flat().forEach((one) => compare(one, link));
  }
  for (const [row, { always }] of rows) {
    if (!row.startsWith(prefix) || table === "events" && prefix === "") continue;
    const [key, ...deeper] = row.slice(prefix.length).split(".");
    // An object that has no row of its own is always there.
    const needed = deeper.length === 0 ? always : !rows.has(prefix + key);
    if (!needed || key === "*" || key!.endsWith("[]") || Object.hasOwn(object, key!)) continue;
    problems.add(`${table}: ${prefix}${key} is not always there`);
  }
}

/** Compares the lines of a journal, or of other JSON Lines. */
function compareLines(text: string, table?: string): void {
  for (const line of text.trimEnd().split("\n").map((one) => JSON.parse(one))) {
    // Types of lines have no checksum.
    const { sum, ...fields } = line;
    if (table === undefined) assertEquals(typeof sum, "string");
    compare(table === undefined ? fields : line, table ?? `${line.kind}-line`);
  }
}

/** The texts of all files in a folder. */
function* filesIn(path: string): Generator<string, void, void> {
  for (const { name, isDirectory } of Deno.readDirSync(path)) {
    if (name.endsWith(".manifest")) {
      compareLines(Deno.readTextFileSync(`${path}/${name}`), "manifest");
    } else if (isDirectory) yield* filesIn(`${path}/${name}`);
    else yield Deno.readTextFileSync(`${path}/${name}`);
  }
}

const suiteFor = (...models: unknown[]) =>
  JSON.stringify({
    name: "contracts",
    seed: 1,
    graphs: 4,
    tasks: [{ core: [2, 3], depth: 1, connected: [0, 1] }],
    pair: "distractors",
    models,
    strategies: ["plain", "restate"],
    limits: { seconds: 60 },
    gate: {
      ...{ successRate: 0.3, margin: 0.2, atMost: { failures: { wrong_number_of_inputs: 0 } } },
      infrastructure: [{ status: 500, message: "overloaded" }],
    },
  });
/** A suite of which no wave but the last can decide. */
const WAVED = JSON.stringify({
  name: "waved",
  seed: 1,
  tasks: [{ core: 1, depth: 0 }],
  models: ["sim:planner"],
  gate: { successRate: 0.9, margin: 0.1, sequential: true },
});
/** Several strategies, perturbations of each kind, and the options that the others leave alone. */
const EVERY = JSON.stringify({
  name: "every",
  seed: 1,
  graphs: 1,
  tasks: [{ core: 5, depth: 3, connected: 2, surface: "rich", cues: "names" }],
  models: [
    {
      model: "sim:noisy?stale=0.1&arity=0.2&hallucinate=0.1&copy=0.2&averse=0.2&seed=3",
      name: "errs",
    },
  ],
  strategies: [
    ...["plain", "route_then_fill", "backward", "repair"],
    { strategy: "plan_then_call", models: { plan: "sim:planner" } },
  ],
  references: true,
  perturbations: ["none", "CK", "rename"],
  limits: { calls: 6, steps: 9, tokens: 30000, parallel: 2, depth: 3, observation: 200 },
  prices: { errs: { input: 1, output: 2 }, "sim:planner": { input: 1, output: 4 } },
  budget: { usd: 1000 },
  gate: {
    ...{ baseline: { strategy: "plain" }, margin: 0.1, requireWhole: true },
    atMost: {
      ...{ behaviours: { aversion: 0.05 }, parameterFailures: { task_deviation: 0.1 } },
      ...{ flips: 0.1, tokens: 3000, usd: 0.5 },
    },
  },
});
/** Questions, whose answers are judged. */
const CITY = `${ROOT}/fixtures/call_sets/city`;
const ASKED = JSON.stringify({
  name: "asked",
  seed: 1,
  tasks: [{
    ...{ set: CITY, mode: ["parameters", "tools"], output: "yaml", input: "yaml", rule: "strict" },
  }],
  models: ["sim:truth?syntax=0.3&route=0.2&value=0.2"],
  strategies: ["plain", "repair"],
  judge: "sim:truth",
});
const WRONG = "sim:noisy?quit=0.2&stale=0.3&arity=0.2";
const CARRIES = { model: "sim:planner", api: "responses" };
const BROKEN = { model: "sim:noisy?breakFormat=0.5", api: "hermes" };

/** Commands, their exit codes, and the tables of what those with JSON print. */
const COMMANDS: readonly (readonly [code: number, line: string, table?: string])[] = [
  [0, "run wrong.json --record recordings --out wrong.jsonl"],
  [0, "run wrong.json --replay recordings --out again.jsonl"],
  [0, "run perturbed.json --out perturbed.jsonl"],
  [0, "run right.json --base-url http://127.0.0.1:9/v1 --out right.jsonl"],
  [3, "run right.json --max-tokens 500 --concurrency 1 --out budget.jsonl"],
  [3, "run right.json --max-tokens 1000 --concurrency 1 --out budget.jsonl --resume"],
  [0, "run every.json --record recordings --out every.jsonl"],
  [0, "run every.json --replay recordings --out replayed.jsonl"],
  [0, "run asked.json --out asked.jsonl"],
  [1, "gate every.jsonl --json", "verdicts"],
  [0, "report replayed.jsonl --json replayed.json"],
  [0, `score callnavi ${CITY} ${CITY}/../predictions.jsonl --json`, "scores"],
  [0, `score stability ${CITY}/../outputs.jsonl`, "scores"],
  [3, "gate budget.jsonl --json", "verdicts"],
  [0, "accept right.jsonl --out baseline.json"],
  [0, "report wrong.jsonl --json report.json"],
  [0, "gate right.jsonl --json", "verdicts"],
  [1, "gate wrong.jsonl --json", "verdicts"],
  [1, "gate again.jsonl --json", "verdicts"],
  [1, "gate wrong.jsonl --baseline baseline.json --margin 0.1 --json", "verdicts"],
  [2, "gate nothing.jsonl --json"],
  [0, "run right.json --seed 2 --out fresh.jsonl"],
  [0, "accept right.jsonl --to history --name v1 --prices prices.json"],
  [0, "accept fresh.jsonl --to history --name v2 --anchor"],
  [3, "canary history --drop 0.6 --json", "canary"],
  [0, "run right.json --seed 3 --out later.jsonl"],
  [0, "history add later.jsonl --to history"],
  [1, "gate wrong.jsonl --history history --margin 0.1 --json", "verdicts"],
  [0, "canary history --drop 0.6 --json", "canary"],
  [0, "history show history --json", "history"],
  [3, "gate right.jsonl --success-rate 0.9 --margin 0.1 --json", "verdicts"],
  [0, "run waved.json --wave 1/99 --out waved.jsonl"],
  [4, "gate waved.jsonl --json", "verdicts"],
  [0, "generate --core 5 --depth 2 --connected 1 --seed 1 --format json", "task-as-json"],
  [0, "generate --core 5 --depth 2 --outputs 1..3 --names helpful --seed 1", "task-as-json"],
  [0, "generate --core 3 --depth 2 --cues names --seed 1", "task-as-json"],
];

Deno.test("docs/contracts.md has every field of the files, and no other", async () => {
  await using place = await folder();
  place.write("wrong.json", suiteFor(WRONG, BROKEN, CARRIES));
  place.write("right.json", suiteFor("sim:planner"));
  place.write("prices.json", JSON.stringify({ "sim:planner": { input: 1, output: 1 } }));
  place.write("waved.json", WAVED);
  place.write("every.json", EVERY);
  place.write("asked.json", ASKED);
  const { gate: _, pair: __, ...perturbed } = JSON.parse(suiteFor("sim:planner"));
  const tasks = [{ core: 3, depth: 1, cues: ["none", "names"] }];
  place.write("perturbed.json", JSON.stringify({ ...perturbed, tasks, perturbations: ["RD"] }));
  for (const [code, line, table] of COMMANDS) {
    const ended = await toolgate(line.split(" "), { cwd: place.path });
    assertEquals(ended.code, code, ended.all);
    if (table === "scores") compareLines(ended.stdout, table);
    else if (table !== undefined) compare(JSON.parse(ended.stdout), table);
    if (table === "verdicts") assertEquals(JSON.parse(ended.stdout).exitCode, code);
  }
  for (const name of place.names().filter((one) => one.endsWith(".jsonl"))) {
    compareLines(Deno.readTextFileSync(place.file(name)));
  }
  for (const text of [...filesIn(place.file("recordings")), ...filesIn(place.file("history"))]) {
    compare(JSON.parse(text), JSON.parse(text).kind);
  }
  for (const name of ["baseline", "report", "replayed"]) {
    const file = JSON.parse(Deno.readTextFileSync(place.file(`${name}.json`)));
    compare(file, file.kind);
  }
  assertEquals([...problems], []);
  const codes = textOf(PAGE).match(/^\| \d(?= )/gm)!.map((cell) => Number(cell.slice(2)));
  assertEquals([...new Set(COMMANDS.map(([code]) => code))].sort(), codes);
  const fields = WRITTEN.flatMap((table) =>
    [...TABLES.get(table)!.keys()].map((row) => `${table}: ${row}`)
  );
  assertEquals(fields.filter((field) => !seen.has(field)), RARE);
});

Deno.test("docs/contracts.md: the ids are read and written as they stand there", () => {
  const ids = blocksOf(PAGE, "text").at(-1)!.trim().split("\n");
  assertEquals(ids.map((id) => trialId(parseTrialId(id)!)), ids);
});
