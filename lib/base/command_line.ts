/**
 * Command lines: how toolgate's commands are started from where the user stands, for hints and `--help`.
 * @module
 */

import { isGranted } from "#runtime";
import { attempt, notCapable } from "./errors.ts";
import defer * as jsonc from "@std/jsonc";
import defer * as fs from "node:fs";
import defer * as paths from "node:path";
import defer * as process from "node:process";
import defer * as urls from "node:url";
import { environmentVariable } from "./environment.ts";
import { printable } from "./json.ts";
import { shellQuote } from "./shell_quote.ts";

/** The name that projects import, and of the project itself. */
const PACKAGE = "@toolgate/toolgate";
/** Its command line: shells take none of these characters for their own, here. */
const BY_NAME = `${PACKAGE}/cli`;
/** The task that a project may have for the command line. */
const TASK = "toolgate";

/** What was found for the folder that was asked about last: hints of one process are about one. */
let found: { readonly folder: string | undefined; readonly start: string } | undefined;

/**
 * Returns the line that starts a command where the user stands, such as `deno task toolgate gate a.jsonl` for
 * `gate a.jsonl`: in Deno by the task `toolgate` of the user's project, else by the name that the project imports,
 * else by this very module; elsewhere by the program of the package. The project's files are read once, when a line is
 * first needed, and only with the permission to read them: nobody is asked for it. Without it the line names the
 * package.
 *
 * @param rest The command and its arguments, quoted for a shell.
 */
export function commandLine(rest: string): string {
  const folder = userFolder();
  if (found === undefined || found.folder !== folder) found = { folder, start: startFrom(folder) };
  return `${found.start} ${rest}`.trimEnd();
}

/**
 * Returns the folder in which the user started a task: `deno task` leaves it for that of the project, and keeps it in
 * `INIT_CWD`. `undefined` outside of tasks.
 */
export function callerFolder(): string | undefined {
  return environmentVariable("INIT_CWD");
}

/** Returns the folder where the user stands; `undefined` if it is gone. */
function userFolder(): string | undefined {
  return attempt(() => callerFolder() ?? process.cwd());
}

/** Resolves `path` in the user's folder, which `deno task` leaves for the project's and has in `INIT_CWD`. */
export function userPath(path: string): string {
  const base = callerFolder();
  const isAbsolute = /^([/\\]|[A-Za-z]:[/\\])/.test(path);
  return base === undefined || isAbsolute || isHere(base) ? path : `${base}/${path}`;
}

/** Whether a folder is the one that paths begin in: what is said of them needs no more than the user wrote. */
function isHere(folder: string): boolean {
  return attempt(() => process.cwd() === folder) ?? false;
}

/**
 * Returns the path of a file from where the user stands, for a path that this process opens: they differ where a task
 * has changed the folder.
 */
export function pathForUser(path: string): string {
  const folder = userFolder();
  return attempt(() =>
    folder === undefined || folder === process.cwd() || paths.isAbsolute(path)
      ? path
      : paths.relative(folder, path)
  ) ?? path;
}

/**
 * Whether a path that anyone may have written names a file of the folder where the user stands, or of one within it,
 * in plain text.
 */
export function isOwnPath(path: string): boolean {
  return printable(path, 500) === path && !/^[-/\\]|:|(^|[/\\])\.\.([/\\]|$)/.test(path);
}

function startFrom(folder: string | undefined): string {
  const { deno, bun } = process.versions as Readonly<Record<string, string>>;
  if (deno === undefined) return bun === undefined ? "npx toolgate" : "bunx toolgate";
  try {
    const { tasks, imports } = folder === undefined ? {} : nearestConfig(paths.resolve(folder));
    if (isOwnTask(fieldsOf(tasks)[TASK])) return `deno task ${TASK}`;
    return `deno run -A ${
      Object.hasOwn(fieldsOf(imports), PACKAGE) ? BY_NAME : thisModule(folder)
    }`;
  } catch {
    // Where nothing can be read, the name is likely; one from a registry needs no project.
    const isRemote = !import.meta.url.startsWith("file:");
    return `deno run -A ${isRemote ? thisModule(folder) : BY_NAME}`;
  }
}

/**
 * Returns what configures Deno in a folder: the file in it, or in the nearest folder above that has one. Deno looks no
 * further than a `package.json`, either.
 *
 * @throws If it may not be read.
 */
function nearestConfig(folder: string): Readonly<Record<string, unknown>> {
  for (const name of ["deno.json", "deno.jsonc", "package.json"]) {
    const config = readConfig(paths.join(folder, name));
    if (config !== undefined) return config;
  }
  const above = paths.dirname(folder);
  return above === folder ? {} : nearestConfig(above);
}

/**
 * Reads a file of settings: of one that is not valid nothing is known. Returns `undefined` if there is none.
 *
 * @throws If it may not be read.
 */
function readConfig(path: string): Readonly<Record<string, unknown>> | undefined {
  if (!isGranted({ name: "read", path })) throw notCapable("read", path);
  const text = attempt(() =>
    fs.statSync(path).isFile() ? fs.readFileSync(path, "utf8") : undefined
  );
  return text === undefined ? undefined : fieldsOf(attempt(() => jsonc.parse(text)));
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? value as Record<string, unknown> : {};
}

/** The command line in a task: of the package, from wherever it comes, or of a clone. */
const OWN = new RegExp(
  `${PACKAGE}(?:@[^\\s/]*)?/cli(?![\\w./-])|(?<![\\w.-])cli/main\\.ts(?![\\w./-])`,
);

/** Whether a task is for the command line; one of its name may be anything else. */
function isOwnTask(task: unknown): boolean {
  const command = typeof task === "string" ? task : fieldsOf(task)["command"];
  return typeof command === "string" && OWN.test(command);
}

/** Names the module of the command line: by its path where that is short, by its address elsewhere. */
function thisModule(folder: string | undefined): string {
  const { protocol, href } = new URL("../cli/main.ts", import.meta.url);
  if (protocol !== "file:") {
    const version = new RegExp(`^https://jsr\\.io/${PACKAGE}/([^/]+)/`).exec(href)?.[1];
    return shellQuote(version === undefined ? href : `jsr:${PACKAGE}@${version}/cli`);
  }
  // A module of a package is no longer the file that this is.
  if (import.meta.url.endsWith(".js")) return `npm:${BY_NAME}`;
  const path = urls.fileURLToPath(href);
  const relative = folder === undefined ? path : paths.relative(folder, path);
  // Far above, the whole path is easier to read.
  return shellQuote(/^(?:\.\.[/\\]){2}/.test(relative) ? path : relative);
}
