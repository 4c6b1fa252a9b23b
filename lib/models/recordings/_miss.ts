/**
 * Replay misses: the error for a request that is not recorded, with the most similar recording and the first
 * difference from it.
 * @module
 */

import { InputError } from "../../base/errors.ts";
import { isJsonObject, jsonText, type JsonValue, printable } from "../../base/json.ts";
import type { RecordedRequest, RecordedToolResult, Recording } from "./_file.ts";
import type { HashedRequest } from "./_request.ts";
import { redactRecord } from "../../base/redact.ts";
import { MARK } from "../../base/secrets.ts";

/** A recording of another trial. */
export interface Nearest {
  /** Path of its file. */
  readonly path: string;
  /** The trial's id. */
  readonly trial: string;
}

/** A request that was not found in a recording. */
export interface Miss {
  /** The trial's id. */
  readonly trial: string;
  /** The folder of all recordings, and the path of this trial's recording, which may not exist. */
  readonly folder: string;
  readonly path: string;
  /** Its recording; `undefined` if it has none. */
  readonly file: Recording | undefined;
  /** The request. */
  readonly hashed: HashedRequest;
  readonly request: number;
  readonly stage?: string;
  /** Time limit of the trial, in seconds; `undefined` if there is none. */
  readonly seconds: number | undefined;
  /** The request recorded in its place; `undefined` if there is none. */
  readonly found: RecordedRequest | undefined;
  /** The most similar recording of another trial; `undefined` if there is none. */
  readonly nearest: Nearest | undefined;
}

/** Creates the error of a replay that cannot go on: it names the nearest recording, and how to record again. */
export function missError(miss: Miss): InputError {
  const { trial, folder, path, file, stage, request } = miss;
  const place = stage === "assertion"
    ? "request of an assertion to its judge"
    : `request ${request}${stage === undefined ? "" : ` of stage ${printable(stage, 100)}`}`;
  const [head, detail] = file === undefined
    ? [`there is no recording of it (${place})`, nearestText(miss)]
    : [
      miss.found === undefined ? `it has no ${place}` : `it has another ${place}`,
      `recording: ${path}: ${differences(miss, file).join("; ")}`,
    ];
  return unusable({ trial, folder }, "request", head!, detail!);
}

function unusable(
  { trial, folder }: Pick<Miss, "trial" | "folder">,
  every: string,
  head: string,
  detail: string,
): InputError {
  return new InputError(
    [
      `Cannot replay a trial as its recording must have every ${every}: ${head}: ${
        redactRecord(trial)
      }`,
      `  ${detail}`,
      `  To record it again, use --record=${folder}, or --auto=${folder} to record only what is missing`,
    ].join("\n"),
  );
}

function nearestText({ nearest, trial, folder }: Miss): string {
  if (nearest === undefined) return `${folder} has no recording at all`;
  const words = differingWords(nearest.trial, redactRecord(trial));
  const what = words.length === 0
    ? "of a trial with the same id"
    : `of ${words.slice(0, MAX_WORDS).join(", ")}${words.length > MAX_WORDS ? " and more" : ""}`;
  return `nearest: ${nearest.path}, ${what}`;
}

/** Words of an id in a message, at most. */
const MAX_WORDS = 4;

function differingWords(known: string, wanted: string): string[] {
  const [one, other] = [idWords(known), idWords(wanted)];
  return [...new Set([...one.keys(), ...other.keys()])]
    .filter((name) => one.get(name) !== other.get(name))
    .map((name) =>
      `${printable(name, 40)} ${printable(one.get(name) ?? "none", 100)} in place of ${
        printable(other.get(name) ?? "none", 100)
      }`
    );
}

/** Returns the words of a trial's id, by name. */
export function idWords(trial: string): Map<string, string> {
  return new Map(
    trial.split(" ").map((word) => {
      const sign = word.indexOf("=");
      return [word.slice(0, Math.max(0, sign)), word.slice(sign + 1)];
    }),
  );
}

/** Returns the recording whose trial id differs from `trial` in the fewest words; the first of those. */
export function nearestTo(trial: string, known: Iterable<Nearest>): Nearest | undefined {
  const wanted = idWords(redactRecord(trial));
  let nearest: Nearest | undefined;
  let least = Infinity;
  for (const one of known) {
    const words = idWords(one.trial);
    const names = new Set([...words.keys(), ...wanted.keys()]);
    const differing = [...names].filter((name) => words.get(name) !== wanted.get(name)).length;
    if (differing < least) [nearest, least] = [one, differing];
  }
  return nearest;
}

