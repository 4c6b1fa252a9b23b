/**
 * The `deno.json` of a project of a user's own, as far as it finds toolgate and runs its tests.
 * @module
 */

import * as paths from "node:path";
import { z } from "zod";
import config from "../../deno.json" with { type: "json" };
import { readExactly, readJsonc } from "../base/input.ts";
import { cannot } from "../base/errors.ts";
import { type JsonObject, printable } from "../base/json.ts";
import { redactRecord } from "../base/redact.ts";
import { addEntries, findTwice } from "./json_entries.ts";
import { type Clone, readIfThere } from "./origin.ts";

/** What is read of a configuration file; there may be more in it. */
const CONFIG = z.looseObject({
  imports: z.record(z.string(), z.string()).optional(),
  importMap: z.string().optional(),
  links: z.array(z.string()).optional(),
  nodeModulesDir: z.unknown().optional(),
  compilerOptions: z.record(z.string(), z.unknown()).optional(),
  tasks: z.record(
    z.string(),
    z.union([z.string(), z.looseObject({ command: z.string().optional() })]),
  ).optional(),
});

const PACKAGE = z.looseObject({
  dependencies: z.record(z.string(), z.string()).optional(),
  devDependencies: z.record(z.string(), z.string()).optional(),
});

/** Where the tests of tools are. */
export const TESTS = "tool_tests/";

/** Runs tests with what a real model, a journal or a report needs, and no more. */
const RUN = "deno test --no-check --no-prompt --allow-net=127.0.0.1,api.openai.com " +
  "--allow-env=OPENAI_API_KEY --allow-read=. --allow-write=results,recordings";

interface Task {
  readonly description: string;
  readonly command: string;
}

type TaskName = "test" | "check" | "edit" | "bench" | "toolgate";

/** The tasks of a project. No test waits for a check of types, which is a task of its own. */
const TASKS: Readonly<Record<TaskName, Task>> = {
  test: { description: "Runs the tests of tools", command: `${RUN} ${TESTS}` },
  check: { description: "Checks the types of the tests", command: `deno check ${TESTS}` },
  edit: {
    description: "Runs the tests of tools again after every change",
    command: `${RUN.replace(" test ", " test --watch ")} ${TESTS}`,
  },
  bench: {
    description: "A simulated model on freshly generated tasks, and a gate",
    command: `set -o pipefail; ${RUN} ${TESTS}benchmark.ts -- --report=results/bench.html | ` +
      "deno run @toolgate/toolgate/brief",
  },
  toolgate: {
    description: "The command line of toolgate: generate, run, report, gate and others",
    command: "deno run --no-prompt --allow-net --allow-env --allow-read --allow-write " +
      "@toolgate/toolgate/cli",
  },
};

/** The configuration of a project, and what is to be added to it. */
export interface ProjectConfig {
  /** Its file in the folder of the project. */
  readonly name: string;
  /** Its text with what is added; `undefined` where all is there. */
  readonly text: string | undefined;
  /** Whether the file is new. */
  readonly isNew: boolean;
  /** What is added to a file that is there. */
  readonly added: readonly string[];
  /** What is there with another content, and what follows from that. */
  readonly left: readonly string[];
  /** The names of the tasks in this project; empty for one that it does not get. */
  readonly tasks: Readonly<Record<TaskName, string>>;
  /** Where the clone is, seen from the project. Omitted without a clone. */
  readonly link?: string;
  /** Whether packages must be installed before anything runs. */
  readonly needsInstall: boolean;
  /** Where tests import zod from. */
  readonly zod: string;
}

/**
 * Plans what `deno.json` or `deno.jsonc` in a folder gets.
 *
 * @throws {InputError} If it or a `package.json` cannot be used.
 */
