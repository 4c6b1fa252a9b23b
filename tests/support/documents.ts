/**
 * What tests of the documents share: their code blocks, a copy of the project in which these run, and a shell;
 * and the tables of a page.
 */

import { ROOT } from "./child.ts";

/** The pages that people read, by path. */
export const PAGES: readonly string[] = [
  "README.md",
  ...[...Deno.readDirSync(`${ROOT}/docs`)].map(({ name }) => `docs/${name}`).sort(),
  "CONTRIBUTING.md",
];

/** The text of a page. */
export function textOf(page: string): string {
  return Deno.readTextFileSync(`${ROOT}/${page}`);
}

/** The code blocks of a page in a language. */
export function blocksOf(page: string, language: string): string[] {
  return [...textOf(page).matchAll(/^```(\w+)\n(.*?)^```$/gms)]
    .flatMap(([, found, text]) => found === language ? [text!] : []);
}

/** The lines of the shell blocks of all pages that start so. */
export function shellLines(start: string): string[] {
  return PAGES.flatMap((page) => blocksOf(page, "sh"))
    .flatMap((text) => text.trim().split("\n"))
    .filter((line) => line.startsWith(start));
}

/**
 * A copy of what a clone holds, and an empty folder beside it. One for all tests of a file, as all of a copy
 * is compiled anew.
 */
export class Workplace implements AsyncDisposable {
  private constructor(readonly folder: string) {}

  static async make(): Promise<Workplace> {
    const folder = await Deno.makeTempDir();
    await Deno.mkdir(`${folder}/toolgate`);
    for (const name of ["deno.json", "mod.ts", "lib", "fixtures"]) {
      await copy(`${ROOT}/${name}`, `${folder}/toolgate/${name}`);
    }
    // The examples of documents use packages of agents that only tests have.
    await copy(`${ROOT}/tests/deno.lock`, `${folder}/toolgate/deno.lock`);
    return new Workplace(folder);
  }

  get clone(): string {
    return `${this.folder}/toolgate`;
  }

  get mine(): string {
    return `${this.folder}/mine`;
  }

  /** Puts back what was changed in it, and takes away what was made, so that it is as it was at first. */
  async clear(): Promise<void> {
    for (const path of [this.mine, `${this.clone}/results`]) {
      await Deno.remove(path, { recursive: true }).catch((error) => {
        if (!(error instanceof Deno.errors.NotFound)) throw error;
      });
    }
    await Deno.mkdir(this.mine);
    await Deno.copyFile(`${ROOT}/deno.json`, `${this.clone}/deno.json`);
    await Deno.copyFile(`${ROOT}/tests/deno.lock`, `${this.clone}/deno.lock`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.folder, { recursive: true });
  }
}

async function copy(from: string, to: string): Promise<void> {
  if ((await Deno.stat(from)).isFile) return await Deno.copyFile(from, to);
  await Deno.mkdir(to);
  for await (const { name } of Deno.readDir(from)) await copy(`${from}/${name}`, `${to}/${name}`);
}

/** Runs a line as a shell does, with this very Deno. */
export async function shell(line: string, cwd: string): Promise<{ code: number; output: string }> {
  const { code, stdout, stderr } = await new Deno.Command("sh", {
    // A task that runs these tests sets its own folder, and where it counts lines; a user's shell does not.
    args: [
      "-c",
      `unset INIT_CWD DENO_COVERAGE_DIR; ${line.replace(/^npx --yes deno@\S+/, "deno")}`,
    ],
    cwd,
    env: {
      NO_COLOR: "1",
      OPENAI_API_KEY: "sk-none",
      PATH: `${Deno.execPath().replace(/[^/]*$/, "")}:${Deno.env.get("PATH")}`,
    },
  }).output();
  const decoder = new TextDecoder();
  return { code, output: decoder.decode(stdout) + decoder.decode(stderr) };
}

/**
 * A line, or a file of tasks, whose tests are run without a check of types: one that takes seconds for each
 * file. `deno task checks` has these files, and tests/e2e/init_test.ts those of a user's own project.
 */
export function unchecked(text: string): string {
  return text.replaceAll(/\bdeno test (?!.*--no-check)/g, "deno test --no-check ");
}

/** The cells of a table of fixtures/README.md, below a heading. */
export function tableOf(heading: string): string[][] {
  return textOf("fixtures/README.md").split(/\n##+ /).find((section) =>
    section.startsWith(heading)
  )!
    .split("\n").filter((line) => line.startsWith("|"))
    .map((line) => line.split("|").slice(1, -1).map((cell) => cell.trim().replaceAll("`", "")));
}