/** Says how the recording differs from the request. */
function differences(
  { hashed, found, stage, request, seconds }: Miss,
  file: Recording,
): string[] {
  const same = file.requests.filter((one) => one.stage === stage);
  const other = found ?? (stage === "assertion" ? same[0] : undefined);
  if (other === undefined) {
    const last = same.at(-1);
    if (last === undefined) return ["it has no such request at all"];
    return [
      last.request < request
        ? `it ends with request ${last.request}, and this run makes more`
        : "the recording has it fewer times",
    ];
  }
  if (other.hash === hashed.hash) {
    return [
      other.error === undefined
        ? "the recording has this request fewer times"
        : `the model ran out of ${file.seconds} seconds there, and has ${
          seconds ?? "no limit of"
        } now`,
    ];
  }
  const recordedRequest = {
    model: file.models[other.model - 1]!,
    tools: other.tools === undefined ? [] : file.tools[other.tools - 1]!,
    toolChoice: other.toolChoice,
    messages: other.messages.flatMap(([from, to]) => file.messages.slice(from - 1, to)),
  } as unknown as JsonValue;
  const currentRequest = {
    model: hashed.model.value,
    tools: hashed.tools.value,
    toolChoice: hashed.toolChoice,
    messages: hashed.messages.map(({ value }) => value),
  } as unknown as JsonValue;
  // A secret that the recording replaced may still be the same.
  const difference = firstDifference(recordedRequest, currentRequest, areSameApartFromSecrets) ??
    firstDifference(recordedRequest, currentRequest, Object.is);
  if (difference === undefined) {
    return [
      stage === "user"
        ? "the model under test is asked something else"
        : "its hash does not match its request: the file was changed",
    ];
  }
  const { recorded, requested } = difference;
  const wasSecret = recorded.includes(MARK) && !requested.includes(MARK);
  return [
    differenceText(difference),
    ...(wasSecret ? [`${MARK} replaces a secret in the recording`] : []),
    ...(file.requests.some(({ redacted }) => redacted)
      ? [`a reply has ${MARK} in place of what looks like a secret, and tools are called with that`]
      : []),
  ];
}

/** A place where two values differ. */
interface MissDifference {
  readonly path: string;
  readonly recorded: string;
  readonly requested: string;
}

function differenceText({ path, recorded, requested }: MissDifference): string {
  return `first difference at ${printable(path, 300)}: recorded ${recorded}, asked ${requested}`;
}

/** Returns whether two values are the same apart from secrets replaced in the recorded one. */
function areSameApartFromSecrets(
  recorded: JsonValue | undefined,
  requested: JsonValue | undefined,
): boolean {
  if (typeof recorded !== "string" || typeof requested !== "string") return recorded === requested;
  const [head, ...others] = recorded.split(MARK);
  const last = others.pop();
  if (last === undefined) return recorded === requested;
  if (!requested.startsWith(head!) || !requested.endsWith(last)) return false;
  let at = head!.length;
  for (const part of others) {
    const found = requested.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return at + last.length <= requested.length;
}

/** Returns the first place where two values differ, in the order of their keys. */
function firstDifference(
  recorded: JsonValue | undefined,
  requested: JsonValue | undefined,
  areSame: typeof areSameApartFromSecrets,
  path = "",
): MissDifference | undefined {
  const areLists = Array.isArray(recorded) && Array.isArray(requested);
  if (areLists || (isJsonObject(recorded) && isJsonObject(requested))) {
    const before = new Map(Object.entries<JsonValue>(recorded));
    const now = new Map(Object.entries<JsonValue>(requested));
    for (const name of new Set([...before.keys(), ...now.keys()])) {
      const way = areLists
        ? `${path}[${name}]`
        : path === ""
        ? name
        : /^[\w$-]+$/.test(name)
        ? `${path}.${name}`
        : `${path}[${JSON.stringify(name)}]`;
      const inner = firstDifference(before.get(name), now.get(name), areSame, way);
      if (inner !== undefined) return inner;
    }
    return undefined;
  }
  if (areSame(recorded, requested)) return undefined;
  const [one, other] = [textOf(recorded), textOf(requested)];
  let same = 0;
  while (same < one.length && one[same] === other[same]) same++;
  return { path, recorded: excerpt(one, same), requested: excerpt(other, same) };
}

function textOf(value: JsonValue | undefined): string {
  return value === undefined ? "nothing" : jsonText(value);
}

/** Characters shown before a difference, and after it. */
const BEFORE = 30;
const BEHIND = 90;

function excerpt(text: string, at: number): string {
  const from = Math.max(0, at - BEFORE);
  const cut = text.slice(from, at + BEHIND);
  return `${from === 0 ? "" : "…"}${printable(cut, 400)}${at + BEHIND < text.length ? "…" : ""}`;
}

/**
 * Creates the error of a replay that lacks the result of a call.
 *
 * @param call The call, without secrets.
 * @param known The results of the recording.
 */
export function resultMissError(
  trial: Pick<Miss, "trial" | "folder" | "path">,
  call: Pick<RecordedToolResult, "tool" | "arguments">,
  known: readonly RecordedToolResult[],
): InputError {
  const [nearest] = known.filter(({ tool }) => tool === call.tool);
  const difference = nearest && firstDifference(nearest.arguments, call.arguments, Object.is);
  const detail = difference === undefined
    ? "it has no further result of this tool"
    : differenceText(difference);
  const head = `it has no such call of ${printable(call.tool, 80)}`;
  return unusable(trial, "call of a recorded tool", head, `recording: ${trial.path}: ${detail}`);
}
