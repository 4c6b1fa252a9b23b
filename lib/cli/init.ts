/**
 * `init`: sets up a project of a user's own.
 * @module
 */

import * as paths from "node:path";
import { z } from "zod";
import gitignore from "../../fixtures/project/gitignore" with { type: "text" };
import workflow from "../../fixtures/project/github.yml" with { type: "text" };
import benchmark from "../../fixtures/project/tool_tests/benchmark.ts" with { type: "text" };
import test from "../../fixtures/project/tool_tests/weather_test.ts" with { type: "text" };
import { commandLine, hasMember } from "../base/command_line.ts";
import { cannot, cannotFile, InputError } from "../base/errors.ts";
import { readExactly, readJsonc } from "../base/input.ts";
import { printable } from "../base/json.ts";
import { Output, resolvePath } from "../base/output_file.ts";
import { shellQuote } from "../base/shell_quote.ts";
import { Arguments, userPath } from "./arguments.ts";
import { type Clone, ownClone, readIfThere, stateOf } from "./origin.ts";
import { planConfig, type ProjectConfig, TESTS } from "./project_config.ts";

export const INIT_HELP =
  `FOLDER is empty, does not exist yet, or has a project, also one of npm; default: where you are. It gets

  deno.json                        imports, and the tasks test, check, edit, bench and toolgate; of a file
                                   that is there nothing changes, and what it lacks is added
  tool_tests/weather_test.ts       a test of a tool, with a script in place of a model
  tool_tests/benchmark.ts          a benchmark of a simulated model, and a gate
  .github/workflows/toolgate.yml   both, in CI
  .gitignore                       lines for results/ and coverage/

Nothing is asked and nothing overwritten. There are no options.

Exit code 0; 2 if nothing could be written.`;

const WORKFLOW = ".github/workflows/toolgate.yml";

/** What a file of the project becomes. */
interface PlannedFile {
  readonly path: string;
  readonly text: string;
  /** What is added to it, if it is there. */
  readonly added?: readonly string[];
}

/** Sets up a project. */
export function init(arguments_: readonly string[]): number {
  const options = new Arguments("init", arguments_, {});
  const [operand = ".", ...rest] = options.operands;
  if (rest.length > 0) {
    throw options.error(`it takes one folder: ${options.operands.length} are given`);
  }
  if (operand === "") throw options.error("the folder must have a name: it is empty");
  const folder = resolvePath(userPath(operand));
  const clone = ownClone();
  const isThere = (path: string) => isFile(folder, path);
  assertPlace(folder, clone);
  const config = planConfig(folder, isThere, clone);
  const { files, left } = planFiles(folder, isThere, config, clone);
  writeFiles(folder, files);
  console.log(told(folder, operand, files, [...left, ...config.left], config, clone));
  return 0;
}

/** Checks that a project may be set up in `folder`, and that everything there can be seen and written. */
function assertPlace(folder: string, clone: Clone | undefined): void {
  for (const name of ["read", "write"] as const) {
    const { state } = Deno.permissions.querySync({ name, path: folder });
    if (state !== "granted") {
      throw unable(
        folder,
        `it must be allowed to ${name} there`,
        `add --allow-${name}=${shellQuote(folder)}`,
      );
    }
  }
  try {
    if (!Deno.statSync(folder).isDirectory) {
      throw unable(folder, "it must be a folder", "there is a file in its place");
    }
  } catch (error) {
    if (error instanceof InputError) throw error;
    if (!(error instanceof Deno.errors.NotFound)) throw cannotFile(`set up ${folder}`, error);
  }
  if (clone === undefined) return;
  if (isWithin(clone.folder, folder)) {
    throw unable(
      folder,
      "a project of your own is outside of toolgate",
      "name another folder, such as ../my_project",
    );
  }
  const root = workspaceOf(folder);
  if (root !== undefined) {
    throw unable(
      folder,
      "only the root of a workspace can link to toolgate",
      `it is a member of ${root}; set that up: ${
        commandLine(`init ${shellQuote(paths.dirname(root))}`)
      }`,
    );
  }
}

function unable(folder: string, rule: string, state: string): InputError {
  return cannot(`set up ${folder}`, rule, state);
}

function isWithin(outer: string, path: string): boolean {
  const way = paths.relative(outer, path);
  return way !== ".." && !/^\.\.[/\\]/.test(way) && !paths.isAbsolute(way);
}

/** Returns the file of the workspace that a folder is a member of, as Deno and npm look for it. */
function workspaceOf(folder: string): string | undefined {
  for (let above = paths.dirname(folder);; above = paths.dirname(above)) {
    for (const name of ["deno.json", "deno.jsonc", "package.json"]) {
      const file = paths.join(above, name);
      if (!readIfThere(file)?.trim()) continue;
      if (hasMember(readJsonc(file, z.looseObject({})), paths.relative(above, folder))) return file;
    }
    if (paths.dirname(above) === above) return undefined;
  }
}