export function planConfig(
  folder: string,
  isThere: (name: string) => boolean,
  clone: Clone | undefined,
): ProjectConfig {
  const name = !isThere("deno.json") && isThere("deno.jsonc") ? "deno.jsonc" : "deno.json";
  const file = `${folder}/${name}`;
  const isNew = !isThere(name);
  // Deno takes an empty file for one without settings.
  const before = isNew ? "" : readExactly(file);
  const isEmpty = before.trim() === "";
  let text = isEmpty ? "{}\n" : before;
  const own = isEmpty ? {} : readJsonc(file, CONFIG);
  const twice = findTwice(text);
  if (twice !== undefined) {
    throw cannot(
      `set up ${folder}`,
      `each key of ${name} must be there once`,
      `${shown(JSON.stringify(twice))} is there twice`,
    );
  }
  if (own.importMap !== undefined) {
    throw cannot(
      `set up ${folder}`,
      `imports must be in ${name} itself`,
      `it takes them from ${own.importMap}; move them to "imports" first`,
    );
  }
  const hasPackage = isThere("package.json");
  const packages = hasPackage ? readJsonc(`${folder}/package.json`, PACKAGE) : {};
  const installed: Readonly<Record<string, string>> = {
    ...packages.devDependencies,
    ...packages.dependencies,
  };
  const added: string[] = [];
  const left: string[] = [];
  const add = (path: readonly string[], entries: JsonObject, what: string) => {
    if (Object.keys(entries).length === 0) return;
    text = addEntries(text, path, entries);
    added.push(what);
  };

  if (hasPackage && own.nodeModulesDir === undefined) {
    add([], { nodeModulesDir: "none" }, 'nodeModulesDir "none": node_modules is left to npm');
  }
  const link = clone === undefined ? undefined : linkTo(clone, folder);
  const links = own.links ?? [];
  if (link !== undefined && !links.some((one) => paths.resolve(folder, one) === clone!.folder)) {
    if (own.links === undefined) add([], { links: [link] }, `links ${link}`);
    else add(["links"], { [links.length]: link }, `links ${link}`);
  }

  const hasTypes = readIfThere(`${folder}/tsconfig.json`) !== undefined;
  const isChecked = clone === undefined ||
    (own.compilerOptions === undefined ? isNew || !hasTypes : isHarmless(own.compilerOptions));
  if (clone !== undefined && isNew && hasTypes) {
    add([], { compilerOptions: { strict: true } }, "compilerOptions");
  }
  if (!isChecked) {
    const options = own.compilerOptions === undefined ? "tsconfig.json" : "compilerOptions";
    left.push(`${options}: toolgate is not written for them; there is no task check`);
  }

  const wanted = {
    "@toolgate/toolgate": `jsr:${config.name}@^${config.version}`,
    "@std/assert": config.imports["@std/assert"],
    zod: config.imports.zod,
  };
  const zod = own.imports?.["zod"] ?? installed["zod"];
  const isOtherZod = zod !== undefined && !/^(?:npm:\/?zod@)?[\^~=v]*4(?:[.x]|$)/.test(zod);
  const imports = Object.entries(wanted).filter(([key, target]) => {
    const present = own.imports?.[key] ?? installed[key];
    if (present === undefined) return true;
    const instead = key === "zod" && isOtherZod ? `; the test imports ${target} itself` : "";
    if (present !== target) left.push(`import ${key}: it is ${shown(present)}${instead}`);
    return false;
  });
  const names = imports.map(([key]) => key).join(", ");
  add(["imports"], Object.fromEntries(imports), `imports ${names}`);

  const texts = new Map(
    Object.entries(own.tasks ?? {}).map(([key, task]) =>
      [key, typeof task === "string" ? task : task.command ?? ""] as const
    ),
  );
  const tasks = { test: "", check: "", edit: "", bench: "", toolgate: "" };
  const missing: JsonObject = {};
  for (const [key, task] of Object.entries(TASKS) as [TaskName, Task][]) {
    if (key === "check" && !isChecked) continue;
    const present = texts.get(key);
    // A task of these tests that was changed is still theirs.
    const isOwn = present === undefined || present.includes(TESTS) ||
      present.includes("@toolgate/toolgate");
    tasks[key] = isOwn ? key : `toolgate:${key}`;
    if (present !== undefined && present !== task.command) {
      const instead = isOwn ? "" : `; ${tasks[key]} is that of toolgate`;
      left.push(`task ${key}: it is ${shown(present)}${instead}`);
    }
    if (!texts.has(tasks[key])) missing[tasks[key]] = { ...task };
  }
  add(["tasks"], missing, `tasks ${Object.keys(missing).join(", ")}`);
  return {
    name,
    text: isNew || added.length > 0 ? text : undefined,
    isNew,
    added: isNew ? [] : added,
    left,
    tasks,
    ...link === undefined ? {} : { link },
    needsInstall: own.nodeModulesDir === "manual" || own.nodeModulesDir === true && hasPackage,
    zod: isOtherZod ? wanted.zod : "zod",
  };
}

/** Shows what a user wrote: a line of a task may have a key, and an address a password. */
function shown(text: string): string {
  return printable(redactRecord(text), 60);
}

function linkTo(clone: Clone, folder: string): string {
  const path = paths.relative(folder, clone.folder).replaceAll("\\", "/");
  return path.startsWith(".") || paths.isAbsolute(path) ? path : `./${path}`;
}

/** Whether the linked sources pass with these options: they are those of toolgate, or say nothing of types. */
function isHarmless(options: Readonly<Record<string, unknown>>): boolean {
  const own: Readonly<Record<string, unknown>> = config.compilerOptions;
  return Object.entries(options).every(([key, value]) =>
    key.startsWith("jsx") || value === own[key]
  );
}
