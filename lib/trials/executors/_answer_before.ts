/**
 * How final answers were read by the first rules, in journals from before there were others.
 * @module
 */

import { integersIn, LINK_WORDS, linkOf, statementIn, valueOf } from "./_integers.ts";

const LINK = linkOf(LINK_WORDS);
const CLAIM =
  /\b(?:answer|result|value|it)\b[*`"']{0,3}\s{0,3}(?:is|=|:|equals|equal to)[\s:*`"']{0,5}(-?\d[\d,]{0,20})(?=[*`"']{0,3}(?:[.,;!)]|\s*$|\n))/i;

/** Returns the value that `text` gives for `variable` by the first rules: its last statement, else the last integer. */
export function parseFirstAnswer(
  text: string,
  variable: string,
  { claimed = false }: { readonly claimed?: boolean } = {},
): number | null {
  if (!claimed) return read(text, variable) ?? last(text);
  const plain = text.replaceAll(/\bID_(?=\d)/g, "");
  if (/^[\s*`'"]*-?\d[\d,]*[\s*`'".]*$/.test(plain)) return read(plain, variable) ?? last(plain);
  const claim = CLAIM.exec(plain)?.[1];
  return read(plain.replaceAll(/\bhas\b/gi, ";"), variable) ??
    (claim === undefined ? null : last(claim));
}

function read(text: string, variable: string): number | null {
  const found = statementIn(integersIn(text), variable, LINK);
  return found === undefined ? null : valueOf(found);
}

function last(text: string): number | null {
  const found = integersIn(text).at(-1);
  return found === undefined ? null : valueOf(found);
}
