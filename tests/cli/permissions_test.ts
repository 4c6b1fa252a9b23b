// The table of docs/ci.md: every row is run with just what it says, and with less.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { deno, type Finished, type Folder, folder, ROOT } from "../support/child.ts";
import { toolgate, toolgates } from "../support/command_line.ts";
import { addRelease } from "../../lib/runs/history/add.ts";
import { readHistory } from "../../lib/runs/history/history.ts";
import { recordFile, writeRecords } from "../support/history.ts";

const PAGE = Deno.readTextFileSync(`${ROOT}/docs/ci.md`);

interface Row {
  readonly what: string;
  readonly net: string;
  readonly read: string;
  readonly write: string;
}

const ROWS: readonly Row[] = [
  .../^\| what +\| `--allow-net`.*\n\|[ -|]*\n((?:\|.*\n)+)/m.exec(PAGE)![1]!.matchAll(
    /^\| `(.+?)` *\| (.*?) *\| (.*?) *\| (.*?) *\|$/gm,
  ),
].map(([, what, net, read, write]) => ({ what: what!, net: net!, read: read!, write: write! }));

/** What the words of the table stand for here. */
const SUITE = {
  ...{ name: "s", seed: 1, graphs: 1, models: ["sim:planner"] },
  tasks: [{ core: 2, depth: 1 }],
  gate: { successRate: 0.5, margin: 0.4 },
};
const BENCHMARK = `import { benchmark, grid } from "${ROOT}/mod.ts";
benchmark("b", { model: "sim:planner", tasks: grid({ core: 2, depth: 1 }), seed: 1, graphs: 1 });`;

/** Files that are there before, in folders of their own, so that each is allowed by itself. */
function prepare(place: Folder) {
  for (const name of ["journals", "suites", "files"]) Deno.mkdirSync(place.file(name));
  for (const name of ["f", "page", "b", "l", "mine"]) Deno.mkdirSync(place.file(name));
  place.write("suites/suite.jsonc", JSON.stringify(SUITE));
  place.write("benchmark.ts", BENCHMARK);
  for (const [path, text] of RECORDED) {
    Deno.mkdirSync(place.file(path.slice(0, path.lastIndexOf("/"))), { recursive: true });
    place.write(path, text);
  }
  place.write("journals/f.jsonl", JOURNAL);
  writeRecords(place.file("history"), [{ date: "2026-06-01" }]);
  const release = recordFile({ date: "2026-06-01", graphs: 200 });
  const watched = { path: place.file("watched"), shown: "watched" };
  writeRecords(watched.path, [release, { date: "2026-06-02" }]);
  addRelease(watched, release, { name: "v1", anchor: false }, readHistory([watched]));
  Deno.copyFileSync(`${ROOT}/fixtures/documents/tool.json`, place.file("files/tool.json"));
  Deno.copyFileSync(`${ROOT}/fixtures/call_sets/outputs.jsonl`, place.file("files/outputs.jsonl"));
}

/** The line of a row as it is run. */
function lineOf(what: string, place: Folder): string[] {
  const words: Record<string, string[]> = {
    "run SUITE": ["run", place.file("suites/suite.jsonc")],
    "run SUITE --out F": [
      "run",
      place.file("suites/suite.jsonc"),
      "--out",
      place.file("f/f.jsonl"),
    ],
    "run SUITE --record D": [
      ...["run", place.file("suites/suite.jsonc"), "--record", place.file("d")],
    ],
    "run SUITE --replay D": [
      ...["run", place.file("suites/suite.jsonc"), "--replay", place.file("r")],
    ],
    "gate F": ["gate", place.file("journals/f.jsonl")],
    "report F": ["report", place.file("journals/f.jsonl")],
    "report F --html PAGE": [
      ...["report", place.file("journals/f.jsonl"), "--html", place.file("page/page.html")],
    ],
    "report F --csv DIR": [
      ...["report", place.file("journals/f.jsonl"), "--csv", place.file("csv")],
    ],
    "accept F --out B": ["accept", place.file("journals/f.jsonl"), "--out", place.file("b/b.json")],
    "accept F --to DIR": [
      ...["accept", place.file("journals/f.jsonl"), "--name", "v1", "--to", place.file("releases")],
    ],
    "history add F --to DIR": [
      ...["history", "add", place.file("journals/f.jsonl"), "--to", place.file("history")],
    ],
    "canary DIR": ["canary", place.file("watched")],
    "history show DIR": ["history", "show", place.file("history")],
    "history show DIR --html PAGE": [
      ...["history", "show", place.file("history"), "--html", place.file("page/page.html")],
    ],
    "export F --format hermes --out L": [
      ...["export", place.file("journals/f.jsonl"), "--format", "hermes"],
      ...["--out", place.file("l/l.jsonl")],
    ],
    "selfcheck F": ["selfcheck", place.file("journals/f.jsonl"), "--gates", "100"],
    "plan SUITE": ["plan", place.file("suites/suite.jsonc")],
    "generate": ["generate", "--core", "2", "--depth", "1"],
    "perturb FILE": ["perturb", place.file("files/tool.json"), "--method", "RD"],
    "score stability FILE": ["score", "stability", place.file("files/outputs.jsonl")],
    "init FOLDER": ["init", place.file("mine")],
    "simulate": ["simulate", "--port", "0"],
    "deno test FILE": [],
    "deno test FILE -- --out=F": ["--", `--out=${place.file("f/f.jsonl")}`],
    "deno test FILE -- --report=PAGE": ["--", `--report=${place.file("page/page.html")}`],
  };
  const line = words[what];
  assert(line !== undefined, `docs/ci.md has a row that nobody runs: ${what}`);
  return line;
}

