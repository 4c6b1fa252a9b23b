/**
 * Command lines: how toolgate's commands are started from where the user stands, for hints and `--help`.
 * @module
 */

import { attempt } from "./errors.ts";
import defer * as jsonc from "@std/jsonc";
import defer * as paths from "node:path";
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
 * `gate a.jsonl`: by the task `toolgate` of the user's project, else by the name that the project imports, else by
 * this very module. The project's files are read once, when a line is first needed, and only with the permission to
 * read them: nobody is asked for it. Without it the line names the package.
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
  return attempt(() => callerFolder() ?? Deno.cwd());
}

/** Resolves `path` in the user's folder, which `deno task` leaves for the project's and has in `INIT_CWD`. */
export function userPath(path: string): string {
  const base = callerFolder();
  const isAbsolute = /^([/\\]|[A-Za-z]:[/\\])/.test(path);
  return base === undefined || isAbsolute || isHere(base) ? path : `${base}/${path}`;
}

/** Whether a folder is the one that paths begin in: what is said of them needs no more than the user wrote. */
function isHere(folder: string): boolean {
  return attempt(() => Deno.cwd() === folder) ?? false;
}

/**
 * Returns the path of a file from where the user stands, for a path that this process opens: they differ where a task
 * has changed the folder.
 */
export function pathForUser(path: string): string {
  const folder = userFolder();
  return attempt(() =>
    folder === undefined || folder === Deno.cwd() || paths.isAbsolute(path)
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
  try {
    const start = folder === undefined ? undefined : startInProject(folder);
    return start ?? `deno run -A ${thisModule(folder)}`;
  } catch {
    // Where nothing can be read, the name is likely; one from a registry needs no project.
    const isRemote = !import.meta.url.startsWith("file:");
    return `deno run -A ${isRemote ? thisModule(folder) : BY_NAME}`;
  }
}

/**
 * Returns how commands are started in the project of a folder; `undefined` if it does not know toolgate.
 *
 * @throws If files that decide may not be read.
 */
function startInProject(folder: string): string | undefined {
  let nearest: string | undefined;
  let name: string | undefined;
  for (const at of foldersAbove(paths.resolve(folder))) {
    let configs: readonly Config[];
    try {
      configs = configsIn(at);
    } catch (error) {
      if (name === undefined) throw error;
      break;
    }
    if (configs.length === 0) continue;
    // Deno takes the nearest folder that has any, and the workspace that this folder is a member of.
    const below = nearest === undefined ? undefined : paths.relative(at, nearest);
    if (below !== undefined && !configs.some((one) => hasMember(one, below))) continue;
    nearest ??= at;
    if (configs.some(hasTask)) return `deno task ${TASK}`;
    name ??= configs.map(importedName).find((one) => one !== undefined);
  }
  if (name === undefined) return undefined;
  return `deno run -A ${name === PACKAGE ? BY_NAME : shellQuote(`${name}/cli`)}`;
}

/** A folder and all above it, the nearest first. */
function foldersAbove(folder: string): string[] {
  const above = paths.dirname(folder);
  return above === folder ? [folder] : [folder, ...foldersAbove(above)];
}

/** A file that configures a project, as far as it is read. */
type Config = Readonly<Record<string, unknown>> & {
  /** The imports of the map that it names. */
  readonly mapped?: unknown;
};

/** Reads the files of a folder that configure a project: of two for Deno it takes the first. */
function configsIn(folder: string): Config[] {
  const read = (name: string) => readConfig(paths.join(folder, name));
  const config = read("deno.json") ?? read("deno.jsonc");
  const map = config?.["importMap"];
  const mapped = typeof map === "string" ? readConfig(paths.resolve(folder, map)) : undefined;
  return [config && { ...config, mapped: mapped?.["imports"] }, read("package.json")]
    .filter((one) => one !== undefined);
}

/**
 * Reads a file of settings: of one that is not valid nothing is known. Returns `undefined` if there is none.
 *
 * @throws If it may not be read.
 */
function readConfig(path: string): Config | undefined {
  if (Deno.permissions.querySync({ name: "read", path }).state !== "granted") {
    throw new Deno.errors.NotCapable(path);
  }
  const text = attempt(() => Deno.statSync(path).isFile ? Deno.readTextFileSync(path) : undefined);
  return text === undefined ? undefined : fieldsOf(parse(text));
}

/** Parses JSON, with comments where it has any: the parser for these takes time to load. */
function parse(text: string): unknown {
  return attempt(() => JSON.parse(text)) ?? attempt(() => jsonc.parse(text));
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? value as Record<string, unknown> : {};
}

/**
 * Whether a configuration, of Deno or of npm, is of a workspace that a folder is a member of.
 *
 * @param folder Its path from where the configuration is.
 */
function hasMember(
  { workspace, workspaces }: Readonly<Record<string, unknown>>,
  folder: string,
): boolean {
  const list = workspace ?? workspaces;
  const { members, packages } = fieldsOf(list);
  const below = folder.replaceAll("\\", "/");
  return [list, members, packages].flatMap((one) => Array.isArray(one) ? one : []).some(
    (member) => {
      const pattern = `${member}`.replace(/^\.\//, "").replace(/\/$/, "")
        .replaceAll(/[.+?^${}()|[\]\\]/g, "\\$&")
        .replaceAll(/\*+/g, (stars) => stars.length > 1 ? ".*" : "[^/]*");
      return new RegExp(`^${pattern}$`).test(below);
    },
  );
}

/** The command line in a task: of the package, from wherever it comes, or of a clone. */
const OWN = new RegExp(
  `${PACKAGE}(?:@[^\\s/]*)?/cli(?![\\w./-])|(?<![\\w.-])cli/main\\.ts(?![\\w./-])`,
);

/** Whether there is a task for the command line; a task of this name may be anything else. */
function hasTask({ tasks, scripts }: Config): boolean {
  return [tasks, scripts].some((one) => {
    const task = fieldsOf(one)[TASK];
    const command = typeof task === "string" ? task : fieldsOf(task)["command"];
    return typeof command === "string" && OWN.test(command);
  });
}

/** Returns the name by which files of a project import toolgate; `undefined` if they do not. */
function importedName(config: Config): string | undefined {
  if (config["name"] === PACKAGE) return PACKAGE;
  const { imports, mapped, dependencies, devDependencies } = config;
  const names = [imports, mapped, dependencies, devDependencies].map(fieldsOf);
  if (names.some((one) => Object.hasOwn(one, PACKAGE))) return PACKAGE;
  return names.slice(0, 2).flatMap((one) => Object.entries(one)).find(([name, target]) =>
    // Quotes do not stop control characters, which would act on a terminal that the line is pasted into.
    !/[\p{C}\p{Zl}\p{Zp}]/u.test(name) && typeof target === "string" &&
    new RegExp(`^jsr:/?${PACKAGE}(?:@[^/]*)?$`).test(target)
  )?.[0];
}

/** Names the module of the command line: by its path where that is short, by its address elsewhere. */
function thisModule(folder: string | undefined): string {
  const { protocol, href } = new URL("../cli/main.ts", import.meta.url);
  if (protocol !== "file:") {
    const version = new RegExp(`^https://jsr\\.io/${PACKAGE}/([^/]+)/`).exec(href)?.[1];
    return shellQuote(version === undefined ? href : `jsr:${PACKAGE}@${version}/cli`);
  }
  const path = urls.fileURLToPath(href);
  const relative = folder === undefined ? path : paths.relative(folder, path);
  // Far above, the whole path is easier to read.
  return shellQuote(/^(?:\.\.[/\\]){2}/.test(relative) ? path : relative);
}
