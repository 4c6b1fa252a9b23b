// Where tests stand: as users see it, who run `deno test` on files of a project of their own, whose path has
// what URLs escape.

import { assertEquals, assertMatch, assertNotMatch, assertStringIncludes } from "@std/assert";
import { sha256 } from "../../lib/base/hash.ts";
import { deno, type Finished, folder, ROOT } from "../support/child.ts";
import { elementsOf, parseXml } from "../support/xml.ts";

const MOD = JSON.stringify(`file://${ROOT}/mod.ts`);
const IMPORT = `import { assertAnswer, benchmark, scripted, toolTest } from ${MOD};`;
/** A model that fails often, and one that always does. */
const WEAK = `model: "sim:noisy?quit=0.9", tasks: { core: 3, depth: 2 }, seed: 1, graphs: 2`;
const SILENT = `model: scripted("silent", [{ text: "no" }]), tools: [], prompt: "Really?"`;

/** The files of the project. What registers stands behind a comment with its name. */
const FILES: Readonly<Record<string, string>> = {
  "typed_test.ts": `${IMPORT}
import { help } from "./helper.ts";
interface Sizes {
  core: number;

  depth: number;
}

type Gate = { successRate: number };

/*plain*/ benchmark("same", { ${WEAK} });
const gate: Gate = { successRate: 0.9 };
/*gated*/ benchmark("gated", { ${WEAK}, gate });

for (const city of ["Rome", "Oslo"]) {
  interface Local { city: string }
  const local: Local = { city };
  /*loop*/ toolTest(\`asks for \${local.city}\`, {
    ${SILENT},
    assert(run) {
      /*assertion*/ assertAnswer(run, "yes");
    },
  });
}
help("helped");
Deno.test("native", () => {});
function wrong({ depth }: Sizes) {
  /*wrong*/ benchmark("wrong", { ${WEAK.replace("depth: 2", "depth")} });
}
wrong({ core: 1, depth: 3 });
`,
  "helper.ts": `${IMPORT}
interface Unused { a: 1 }
export function help(name: string): void {
  const unused: Unused | undefined = undefined;
  if (unused !== undefined) throw new Error("never");
  /*helper*/ benchmark(name, { ${WEAK} });
}
`,
  "other (2)_test.ts": `${IMPORT}

Error.stackTraceLimit = 0;
/*other*/ benchmark("same", { ${WEAK} });
Error.stackTraceLimit = 10;
Error.prepareStackTrace = () => { throw new Error("mine"); };
   /*again*/ benchmark("same", { ${WEAK} });
Error.prepareStackTrace = undefined;
`,
  "script.test.js": `// No types here.
${IMPORT}
["list"].forEach((name) => /*script*/ benchmark(name, { ${WEAK} }));
`,
  "locked_test.ts": `${IMPORT}
Object.freeze(Error);
benchmark("locked", { ${WEAK} });
`,
  "one_gate_test.ts": `${IMPORT}
benchmark("gate", { ${WEAK}, gate: { successRate: 0.9 } });
benchmark("twice", { ${WEAK}, gate: { successRate: 0.9 } });
benchmark("two", { ${WEAK}, gate: { successRate: 0.9 } });
benchmark("two", { ${WEAK}, gate: { successRate: 0.9 } });
`,
  "same_gate_test.ts": `${IMPORT}
benchmark("gate", { ${
    WEAK.replace("noisy?quit=0.9", "planner")
  }, gate: { successRate: 0.1, margin: 0.09 } });
`,
  "my_benchmark.ts": `${IMPORT}
import { help } from "./helper.ts";
interface Wide {
  core: number;
}
/*covered*/ benchmark("covered", { ${WEAK} });
help("helped too");
if ([].length > 0) {
  console.log("never");
}
`,
};

/** The line and column behind a comment. */
function placeIn(file: string, comment: string): string {
  const before = FILES[file]!.split(`/*${comment}*/ `)[0]!.split("\n");
  return `${before.length}:${before.at(-1)!.length + `/*${comment}*/ `.length + 1}`;
}

const place = await folder();
const project = `${place.path}/my prüfung %41 (1)`;
await Deno.mkdir(`${project}/tests`, { recursive: true });
for (const [name, text] of Object.entries(FILES)) {
  Deno.writeTextFileSync(`${project}/tests/${name}`, text);
}
Deno.test.afterAll(async () => await place[Symbol.asyncDispose]());

function run(flags: readonly string[], cwd: string, env = {}): Promise<Finished> {
  return deno([
    ...["test", "--no-check", "--no-prompt", `--config=${ROOT}/deno.json`],
    ...["--allow-net=127.0.0.1", "--junit-path=junit.xml", ...flags],
  ], { cwd, env });
}

/** What JUnit says of tests: their names without what distinguishes trials, by suite and place. */
function suitesIn(cwd: string): Record<string, string[]> {
  const suites = elementsOf(parseXml(Deno.readTextFileSync(`${cwd}/junit.xml`)))
    .filter(({ name }) => name === "testsuite");
  return Object.fromEntries(suites.map(({ attributes, children }) => {
    const cases = children.filter(({ name }) => name === "testcase").map((one) => {
      const { name, classname, line, col } = one.attributes;
      assertEquals(classname, attributes["name"]);
      return `${name!.replace(/ > core 3.*/, "")} ${line}:${col}`;
    });
    return [attributes["name"]!, [...new Set(cases)].sort()];
  }));
}

