/**
 * Traces of agents that ran elsewhere, for all that judges a run here: assertions, per turn too, and failures. No model
 * is asked, and no tool is run.
 * @module
 */

import { cannot, InputError } from "../base/errors.ts";
import { isJsonObject } from "../base/json.ts";
import type { Failure } from "../calls/failure_types.ts";
import { type AgentRecord, callsByKind } from "../calls/record.ts";
import { failuresOf, type TraceEvent } from "../calls/trace.ts";
import { parseToolDocuments } from "../tools/documents.ts";
import type { Message } from "../tools/message.ts";
import type { Tool, ToolSchema } from "../tools/tool.ts";
import { caseOpener } from "../trials/executors/case.ts";
import {
  type ToolCase,
  type ToolTestRun,
  type ToolTestTurn,
  turnsOf,
} from "../trials/executors/tool_case.ts";
import type { RecordedRun } from "../trials/recorded_run.ts";
import { runTrial } from "../trials/run_trial.ts";
import type { Trial } from "../trials/trial.ts";
import { assemble } from "./traces/_conversation.ts";
import { messagesOf, readTrial } from "./traces/_journal.ts";
import { Part } from "./traces/_part.ts";
import { findTraces, type FoundTrace, type TraceForm, tracesIn } from "./traces/read.ts";

export type { TraceForm } from "./traces/read.ts";

/** Options of {@linkcode readTrace}. */
export interface ReadTraceOptions {
  /**
   * The tools that the model had, by which its calls are checked: tools, or documents of them in toolgate's format or in
   * OpenAI's. Default: those in the trace; where it has none, calls are not checked but for being JSON objects.
   */
  readonly tools?: readonly (Tool | object)[];
  /** The form of the trace; default: the one that it looks like. */
  readonly form?: TraceForm;
  /** What errors call the trace, such as the name of its file; default `the trace`. */
  readonly source?: string;
}

/** What a recorded agent did: assertions take it, and each of its turns, as they take the run of a tool test. */
export interface RecordedTrace extends AgentRecord {
  /** The form that it was read in. */
  readonly form: TraceForm;
  /** The name of the model; empty where the trace does not say. */
  readonly model: string;
  /** Whether that is known to be a program. */
  readonly simulated: boolean;
  /** The test that it is of; omitted where the trace does not say. */
  readonly case?: string;
  /** The system message; omitted without one. */
  readonly system?: string;
  /** Whether tools are known, so that names and arguments of calls were checked by them. */
  readonly checked: boolean;
  /** All messages. */
  readonly messages: readonly Message[];
  /** What each message of the user led to. */
  readonly turns: readonly ToolTestTurn[];
  /** The texts of the model, one for each reply that has any. */
  readonly texts: readonly string[];
  /** Everything that happened, in order. */
  readonly events: readonly TraceEvent[];
  /** What is wrong with its calls. */
  readonly failures: readonly Failure[];
  /** Sentences on what is not as it was, such as calls without a result; empty without any. */
  readonly notes: readonly string[];
}

/**
 * Reads a recorded conversation: the messages of chat completions or the items of responses (lists, bodies of requests, or
 * `{ request, response }`), the steps and messages of the AI SDK, messages of LangChain, spans of OpenTelemetry by its
 * conventions for generative AI, or a trial of a journal.
 *
 * Its calls are checked and classified by the code that judges live ones. A result belongs to the call at its place in the
 * reply; ids, which repeat in practice, decide only where each stands for one call. A call without a result was not carried
 * out: no assertion takes it for made. Tokens and times that the trace does not tell are 0. A trial of a journal is taken as
 * it was recorded.
 *
 * @throws {InputError} If it is of no known form or another version, is not whole, such as a result without its call, holds
 * several conversations, or a tool cannot be used; the message names its source and the path in it.
 *
 * @example Usage
 * ```ts
 * import { assertAnswer, assertCalled } from "@toolgate/toolgate";
 * import { readTrace } from "@toolgate/toolgate/integrations/traces";
 *
 * const weather = {
 *   name: "weather",
 *   description: "Returns the weather of a city",
 *   parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
 * };
 * const run = await readTrace([
 *   { role: "user", content: "How warm is it in Rome?" },
 *   {
 *     role: "assistant",
 *     tool_calls: [
 *       { id: "1", type: "function", function: { name: "weather", arguments: '{"city":"Rome"}' } },
 *     ],
 *   },
 *   { role: "tool", tool_call_id: "1", content: '{"degrees":21}' },
 *   { role: "assistant", content: "It is 21 degrees." },
 * ], { tools: [weather] });
 *
 * assertCalled(run, { tool: "weather", arguments: { city: "Rome" } });
 * assertAnswer(run, /21/);
 * ```
 */
