/**
 * Sessions: all model requests of one trial, counted against its limits.
 * @module
 */

import { defined, printable } from "../../base/json.ts";
import { isErrorOf } from "../../base/errors.ts";
import { settled } from "../../base/once.ts";
import { z } from "zod";
import { abortable } from "@std/async/abortable";
import {
  claimedCount,
  claimedUsage,
  type Message,
  sumUsage,
  type Usage,
} from "../../tools/message.ts";
import {
  type Model,
  type ModelReply,
  type ModelRequest,
  type RequestContext,
  type StageUse,
  TimeLimitError,
} from "../../models/model.ts";
import { type TextCall, textCalls, thinkingOf } from "../../models/formats/text_call.ts";
import { reasoningTexts } from "../../models/openai/content.ts";
import type { Medium } from "../../tools/media.ts";
import type { Tool, ToolChoice, ToolSchema } from "../../tools/tool.ts";
import { MAX_KEPT_LENGTH, type ReplyEvent, type TraceEvent } from "../../calls/trace.ts";
import { traceReply } from "../_spans.ts";
import { getOrInsertComputed } from "../../base/get_or_insert.ts";

/** The limits of a trial. */
export interface Limits {
  /** Calls that may be made; default: twice the task's minimum, plus those expected to be lost to faults. */
  readonly calls?: number;
  /** Model replies; default: unlimited, as every reply but the last makes calls. */
  readonly steps?: number;
  /** Seconds, without waiting, retries and failed attempts; default: unlimited. */
  readonly seconds?: number;
  /** Input and output tokens together; default: unlimited. */
  readonly tokens?: number;
  /**
   * At most this many UTF-16 code units of a result are shown to the model; default: unlimited. Butterfly's
   * experiments (section 5.2) use 1024.
   */
  readonly observation?: number;
  /**
   * Calls of a reply that may run at the same time; default 10. They start in order. With 1, each starts
   * once the one before has ended, for tools that interfere with each other.
   */
  readonly parallel?: number;
  /** Calls in a chain of nested references; default 5. */
  readonly depth?: number;
}

/** Schema of limits. */
export const LIMITS: z.ZodType<Limits> = z.strictObject({
  calls: z.int().min(1).optional(),
  steps: z.int().min(1).optional(),
  seconds: z.number().gt(0).optional(),
  tokens: z.int().min(1).optional(),
  observation: z.int().min(1).optional(),
  parallel: z.int().min(1).optional(),
  depth: z.int().min(1).optional(),
});

/** How the work on a task ended: with an answer, or by a limit. */
export type Ending =
  | {
    readonly kind: "answer";
    readonly text: string;
    /** The text for people, with names beside values; omitted when no names are used. */
    readonly rendered?: string;
    /** The answer before a model repaired it; omitted when it was not repaired. */
    readonly unrepaired?: string;
  }
  | Limited;

/** The limit that ended the work, or the content filter that left nothing of a reply. */
export interface Limited {
  /** The limit. */
  readonly kind: "call_limit" | "step_limit" | "time_limit" | "token_limit" | "filtered";
  /** A description of how it was reached. */
  readonly message: string;
}

const LIMIT_KINDS = [
  "call_limit",
  "step_limit",
  "time_limit",
  "token_limit",
  "filtered",
] satisfies Limited["kind"][];

/** Options of {@linkcode Session}. */
export interface SessionOptions {
  /** The model of the trial. */
  readonly model: Model;
  /** Models asked in its place, by stage. */
  readonly models?: ReadonlyMap<string, Model>;
  /** The task's tool choice; default: that of the model's options. */
  readonly toolChoice?: ToolChoice | undefined;
  /** The names of the task's functions, by which calls in texts are found; default none. */
  readonly names?: readonly string[];
  /** Identifies the trial. */
  readonly context: Omit<RequestContext, "request">;
  /** The limits; calls are counted by the environment. */
  readonly limits?: Omit<Limits, "calls">;
  /** Records every reply and other events. */
  readonly record: (event: TraceEvent) => void;
  /** Aborts the trial. */
  readonly signal?: AbortSignal;
}

/** A question to a model. */
export interface Question {
  /** The conversation so far. */
  readonly messages: readonly Message[];
  /** The functions it may call; default none. */
  readonly tools?: readonly ToolSchema[];
  /** The stage of the request, such as `plan`: models may differ by stage. */
  readonly stage?: string;
  /** Whether the request is made outside the loop, such as for a plan. */
  readonly aside?: boolean;
  /** Whether a reply that was cut off or filtered does not end the trial: an agent asked beside the task. */
  readonly beside?: boolean;
  /** Gives the reply in place of a model: an agent asks by itself. */
  readonly watch?: (asked: WatchedRequest) => Promise<Watched>;
}

