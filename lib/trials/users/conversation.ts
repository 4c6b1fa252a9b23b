/**
 * Conversations: what a user says to the model under test, message by message, and whose fault it is where one goes
 * wrong.
 * @module
 */

import { isErrorOf, reasonOf } from "../../base/errors.ts";
import { inTime } from "../../base/deadline.ts";
import { defined, jsonText, printable } from "../../base/json.ts";
import { countText } from "../../base/numbers.ts";
import { forkSeed } from "../../base/random.ts";
import { thrownText } from "../../base/user_code.ts";
import { MAX_KEPT_LENGTH, type TraceEvent } from "../../calls/trace.ts";
import { asksConsent } from "../../calls/questions.ts";
import { says } from "../../calls/values/says.ts";
import { valueText } from "../../calls/values/text.ts";
import {
  InfrastructureError,
  type InfrastructureErrorOptions,
  type Model,
  type ModelReply,
  type RequestContext,
} from "../../models/model.ts";
import { reasoningTexts } from "../../models/openai/content.ts";
import {
  claimedCount,
  claimedUsage,
  type Message,
  sumUsage,
  type Usage,
} from "../../tools/message.ts";
import type { Tool, ToolCall, ToolSchema } from "../../tools/tool.ts";
import { Toolbox } from "../executors/toolbox.ts";
import { faultOf, readReply, readText, repeatedHimself, type Said } from "./_replies.ts";
import { END_REASONS, type UserEvent, type UserFaultKind } from "../../calls/user_reply.ts";
import {
  type ConversationRecord,
  END_TOOL,
  FUNCTION_USER,
  heardOf,
  isBlank,
  type SharedMessage,
  type ToolUser,
  type TrialUser,
  USER_GUIDELINES,
  type UserFunction,
  USUAL_TURNS,
} from "./user.ts";

/** Replies of a model for one message of its user, at most: the others call his tools. */
const MAX_REPLIES = 10;
/** Seconds that a function may take for one message, or his tools for the calls of one reply. */
const MAX_SECONDS = 600;

/** What is said of each fault of a reply. */
const FAULTS: Readonly<Partial<Record<UserFaultKind, string>>> = {
  empty: "wrote nothing",
  text_and_call: "wrote a message and called a tool in one reply",
  swapped_role: "wrote as the assistant",
  reasoning: "wrote his thoughts into his message",
  too_many_calls: `called tools ${MAX_REPLIES} times in place of a message`,
};

/** What a conversation needs of its trial. */
export interface ConversationOptions {
  /** The user. */
  readonly user: ToolUser<never>;
  /** The model that plays him; omitted where a function does. */
  readonly model?: Model | undefined;
  /** His tools. */
  readonly tools?: readonly Tool[];
  /** His first message as the test gives it, where a perturbation words it otherwise. */
  readonly stated?: string;
  /** The seed of the trial. */
  readonly seed: number;
  /** Identifies the trial. */
  readonly context: Omit<RequestContext, "request" | "stage">;
  /** Records what he does. */
  readonly record: (event: TraceEvent) => void;
  /** Aborts the trial. */
  readonly signal?: AbortSignal | undefined;
}

/** The user's side of one trial. */
export class Conversation {
  readonly #options: ConversationOptions;
  readonly #messages: SharedMessage[] = [];
  /** The conversation as a model that plays him sees it, with the calls of his tools. */
  readonly #seen: Message[] = [];
  readonly #seed: number;
  readonly #toolbox: Toolbox;
  readonly #tools: readonly ToolSchema[];
  readonly #served = new Set<string>();
  #usage: Usage = sumUsage([]);
  #requests = 0;
  #redraws = 0;
  #said = 0;
  #opening = "";
  #end: TrialUser["end"];
  /** Why he ends once his last message is answered. */
  #ending: TrialUser["end"];
  #fault: UserFaultKind | undefined;
  /** Whether he has said as many messages as he may, and would go on. */
  #isAtLimit = false;

  /** A conversation of which only the history and the greeting were said. */
  constructor(options: ConversationOptions) {
    const { user, tools = [] } = options;
    this.#options = options;
    for (const { role, content } of historyOf(user)) {
      this.#add(role === "user" ? "user" : "agent", content);
    }
    this.#seed = forkSeed(options.seed, "user");
    this.#toolbox = new Toolbox(tools);
    this.#tools = [...tools, END];
  }