export async function readTrace(
  trace: unknown,
  options: ReadTraceOptions = {},
): Promise<RecordedTrace> {
  const part = new Part(trace, options.source ?? "the trace");
  const found = findTraces(part, options.form);
  if (found.length > 1) {
    part.fail("must be one conversation: readTraces() reads several", `there are ${found.length}`);
  }
  return await recordedTrace(found[0]!, options);
}

/**
 * Reads all traces in a text: JSON, of one trace or a list of them, JSON lines, or a journal.
 *
 * @throws {InputError} As {@linkcode readTrace} does, with the number of the line; or if there are none.
 *
 * @example Usage
 * ```ts
 * import { readTraces } from "@toolgate/toolgate/integrations/traces";
 * import { assertEquals } from "@std/assert";
 *
 * const line = JSON.stringify({
 *   case: "greets",
 *   model: "gpt-5",
 *   messages: [{ role: "user", content: "Hi" }, { role: "assistant", content: "Hello!" }],
 * });
 * const runs = await readTraces(`${line}\n${line}\n`);
 * assertEquals(runs.map(({ model, answer }) => [model, answer]), [
 *   ["gpt-5", "Hello!"],
 *   ["gpt-5", "Hello!"],
 * ]);
 * ```
 */
export async function readTraces(
  text: string,
  options: ReadTraceOptions = {},
): Promise<RecordedTrace[]> {
  const found = tracesIn(text, options.source ?? "the text", options.form);
  return await Array.fromAsync(found, (one) => recordedTrace(one, options));
}

async function recordedTrace(
  found: FoundTrace,
  options: ReadTraceOptions,
): Promise<RecordedTrace> {
  const { form, model = "", simulated, part } = found;
  const isSimulated = simulated === true || model.startsWith("sim:");
  const known = toolsOf(found, options);
  const about = {
    ...{ form, model, simulated: isSimulated, checked: known !== undefined },
    case: found.case,
  };
  if (form === "journal") return { ...about, ...takenTrial(found, known ?? []) };
  const { run, notes } = assemble(found, part);
  const tools = known ?? namedTools(run);
  const { broken, ...said } = run;
  const hasReply = run.turns.some(({ replies }) => replies.length > 0);
  let judged: ToolTestRun | undefined;
  const toolCase: ToolCase = {
    ...{
      name: "trace",
      prompt: "trace",
      tools: tools.map((tool) => "execute" in tool ? tool : { ...tool, execute: unasked }),
    },
    assert: (one) => void (judged = one),
  };
  const trial = await runTrial(
    { case: "trace", seed: 0 },
    { name: model, simulated: isSimulated, reply: unasked },
    {
      open: caseOpener(() => toolCase),
      recorded: { ...said, partial: true, ...(hasReply ? {} : { broken }) },
      limits: { calls: MAX_CALLS },
    },
  );
  if (judged === undefined) {
    throw new InputError(`Cannot use ${part.source}: ${trial.reason ?? trial.outcome}`);
  }
  const { calls, heldCalls, ownCalls, replies, usage, durationMs, messages, texts, events } =
    judged;
  // What was cut off is no answer.
  const answered = run.turns.map((turn) => {
    const last = turn.replies.at(-1);
    return last?.calls.length === 0 && last.finish === undefined;
  });
  const turns = judged.turns.map((turn, place) => answered[place] ? turn : { ...turn, answer: "" });
  return {
    ...about,
    ...{ calls, heldCalls, ownCalls, replies, usage, durationMs, messages, turns, texts, events },
    ...{ notes, tools: judged.tools, answer: answered.at(-1) ? judged.answer : null },
    failures: failuresOf(events),
    system: run.system,
  };
}

