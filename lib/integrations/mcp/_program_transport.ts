/**
 * Programs that are MCP servers on standard input and output. Each has a process group of its own, so that a server
 * ends with the program that started it, such as npx, and with this process.
 * @module
 */

import { Buffer } from "node:buffer";
import type { JSONRPCMessage, ReadBuffer, Transport } from "@modelcontextprotocol/client";
import {
  type Command,
  GRACE,
  type Group,
  MAX_ERRORS,
  readVariables,
  startGroup,
  within,
} from "../../base/process_group.ts";

/** Variables of this process that a program gets, as hosts of MCP have it. */
const INHERITED = [
  ...["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"],
  ...["APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT", "USERNAME"],
  ...["PROCESSOR_ARCHITECTURE", "PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "PROGRAMW6432"],
  ...["SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "USERPROFILE", "WINDIR"],
];

/** The connection to a program. */
export class ProgramTransport implements Transport {
  /** Is called once the program's output has ended. */
  onclose?: () => void;
  /** Is called with what could not be read. */
  onerror?: (error: Error) => void;
  /** Is called with each message. */
  onmessage?: (message: JSONRPCMessage) => void;
  /** The end of what the program wrote to standard error. */
  errors = "";
  /** How the program ended, such as `exit code 1`; empty while it runs. */
  end = "";

  readonly #program: Command;
  readonly #buffer: ReadBuffer;
  #group: Group | undefined;
  /** Resolves once its output has been read to the end. */
  #closed: Promise<void> | undefined;
  #closing: Promise<void> | undefined;
  #writer: WritableStreamDefaultWriter<Uint8Array> | undefined;

  /** Starts nothing yet; `buffer` reads messages from pieces. */
  constructor(program: Command, buffer: ReadBuffer) {
    this.#program = program;
    this.#buffer = buffer;
  }

  /** Starts the program. */
  // deno-lint-ignore require-await -- what cannot be started rejects.
  async start(): Promise<void> {
    const { env, ...program } = this.#program;
    const group = startGroup({ ...program, env: { ...readVariables(INHERITED), ...env } });
    this.#group = group;
    const { stdin, stdout, stderr } = group.child;
    this.#writer = stdin.getWriter();
    const [output, errors] = [stdout.getReader(), stderr.getReader()];
    const decoder = new TextDecoder();
    const answering = each(output, (bytes) => this.#read(bytes));
    const reading = each(errors, (bytes) => {
      this.errors = (this.errors + decoder.decode(bytes, { stream: true })).slice(-MAX_ERRORS);
    });
    group.ended.then(({ code, signal }) => this.end = signal ?? `exit code ${code}`);
    this.#closed = (async () => {
      // A program that left the group may hold both open.
      await Promise.race([answering, group.ended.then(() => within(GRACE, answering))]);
      // What it wrote last, and how it ended, say why.
      await within(GRACE, Promise.all([reading, group.ended]));
      await Promise.all([output.cancel(), errors.cancel()]);
      this.onclose?.();
    })();
  }

  /** Sends a message. */
  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#closing !== undefined) throw new Error("Not connected");
    const bytes = new TextEncoder().encode(`${JSON.stringify(message)}\n`);
    // That it has ended is told by the end of its output.
    await this.#writer!.write(bytes).catch(() => {});
  }

  /** Ends the input of the program, by which it should end, and then all that it started. */
  async close(): Promise<void> {
    await (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    const group = this.#group;
    if (group === undefined) return;
    this.#writer!.close().catch(() => {});
    await within(GRACE, group.ended);
    await group.end();
    await this.#closed;
  }

  /** Takes a piece of the output. */
  #read(bytes: Uint8Array): void {
    try {
      this.#buffer.append(Buffer.from(bytes));
      for (let more = true; more;) more = this.#readOne();
    } catch (error) {
      this.onerror?.(error as Error);
      // A message without end.
      this.close();
    }
  }

  /** Takes a message, if one is whole; returns whether more may follow. */
  #readOne(): boolean {
    try {
      const message = this.#buffer.readMessage();
      if (message !== null) this.onmessage?.(message);
      return message !== null;
    } catch (error) {
      this.onerror?.(error as Error);
      return true;
    }
  }
}

/** Calls a function with each piece of a stream. */
async function each(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  take: (bytes: Uint8Array) => void,
): Promise<void> {
  for (let read = await reader.read(); !read.done; read = await reader.read()) take(read.value);
}
