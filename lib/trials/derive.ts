/**
 * Derivation: plays a recorded trial again from its own events, through the code that judged it, and compares.
 *
 * What the model wrote is taken from the events: its calls and its answer. All that follows from these, where the
 * truth of the task is data, is made anew and must be what the line says.
 * @module
 */

import { canonicalJson, jsonText, printable } from "../base/json.ts";
import { MARK } from "../base/secrets.ts";
import {
  type CallEvent,
  callsOf,
  failuresOf,
  MAX_KEPT_LENGTH,
  type TraceEvent,
} from "../calls/trace.ts";
import { InfrastructureError } from "../models/model.ts";
import { parsedArguments, usesIn } from "../tools/references/call_order.ts";
import type { Environment, PreparedCall } from "../tools/tool.ts";
import type { Loop } from "./agent/loop.ts";
import type { Fixture } from "./executors/fixture.ts";
import { isCase } from "../tasks/task_kind.ts";
import { playTrial, type TrialOptions } from "./run_trial.ts";
import { strategiesIn } from "./strategies/registry.ts";
import type { Trial } from "./trial.ts";

/** What a trial ran with, apart from its model; faults in a task need not take the time that they took. */
export type DerivationOptions = Required<
  Pick<TrialOptions, "limits" | "references" | "strategy" | "open">
>;

/** A field of a line that is not what the events of the line give. */
export interface Difference {
  readonly kind: "differs";
  /** The field, such as `outcome` or `result of call 3`. */
  readonly field: string;
  /** What the line says, as JSON. */
  readonly recorded: string;
  /** What its events give, as JSON. */
  readonly derived: string;
}

/** What deriving a trial again came to. */
export type Derivation =
  | { readonly kind: "agrees" }
  | {
    /** It stands as recorded. */
    readonly kind: "recorded";
    /** What keeps it from being derived; omitted where its truth is no data, as in tests of the user's own tools. */
    readonly why?: string;
  }
  | Difference;

/**
 * Derives outcome, failures, calls and answer of a trial again, and compares them with its line. Trials on
 * tools of the user's own stand as recorded: only their code can judge them.
 *
 * Texts that a journal cuts or redacts may have been judged whole, so that such a trial stands as recorded where
 * it differs.
 *
 * @throws {InputError} If the task cannot be opened.
 */
export async function deriveAgain(
  trial: Trial,
  options: DerivationOptions,
): Promise<Derivation> {
  if (isCase(trial.task)) return { kind: "recorded" };
  if (trial.events.length === 0) return { kind: "recorded", why: "without events" };
  const found = await difference(trial, options);
  if (found === undefined) return { kind: "agrees" };
  const why = whyUnkept(trial, options);
  return why === undefined ? found : { kind: "recorded", why };
}

/** Why the events of a trial lack a part of what it was judged by; `undefined` if they do. */
function whyUnkept({ events }: Trial, { references }: DerivationOptions): string | undefined {
  const texts = events.flatMap(textsOf);
  return texts.some((text) => text.length >= MAX_KEPT_LENGTH)
    ? "with a text that was cut"
    : texts.some((text) => text.includes(MARK))
    ? "with a text from which a secret was removed"
    : references && callsOf(events).some(refersById)
    ? "with references to calls by ids, which journals do not keep"
    : callsOf(events).some(({ by }) => by !== undefined && by !== "agent")
    ? "with calls that a strategy made in place of others"
    : undefined;
}

/** The texts of an event that decide what is derived, or are compared with it. */
function textsOf(event: TraceEvent): string[] {
  if (event.kind === "scored") return [event.output, jsonText(event)];
  if (event.kind === "answer") return [event.text];
  if (event.kind !== "call") return [];
  const { function: name, arguments: written, resolved, result, unperturbed, error } = event;
  return [name, written, resolved ?? "", result, unperturbed ?? "", error ?? ""];
}

function refersById({ arguments: given }: CallEvent): boolean {
  return [...usesIn(parsedArguments({ arguments: given })).keys()].some((name) =>
    !/^\d+$/.test(name)
  );
}

/** Strategies that change what calls mean, or what they return; others only ask. */
const REWRITING: readonly string[] = ["indirection", "restate", "explanation"];

async function difference(
  trial: Trial,
  { limits, references, strategy, open }: DerivationOptions,
): Promise<Difference | undefined> {
  const { events } = trial;
  const stop = events.find((event) => event.kind === "stop");
  const isOwnEnd = events.some(({ kind }) => kind === "answer" || kind === "over_limit");
  let opened: Fixture | undefined;
  const ids = strategiesIn(strategy.strategy).filter((id) => REWRITING.includes(id));
  const { dereference } = strategy;
  const played = await playTrial(
    { ...trial, model: trial.model.requested },
    { name: trial.model.requested, simulated: true, reply: () => Promise.reject() },
    {
      limits,
      references,
      strategy: {
        strategy: ids.join("+") || "plain",
        dereference: ids.includes("indirection") ? dereference : undefined,
      },
      open: (spec, at) => opened = open(spec, at),
    },
    loopOf(trial),
  );
  const outcome = isOwnEnd ? played.outcome : stop?.reason ?? "no end";
  return differs("outcome", trial.outcome, outcome) ?? differenceBetween(trial, played) ??
    // What was said beside calls, and how limits ended a trial, is not played.
    differs(
      "behaviours",
      trial.behaviours,
      opened!.behaviours(events, opened!.toolChoice ?? trial.model.toolChoice),
    );
}

