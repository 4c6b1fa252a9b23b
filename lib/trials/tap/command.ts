/**
 * Command agents: agents in any language, as programs that are started once for each message of the user.
 * @module
 */

import * as fs from "node:fs";
import { z } from "zod";
import { isGranted, moduleCommand } from "#runtime";
import { parseWith } from "../../base/input.ts";
import { attempt, reasonOf } from "../../base/errors.ts";
import { cutText, printable } from "../../base/json.ts";
import { redact } from "../../base/redact.ts";
import { MARK, registerGivenSecrets } from "../../base/secrets.ts";
import { shellQuote } from "../../base/shell_quote.ts";
import { InfrastructureError, type Permanent, TimeLimitError } from "../../models/model.ts";
import { toOpenAIMessage } from "../../tools/message.ts";
import { toOpenAITool } from "../../tools/tool.ts";
import type { Agent, AgentOptions, AgentTask } from "../own_agent.ts";
import { isNowhere } from "../../base/loopback.ts";
import {
  errorsText,
  type GroupEnded,
  MAX_OUTPUT,
  mayRun,
  readVariables,
  runGroup,
  startFault,
} from "../../base/process_group.ts";
import { SERVER_NAME } from "./_offered_names.ts";

/** An agent that is a program. */
export interface CommandAgent {
  /**
   * The name or path of the program, and its arguments. No shell reads them: `*`, `~` and `$NAME` stand for
   * themselves.
   */
  readonly command: readonly string[];
  /** Variables of its environment, besides the few that it inherits and those of the trial. */
  readonly env?: Readonly<Record<string, string>>;
  /** The folder that it runs in; default: that of the process. */
  readonly cwd?: string;
  /** Seconds that it may take for one message of the user; default 600. */
  readonly seconds?: number;
  /**
   * Whether it is a client of MCP: it gets a configuration of an MCP server with the functions and `submit_answer`,
   * by Streamable HTTP (`true`, `"http"`) or as a server that it starts (`"stdio"`). The path of that file stands in
   * `TOOLGATE_MCP_CONFIG`, and in place of the word mcp in braces in arguments.
   */
  readonly mcp?: true | "http" | "stdio";
}

/** How a program reaches the MCP server: by Streamable HTTP, or as a server that it starts itself. */
const MCP_TRANSPORTS = ["http", "stdio"] as const;

/** What stands for the path of the MCP configuration in arguments. */
const MCP = "{mcp}";

/** Characters that no argument or variable of a process can have. */
const noNul = (text: string) => !text.includes("\0");
const NUL = "must not have the character NUL";
const LISTED =
  'must list the program and its arguments, as ["python3", "agent.py"]: no shell reads it';

/** The schema of {@linkcode CommandAgent}. */
export const COMMAND_AGENT = z.strictObject({
  command: z.array(z.string().refine(noNul, NUL), {
    error: ({ input }) => typeof input === "string" ? LISTED : undefined,
  }).min(1, "must name a program")
    .refine(([name]) => name !== "", "must name a program"),
  env: z.record(z.string(), z.string().refine(noNul, NUL))
    .refine(
      (env) => Object.keys(env).every((name) => /^[^=\0]+$/.test(name)),
      "must have names with neither = nor NUL",
    ).optional(),
  cwd: z.string().min(1).refine(noNul, NUL).optional(),
  seconds: z.number().positive().max(86_400).optional(),
  mcp: z.union([z.literal(true), z.enum(MCP_TRANSPORTS)], {
    error: ({ input }) =>
      `must be true, ${MCP_TRANSPORTS.join(" or ")}: it is ${
        printable(String(JSON.stringify(input)), 60)
      }`,
  }).optional(),
}).refine(({ command, mcp }) => mcp !== undefined || !command.some((one) => one.includes(MCP)), {
  path: ["command"],
  error: `must not have ${MCP} without "mcp": true: it stands for the MCP configuration`,
}) as unknown as z.ZodType<CommandAgent>;

/** Seconds for one message. */
const SECONDS = 600;

/**
 * Variables of this process that a program gets: what it needs to be found, to start and to read texts. Neither
 * keys nor addresses of proxies, as it asks the model through a server of this process.
 */