/** More calls than any trace has. */
const MAX_CALLS = 1_000_000_000;

/** Nothing of a recorded run is asked or carried out. */
const unasked = () => Promise.reject(new Error("A recorded run asks no model"));

/** The tools by which calls are checked; `undefined` where none are known. */
function toolsOf(
  { tools: own, form, part }: FoundTrace,
  { tools: given }: ReadTraceOptions,
): readonly (Tool | ToolSchema)[] | undefined {
  if (given !== undefined) {
    if (!Array.isArray(given)) {
      throw cannot(`use ${part.source}`, "tools must be a list of tools or documents");
    }
    return given.flatMap((one: object) =>
      typeof Reflect.get(one, "execute") === "function"
        ? [one as Tool]
        : parseToolDocuments([one], `the tools for ${part.source}`)
    );
  }
  if (own === undefined) return undefined;
  // A provider's own tools have no schema, and journals leave out one that is too large.
  const documents = own.items().flatMap((part) =>
    part.textAt("type") === "namespace" ? part.need("tools").items() : [part]
  ).map(documentOf).filter((value) =>
    !isJsonObject(value) || value["type"] === undefined || value["type"] === "function"
  ).map((value) => form === "journal" ? { parameters: {}, ...value as object } : value);
  return parseToolDocuments(documents, `${own.source}, ${own.path || "tools"}`);
}

/** The document of a tool; of a custom one, which takes a text of a form of its own, no argument is checked. */
function documentOf(part: Part): unknown {
  if (part.textAt("type") !== "custom") return part.value;
  const { name, description = "" } = (part.get("custom") ?? part).value as Record<string, unknown>;
  return { name, description, parameters: {} };
}

/** The tools that a run calls, of which nothing else is known. */
function namedTools({ turns }: RecordedRun): ToolSchema[] {
  const names = turns.flatMap(({ replies }) => replies.flatMap(({ calls }) => calls))
    .map(({ name }) => name);
  // A call without a name is of no tool.
  return [...new Set(names)].filter((name) => name.trim() !== "").map((name) => ({
    name,
    description: "",
    parameters: {},
  }));
}

/** What a trial's line says, which was judged when it was recorded. */
function takenTrial(
  { part, items, notes = [] }: FoundTrace,
  tools: readonly ToolSchema[],
): Omit<RecordedTrace, "form" | "model" | "simulated" | "checked" | "case"> {
  const { trial } = readTrial(part);
  const { events, usage, durationMs, failures, transcript } = trial;
  const messages = messagesOf(items);
  const answer = events.find((event) => event.kind === "answer")?.text ?? null;
  const whole = {
    ...{ prompt: transcript?.prompt.value ?? "", answer: answer ?? "", messages },
    ...{ tools, durationMs, turnsMs: undefined },
  };
  const turns = turnsOf({ events, uncut: new Map() }, whole);
  return {
    ...{ ...callsByKind(events), tools, answer, usage, durationMs, messages, turns },
    replies: repliesOf(trial),
    texts: turns.flatMap(({ texts }) => texts),
    ...{ events, failures, notes },
    system: transcript?.system?.value,
  };
}

function repliesOf({ events }: Trial): number {
  return events.filter(({ kind }) => kind === "reply").length;
}