/** The folders of commands. */
const DIRS: Readonly<Record<string, string>> = {
  ...{ history: "history", canary: "watched", accept: "releases", report: "csv" },
};

/** The flags of a row, each by itself. */
function flagsOf(row: Row, place: Folder): string[] {
  const folders: Record<string, string> = {
    "the suite": place.file("suites/suite.jsonc"),
    "the journals": place.file("journals"),
    "the file": place.file("files"),
    "F's folder": place.file("f"),
    "PAGE's folder": place.file("page"),
    "B's folder": place.file("b"),
    "L's folder": place.file("l"),
    "FOLDER": place.file("mine"),
    "DIR": place.file(DIRS[row.what.split(" ")[0]!] ?? ""),
    "D": place.file(row.what.endsWith("--replay D") ? "r" : "d"),
  };
  const paths = (access: string, cell: string) =>
    cell.split(", ").filter((word) => word !== "").map((word) => {
      assert(folders[word] !== undefined, `${row.what}: ${word}`);
      return `--allow-${access}=${folders[word]}`;
    });
  return [
    ...(row.net === "" ? [] : ["--allow-net=127.0.0.1"]),
    ...paths("read", row.read),
    ...paths("write", row.write),
  ];
}

const isTest = ({ what }: Row) => what.startsWith("deno test");

/** Runs a row as a user does. */
function runRow(row: Row, flags: readonly string[], place: Folder): Promise<Finished> {
  const line = lineOf(row.what, place);
  const given = ["--no-prompt", "--no-check", "--config", `${ROOT}/deno.json`, ...flags];
  return isTest(row)
    ? deno(["test", ...given, place.file("benchmark.ts"), ...line], { cwd: place.path })
    : deno(["run", ...given, `${ROOT}/lib/cli/main.ts`, ...line], { cwd: place.path });
}

/** Runs rows of the command line in one process, as they all lack the same. */
async function runRows(
  rows: readonly Row[],
  flags: readonly string[],
  place: Folder,
): Promise<Finished[]> {
  const script = place.write(
    "lines.ts",
    `import { toolgates } from "file://${ROOT}/tests/support/command_line.ts";
const { log } = console;
log(JSON.stringify(await toolgates(JSON.parse(Deno.args[0]!))));`,
  );
  const lines = rows.map(({ what }) => lineOf(what, place));
  const given = ["--no-prompt", "--no-check", "--config", `${ROOT}/deno.json`, ...flags];
  const { code, stdout, all } = await deno(["run", ...given, script, JSON.stringify(lines)]);
  assertEquals(code, 0, all);
  return JSON.parse(stdout);
}

/** Every file below a folder. */
function filesBelow(path: string): string[] {
  return [...Deno.readDirSync(path)].flatMap(({ name, isDirectory }) =>
    isDirectory ? filesBelow(`${path}/${name}`) : [`${path}/${name}`]
  ).sort();
}

await using journals = await folder();
const [made, recording] = await toolgates([
  [
    ...["run", journals.write("suite.jsonc", JSON.stringify({ ...SUITE, graphs: 20 }))],
    ...["--out", journals.file("f.jsonl")],
  ],
  [
    ...["run", journals.write("one.jsonc", JSON.stringify(SUITE))],
    ...["--record", journals.file("r")],
  ],
]);
const JOURNAL = Deno.readTextFileSync(journals.file("f.jsonl"));
/** What the suite is replayed from, by path. */
const RECORDED = filesBelow(journals.file("r"))
  .map((path) => [path.slice(journals.path.length + 1), Deno.readTextFileSync(path)] as const);

Deno.test("the table of permissions has its rows", () => {
  assertEquals(recording!.code, 0, recording!.all);
  assertEquals(made!.code, 0, made!.all);
  assertEquals(ROWS.length, 25);
});

