/**
 * What the answer to a chain is worth.
 * @module
 */

import { isJsonObject, jsonText, type JsonValue, parseJson } from "../base/json.ts";

/** Characters of an answer beyond the value, at most: who lists everything has not answered. */
const MAX_MORE = 400;

/** Words by which a text says what the answer is not, or leaves open which one it is. */
const UNDECIDED =
  /\b(?:not|no|none|never|neither|nor|or|either|instead|except|unless|cannot|unable|unknown|unclear|unsure|wrong|incorrect|false|rather)\b|n['’]t\b/i;

/** What stands before a value that a sentence ends with. */
const IS = /(?:^|\s)(?:is|was|is:|was:|=)\s+|:\s+/g;

/**
 * Whether the text of an answer states the value asked for and nothing that may be another answer: it is the value, or
 * its last line ends with "is", "=" or ":" and the value, no word takes that back, and the values of other records are
 * not in it. Marks around the value, a full stop, separators of thousands and signs of currencies make no difference.
 *
 * @example Usage
 * ```ts
 * import { isRight } from "@toolgate/toolgate/chains";
 * import { assert } from "@std/assert";
 *
 * const task = { answer: "Kavoru", others: ["Lumeti"] };
 * assert(isRight(task, "The name of its owner is **Kavoru**."));
 * assert(!isRight(task, "It is Kavoru or Lumeti."));
 * ```
 */
export function isRight(
  { answer, others }: { readonly answer: JsonValue; readonly others: readonly JsonValue[] },
  text: string,
): boolean {
  const said = text.normalize().trim();
  if (said.length > plainText(answer).length + MAX_MORE) return false;
  if (isValue(said, answer)) return true;
  const lines = said.split("\n").map((line) => line.trim()).filter((line) => line !== "");
  const last = lines.pop() ?? "";
  // A line that is no sentence is an item of a list, and a list leaves open which one it is.
  const isAlone = isValue(last, answer) && lines.every((line) => line.split(/\s+/).length > 3);
  const isSaid = isAlone ||
    last.matchAll(IS).some(({ 0: is, index }) => isValue(last.slice(index + is.length), answer));
  const rest = said.replaceAll(plainText(answer), " ");
  return isSaid && !UNDECIDED.test(rest) &&
    !others.some((other) => holds(ungrouped(said), plainText(other)));
}

/** Marks that people set around a value, each with what closes it. */
const AROUND = [
  /^```\w*\n([^]*)\n```$/,
  /^(?:the )?(?:final )?answer(?: is)?:?\s+([^]+)$/i,
  /^\*{1,3}([^*]+)\*{1,3}$/,
  /^`([^`]+)`$/,
  /^["“]([^"”]+)["”]$/,
  /^['‘]([^'’]+)['’]$/,
  /^\\boxed\{([^{}]+)\}$/,
  /^\[([^\]]+)\]\(mailto:[^)]+\)$/,
  /^([^]+)\.$/,
];

/** Whether a text is a value, in whatever marks, or as the only member of an object or a list. */
function isValue(text: string, value: JsonValue): boolean {
  const own = text.trim();
  if (own === plainText(value)) return true;
  if (typeof value !== "string" && ungrouped(own.replace(/^[$€£¥]\s?/, "")) === plainText(value)) {
    return true;
  }
  const inner = AROUND.map((around) => around.exec(own)?.[1]).find((one) => one !== undefined);
  if (inner !== undefined) return isValue(inner, value);
  const json = parseJson(own);
  const members = isJsonObject(json) || Array.isArray(json) ? Object.values(json) : [];
  return members.length === 1 && typeof members[0] !== "object" &&
    isValue(plainText(members[0]!), value);
}

function plainText(value: JsonValue): string {
  return typeof value === "string" ? value.normalize().trim() : jsonText(value);
}

/** Returns a text whose numbers have no separators of thousands, no zeros behind a fraction, and a plain minus. */
function ungrouped(text: string): string {
  return text.replaceAll("−", "-").replace(
    /(?<![\d.,])\d{1,3}(?:([,\u00a0\u202f' ])\d{3}(?:\1\d{3})*)?(?:\.\d+)?(?![\d,])/g,
    (number) => {
      const plain = number.replaceAll(/[,\u00a0\u202f' ]/g, "");
      return plain.includes(".") ? plain.replace(/\.?0+$/, "") : plain;
    },
  );
}

/** Whether a text holds another one as a whole word. */
function holds(text: string, part: string): boolean {
  for (let at = text.indexOf(part); at >= 0 && part !== ""; at = text.indexOf(part, at + 1)) {
    const [before, after] = [text.slice(0, at), text.slice(at + part.length)];
    if (!/[\p{L}\p{N}_]$/u.test(before) && !/^[\p{L}\p{N}_]/u.test(after)) return true;
  }
  return false;
}
