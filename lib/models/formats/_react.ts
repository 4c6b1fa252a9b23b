/**
 * ReAct format: thoughts, actions and observations in turn, one action per reply (Pipeline, "Structured
 * Output for Tool Invocation").
 * @module
 */

import { type FormatReading, type TextFormat, textFormat } from "./format.ts";
import { type Mark, type ReadAttempt, readMarked, THINKING } from "./_read_reply.ts";
import {
  argumentsFromJson,
  type ArgumentsRead,
  beginsJson,
  callsFromJson,
  functionName,
  namedCall,
  NO_ARGUMENTS,
  skipClosingBrackets,
} from "./_json_calls.ts";
import { jsonText, parseJson } from "../../base/json.ts";
import { readTagged } from "./_tagged_calls.ts";
import { readTolerantJson } from "../../base/json_repair.ts";
import { describeTool } from "../../tools/tool.ts";

/**
 * The ReAct format: `Thought: … Action: … Action Input: {…}`, answered by `Observation: …`, until there is a
 * `Final Answer: …`.
 */
export const react: TextFormat = textFormat({
  id: "react",
  parallel: false,
  // After a line break only: the word may also occur within arguments.
  stop: ["\nObservation:"],
  describe: (tools) =>
    `You can call functions. These are on offer:
${
      tools.map((tool) =>
        `- ${tool.name}: ${indented(describeTool(tool))}\n  Parameters: ${
          jsonText(tool.parameters)
        }`
      ).join("\n")
    }

To call one, reply in exactly this form, with one action:
Thought: what you think and what you do
Action: name of the function
Action Input: {"name of a parameter": "its value"}

Stop there: what the function returns comes with the next message, in this form:
Observation: [number of the call, name of the function] what it returns

Once you need no more calls, reply in this form:
Thought: what you think
Final Answer: your answer`,
  writeCalls: (text, calls) => {
    if (calls.length === 0) return `Final Answer: ${text}`;
    const actions = calls.map(({ name, arguments: given }) => {
      const input = parseJson(given) === undefined ? indented(given) : given;
      return `Action: ${indented(name)}\nAction Input: ${input}`;
    });
    return [...(text === "" ? [] : [`Thought: ${text}`]), ...actions].join("\n");
  },
  writeResults: (results) =>
    results.map(({ call, name, content }) =>
      `Observation: [${call}, ${indented(name)}] ${indented(content)}`
    ).join("\n"),
  read: readReact,
});

const LABEL = new RegExp(
  "^[ \\t>#*_-]{0,9}(thought|action[ _]input|action|observation|final[ _]answer)" +
    "(?: ?\\d{1,3})?[*_`]{0,3}[ \\t]{0,3}:[*_`]{0,3}" +
    `|<(/?)(?:${THINKING.join("|")})>`,
  "gim",
);

const MARK_KINDS: ReadonlyMap<string, Mark["kind"]> = new Map([
  ["thought", "label"],
  ["action", "call"],
  ["action input", "other"],
  ["observation", "result"],
  ["final answer", "answer"],
]);

function readReact(text: string, names: readonly string[]): FormatReading {
  const marks = [...text.matchAll(LABEL)].map((found): Mark => {
    const [all, label, slash] = found;
    const kind = label === undefined
      ? slash === "/" ? "unthink" : "think"
      : MARK_KINDS.get(label.toLowerCase().replace("_", " "))!;
    return { kind, start: found.index, end: found.index + all.length };
  });
  const attempt = (index: number, to: number) => readAction(text, marks, names, { index, to });
  const marked = readMarked({ text, marks, attempt }, names);
  const isAnswer = marks.some(({ kind }) => kind === "answer");
  const read = marked.calls.length > 0 || isAnswer ? marked : inTags(text, names) ?? marked;
  if (read.calls.length < 2) return read;
  const repairs = [...read.repairs, "several actions stood in one reply"];
  return { ...read, repairs, ...(read.parsed === "strict" ? { parsed: "repaired" } : {}) };
}

