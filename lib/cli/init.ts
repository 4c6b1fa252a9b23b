/**
 * `init`: sets up a project of a user's own.
 * @module
 */

import * as fs from "node:fs";
import * as paths from "node:path";
import HOW from "../../fixtures/project/runners.json" with { type: "json" };
import gitignore from "../../fixtures/project/gitignore" with { type: "text" };
import benchmark from "../../fixtures/project/tool_tests/benchmark.ts" with { type: "text" };
import test from "../../fixtures/project/tool_tests/weather_test.ts" with { type: "text" };
import { ownClone } from "../base/clone.ts";
import { userPath } from "../base/command_line.ts";
import { cannot } from "../base/errors.ts";
import {
  isThere,
  makeFolder,
  orUnwritable,
  resolvePath,
  writeNewOutput,
  writeOutput,
} from "../base/output_file.ts";
import { shellQuote } from "../base/shell_quote.ts";
import { command } from "./command.ts";
import { firstChains } from "./_first_chains.ts";
import { readPackage } from "./_package.ts";
import { planProject, type Project } from "./_project.ts";
import { textOf } from "./_settings.ts";

const WORKFLOW = ".github/workflows/toolgate.yml";

/** Sets up a project. */
export const init = command({
  usage: "[FOLDER] [OPTIONS]",
  takes: ["one folder", 0, 1],
  takesProgram: true,
  about:
    `FOLDER is empty, does not exist yet, or has a project, of Deno or of npm; default: where you are. It gets

  deno.json, or package.json       the package, and the tasks or scripts test, edit and bench; in Deno also
                                   check and toolgate. What is there stays, and what is lacking is added
  tool_tests/weather_test.ts       a test of a tool, with a script in place of a model
  tool_tests/benchmark.ts          a benchmark of a simulated model, and a gate
  .github/workflows/toolgate.yml   both, in CI
  .gitignore                       lines for results/, coverage/ and node_modules/

Beside a package.json without a deno.json the first test is weather.test.ts, for vitest, bun or node --test.
With --openapi or --mcp there is also a suite of fresh tasks over these tools, such as tool_tests/chains_test.ts.
Nothing is asked and nothing overwritten.`,
  options: {
    from: {
      value: "PATH",
      help:
        "the tarball of the package, or a folder that has it, such as dist/; kept in vendor/, which you commit",
    },
    openapi: { value: "FILE", help: "the OpenAPI document of your service" },
    mcp: { help: "your MCP server: the program and its arguments stand after --" },
  },
  notes: "Exit code 0; 2 if a file cannot be read or written, or the tools cannot be used.",
  needs: ({ mcp }) => mcp ? ["read", "write", "run", "net"] : ["read", "write"],
  rules: [
    [["openapi"], "goes without", ["mcp"]],
    [
      ({ mcp }, { program }) => (mcp === true) !== program.length > 0,
      "a program after -- goes with --mcp, as in --mcp -- npx -y my-server",
    ],
  ],
  async run({ from, openapi, mcp }, { operands: [operand = "."], program }) {
    const folder = resolvePath(userPath(operand));
    const clone = ownClone();
    if (clone !== undefined && !/^\.\.(?:[/\\]|$)/.test(paths.relative(clone, folder))) {
      const state = "name another folder, such as ../my_project";
      throw cannot(`set up ${folder}`, "a project of your own is outside of toolgate", state);
    }
    // All is read before anything is written.
    const source = from === undefined ? undefined : readPackage(userPath(from));
    const project = planProject(folder, source, openapi !== undefined);
    const { settings, zod, names } = project;
    const ignored = textOf(`${folder}/.gitignore`);
    const plain = (line: string) => line.replaceAll("/", "").trim();
    const present = ignored?.split("\n").map(plain) ?? [];
    const lines = [...gitignore.trimEnd().split("\n"), ...project.ignored]
      .filter((line) => !present.includes(plain(line)));
    const own = openapi === undefined && !mcp
      ? []
      : await firstChains(folder, openapi === undefined ? program : [openapi], {
        ...{ mcp, file: `chains${project.tests}` },
      });
    const start = (ignored ?? "").replace(/(?<=[^\n])$(?!\n)/, "\n");
    console.log([
      ...keep(folder, project),
      ...written(folder, settings.name, settings.text, settings.added),
      ...project.left.map((one) => `left   ${one}`),
      ...written(folder, `tool_tests/weather${project.tests}`, test.replace('"zod"', `"${zod}"`)),
      ...written(folder, `tool_tests/${project.benchmark}`, benchmark),
      ...project.config === ""
        ? []
        : written(folder, "tool_tests/benchmark.config.ts", project.config),
      ...own.flatMap(([name, text]) => written(folder, name, text)),
      ...written(folder, WORKFLOW, workflowOf(folder, project)),
      ...written(
        folder,
        ".gitignore",
        start + lines.map((line) => `${line}\n`).join(""),
        ignored === undefined ? undefined : lines,
      ),
      ...placeInRepository(folder) === "" ? [] : [
        "",
        "GitHub reads workflows at the top of a repository alone:",
        `move ${WORKFLOW} there.`,
      ],
      "",
      "Next:",
      ...operand === "." ? [] : [`  cd ${shellQuote(operand)}`],
      ...project.install === "" ? [] : [`  ${project.install}`],
      ...own.length === 0 ? [] : [
        `  ${project.cli} graph SOURCE --options=tool_tests/tool_graph.json --sample=20`,
        "                           SOURCE is your document, or tool_tests/tools.json: questions to confirm",
      ],
      ...Object.entries(HOW.next).flatMap(([name, what]) => {
        const task = names.get(name);
        return task === undefined ? [] : [`  ${project.start} ${task.padEnd(14)} ${what}`];
      }),
    ].join("\n"));
    return 0;
  },
});

