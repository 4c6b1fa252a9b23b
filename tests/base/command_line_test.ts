// Command lines: which one starts a command where the user stands. tests/e2e/hints_test.ts runs them.

import { assertEquals } from "@std/assert";
import { commandLine, userPath } from "../../lib/base/command_line.ts";
import { Folder } from "../support/folders.ts";
import { ROOT } from "../support/surroundings.ts";

/** What `work` gives to a user who stands in a folder, as `deno task` would tell. */
function standingIn(folder: string | undefined, work: () => string): string {
  const { get } = Deno.env;
  Deno.env.get = (name) => name === "INIT_CWD" ? folder : get(name);
  try {
    return work();
  } finally {
    Deno.env.get = get;
  }
}

const lineIn = (folder: string): string => standingIn(folder, () => commandLine("gate a.jsonl"));

const TASK = "deno task toolgate";
const NAME = "deno run -A @toolgate/toolgate/cli";
const MODULE = `deno run -A ${ROOT}/lib/cli/main.ts`;
const COMMAND = "deno run -A @toolgate/toolgate/cli";
const IMPORTS = { "@toolgate/toolgate": "jsr:@toolgate/toolgate@^0.2.0" };

/** Files by their paths, where the user stands, and how the line begins. Deno 2.9.6 was asked for each. */
const PROJECTS: Record<string, readonly [Record<string, unknown>, string, string]> = {
  "no project": [{}, ".", MODULE],
  "a task": [{ "deno.json": { tasks: { toolgate: COMMAND } } }, ".", TASK],
  "a task with a description": [
    { "deno.jsonc": `{ "tasks": { "toolgate": { "command": "${COMMAND}" }, }, /* yes */ }` },
    ".",
    TASK,
  ],
  "a task, seen from below": [{ "deno.json": { tasks: { toolgate: COMMAND } } }, "a/b", TASK],
  "a task of this name that is something else": [
    { "deno.json": { tasks: { toolgate: "deno test bench/" }, imports: IMPORTS } },
    ".",
    NAME,
  ],
  "a task of this name for another command line": [
    { "deno.json": { tasks: { toolgate: "npx some/cli build" }, imports: IMPORTS } },
    ".",
    NAME,
  ],
  "a task that runs a clone": [
    { "deno.json": { tasks: { toolgate: "deno run -A ../toolgate/lib/cli/main.ts" } } },
    ".",
    TASK,
  ],
  "a task further up, which Deno does not find": [
    { "deno.json": { tasks: { toolgate: COMMAND } }, "in/package.json": { name: "in" } },
    "in",
    MODULE,
  ],
  "imports": [{ "deno.json": { imports: IMPORTS } }, ".", NAME],
  "settings that are not valid": [
    { "deno.json": "[".repeat(100_000) },
    ".",
    MODULE,
  ],
  "settings of other kinds": [
    { "deno.json": { tasks: [null], imports: "x" } },
    ".",
    MODULE,
  ],
};

for (const [title, [files, place, start]] of Object.entries(PROJECTS)) {
  Deno.test(`commandLine() names what works in a folder with ${title}`, () => {
    using temporary = new Folder();
    // So deep that the path of the module is not short.
    const project = temporary.file("projects/of/mine");
    const path = (name: string) => `${project}/${name}`;
    Deno.mkdirSync(path(place).replace(/\/\.$/, ""), { recursive: true });
    for (const [name, content] of Object.entries(files)) {
      Deno.mkdirSync(path(name).replace(/[^/]+$/, ""), { recursive: true });
      const text = typeof content === "string" ? content : JSON.stringify(content);
      Deno.writeTextFileSync(path(name), text);
    }
    assertEquals(lineIn(path(place)), `${start} gate a.jsonl`);
  });
}

Deno.test("commandLine() names the task of the project itself, also from a folder in it", () => {
  assertEquals(lineIn(`${ROOT}/docs`), `${TASK} gate a.jsonl`);
});

Deno.test("userPath() leaves a path as the user wrote it where the command stands in his folder", () => {
  const pathIn = (folder: string | undefined, path: string) =>
    standingIn(folder, () => userPath(path));
  assertEquals(pathIn(undefined, "results/a.jsonl"), "results/a.jsonl");
  // `deno task` names the folder also where that is the project's: verdicts and reports show these paths.
  assertEquals(pathIn(Deno.cwd(), "results/a.jsonl"), "results/a.jsonl");
  assertEquals(pathIn("/home/me/mine", "results/a.jsonl"), "/home/me/mine/results/a.jsonl");
  assertEquals(pathIn("/home/me/mine", "/results/a.jsonl"), "/results/a.jsonl");
});
