/**
 * Reading of traces: finds the form of each, and reads whole files of them.
 * @module
 */

import { assertShallow, readText, withoutMark } from "../../base/input.ts";
import { cannot, InputError } from "../../base/errors.ts";
import {
  canonicalJson,
  defined,
  isJsonObject,
  type JsonObject,
  parseJson,
  printable,
} from "../../base/json.ts";
import { redact } from "../../base/redact.ts";
import type { RecordedRun } from "../../trials/recorded_run.ts";
import { SHARED_PARTS } from "../../trials/transcript.ts";
import { readModelMessages, readSteps, readUIMessages } from "./_ai_sdk.ts";
import { assemble, type Conversation } from "./_conversation.ts";
import { readTrial } from "./_journal.ts";
import { isLangChain, readLangChain } from "./_langchain.ts";
import { readChat, readResponses } from "./_openai.ts";
import { readSpans } from "./_otel.ts";
import { isSpans } from "./_otel_spans.ts";
import { Part } from "./_part.ts";
import { getOrInsertComputed } from "../../base/get_or_insert.ts";

/** A form of traces. */
export type TraceForm =
  | "journal"
  | "otel"
  | "ai_sdk_steps"
  | "langchain"
  | "ai_sdk_ui"
  | "ai_sdk"
  | "responses"
  | "chat";

/** A trace as it was found. */
export interface FoundTrace extends Conversation {
  /** Its form. */
  readonly form: TraceForm;
  /** Where it stands. */
  readonly part: Part;
}

interface FormRow {
  /** Whether a value looks like a trace of this form; a row is asked only where none before fits. */
  readonly fits: (part: Part) => boolean;
  readonly read: (part: Part) => Conversation | readonly Conversation[];
}

/** The first item of a list, or of the list in a field. */
function firstOf(part: Part, field: string): Part | undefined {
  const list = Array.isArray(part.value) ? part : part.get(field);
  return Array.isArray(list?.value) ? list.items()[0] : undefined;
}

/** Whether any message of a list has parts of one of these types. */
function hasParts(part: Part, types: readonly string[]): boolean {
  const list = Array.isArray(part.value) ? part : part.get("messages");
  if (!Array.isArray(list?.value)) return false;
  return list.items().some((message) => {
    const content = message.get("content");
    return Array.isArray(content?.value) &&
      content.items().some((one) => types.includes(one.textAt("type") ?? ""));
  });
}

/** The forms, by their names, in the order in which they are tried. */
const FORMS: Readonly<Record<TraceForm, FormRow>> = {
  journal: { fits: (part) => part.textAt("kind") === "trial", read: readTrial },
  otel: { fits: isSpans, read: (part) => readSpans([part]) },
  ai_sdk_steps: {
    fits: (part) =>
      part.has("steps") || firstOf(part, "steps")?.has("content", "finishReason") === true,
    read: readSteps,
  },
  langchain: {
    fits: (part) => {
      const first = firstOf(part, "messages");
      return first !== undefined && isLangChain(first);
    },
    read: readLangChain,
  },
  ai_sdk_ui: {
    fits: (part) => firstOf(part, "messages")?.has("role", "parts") === true,
    read: readUIMessages,
  },
  ai_sdk: {
    fits: (part) => hasParts(part, ["tool-call", "tool-result", "tool-error"]),
    read: readModelMessages,
  },
  responses: {
    fits: (part) => {
      const asked = part.get("request") ?? part;
      if (asked.has("input") && !asked.has("messages")) return true;
      const list = Array.isArray(part.value) ? part : undefined;
      return list?.items().some((item) =>
        /^(function_call|reasoning|message$)|_call(_output)?$/.test(item.textAt("type") ?? "")
      ) === true;
    },
    read: readResponses,
  },
  chat: {
    fits: (part) => {
      const asked = part.get("request") ?? part;
      return firstOf(asked, "messages")?.has("role") === true;
    },
    read: readChat,
  },
};

/** The names of all forms. */
export const TRACE_FORMS = Object.keys(FORMS) as readonly TraceForm[];

/**
 * Returns the traces in a value: one, or those of several conversations in spans. Beside a trace may stand its `case`,
 * `suite`, `model` and `tools`; or it stands in `trace`, with these around it.
 *
 * @param more Further values of spans, as exporters write several: spans of a trace may stand in any of them.
 * @throws {InputError} If it is of no known form, or not whole.
 */
