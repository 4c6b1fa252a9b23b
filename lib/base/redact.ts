/**
 * Removes secrets from text before anyone sees it: registered secrets, and anything that looks like a key.
 *
 * There are two strengths. Texts about errors lose everything that might be a key, as nothing depends on
 * them. Records of what models and tools said lose only certain keys, as they are results.
 * @module
 */

import { escapePattern } from "./escape_pattern.ts";
import { hideSecrets, MARK } from "./secrets.ts";

// Each pattern keeps its first group. Servers echo keys in part ("sk-ab***yz"), hence the stars. All
// repetitions are bounded or cannot overlap, as a server may send text of any length.
const KEY_LIKE = [
  // The user and password of a URL.
  /(\b[a-z][a-z0-9+.-]{0,20}:\/\/)[^\s\/@"']{1,300}(?=@)/gi,
  // A key recognised by its prefix.
  /()\bsk-[\w*.~+\/=-]+/gi,
  // A token after its scheme; the words listed follow the scheme's name in ordinary sentences.
  /(\bBearer\s{1,9})(?!(?:auth\w*|tokens?|schemes?|headers?|or|and|is|in)\b)[^\s"',;]+/gi,
  // A token behind a label and a separator: `"api_key": "..."`, `Authorization: Basic ...`.
  /((?:key|token|secret|password|authorization)["'\\]{0,2}\s{0,9}[:=]\s{0,9}["'\\]{0,2}(?:(?:Bearer|Basic)\s{1,9})?)(?!\[redacted\]|&)[^\s"',;\\]{8,}/gi,
  // A long token in a sentence about one: `Incorrect API key provided: ...`. Words of letters alone are
  // spared up to 23 letters, and so are the parts of a URL.
  /((?:key|token|secret|password|authorization)\b[^\n]{0,24}?)(?<![\w\/.-])(?=\S{0,200}?[\d*]|\S{24})(?=\w)[\w*.~+\/=-]{16,}/gi,
];

/**
 * Returns `text` without registered secrets and without anything that looks like a key: `sk-...`,
 * `Bearer ...`, the password of a URL, long tokens that follow a word like "key" or "Authorization". It
 * removes too much rather than too little, and is meant for texts about errors.
 *
 * Redact before you shorten: half a key is no longer recognised.
 */
export function redact(text: string): string {
  let clean = redactRecord(text);
  for (const pattern of KEY_LIKE) clean = clean.replace(pattern, `$1${MARK}`);
  return clean;
}

/** The start of a word: not within another one, but also just behind an escaped character of JSON. */
const START = String.raw`(?:(?<![a-zA-Z0-9])|(?<=\\[bfnrt])|(?<=\\u[0-9a-fA-F]{4}))`;

/** A name of a secret, also at the end of a longer one. Pagination tokens are not secrets. */
const LABEL = String
  .raw`(?:(?:api|access|private|secret|auth|signing|encryption)[ _-]?key|secret|password|passwd|authorization|(?<!(?:page|next|sync|cursor|continuation)[_-]?)token)`;

/** A value that is a token: it has a digit and no spaces, and is neither a path nor a URL. */
const TOKEN = String
  .raw`(?![\/.]|https?:)(?=[\w.~+\/=*%:@!$^-]{0,200}?\d)[\w.~+\/=*%:@!$^-]{16,}`;

/** A name whose value is secret. */
const SECRET_NAME = new RegExp(`${LABEL}$`, "i");
const SECRET_VALUE = new RegExp(`^(?:(?:Bearer|Basic)\\s)?${TOKEN}$`, "i");

/** Between a label and its value; JSON within JSON within JSON has seven backslashes. */
const BETWEEN = String.raw`["'\\]{0,8}\s{0,9}[:=>]{1,2}\s{0,9}["'\\]{0,8}`;

// As above, each keeps its first group, and none scans a text more than a fixed number of times.
const KEYS = [
  // The password of a URL.
  /(\b[a-z][a-z0-9+.-]{0,20}:\/\/[^\s\/:@"'\\]{0,200}:)(?!\[redacted\])[^\s\/@"'\\]{1,300}(?=@)/gi,
  new RegExp(
    String.raw`(${START})(?:${
      [
        // OpenAI, Anthropic and many more; Stripe.
        String.raw`sk-(?=[\w*-]{0,200}?[\d*])[\w*-]{16,}`,
        String.raw`[rs]k_(?:live|test)_\w{16,}`,
        // GitHub, GitLab, Slack.
        String.raw`gh[opsur]_[a-zA-Z0-9]{20,}`,
        String.raw`github_pat_\w{20,}`,
        String.raw`glpat-[\w-]{16,}`,
        String.raw`xox[a-z]-(?=[\w-]{0,200}?\d)[\w-]{10,}`,
        // Amazon, Google, Hugging Face.
        String.raw`A[KS]IA[A-Z0-9]{16}(?![a-zA-Z0-9])`,
        String.raw`AIza[\w-]{30,}`,
        String.raw`hf_[a-zA-Z0-9]{24,}`,
      ].join("|")
    })`,
    "g",
  ),
  // A JSON web token.
  /((?<![\w-])|(?<=\\[bfnrt]))eyJ[\w-]{10,}\.eyJ[\w-]{4,}(?:\.[\w-]*)?/g,
  // A private key, up to its end or to the first character it cannot contain.
  /(-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----)[\w+\/=\s\\:,]+(?:-(?!----)[\w+\/=\s\\:,]*)*/g,
  // A token after its scheme.
  new RegExp(String.raw`(${START}(?:Bearer|Basic)\s{1,9})${TOKEN}`, "gi"),
  new RegExp(
    String
      .raw`(authorization${BETWEEN}(?:Bearer|Basic|Token|Digest)\s{1,9})(?!\[redacted\])[^\s"'\\]{8,}`,
    "gi",
  ),
  // A token behind a label.
  new RegExp(`(${LABEL}${BETWEEN})${TOKEN}`, "gi"),
];

/** A quick test: text without a match matches none of the patterns. Few texts have one. */
const NEEDLE = new RegExp(
  `${LABEL}|[sr]k[-_]|bearer|basic|:\\/\\/|gh[opsur]_|github_pat_|glpat-|xox[a-z]-|A[KS]IA|AIza|hf_|eyJ|` +
    "-----BEGIN",
  "i",
);

/** The length of the shortest key with its context, such as `xoxb-123456789a`; shorter is the password of a URL. */
const SHORTEST_KEY = 15;

/** Whether a text may hold a key; most texts and names of a record are too short, which is quick to see. */
function mayHoldKey(text: string): boolean {
  return (text.length >= SHORTEST_KEY || text.includes("://")) && NEEDLE.test(text);
}

/**
 * Returns `text` without registered secrets and without certain keys: by form (`sk-...`, `ghp_...`,
 * `Bearer` and a token, the password of a URL, a private key and the like), or a long token after a name
 * such as `api_key`, `password` or `Authorization`, also in JSON within JSON. The rest is unchanged: it
 * is meant for records of what was said and done.
 */
export function redactRecord(text: string): string {
  return withoutKeys(text, () => {});
}

/** Like {@linkcode redactRecord}; calls `onKey` with each key recognised by its form or name. */
function withoutKeys(text: string, onKey: (key: string) => void): string {
  let clean = hideSecrets(text);
  if (!mayHoldKey(clean)) return clean;
  for (const pattern of KEYS) {
    clean = clean.replace(pattern, (whole: string, prefix: string) => {
      onKey(whole.slice(prefix.length));
      return prefix + MARK;
    });
  }
  return clean;
}

/**
 * Returns `value` with {@linkcode redactRecord} applied to every string and name in it. Long tokens under
 * a name such as `api_key` go too, and a key found once is removed everywhere, also where nothing marks
 * it as a key. Parts that do not change are returned as they are, not as copies.
 *
 * @param keys Keys found in other values, which are removed too; keys found here are added.
 */
export function redactRecordValue<T>(value: T, keys: Set<string> = new Set()): T {
  const add = (key: string) => {
    // A shorter one may be an ordinary word; the limit keeps the search fast.
    if (key.length >= SHORTEST_TOKEN && keys.size < MAX_FOUND) keys.add(key);
  };
  const clean = mapTexts(value, {
    text: (text) => withoutKeys(text, add),
    field(name, inner) {
      if (!isSecret(name, inner)) return false;
      add(inner);
      return true;
    },
  });
  if (keys.size === 0) return clean as T;
  // Longest first, as one may be the beginning of another.
  const sorted = [...keys].sort((left, right) => right.length - left.length);
  const everywhere = new RegExp(sorted.map((key) => escapePattern(key)).join("|"), "g");
  return mapTexts(clean, {
    text: (text) => text.length < SHORTEST_TOKEN ? text : text.replaceAll(everywhere, MARK),
    field: () => false,
  }) as T;
}

/** Deeper values would overflow the stack, and are removed whole. */
const MAX_DEPTH = 1_000;
const SHORTEST_TOKEN = 16;
const MAX_FOUND = 100;

/** How to map the parts of a value. */
interface Mapping {
  /** Maps a string or a name. */
  readonly text: (text: string) => string;
  /** Returns whether to remove the value of a field. */
  readonly field: (name: string, inner: unknown) => boolean;
}

/** Returns `value` with its parts mapped; `value` itself if nothing changes. */
function mapTexts(value: unknown, mapping: Mapping, depth = 0): unknown {
  if (typeof value === "string") return mapping.text(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth > MAX_DEPTH) return MARK;
  if (Array.isArray(value)) {
    const items = value.map((item) => mapTexts(item, mapping, depth + 1));
    return items.every((item, index) => Object.is(item, value[index])) ? value : items;
  }
  let changed: [string, unknown][] | undefined;
  const names = Object.keys(value);
  for (const [index, name] of names.entries()) {
    const inner = (value as Record<string, unknown>)[name];
    const cleanName = mapping.text(name);
    const clean = mapping.field(name, inner) ? MARK : mapTexts(inner, mapping, depth + 1);
    if (cleanName === name && Object.is(clean, inner)) changed?.push([name, inner]);
    else {
      changed ??= Object.entries(value).slice(0, index);
      changed.push([cleanName, clean]);
    }
  }
  // Built from entries, as names chosen by a model may be any, such as `__proto__`.
  return changed === undefined ? value : Object.fromEntries(changed);
}

function isSecret(name: string, value: unknown): value is string {
  return typeof value === "string" && value.length >= SHORTEST_TOKEN && SECRET_NAME.test(name) &&
    SECRET_VALUE.test(value);
}