/** A request that an agent makes by itself. */
export interface WatchedRequest extends Pick<ModelRequest, "context" | "timeLimit" | "signal"> {}

/** A reply to an agent, and what else its event says. */
export interface Watched extends Pick<ReplyEvent, "model" | "replaces" | "ownCalls" | "omits"> {
  /** The reply, without calls of functions that are not the task's. */
  readonly reply: ModelReply;
}

/** Whether a limit was reached. A reply may have any further fields, so the kind must be a known limit. */
export function isLimited(value: object): value is Limited {
  return "kind" in value && LIMIT_KINDS.some((kind) => kind === value.kind);
}

/**
 * Asks models on behalf of one trial: counts, limits and records every reply.
 */
export class Session {
  /** Records an event of the trial. */
  readonly record: (event: TraceEvent) => void;

  readonly #options: SessionOptions;
  /** The names that the trial's own model gave. */
  readonly #served = new Set<string>();
  /** The use of other models, by stage. */
  readonly #others = new Map<string, OtherUse>();
  #usage = sumUsage([]);
  /** Tools as models are shown them: a loop asks with the same ones again and again. */
  readonly #shown = new WeakMap<readonly ToolSchema[], readonly ToolSchema[]>();
  #opening: Pick<Question, "messages" | "tools"> | undefined;
  #milliseconds = 0;
  /** Milliseconds of the work under way. */
  #spent = () => 0;
  #replying = 0;
  #requests = 0;
  #limited: Limited | undefined;
  /** Milliseconds for which replies were waited for, less the time at which the present waiting began. */
  #askedFor = 0;
  /** The number of replies that are waited for. */
  #asked = 0;

  /** Starts a session without any requests. */
  constructor(options: SessionOptions) {
    this.#options = options;
    this.record = options.record;
  }

  /** Tokens of all replies, including those of other models. */
  get usage(): Usage {
    return this.#usage;
  }

  /** The messages and tools of the first request in the loop; `undefined` if there was none. */
  get opening(): Pick<Question, "messages" | "tools"> | undefined {
    return this.#opening;
  }

  /** Milliseconds that all replies took, without waiting, retries and failed attempts. */
  get duration(): number {
    return this.#replying;
  }

  /** Milliseconds of all work, including that of tools. */
  get elapsed(): number {
    return Math.round(this.#milliseconds + this.#spent());
  }

  /** The names that the trial's own model gave in its replies. */
  get served(): readonly string[] {
    return [...this.#served];
  }

  /** The usage of models other than the trial's own, by stage. */
  get stages(): readonly StageUse[] {
    return [...this.#others.values()].map(({ served, model, ...use }) => ({
      ...use,
      model: { ...model, served: [...served] },
    }));
  }

  /** Milliseconds that are left for the trial; infinite without a limit. */
  get left(): number {
    const { seconds = Infinity } = this.#options.limits ?? {};
    return seconds * 1000 - this.#milliseconds;
  }

  /** Aborts the trial; omitted if nothing does. */
  get signal(): AbortSignal | undefined {
    return this.#options.signal;
  }