Deno.test("each row of the table runs with what it says", async (context) => {
  for (const row of ROWS.filter(({ what }) => what !== "simulate")) {
    await context.step(row.what, async () => {
      await using place = await folder();
      prepare(place);
      const before = filesBelow(place.path);
      const told = await runRow(row, flagsOf(row, place), place);
      assertEquals(told.code, 0, told.all);
      // Nothing is written but what was asked for.
      const written = filesBelow(place.path).filter((file) => !before.includes(file));
      const several: Record<string, number> = {
        "init FOLDER": 5,
        "report F --csv DIR": 4,
        "accept F --to DIR": 2,
      };
      const wanted = several[row.what] ?? (row.write === "" ? 0 : 1);
      assertEquals(written.length, wanted, written.join());
    });
  }
});

Deno.test("each row of the table says what else it lacks", async (context) => {
  await using place = await folder();
  prepare(place);
  const before = filesBelow(place.path);
  const needs = new Map(ROWS.map((row) => [row, flagsOf(row, place)]));
  const all = new Set([...needs.values()].flat());
  // Flags are left out together that no row needs both of, so that each lacks one.
  const groups: string[][] = [];
  for (const flag of all) {
    const group = groups.find((others) =>
      !needs.values().some((own) => own.includes(flag) && own.some((one) => others.includes(one)))
    );
    if (group === undefined) groups.push([flag]);
    else group.push(flag);
  }
  for (const group of groups) {
    const flags = [...all].filter((flag) => !group.includes(flag));
    const lacking = ROWS.flatMap((row) => {
      const missing = needs.get(row)!.find((flag) => group.includes(flag));
      return missing === undefined ? [] : [{ row, missing }];
    });
    const lines = lacking.filter(({ row }) => !isTest(row));
    const ended = await runRows(lines.map(({ row }) => row), flags, place);
    const told = lines.map(({ row, missing }, at) => ({ row, missing, finished: ended[at]! }));
    // One file of tests lacks what all of them do.
    for (
      const tests of Map.groupBy(lacking.filter(({ row }) => isTest(row)), (one) => one.missing)
    ) {
      const { row, missing } = tests[1][0]!;
      told.push({ row, missing, finished: await runRow(row, flags, place) });
    }
    for (const { row, missing, finished: { code, stdout, stderr, all } } of told) {
      await context.step(`${row.what} without ${missing.replace(place.path, "")}`, () => {
        const [flag, path] = missing.split("=") as [string, string];
        assert(code !== 0, all);
        assertStringIncludes(stdout + stderr, flag, all);
        assertStringIncludes(stdout + stderr, path, all);
      });
    }
    for (const file of filesBelow(place.path)) if (!before.includes(file)) Deno.removeSync(file);
  }
});

Deno.test("keepOnly() leaves a command nothing that it does not need", async () => {
  await using place = await folder();
  const journal = place.write("f.jsonl", JOURNAL);
  const suite = place.write("suite.jsonc", JSON.stringify(SUITE));
  const withAgent = (more: object) =>
    place.write(
      `agent${Object.keys(more).join()}.jsonc`,
      JSON.stringify({ ...SUITE, agent: { command: ["true"], ...more } }),
    );
  const generate = ["generate", "--core", "2", "--depth", "1"];
  const table: [left: string, line: string[]][] = [
    ["read,env", generate],
    ["read,write,env", ["gate", journal]],
    ["read,env", ["report", journal]],
    ["read,write,env", ["report", journal, `--json=${place.file("r.json")}`]],
    ["read,env", ["selfcheck", journal, "--gates", "100"]],
    ["net,read,env", ["run", suite]],
    ["net,read,run,env", ["run", withAgent({})]],
    ["net,read,write,run,env", ["run", withAgent({ mcp: true })]],
    ["net,read,write,env", ["run", suite, "--out", place.file("new.jsonl")]],
  ];
  const names = ["net", "read", "write", "run", "ffi", "sys", "import", "env"] as const;
  for (const [left, line] of table) {
    const { code, revoked, all } = await toolgate(line);
    assertEquals(code, 0, all);
    const given: readonly string[] = revoked;
    assertEquals(names.filter((name) => !given.includes(name)).join(), left, all);
  }
  // Once a command is over, its process tells what is left to it, whatever was given.
  const spy = place.write(
    "spy.ts",
    `const exit = Deno.exit;
     Deno.exit = (code) => {
       const left = ${JSON.stringify(names)}.filter((name) =>
         Deno.permissions.querySync({ name } as Deno.PermissionDescriptor).state === "granted");
       console.error("left: " + left.join());
       return exit(code);
     };`,
  );
  const told = await deno([
    ...["run", "-A", "--no-check", "--preload", spy, `${ROOT}/lib/cli/main.ts`, ...generate],
  ]);
  assertEquals(told.code, 0, told.all);
  assertStringIncludes(told.stderr, "left: read,env\n", told.all);
});
