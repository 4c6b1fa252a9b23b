/**
 * Misses of replays: what was asked and not recorded, the recording that is most like it, and where both
 * first differ.
 * @module
 */

import { InputError } from "../../base/errors.ts";
import { isJsonObject, type JsonValue, printable } from "../../base/json.ts";
import { messagesOf, type RecordedRequest, type Recording } from "./file.ts";
import type { ReadRequest } from "./request.ts";
import { redactRecord } from "../../base/redact.ts";
import { MARK } from "../../base/secrets.ts";

/** A recording of another trial. */
export interface Nearest {
  /** Where it is. */
  readonly path: string;
  /** The trial's id. */
  readonly trial: string;
}

/** What was asked and not found. */
export interface Missed {
  /** The trial's id. */
  readonly trial: string;
  /** The folder of all recordings, and where that of this trial is or would be. */
  readonly folder: string;
  readonly path: string;
  /** Its recording; `undefined` if it has none. */
  readonly file: Recording | undefined;
  /** What was asked. */
  readonly read: ReadRequest;
  readonly request: number;
  readonly stage?: string;
  /** How many seconds the trial has; `undefined` if it has no limit. */
  readonly seconds: number | undefined;
  /** What is recorded in the place of the request; `undefined` if nothing is. */
  readonly found: RecordedRequest | undefined;
  /** The recording of another trial that is most like it; `undefined` if there is none. */
  readonly nearest: Nearest | undefined;
}

/** The error of a replay that cannot go on: it tells what is nearest, and how to mend it. */
export function missOf(missed: Missed): InputError {
  const { trial, folder, path, file, stage, request } = missed;
  const place = stage === "assertion"
    ? "what an assertion asks its judge"
    : `request ${request}${stage === undefined ? "" : ` of stage ${printable(stage, 100)}`}`;
  const [head, lines] = file === undefined
    ? [`there is no recording of it (${place})`, unrecorded(missed)]
    : [
      missed.found === undefined ? `it has no ${place}` : `it has another ${place}`,
      [`recording: ${path}`, ...differing(missed, file)],
    ];
  return new InputError(
    [
      `Cannot replay a trial as its recording must have all that is asked: ${head}`,
      ...[`trial: ${redactRecord(trial)}`, ...lines].map((line) => `  ${line}`),
      `  To record it anew, ask the model: --record=${folder}, or --auto=${folder} for what is not recorded`,
    ].join("\n"),
  );
}

function unrecorded({ path, nearest, trial, folder }: Missed): string[] {
  const place = `its recording would be: ${path}`;
  if (nearest === undefined) return [place, `${folder} has no recording at all`];
  const words = differingWords(nearest.trial, redactRecord(trial));
  const what = words.length === 0
    ? "of a trial that is called the same"
    : `of ${words.slice(0, MOST_WORDS).join(", ")}${words.length > MOST_WORDS ? " and more" : ""}`;
  return [place, `nearest: ${nearest.path}, ${what}`];
}

/** So many words of an id are told. */
const MOST_WORDS = 4;

function differingWords(known: string, wanted: string): string[] {
  const [one, other] = [wordsOf(known), wordsOf(wanted)];
  return [...new Set([...one.keys(), ...other.keys()])]
    .filter((name) => one.get(name) !== other.get(name))
    .map((name) =>
      `${printable(name, 40)} ${printable(one.get(name) ?? "none", 100)} in place of ${
        printable(other.get(name) ?? "none", 100)
      }`
    );
}

/** The words of a trial's id, by name. */
function wordsOf(trial: string): Map<string, string> {
  return new Map(
    trial.split(" ").map((word) => {
      const sign = word.indexOf("=");
      return [word.slice(0, Math.max(0, sign)), word.slice(sign + 1)];
    }),
  );
}

/**
 * Of trials by their ids the one that differs from `trial` in the fewest words; the first of those.
 */
export function nearestTo(trial: string, known: Iterable<Nearest>): Nearest | undefined {
  const wanted = wordsOf(redactRecord(trial));
  let nearest: Nearest | undefined;
  let least = Infinity;
  for (const one of known) {
    const words = wordsOf(one.trial);
    const names = new Set([...words.keys(), ...wanted.keys()]);
    const differing = [...names].filter((name) => words.get(name) !== wanted.get(name)).length;
    if (differing < least) [nearest, least] = [one, differing];
  }
  return nearest;
}