/** Reads calls in tags, which models trained on them fall back to. */
function inTags(text: string, names: readonly string[]): FormatReading | undefined {
  const read = readTagged(text, names, { tag: "tool_call", result: "tool_response", body: "json" });
  if (read.calls.length === 0) return undefined;
  const repairs = [...read.repairs, "tags in the place of labels"];
  return { ...read, repairs, ...(read.parsed === "strict" ? { parsed: "repaired" } : {}) };
}

/** Reads the text after `Action:`. */
function readAction(
  text: string,
  marks: readonly Mark[],
  names: readonly string[],
  { index, to }: { readonly index: number; readonly to: number },
): ReadAttempt | undefined {
  const begin = (mark: Mark | undefined) => Math.min(mark?.start ?? to, to);
  const { end: start } = marks[index]!;
  const next = marks[index + 1];
  const action = text.slice(start, begin(next));
  const [line] = action.trimStart().split("\n", 1);
  const inline = INLINE_INPUT.exec(line!);
  const input = next?.kind === "other" && next.end <= to ? next : undefined;
  if (inline !== null) {
    const lineStart = start + action.length - action.trimStart().length;
    const behind = lineStart + inline.index + inline[0].length;
    return withInput(line!.slice(0, inline.index), behind, begin(next), ["all on one line"]);
  }
  if (input !== undefined) {
    const isPlain = isLabel(marks[index]!, "Action:") && isLabel(input, "Action Input:");
    const repairs = isPlain ? [] : ["its labels written otherwise"];
    return withInput(line!, input.end, begin(marks[index + 2]), repairs);
  }
  if (beginsJson(action, 0)) {
    const read = readTolerantJson(text, start, { to: begin(next) });
    if (read === undefined) return undefined;
    const calls = callsFromJson(read);
    if (!calls.some(({ name }) => names.includes(name))) return undefined;
    const what = "JSON in the place of its name";
    const named = calls.map((call) => ({ ...call, repairs: [what, ...call.repairs] }));
    return { calls: named, end: read.end };
  }
  const call = namedCall(action, names);
  if (call === undefined || !names.includes(call.name)) return undefined;
  return { calls: [call], end: start + call.end };

  function isLabel({ start, end }: Mark, label: string): boolean {
    return text.slice(start, end).trim() === label;
  }

  function withInput(before: string, from: number, limit: number, repairs: readonly string[]) {
    const { name, repairs: odd } = functionName(before, names);
    if (NO_ACTION.test(name) && !names.includes(name)) return undefined;
    const { end, ...given } = readInput(text, from, limit);
    const all = [...repairs, ...odd, ...given.repairs];
    const isReadable = given.isReadable && name !== "";
    return { calls: [{ ...given, name, isReadable, repairs: all }], end };
  }
}

/** Actions by which models mean none, mostly before the answer. */
const NO_ACTION = /^(?:none|n\/a|null|nothing|-|no action)\.?$/i;
const INLINE_INPUT = /[ \t]{0,3}[*_`]{0,3}Action[ _]Input[*_`]{0,3}[ \t]{0,3}:[*_`]{0,3}/i;

/** Reads the text after `Action Input:`. */
function readInput(text: string, from: number, to: number): ArgumentsRead & { end: number } {
  const written = text.slice(from, to).trim();
  if (written === "") return { ...NO_ARGUMENTS, end: to };
  const read = readTolerantJson(text, from, { to });
  const given = read === undefined ? undefined : argumentsFromJson(read.json);
  if (read === undefined || !given?.isReadable) {
    return { arguments: written, isReadable: false, repairs: [], end: to };
  }
  const { end, any } = skipClosingBrackets(text, read.end);
  const hasMore = end < to && text.slice(end, to).trim().replace(/^(?:```|`)$/, "") !== "";
  const repairs = [
    ...read.repairs,
    ...given.repairs,
    ...(any ? ["a closing bracket too many"] : []),
    ...(hasMore ? ["words behind its arguments"] : []),
  ];
  return { ...given, repairs, end };
}

/** Indents all lines but the first, so that none looks like a label. */
function indented(text: string): string {
  return text.replace(LINE_BREAK, "$&  ");
}

/** All line breaks that `^` of a pattern recognizes. */
const LINE_BREAK = /\r\n|[\r\n\u2028\u2029]/g;
