// Files of version 1 stay readable for ever: today's code makes the same of them as version 1 did, byte for byte.
// fixtures/golden/version_1/README.md says how the files were made, and what to do when a wording changes.

import { isRemoving } from "../../lib/perturbations/ids.ts";
import { assertEquals } from "@std/assert";
import { deno, type Finished, type Folder, folder, readLines, ROOT } from "../support/child.ts";
import { toolgates } from "../support/command_line.ts";

const VERSION_1 = `${ROOT}/fixtures/golden/version_1`;
const INPUTS = ["call_sets", "documents", "full_suites", "prices", "suites"];
/** "wording" rewrites the texts for people; "data" writes missing files and replaces none. */
const WRITING = Deno.env.get("TOOLGATE_UPDATE_GOLDEN");

/** One line of commands.txt. */
interface Command {
  /** The expected exit code. */
  readonly code: number;
  readonly line: readonly string[];
  /** The file that stdout goes to. */
  readonly output: string | undefined;
}

/** Reads commands.txt, by section. */
function readCommands(): Record<string, Command[]> {
  const sections: Record<string, Command[]> = {};
  let section = "";
  for (const text of Deno.readTextFileSync(`${VERSION_1}/commands.txt`).split("\n")) {
    section = /^== (\w+)/.exec(text)?.[1] ?? section;
    const parts = /^(\d)(?: (.*?))?(?: > (\S+))?$/.exec(text);
    if (parts === null) continue;
    const [, code, line = "", output] = parts;
    const words = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, word]) => quoted ?? word!);
    (sections[section] ??= []).push({ code: Number(code), line: words, output });
  }
  return sections;
}

const COMMANDS = readCommands();

/** The paths of all files in a folder, relative to it. */
function filesIn(path: string, prefix = ""): string[] {
  return [...Deno.readDirSync(path)].flatMap(({ name, isDirectory }) =>
    isDirectory ? filesIn(`${path}/${name}`, `${prefix}${name}/`) : [prefix + name]
  ).sort();
}

function write(path: string, content: string | Uint8Array): void {
  Deno.mkdirSync(path.replace(/\/[^/]+$/, ""), { recursive: true });
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  Deno.writeFileSync(path, bytes);
}

async function pipe(
  bytes: Uint8Array<ArrayBuffer>,
  transform: CompressionStream | DecompressionStream,
): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Blob([bytes]).stream().pipeThrough(transform);
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Large files, which are stored gzipped. */
const isPacked = (path: string) => /^(exports|journals|plans|reports)\/.*\.jsonl?$/.test(path);
const isWording = (path: string) => /\.(md|txt)$/.test(path);

/** Where the file that version 1 wrote to `path` is stored. */
function storedAt(path: string): string {
  if (isWording(path)) return `${VERSION_1}/wording/${path}`;
  return `${VERSION_1}/data/${path}${isPacked(path) ? ".gz" : ""}`;
}