Deno.test("every test stands where the user calls for it, in all outputs of the runner, under any flags", async () => {
  const files = ["typed", "locked"].map((name) => `tests/${name}_test.ts`);
  const { code, stdout, all } = await run([
    ...["--parallel", "--shuffle=3", ...files, "tests/script.test.js"],
    `${project}/tests/other (2)_test.ts`,
  ], project);
  assertEquals(code, 1, all);
  const at = (file: string, comment: string) => `tests/${file}:${placeIn(file, comment)}`;
  const suites = suitesIn(project);
  const [fallback] = Object.keys(suites).filter((name) => name.endsWith("/_register.ts"));
  assertEquals(suites[fallback!]!.map((one) => one.split(" ")[0]), ["locked"]);
  delete suites[fallback!];
  const native = FILES["typed_test.ts"]!.split("Deno.test(")[0]!.split("\n").length;
  assertEquals(suites, {
    "./tests/typed_test.ts": [
      `asks for Oslo ${placeIn("typed_test.ts", "loop")}`,
      `asks for Rome ${placeIn("typed_test.ts", "loop")}`,
      `gated ${placeIn("typed_test.ts", "gated")}`,
      `gated > gate ${placeIn("typed_test.ts", "gated")}`,
      `native ${native}:6`,
      `same ${placeIn("typed_test.ts", "plain")}`,
      `wrong ${placeIn("typed_test.ts", "wrong")}`,
    ],
    "./tests/helper.ts": [`helped ${placeIn("helper.ts", "helper")}`],
    "./tests/other (2)_test.ts": [
      `same ${placeIn("other (2)_test.ts", "other")}`,
      `same ${placeIn("other (2)_test.ts", "again")}`,
    ],
    "./tests/script.test.js": [`list ${placeIn("script.test.js", "script")}`],
  });

  const [errors, list] = stdout.split("\n ERRORS \n")[1]!.split("\n FAILURES \n");
  for (
    const [name, link] of [
      ["gated > gate", at("typed_test.ts", "gated")],
      ["asks for Rome", at("typed_test.ts", "loop")],
      ["helped > core 3", at("helper.ts", "helper")],
      ["same > core 3", at("other (2)_test.ts", "again")],
    ] as const
  ) {
    for (const text of [errors!, list!]) {
      const links = text.split("\n").filter((line) => line.startsWith(name));
      assertEquals(links.some((line) => line.endsWith(` => ./${link}`)), true, all);
    }
  }
  // The frames of failures lead to the user's files alone, written as the runner does it.
  const frames = errors!.split("\n").filter((line) => /^ {4}at /.test(line));
  const folder = `file://${encodeURI(project)}/`;
  // A failure without a place gets one in Deno from the runner: that of "locked".
  const elsewhere = frames.filter((frame) => !frame.includes(folder));
  assertEquals(elsewhere.length, 2, all);
  for (const frame of elsewhere) assertStringIncludes(frame, "ext:core/");
  assertStringIncludes(errors!, `\n    at ${folder}${at("typed_test.ts", "assertion")}\n`);
  assertStringIncludes(errors!, `\n    at ${folder}${at("typed_test.ts", "gated")}\n`);
  // Invalid input names the line that has it.
  assertMatch(errors!, /InputError: Cannot plan benchmark wrong: .*\n.*benchmark\("wrong".*\n/);
  assertStringIncludes(errors!, `\n    at wrong (${folder}${at("typed_test.ts", "wrong")})\n`);
});

Deno.test("--coverage measures the user's own file as without tests that stand in it", async () => {
  await run(["--coverage=coverage", "tests/my_benchmark.ts"], project);
  const { stdout, all } = await deno(
    ["coverage", "--lcov", "coverage", "--include=\\(1\\)/tests/"],
    {
      cwd: project,
    },
  );
  const files = stdout.split("end_of_record\n").slice(0, -1).map((record) => ({
    file: /^SF:.*\/(.*)$/m.exec(record)![1],
    missed: [...record.matchAll(/^DA:(\d+),0$/gm)].map(([, line]) => Number(line)),
  }));
  assertEquals(files, [
    { file: "helper.ts", missed: [5] },
    { file: "my_benchmark.ts", missed: [9, 10] },
  ], all);
  assertNotMatch(all, /Source not found|%7/);
});

Deno.test("benchmarks of one name do not write into each other's files", async () => {
  const verdicts = `${project}/verdicts`;
  const { code, all } = await run(
    [
      ...["--allow-env=TOOLGATE_CLAIMED_*", "--allow-read", "--allow-write"],
      ...["one_gate", "same_gate"].map((name) => `tests/${name}_test.ts`),
      ...["--", "--verdict=verdicts/"],
    ],
    project,
    // Left by a process that has started this one.
    { [`TOOLGATE_CLAIMED_${sha256(`${verdicts}/twice.json`).slice(0, 16)}`]: "1 file:///a" },
  );
  assertEquals(code, 1, all);
  assertMatch(
    all,
    /Cannot keep the verdicts of benchmark gate in verdicts\/gate\.json as .*: one of tests\/one_gate_test\.ts has it/,
  );
  assertMatch(all, /benchmark two in verdicts\/two\.json as .*: another one, two, has it/);
  // The bad model's verdict is kept, and not that of the good one.
  assertMatch(Deno.readTextFileSync(`${verdicts}/gate.json`), /"kind": "(undecided|fail)"/);
  assertMatch(Deno.readTextFileSync(`${verdicts}/twice.json`), /"kind": "(undecided|fail)"/);
});