  /** Milliseconds for which replies were waited for so far. */
  get #asking(): number {
    return this.#askedFor + (this.#asked === 0 ? 0 : performance.now());
  }

  /** What the model of a stage takes beside text. */
  takes(stage = ""): readonly Medium[] {
    return (this.#options.models?.get(stage) ?? this.#options.model).takes ?? [];
  }

  /** Charges time that was not spent on replies. */
  spend(milliseconds: number): void {
    this.#milliseconds += milliseconds;
  }

  /**
   * Awaits work other than replies, such as calls, within the time that is left, and charges its time. Work
   * that exceeds it is abandoned.
   *
   * @throws The reason of the session's signal, if it aborts the work.
   */
  async within<T extends object>(work: Promise<T>): Promise<T | Limited> {
    const { limits: { seconds } = {}, signal } = this.#options;
    const [started, asked] = [performance.now(), this.#asking];
    // Replies that the work asks for are charged by themselves, without their waiting.
    const spent = this.#spent = () => performance.now() - started - (this.#asking - asked);
    const awaited = signal === undefined ? work : abortable(work, signal);
    // Nobody else awaits abandoned work.
    awaited.catch(() => {});
    let timer: ReturnType<typeof setTimeout> | undefined;
    try {
      if (seconds === undefined) return await awaited;
      const timeout = new Promise<Limited>((resolve) => {
        const left = () => this.left - spent();
        const wait = () => {
          timer = setTimeout(() => {
            // A timer may fire a moment early.
            if (left() > 1) wait();
            else resolve(timeLimitReached(seconds));
          }, Math.max(1, left()));
        };
        wait();
      });
      const result = await Promise.race([awaited, timeout]);
      if (isLimited(result)) this.#limited = result;
      return result;
    } finally {
      clearTimeout(timer);
      this.spend(spent());
      this.#spent = () => 0;
    }
  }

  /**
   * Asks the model of a stage once. Returns the limit if this reply reaches one, or if one was reached
   * before.
   *
   * @throws {InfrastructureError} If the model gives no usable reply.
   */
  async ask(question: Question): Promise<ModelReply | Limited> {
    if (this.#limited !== undefined) return this.#limited;
    const reply = await this.apart(() => this.#ask(question));
    if (isLimited(reply)) this.#limited = reply;
    return reply;
  }

  /** Awaits what work under way must not be charged for, such as a reply, which is by itself, or what a user says. */
  async apart<T>(work: () => Promise<T>): Promise<T> {
    // Agents may ask for several replies at once.
    if (this.#asked++ === 0) this.#askedFor -= performance.now();
    try {
      return await work();
    } finally {
      if (--this.#asked === 0) this.#askedFor += performance.now();
    }
  }

  async #ask(
    { messages, tools = [], stage, aside = false, beside = false, watch }: Question,
  ): Promise<ModelReply | Limited> {
    const { limits = {}, signal, context, models, toolChoice } = this.#options;
    signal?.throwIfAborted();
    if (limits.steps !== undefined && this.#requests >= limits.steps) {
      return { kind: "step_limit", message: `${limits.steps} replies, and no answer among them` };
    }
    const other = stage === undefined ? undefined : models?.get(stage);
    const model = other ?? this.#options.model;
    const timeLimit = limits.seconds === undefined ? undefined : Math.max(1, this.left);
    const request = ++this.#requests;
    if (!aside) this.#opening ??= { messages: [...messages], tools };
    let reply: ModelReply;
    let told: Omit<Watched, "reply"> = {};
    try {
      const asked = { context: { ...context, request, ...defined({ stage }) }, timeLimit, signal };
      const replying: Promise<Watched> = traceReply(
        { model, request, messages, tools, stage },
        () =>
          watch?.(asked) ??
            model.reply({
              messages: [...messages],
              tools: getOrInsertComputed(this.#shown, tools, () =>
                tools.map((tool) =>
                  settled(withoutFunctions(tool))
                )),
              ...(toolChoice === undefined || tools.length === 0
                ? {}
                : { toolChoice: offeredChoice(toolChoice, tools) }),
              ...asked,
            }).then((reply) => ({ reply })),
      );
      ({ reply, ...told } = await (signal === undefined ? replying : abortable(replying, signal)));
    } catch (error) {
      if (!isErrorOf(error, TimeLimitError)) throw error;
      return error.ofRequest || limits.seconds === undefined
        ? { kind: "time_limit", message: printable(error.message, 300) }
        : timeLimitReached(limits.seconds);
    }
    const written = aside ? {} : textCallsOf(reply, this.#options.names ?? []);
    const name = other?.name ?? told.model;
    this.record({
      kind: "reply",
      request,
      ...(aside && stage !== undefined ? { stage } : {}),
      text: reply.text.slice(0, MAX_KEPT_LENGTH),
      calls: reply.calls.length,
      ...this.#charge(reply, { stage, other, name }),
      failed: reply.failed,
      ...(reply.repairs.length === 0 ? {} : { repairs: reply.repairs.slice(0, MAX_REPAIRS) }),
      ...written,
      parsed: reply.parsed,
      written: reply.written?.slice(0, MAX_KEPT_LENGTH),
      unknownFinish: reply.unknownFinish?.slice(0, MAX_NAME_LENGTH),
      ...told,
      model: name?.slice(0, MAX_NAME_LENGTH),
    });
    if (reply.finish === "length" && !beside) {
      return { kind: "token_limit", message: "the model ran out of tokens in mid-reply" };
    }
    if (
      reply.finish === "filter" && !beside && reply.text.trim() === "" && reply.calls.length === 0
    ) {
      return { kind: "filtered", message: "a content filter left nothing of the reply" };
    }
    const tokens = this.usage.inputTokens + this.usage.outputTokens;
    if (limits.tokens !== undefined && tokens > limits.tokens) {
      return { kind: "token_limit", message: `${tokens} tokens, ${limits.tokens} are allowed` };
    }
    if (limits.seconds !== undefined && this.left < 0) return timeLimitReached(limits.seconds);
    return reply;
  }

  /** Charges a reply, of another model than the trial's own if it has a name. */
  #charge(
    reply: ModelReply,
    { stage, other, name }: Pick<Question, "stage"> & { other?: Model; name?: string },
  ): Pick<ReplyEvent, "durationMs"> & Usage {
    // Servers and custom models may report any count; a journal must stay readable.
    const durationMs = claimedCount(reply.duration);
    const usage = claimedUsage(reply.usage);
    this.#milliseconds += durationMs;
    this.#replying += durationMs;
    this.#usage = sumUsage([this.#usage, usage]);
    const use = name === undefined
      ? undefined
      : getOrInsertComputed(this.#others, stage ?? `agent ${name}`, (): OtherUse => ({
        stage: stage ?? "agent",
        model: { requested: name, simulated: other?.simulated ?? name.startsWith("sim:") },
        served: new Set(),
        usage: sumUsage([]),
      }));
    if (use !== undefined) use.usage = sumUsage([use.usage, usage]);
    const served = reply.served.slice(0, MAX_NAME_LENGTH);
    if (served !== "") (use?.served ?? this.#served).add(served);
    return { ...usage, durationMs };
  }
}

/** At most this many characters of a model's name are recorded. */
const MAX_NAME_LENGTH = 200;

/** The use of another model than the trial's. */
interface OtherUse {
  readonly stage: string;
  readonly model: Omit<StageUse["model"], "served">;
  readonly served: Set<string>;
  usage: Usage;
}

/** Returns the calls that a reply has in its text, and the functions that it calls in its reasoning alone. */
function textCallsOf(
  { text, calls, carried, finish, written: whole = text }: ModelReply,
  names: readonly string[],
): Pick<ReplyEvent, "textCalls" | "drafts" | "reasoned"> {
  const written = textCalls(text, names).map(({ name, arguments: given }) => ({
    name: name.slice(0, MAX_NAME_LENGTH),
    ...(given === undefined || given.length > MAX_KEPT_LENGTH ? {} : { arguments: given }),
  }));
  const reasoning = [
    thinkingOf(whole).thought,
    ...reasoningTexts(carried).flatMap((one) => Object.values(thinkingOf(one))),
  ].join("\n");
  const keyOf = ({ name, arguments: given = "" }: TextCall) => name + given.replace(/\s/g, "");
  const made = new Set(calls.flatMap((call) => [call.name, keyOf(call)]));
  const drafts = textCalls(reasoning, names).filter((one) => !made.has(keyOf(one)));
  const isReasoned = calls.length === 0 && finish !== "length" && finish !== "filter" &&
    thinkingOf(text).said.trim() === "" && reasoning.trim() !== "";
  return {
    ...(isReasoned ? { reasoned: true } : {}),
    ...(written.length === 0 ? {} : { textCalls: bounded(written, { name: "" }) }),
    ...(drafts.length === 0 ? {} : {
      drafts: [...new Set(drafts.map(({ name }) => name.slice(0, MAX_NAME_LENGTH)))]
        .slice(0, MAX_TEXT_CALLS),
    }),
  };
}

/** Returns the first items, and one that stands for all others. */
function bounded<Item>(items: readonly Item[], others: Item): Item[] {
  return items.length <= MAX_TEXT_CALLS ? [...items] : [...items.slice(0, MAX_TEXT_CALLS), others];
}

/** At most this many calls in one text are recorded. */
const MAX_TEXT_CALLS = 50;
/** At most this many repairs of one reply are recorded. */
const MAX_REPAIRS = 20;

/** A tool as a model sees it: only replies can call it. */
function withoutFunctions(tool: ToolSchema): ToolSchema {
  const { execute: _, check: __, ...schema } = tool as Tool;
  return schema;
}

function timeLimitReached(seconds: number): Limited {
  return { kind: "time_limit", message: `${seconds} seconds are over` };
}

/** A choice of one function becomes a choice of any, where a strategy does not offer that function. */
export function offeredChoice(choice: ToolChoice, tools: readonly ToolSchema[]): ToolChoice {
  if (typeof choice === "string") return choice;
  return tools.some(({ name }) => name === choice.function) ? choice : "required";
}
