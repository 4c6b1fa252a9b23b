/**
 * Scripts: the replies in a trace, or the calls and the answer of an agent, to be given again.
 * @module
 */

import {
  type CallEvent,
  callsOf,
  EXPLANATION,
  type RepairEvent,
  type ReplyEvent,
  type TraceEvent,
} from "../calls/trace.ts";
import { FAILURES } from "../calls/failure_types.ts";
import { type Difference, differs } from "./_difference.ts";
import {
  InfrastructureError,
  type Model,
  type ModelReply,
  type ModelRequest,
  TimeLimitError,
} from "../models/model.ts";
import type { PreparedCall, ToolCall } from "../tools/tool.ts";
import { defined } from "../base/json.ts";
import type { Fixture } from "./executors/fixture.ts";

/** Calls past the limit in one reply that are played again: they decide nothing. */
const MAX_BEYOND = 1_000;

/** Why a trace that is over gives neither a reply nor an answer. */
const NO_MORE = "there are no more events";

/** Returns the call of an event as its model made it. */
function asCall({ function: name, arguments: written }: CallEvent): ToolCall {
  return { id: "", name, arguments: written };
}

/** Returns a call past the limit, of which no arguments were kept. */
function pastLimit(name: string): ToolCall {
  return { id: "", name, arguments: "{}" };
}

/** The replies in a trace, to be given again. */
export class Script {
  /** A fault of the events themselves; `undefined` without one. */
  readonly fault: Difference | undefined;

  readonly #replies: ModelReply[] = [];
  readonly #outer: string | undefined;
  #given = 0;
  #isCutOff = false;
  #dangling = 0;

  constructor(events: readonly TraceEvent[], outer: string | undefined) {
    this.#outer = outer;
    for (let place = 0; place < events.length; place++) {
      const event = events[place]!;
      if (event.kind !== "reply") continue;
      const isLast = events[place + 1]?.kind === "stop";
      if (event.stage !== undefined || event.calls === 0) {
        // The reply that reached a limit is no answer.
        this.#add(event.text, [], event.stage === undefined && isLast);
        continue;
      }
      const next = events.findIndex((one, other) => other > place && !followsCalls(one));
      const end = next < 0 ? events.length : next;
      const isStopped = this.#outer !== undefined && end === events.length - 1;
      this.fault ??= this.#addCalls(event, events.slice(place + 1, end), isStopped);
      place = end - 1;
    }
  }

  /** The number of replies that nobody asked for. */
  get left(): number {
    return this.#replies.length - this.#given;
  }

  /** Whether the trial went on to the end of its events without ending by itself. */
  get isCutOff(): boolean {
    return this.#isCutOff;
  }

  /** The number of calls in the last reply, if the trial was stopped before all of them had ended. */
  get dangling(): number {
    return this.#dangling;
  }

  /** The model that gives them; `asked` receives its requests. */
  model(name: string, asked?: (request: ModelRequest) => void): Model {
    return {
      name,
      simulated: true,
      // deno-lint-ignore require-await
      reply: async (request) => {
        asked?.(request);
        const reply = this.#replies[this.#given++];
        if (reply?.finish === "length") this.#isCutOff = true;
        if (reply !== undefined) return reply;
        this.#isCutOff = true;
        // A limit counts as one in the behaviours of a trial, a spoiled trial does not.
        throw this.#outer === undefined || this.#outer === "invalid"
          ? new InfrastructureError(NO_MORE)
          : new TimeLimitError(NO_MORE);
      },
    };
  }

