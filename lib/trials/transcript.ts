/**
 * Transcripts: what the line of a trial keeps beside its events, so that a reader sees what the model saw.
 * @module
 */

import { z } from "zod";
import {
  canonicalJson,
  cutText,
  defined,
  isWithin,
  type JsonObject,
  jsonText,
} from "../base/json.ts";
import { sha256 } from "../base/hash.ts";
import { MAX_KEPT_LENGTH, type TraceEvent } from "../calls/trace.ts";
import type { ModelRequest } from "../models/model.ts";
import type { Message } from "../tools/message.ts";
import type { ToolSchema } from "../tools/tool.ts";
import type { StateDifference } from "../calls/values/state_difference.ts";

/** Of which trials of cases transcripts are kept: all of them, those that are not solved, or none. */
export type Transcripts = "all" | "unsolved" | "none";

/** All of {@linkcode Transcripts}. */
export const TRANSCRIPTS = ["all", "unsolved", "none"] as const satisfies readonly Transcripts[];

/** A value that a journal has once, in the first trial that has it, as many trials share it. */
export interface Kept<Value> {
  /** A hash of the value. */
  readonly id: string;
  /** The value; omitted in a line of a journal if an earlier line has it. */
  readonly value?: Value;
}

/** A tool as it was offered to a model. */
export interface OfferedTool extends Pick<ToolSchema, "name" | "description"> {
  /** The JSON Schema of its arguments; omitted if it is longer than 50,000 characters, or nests too deep. */
  readonly parameters?: JsonObject;
  /** Set if the provider should hold the model to the schema. */
  readonly strict?: true;
}

/** What the model of a trial saw at its beginning, and what the trial left. */
export interface Transcript {
  /** The system text; omitted without one. */
  readonly system?: Kept<string>;
  /** Who the simulated user is, which only his own model sees; omitted without one. */
  readonly scenario?: Kept<string>;
  /** What was said before the question; omitted where nothing was. */
  readonly history?: Kept<Shown["history"]>;
  /** The question, with what a strategy or a perturbation made of it. */
  readonly prompt: Kept<string>;
  /** The tools on offer. */
  readonly tools: Kept<readonly OfferedTool[]>;
  /** What changed in the state of the case; omitted for a case without a state. */
  readonly state?: StateDifference;
}

/** The parts of a transcript that many trials share. */
export const SHARED_PARTS = ["system", "scenario", "history", "prompt", "tools"] as const;

function kept<Value>(value: z.ZodType<Value>): z.ZodType<Kept<Value>> {
  return z.looseObject({ id: z.string(), value: value.exactOptional() }) as never;
}

/** The schema of a transcript in a file. */
export const TRANSCRIPT: z.ZodType<Transcript> = z.looseObject({
  system: kept(z.string()).exactOptional(),
  scenario: kept(z.string()).exactOptional(),
  history: kept(z.array(z.looseObject({ role: z.string(), text: z.string() }))).exactOptional(),
  prompt: kept(z.string()),
  tools: kept(z.array(z.looseObject({
    name: z.string(),
    description: z.string(),
    parameters: z.looseObject({}).exactOptional(),
    strict: z.literal(true).exactOptional(),
  }))),
  state: z.looseObject({
    changes: z.array(z.looseObject({
      path: z.string(),
      before: z.string().exactOptional(),
      after: z.string().exactOptional(),
    })),
    more: z.int().min(1).exactOptional(),
    hidden: z.array(z.string()).exactOptional(),
    partial: z.literal(true).exactOptional(),
  }).exactOptional(),
}) as unknown as z.ZodType<Transcript>;

/** The texts and tools of a transcript. */
export interface Shown {
  readonly system?: string;
  readonly scenario?: string;
  readonly history?: readonly { readonly role: string; readonly text: string }[];
  readonly prompt: string;
  readonly tools: readonly OfferedTool[];
}

/** At most this many characters of the schema of a tool are kept. */
const MAX_SCHEMA_LENGTH = 50_000;
/** At most this many levels of the schema of a tool are kept: a journal must stay readable. */
const MAX_SCHEMA_LEVELS = 100;
/** At most this many tools are kept. */
const MAX_TOOLS = 500;