/**
 * Whether a file of the project is there.
 *
 * @throws {InputError} If something else is in its place or on its way, such as a link, which may lead anywhere.
 */
function isFile(folder: string, path: string): boolean {
  const parts = path.split("/");
  for (const index of parts.keys()) {
    const part = parts.slice(0, index + 1).join("/");
    const isLast = index === parts.length - 1;
    let info: Deno.FileInfo;
    try {
      info = Deno.lstatSync(`${folder}/${part}`);
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return false;
      throw cannotFile(`set up ${folder}: ${part}`, error);
    }
    if (info.isSymlink) throw unable(folder, `${part} must not be a link`, "it is one");
    if (info.isDirectory === isLast) {
      const [wanted, state] = isLast ? ["file", "folder"] : ["folder", "file"];
      throw unable(folder, `${part} must be a ${wanted}`, `it is a ${state}`);
    }
  }
  return true;
}

/** Plans all files, and tells which stay as they are. */
function planFiles(
  folder: string,
  isThere: (path: string) => boolean,
  config: ProjectConfig,
  clone: Clone | undefined,
): { files: PlannedFile[]; left: string[] } {
  const files: PlannedFile[] = [];
  const left: string[] = [];
  const { name, text } = config;
  if (text === undefined) left.push(`${name}: it has all`);
  else files.push({ path: name, text, ...config.isNew ? {} : { added: config.added } });
  const own = [
    [`${TESTS}weather_test.ts`, test.replace('from "zod"', `from "${config.zod}"`)],
    [`${TESTS}benchmark.ts`, benchmark],
    [WORKFLOW, workflowOf(folder, config, clone)],
  ] as const;
  for (const [path, text] of own) {
    if (isThere(path)) left.push(`${path}: it is there`);
    else files.push({ path, text });
  }
  const ignored = isThere(".gitignore") ? readExactly(`${folder}/.gitignore`) : undefined;
  const present = new Set(ignored?.split(/\r?\n/).map((line) => line.replaceAll("/", "").trim()));
  const lines = gitignore.trimEnd().split("\n")
    .filter((line) => !present.has(line.replaceAll("/", "")));
  if (lines.length === 0) {
    left.push(".gitignore: it has all");
  } else {
    const eol = ignored?.includes("\r\n") ? "\r\n" : "\n";
    const before = ignored === undefined || ignored === "" || ignored.endsWith("\n")
      ? ignored ?? ""
      : ignored + eol;
    files.push({
      path: ".gitignore",
      text: before + lines.map((line) => line + eol).join(""),
      ...ignored === undefined ? {} : { added: lines },
    });
  }
  return { files, left };
}

/** The workflow of this project: with its tasks, and with the clone that it links to. */
function workflowOf(folder: string, config: ProjectConfig, clone: Clone | undefined): string {
  const step = /^ {6}# deno\.json links .*\n {6}- name: Get toolgate\n(?: {8}.*\n)+/m;
  const { test, check } = config.tasks;
  let text: string = workflow.replace(" task test ", ` task ${test} `);
  text = check === ""
    ? text.replace(/^ {6}- name: Check types\n.*\n/m, "")
    : text.replace(/ task check$/m, ` task ${check}`);
  const way = placeInRepository(folder);
  if (way) {
    const place = JSON.stringify(way);
    text = text.replace(
      /^jobs:$/m,
      () => `defaults:\n  run:\n    working-directory: ${place}\n\njobs:`,
    );
  }
  if (clone === undefined) return text.replace(step, "");
  const { repository, commit } = clone;
  if (repository !== undefined) {
    text = text.replace(
      "${{ vars.TOOLGATE_REPOSITORY }}",
      `\${{ vars.TOOLGATE_REPOSITORY || '${repository}' }}`,
    );
  }
  if (commit !== undefined) text = text.replace("${{ vars.TOOLGATE_COMMIT }}", commit);
  return text.replace("TOOLGATE_FOLDER: ../toolgate", () => {
    const link = config.link!;
    return `TOOLGATE_FOLDER: ${/^[\w./-]+$/.test(link) ? link : JSON.stringify(link)}`;
  });
}

/**
 * The way to a folder from the top of its git repository; empty at the top, and outside of any; `undefined` where that
 * may not be seen.
 */
