/**
 * Story lines: the lines that describe a failure, and which of them a brief story keeps.
 * @module
 */

import { printable, printableEnds } from "../base/json.ts";
import { countText } from "../base/numbers.ts";

/** How much of a failure is shown: `brief` is a dozen lines, `full` is everything. */
export type Story = "brief" | "full";

/** One line of a story. */
export interface StoryLine {
  /** Its text. */
  readonly kind: keyof typeof KINDS;
  /** Its text, made printable. */
  readonly text: string;
  /** How far it is from what matters most among its kind. Default: how many of its kind stand before it. */
  readonly distance?: number;
  /** How many lines of its kind it stands for, without telling them; omitted for a line of its own. */
  readonly stands?: number;
}

/**
 * How many lines of a kind a brief story keeps at least, the name of one that is left out (empty if nobody misses
 * it), and characters of a line.
 */
interface Kind {
  readonly least: number;
  readonly name: string;
  readonly width: number;
}

/** The budget of brief stories, what matters most first. The sum of `least` is what fits beside a line on the rest. */
const KINDS = {
  /** What failed. */
  head: { least: 1, name: "line", width: 500 },
  /** How the trial ended. */
  outcome: { least: 1, name: "line", width: 500 },
  /** The first root failure: the call, the path and the values. */
  root: { least: 1, name: "failure", width: 400 },
  /** What was expected, and what came instead. */
  detail: { least: 2, name: "detail", width: 400 },
  /** The heading of a list of calls. */
  made: { least: 1, name: "", width: 100 },
  /** The calls, those around the first root failure before all others. */
  call: { least: 2, name: "call", width: 300 },
  /** What the model said last, or what stopped it. */
  answer: { least: 1, name: "answer", width: 300 },
  /** What may be wrong with the server. */
  hint: { least: 1, name: "hint", width: 300 },
  /** What a judge said. */
  judge: { least: 0, name: "judgement", width: 300 },
  /** What changed in the state. */
  state: { least: 0, name: "state line", width: 200 },
  /** What the model was shown, and wrote beside its calls: full stories alone tell it. */
  text: { least: 0, name: "text", width: 300 },
  /** What a strategy or an agent did outside the calls. */
  stage: { least: 0, name: "stage", width: 200 },
  /** How many further calls were wrong, which the outcome says by type. */
  further: { least: 0, name: "", width: 100 },
  /** An empty line. */
  gap: { least: 0, name: "", width: 0 },
} as const satisfies Record<string, Kind>;

/** A brief story has at most this many lines, and the command that runs the trial again is one of them. */
const MAX_STORY_LINES = 12;
/** Characters of one text in a full story. */
const MAX_TEXT_LENGTH = 20_000;
/** The mark of {@linkcode printableEnds}. */
const CUT = /\[\.\.\. \d+ characters \.\.\.\]/;

/** Makes a text of a model, server or user printable; a brief story keeps the ends of a long one. */
export type ShowText = (text: string, length?: number) => string;

/** Returns how a story shows texts. */
export function showerOf(story: Story): ShowText {
  if (story === "full") return (text) => printable(text, MAX_TEXT_LENGTH);
  return (text, length = 200) => printableEnds(text, length);
}

/** Returns a story as text, without the command that runs its trial again. */
export function tellStory(lines: readonly StoryLine[], story: Story): string {
  if (story === "full") return lines.map(({ text }) => text).join("\n");
  const told = lines.map((line) => (
    { ...line, text: printableEnds(line.text, KINDS[line.kind].width) }
  ));
  const real = told.filter(({ stands }) => stands === undefined);
  const missed = real.filter(({ kind }) => KINDS[kind].name !== "" || kind === "made");
  const whole = [real, missed].find((some) =>
    real.length === told.length && some.length < MAX_STORY_LINES && !some.some(isCut)
  );
  if (whole !== undefined) return whole.map(({ text }) => text).join("\n");
  // One line is for the rest, one for the command.
  const kept = new Set(byImportance(real).slice(0, MAX_STORY_LINES - 2));
  const shown = told.filter((line) => kept.has(line)).map(({ text }) => text);
  const rest = restText(told.filter((line) => !kept.has(line)), [...kept].some(isCut));
  return [...shown, ...(rest === "" ? [] : [rest])].join("\n");
}