/** Returns what a model saw before its first reply. Texts are cut later, once they are without secrets. */
export function shownOf(
  { messages: all, tools }: Pick<ModelRequest, "messages" | "tools">,
  { history = [], scenario }: {
    readonly history?: readonly Message[] | undefined;
    readonly scenario?: string | undefined;
  } = {},
): Shown {
  const before = [...history];
  const messages = all.filter(({ role, content }) => {
    const place = before.findIndex((one) => one.role === role && one.content === content);
    if (place >= 0) before.splice(place, 1);
    return place < 0;
  });
  const first = messages.findIndex(({ role }) => role === "assistant" || role === "tool");
  const opening = first < 0 ? messages : messages.slice(0, first);
  const textsOf = (wanted: Message["role"]) =>
    opening.flatMap(({ role, content }) => role === wanted ? [content] : []);
  const system = textsOf("system");
  return {
    ...(system.length === 0 ? {} : { system: bounded(system.join("\n\n")) }),
    ...(scenario === undefined ? {} : { scenario: bounded(scenario) }),
    ...(history.length === 0
      ? {}
      : { history: history.map(({ role, content }) => ({ role, text: bounded(content) })) }),
    prompt: bounded(textsOf("user").join("\n\n")),
    tools: tools.slice(0, MAX_TOOLS).map(({ name, description, parameters, strict }) => ({
      name,
      description: bounded(description),
      ...(isKept(parameters) ? { parameters } : {}),
      ...(strict ? { strict } : {}),
    })),
  };
}

/** Whether a trial ended before anything happened, such as by a set-up that failed: its model said nothing. */
export function isUneventful(
  { outcome, events }: { readonly outcome: string; readonly events: readonly TraceEvent[] },
): boolean {
  return outcome === "invalid" && events.length > 0 && events.every(({ kind }) => kind === "stop");
}

/** A text far longer than what is kept of it, so that secrets are found at the end of that too. */
export function bounded(text: string): string {
  return cutText(text, 2 * MAX_KEPT_LENGTH);
}

function isKept(parameters: JsonObject): boolean {
  return isWithin(parameters, { levels: MAX_SCHEMA_LEVELS, values: MAX_SCHEMA_LENGTH }) &&
    jsonText(parameters).length <= MAX_SCHEMA_LENGTH;
}

/** Returns the transcript of texts and tools that are without secrets. */
export function transcriptOf(
  { system, scenario, history, prompt, tools }: Shown,
  state: StateDifference | undefined,
): Transcript {
  const cut = (text: string) => cutText(text, MAX_KEPT_LENGTH);
  return defined({
    system: system === undefined ? undefined : keep(cut(system)),
    scenario: scenario === undefined ? undefined : keep(cut(scenario)),
    history: history && keep(history.map(({ role, text }) => ({ role, text: cut(text) }))),
    prompt: keep(cut(prompt)),
    tools: keep(tools.map((tool) => ({ ...tool, description: cut(tool.description) }))),
    state,
  });
}

/** Characters of a hash that tell values of one journal apart. */
const ID_LENGTH = 16;

function keep<Value>(value: Value): Kept<Value> {
  return { id: sha256(canonicalJson(value)).slice(0, ID_LENGTH), value };
}

/**
 * Returns events without texts that decide nothing: what the model wrote beside its calls, what its user did beside his
 * messages, and what was said to a judge.
 */
export function withoutTexts(events: readonly TraceEvent[]): TraceEvent[] {
  const hasUser = events.some(({ kind }) => kind === "user");
  return events.map((event) => {
    // What a simulated user says is written by a model, too.
    if (event.kind === "reply" || event.kind === "turn" && hasUser) return { ...event, text: "" };
    if (event.kind === "user") {
      return defined({ ...event, text: "", reasoning: undefined, calls: undefined });
    }
    return event.kind === "judged" ? { ...event, question: "", reply: "" } : event;
  });
}