  /** Adds a reply that makes calls, with the replies that repaired these. */
  #addCalls(
    reply: ReplyEvent,
    after: readonly TraceEvent[],
    isStopped: boolean,
  ): Difference | undefined {
    // Calls that a strategy made are made again by it.
    const [calls, others] = byModel(callsOf(after));
    const over = after.find((event) => event.kind === "over_limit");
    if (isStopped && over === undefined && calls.length < reply.calls) {
      this.#add(reply.text, [], true);
      this.#dangling = reply.calls;
      return undefined;
    }
    const written = calls.map(asCall);
    const repairs = after.filter((event) => event.kind === "repair");
    let from = 0;
    for (const repair of repairs) {
      const { function: name, arguments: before, repaired = before } = repair;
      const place = written.findIndex((call, place) =>
        place >= from && call.name === name && call.arguments === repaired
      );
      if (place < 0) continue;
      written[place] = { ...written[place]!, arguments: before };
      from = place + 1;
    }
    const beyond = Math.max(0, reply.calls - calls.length);
    if (over !== undefined) {
      const past = new Array(Math.min(beyond, MAX_BEYOND)).fill(pastLimit(over.function));
      written.push(...past);
    }
    this.#add(reply.text, written);
    const asides = after.filter((event) => event.kind === "reply");
    const replies = asides.filter(({ stage }) => stage === "repair").length;
    for (const repair of repairs) {
      this.#addRepair({ ...repair, attempts: Math.min(repair.attempts, replies) });
    }
    const stages = after.filter((event) => event.kind === "stage");
    for (const place of asides.slice(replies).keys()) {
      // The reply that reached a limit came to nothing.
      const stage = stages[place];
      const call = stage === undefined || stage.unusable ? undefined : others.shift();
      this.#add("", call === undefined ? [] : [asCall(call)], stage === undefined);
    }
    return differs(
      `events after request ${reply.request}`,
      `${calls.length} calls${over === undefined ? "" : ", and more past the limit"}`,
      over === undefined || beyond === 0
        ? `${reply.calls} calls`
        : `${calls.length} calls, and more past the limit`,
    );
  }

  /** Adds replies that repair a call: only the arguments that were accepted are recorded. */
  #addRepair({ function: name, attempts, repaired }: RepairEvent): void {
    for (let attempt = 1; attempt <= attempts; attempt++) {
      const isLast = attempt === attempts && repaired !== undefined;
      this.#add("", isLast ? [{ id: "", name, arguments: repaired }] : []);
    }
  }

  #add(text: string, calls: readonly ToolCall[], isCutOff = false): void {
    this.#replies.push({
      ...{ text, calls, served: "", duration: 0, repairs: [] },
      finish: isCutOff ? "length" : calls.length === 0 ? "stop" : "calls",
      usage: { inputTokens: 0, outputTokens: 0 },
    });
  }
}

/** Gives the calls of a custom agent again, step by step, and its answer. */
export async function playCalls(
  fixture: Fixture,
  events: readonly TraceEvent[],
  outer: string | undefined,
): Promise<string> {
  let together: PreparedCall[] = [];
  const play = async () => {
    if (together.length > 0) await fixture.execute(together);
  };
  for (const event of callsOf(events)) {
    if (together[0] !== undefined && together[0].step !== event.step) {
      await play();
      together = [];
    }
    together.push(asAgentCall(event, fixture.tools));
  }
  await play();
  const over = events.find((event) => event.kind === "over_limit");
  if (over !== undefined) await fixture.execute([pastLimit(over.function)]);
  const answer = events.find((event) => event.kind === "answer");
  if (answer !== undefined) return answer.text;
  throw outer === "agent_error" ? new Error(NO_MORE) : new InfrastructureError(NO_MORE);
}

/** Returns a call of an event, with what its agent did. */
function asAgentCall(event: CallEvent, tools: Fixture["tools"]): PreparedCall {
  const { step, by, agentDid, failure } = event;
  // There is such a function, but the request did not offer it: of those that it did, the nearest is known.
  const isUnoffered = failure?.type === "function_not_found" &&
    tools.some(({ name }) => name === event.function);
  // What is wrong with a call was judged by the executor, and told by the agent in its own words.
  const isRefused = agentDid !== undefined ||
    failure !== undefined && FAILURES[failure.type].isRefused;
  return {
    ...{ ...asCall(event), step },
    ...defined({ agentDid, by: by === "agent" ? by : undefined }),
    ...(isRefused ? { told: event.result } : {}),
    ...(isUnoffered ? { offered: [failure.detail.nearest ?? []].flat() } : {}),
  };
}

/** Whether an event belongs to the calls of the reply before it. */
function followsCalls(event: TraceEvent): boolean {
  return event.kind === "call" || event.kind === "over_limit" || event.kind === "repair" ||
    event.kind === "reply" && (event.stage === "repair" || event.stage === "alternative") ||
    event.kind === "stage" && (event.stage === EXPLANATION || event.stage === "alternative");
}

/** The calls that the model made, and those of other functions that it made in place of them. */
function byModel(calls: readonly CallEvent[]): [own: CallEvent[], others: CallEvent[]] {
  const made = (by: CallEvent["by"]) => calls.filter((call) => call.by === by);
  return [made(undefined), made("alternative")];
}