const INHERITED = [
  ...["PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "TMP", "TEMP"],
  ...["VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH", "NODE_PATH", "SSL_CERT_FILE", "SSL_CERT_DIR"],
  ...["SystemRoot", "PATHEXT", "USERPROFILE", "APPDATA", "LOCALAPPDATA"],
];

/** Bytes of a prompt that the environment can hold: Linux takes 128 KiB, name included. */
const MAX_VARIABLE = 100 * 2 ** 10;

/**
 * Returns an agent that runs a program for each message of the user: prompt and addresses by environment and
 * standard input, the answer by standard output or `submit_answer` (see docs/agents.md). The program and all that it
 * started end with it. Values of `env` whose names say that they are secrets are registered as such.
 *
 * The agent rejects with
 * - {@linkcode InfrastructureError} if the program or its MCP server cannot be started: the trial is then `invalid`.
 * - {@linkcode TimeLimitError} if it took longer than `seconds`.
 * - the signal's reason if that aborted.
 * - an `Error`, its own failure, if its exit code is not 0, or it writes more than 1 MiB.
 *
 * @param name How errors of options refer to it.
 * @throws {InputError} If the options cannot be used.
 */
export function commandAgent(options: CommandAgent, name = "the agent"): Agent {
  const { command, env = {}, cwd, seconds = SECONDS, mcp } = parseWith(
    COMMAND_AGENT,
    options,
    name,
  );
  registerGivenSecrets(env);
  const unproxied = `${env["NO_PROXY"] ?? env["no_proxy"] ?? ""},127.0.0.1`;
  const own = { ...env, NO_PROXY: unproxied, no_proxy: unproxied };
  const agent: Agent = async (task, given) => {
    const { signal } = given;
    signal?.throwIfAborted();
    const lacking = !mayRun()
      // Asked before: the runtime would else ask the user.
      ? "run programs and to end them: add --allow-run (a list such as --allow-run=python3 permits no end)"
      : isNowhere(given.baseURL)
      ? "listen for it: add --allow-net=127.0.0.1"
      : undefined;
    if (lacking !== undefined) {
      const reason = `Deno was not given the permission to ${lacking}`;
      throw unable(`run the agent ${shown(command)}`, reason, "permission");
    }
    using served = mcp &&
      await writeMcpConfig(await given.mcpURL(), mcp === true ? "http" : mcp);
    signal?.throwIfAborted();
    const file = served?.path;
    let ended: GroupEnded;
    try {
      ended = await runGroup({
        command: command.map((one, place) =>
          place === 0 ? one : one.replaceAll(MCP, () => file ?? MCP)
        ),
        env: { ...readVariables(INHERITED), ...own, ...variablesOf(task, given, served) },
        input: inputOf(task, given, served),
        timeout: 1000 * seconds,
        cwd,
        signal,
        file,
      });
    } catch (error) {
      throw unstarted(command, cwd, error);
    }
    const { stopped, code, signal: by, output, errors } = ended;
    if (stopped === "signal") signal?.throwIfAborted();
    const told = (end: string) => `${shown(command)} ${end}${errorsText(errors)}`;
    if (stopped === "time") throw new TimeLimitError(told(`took longer than ${seconds} s`));
    if (stopped === "output") {
      throw new Error(told(`wrote more than ${MAX_OUTPUT} bytes to standard output`));
    }
    if (by !== null) throw new Error(told(`was ended by ${by}`));
    if (code !== 0) throw new Error(told(`ended with exit code ${code}`));
    return output.replace(/\r?\n$/, "");
  };
  return Object.assign(agent, { isProgram: true as const });
}

/**
 * Returns the options of an agent with a mark in place of each value of its environment: no name is sure to say what
 * is a secret.
 */
export function withoutSecrets({ env, ...others }: CommandAgent): CommandAgent {
  if (env === undefined) return others;
  return { ...others, env: Object.fromEntries(Object.keys(env).map((name) => [name, MARK])) };
}

/** The MCP server of a program, with its configuration in a file of its own until that is disposed of. */
interface Served extends Disposable {
  readonly url: string;
  /** The path of the file. */
  readonly path: string;
}

/** The variables by which a program finds the model and the tools. */
function variablesOf(
  { prompt }: AgentTask,
  { baseURL, apiKey, model, toolsURL }: AgentOptions,
  served: Served | undefined,
): Record<string, string> {
  // What cannot be in the environment is in standard input.
  const fits = noNul(prompt) && new TextEncoder().encode(prompt).length <= MAX_VARIABLE;
  return {
    ...{ OPENAI_BASE_URL: baseURL, OPENAI_API_KEY: apiKey },
    ...{ TOOLGATE_MODEL: model, TOOLGATE_TOOLS_URL: toolsURL },
    ...(fits ? { TOOLGATE_PROMPT: prompt } : {}),
    ...(served === undefined
      ? {}
      : { TOOLGATE_MCP_URL: served.url, TOOLGATE_MCP_CONFIG: served.path }),
  };
}

/** The document that a program reads from standard input; messages and functions are in OpenAI's form. */
function inputOf(
  { prompt, system, history, tools, toolChoice: choice }: AgentTask,
  { model, baseURL, apiKey, toolsURL }: AgentOptions,
  served: Served | undefined,
): string {
  const toolChoice = typeof choice === "object"
    ? { type: "function", function: { name: choice.function } }
    : choice;
  return JSON.stringify({
    ...{ v: 1, prompt, system, history: history.map(toOpenAIMessage) },
    ...{ tools: tools.map((tool) => toOpenAITool(tool).function), toolChoice },
    ...{ model, baseURL, apiKey, toolsURL },
    mcpURL: served?.url,
    mcpConfig: served?.path,
  }) + "\n";
}

/** Names a command in errors. */
function shown(command: readonly string[]): string {
  return printable(redact(command.map(shellQuote).join(" ")), 100);
}

/** The error of what an agent needs and cannot have. */
function unable(
  action: string,
  reason: string,
  permanent: Permanent | undefined,
  cause?: unknown,
): InfrastructureError {
  return new InfrastructureError(`Cannot ${action} as ${reason}`, { permanent, cause });
}

/** The error of a program that could not be started. */
function unstarted(
  command: readonly string[],
  cwd: string | undefined,
  error: unknown,
): InfrastructureError {
  const fault = startFault(error, cwd);
  const name = printable(command[0]!, 200);
  const reason = fault === "missing"
    ? `there is no program ${name}: install it, or give its path`
    : fault === "folder"
    ? `there is no folder ${printable(cwd ?? ".", 200)} for it to run in`
    : fault === "forbidden"
    ? `${name} is not executable, or the folder cannot be entered: set its permissions, or name its interpreter first`
    : `it could not be started: ${cutText(printable(redact(reasonOf(error)), 300), 300)}`;
  const permanent = fault === undefined ? undefined : "command";
  return unable(`run the agent ${shown(command)}`, reason, permanent, error);
}

/**
 * Writes the configuration in the form that most hosts of MCP read, into a temporary file that only the user can read:
 * the address in it is a key.
 *
 * @param url The address of the server.
 * @throws {InfrastructureError} If it cannot be written.
 */
async function writeMcpConfig(url: string, transport: "http" | "stdio"): Promise<Served> {
  // A path from the folder of this process would lead a program elsewhere.
  const folder = Object.values(readVariables(["TMPDIR", "TMP", "TEMP"]))
    .find((one) => /^([/\\]|\w:)/.test(one)) ?? "/tmp";
  const path = `${folder.replace(/[/\\]+$/, "")}/toolgate-mcp-${crypto.randomUUID()}.json`;
  const action = `write the MCP configuration ${printable(path, 200)}`;
  // Asked before: the runtime would else ask the user.
  if (!isGranted({ name: "write", path })) {
    const reason = `Deno was not given the permission to write there: add --allow-write=${folder}`;
    throw unable(action, reason, "permission");
  }
  const server = transport === "http" ? { type: "http", url } : await bridgeTo(url);
  const text = JSON.stringify({ mcpServers: { [SERVER_NAME]: server } }, null, 2) + "\n";
  // The program may have removed it.
  // To remove by `rmSync` would need to read.
  const remove = () => attempt(() => fs.unlinkSync(path));
  try {
    fs.writeFileSync(path, text, { flag: "wx", mode: 0o600 });
  } catch (error) {
    remove();
    throw unable(action, printable(redact(reasonOf(error)), 300), undefined, error);
  }
  return { url, path, [Symbol.dispose]: remove };
}

/** The command of the bridge between standard input and output and the server, with no more than it needs. */
async function bridgeTo(url: string) {
  // What is loaded here can be loaded there, also where it came from another machine.
  const { BRIDGE } = await import("./_mcp_bridge.ts");
  const { host, hostname } = new URL(url);
  const [command, ...args] = moduleCommand(BRIDGE, { host, variable: "TOOLGATE_MCP_URL" });
  return {
    ...{ command, args },
    // The address is no argument, as other users can see these; and no proxy leads to it.
    env: { TOOLGATE_MCP_URL: url, NO_PROXY: hostname, ...readVariables(["DENO_DIR"]) },
  };
}
