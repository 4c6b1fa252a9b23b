/**
 * `init`: sets up a project of a user's own.
 * @module
 */

import * as paths from "node:path";
import toolgate from "../../deno.json" with { type: "json" };
import workflow from "../../fixtures/project/github.yml" with { type: "text" };
import gitignore from "../../fixtures/project/gitignore" with { type: "text" };
import TASKS from "../../fixtures/project/tasks.json" with { type: "json" };
import benchmark from "../../fixtures/project/tool_tests/benchmark.ts" with { type: "text" };
import test from "../../fixtures/project/tool_tests/weather_test.ts" with { type: "text" };
import { applyEdits, type JSONPath, modify } from "jsonc-parser";
import { z } from "zod";
import { type Clone, ownClone } from "../base/clone.ts";
import { userPath } from "../base/command_line.ts";
import { cannot } from "../base/errors.ts";
import { readExactly, readJsonc } from "../base/input.ts";
import {
  isMissing,
  isThere,
  orUnwritable,
  resolvePath,
  writeNewOutput,
} from "../base/output_file.ts";
import { shellQuote } from "../base/shell_quote.ts";
import { command } from "./command.ts";
import { firstChains } from "./_first_chains.ts";

const WORKFLOW = ".github/workflows/toolgate.yml";

/** Sets up a project. */
export const init = command({
  usage: "[FOLDER] [OPTIONS]",
  takes: ["one folder", 0, 1],
  takesProgram: true,
  about:
    `FOLDER is empty, does not exist yet, or has a project, also one of npm; default: where you are. It gets

  deno.json                        imports, and the tasks test, check, edit, bench and toolgate; of a file
                                   that is there nothing changes, and what it lacks is added
  tool_tests/weather_test.ts       a test of a tool, with a script in place of a model
  tool_tests/benchmark.ts          a benchmark of a simulated model, and a gate
  .github/workflows/toolgate.yml   both, in CI
  .gitignore                       lines for results/ and coverage/

With --openapi or --mcp there is also tool_tests/chains_test.ts, a suite of fresh tasks over these tools.
Nothing is asked and nothing overwritten.`,
  options: {
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
  async run({ openapi, mcp }, { operands: [operand = "."], program }) {
    const folder = resolvePath(userPath(operand));
    const clone = ownClone();
    if (clone !== undefined && !/^\.\.(?:[/\\]|$)/.test(paths.relative(clone.folder, folder))) {
      const state = "name another folder, such as ../my_project";
      throw cannot(`set up ${folder}`, "a project of your own is outside of toolgate", state);
    }
    // All is read before anything is written.
    const config = planConfig(folder, clone);
    const ignored = textOf(`${folder}/.gitignore`);
    const lines = gitignore.trimEnd().split("\n").filter((line) => !isIgnored(ignored, line));
    const own = openapi === undefined && !mcp
      ? []
      : await firstChains(folder, openapi === undefined ? program : [openapi], { mcp });
    const start = ignored === undefined || ignored === "" || ignored.endsWith("\n")
      ? ignored ?? ""
      : `${ignored}\n`;
    console.log([
      ...written(folder, config.name, config.text, config.added),
      ...config.left.map((one) => `left   ${one}`),
      ...written(folder, "tool_tests/weather_test.ts", config.test),
      ...written(folder, "tool_tests/benchmark.ts", benchmark),
      ...own.flatMap(([name, text]) => written(folder, name, text)),
      ...written(folder, WORKFLOW, workflowOf(folder, config, clone)),
      ...written(
        folder,
        ".gitignore",
        start + lines.map((line) => `${line}\n`).join(""),
        ignored === undefined ? undefined : lines,
      ),
      ...whatCiNeeds(folder, clone),
      "",
      "Next:",
      ...operand === "." ? [] : [`  cd ${shellQuote(operand)}`],
      ...own.length === 0 ? [] : CHAINS,
      ...Object.entries(NEXT).flatMap(([name, what]) => {
        const task = config.tasks.get(name);
        return task === undefined ? [] : [`  deno task ${task.padEnd(14)} ${what}`];
      }),
    ].join("\n"));
    return 0;
  },
});

/** What to do next with a suite of chains. */
const CHAINS = [
  "  deno task toolgate graph SOURCE --options=tool_tests/tool_graph.json --sample=20",
  "                           SOURCE is your document, or tool_tests/tools.json: questions to confirm",
];

/** What to do next, by task. */
const NEXT = {
  test: "tests of tools, such as tool_tests/weather_test.ts",
  edit: "the same again at every save",
  check: "their types",
  bench: "a simulated model on generated tasks, and a gate",
};

/** Returns the text of a file; `undefined` if there is none. */
function textOf(path: string): string | undefined {
  return isMissing(path) ? undefined : readExactly(path);
}

function isIgnored(text: string | undefined, line: string): boolean {
  const plain = (line: string) => line.replaceAll("/", "").trim();
  return text?.split("\n").some((one) => plain(one) === plain(line)) === true;
}

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
  orUnwritable(path, "the file", () => Deno.writeTextFileSync(path, text));
  return [`added  to ${name}:`, ...added.map((one) => `         ${one}`)];
}