  /** The user's side for the record of the trial. */
  get record(): TrialUser {
    const { model } = this.#options;
    const { name: requested = FUNCTION_USER, simulated = false } = model ?? {};
    return defined({
      model: { requested, served: [...this.#served], simulated },
      usage: this.#usage,
      messages: this.#said,
      end: this.#end,
      fault: this.#fault,
      redraws: this.#redraws || undefined,
    });
  }

  /** Who he is. */
  get scenario(): string {
    return this.#options.user.scenario;
  }

  /** His first message; empty before it. */
  get opening(): string {
    return this.#opening;
  }

  /** What both sides have said so far, the history first. */
  get messages(): readonly SharedMessage[] {
    return this.#messages;
  }

  /** What he heard of the model: neither the history nor a greeting is its own. */
  get heard(): readonly string[] {
    return this.#messages.slice(historyOf(this.#options.user).length)
      .filter(({ role }) => role === "agent").map(({ text }) => text);
  }

  /** What assertions see of him. */
  get told(): ConversationRecord {
    return { end: this.#end, messages: this.#said, isAtLimit: this.#isAtLimit };
  }

  /** A fact that he must say before he may be done, and has not said; `undefined` if he has said all. */
  get unsaid(): string | readonly string[] | undefined {
    const { stated = "" } = this.#options;
    const said = [
      stated,
      ...this.#messages.filter(({ role }) => role === "user")
        .map(({ text }) => text),
    ].join("\n");
    return this.#options.user.facts?.find((fact) => !says(said, fact));
  }

  /** Whether he said the same things again and again. */
  get isRepeating(): boolean {
    return repeatedHimself(this.#messages);
  }

  /**
   * Says a first message that the test gives, or asks him for it.
   *
   * @throws {InfrastructureError} If he says nothing that can be used.
   */
  async open(given: string): Promise<string> {
    const first = given === "" ? await this.#next() : this.#say(given);
    return this.#opening = first ??
      this.#spoil("early_end", "ended the conversation before he had said anything");
  }

  /**
   * Tells him what the model said; returns his next message, or `undefined` if the conversation is over, as it is if the
   * model said nothing.
   *
   * @throws {InfrastructureError} If he spoils it, or cannot be asked.
   */
  async answer(text: string): Promise<string | undefined> {
    const heard = heardOf(text);
    if (isBlank(heard)) return undefined;
    this.#add("agent", heard);
    if (this.#ending !== undefined) return this.#over(this.#ending);
    return await this.#next();
  }

  /**
   * Blames him for how the conversation went.
   *
   * @throws {InfrastructureError} Always: the trial is invalid.
   */
  spoil(kind: "repeats" | "never_ends"): never {
    return this.#spoil(
      kind,
      kind === "repeats"
        ? `repeated himself until the limit of ${countText(this.#said, "message")}`
        : `did not end within ${countText(this.#said, "message")}, though nothing was left to do`,
    );
  }

  #spoil(kind: UserFaultKind, message: string, options?: InfrastructureErrorOptions): never {
    this.#fault = kind;
    this.#end = undefined;
    // What he does may follow from what the model wrote.
    throw new InfrastructureError(`the simulated user ${message}`, {
      fault: "unclear",
      ...options,
    });
  }

  #say(text: string): string {
    this.#add("user", text);
    this.#said++;
    return text;
  }

  #add(role: SharedMessage["role"], text: string): void {
    this.#messages.push({ role, text });
    this.#seen.push(
      role === "agent"
        ? { role: "user", content: text }
        : { role: "assistant", content: text, calls: [] },
    );
  }

