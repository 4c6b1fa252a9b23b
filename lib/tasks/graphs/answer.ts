/**
 * Final answers: finds the value in a model's final text (FuncBenchGen, section 3.1).
 * @module
 */

/** Options of {@linkcode parseAnswer}. */
export interface ParseAnswerOptions {
  /**
   * Whether only a claim counts, as where no value can be known: a bare number, or one that is given for the
   * variable, the answer, the result or the value. Default: `false`.
   */
  readonly claimed?: boolean;
}

/**
 * Returns the value that `text` gives for `variable`; `null` if it gives none. The first of these that is
 * there:
 *
 * 1. the last statement of the variable: `x = 512`, `x is 512`, `x → 512`, `512 = x`, also with emphasis, in a
 *    table, or at the end of a chain, as in `x = 200 + 312 = 512`;
 * 2. the last number in a `\boxed{}`, or given for the answer: `The final answer is 512.`;
 * 3. if the text says that the value could not be found, an integer given for it nevertheless (`I got 512`), or
 *    one after that (`I could not find it at first, but then: 512`);
 * 4. otherwise the last integer.
 *
 * List numbers, decimals, integers that a double cannot hold exactly, terms of a sum, what is said not to be
 * the value (`not 512`) and counts of the work itself (`10 functions`, `step 2`) are no values; nor is one of
 * two alternatives (`512 or 513`).
 *
 * @example Usage
 * ```ts
 * import { parseAnswer } from "@toolgate/toolgate/trials";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(parseAnswer("So **bujxe** is `512`, from 731.", "bujxe"), 512);
 * assertEquals(parseAnswer("bujxe = 200 + 312 = 512", "bujxe"), 512);
 * assertEquals(parseAnswer("From 731 we get 512.", "bujxe"), 512);
 * assertEquals(parseAnswer("I called 10 functions but could not find it.", "bujxe"), null);
 * ```
 */
export function parseAnswer(
  text: string,
  variable: string,
  { claimed = false }: ParseAnswerOptions = {},
): number | null {
  // Languages without spaces write numbers and names next to letters.
  const read = text.slice(-MAX_READ_LENGTH).replaceAll(BESIDE_CHINESE, " ");
  // A number that was prefixed on its way means the number.
  const plain = claimed ? read.replaceAll(/\bID_(?=\d)/g, "") : read;
  const integers = integersIn(plain).filter((match) => !isDenied(match));
  const named = integers.filter((match) => !isTerm(match) && !isCountOfIts(match, variable));
  const found = lastOf([
    named.findLast((match) => statesValueOf(variable, match)),
    chainEnd(plain, variable, named),
    named.findLast((match) => isStatedFor(match, variable)),
  ]) ?? named.findLast(isAnswer);
  if (found !== undefined) return hasAlternative(found) ? null : valueOf(found);
  const values = integers.filter((match) => !isTerm(match) && !isCount(match, variable));
  const abstention = claimed ? plain.length : abstentionIn(plain, variable);
  const last = values.at(-1);
  if (abstention === undefined) {
    return last === undefined || isAlternative(last) ? null : valueOf(last);
  }
  const given = BARE.test(plain) ? last : values.findLast((match) =>
    isClaimed(match, claimed) ||
    match.index > abstention && RESUMES.test(plain.slice(abstention, match.index)) &&
      !isOfOther(match)
  );
  return given === undefined ? null : valueOf(given);
}

// Integers, and the words by which they are stated for a variable

/** The integers in the end of a text that may be values: no list numbers and no decimals. */
function integersIn(text: string): RegExpExecArray[] {
  return [...text.slice(-MAX_READ_LENGTH).matchAll(INTEGER)]
    .filter((match) => isWhole(match) && !isListNumber(match));
}

/** The number that a match stands for. */
function valueOf(match: RegExpExecArray): number {
  return Number(match[0].replaceAll(/[,_]/g, "").replace("\u2212", "-")) + 0;
}

// Digits that no letter or digit touches, with thousands separators where they are regular. One or
// two underscores may touch them, as emphasis does, if nothing else touches those.
const INTEGER =
  /(?<![\p{L}\p{N}.]|[\p{L}\p{N}]_{1,2}|\d,)[-\u2212]?(?:\d{1,3}(?:[,_]\d{3}){1,5}|\d{1,16})(?!_{0,2}[\p{L}\p{N}])/gu;
