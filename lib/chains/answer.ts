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

/**
 * Whether the text of an answer states the value asked for and nothing that may be another answer: it is the value, or
 * holds it as a whole word without one of the values of other records, and without a word that takes it back.
 *
 * @example Usage
 * ```ts
 * import { isRight } from "@toolgate/toolgate/chains";
 * import { assert } from "@std/assert";
 *
 * const task = { answer: "Kavoru", others: ["Lumeti"] };
 * assert(isRight(task, "**Kavoru**"));
 * assert(!isRight(task, "It is Kavoru or Lumeti."));
 * ```
 */
export function isRight(
  { answer, others }: { readonly answer: JsonValue; readonly others: readonly JsonValue[] },
  text: string,
): boolean {
  const value = plainText(answer);
  const said = text.normalize().trim();
  if (said.length > value.length + MAX_MORE) return false;
  const whole = stripped(said);
  if (isValue(whole, answer)) return true;
  const json = parseJson(whole);
  if (isJsonObject(json)) {
    const members = Object.values(json);
    return members.length === 1 && isValue(plainText(members[0]!), answer);
  }
  const isNumber = typeof answer !== "string";
  const plain = isNumber ? ungrouped(said) : said;
  const places = placesOf(plain, value);
  const rest = plain.replaceAll(value, " ");
  return places > 0 && !UNDECIDED.test(rest) && !/[{[\]}]/.test(rest) &&
    others.every((other) => placesOf(isNumber ? plain : rest, plainText(other)) === 0);
}

/** Returns a text without what people set around an answer: words before it, marks, and a full stop. */
function stripped(text: string): string {
  let left = text.replace(/^```\w*\n([^]*)\n```$/, "$1");
  for (let before = ""; before !== left;) {
    before = left;
    left = left.trim().replace(/^(?:the )?(?:final )?answer(?: is)?\s*:?\s+/i, "")
      .replace(
        /^(\*{1,3}|_{1,2}|["'`“‘])([^]+)(\*{1,3}|_{1,2}|["'`”’])(\.?)$/,
        (all, open, inner, close, stop) =>
          ({ "“": "”", "‘": "’" }[open as string] ?? open) === close ? `${inner}${stop}` : all,
      );
  }
  return left;
}

/** Whether a text is a value, with or without a full stop. */
function isValue(text: string, value: JsonValue): boolean {
  const plain = plainText(value);
  return [text, text.replace(/\.$/, "").replace(/^"([^"]*)"$/, "$1")].some((one) =>
    one === plain || (typeof value !== "string" && ungrouped(one) === plain)
  );
}

function plainText(value: JsonValue): string {
  return typeof value === "string" ? value.normalize().trim() : jsonText(value);
}

/** Returns a text whose numbers have no separators of thousands. */
function ungrouped(text: string): string {
  return text.replace(
    /(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])/g,
    (digits) => digits.replaceAll(",", ""),
  );
}

/** What makes a word longer before and after it: no part of a word, a number, an address or a name counts. */
const BEFORE = /(?:[\p{L}\p{N}_$+-]|[\p{L}\p{N}_][.,:/@'’]|\p{Lu}\p{L}+ |\d )$/u;
const AFTER = /^(?:[\p{L}\p{N}_%]|[-.,:/@'’+][\p{L}\p{N}_]| ?\p{Lu}\p{Ll}| \d)/u;

/** Returns how often a text holds another one as whole words. */
function placesOf(text: string, part: string): number {
  let count = 0;
  if (part === "") return 0;
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + 1)) {
    const before = text.slice(Math.max(0, at - 60), at);
    const after = text.slice(at + part.length, at + part.length + 3);
    if (!BEFORE.test(before) && !AFTER.test(after)) count++;
  }
  return count;
}
