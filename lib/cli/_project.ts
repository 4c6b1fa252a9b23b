/**
 * What `init` makes of a folder: a project of Deno, or one of npm with its runner of tests.
 * @module
 */

import process from "node:process";
import toolgate from "../../deno.json" with { type: "json" };
import denoWorkflow from "../../fixtures/project/github.yml" with { type: "text" };
import npmWorkflow from "../../fixtures/project/github_npm.yml" with { type: "text" };
import HOW from "../../fixtures/project/runners.json" with { type: "json" };
import { cannot } from "../base/errors.ts";
import { isMissing } from "../base/output_file.ts";
import type { Package } from "./_package.ts";
import { Settings } from "./_settings.ts";

/** Whether a registry has the package. */
const PUBLISHED = false;

const OWN = toolgate.name;

/** What documents of OpenAPI are read by: a package leaves them to those who need them. */
const OPENAPI = ["@scalar/openapi-upgrader", "@scalar/openapi-validator"];

/** How a project is set up. */
export type Project = ReturnType<typeof planProject>;

/**
 * Plans what a folder gets.
 *
 * @param source The package, where it comes from no registry.
 * @param isOpenApi Whether a document of OpenAPI is read.
 * @throws {InputError} If what is there cannot be used, or nobody has the package.
 */
export function planProject(folder: string, source: Package | undefined, isOpenApi: boolean) {
  const fail = (rule: string, state: string) => cannot(`set up ${folder}`, rule, state);
  const isHere = (name: string) => !isMissing(`${folder}/${name}`);
  const packages = new Settings(folder, "package.json");
  const isNew = packages.added === undefined;
  const npm = { ...packages.own.devDependencies, ...packages.own.dependencies };
  const hasDeno = isHere("deno.json") || isHere("deno.jsonc");
  const isDeno = hasDeno && !Object.hasOwn(npm, OWN) ||
    isNew && process.versions["deno"] !== undefined;
  const settings = isDeno
    ? new Settings(folder, !isHere("deno.json") && hasDeno ? "deno.jsonc" : "deno.json")
    : packages;
  const { own } = settings;

  const lock = Object.entries(HOW.managers).find(([name]) => isHere(name));
  const manager = lock?.[1] ?? (isNew && process.versions["bun"] !== undefined ? "bun" : "npm");
  const isBun = manager === "bun" || Object.hasOwn(npm, "@types/bun");
  const byManager = isBun ? "bun" : "node";
  const runner = isDeno ? "deno" : Object.hasOwn(npm, "vitest") ? "vitest" : byManager;
  let text = JSON.stringify(HOW.runners[runner]).replaceAll(/\bnpm(?= )/g, manager);
  // Node takes a file of such a package for CommonJS, unless its name says what it is.
  if (runner === "node" && !isNew && own.type !== "module") text = text.replaceAll(".ts", ".mts");
  const { packages: section, needs, ...how }: typeof HOW.runners[typeof runner] = JSON.parse(text);

  if (!isDeno && isNew) {
    settings.set(["private"], true);
    settings.set(["type"], "module");
  }
  if (isDeno && own.importMap !== undefined) {
    const state = `it takes them from ${own.importMap}; move them to "imports" first`;
    throw fail(`imports must be in ${settings.name} itself`, state);
  }
  // Deno links to a package only where it has a folder node_modules; one of npm is left to npm.
  const modules = source !== undefined ? "auto" : isNew ? undefined : "none";
  if (isDeno && modules !== undefined && own.nodeModulesDir === undefined) {
    settings.set(["nodeModulesDir"], modules, `nodeModulesDir "${modules}"`);
  }
  if (isDeno && source !== undefined) {
    settings.append("links", "./vendor/toolgate");
    settings.append("exclude", "vendor/");
  }

  const known: Record<string, unknown> = isDeno ? { ...npm, ...own.imports } : npm;
  if (!PUBLISHED && source === undefined && !Object.hasOwn(known, OWN)) {
    const state = "run deno task package in a clone of toolgate, and add --from=CLONE/dist here";
    throw fail("no registry has the package yet", state);
  }
  const version = source?.version ?? toolgate.version;
  const kept = isDeno ? "vendor/toolgate/" : `vendor/toolgate-${version}.tgz`;
  const isOtherZod = !/^(?:npm:\/?zod@)?[\^~=v]*4(?:[.x]|$)/.test(`${known["zod"] ?? 4}`);
  const zod = isOtherZod ? "zod4" : "zod";
  const versions: Readonly<Record<string, string>> = {
    ...toolgate.imports,
    ...{ [zod]: toolgate.imports.zod },
    [OWN]: source === undefined || isDeno ? `npm:${OWN}@^${version}` : `file:${kept}`,
  };
  const wanted = [OWN, ...needs, zod, ...isOpenApi ? OPENAPI : []].map((name) =>
    [name, isDeno ? versions[name] : versions[name]!.replace(`npm:${name}@`, "")] as const
  );
  settings.add(section, known, wanted);

  const left: string[] = [];
  if (source !== undefined && ![versions[OWN], undefined].some((one) => one === known[OWN])) {
    left.push(`the package: ${known[OWN]} stays; remove it from ${settings.name} to take this one`);
  }
  const tasks = own[how.section as "tasks" | "scripts"] ?? {};
  const names = new Map(
    Object.keys(how.tasks).map((task) => {
      // A task of these tests that was changed is still theirs.
      const present = JSON.stringify(tasks[task] ?? "");
      if (/^""$|tool_tests\/|@toolgate\/toolgate/.test(present)) return [task, task];
      left.push(`task ${task}: it is another one; toolgate:${task} is that of toolgate`);
      return [task, `toolgate:${task}`];
    }),
  );
  const added = Object.entries(how.tasks).map(([task, line]) => [names.get(task)!, line] as const);
  settings.add(how.section, tasks, added);
  return {
    ...{ ...how, settings, left, kept, zod, names },
    install: own.nodeModulesDir === "manual" ? "deno install" : how.install,
    workflow: isDeno ? denoWorkflow : npmWorkflow.replaceAll(
      /\bnpm(?= (?:run|install))/g,
      manager === "npm" ? manager : `npx --yes ${manager}`,
    ),
    // In the order of what is written: that of the package's folder says that it is whole.
    files: isDeno ? source?.files : source && new Map([["", source.packed]]),
    ignored: isDeno && source === undefined ? [] : ["/node_modules/"],
  };
}