/**
 * Writes a file of the project, and returns the lines that tell so.
 *
 * @param added What is added to a file that is there; omitted for a new one, which replaces none.
 */
function written(
  folder: string,
  name: string,
  text: string,
  added?: readonly string[],
): readonly string[] {
  const path = `${folder}/${name}`;
  if (added === undefined) {
    return [
      writeNewOutput(path, text, "the file") ? `wrote  ${name}` : `left   ${name}: it is there`,
    ];
  }
  if (added.length === 0) return [`left   ${name}: it has all`];
  writeOutput(path, text, "the file");
  return [`added  to ${name}:`, ...added.map((one) => `         ${one}`)];
}

/** Keeps the package in the project. */
function keep(folder: string, { kept, files = new Map() }: Project): readonly string[] {
  if (files.size === 0) return [];
  if (isThere(`${folder}/${kept}`)) {
    return [`left   ${kept}: it is there; remove it to take another package`];
  }
  for (const [name, bytes] of files) {
    const path = `${folder}/${kept}${name}`;
    makeFolder(path, "the file");
    orUnwritable(path, "the file", () => fs.writeFileSync(path, bytes));
  }
  return [`wrote  ${kept}`];
}

/** The workflow of a project: with its tasks, and at its place in the repository. */
function workflowOf(folder: string, { workflow, names }: Project): string {
  const text = workflow.replaceAll(
    /(?<= (?:task|run) )(?:test|check|bench)\b/g,
    (task) => names.get(task)!,
  );
  const within = placeInRepository(folder);
  if (within === "") return text;
  const place = JSON.stringify(within);
  return text
    .replace(/^jobs:$/m, () => `defaults:\n  run:\n    working-directory: ${place}\n\njobs:`)
    .replace("path: results/", () => `path: ${JSON.stringify(`${within}/results/`)}`);
}

/** The way to a folder from the top of its git repository, as far as that may be seen; empty at the top. */
function placeInRepository(folder: string): string {
  for (let top = folder; paths.dirname(top) !== top; top = paths.dirname(top)) {
    if (isThere(`${top}/.git`)) return paths.relative(top, folder).replaceAll("\\", "/");
  }
  return "";
}
