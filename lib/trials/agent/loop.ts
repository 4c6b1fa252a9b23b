/**
 * The agent loop: sends prompt and tools, carries out the calls of the reply and appends their results,
 * until a reply makes no calls (FuncBenchGen, section 3.4).
 * @module
 */

import type { Fixture } from "../executors/fixture.ts";
import { defined, type JsonValue } from "../../base/json.ts";
import { mediaIn, type MediaPart, noted, taken } from "../../tools/media.ts";
import type { Message } from "../../tools/message.ts";
import { type Ending, isLimited, type Limited, type Session } from "./session.ts";
import {
  type CallReplacer,
  type Environment,
  type FailedCall,
  type ResultWriter,
  type ToolCall,
  wrapEnvironment,
} from "../../tools/tool.ts";

/** Options of the loop. */
export interface LoopOptions {
  /** How the task presents its tools and takes answers, and its examples; omitted if that is nothing special. */
  readonly task?: Pick<Fixture, "present" | "settled" | "unreadable" | "fromList" | "examples">;
  /** Asks the model. */
  readonly session: Session;
  /** Answers the calls. */
  readonly environment: Environment;
  /** The opening messages of the conversation. */
  readonly messages: readonly Message[];
  /** The stage of the loop's replies, so that another model can give them. */
  readonly stage?: string;
  /** Writes the results that the model gets; default: the texts the functions return. */
  readonly write?: ResultWriter;
  /** An answer that a strategy has already: no model is asked for it. */
  readonly answered?: string;
  /** Reviews the calls of a reply before they are carried out; default: no review. */
  readonly review?: Reviewer;
  /** Names calls to make in place of those that failed; default: their errors stand. */
  readonly replace?: Replacer;
  /**
   * Tells the user what the model said, and returns his next message, which is then a part of the conversation, or
   * `undefined` if he says no more; omitted where nobody answers.
   */
  readonly say?: (text: string) => Promise<string | undefined>;
  /**
   * Receives each message that the loop adds to the conversation, including the answer, and what an agent says in the
   * name of its user.
   */
  readonly heard?: (message: Message) => void;
  /** Receives each name that is bound to a value (`indirection`), without its "@". */
  readonly bound?: (name: string, value: JsonValue) => void;
}

/** The calls of a reply, before they are carried out. */
export interface Review {
  /** The calls, in order. */
  readonly calls: readonly ToolCall[];
  /** The conversation before the reply. */
  readonly messages: readonly Message[];
  /** The environment that will answer the calls. */
  readonly environment: Environment;
}

/** Reviews calls. Returns the calls to carry out instead, or the limit that was reached. */
export type Reviewer = (review: Review) => Promise<readonly ToolCall[] | Limited>;

/** Calls that failed, and where. */
export interface Failing extends Pick<Review, "messages" | "environment"> {
  /** The calls, in order. */
  readonly failed: readonly FailedCall[];
}

/** Names calls to make in place of those that failed: one for each, or `undefined` if its error stands. */
export type Replacer = (failing: Failing) => ReturnType<CallReplacer>;

/** Runs until the model answers or a limit is reached. */
export type Loop = (options: LoopOptions) => Promise<Ending>;

/**
 * Runs the loop until the model answers or a limit is reached.
 *
 * @throws {InfrastructureError} If the model gives no usable reply.
 */
export async function runLoop(options: LoopOptions): Promise<Ending> {
  const { session, environment, stage, write, review, replace, task } = options;
  const messages = [...options.messages];
  const add = (message: Message) => {
    messages.push(message);
    options.heard?.(message);
  };
  const { answered } = options;
  if (answered !== undefined) {
    add({ role: "assistant", content: answered, calls: [] });
    return { kind: "answer", text: answered };
  }
  while (true) {
    const { tools } = environment;
    const reply = await session.ask({
      ...(task?.present?.(messages, tools) ?? { messages, tools }),
      stage,
    });
    if (isLimited(reply)) return reply;
    const carried = reply.carried === undefined ? {} : { carried: reply.carried };
    if (reply.calls.length === 0) {
      add({ role: "assistant", content: reply.text, calls: [], ...carried });
      return { kind: "answer", text: reply.text };
    }

    const calls = review === undefined
      ? reply.calls
      : await review({ calls: reply.calls, messages, environment });
    if (isLimited(calls)) return calls;
    const before = replace === undefined ? [] : [...messages];
    add({ role: "assistant", content: reply.text, calls, ...carried });
    const takes = session.takes(stage);
    let media: (readonly MediaPart[])[] = [];
    const writeNotes: ResultWriter = (answered, known) => {
      media = answered.map((one) => taken(one, takes));
      const texts = write?.(answered, known) ?? answered.map(({ content }) => content);
      return texts.map((text, place) => noted(text, media[place]!));
    };
    const results = await session.within(environment.execute(
      calls,
      // What is known by name is only gathered for a writer.
      takes.length === 0 ? write : writeNotes,
      replace && ((failed) => replace({ failed, messages: before, environment })),
    ));
    if (isLimited(results)) return results;
    for (const [place, result] of results.entries()) {
      add({ role: "tool", ...result, ...mediaIn(result.content, media[place]) });
    }
    if (task?.settled) return { kind: "answer", text: reply.text };
    if (environment.exhausted) {
      return { kind: "call_limit", message: "a call past the limit was made" };
    }
  }
}

/**
 * Runs the loop for the opening messages, and once more for each further turn: `next` gives the user's further messages,
 * each sent after an answer, until there are none. With `shared` the loop reads the conversation itself, as copies for
 * very many turns take quadratic time. Returns
 *
 * - `ending`: the last answer, or the limit that was reached;
 * - `messages`: all messages of the user, the model and the tools, without those that a strategy adds on the side;
 * - `turnsMs`: the milliseconds of each message of the user, the question first, as far as the conversation came;
 * - `given`: the given values by name, and with `indirection` every named result.
 */
export async function converse(
  loop: Loop,
  { next, shared = false, ...options }: Omit<LoopOptions, "heard" | "bound" | "say"> & {
    readonly next?: ((answer: string) => Promise<string | undefined>) | undefined;
    readonly shared?: boolean;
  },
) {
  const { environment, session } = options;
  const messages = [...options.messages];
  const given = new Map(environment.given);
  const turnsMs: number[] = [];
  let began = session.elapsed;
  const endTurn = () => turnsMs.push(session.elapsed - began);
  const begin = (content: string, by?: "agent") => {
    endTurn();
    began = session.elapsed;
    messages.push({ role: "user", content });
    session.record(defined({ kind: "turn" as const, text: content, by }));
    return content;
  };
  let isOver = false;
  const say = next && (async (answer: string) => {
    const content = isOver ? undefined : await next(answer);
    isOver = content === undefined;
    return content === undefined ? undefined : begin(content);
  });
  const work = () =>
    loop({
      ...options,
      messages: shared ? messages : [...messages],
      environment: next === undefined
        ? environment
        : wrapEnvironment(environment, { given: new Map(given) }),
      heard: (message) =>
        void (message.role === "user" ? begin(message.content, "agent") : messages.push(message)),
      bound: (name, value) => given.set(name, value),
      ...(say && { say }),
    });
  let ending = await work();
  while (say !== undefined && ending.kind === "answer") {
    if (await say(ending.text) === undefined) break;
    ending = await work();
  }
  endTurn();
  return { ending, messages, turnsMs, given };
}
