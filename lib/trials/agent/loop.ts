/**
 * The agent loop: send prompt and tools, carry out the calls of the reply, append their results, and
 * so on until a reply has no calls (FuncBenchGen, section 3.4).
 * @module
 */

import type { Fixture } from "../executors/fixture.ts";
import type { JsonValue } from "../../base/json.ts";
import type { Message } from "../../tools/message.ts";
import { type Ending, isLimited, type Limited, type Session } from "./session.ts";
import type { Environment, ResultWriter, ToolCall } from "../../tools/tool.ts";

/** What the loop takes. */
export interface LoopOptions {
  /** Asks the model. */
  readonly session: Session;
  /** Where its calls go. */
  readonly environment: Environment;
  /** The messages that open the conversation. */
  readonly messages: readonly Message[];
  /** What the session calls the replies of the loop, so that another model can give them. */
  readonly stage?: string;
  /** Writes the texts that go back for calls; default as the functions return them. */
  readonly write?: ResultWriter;
  /** How messages and tools are put to the model; default as they are. */
  readonly present?: NonNullable<Fixture["present"]>;
  /** Why an answer cannot be read; default any can. */
  readonly unreadable?: NonNullable<Fixture["unreadable"]>;
  /** Looks over the calls of a reply before they are carried out; default they are taken as they are. */
  readonly review?: Reviewer;
  /** Gets each message that the loop adds to the conversation, the answer included. */
  readonly heard?: (message: Message) => void;
  /** Gets each name that a value gets (`indirection`), without its "@". */
  readonly bound?: (name: string, value: JsonValue) => void;
}

/** The calls of a reply, before they are carried out. */
export interface Review {
  /** The calls, in order. */
  readonly calls: readonly ToolCall[];
  /** The conversation before the reply. */
  readonly messages: readonly Message[];
  /** Where the calls will go. */
  readonly environment: Environment;
}

/** Looks over calls. What comes back is carried out in their place, unless a limit is reached. */
export type Reviewer = (review: Review) => Promise<readonly ToolCall[] | Limited>;

/** Runs until the model answers or a limit is reached. */
export type Loop = (options: LoopOptions) => Promise<Ending>;

/**
 * Runs the loop until the model answers or a limit is reached.
 *
 * @throws {InfrastructureError} If no usable reply could be had.
 */
export async function runLoop(options: LoopOptions): Promise<Ending> {
  const { session, environment, stage, write, review, present } = options;
  const messages = [...options.messages];
  const add = (message: Message) => {
    messages.push(message);
    options.heard?.(message);
  };
  while (true) {
    const { tools } = environment;
    const said = await session.ask({
      ...(present === undefined ? { messages, tools } : present(messages, tools)),
      ...(stage === undefined ? {} : { stage }),
    });
    if (isLimited(said)) return said;
    const carried = said.carried === undefined ? {} : { carried: said.carried };
    if (said.calls.length === 0) {
      add({ role: "assistant", content: said.text, calls: [], ...carried });
      return { kind: "answer", text: said.text };
    }

    const calls = review === undefined
      ? said.calls
      : await review({ calls: said.calls, messages, environment });
    if (isLimited(calls)) return calls;
    add({ role: "assistant", content: said.text, calls, ...carried });
    const results = await session.within(environment.execute(calls, write));
    if (isLimited(results)) return results;
    for (const result of results) add({ role: "tool", ...result });
    if (environment.exhausted) {
      return { kind: "call_limit", message: "a call past the limit was made" };
    }
  }
}
