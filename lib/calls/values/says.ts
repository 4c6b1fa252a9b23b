/**
 * Said texts: whether a text says what is wanted, by words and by the values of numbers.
 * @module
 */

/** What is written without spaces between words: each character stands for itself. */
const ALONE = String.raw`[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Hang}\p{scx=Thai}` +
  String.raw`\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}]`;
const WORD = String.raw`[[\p{L}\p{N}\p{M}]--${ALONE}]`;
/** What joins a number to what stands before it, as in 1,234.5 and 2026-11-30, and a digit to a word, as in ORD-12. */
const JOINT = String.raw`(?:_+|(?<=\d)[.,:\/'\u00a0\u2009\u202f](?=\d)|(?<=${WORD})-(?=\d))`;
const NUMBER_START = String
  .raw`(?:(?<!${WORD})-(?=\p{Sc}?\.?\d))?\p{Sc}?(?:(?<![${WORD}.])\.(?=\d))?`;
/** A word or a number, a character of a text without spaces, or any other sign; each is found in linear time. */
const TOKEN = new RegExp(
  String.raw`${NUMBER_START}${WORD}+(?:${JOINT}${WORD}+)*|[\p{L}\p{N}]\p{M}*|\S`,
  "gv",
);

const GROUPED = /^(-?)(\d{1,3}(?:[,'\u00a0\u2009\u202f]\d{3})+|\d*)(?:\.(\d+))?$/;
const GROUPED_BY_POINTS = /^(-?)(\d{1,3}(?:\.\d{3})+),(\d+)$/;

/**
 * Whether a text says what is wanted, or one text of a list: as whole words that stand one after another. Case, spaces,
 * kinds of quotes and dashes, Markdown's emphasis and signs of currencies do not count. A number is the same by its
 * value, with or without separators of thousands, and is not found within a longer number, date or id, nor where letters
 * touch it; the point is the decimal sign, unless thousands are grouped by points (1.234,50). An empty text is never said.
 */
export function says(text: string, wanted: string | readonly string[]): boolean {
  return [wanted].flat().some(saidIn(text));
}

/** Returns {@linkcode says} of a text in which many others are looked for: its words are found once. */
export function saidIn(text: string): (wanted: string) => boolean {
  let said: string[] | undefined;
  return (wanted) => hasRun(said ??= tokensOf(text), tokensOf(wanted));
}

function tokensOf(text: string): string[] {
  // Marks are put in order in quadratic time: no text has more than 30 on a letter (Unicode UAX 15, section 13).
  // Upper case comes first, as some letters have no other way to the same lower case.
  const plain = text.replace(/(\p{M}{30})\p{M}+/gu, "$1").normalize().toUpperCase().toLowerCase()
    .replace(/[\p{Cf}*`]/gu, "")
    .replace(/["\p{Pi}\p{Pf}‚„′″]/gu, "'")
    .replace(/[\p{Pd}−]/gu, "-")
    // Digits and signs of full width.
    .replace(/[\uff01-\uff5e]/g, (sign) => String.fromCharCode(sign.charCodeAt(0) - 0xfee0));
  return (plain.match(TOKEN) ?? []).map((token) => token.replace(/\p{Sc}/u, ""))
    .filter((token) => token !== "" && token !== "_").map((token) => numberIn(token) ?? token);
}

/** The value of a number as text, since those of long ids would be rounded; `undefined` for all else. */
function numberIn(token: string): string | undefined {
  const [, sign, whole = "", fraction = ""] = GROUPED.exec(token) ??
    GROUPED_BY_POINTS.exec(token) ??
    [];
  if (sign === undefined || whole + fraction === "") return undefined;
  const digits = whole.replace(/\D/g, "").replace(/^0+(?=\d)/, "") || "0";
  const rest = fraction.replace(/0+$/, "");
  const value = rest === "" ? digits : `${digits}.${rest}`;
  return value === "0" ? value : sign + value;
}

/** Whether a list has all items of another one after another, in linear time (Knuth, Morris and Pratt, 1977). */
function hasRun(all: readonly string[], run: readonly string[]): boolean {
  if (run.length === 0) return false;
  /** For each item of the run, how many before it, it among them, begin the run as well. */
  const borders = [0];
  const advance = (length: number, item: string): number => {
    while (length > 0 && item !== run[length]) length = borders[length - 1]!;
    return item === run[length] ? length + 1 : 0;
  };
  for (let length = 0, place = 1; place < run.length; place++) {
    borders.push(length = advance(length, run[place]!));
  }
  let length = 0;
  return all.some((item) => (length = advance(length, item)) === run.length);
}
