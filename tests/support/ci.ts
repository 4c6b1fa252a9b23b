/**
 * What a CI service does with a job, as far as the examples of fixtures/ci need it: a workspace, commands
 * one after another in bash, and artifacts that are carried from job to job.
 */

import { assertEquals, assertStringIncludes } from "@std/assert";
import { parse } from "@std/yaml";
import { command, deno, type Folder, folder, ROOT } from "./child.ts";
import { toolgate } from "./command_line.ts";

/** What a job left. */
export interface EndedJob {
  /** The first exit code of its commands that is not 0. */
  readonly code: number;
  /** All that its commands wrote. */
  readonly output: string;
}

/** The files of jobs that are kept, by their paths in the workspace. */
export type Artifacts = ReadonlyMap<string, string>;

/** Writes the words that it is given, an empty one behind each command, and ends with the code of this command. */
const LISTENING = `#!/bin/sh
printf '%s\\0' "$@" '' >> "$WORDS"
echo >> "$WORDS.count"
exit "$(echo "\${CODES:-0}" | cut -d ' ' -f "$(wc -l < "$WORDS.count")")"
`;

/** A copy of the project in which jobs run. */
export class Workspace implements AsyncDisposable {
  readonly #folder: Folder;

  private constructor(place: Folder) {
    this.#folder = place;
  }

  /** Copies what of the project jobs run, and puts an `npx` before all others that starts this very Deno. */
  static async open(): Promise<Workspace> {
    const place = await folder();
    copyProject(place.file("project"));
    await writeNpx(place);
    Deno.mkdirSync(place.file("listening"));
    place.write("listening/npx", LISTENING);
    Deno.chmodSync(place.file("listening/npx"), 0o755);
    return new Workspace(place);
  }

  /** Where the project is. */
  get path(): string {
    return this.#folder.file("project");
  }

  /** Changes a file of the project. */
  change(path: string, before: string, after: string): void {
    const text = Deno.readTextFileSync(`${this.path}/${path}`);
    assertStringIncludes(text, before);
    Deno.writeTextFileSync(`${this.path}/${path}`, text.replace(before, after));
  }

  /** Begins a job: nothing of the one before is there but what `artifacts` hold. */
  begin(artifacts: Artifacts = new Map()): void {
    for (const name of ["project/results", "summary.md"]) {
      try {
        Deno.removeSync(this.#folder.file(name), { recursive: true });
      } catch (error) {
        if (!(error instanceof Deno.errors.NotFound)) throw error;
      }
    }
    this.#folder.write("summary.md", "");
    // Where nothing is kept of a job before, commands make the folder themselves.
    if (artifacts.size > 0) Deno.mkdirSync(`${this.path}/results`);
    for (const [path, text] of artifacts) this.#folder.write(`project/${path}`, text);
  }

  /** Runs a script as the services do: its first command that fails ends it. */
  async run(script: string, variables: Readonly<Record<string, string>>): Promise<EndedJob> {
    return await runScript(script, this.path, this.#folder, variables);
  }

  /** The words of each command that a script gives to `npx`, which ends with these codes, one after another. */
  async commandsOf(
    script: string,
    variables: Readonly<Record<string, string>>,
    codes = "0",
  ): Promise<{ readonly code: number; readonly commands: string[][] }> {
    const words = this.#folder.file("words");
    for (const name of ["words", "words.count"]) this.#folder.write(name, "");
    const { code } = await runScript(script, this.path, this.#folder, {
      ...{ ...variables, WORDS: words, CODES: codes },
    }, "listening");
    const commands = Deno.readTextFileSync(words).split("\0\0").slice(0, -1)
      .map((one) => one.split("\0"));
    return { code, commands };
  }

  /** Carries out the commands of a script in this process: sooner, but with other permissions. */
  async carryOut(script: string, variables: Readonly<Record<string, string>>): Promise<EndedJob> {
    const { commands } = await this.commandsOf(script, variables);
    const env = { ...variables, GITHUB_STEP_SUMMARY: this.#folder.file("summary.md") };
    let output = "";
    for (const words of commands) {
      const start = words.indexOf("@toolgate/toolgate/cli");
      assertEquals(words.slice(0, 3), ["--yes", "deno@2.9.6", "run"]);
      const ended = await toolgate(words.slice(start + 1), { cwd: this.path, env });
      output += ended.stdout + ended.stderr;
      if (ended.code !== 0) return { code: ended.code, output };
    }
    return { code: 0, output };
  }

  /** The files that a path with stars stands for. */
  files(pattern: string): Map<string, string> {
    const names = [...Deno.readDirSync(`${this.path}/results`)].map(({ name }) =>
      `results/${name}`
    );
    const matching = new RegExp(`^${pattern.replaceAll(".", "\\.").replaceAll("*", "[^/]*")}$`);
    return new Map(
      names.filter((name) => matching.test(name)).sort()
        .map((name) => [name, Deno.readTextFileSync(`${this.path}/${name}`)]),
    );
  }

  /** The summary of the job. */
  get summary(): string {
    return Deno.readTextFileSync(this.#folder.file("summary.md"));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#folder[Symbol.asyncDispose]();
  }
}

/** The content of a file of fixtures/ci. */
// deno-lint-ignore no-explicit-any
export function readExample(name: string): any {
  return parse(Deno.readTextFileSync(`${ROOT}/fixtures/ci/${name}`));
}

/** Copies what of the project jobs run. */
export function copyProject(to: string): void {
  for (const name of ["lib", "fixtures", "mod.ts", "deno.json", "deno.lock"]) {
    copy(`${ROOT}/${name}`, `${to}/${name}`);
  }
}

/** Puts into a folder an `npx` that starts this very Deno. */
export async function writeNpx(place: Folder): Promise<void> {
  Deno.mkdirSync(place.file("bin"));
  Deno.mkdirSync(place.file("cache"));
  // What is compiled of the copy must not stay when it goes; packages are there already.
  const { npmCache } = JSON.parse((await deno(["info", "--json"])).stdout);
  Deno.symlinkSync(npmCache, place.file("cache/npm"));
  place.write(
    "bin/npx",
    [
      "#!/bin/sh",
      '[ "$1 $2" = "--yes deno@2.9.6" ] || { echo "npx $*" >&2; exit 99; }',
      "shift 2",
      `export DENO_DIR='${place.file("cache")}'`,
      `exec '${Deno.execPath()}' "$@"`,
    ].join("\n"),
  );
  Deno.chmodSync(place.file("bin/npx"), 0o755);
}

/** Runs a script as the services do: its first command that fails ends it. `place` has npx and the summary. */
export async function runScript(
  script: string,
  cwd: string,
  place: Folder,
  variables: Readonly<Record<string, string>>,
  bin = "bin",
): Promise<EndedJob> {
  const path = `${place.file(bin)}:${Deno.env.get("PATH")}`;
  const { code, stdout, stderr } = await command("bash", ["-e", "-o", "pipefail", "-c", script], {
    cwd,
    env: { ...variables, PATH: path, GITHUB_STEP_SUMMARY: place.file("summary.md") },
  }).output();
  const output = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes)).join("");
  return { code, output };
}

/** Copies a file or a folder. */
export function copy(from: string, to: string): void {
  const isFolder = Deno.statSync(from).isDirectory;
  Deno.mkdirSync(isFolder ? to : to.replace(/\/[^/]*$/, ""), { recursive: true });
  if (!isFolder) return Deno.copyFileSync(from, to);
  for (const { name } of Deno.readDirSync(from)) copy(`${from}/${name}`, `${to}/${name}`);
}
