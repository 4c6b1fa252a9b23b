/**
 * Answers the questions of chains that were drawn in this process: it follows their calls, by what the results before show.
 * @module
 */

import { sample, shuffle } from "@std/random";
import {
  canonicalJson,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseJson,
} from "../base/json.ts";
import { fork, hash64 } from "../base/random.ts";
import type { ChainTask } from "../chains/chains.ts";
import { documentOf } from "../tasks/questions/question_set.ts";
import { errorOfResult } from "../tools/references/symbol_table.ts";
import {
  drawMistakes,
  type KnownQuestion,
  type MistakeDraws,
  spoilCalls,
} from "./_truth_mistakes.ts";
import { type ChatMessage, contentText, type OutgoingCall } from "./_wire.ts";

/** After so many errors it gives up. */
const MAX_ERRORS = 3;

/** Returns a chain as a question of a set, of which it has the same mistakes. */
export function questionOf({ question: content, calls, tools }: ChainTask): KnownQuestion {
  return {
    question: {
      id: hash64(content).toString(36),
      domain: "chain",
      messages: [{ role: "user", content }],
      truth: {
        API: calls.map(({ tool }) => tool),
        parameters: calls.map((call) => call.arguments),
      },
      difficulty: "hard",
    },
    functions: tools.map((tool) => ({ name: tool.name, tool, document: documentOf(tool) })),
  };
}

/** A call as the model makes it at first, with the place of the right one in the chain. */
interface MeantCall {
  readonly right: number;
  readonly tool: string;
  readonly arguments: JsonObject;
}

/** Makes the next call of a chain, or answers with the value that the last one shows. */
export function followChain(
  task: ChainTask,
  messages: readonly ChatMessage[],
  draws: MistakeDraws,
): { readonly text: string; readonly calls: readonly OutgoingCall[] } {
  const meant = meantCalls(task, draws);
  const results = new Map<number, JsonValue>();
  let [next, errors, isMended] = [0, 0, false];
  for (const message of messages) {
    if (message.role !== "tool" || next === meant.length) continue;
    const text = contentText(message.content);
    isMended = errorOfResult(text) !== undefined;
    if (isMended) errors++;
    else results.set(meant[next++]!.right, parseJson(text) ?? text);
  }
  const seen = (value: JsonValue) => seenFor(task, value, results);
  const call = meant[next];
  if (call === undefined) {
    const answer = seen(task.answer);
    return { text: answer === undefined ? GIVES_UP : String(answer), calls: [] };
  }
  const right = task.calls[call.right]!;
  const { tool: name, arguments: given } = isMended ? right : call;
  const values = Object.entries(given).map(([key, value]) =>
    [key, isSame(right.arguments[key] ?? null, value) ? seen(value) : value] as const
  );
  const isKnown = values.every(([, value]) => value !== undefined);
  // What a call that it left out would have shown is made up, once.
  const isLost = !isKnown && (errors > 0 || call.right === next);
  if (errors >= MAX_ERRORS || isLost) return { text: GIVES_UP, calls: [] };
  const args = new Map(values.map(([key, value]) => [key, value ?? madeUp(given[key]!)]));
  return { text: `I call ${name}.`, calls: [{ name, arguments: args }] };
}

const GIVES_UP = "I do not know.";