/** How what is recorded differs from what was asked. */
function differing({ read, found, stage, request, seconds }: Missed, file: Recording): string[] {
  const same = file.requests.filter((one) => one.stage === stage);
  const other = found ?? (stage === "assertion" ? same[0] : undefined);
  if (other === undefined) {
    const last = same.at(-1);
    if (last === undefined) return ["nothing of the kind was asked in it"];
    return [
      last.request < request
        ? `it ends with request ${last.request}: more is asked now`
        : "it was asked less often there",
    ];
  }
  if (other.hash === read.hash) {
    return [
      other.error === undefined
        ? "the same was asked less often there"
        : `the model ran out of ${file.seconds} seconds there, and has ${
          seconds ?? "no limit of"
        } now`,
    ];
  }
  const recordedRequest = {
    model: file.models[other.model - 1]!,
    tools: other.tools === undefined ? [] : file.tools[other.tools - 1]!,
    toolChoice: other.toolChoice,
    messages: messagesOf(file, other),
  } as unknown as JsonValue;
  const askedRequest = {
    model: read.asked.value,
    tools: read.tools.value,
    toolChoice: read.toolChoice,
    messages: read.messages.map(({ value }) => value),
  } as unknown as JsonValue;
  // What was a secret may be the same still.
  const difference =
    firstDifference(recordedRequest, askedRequest, { areSame: areSameButSecrets }) ??
      firstDifference(recordedRequest, askedRequest);
  if (difference === undefined) {
    return ["its hash is of another request than it shows: the file was changed"];
  }
  const { path, recorded, asked } = difference;
  const wasSecret = recorded.includes(MARK) && !asked.includes(MARK);
  return [
    `first difference: ${printable(path, 300)}`,
    `  recorded: ${recorded}`,
    `  asked:    ${asked}`,
    ...(wasSecret ? [`${MARK} stands for what was a secret when it was recorded`] : []),
    ...(file.requests.some(({ redacted }) => redacted)
      ? [`a reply has ${MARK} in place of what looks like a secret, and tools are called with that`]
      : []),
  ];
}

/** Where two values differ. */
interface Difference {
  readonly path: string;
  readonly recorded: string;
  readonly asked: string;
}

/** Whether two values that are no lists or objects are the same. */
type Comparison = (recorded: JsonValue | undefined, asked: JsonValue | undefined) => boolean;

/** Whether they are the same but for what was taken out of the recorded one. */
const areSameButSecrets: Comparison = (recorded, asked) => {
  if (typeof recorded !== "string" || typeof asked !== "string") return recorded === asked;
  const [head, ...others] = recorded.split(MARK);
  const last = others.pop();
  if (last === undefined) return recorded === asked;
  if (!asked.startsWith(head!) || !asked.endsWith(last)) return false;
  let at = head!.length;
  for (const part of others) {
    const found = asked.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return at + last.length <= asked.length;
};

/** The first place in which two values differ, in the order of their keys. */
function firstDifference(
  recorded: JsonValue | undefined,
  asked: JsonValue | undefined,
  { path = "", areSame = Object.is }: { readonly path?: string; readonly areSame?: Comparison } =
    {},
): Difference | undefined {
  if (Array.isArray(recorded) && Array.isArray(asked)) {
    for (let index = 0; index < Math.max(recorded.length, asked.length); index++) {
      const inner = firstDifference(recorded[index], asked[index], {
        ...{ path: `${path}[${index}]`, areSame },
      });
      if (inner !== undefined) return inner;
    }
    return undefined;
  }
  if (isJsonObject(recorded) && isJsonObject(asked)) {
    const part = (of: typeof asked, name: string) => Object.hasOwn(of, name) ? of[name] : undefined;
    for (const name of new Set([...Object.keys(recorded), ...Object.keys(asked)])) {
      const way = path === ""
        ? name
        : /^[\w$-]+$/.test(name)
        ? `${path}.${name}`
        : `${path}[${JSON.stringify(name)}]`;
      const inner = firstDifference(part(recorded, name), part(asked, name), {
        ...{ path: way, areSame },
      });
      if (inner !== undefined) return inner;
    }
    return undefined;
  }
  if (areSame(recorded, asked)) return undefined;
  const [one, other] = [shown(recorded), shown(asked)];
  let same = 0;
  while (same < one.length && one[same] === other[same]) same++;
  return { path, recorded: excerpt(one, same), asked: excerpt(other, same) };
}

function shown(value: JsonValue | undefined): string {
  return value === undefined ? "nothing" : JSON.stringify(value);
}

/** So many characters stand before the difference, and so many behind it. */
const BEFORE = 30;
const BEHIND = 90;

function excerpt(text: string, at: number): string {
  const from = Math.max(0, at - BEFORE);
  const cut = text.slice(from, at + BEHIND);
  return `${from === 0 ? "" : "…"}${printable(cut, 400)}${at + BEHIND < text.length ? "…" : ""}`;
}
