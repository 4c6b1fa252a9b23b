/**
 * The names of tests: those that `--filter` selects by, which are made when a file is loaded.
 */

import { deno, ROOT } from "./child.ts";

/** The files of tests, by their paths in the project. */
export const TEST_FILES: readonly string[] = [...filesIn("tests")].sort();

function* filesIn(folder: string): Generator<string> {
  for (const { name, isDirectory } of Deno.readDirSync(`${ROOT}/${folder}`)) {
    const path = `${folder}/${name}`;
    if (isDirectory) yield* filesIn(path);
    else if (name.endsWith("_test.ts") || folder === "tests/soak") yield path;
  }
}

/** What was asked for before: most of the time goes into loading files. */
const known = new Map<string, readonly string[]>();

/** The names that the tests of files are registered by, in order, by path; no test is run. */
export async function testNames(
  paths: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const asked = paths.filter((path) => !known.has(path));
  if (asked.length > 0) {
    const { code, stdout, all } = await deno([
      ...["run", "--no-check", "--no-prompt", "--allow-all"],
      ...[`--config=${ROOT}/deno.json`, `--lock=${ROOT}/tests/deno.lock`],
      new URL(import.meta.url).pathname,
      ...asked,
    ]);
    if (code !== 0) throw new Error(`Cannot list the tests: ${all}`);
    const found: [string, string[]][] = JSON.parse(stdout.trim().split("\n").at(-1)!);
    for (const [path, names] of found) known.set(path, names);
  }
  return new Map(paths.map((path) => [path, known.get(path)!]));
}

/** Loads files with a `Deno.test` that only takes names. */
async function listTests(paths: readonly string[]): Promise<void> {
  let names: string[] = [];
  const after: (() => void | Promise<void>)[] = [];
  const register = (first: string | { name: string }) => {
    names.push(typeof first === "string" ? first : first.name);
  };
  const hook = () => {};
  // Outside of `deno test` there is one that does nothing.
  (Deno as { test: unknown }).test = Object.assign(register, {
    ignore: register,
    only: register,
    beforeAll: hook,
    beforeEach: hook,
    afterEach: hook,
    // These give back what a file takes when it is loaded.
    afterAll: (fn: () => void | Promise<void>) => after.push(fn),
  });
  const found: [path: string, names: string[]][] = [];
  for (const path of paths) {
    names = [];
    found.push([path, names]);
    await import(`file://${ROOT}/${path}`);
  }
  for (const fn of after) await fn();
  console.log(JSON.stringify(found));
}

if (import.meta.main) {
  // At its end the library reports suites that it could not register, as no test file was loaded.
  const { addEventListener } = globalThis;
  Object.assign(globalThis, {
    addEventListener(...listener: Parameters<typeof addEventListener>) {
      if (listener[0] !== "unload") addEventListener.apply(globalThis, listener);
    },
  });
  // Not awaited, as files may import this module; and something that a file has begun may go on.
  listTests(Deno.args).then(() => Deno.exit(0));
}