export function findTraces(
  part: Part,
  wanted?: TraceForm,
  more: readonly Part[] = [],
): FoundTrace[] {
  for (const { value, source } of [part, ...more]) assertShallow(value, source);
  const inner = part.get("trace");
  const own = inner !== undefined && typeof inner.value === "object" ? inner : part;
  const form = wanted === undefined ? formOf(own) : TRACE_FORMS.find((one) => one === wanted);
  if (form === undefined) return own.fail(FORM_RULE, shapeOf(own));
  const read = more.length > 0 ? readSpans([own, ...more]) : FORMS[form].read(own);
  const all = [read].flat();
  const beside = {
    case: (part.get("case") ?? part.get("test"))?.text(),
    suite: form === "journal" ? undefined : part.get("suite")?.text(),
    model: part.textAt("model"),
    simulated: part.get("simulated")?.isTrue() || undefined,
    tools: own === part ? undefined : part.get("tools"),
    // Of several conversations it would be the id of none.
    id: all.length === 1 ? idOf(part, own) : undefined,
  };
  return all.map((conversation) => ({
    ...conversation,
    ...defined(beside),
    form,
    part: more.length > 0 ? conversation.at ?? part : part,
  }));
}

const FORM_RULE = `must be a trace of a known form (${
  TRACE_FORMS.join(", ")
}): messages, input, steps, resourceSpans, or a line of a journal`;

/** The form that a value looks like; `undefined` for none. */
function formOf(part: Part): TraceForm | undefined {
  return TRACE_FORMS.find((form) => FORMS[form].fits(part));
}

/** What a value is that is no trace. */
function shapeOf({ value }: Part): string {
  if (Array.isArray(value)) return `it is a list of ${value.length}`;
  if (!isJsonObject(value)) return `it is of type ${value === null ? "null" : typeof value}`;
  const names = Object.keys(value).slice(0, 5).map((name) => printable(name, 40));
  return names.length === 0 ? "it is an empty object" : `it has ${names.join(", ")}`;
}

/** A trace of a file, ready to be judged. */
export interface FileTrace {
  /** Where it stands, such as `FILE, line 3`. */
  readonly source: string;
  readonly form: TraceForm;
  readonly run: RecordedRun;
  /** The name of its model; empty where it does not say. */
  readonly model: string;
  readonly simulated: boolean;
  readonly case?: string;
  readonly suite?: string;
  /** What distinguishes it from others of its test and model; omitted where it does not say. */
  readonly id?: string;
  readonly notes: readonly string[];
}

/** Bytes of a file of traces, at most: far more than any has, and what memory holds. */
const MAX_BYTES = 2 ** 28;

/**
 * Reads the traces of a file: JSON, JSON lines, or a journal.
 *
 * @throws {InputError} If the file cannot be read, one of them is no whole trace, or one is there twice; names file,
 * line and path.
 */
export function readTraceFile(path: string): FileTrace[] {
  const traces = tracesIn(readText(path, MAX_BYTES), path).map(fileTrace);
  assertOnce(traces);
  return traces;
}

/**
 * Finds the traces in a text of JSON, JSON lines, or a journal.
 *
 * @throws {InputError} If there are none, or one of them is of no known form; names source, line and path.
 */
export function tracesIn(text: string, source: string, form?: TraceForm): FoundTrace[] {
  const whole = parseJson(withoutMark(text));
  const parts = whole === undefined
    ? linesOf(text, source)
    : partsOf(new Part(whole, source), form);
  // Lines that were superseded may be those that share a value.
  const found = withJoinedSpans(lastOfTrials(withSharedParts(parts)), form)
    .flatMap(([part, ...more]) => findTraces(part, form, more));
  if (found.length === 0) throw cannot(`use ${source}`, "it must have traces", "it has none");
  return found;
}

function linesOf(text: string, file: string): Part[] {
  return text.split("\n").flatMap((line, place) => {
    if (line.trim() === "") return [];
    const source = `${file}, line ${place + 1}`;
    const value = parseJson(withoutMark(line));
    if (value === undefined) throw cannot(`use ${source}`, "it must be JSON", "it is not");
    return [new Part(value, source)];
  });
}

/** A value is one trace, or a list of them. */
function partsOf(part: Part, form: TraceForm | undefined): Part[] {
  assertShallow(part.value, part.source);
  if (!Array.isArray(part.value)) return [part];
  const own = form ?? formOf(part);
  const isOne = own !== undefined && (own !== "otel" || !part.items().some(isTold));
  return isOne ? [part] : part.items();
}

/** Whether fields beside a trace, or around it, say of what it is. */
function isTold(part: Part): boolean {
  return part.first("case", "test", "suite", "simulated", "trace") !== undefined;
}

