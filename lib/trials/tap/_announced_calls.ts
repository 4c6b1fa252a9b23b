/**
 * Announced calls: those that replies to an agent make, until the agent carries them out, or goes on without.
 * @module
 */

import { attempt } from "../../base/errors.ts";
import {
  canonicalJson,
  isJsonObject,
  jsonText,
  type JsonValue,
  parseJson,
  withNumbers,
} from "../../base/json.ts";
import { callsOf, MAX_KEPT_LENGTH, type ReplyEvent } from "../../calls/trace.ts";
import type { AgentRequest } from "../../models/openai/agent_request.ts";
import type { WatchedReply } from "../../models/openai/watched_reply.ts";
import type { AgentDeed, PreparedCall, ToolCall, ToolResult } from "../../tools/tool.ts";
import type { Fixture } from "../executors/fixture.ts";
import type { OfferedNames } from "./_offered_names.ts";

/** A call of a reply that the agent has not carried out yet. */
interface OpenCall {
  readonly call: PreparedCall;
  /** Its arguments as {@linkcode writingsOf} returns them. */
  readonly given: readonly string[];
}

/** A call that the agent left without a result when it answered, under the number of its event. */
interface HeldCall extends OpenCall {
  readonly number: number;
}

/** A reply to an agent, and what it answers. */
export interface Announced {
  readonly request: AgentRequest;
  /** The id of the reply at its server; empty if it has none. */
  readonly id: string;
  /** The number of its request. */
  readonly number: number;
}

/** A reply, and which of its calls are open. */
interface OpenReply extends Announced {
  readonly step: number;
  readonly calls: readonly PreparedCall[];
  readonly open: Set<OpenCall>;
  /** Whether the agent has carried out any of its calls. */
  isUsed: boolean;
  /** The results of all of its calls, where these may refer to each other. */
  results?: Promise<ReadonlyMap<OpenCall, ToolResult>>;
}

/** What the calls belong to. */
export interface AnnouncedCallsOptions {
  /** Answers and judges the calls. */
  readonly environment: Fixture;
  /** Whether calls may refer to results of others of their reply. */
  readonly references: boolean;
  /** The names under which replies call its functions. */
  readonly names: OfferedNames;
}

/**
 * The calls of replies, matched with those that the agent carries out: by name and arguments, else by name, in
 * their order. Ids do not match them, as frameworks hide these from tools. One of an earlier turn must be the same
 * to the letter, and by its id where that is told.
 */
export class AnnouncedCalls {
  readonly #options: AnnouncedCallsOptions;
  /** Takes the result of each call, and returns its text for the agent. */
  readonly #give: (result: ToolResult) => string;
  #replies: OpenReply[] = [];
  /** The calls of earlier turns that are still without a result. */
  #held: HeldCall[] = [];
  /** The requests whose reply broke off on its way, of which the agent may have calls. */
  #broken: AgentRequest[] = [];
  #step = 0;
  /** Whether the agent made a call of its own that no reply had made: it may be of one that was not seen. */
  hasUnannounced = false;

  /** Knows no calls yet. */
  constructor(options: AnnouncedCallsOptions, give: (result: ToolResult) => string) {
    this.#options = options;
    this.#give = give;
  }