function isCut({ text }: StoryLine): boolean {
  return CUT.test(text);
}

/** Sorts lines by importance: first the least of each kind, then the rest of each. */
function byImportance<Line extends StoryLine>(lines: readonly Line[]): Line[] {
  const kinds = Object.keys(KINDS) as StoryLine["kind"][];
  const ofKinds = kinds.map((kind) =>
    lines.filter((line) => line.kind === kind)
      .map((line, place) => ({ line, distance: line.distance ?? place }))
      .sort((one, other) => one.distance - other.distance)
      .map(({ line }) => line)
  );
  return [
    ...ofKinds.flatMap((own, index) => own.slice(0, KINDS[kinds[index]!].least)),
    ...ofKinds.flatMap((own, index) => own.slice(KINDS[kinds[index]!].least)),
  ];
}

/** Says what was left out, and how to see it. */
function restText(left: readonly StoryLine[], hasCut: boolean): string {
  const counts = Map.groupBy(
    left.filter(({ kind }) => KINDS[kind].name !== ""),
    ({ kind }) => kind,
  );
  const parts = [
    ...[...counts].map(([kind, own]) =>
      countText(own.reduce((sum, { stands = 1 }) => sum + stands, 0), `more ${KINDS[kind].name}`)
    ),
    ...(hasCut ? ["the rest of long texts"] : []),
  ];
  return parts.length === 0 ? "" : `  ... ${parts.join(", ")}: --story=full`;
}

/** The heading of a list of calls in the message of an assertion. */
export const CALLS_MADE = /^ {2}calls made: /m;

/** First lines of failures that a message has, at most. */
const MAX_HEADS = 3;

/** Returns the lines of the message of a failed assertion, ours or any other. */
export function messageLines(message: string): StoryLine[] {
  const lines = message.split("\n");
  const focus = Number(
    /\bcall (\d+) \(step \d+\)/.exec(lines.slice(1).join("\n"))?.[1] ?? Infinity,
  );
  // What looks like a call before the heading of the list may be anything.
  const listed = lines.findIndex((line) => CALLS_MADE.test(line));
  const made = listed < 0 ? Infinity : listed;
  let heads = 0;
  return lines.map((line, place): StoryLine => {
    // Nothing is too long for a regular expression that is anchored.
    const text = printable(line, Infinity);
    // The first line of each failure, where several are told.
    const isHead = place === 0 || /^\S/.test(line) && lines[place - 1] === "" && heads < MAX_HEADS;
    if (isHead) heads++;
    if (isHead) return { kind: "head", text };
    if (line.trim() === "") return { kind: "gap", text: "" };
    if (CALLS_MADE.test(line)) return { kind: "made", text };
    const call = place > made ? /^ {4}(\d+)\. step /.exec(line)?.[1] : undefined;
    if (call !== undefined) {
      return { kind: "call", text, distance: distanceOf(Number(call), focus) };
    }
    const [, more, what] = /^ *\.\.\. (\d+) (more|before|after)/.exec(line) ?? [];
    if (more !== undefined) {
      return { kind: what === "more" ? "detail" : "call", text, stands: Number(more) };
    }
    return { kind: "detail", text };
  });
}

/** Returns how far a call is from the one that matters, or from the last: what follows says more than what was before. */
export function distanceOf(call: number, focus: number): number {
  if (focus === Infinity) return -call;
  return call < focus ? 2 * (focus - call) : Math.max(0, 2 * (call - focus) - 1);
}