async function readStored(path: string): Promise<string | undefined> {
  try {
    const bytes = Deno.readFileSync(storedAt(path));
    return new TextDecoder().decode(
      isPacked(path) ? await pipe(bytes, new DecompressionStream("gzip")) : bytes,
    );
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

async function writeStored(path: string, text: string): Promise<void> {
  const bytes = new TextEncoder().encode(text);
  write(
    storedAt(path),
    isPacked(path) ? await pipe(bytes, new CompressionStream("gzip")) : bytes,
  );
}

/** The files that version 1 wrote, by the paths that commands.txt gives them. */
function storedIn(kind: "data" | "wording"): string[] {
  return filesIn(`${VERSION_1}/${kind}`).map((path) => path.replace(/\.gz$/, ""));
}

const TEXT = String.raw`"(?:[^"\\]|\\.)*"`;

/** Matches these fields in JSON where they hold a string or a list of strings. */
function textsOf(...fields: readonly string[]): RegExp {
  return new RegExp(
    `("(?:${fields.join("|")})": ?)(${TEXT}|\\[(?:\\s*${TEXT},?)*\\s*\\])`,
    "g",
  );
}

/** Fields that hold texts for people. In journals, `text` is what a model wrote, and so data. */
const IN_JOURNALS = textsOf("message", "reason", "repairs");
/** The reason of a stop is an id, and so data. */
const ID = /^"[a-z_]+"$/;
const IN_JSON = textsOf(
  ...["axis", "legend", "notes", "numbers", "reason", "repair", "source", "text", "title", "truth"],
  "warnings",
);

/** Leaves out what later versions have added. */
function withoutAdditions(path: string, text: string): string {
  if (path.startsWith("recordings/")) {
    return text.replace('"v": 2', '"v": 1').replaceAll(/,\s*"(?:checksum|draw)": "\w{64}"/g, "");
  }
  if (isBaseline(path)) {
    return text.replace('"v": 2', '"v": 1').replaceAll(/,"draws":"[\w,]*"/g, "");
  }
  if (/^(gates|reports)\/.*\.json$/.test(path)) {
    const kept = JSON.parse(text, (field, value) =>
      ADDED.includes(field)
        ? undefined
        // A case is now called by its name alone.
        : field === "name" && typeof value === "string"
        ? value.replace(/^case /, "")
        : value);
    return `${JSON.stringify(kept.kind === "report" ? asVersion1(kept) : kept, null, 2)}\n`;
  }
  return text.replaceAll(/,"declared":"\w{64}"/g, "").replaceAll(/"sources":\{[^}]*\},/g, "")
    .replaceAll(/,"rules":\d+(?=,)/g, "").replaceAll(/,"unsolvable":"[a-z]+"(?=,)/g, "")
    .replaceAll(OTHERWISE, "$1").replaceAll(/,"impossible":\[[^\]]*\]/g, "")
    .replaceAll(/,"domain":"[^"]*"(?=,)/g, "").replaceAll(/,"draw":"\w{64}"(?=[,}])/g, "")
    .replaceAll(/("mode":"tools".*?),"needed":\[[^\]]*\]/g, "$1")
    .replaceAll(/,"durationMs":[\d.]+(?=\})/g, "")
    .replaceAll(/,"transcript":\{.*?\}(?=,"events":)/g, "")
    .replaceAll(/,"parts":\{(?:"[^"]*":\{[^{}]*\},?)+\}/g, "");
}

/** The pairs of a report, of which version 1 had strategies with the baseline and perturbations with none. */
type Pairs = { readonly subject: { readonly strategy: string; readonly perturbation: string } }[];

/** A report with what version 1 had of its pairs, in an order of their own; of what cannot be solved it had more. */
function asVersion1({ comparisons, perturbations, ...report }: Record<string, unknown>) {
  const pairs = comparisons as (Pairs[number] & Record<string, unknown>)[];
  const inOrder = (some: readonly object[]) =>
    some.map((one) => JSON.stringify(one)).sort().map((one) => JSON.parse(one));
  const without = (of: string, name: string) =>
    pairs.filter((one) =>
      one["of"] === of && (one["against"] as Record<string, string>)[of] === name
    )
      .map((
        { of: _, against: __, reference: ___, test: ____, gained: _____, lost: ______, ...one },
      ) => one);
  const isFirst = report["v"] === 1;
  const solvable = (perturbations as Pairs ?? []).filter(({ subject }) =>
    !isRemoving(subject.perturbation)
  );
  const strategies = isFirst
    ? pairs.filter(({ subject }) => !isRemoving(subject.perturbation))
    : without("strategy", "baseline");
  return {
    ...report,
    v: 1,
    comparisons: inOrder(strategies),
    perturbations: inOrder(isFirst ? solvable : without("perturbation", "none")),
  };
}

/** Fields that later versions have added to reports and verdicts. */
const ADDED = [
  "domains",
  "router",
  "inferred",
  "missedCalls",
  "missed",
  "failed",
  "failedOrMissed",
  "ineffective",
  "expressions",
  "article",
  "errorHandling",
  "latency",
  "matrix",
  "mending",
];

/**
 * Trials whose documents link nothing, or no longer force wrong types: they are judged otherwise now, or shown
 * otherwise, so that only their ids are compared.
 */
const OTHERWISE =
  /^(\{"v":1,"kind":"trial","id":"[^"]*perturbation=\S*\b(?:RD|WD|SD|WT)\b[^"]*").*$/gm;

const isBaseline = (path: string) => path === "baseline.json" || path === "again.json";

/**
 * The journal with trials of `backward` on written answers, which version 1 asked for their list once more: its
 * own lines stand as they were judged, and new ones have a request less.
 */
const ASKED_AGAIN = "journals/questions.jsonl";

function withoutBackward(text: string): string {
  return text.split("\n").filter((line) => !line.includes('"strategy":"backward"')).join("\n");
}

/** Leaves out what differs from run to run: times, and hashes over them. */
function withoutTimes(path: string, whole: string, isReplay: boolean): string {
  const text = withoutAdditions(path, whole);
  if (path.startsWith("recordings/")) return text.replaceAll(/"duration": [\d.]+/g, "");
  if (isBaseline(path)) return text.replaceAll(/"(run|keys|checksum)": ?"[\w,]*"/g, "");
  const dated = text.replaceAll(/"startedAt":"[^"]*"/g, "");
  // A replay has the durations of its recording.
  return isReplay ? dated : dated.replaceAll(/"durationMs":[\d.]+/g, "");
}

/** Separates what programs read of a file from the texts in it that are for people. */
function split(path: string, text: string): { data: string; texts: string[] } {
  const fields = /^(journals|plans)\/.*\.jsonl$/.test(path)
    ? IN_JOURNALS
    : /^(gates|plans|reports|verdicts)\/.*\.json$/.test(path)
    ? IN_JSON
    : undefined;
  if (fields === undefined) return { data: text, texts: [] };
  const texts = new Set<string>();
  const data = text.replaceAll(fields, (whole, field: string, value: string) => {
    if (ID.test(value)) return whole;
    for (const [one] of value.matchAll(new RegExp(TEXT, "g"))) texts.add(one);
    return `${field}...`;
  });
  return { data, texts: [...texts] };
}

/** Describes the first line that differs, if any. */
function difference(path: string, expected: string, actual: string): string[] {
  if (expected === actual) return [];
  const [was, is] = [expected, actual].map((text) => text.split("\n"));
  const line = was!.findIndex((one, place) => one !== is![place]);
  const place = line === -1 ? was!.length : line;
  const [before = "(nothing)", after = "(nothing)"] = [was![place], is![place]];
  let column = 0;
  while (column < before.length && before[column] === after[column]) column++;
  const near = (text: string) => text.slice(Math.max(0, column - 60), column + 100);
  return [`${path}:${place + 1}:${column + 1}: was ${near(before)}\n  and is ${near(after)}`];
}

/** The paths of all files that were compared. */
const compared = new Set<string>();
/** Texts for people in JSON files, by path. */
const texts = new Map<string, string[]>();

/** Compares a file with the one that version 1 wrote, or stores it where `WRITING` says so. */
async function compare(path: string, text: string, isReplay = false): Promise<string[]> {
  compared.add(path);
  const is = split(path, withoutTimes(path, text, isReplay));
  if (is.texts.length > 0) texts.set(path, is.texts);
  const stored = await readStored(path);
  if (WRITING === "wording" && isWording(path) || WRITING === "data" && stored === undefined) {
    await writeStored(path, text);
    return [];
  }
  if (stored === undefined) return [`${path}: version 1 made no such file`];
  const was = split(path, withoutTimes(path, stored, isReplay));
  const comparable = path === ASKED_AGAIN ? withoutBackward : (text: string) => text;
  const differences = difference(path, comparable(was.data), comparable(is.data));
  return differences.length > 0 && isWording(path)
    ? [...differences, "where it was meant: TOOLGATE_UPDATE_GOLDEN=wording writes it anew"]
    : differences;
}

/** The messages of a command, without the lines of progress, which hold times. */
function messagesOf({ stderr }: Finished): string {
  return stderr.replaceAll(/^\d+\/\d+ trials, .*\n/gm, "");
}

/** Commands that run one after another in a folder of their own. */
interface Section {
  readonly name: string;
  readonly title: string;
  readonly commands: readonly Command[];
  /** Which files of version 1 the folder has at first, beside the inputs. */
  readonly isGiven: (path: string) => boolean;
  /** Changes the folder before the first command. */
  readonly prepare?: (place: Folder) => void;
}

/** Suites whose journals are cut and resumed: one of each kind. */
const CUT = new Set(
  ["accepted", "by_strategy", "call_sets", "invalid", "options", "quick", "sequential", "upgrade"]
    .map((name) => `suites/${name}.jsonc`),
);

const RESUMED = COMMANDS["anew"]!.filter(({ line }) => CUT.has(line[1]!))
  .map((command) => ({ ...command, line: [...command.line, "--resume"] }));

/** Cuts journals in half, mostly within a line, as a killed process may leave them. */
function cutJournals(place: Folder): void {
  for (const { line } of RESUMED) {
    const path = place.file(line.at(-2)!);
    const bytes = Deno.readFileSync(path);
    Deno.writeFileSync(path, bytes.subarray(0, bytes.length / 2));
  }
}

const SECTIONS: readonly Section[] = [
  {
    name: "anew",
    title: "suites run to the same trials, recordings and baseline",
    commands: COMMANDS["anew"]!,
    isGiven: () => false,
  },
  {
    name: "resumed",
    title: "journals that were cut in half are resumed to the same trials",
    commands: RESUMED,
    isGiven: (path) => path.startsWith("journals/") || path === "baseline.json",
    prepare: cutJournals,
  },
  {
    name: "replayed",
    title: "recordings are replayed to the same trials, and suites give the same plans",
    commands: COMMANDS["replayed"]!,
    isGiven: (path) => path.startsWith("recordings/"),
  },
  {
    name: "kept",
    title: "journals give the same reports, verdicts and exports",
    commands: COMMANDS["kept"]!,
    isGiven: (path) => path.startsWith("journals/") || path === "baseline.json",
  },
];

/** A folder in which commands run. */
interface Place extends AsyncDisposable {
  readonly path: string;
  /** The texts of all files that it has before the first command, by path. */
  readonly given: ReadonlyMap<string, string>;
}

/** Makes a folder with the inputs of version 1, and with those of its files that `isGiven` picks. */
async function makePlace({ isGiven, prepare }: Partial<Section>): Promise<Place> {
  const place = await folder();
  for (const path of INPUTS.flatMap((input) => filesIn(`${VERSION_1}/${input}`, `${input}/`))) {
    write(place.file(path), Deno.readFileSync(`${VERSION_1}/${path}`));
  }
  for (const path of storedIn("data").filter((one) => isGiven?.(one))) {
    write(place.file(path), (await readStored(path))!);
  }
  prepare?.(place);
  // Hints name the task of the folder's project: of a folder without any they name the path of this clone.
  const tasks = { toolgate: "deno run -A @toolgate/toolgate/cli" };
  place.write("deno.json", JSON.stringify({ tasks }));
  const given = new Map(
    filesIn(place.path).map((path) => [path, Deno.readTextFileSync(place.file(path))]),
  );
  return { path: place.path, given, [Symbol.asyncDispose]: () => place[Symbol.asyncDispose]() };
}

/** Compares all files of a folder that commands wrote or changed. */
async function compareAll({ path, given }: Place, isReplay = false): Promise<string[]> {
  const differences: string[] = [];
  for (const name of filesIn(path)) {
    const text = Deno.readTextFileSync(`${path}/${name}`);
    const before = given.get(name);
    if (text === before) continue;
    // What a journal has is kept, times and all, but for a line that was cut.
    if (!text.startsWith(before?.slice(0, before.lastIndexOf("\n") + 1) ?? "")) {
      differences.push(`${name}: lines that were there before have changed`);
    }
    // Version 1 ran in the folder itself, so that its paths are relative; only URLs had the whole path.
    const anywhere = text.replaceAll(`file://${path}`, "file:///folder")
      .replaceAll(`${path}/`, "").replaceAll(path, "/folder").replaceAll(ROOT, "/project");
    differences.push(...await compare(name, anywhere, isReplay));
  }
  return differences;
}

/** Compares the exit codes, messages and files of a section with those of version 1. */
async function differencesIn(
  { name, commands }: Section,
  place: Place,
  ended: readonly Finished[],
): Promise<string[]> {
  const differences: string[] = [];
  let messages = "";
  for (const [index, { code, line, output }] of commands.entries()) {
    const finished = ended[index]!;
    if (finished.code !== code) {
      const { code: is, stderr } = finished;
      differences.push(`toolgate ${line.join(" ")}: exit code was ${code} and is ${is}: ${stderr}`);
    }
    if (output !== undefined) write(`${place.path}/${output}`, finished.stdout);
    messages += `$ toolgate ${line.join(" ")}\n${messagesOf(finished)}\n`;
  }
  write(`${place.path}/messages/${name}.txt`, messages);
  return [...differences, ...await compareAll(place, name === "replayed")];
}

/** The flags that each command had in version 1, as far as its help has them. */
function flags(): Record<string, string[]> {
  const names = filesIn(`${VERSION_1}/wording/help`);
  const first: Record<string, string[]> = JSON.parse(
    Deno.readTextFileSync(`${VERSION_1}/data/flags.json`),
  );
  return Object.fromEntries(names.map((name) => {
    const text = Deno.readTextFileSync(`${VERSION_1}/wording/help/${name}`);
    const found = new Set([...text.matchAll(/^ +(--[a-z-]+)/gm)].map(([, flag]) => flag!));
    const command = name.replace(/\.txt$/, "");
    // Flags may be added.
    return [command, first[command]!.filter((flag) => found.has(flag))];
  }));
}

/** The output of `deno test` without the lines of the test runner, which hold times. */
function printed(text: string): string {
  return text.split("\n").filter((line) =>
    !/^-+ (pre-test |post-test )?output( end)? -+$|^running \d+|\.\.\.( ok \(.*\))?$/.test(line)
  ).join("\n").replaceAll(/\((?:\d+m)?\d+m?s\)/g, "(TIME)").replaceAll(/\S*version_1\//g, "");
}

/**
 * Keeps the trials of a file as version 1 did: those of each test in a journal of its own, whose suite had the test's name.
 * The first lines, which tell of suites, are those of version 1.
 */
async function keepByTest(folder: string, file: string): Promise<void> {
  const [name] = filesIn(folder).filter((one) => one.includes(file));
  const trials = readLines(`${folder}/${name}`).slice(1);
  Deno.removeSync(`${folder}/${name}`);
  for (const [suite, own] of Map.groupBy(trials, ({ task }) => task.case as string)) {
    const path = `${suite.replaceAll(" ", "_")}.jsonl`;
    const [plan] = (await readStored(`journals/tests/${path}`))!.split("\n");
    const lines = own.toSorted((one, other) => one.index - other.index)
      .map((trial, index) => JSON.stringify({ ...trial, suite, index }));
    Deno.writeTextFileSync(`${folder}/${path}`, [plan, ...lines, ""].join("\n"));
  }
}

/** Puts the trials of journals into the order of version 1, as those that run at the same time end in any order. */
async function keepOrder(folder: string): Promise<void> {
  for (const { name } of Deno.readDirSync(folder)) {
    const [, ...stored] = (await readStored(`journals/tests/${name}`))!.trim().split("\n");
    const [plan, ...lines] = Deno.readTextFileSync(`${folder}/${name}`).trimEnd().split("\n");
    const idOf = (line: string): string => JSON.parse(line).id;
    const ids = stored.map(idOf);
    lines.sort((one, other) => ids.indexOf(idOf(one)) - ids.indexOf(idOf(other)));
    Deno.writeTextFileSync(`${folder}/${name}`, [plan, ...lines, ""].join("\n"));
  }
}

Deno.test("files of version 1 are read, run, resumed, replayed, reported and gated as they were", async (t) => {
  await t.step("deno test writes the same journals and verdicts", async () => {
    await using place = await makePlace({});
    const permissions = ["--allow-net=127.0.0.1", "--allow-read", `--allow-write=${place.path}`];
    const options = ["--no-check", "--no-prompt", `--config=${ROOT}/deno.json`, ...permissions];
    const differences: string[] = [];
    for (const { code, line: [file, ...own], output } of COMMANDS["tests"]!) {
      const line = ["test", ...options, `${VERSION_1}/${file}`, "--", ...own];
      const finished = await deno(line, { cwd: place.path });
      if (finished.code !== code) differences.push(finished.all);
      write(`${place.path}/${output!}`, printed(finished.stdout));
    }
    await keepByTest(`${place.path}/journals/tests`, "own_tools");
    await keepOrder(`${place.path}/journals/tests`);
    assertEquals([...differences, ...await compareAll(place)], []);
  });

  // One process saves CPU time. Missing files are written by the first section and read by the others.
  const groups = WRITING === "data" ? [SECTIONS.slice(0, 1), SECTIONS.slice(1)] : [SECTIONS];
  for (const group of groups) {
    await using stack = new AsyncDisposableStack();
    const places: Place[] = [];
    for (const section of group) places.push(stack.use(await makePlace(section)));
    for (const [index, section] of group.entries()) {
      const lines = section.commands.map(({ line }) => line);
      const results = await toolgates(lines, { cwd: places[index]!.path });
      await t.step(
        section.title,
        async () => assertEquals(await differencesIn(section, places[index]!, results), []),
      );
    }
  }

  await t.step("no file and no text is left out", async () => {
    const lines = [...texts].sort().map(([path, all]) =>
      `${path}\n${all.map((one) => `  ${one}\n`).join("")}`
    );
    const differences = [
      ...await compare("flags.json", `${JSON.stringify(flags(), null, 2)}\n`),
      ...await compare("texts_in_json.txt", lines.join("")),
    ];
    const stored = [...storedIn("data"), ...storedIn("wording")];
    assertEquals([...differences, ...stored.filter((path) => !compared.has(path))], []);
  });
  if (WRITING === "wording" || WRITING === "data") {
    throw new Error(
      "fixtures/golden/version_1 is written anew: read its difference, then run the test without " +
        "TOOLGATE_UPDATE_GOLDEN",
    );
  }
});