  /** Takes a reply, whose calls the agent may carry out from now on. */
  announce(reply: Announced, calls: readonly ToolCall[]): void {
    const { environment: { tools, events }, names } = this.#options;
    // What the agent called before its first reply came in steps of its own.
    if (this.#step === 0) this.#step = callsOf(events).at(-1)?.step ?? 0;
    const step = ++this.#step;
    const offered = reply.request.tools.map(({ name }) => name);
    const open = calls.map((call): OpenCall => {
      const plain = names.plain(call.name);
      const isMissing = !offered.includes(call.name) && tools.some(({ name }) => name === plain);
      // One that is offered with the server's name is nearest to itself without.
      const alike = offered.filter((name) => names.plain(name) === plain);
      return {
        call: {
          ...{ ...call, name: plain, step },
          ...(isMissing ? { offered: alike.length > 0 ? alike : offered } : {}),
        },
        given: writingsOf(call.arguments),
      };
    });
    const made = open.map(({ call }) => call);
    this.#replies.push({ ...reply, step, calls: made, open: new Set(open), isUsed: false });
  }

  /** Takes a request whose reply broke off on its way: it was none, whatever the agent makes of it. */
  breakOff(request: AgentRequest): void {
    this.#broken.push(request);
  }

  /** Carries out a call of the agent: that of a reply, or one of its own. */
  async execute(name: string, written: string, id?: string): Promise<string> {
    const [given] = writingsOf(written);
    const { tools } = this.#options.environment;
    const open = this.#replies.flatMap((reply) =>
      Array.from(reply.open, (one) => ({ reply, one }))
    );
    const all = open.filter(({ one }) => one.call.name === name);
    const isGiven = ({ one }: typeof open[number]) => given !== undefined && one.given[0] === given;
    const exact = all.find(isGiven) ??
      all.find(({ one }) => isFilled(one.call, written, this.#options.environment));
    if (exact !== undefined) return await this.#carryOut(exact.reply, exact.one);
    const held = this.#takeHeld(name, given, id);
    if (held !== undefined) return await this.#run({ ...held.call, held: held.number });
    // A framework may correct a name, too.
    const alike = all[0] ??
      open.find((own) => isGiven(own) && !tools.some((tool) => tool.name === own.one.call.name));
    if (alike !== undefined) await this.#record(alike.reply, alike.one, "repaired");
    else if (!this.#isAnnounced(name, given)) this.hasUnannounced = true;
    const own = { id: "", name, arguments: written, by: "agent" } as const;
    // The model takes it for the result of its own call; of others it need not know.
    return await this.#run({ ...own, step: alike?.reply.step ?? this.#step }, alike?.one.call.id);
  }

  /** Takes the call of an earlier turn that the agent carries out now; `undefined` if it can be none or several. */
  #takeHeld(name: string, given: string | undefined, id: string | undefined): HeldCall | undefined {
    const [held, ...others] = this.#held.filter((one) =>
      given !== undefined && one.given.includes(given) && one.call.name === name &&
      (id === undefined || one.call.id === id)
    );
    const rest = this.#held.filter((one) => one !== held);
    if (others.length > 0 || rest.some(({ call }) => call.id === held?.call.id)) return undefined;
    this.#held = rest;
    return held;
  }

  /** Whether a reply made a call, which a framework may carry out again where it failed. */
  #isAnnounced(name: string, given: string | undefined): boolean {
    return given !== undefined &&
      this.#replies.some(({ calls }) =>
        calls.some((call) => call.name === name && writingsOf(call.arguments).includes(given))
      );
  }

  /** Closes the replies that a request goes on from; returns the request whose reply it asks for again. */
  async follow(request: AgentRequest): Promise<number | undefined> {
    const { history, previous } = request;
    const shown = shownIn(request, this.#options.names);
    // Its model was told what came of it, such as that the user refused it.
    this.#held = this.#held.filter(({ call }) => shown(call)?.told === undefined);
    let replaces: number | undefined;
    this.hasUnannounced ||= this.#broken.some((broken) => this.#goesOnFrom(broken, request));
    for (const reply of this.#replies) {
      const { request: before } = reply;
      const isSame = history === before.history && previous === before.previous &&
        request.terms === before.terms;
      if (isSame && !reply.isUsed) {
        replaces = reply.number;
        await this.#close(reply, () => undefined);
      } else if (
        // Agents may change what came before, such as a clock in their instructions.
        reply.calls.some((call) => shown(call) !== undefined) ||
        (previous === undefined ? history.startsWith(`${before.history}\n`) : previous === reply.id)
      ) {
        await this.#close(reply, shown);
      }
    }
    return replaces;
  }

  /** Whether a request goes on from a reply that broke off, with calls that no whole reply made. */
  #goesOnFrom(broken: AgentRequest, { history, messages }: AgentRequest): boolean {
    if (!history.startsWith(`${broken.history}\n`)) return false;
    const { names } = this.#options;
    const made = this.#replies.flatMap(({ calls }) => calls);
    return messages.slice(broken.messages.length).some((message) =>
      message.role === "assistant" &&
      message.calls.some(({ id, name, arguments: written }) =>
        !made.some((call) =>
          call.id === id || call.name === names.plain(name) && call.arguments === written
        )
      )
    );
  }

  /** Records what the agent left of all replies; it holds that if it has answered. */
  async close(hasAnswered: boolean): Promise<void> {
    const left = hasAnswered ? "held" : "not_run";
    for (const reply of this.#replies) await this.#close(reply, () => undefined, left);
  }

  /** Forgets the replies of a turn that is over: requests of the next one may look like theirs. */
  forget(): void {
    this.#replies = [];
    this.#broken = [];
  }

  /** Records the calls of a reply that the agent did not carry out. */
  async #close(
    reply: OpenReply,
    shownOf: (call: PreparedCall) => ShownCall | undefined,
    left: "held" | "not_run" = "not_run",
  ): Promise<void> {
    // Carried out with the others, whatever the agent did with it.
    if (reply.results !== undefined) return;
    for (const one of [...reply.open]) {
      const { call } = one;
      const isWrong = call.offered !== undefined || this.#isRefused(call);
      const shown = shownOf(call);
      const deed = !isWrong ? left : shown === undefined ? "hid" : undefined;
      await this.#record(reply, one, deed, shown);
      if (left !== "held") continue;
      const event = this.#options.environment.events.findLast((event) =>
        event.kind === "call" && event.step === reply.step && event.agentDid === deed
      );
      if (event?.kind === "call") this.#held.push({ ...one, number: event.call });
    }
  }

  #isRefused(call: PreparedCall): boolean {
    const { environment } = this.#options;
    return environment.refuse(call) !== undefined ||
      !environment.tools.some(({ name }) => name === call.name);
  }

  /** Records a call that the agent did not carry out. */
  async #record(
    reply: OpenReply,
    one: OpenCall,
    deed: AgentDeed | undefined,
    { told }: ShownCall = {},
  ): Promise<void> {
    reply.open.delete(one);
    if (this.#options.environment.ended) return;
    await this.#run(
      { ...one.call, agentDid: deed, told },
      deed === "repaired" ? "" : one.call.id,
    );
  }

  /** Carries out a call of a reply; with references all of them, as they may need each other's results. */
  async #carryOut(reply: OpenReply, one: OpenCall): Promise<string> {
    reply.isUsed = true;
    const { environment, references } = this.#options;
    if (references) {
      const all = [...reply.open];
      reply.results ??= environment.execute(all.map(({ call }) => call))
        .then((results) => new Map(all.map((other, place) => [other, results[place]!])));
    }
    reply.open.delete(one);
    if (reply.results === undefined) return await this.#run(one.call);
    return this.#give((await reply.results).get(one)!);
  }

  /** Lets the environment answer a call; its result answers the call of a reply with the id `callId`, if not empty. */
  async #run(call: PreparedCall, callId = call.id): Promise<string> {
    const { environment } = this.#options;
    const [result] = await environment.execute([call]);
    const { told: content = result!.content } = call;
    return this.#give({ ...result!, callId, content });
  }
}