/** The values that are read together: spans that nothing stands beside are one export, whatever the lines they are in. */
function withJoinedSpans(
  parts: readonly Part[],
  form: TraceForm | undefined,
): (readonly [Part, ...Part[]])[] {
  const isExport = (part: Part) => (form ?? formOf(part)) === "otel" && !isTold(part);
  const [first, ...more] = parts.filter(isExport);
  const joined = new Set(more);
  return parts.filter((part) => !joined.has(part)).map((part) =>
    part === first ? [part, ...more] : [part]
  );
}

/** Leaves out what a journal has beside trials, and trials that were run again: of several lines of a trial the last counts. */
function lastOfTrials(parts: readonly Part[]): Part[] {
  const last = new Map(parts.flatMap((part) => {
    const id = part.textAt("kind") === "trial" ? part.textAt("id") : undefined;
    return id === undefined ? [] : [[id, part] as const];
  }));
  return parts.filter((part) => {
    const [kind, id] = [part.textAt("kind"), part.textAt("id")];
    if (kind === "plan" || kind === "resume" || kind === "end") return false;
    return kind !== "trial" || id === undefined || last.get(id) === part;
  });
}

/** Trials with the parts of their transcripts that only the first line has which shares them. */
function withSharedParts(parts: readonly Part[]): Part[] {
  const values = new Map<string, unknown>();
  return parts.map((part) => {
    const transcript = part.textAt("kind") === "trial" ? part.get("transcript") : undefined;
    if (transcript === undefined) return part;
    const whole = SHARED_PARTS.flatMap((name) => {
      const kept = transcript.get(name);
      const id = kept?.textAt("id");
      if (kept === undefined || id === undefined) return [];
      const value = kept.get("value")?.value ?? values.get(id);
      if (value === undefined) return [];
      values.set(id, value);
      return [[name, { id, value }] as const];
    });
    return part.as({
      ...part.value as JsonObject,
      transcript: { ...transcript.value as JsonObject, ...Object.fromEntries(whole) },
    });
  });
}

/** A trace as a trial takes it. */
export function fileTrace(found: FoundTrace): FileTrace {
  const { part, form, model = "", simulated, unfit } = found;
  if (unfit !== undefined) {
    throw new InputError(`Cannot score ${part.source}: ${unfit}`);
  }
  const { run, notes } = assemble(found, part);
  const name = printable(redact(model), 200);
  return {
    ...{ source: part.source, form, run, notes },
    model: name,
    simulated: simulated === true || name.startsWith("sim:"),
    case: found.case,
    suite: found.suite,
    id: found.id,
  };
}

/** A trace, as far as its id goes. */
type KnownTrace = Pick<FileTrace, "source" | "model" | "case" | "suite" | "id">;

/** Names of the id of a conversation, beside it or around it. */
const NAMES = ["id", "trace_id", "traceId", "conversation_id", "conversationId"] as const;

/** The id of a trace: the one beside or around it, else that of its response; `undefined` for none. */
function idOf(part: Part, own: Part): string | undefined {
  const known = [part, own].flatMap((place) => NAMES.map((name) => scalarAt(place, name)))
    .find((id) => id !== undefined);
  const response = own.get("response");
  if (known !== undefined || response === undefined) return known;
  const id = scalarAt(response, "id");
  const time = scalarAt(response, "created") ?? scalarAt(response, "created_at");
  // Some servers draw ids of responses from a few numbers.
  return id === undefined || time === undefined ? id : `${id} at ${time}`;
}

function scalarAt(part: Part, name: string): string | undefined {
  const value = part.get(name)?.value;
  return typeof value === "number" || typeof value === "string" && value !== ""
    ? `${value}`
    : undefined;
}

/**
 * Checks that no conversation stands for two trials: that of one test and model there are no two of one id.
 *
 * @throws {InputError} If there are; names both.
 */
function assertOnce(traces: readonly KnownTrace[]): void {
  const seen = new Map<string, KnownTrace[]>();
  for (const trace of traces) {
    if (trace.id === undefined) continue;
    const known = getOrInsertComputed(seen, canonicalJson([trace.id, trace.model]), () => []);
    const before = known.find((one) => mayBeOfOneTest(one, trace));
    known.push(trace);
    if (before === undefined) continue;
    throw cannot(
      `score ${trace.source}`,
      "each trace is a trial of its own, and needs an id of its own or none",
      `it has the id ${JSON.stringify(printable(redact(trace.id), 100))} of ${before.source}`,
    );
  }
}

/** Whether two traces may be of the same test: only names of different tests distinguish them. */
function mayBeOfOneTest(one: KnownTrace, other: KnownTrace): boolean {
  if (one.case === undefined || other.case === undefined) return true;
  return one.case === other.case &&
    (one.suite === undefined || other.suite === undefined || one.suite === other.suite);
}
