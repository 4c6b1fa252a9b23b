/**
 * What end-to-end tests share: child processes, temporary folders, and a server that counts.
 */

import { keptVariables, ROOT } from "./surroundings.ts";
import type { ChatRequest } from "../../lib/simulated/_wire.ts";
import { parseSimulatedModel } from "../../lib/simulated/_names.ts";

export { ROOT };

/** What a child process left. */
export interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  /** Both, and how it was started: for the message of an assertion. */
  readonly all: string;
}

/** How a child process is started. */
export interface ChildOptions {
  /** Default: the project's folder. */
  readonly cwd?: string;
  /** Added to the few variables that every child gets. */
  readonly env?: Readonly<Record<string, string>>;
}

/** A running child process. */
export interface Child {
  readonly process: Deno.ChildProcess;
  /** Resolves when the process has ended. */
  readonly finished: Promise<Finished>;
}

/** A program with next to no environment, whose output is piped. */
export function command(
  program: string,
  arguments_: readonly string[],
  { cwd = ROOT, env = {} }: ChildOptions = {},
): Deno.Command {
  return new Deno.Command(program, {
    args: [...arguments_],
    cwd,
    clearEnv: true,
    env: { ...keptVariables(), NO_COLOR: "1", ...env },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  });
}

/** Starts a program, and collects what it writes. */
export function start(
  program: string,
  arguments_: readonly string[],
  options?: ChildOptions,
): Child {
  const process = command(program, arguments_, options).spawn();
  const shown = [program === Deno.execPath() ? "deno" : program, ...arguments_].join(" ");
  return {
    process,
    finished: process.output().then(({ code, stdout, stderr }) => {
      const [out, told] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
      // What Deno says of packages that were not there yet is nothing that the program says.
      const err = told!.replaceAll(/^Download .*\n/gm, "");
      const all = `$ ${shown}\n${out}\n--- stderr\n${err}\n--- exit code ${code}`;
      return { code, stdout: out!, stderr: err, all };
    }),
  };
}

/** Runs `deno` to its end. */
export function deno(arguments_: readonly string[], options?: ChildOptions): Promise<Finished> {
  return start(Deno.execPath(), arguments_, options).finished;
}

/** Carries out a line as a user would paste it into a shell, where `deno` is the one that runs the tests. */
export function shell(line: string, options?: Pick<ChildOptions, "cwd">): Promise<Finished> {
  const here = Deno.execPath().replace(/\/[^/]*$/, "");
  const env = { PATH: `${here}:${Deno.env.get("PATH")}` };
  return start("sh", ["-c", line], { ...options, env }).finished;
}

/** Where temporary folders are made: all that children may write to. */
export const TEMPORARY = Deno.realPathSync(Deno.env.get("TMPDIR") ?? "/tmp");

/** What `deno` needs to run the command line with as few permissions as most commands need. */
export const LAUNCH: readonly string[] = [
  ...["run", "--no-check", "--no-prompt", "--allow-net=127.0.0.1", "--allow-read"],
  ...["--allow-env", `--allow-write=${TEMPORARY}`],
  `${ROOT}/lib/cli/main.ts`,
];

/** Starts a command of toolgate. */
export function beginToolgate(arguments_: readonly string[], options?: ChildOptions): Child {
  return start(Deno.execPath(), [...LAUNCH, ...arguments_], options);
}

/** A temporary folder that goes when its scope ends. */
export interface Folder extends AsyncDisposable {
  readonly path: string;
  /** The path of something in it. */
  file(name: string): string;
  /** Writes a file in it and gives its path. */
  write(name: string, text: string): string;
  /** The names of all that is in it. */
  names(): string[];
}

/** Makes a temporary folder. */
export async function folder(): Promise<Folder> {
  const path = await Deno.makeTempDir({ dir: TEMPORARY, prefix: "toolgate-" });
  const file = (name: string) => `${path}/${name}`;
  return {
    path,
    file,
    write(name, text) {
      const path = file(name);
      Deno.mkdirSync(path.slice(0, path.lastIndexOf("/")), { recursive: true });
      Deno.writeTextFileSync(path, text);
      return file(name);
    },
    names: () => [...Deno.readDirSync(path)].map(({ name }) => name).sort(),
    [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }),
  };
}

/** The values of a file of JSON lines; of a journal its plan and its trials, without checksums. */
// deno-lint-ignore no-explicit-any
export function readLines(path: string): any[] {
  return valuesIn(Deno.readTextFileSync(path));
}

/** The values of JSON lines, as {@linkcode readLines} gives them. */
// deno-lint-ignore no-explicit-any
export function valuesIn(text: string): any[] {
  return text.trimEnd().split("\n").map((line) => JSON.parse(line))
    .filter(({ kind }) => kind !== "resume" && kind !== "end").map(({ sum: _, ...value }) => value);
}