/** Returns arguments in one way of writing, then with the integers that `JSON.parse` rounds; none if they cannot be read. */
function writingsOf(written: string): readonly string[] {
  const input = parseJson(written);
  return input === undefined ? [] : Array.from(new Set([input, withNumbers(input)]), textOf);
}

/** Returns a value in one way of writing, in which what nests too deep keeps the order of its keys. */
function textOf(input: JsonValue): string {
  return attempt(() => canonicalJson(input)) ?? jsonText(input);
}

/** Whether arguments are those of a call, rounded, and with nulls and defaults of its schema that a framework filled in. */
function isFilled(
  call: PreparedCall,
  written: string,
  { tools }: Pick<Fixture, "tools">,
): boolean {
  const [own, input] = [parseJson(call.arguments), parseJson(written)];
  if (!isJsonObject(own) || !isJsonObject(input)) return false;
  const { properties } = tools.find(({ name }) => name === call.name)?.parameters ?? {};
  const defaultOf = (key: string) => {
    const schema = isJsonObject(properties) && Object.hasOwn(properties, key)
      ? properties[key]
      : undefined;
    return isJsonObject(schema) ? schema["default"] : undefined;
  };
  const isSame = (one: JsonValue | undefined, other: JsonValue | undefined) =>
    one !== undefined && other !== undefined &&
    [one, withNumbers(one)].some((own) => textOf({ own }) === textOf({ own: other }));
  return Object.keys(own).every((key) => Object.hasOwn(input, key)) &&
    Object.entries(input).every(([key, value]) =>
      Object.hasOwn(own, key)
        ? isSame(own[key], value)
        : value === null || value === undefined || isSame(defaultOf(key), value)
    );
}

/** Calls of an agent's own that are kept of one reply, at most. */
const MAX_OWN_CALLS = 20;

/** Separates calls of the task's functions, and of functions that nobody offers, from those of the agent's own, if any. */
export function ownCallsOf(
  { tools }: AgentRequest,
  { reply, builtIns }: WatchedReply,
  { environment, names }: Pick<AnnouncedCallsOptions, "environment" | "names">,
): { readonly calls: readonly ToolCall[]; readonly ownCalls: ReplyEvent["ownCalls"] } {
  const ofTask = new Set(environment.tools.map(({ name }) => name));
  const isOwn = (name: string) =>
    !ofTask.has(names.plain(name)) && tools.some((tool) => tool.name === name);
  const own = [...builtIns, ...reply.calls.filter(({ name }) => isOwn(name))];
  return {
    calls: reply.calls.filter(({ name }) => !isOwn(name)),
    ownCalls: own.length === 0
      ? undefined
      : own.slice(0, MAX_OWN_CALLS).map(({ name, arguments: written }) => ({
        function: name.slice(0, MAX_KEPT_LENGTH),
        arguments: written.slice(0, MAX_KEPT_LENGTH),
      })),
  };
}

/** What a request shows of a call: the text that its model got for it, if any. */
interface ShownCall {
  readonly told?: string;
}

/** Returns what a request shows of the calls of earlier replies; `undefined` of those that it does not show. */
function shownIn(
  { messages }: AgentRequest,
  names: OfferedNames,
): (call: PreparedCall) => ShownCall | undefined {
  const ids = new Map<string, ShownCall>();
  const written = new Set<string>();
  for (const message of messages) {
    // Frameworks may leave out what a server keeps by itself.
    if (message.role === "tool") ids.set(message.callId, { told: message.content });
    if (message.role !== "assistant") continue;
    for (const { id, name, arguments: given } of message.calls) {
      if (!ids.has(id)) ids.set(id, {});
      written.add(JSON.stringify([names.plain(name), given]));
    }
  }
  return (call) =>
    ids.get(call.id) ??
      (written.has(JSON.stringify([call.name, call.arguments])) ? {} : undefined);
}