function placeInRepository(folder: string): string | undefined {
  let isSeen = true;
  for (let top = folder;; top = paths.dirname(top)) {
    const state = stateOf(`${top}/.git`);
    if (state === "there") return paths.relative(top, folder).replaceAll("\\", "/");
    if (state === "hidden") isSeen = false;
    if (paths.dirname(top) === top) return isSeen ? "" : undefined;
  }
}

/** Writes all files, or none: each is whole before the first one takes its place. */
function writeFiles(folder: string, files: readonly PlannedFile[]): void {
  using undo = new DisposableStack();
  // Folders that were made for nothing go again, the deepest first.
  for (const path of new Set(files.flatMap(({ path }) => missingFolders(folder, path)))) {
    try {
      Deno.mkdirSync(path);
    } catch (error) {
      throw cannotFile(`set up ${folder}: its folder ${path}`, error);
    }
    undo.defer(() => Deno.removeSync(path));
  }
  // A file keeps its permissions, and one that is marked as read-only is not written to.
  const modes = files.map(({ path, added }) =>
    added === undefined ? null : Deno.statSync(`${folder}/${path}`).mode
  );
  const locked = files.find((_, at) => modes[at] !== null && (modes[at]! & 0o200) === 0);
  if (locked !== undefined) {
    throw unable(folder, `${locked.path} must be writable`, "it is read-only");
  }
  const outputs = files.map(({ path, text }) => {
    const output = undo.use(new Output(`${folder}/${path}`, "the file", { links: false }));
    output.write(text);
    return output;
  });
  for (const [at, output] of outputs.entries()) {
    output.finish();
    const mode = modes[at]!;
    if (mode !== null) Deno.chmodSync(`${folder}/${files[at]!.path}`, mode & 0o777);
  }
  // Nothing is undone but the files that are still open.
  undo.move();
  for (const output of outputs) output[Symbol.dispose]();
}

/** The folders that a file needs and that are not there, the outermost first. */
function missingFolders(folder: string, path: string): string[] {
  const found: string[] = [];
  for (let one = paths.dirname(`${folder}/${path}`); !isFolder(one); one = paths.dirname(one)) {
    found.unshift(one);
  }
  return found;
}

function isFolder(path: string): boolean {
  try {
    return Deno.statSync(path).isDirectory;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw cannotFile(`set up a project below ${path}`, error);
  }
}

/** What was done, and what to do next. */
function told(
  folder: string,
  operand: string,
  files: readonly PlannedFile[],
  left: readonly string[],
  config: ProjectConfig,
  clone: Clone | undefined,
): string {
  const lines = [
    ...files.flatMap(({ path, added }) =>
      added === undefined
        ? [`wrote  ${path}`]
        : [`added  to ${path}:`, ...added.map((one) => `         ${one}`)]
    ),
    ...left.map((one) => `left   ${one}`),
  ];
  const hasWorkflow = files.some(({ path }) => path === WORKFLOW);
  const way = hasWorkflow ? placeInRepository(folder) : "";
  if (way !== "") {
    lines.push(
      "",
      "GitHub reads workflows at the top of a repository alone:",
      way === undefined ? "whether this folder is one may not be read." : `move ${WORKFLOW} there.`,
    );
  }
  if (hasWorkflow && clone !== undefined) lines.push(...toldOfVariables(clone));
  const { test, edit, check, bench } = config.tasks;
  const width = Math.max(test.length, edit.length, check.length, bench.length);
  lines.push(
    "",
    "Next:",
    ...operand === "." || printable(operand) !== operand ? [] : [`  cd ${shellQuote(operand)}`],
    ...config.needsInstall ? ["  deno install"] : [],
    `  deno task ${test.padEnd(width)}   tests of tools, such as ${TESTS}weather_test.ts`,
    `  deno task ${edit.padEnd(width)}   the same again at every save`,
    ...check === "" ? [] : [`  deno task ${check.padEnd(width)}   their types`],
    `  deno task ${bench.padEnd(width)}   a simulated model on generated tasks, and a gate`,
  );
  return lines.join("\n");
}

/** The variables that CI needs, as the clone does not tell what is in them. */
function toldOfVariables({ repository, commit, isHidden }: Clone): string[] {
  const missing = [
    ...repository === undefined
      ? [["TOOLGATE_REPOSITORY", "the address to get toolgate from", "no address for others"]]
      : [],
    ...commit === undefined ? [["TOOLGATE_COMMIT", "the commit of toolgate", "no commit"]] : [],
  ];
  if (missing.length === 0) return [];
  return [
    "",
    ...missing.map(([name, what]) => `CI needs the variable ${name}, ${what}:`),
    isHidden
      ? "the .git of the clone here may not be read."
      : `the clone here has ${missing.map(([, , state]) => state).join(" and ")}.`,
  ];
}