/** A server of simulated models that keeps count. */
export interface CountingServer extends AsyncDisposable {
  readonly url: string;
  /** Requests so far. */
  readonly requests: number;
  /** The most requests that were answered at the same time. */
  readonly mostAtOnce: number;
  /** Connections so far. */
  readonly connections: number;
  /** How often a trial was begun, by its first message. */
  readonly begun: ReadonlyMap<string, number>;
  /** How often a trial got its last reply, by its first message. */
  readonly ended: ReadonlyMap<string, number>;
  /** How many trials were begun. */
  readonly trials: number;
  /** Resolves as soon as this many requests have come in. */
  reached(requests: number): Promise<void>;
}

/**
 * Serves `model`, whatever a request names, or what it names if that is `null`; and takes `latency`
 * milliseconds for each reply, some of whose fields may be others. After this many requests it answers with an
 * error, if one is given, and for as many as it lasts.
 */
export function countingServer(
  model: string | null = "sim:planner",
  latency = 0,
  error?: {
    readonly status: number;
    readonly message: string;
    readonly after?: number;
    readonly lasts?: number;
    readonly headers?: Record<string, string>;
  },
  more: Readonly<Record<string, unknown>> = {},
): CountingServer {
  const simulated = model === null ? undefined : parseSimulatedModel(model);
  const begun = new Map<string, number>();
  const ended = new Map<string, number>();
  const waiting = new Set<{ requests: number; resolve: () => void }>();
  const add = (counts: Map<string, number>, key: string) =>
    counts.set(key, (counts.get(key) ?? 0) + 1);
  let requests = 0;
  let atOnce = 0;
  let mostAtOnce = 0;
  const ports = new Set<number>();
  const options = { port: 0, hostname: "127.0.0.1", onListen() {} };
  const server = Deno.serve(options, async (request, { remoteAddr }) => {
    ports.add(remoteAddr.port);
    const asked: ChatRequest = await request.json();
    const prompt = String(asked.messages[0]!.content);
    requests++;
    mostAtOnce = Math.max(mostAtOnce, ++atOnce);
    if (asked.messages.length === 1) add(begun, prompt);
    for (const one of waiting) if (requests >= one.requests) one.resolve();
    const since = requests - (error?.after ?? 0);
    if (error !== undefined && since > 0 && since <= (error.lasts ?? Infinity)) {
      atOnce--;
      return Response.json({ error: { message: error.message } }, {
        status: error.status,
        headers: error.headers ?? {},
      });
    }
    const answer = (simulated ?? parseSimulatedModel(asked.model)).reply(asked);
    // One name for all, as the gate asks for one served model.
    const named = { ...answer, model: asked.model, ...more };
    if (latency > 0) await new Promise((resolve) => setTimeout(resolve, latency));
    atOnce--;
    if (answer.choices[0]!.message.tool_calls === undefined) add(ended, prompt);
    return Response.json(named);
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}/v1`,
    begun,
    ended,
    get requests() {
      return requests;
    },
    get mostAtOnce() {
      return mostAtOnce;
    },
    get connections() {
      return ports.size;
    },
    get trials() {
      return [...begun.values()].reduce((sum, count) => sum + count, 0);
    },
    reached(count) {
      const { promise, resolve } = Promise.withResolvers<void>();
      if (requests >= count) resolve();
      else waiting.add({ requests: count, resolve });
      return promise;
    },
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

/** Joins lines that were broken to fit a terminal: what goes on is indented deeper than what stands by itself. */
export function unwrapped(text: string): string {
  return text.replaceAll(/\n {4}(?=\S)/g, " ");
}

/** Whether a process runs; one that nobody has waited for no longer does. */
export function isAlive(pid: number): boolean {
  // Deno itself may read there only with all permissions.
  const { success, stdout } = new Deno.Command("cat", {
    args: [`/proc/${pid}/stat`],
    stderr: "null",
  })
    .outputSync();
  const stat = new TextDecoder().decode(stdout);
  return success && stat.slice(stat.lastIndexOf(")") + 2)[0] !== "Z";
}

/** Waits until something holds; throws if that takes a minute, as a test without an end says nothing. */
export async function until(holds: () => boolean): Promise<void> {
  for (const end = Date.now() + 60_000; !holds();) {
    if (Date.now() > end) throw new Error(`It does not come to hold: ${holds}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** How each test ended, in their order. */
export function endedIn({ stdout }: Pick<Finished, "stdout">): [name: string, ended: string][] {
  return [...stdout.matchAll(/^(\S.*?) \.\.\. (ok|FAILED|ignored)\b/gm)]
    .map(([, name, ended]): [string, string] => [name!, ended!]);
}