/** Only the end of a long text is searched, as answers come last. */
const MAX_READ_LENGTH = 100_000;
/** The most characters between a variable and its value: enough for these words. */
const REACH = 60;

/** Whether the text before an integer ends with the variable and words that link it to a value. */
function statesValueOf(variable: string, { input, index }: RegExpExecArray): boolean {
  const start = Math.max(0, index - REACH - variable.length);
  const before = input.slice(start, index);
  const place = before.toLowerCase().lastIndexOf(variable.toLowerCase());
  // Where the text is cut, the name may be part of a longer one.
  if (place === -1 || (place === 0 && start > 0)) return false;
  const link = before.slice(place + variable.length);
  return isAlone(before.slice(0, place), link) && link.trim() !== "" && LINK.test(link);
}

/** Whether no letter or digit touches what stands between two texts. */
function isAlone(before: string, after: string): boolean {
  return !/[\p{L}\p{N}]_*$/u.test(before) && !/^_*[\p{L}\p{N}]/u.test(after);
}

/** Whether the match is an integer: no decimals except zeros, and no lost digits. */
function isWhole(match: RegExpExecArray): boolean {
  const following = after(match, 20);
  const fraction = /^[.,]\d/.test(following) && !/^\.0+(?!\d)/.test(following);
  return !fraction && Number.isSafeInteger(valueOf(match));
}

/** Whether the match is a list number at the beginning of a line: `1.` or `2)`. */
function isListNumber(match: RegExpExecArray): boolean {
  return /(?:^|\n)[ \t]*$/.test(before(match.input, match.index, 10)) &&
    /^[.)]\s/.test(after(match, 2));
}

/** The text before `index`. */
function before(text: string, index: number, reach = REACH): string {
  return text.slice(Math.max(0, index - reach), index);
}

/** The text after an integer. */
function after({ input, index, 0: digits }: RegExpExecArray, reach = REACH): string {
  const end = index + digits.length;
  return input.slice(end, end + reach);
}

/** The words that link a variable to its value, in several languages. */
const OWN_WORDS = "value now then therefore thus equals equal to is was be as of has the a " +
  "should must comes out found boxed text s " +
  "mathbf mathrm textbf wert ist beträgt lautet valeur est vaut valor vale es";
const OWN_SIGNS = "&的值是为為等于於はのが이은는값";
/** What may stand between a variable and its value: these words, and signs. */
const LINKS = `^(?:\\b(?:${OWN_WORDS.replaceAll(" ", "|")})\\b|` +
  `[\\s*\`_"'()[\\]{}:=|>→⇒≈—–’$\\\\${OWN_SIGNS}-])*`;
const LINK = new RegExp(`${LINKS}$`, "i");
const LINK_START = new RegExp(LINKS, "i");
const CHINESE = "\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}";
/** The places between a letter of these languages and one of ours, or a digit. */
const BESIDE_CHINESE = new RegExp(
  `(?<=[${CHINESE}])(?=[\\w-])|(?<=\\w)(?=[${CHINESE}])`,
  "gu",
);

function lastOf(
  matches: readonly (RegExpExecArray | undefined)[],
): RegExpExecArray | undefined {
  return matches.filter((match) => match !== undefined)
    .reduce<RegExpExecArray | undefined>(
      (last, match) => last === undefined || match.index > last.index ? match : last,
      undefined,
    );
}

// Chains

const NUMBER = String.raw`[-\u2212]?\d[\d,_.]*`;
const OPERAND = String
  .raw`[(\[{]{0,3}(?:${NUMBER}|[A-Za-z]\w{0,60}(?:\([^()\n]{0,80}\))?)[)\]}]{0,3}`;
const OPERATOR = String.raw`[ \t]*(?:[-+*/^×÷·\u2212–]|\\times|\\cdot|\\div)[ \t]*`;
const SIDE = `(${OPERAND}(?:${OPERATOR}${OPERAND}){0,20})`;
const EQUALS = String.raw`[ \t*\`$_\\&]*\n?[ \t*\`$_&]*(?:=(?![=>])|≈|→|⇒|->|=>)[ \t*\`$_&]*` +
  String.raw`(?:\\(?:boxed|mathbf|text)\{)?`;