/** What is read of a configuration file; there may be more in it. */
const CONFIG = z.looseObject({
  imports: z.record(z.string(), z.string()).optional(),
  importMap: z.string().optional(),
  links: z.array(z.string()).optional(),
  nodeModulesDir: z.unknown().optional(),
  compilerOptions: z.unknown().optional(),
  tasks: z.record(z.string(), z.unknown()).optional(),
});

const PACKAGE = z.looseObject({
  dependencies: z.record(z.string(), z.string()).optional(),
  devDependencies: z.record(z.string(), z.string()).optional(),
});

/**
 * Plans what `deno.json` or `deno.jsonc` in a folder gets.
 *
 * @throws {InputError} If it or a `package.json` cannot be used.
 */
function planConfig(folder: string, clone: Clone | undefined) {
  const at = (name: string) => `${folder}/${name}`;
  const name = isMissing(at("deno.json")) && !isMissing(at("deno.jsonc"))
    ? "deno.jsonc"
    : "deno.json";
  const before = textOf(at(name));
  // Deno takes an empty file for one without settings.
  const isEmpty = before === undefined || before.trim() === "";
  const own = isEmpty ? {} : readJsonc(at(name), CONFIG);
  if (own.importMap !== undefined) {
    throw cannot(
      `set up ${folder}`,
      `imports must be in ${name} itself`,
      `it takes them from ${own.importMap}; move them to "imports" first`,
    );
  }
  let text = isEmpty ? "{}\n" : before;
  const added: string[] = [];
  const left: string[] = [];
  const set = (path: JSONPath, value: unknown) => {
    const [, unit = "  "] = /\n([ \t]+)\S/.exec(text) ?? [];
    const formattingOptions = {
      insertSpaces: !unit.startsWith("\t"),
      tabSize: unit.length,
      eol: text.includes("\r\n") ? "\r\n" : "\n",
    };
    text = applyEdits(text, modify(text, path, value, { formattingOptions }));
  };
  const add = (section: "imports" | "tasks", entries: readonly (readonly [string, unknown])[]) => {
    for (const [key, value] of entries) set([section, key], value);
    if (entries.length > 0) added.push(`${section} ${entries.map(([key]) => key).join(", ")}`);
  };

  const packages = isMissing(at("package.json"))
    ? undefined
    : readJsonc(at("package.json"), PACKAGE);
  if (packages !== undefined && own.nodeModulesDir === undefined) {
    set(["nodeModulesDir"], "none");
    added.push('nodeModulesDir "none": node_modules is left to npm');
  }
  const link = clone && linkTo(clone, folder);
  const { links = [] } = own;
  if (link !== undefined && !links.some((one) => paths.resolve(folder, one) === clone!.folder)) {
    set(own.links === undefined ? ["links"] : ["links", links.length], own.links ? link : [link]);
    added.push(`links ${link}`);
  }
  const known = { ...packages?.devDependencies, ...packages?.dependencies, ...own.imports };
  const { zod } = toolgate.imports;
  const wanted = {
    "@toolgate/toolgate": `jsr:${toolgate.name}@^${toolgate.version}`,
    "@std/assert": toolgate.imports["@std/assert"],
    zod,
  };
  add("imports", Object.entries(wanted).filter(([key]) => !Object.hasOwn(known, key)));
  const isOtherZod = known["zod"] !== undefined &&
    !/^(?:npm:\/?zod@)?[\^~=v]*4(?:[.x]|$)/.test(known["zod"]);
  if (isOtherZod) left.push(`import zod: it is another version; the test imports ${zod} itself`);

  // Deno checks the types of linked sources with the options of the project.
  const options = own.compilerOptions !== undefined
    ? "compilerOptions"
    : isMissing(at("tsconfig.json"))
    ? undefined
    : "tsconfig.json";
  const isChecked = clone === undefined || options === undefined;
  if (!isChecked) left.push(`${options}: toolgate is not written for it; there is no task check`);
  const tasks = new Map(
    Object.keys(TASKS).filter((task) => task !== "check" || isChecked).map((task) => {
      const present = JSON.stringify(own.tasks?.[task] ?? "");
      // A task of these tests that was changed is still theirs.
      if (/^""$|tool_tests\/|@toolgate\/toolgate/.test(present)) return [task, task];
      left.push(`task ${task}: it is another one; toolgate:${task} is that of toolgate`);
      return [task, `toolgate:${task}`];
    }),
  );
  add(
    "tasks",
    [...tasks].filter(([, task]) => !Object.hasOwn(own.tasks ?? {}, task))
      .map(([key, task]) => [task, TASKS[key as keyof typeof TASKS]]),
  );
  return {
    name,
    text,
    // Omitted for a new file.
    added: before === undefined ? undefined : added,
    left,
    tasks,
    test: isOtherZod ? test.replace('from "zod"', `from "${zod}"`) : test,
    link,
  };
}

