/**
 * The command line in the process of the test, as starting a process takes longer than most commands. Tests
 * about processes themselves (signals, exit codes, permissions) start one by `beginToolgate()`.
 */

import { main } from "../../lib/cli/main.ts";
// Commands load these late. They open clients for all requests, which no test should be blamed for.
import "../../lib/models/http/endpoint.ts";
import "../../lib/integrations/mcp.ts";
import "../../lib/integrations/openapi.ts";
import type { ChildOptions, Finished } from "./child.ts";
import { keptVariables } from "./surroundings.ts";

/** What a command left. */
export interface Ended extends Finished {
  /** The permissions that it gave up; the test keeps them. */
  readonly revoked: readonly Deno.PermissionName[];
}

let last: Promise<unknown> = Promise.resolve();

/** Carries out one command. Commands of a file of tests wait for each other, as they share its console. */
export function toolgate(line: readonly string[], options: ChildOptions = {}): Promise<Ended> {
  const ended = last.then(() => carryOut(line, options));
  last = ended.catch(() => {});
  return ended;
}

/** Carries out commands one after another. */
export async function toolgates(
  lines: readonly (readonly string[])[],
  options: ChildOptions = {},
): Promise<Ended[]> {
  const ended: Ended[] = [];
  for (const line of lines) ended.push(await toolgate(line, options));
  return ended;
}

async function carryOut(
  line: readonly string[],
  { cwd, env = {} }: ChildOptions,
): Promise<Ended> {
  const written = { stdout: "", stderr: "" };
  const revoked: Deno.PermissionName[] = [];
  // The folder is that of the process, which other files of tests share; INIT_CWD is where the user stands.
  const standing: Record<string, string> = cwd === undefined ? {} : { INIT_CWD: cwd };
  const variables = { ...keptVariables(), NO_COLOR: "1", ...standing, ...env };
  using _ = replaced(written, revoked, variables);
  const code = await main(line).catch((error) => {
    written.stderr += `${Deno.inspect(error)}\n`;
    return 3;
  });
  const all = `$ toolgate ${line.join(" ")}\n${written.stdout}\n--- stderr\n${written.stderr}\n` +
    `--- exit code ${code}`;
  return { code, ...written, all, revoked };
}

/** Puts what a command writes and gives up into these, until it is disposed of. */
function replaced(
  written: { stdout: string; stderr: string },
  revoked: Deno.PermissionName[],
  variables: Readonly<Record<string, string>>,
): Disposable {
  const writer = (name: "stdout" | "stderr") => (...data: unknown[]) => {
    written[name] +=
      data.map((one) => typeof one === "string" ? one : Deno.inspect(one)).join(" ") +
      "\n";
  };
  const stream = (name: "stdout" | "stderr") => {
    const decoder = new TextDecoder();
    return {
      isTerminal: () => false,
      writeSync(bytes: Uint8Array) {
        written[name] += decoder.decode(bytes, { stream: true });
        return bytes.length;
      },
    };
  };
  const undo = [
    replace(console, { log: writer("stdout"), error: writer("stderr"), warn: writer("stderr") }),
    replace(Deno.stdout, stream("stdout")),
    replace(Deno.stderr, stream("stderr")),
    replace(Deno.permissions, {
      revokeSync(descriptor: Deno.PermissionDescriptor) {
        revoked.push(descriptor.name as Deno.PermissionName);
        return Deno.permissions.querySync(descriptor);
      },
    }),
    replace(Deno.env, {
      get: (name: string) => variables[name],
      has: (name: string) => Object.hasOwn(variables, name),
      toObject: () => ({ ...variables }),
    }),
  ];
  return { [Symbol.dispose]: () => undo.forEach((one) => one()) };
}

/** Replaces methods of an object, and gives what puts them back. */
function replace<T extends object>(
  object: T,
  methods: { [Name in keyof T]?: unknown },
): () => void {
  const names = Object.keys(methods);
  const before = names.map((name) => Object.getOwnPropertyDescriptor(object, name));
  Object.assign(object, methods);
  return () => {
    for (const [place, name] of names.entries()) {
      const descriptor = before[place];
      if (descriptor === undefined) Reflect.deleteProperty(object, name);
      else Object.defineProperty(object, name, descriptor);
    }
  };
}