/** The calls with their mistakes. A wrong value is another id in one call, which leads to another answer. */
function meantCalls(task: ChainTask, draws: MistakeDraws): readonly MeantCall[] {
  const known = questionOf(task);
  const mistakes = drawMistakes(known, "tools", draws);
  const { API, parameters } = spoilCalls(
    known,
    mistakes.filter((mistake) => mistake !== "value"),
    draws,
  );
  const lost = API.length < task.calls.length
    ? task.calls.findIndex(({ tool }, place) => tool !== API[place])
    : Infinity;
  const calls = API.map((tool, place): MeantCall => (
    { right: place < lost ? place : place + 1, tool, arguments: parameters[place] as JsonObject }
  ));
  if (!mistakes.includes("value")) return calls;
  const { seed, repetition } = draws;
  const stream = fork(seed, repetition, known.question.id, "other id");
  const records = [...task.given, ...task.steps.map(({ shows }) => shows)];
  const others = calls.flatMap((call, place) =>
    Object.entries(call.arguments).flatMap(([key, value]) => {
      const record = records.find(({ id }) => isSame(id, value));
      const ids = record === undefined ? [] : shuffle(task.world.ids(record.type), stream);
      const id = ids.find((one) =>
        !isSame(one, value) && leadsElsewhere(task, call.right, key, one)
      );
      return id === undefined
        ? []
        : [{ place, call: { ...call, arguments: { ...call.arguments, [key]: id } } }];
    })
  );
  const other = sample(others, stream);
  return other === undefined ? calls : calls.with(other.place, other.call);
}

/** Whether another id in a call leads to another answer, or to none. */
function leadsElsewhere(task: ChainTask, place: number, key: string, id: JsonValue): boolean {
  const results = new Map<number, JsonValue>();
  for (const [index, { tool, arguments: right }] of task.calls.entries()) {
    const given = Object.entries(right).map(([name, value]) =>
      [name, index === place && name === key ? id : seenFor(task, value, results)] as const
    );
    if (given.some(([, value]) => value === undefined)) return true;
    const value = resultOf(task, tool, Object.fromEntries(given) as JsonObject);
    if (value === undefined) return true;
    results.set(index, value);
  }
  return !isSame(seenFor(task, task.answer, results) ?? null, task.answer);
}

/**
 * What stands where the right results show a value: the value itself where they do not, as then the question gives it;
 * `undefined` where the results that there are show none.
 */
function seenFor(
  task: ChainTask,
  value: JsonValue,
  results: ReadonlyMap<number, JsonValue>,
): JsonValue | undefined {
  const { calls, given, scopes } = task;
  const stated = [...given.map(({ id }) => id), ...Object.values(scopes)];
  if (stated.some((one) => isSame(one, value))) return value;
  for (const [place, { tool, arguments: input }] of calls.entries()) {
    const right = Object.values(input).some((one) => isSame(one, value))
      ? undefined
      : resultOf(task, tool, input);
    const way = right === undefined ? undefined : wayTo(right, value);
    if (way === undefined) continue;
    const result = results.get(place);
    if (result === undefined) return undefined;
    // Where names of fields or the format were changed, the value itself still stands there.
    const isHeld = typeof result === "string"
      ? result.includes(String(value))
      : wayTo(result, value) !== undefined;
    return valueAt(result, way) ?? (isHeld ? value : undefined);
  }
  return value;
}

function resultOf({ world }: ChainTask, tool: string, input: JsonObject): JsonValue | undefined {
  const result = world.call(tool, input);
  return "value" in result ? result.value : undefined;
}

/** The way to the first place where a value stands in another one. */
function wayTo(value: JsonValue, wanted: JsonValue): readonly string[] | undefined {
  if (isSame(value, wanted)) return [];
  if (typeof value !== "object" || value === null) return undefined;
  for (const [key, inner] of Object.entries(value)) {
    const way = wayTo(inner, wanted);
    if (way !== undefined) return [key, ...way];
  }
  return undefined;
}

function valueAt(value: JsonValue, way: readonly string[]): JsonValue | undefined {
  let inner: JsonValue | undefined = value;
  for (const key of way) {
    if (typeof inner !== "object" || inner === null || !Object.hasOwn(inner, key)) return undefined;
    inner = Reflect.get(inner, key);
  }
  return inner;
}

function isSame(one: JsonValue, other: JsonValue): boolean {
  return one === other || canonicalJson(one) === canonicalJson(other);
}

/** A value like another one that no record has. */
function madeUp(value: JsonValue): JsonValue {
  return typeof value === "number" ? value + 1_000_003 : isJsonObject(value) ? {} : `${value}0`;
}