  async #next(): Promise<string | undefined> {
    const { user: { limits: { turns = USUAL_TURNS } = {} } } = this.#options;
    const { text, end } = await this.#draw();
    if (text === "") return this.#over(end!);
    if (this.#said >= turns) {
      if (end !== undefined) return this.#over(end);
      this.#isAtLimit = true;
      return undefined;
    }
    this.#ending = end;
    return this.#say(text);
  }

  #over(end: NonNullable<TrialUser["end"]>): undefined {
    const last = this.#messages.findLast(({ role }) => role === "agent")?.text ?? "";
    if (end === "done") {
      const { unsaid } = this;
      if (unsaid !== undefined) {
        const fact = [unsaid].flat().map((one) => valueText(one, 80)).join(" or ");
        this.#spoil(
          "early_end",
          `ended the conversation before he had said ${fact}, one of his facts`,
        );
      }
      if (asksConsent(last)) {
        this.#spoil("early_end", "ended the conversation while he was asked for his consent");
      }
    }
    this.#end = end;
    return undefined;
  }

  /** His next message; a reply that cannot be used is drawn once more. */
  async #draw(): Promise<Said> {
    const { model, user } = this.#options;
    for (let isRedrawn = false;; isRedrawn = true) {
      const said = typeof user.model === "function"
        ? await this.#call(user.model)
        : await this.#ask(model!);
      const { fault } = said;
      if (fault === undefined) return said;
      // What his tools have done cannot be drawn again.
      if (isRedrawn || said.hasCalled) {
        this.#spoil(fault, `${FAULTS[fault]}${isRedrawn ? ", twice" : ""}`);
      }
      this.#redraws++;
    }
  }

  /** Awaits his function or his tools, which spoil the conversation if they fail or hang. */
  async #inTime<T>(what: string, work: () => T | Promise<T>): Promise<T> {
    const { signal } = this.#options;
    const outOfTime = () => new Error(`did not end within ${MAX_SECONDS} seconds`);
    try {
      const deadline = { timeout: 1000 * MAX_SECONDS, outOfTime, signal };
      return await inTime(async () => await work(), deadline);
    } catch (error) {
      signal?.throwIfAborted();
      this.#spoil(
        "unavailable",
        printable(`could not be asked: ${what} ${thrownText(error)}`, 500),
      );
    }
  }

  /** What his function says. */
  async #call(play: UserFunction): Promise<Said> {
    const { user: { scenario, guidelines = USER_GUIDELINES }, tools = [] } = this.#options;
    const calls: NonNullable<UserEvent["calls"]>[number][] = [];
    const made: Promise<unknown>[] = [];
    let isOver = false;
    const conversation = {
      messages: this.#messages.map((message) => ({ ...message })),
      ...{ scenario, guidelines },
      call: async (tool: string, input: object) => {
        if (isOver) throw new Error("it is no longer the user's turn");
        const names = tools.map(({ name }) => name);
        if (!names.includes(tool)) {
          throw new Error(
            `there is no tool ${printable(`${tool}`, 80)} of the user, but ${
              names.join(", ") || "none"
            }`,
          );
        }
        const making = this.#carryOut([{ id: "", name: tool, arguments: jsonText(input) }]);
        made.push(making);
        const [call] = await making;
        calls.push(call!);
        return call!.result;
      },
    };
    const started = performance.now();
    const given = await this.#inTime("his function", async () => {
      const says = await play(conversation, this.#seed);
      // Nothing may change the state any more once the model goes on.
      isOver = true;
      await Promise.all(made);
      return says;
    });
    const said = readSays(given);
    if (said === undefined) {
      this.#spoil(
        "unavailable",
        `could not be asked: his function must return a text, or { text?, end: ${
          END_REASONS.map((one) => `"${one}"`).join(" | ")
        } }: it returned ${valueText(given, 100)}`,
      );
    }
    const fault = faultOf(said, this.#messages);
    this.#tell({ ...said, fault }, { calls, duration: performance.now() - started });
    return { ...said, fault, hasCalled: calls.length > 0 };
  }

  /** What a language model says, once it has called the tools that it needs. */
  async #ask(model: Model): Promise<Said> {
    for (let replies = 0; replies < MAX_REPLIES; replies++) {
      const reply = await this.#reply(model);
      const said = readReply(reply, this.#messages);
      const carried = reply.carried === undefined ? {} : { carried: reply.carried };
      const others = said.fault === undefined
        ? reply.calls.filter(({ name }) => said.end === undefined || name !== END_TOOL)
        : [];
      const calls = await this.#inTime("a tool of his", () => this.#carryOut(others));
      this.#tell(said, { ...reply, calls });
      if (said.fault !== undefined || said.text !== "" || said.end !== undefined) return said;
      this.#seen.push({ role: "assistant", content: "", calls: reply.calls, ...carried });
      for (const [place, { result }] of calls.entries()) {
        const { id: callId, name } = others[place]!;
        this.#seen.push({ role: "tool", callId, name, content: result });
      }
    }
    return { text: "", fault: "too_many_calls", hasCalled: true };
  }

  async #reply(model: Model): Promise<ModelReply> {
    const { user: { scenario, guidelines = USER_GUIDELINES }, context, signal } = this.#options;
    const opening: Message[] = this.#seen[0]?.role === "user"
      ? []
      : [{ role: "user", content: "(The conversation begins. You speak first.)" }];
    let reply: ModelReply;
    try {
      reply = await model.reply({
        messages: [
          { role: "system", content: `${guidelines}\n\n<scenario>\n${scenario}\n</scenario>` },
          ...opening,
          ...this.#seen,
        ],
        tools: this.#tools,
        // Servers take 32 bits, and some of them no sign.
        seed: this.#seed % 2 ** 31,
        context: { ...context, request: ++this.#requests, stage: "user" },
        signal,
      });
    } catch (error) {
      signal?.throwIfAborted();
      const { permanent, fault }: Partial<InfrastructureError> =
        isErrorOf(error, InfrastructureError) ? error : {};
      this.#spoil("unavailable", printable(`could not be asked: ${reasonOf(error)}`, 500), {
        cause: error,
        ...defined({ permanent, fault }),
      });
    }
    const { served, usage, finish } = reply;
    this.#usage = sumUsage([this.#usage, claimedUsage(usage)]);
    if (served !== "") this.#served.add(served.slice(0, 200));
    if (finish === "length" || finish === "filter") {
      this.#tell({ text: reply.text, fault: "unavailable" }, { ...reply, calls: [] });
      this.#spoil(
        "unavailable",
        finish === "length" ? "ran out of tokens in mid-reply" : "was stopped by a content filter",
      );
    }
    return reply;
  }

  /** Carries out calls of his tools, one after another, as he would. */
  async #carryOut(calls: readonly ToolCall[]): Promise<NonNullable<UserEvent["calls"]>> {
    const results: NonNullable<UserEvent["calls"]>[number][] = [];
    for (const call of calls) {
      const given = call.name === END_TOOL
        ? [{ content: jsonText({ error: `reason must be one of ${END_REASONS.join(", ")}` }) }]
        : await this.#toolbox.execute([call]);
      results.push({ function: call.name, arguments: call.arguments, result: given[0]!.content });
    }
    return results;
  }

  #tell(
    { text, end, fault }: Said,
    { calls = [], duration, usage, carried }:
      & Pick<ModelReply, "duration">
      & Partial<Pick<ModelReply, "usage" | "carried">>
      & Pick<UserEvent, "calls">,
  ): void {
    const cut = (one: string) => one.slice(0, MAX_KEPT_LENGTH);
    const reasoning = cut(reasoningTexts(carried).join("\n"));
    this.#options.record(defined({
      kind: "user" as const,
      text: cut(text),
      ...claimedUsage(usage ?? sumUsage([])),
      durationMs: claimedCount(duration),
      reasoning: reasoning || undefined,
      calls: calls.length === 0 ? undefined : calls.map((call) => ({
        function: cut(call.function),
        arguments: cut(call.arguments),
        result: cut(call.result),
      })),
      end,
      fault,
    }));
  }
}

/** What was said before the first message: the history and the agent's greeting. */
export function historyOf(
  { history = [], opens = "user" }: Pick<ToolUser, "history" | "opens">,
): NonNullable<ToolUser["history"]> {
  return opens === "user"
    ? history
    : [...history, { role: "assistant" as const, content: opens.greeting }];
}

/** What a function said; `undefined` if that is nothing that can be said. */
function readSays(given: unknown): Said | undefined {
  if (typeof given === "string") return readText(given);
  const { text = "", end }: { readonly text?: unknown; readonly end?: unknown } = Object(given);
  const reason = END_REASONS.find((one) => one === end);
  if (typeof text !== "string" || reason === undefined) return undefined;
  return { ...readText(text), end: reason };
}

/** The tool by which a language model ends the conversation. */
const END: ToolSchema = {
  name: END_TOOL,
  description: "Ends the conversation. Call it without a message beside it.",
  parameters: {
    type: "object",
    properties: { reason: { type: "string", enum: [...END_REASONS] } },
    required: ["reason"],
    additionalProperties: false,
  },
};