const FIRST_SIDE = new RegExp(SIDE, "y");
const NEXT_SIDE = new RegExp(EQUALS + SIDE, "y");
const ONLY_NAME = /^[A-Za-z]\w*$/;
const ONLY_NUMBER = new RegExp(`^[(\\[{]{0,3}${NUMBER}[)\\]}]{0,3}$`);
/** The most equations of a chain. */
const MAX_SIDES = 20;

/**
 * The last integer that is one side of a chain of equations after the variable, such as 512 of
 * `x = 200 + 312 = 512`.
 */
function chainEnd(
  text: string,
  variable: string,
  integers: readonly RegExpExecArray[],
): RegExpExecArray | undefined {
  if (variable === "") return undefined;
  const [lower, name] = [text.toLowerCase(), variable.toLowerCase()];
  const byPlace = new Map(integers.map((match) => [match.index, match]));
  let end: RegExpExecArray | undefined;
  for (let at = lower.indexOf(name); at !== -1; at = lower.indexOf(name, at + name.length)) {
    const from = at + name.length;
    const following = text.slice(from, from + REACH);
    const [link] = LINK_START.exec(following)!;
    if (link.trim() === "" || !isAlone(before(text, at, 10), following)) continue;
    let side = FIRST_SIDE;
    side.lastIndex = from + link.length;
    for (let sides = 0; sides < MAX_SIDES; sides++) {
      const match = side.exec(text);
      // A name is the beginning of another statement.
      if (match === null || ONLY_NAME.test(match[1]!)) break;
      const [whole, expression] = match as unknown as [string, string];
      const start = match.index + whole.length - expression.length +
        /^[([{]*/.exec(expression)![0].length;
      if (ONLY_NUMBER.test(expression)) end = byPlace.get(start) ?? end;
      NEXT_SIDE.lastIndex = side.lastIndex;
      side = NEXT_SIDE;
    }
  }
  return end;
}

// What surrounds an integer

/** Whether the text says after an integer that it is the variable's value: `512 = x`. */
function isStatedFor(match: RegExpExecArray, variable: string): boolean {
  const following = after(match, REACH + variable.length);
  const [joint] =
    /^[\s*`"'_$]{0,5}(?:=|→|\bis\b)\s{0,3}(?:(?:the )?(?:\w+ )?value (?:of|for) )?(?:variable )?[*`"'_$]{0,3}/i
      .exec(following) ?? [];
  if (joint === undefined) return false;
  const rest = following.slice(joint.length);
  return rest.toLowerCase().startsWith(variable.toLowerCase()) &&
    !/^(?:_*[\p{L}\p{N}]|['’]s)/u.test(rest.slice(variable.length)) && variable !== "";
}

/** Whether an integer is in a box, or given for the answer by a clause that ends with it. */
function isAnswer(match: RegExpExecArray): boolean {
  const preceding = before(match.input, match.index);
  return /\\boxed\{[^}\d]*$/.test(preceding) ||
    /(?:\b(?:answer|antwort|réponse|respuesta)\b|答案)[*`_"']{0,3}\s?(?:is|ist|est|es|[:=是])[\s:*`_"'($\\]{0,6}$/i
        .test(preceding) && CLAUSE_END.test(after(match));
}

const CLAUSE_END = /^(?:\.0+)?[*`_"')$\\]{0,4}(?:[.,;!)。，]|\s*$|\n|\s\()/;

/** Whether an integer is given for the value, by words that need not name it. */
function isClaimed(match: RegExpExecArray, strictly: boolean): boolean {
  const preceding = before(match.input, match.index);
  const given = CLAIM.test(preceding) || !strictly && FOUND.test(preceding);
  return given && CLAUSE_END.test(after(match));
}

const CLAIM =
  /\b(?:answer|result|value|it)\b[*`"']{0,3}\s{0,3}(?:is|=|:|equals|equal to)[\s:*`"']{0,5}$/i;
/** What a function gave is no claim of the model's. */
const FOUND =
  /\b(?:i|we|it|this|that|which)\s(?:\w+\s)?(?:g[eo]ts?|gives?|gave|yields?|yielded|obtain(?:ed)?|found)[\s:*`"']{1,5}$/i;

/** Whether an integer is said not to be the value. */
function isDenied({ input, index }: RegExpExecArray): boolean {
  return /(?:\b(?:not|instead of|rather than|nicht|pas)|≠|!=|\\neq?)[\s*`"'($]{0,4}$/i
    .test(before(input, index, 24));
}

/** Whether an integer is a term of a sum, a product or a quotient. */
function isTerm(match: RegExpExecArray): boolean {
  return /^(?:[ \t]+[+*×÷·/^][ \t]+|[+*×÷·/^])\(?\d/.test(after(match, 10)) ||
    /[\w)](?:[ \t]+[+*×÷·/^][ \t]+|[+×÷·/^]|(?<=\d)\*)$/.test(before(match.input, match.index, 10));
}

const COUNTED = "functions? tools? calls? steps? attempts? tries times? rounds? retr(?:y|ies) " +
  "requests? replies parameters? arguments? inputs? outputs? values? variables? results? errors? " +
  "messages? minutes? seconds? funktion(?:en)? aufrufe?n? schritte?n? versuche?n? fonctions? appels? " +
  "étapes? funciones llamadas pasos";
const BETWEEN = "different available other more further additional separate distinct successful " +
  "failed function tool API required missing unknown input nested parallel";
const COUNT = new RegExp(
  `^[*_\`]{0,3}(?:\\s?%|\\s?(?:个|次|個)|\\s(?:(?:${BETWEEN.replaceAll(" ", "|")}|` +
    `of (?:the|these|those|my))\\s){0,2}(${COUNTED.replaceAll(" ", "|")})(?![\\p{L}\\p{N}_]))`,
  "iu",
);

/** Whether an integer counts something of the work itself, such as calls, or is the number of a step. */
function isCount(match: RegExpExecArray, variable: string): boolean {
  const counted = COUNT.exec(after(match));
  if (counted !== null) return counted[1]?.toLowerCase() !== variable.toLowerCase();
  return /\b(?:steps?|attempts?|rounds?) $/i.test(before(match.input, match.index, 12));
}

/** Whether an integer counts what the variable has, such as inputs. */
function isCountOfIts(match: RegExpExecArray, variable: string): boolean {
  return /\bhas\s+$/i.test(before(match.input, match.index, 10)) && isCount(match, variable);
}

/** Whether another integer is offered in place of one. */
function hasAlternative(match: RegExpExecArray): boolean {
  const [, other] = /^[\s*`"')\]}$]{0,6}\b(?:or|oder|ou)\b[\s*`"'($[{]{1,6}(-?\d[\d,]*)(?![\w.]\w)/i
    .exec(after(match)) ?? [];
  return other !== undefined && Number(other.replaceAll(",", "")) !== valueOf(match);
}

/** Whether an integer is offered in place of another one. */
function isAlternative(match: RegExpExecArray): boolean {
  const [, other] = /(-?\d[\d,]*)[\s*`"')\]}$]{1,6}(?:or|oder|ou)[\s*`"'($[{]{1,6}$/i
    .exec(before(match.input, match.index)) ?? [];
  return other !== undefined && Number(other.replaceAll(",", "")) !== valueOf(match);
}

/** Whether an integer is stated for something else. */
function isOfOther({ input, index }: RegExpExecArray): boolean {
  const [, name] = /([A-Za-z_]\w*)[\s*`"']{0,3}(?:=|:|\bis\b)[ \t*`"']{0,3}$/i
    .exec(before(input, index)) ?? [];
  return name !== undefined &&
    !/^(?:answer|result|value|it|that|this|guess|estimate|sum|total|output|number)$/i.test(name);
}

// Abstentions

const UNABLE = "(?:can ?not|can['’]t|could not|couldn['’]t|unable to|not able to|failed to|" +
  "(?:im|not )possible to|no way to)";
const DID_NOT = "(?:i|we) (?:(?:did|do|have) not|(?:did|do|have)n['’]t)";
const FIND =
  "(?:find|found|determined?|get|gotten|obtain|compute|calculate|retrieve|derive|tell|know|" +
  "give|provide|answer|say|state|reach|establish|identify|solve|figure out|work out|complete|resolve|" +
  "infer|deduce)";
/** What is looked for; what belongs to something else, as in `its value`, is another thing. */
const OBJECT = "(?:(?! its)(?: \\w+)){0,3}? (?:it|this|that|answers?|values?|results?|NAME)(?!\\w)";
/** The end of the saying; behind `did not find it necessary`, something else is said. */
const closeOf = (...words: string[]) =>
  `(?=[*\`]{0,3}(?:[.,;:!?)\\n]|\\s*$| (?:${words.join("|")})\\b))`;
const REASONS = ["but", "because", "as", "since", "with", "in", "after", "for", "despite", "even"];
const CLOSE = closeOf(...REASONS);
const LOOSE_CLOSE = closeOf(...REASONS, "from", "using", "without", "directly", "at");
/** Sayings that the value is not known. */
const ABSTENTIONS = [
  `\\b${UNABLE} (?!be )(?:\\w+ ){0,2}?${FIND}${OBJECT}${LOOSE_CLOSE}`,
  `\\b${DID_NOT} (?:\\w+ ){0,2}?${FIND}${OBJECT}${CLOSE}`,
  `\\b(?:${UNABLE}|${DID_NOT}) (?!be )(?:\\w+ ){0,2}?${FIND}(?=[*\`]{0,3}(?:[.,;:!\\n]|\\s*$| but\\b| because\\b| as\\b| since\\b))`,
  "(?<!\\bits )(?<!\\w)(?:it|value|answer|result|NAME)[*`]{0,3} (?:can ?not|can['’]t|could not|couldn['’]t) be (?:\\w+ )?" +
  "(?:found|determined|computed|calculated|known|obtained|derived|retrieved|resolved|identified|inferred|given)\\b",
  "(?<!\\bits )(?<!\\w)(?:it|value|answer|result|NAME)[*`]{0,3} (?:is|remains) (?:not known|unknown|undetermined|unavailable)\\b",
  `(?<![^.!?;\\n] |\\w)no (?:final |numeric |numerical )?(?:answer|value|result)(?:${CLOSE}| (?:was|is|could be|can be) (?:found|known|given|available)\\b)`,
  "\\bwithout (?:the|an?|any) (?:answer|value|result)\\b",
  "\\b(?:kann|konnte) [^.;\\n]{0,60}\\bnicht (?:[\\p{L}]+ ){0,2}(?:finden|ermitteln|bestimmen|berechnen|sagen)",
  "\\bn(?:e |['’])(?:[\\p{L}]+ ){0,2}pas (?:[\\p{L}]+ ){0,2}(?:trouv|détermin|calcul|obten)",
  "\\bno (?:he )?(?:pude|puedo|podido|logré) (?:[\\p{L}]+ ){0,2}(?:encontrar|determinar|calcular|obtener)",
  "无法|找不到|不能确定|不知道",
];
/** Stands for each character of the variable. */
const MARK = "\ue000";
const ABSTENTION = new RegExp(
  // Bounded at both ends, so that names without spaces between them take linear time.
  ABSTENTIONS.map((saying) => saying.replaceAll("NAME", `(?<!${MARK})${MARK}{1,200}`)).join("|"),
  "giu",
);
/** What begins an answer after all. */
const RESUMES =
  /\n[\s*`"'$({]*$|\b(?:but|however|then|finally|now|so|therefore|hence|still|instead|yet|anyway|guess|estimate|aber|dann|mais|pero)\b/i;
/** A text that is a number and nothing else. */
const BARE = /^[\s*`'"$\\({]*-?\d[\d,]*(?:\.0+)?[\s*`'".)}$\\]*$/;

/** The end of the last saying that the value is not known; `undefined` if there is none. */
function abstentionIn(text: string, variable: string): number | undefined {
  const name = new RegExp(variable.replaceAll(/[^\p{L}\p{N}_]/gu, "\\$&") || "$", "gi");
  const marked = text.replaceAll(name, (found) => MARK.repeat(found.length));
  const last = [...marked.matchAll(ABSTENTION)].at(-1);
  return last === undefined ? undefined : last.index + last[0].length;
}