function linkTo(clone: Clone, folder: string): string {
  const path = paths.relative(folder, clone.folder).replaceAll("\\", "/");
  return path.startsWith(".") || paths.isAbsolute(path) ? path : `./${path}`;
}

/** The workflow of a project: with its tasks, and with the clone that it links to. */
function workflowOf(
  folder: string,
  { tasks, link }: Pick<ReturnType<typeof planConfig>, "tasks" | "link">,
  clone: Clone | undefined,
): string {
  const step = /^ {6}# deno\.json links .*\n {6}- name: Get toolgate\n(?: {8}.*\n)+/m;
  const check = tasks.get("check");
  let text: string = workflow.replace(" task test ", ` task ${tasks.get("test")} `);
  text = check === undefined
    ? text.replace(/^ {6}- name: Check types\n.*\n/m, "")
    : text.replace(/ task check$/m, ` task ${check}`);
  const within = placeInRepository(folder);
  if (within !== "") {
    const place = JSON.stringify(within);
    text = text.replace(
      /^jobs:$/m,
      () => `defaults:\n  run:\n    working-directory: ${place}\n\njobs:`,
    );
  }
  if (clone === undefined) return text.replace(step, "");
  const { repository, commit } = clone;
  const folderText = /^[\w./-]+$/.test(link!) ? link! : JSON.stringify(link);
  return text
    .replace(
      "${{ vars.TOOLGATE_REPOSITORY }}",
      (variable) =>
        repository === undefined ? variable : `\${{ vars.TOOLGATE_REPOSITORY || '${repository}' }}`,
    )
    .replace("${{ vars.TOOLGATE_COMMIT }}", (variable) => commit ?? variable)
    .replace("TOOLGATE_FOLDER: ../toolgate", () => `TOOLGATE_FOLDER: ${folderText}`);
}

/** The way to a folder from the top of its git repository, as far as that may be seen; empty at the top. */
function placeInRepository(folder: string): string {
  for (let top = folder; paths.dirname(top) !== top; top = paths.dirname(top)) {
    if (isThere(`${top}/.git`)) return paths.relative(top, folder).replaceAll("\\", "/");
  }
  return "";
}

/** Says what is left to do before CI can run the workflow. */
function whatCiNeeds(folder: string, clone: Clone | undefined): string[] {
  const missing = clone === undefined ? [] : [
    ...clone.repository === undefined ? ["TOOLGATE_REPOSITORY, its address"] : [],
    ...clone.commit === undefined ? ["TOOLGATE_COMMIT, its commit"] : [],
  ];
  return [
    ...placeInRepository(folder) === "" ? [] : [
      "",
      "GitHub reads workflows at the top of a repository alone:",
      `move ${WORKFLOW} there.`,
    ],
    ...missing.length === 0 ? [] : [
      "",
      `CI gets toolgate by variables: ${missing.join(", and ")},`,
      "which the clone here does not tell.",
    ],
  ];
}