/** Returns how a trial differs from another one of the same calls and the same answer; `undefined` if it does not. */
export function differenceBetween(recorded: Trial, played: Trial): Difference | undefined {
  return callsDifference(recorded, played) ??
    differs("failures", recorded.failures, failuresOf(recorded.events)) ??
    endDifference(recorded, played) ??
    fieldsDifference(DERIVED_FIELDS, recorded, played);
}

/** Returns the loop that makes the calls of a trace again, step by step, and gives its answer. */
function loopOf({ events, agent }: Trial): Loop {
  return async ({ environment, write }) => {
    const steps = Map.groupBy(callsOf(events), ({ step }) => step);
    for (const event of events) {
      if (event.kind === "call") {
        const calls = steps.get(event.step) ?? [];
        steps.delete(event.step);
        const made = calls.map((call) => prepared(call, environment, agent !== undefined));
        if (made.length > 0) await environment.execute(made, write);
      } else if (event.kind === "over_limit") {
        const { function: name, arguments: written = "{}" } = event;
        await environment.execute([{ id: "", name, arguments: written }], write);
      } else if (event.kind === "answer") {
        return { kind: "answer", text: event.text, rendered: event.rendered };
      }
    }
    throw new InfrastructureError("there are no more events");
  };
}

/** Returns a call of an event, with what its agent did. */
function prepared(event: CallEvent, { tools }: Environment, isByAgent: boolean): PreparedCall {
  const { function: name, arguments: written, step, by, agentDid, failure, result } = event;
  // There is such a function, but the request did not offer it: of those that it did, the nearest is known.
  const isUnoffered = failure?.type === "function_not_found" &&
    tools.some((tool) => tool.name === name);
  // The executor judged what is wrong with a call, and the agent worded it.
  const isTold = agentDid !== undefined || failure?.type === "function_not_found" ||
    failure?.type === "wrong_number_of_inputs";
  return {
    id: "",
    name,
    arguments: written,
    step,
    agentDid,
    by: by === "agent" ? by : undefined,
    told: isByAgent && isTold ? result : undefined,
    offered: isUnoffered ? [failure.detail.nearest ?? []].flat() : undefined,
  };
}

/** The fields of a trial that follow from its task and its calls. */
const DERIVED_FIELDS = [
  "changed",
  "unsolvable",
  "grounded",
  "minimumCalls",
  "domain",
  "needed",
  "impossible",
  "oracle",
] as const satisfies (keyof Trial)[];

const CALL_FIELDS = [
  "step",
  "function",
  "role",
  "arguments",
  "resolved",
  "result",
  "unperturbed",
  "injected",
  "returned",
  "fault",
  "blockedBy",
  "withheld",
  "alsoWithheld",
  "error",
  "failure",
  "parameters",
  "guessed",
  "coerced",
  "agentDid",
  "held",
] as const satisfies (keyof CallEvent)[];

/** Compares fields of two objects, each named with what follows it. */
function fieldsDifference<T>(
  fields: readonly (keyof T & string)[],
  recorded: T,
  played: T,
  of = "",
): Difference | undefined {
  for (const field of fields) {
    const found = differs(`${field}${of}`, recorded[field] ?? null, played[field] ?? null);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Compares the calls; of a trial that was stopped, some may have been in flight. */
function callsDifference(recorded: Trial, played: Trial): Difference | undefined {
  const others = callsOf(played.events);
  for (const [place, call] of callsOf(recorded.events).entries()) {
    const found = fieldsDifference<Partial<CallEvent>>(
      CALL_FIELDS,
      call,
      others[place] ?? {},
      ` of call ${call.call}`,
    );
    if (found !== undefined) return found;
  }
  const isStopped = recorded.events.at(-1)?.kind === "stop";
  return isStopped && recorded.calls > played.calls
    ? undefined
    : differs("calls", recorded.calls, played.calls);
}

/** Compares how trials ended: answers, their scores, and calls past the limit. */
function endDifference(recorded: Trial, played: Trial): Difference | undefined {
  for (const kind of ["answer", "scored", "over_limit"] as const) {
    const [own, other] = [recorded, played].map(({ events }) =>
      events.find((event) => event.kind === kind)
    );
    if (own === undefined || other === undefined) {
      const found = differs(kind, own ?? null, other ?? null);
      if (found !== undefined) return found;
      continue;
    }
    // The score of a judge model stands as recorded, and so does what this version does not know.
    const fields = Object.keys(other) as (keyof TraceEvent)[];
    const found = fieldsDifference<TraceEvent>(fields, own, other, ` of ${kind}`);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Characters of a value that are shown of a difference. */
const MAX_SHOWN = 200;

/** Returns how two values differ as JSON; `undefined` if they do not. */
function differs(field: string, own: unknown, other: unknown): Difference | undefined {
  const [recorded, derived] = [canonicalJson(own), canonicalJson(other)];
  if (recorded === derived) return undefined;
  const [shown, given] = [printable(recorded, MAX_SHOWN), printable(derived, MAX_SHOWN)];
  return { kind: "differs", field, recorded: shown, derived: given };
}
