/**
 * Reading a final answer (FuncBenchGen, section 3.1: the final output is parsed for the answer).
 * @module
 */

/**
 * The value that `text` gives for `variable`: as it is stated (`x = 512`, `x is 512`, also with
 * emphasis or a colon), the last such statement counting; else the only or the last integer of the
 * text; else `null`.
 *
 * @example Usage
 * ```ts
 * import { parseAnswer } from "./answer.ts";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(parseAnswer("So **bujxe** is `512`, from 731.", "bujxe"), 512);
 * assertEquals(parseAnswer("From 731 we get 512.", "bujxe"), 512);
 * assertEquals(parseAnswer("I do not know.", "bujxe"), null);
 * ```
 */
export function parseAnswer(text: string, variable: string): number | null {
  const integers = [...text.matchAll(INTEGER)].filter(isWhole);
  const stated = integers.findLast((match) => statesValueOf(variable, text, match.index));
  const found = stated ?? integers.at(-1);
  return found === undefined ? null : Number(found[0].replaceAll(/[,_]/g, ""));
}

// Digits that no letter or digit touches, with thousands separators where they are regular.
const INTEGER = /(?<![\p{L}\p{N}_.])-?(?:\d{1,3}(?:[,_]\d{3})+|\d{1,15})(?![\p{L}\p{N}_])/gu;
/** Between a variable and its value there stand no more characters than these words need. */
const REACH = 60;
const LINK =
  /^(?:\b(?:value|now|then|therefore|equals|equal|to|is|of|has|the|a)\b|[\s*`_"'()[\]{}:=])*$/i;

/** Whether the text before `index` ends with the variable and words that join it to a value. */
function statesValueOf(variable: string, text: string, index: number): boolean {
  const before = text.slice(Math.max(0, index - REACH - variable.length), index);
  const place = before.lastIndexOf(variable);
  if (place === -1) return false;
  const link = before.slice(place + variable.length);
  const standsAlone = !/[\p{L}\p{N}_]$/u.test(before.slice(0, place).replace(/[*_`]+$/, "")) &&
    !/^[\p{L}\p{N}]/u.test(link);
  return standsAlone && link.trim() !== "" && LINK.test(link);
}

/** A number with decimals is no integer, unless they are all zero. */
function isWhole(match: RegExpExecArray): boolean {
  const after = match.input.slice(
    match.index + match[0].length,
    match.index + match[0].length + 20,
  );
  return !/^[.,]\d/.test(after) || /^\.0+(?!\d)/.test(after);
}
