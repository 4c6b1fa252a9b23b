/**
 * Takes secrets out of text before anyone sees it: those that are known, and what looks like one.
 *
 * There are two strengths. Texts about errors lose whatever might be a key, as nothing depends on them.
 * Records of what models and tools said lose only what is a key for sure: they are results.
 * @module
 */

import { hideSecrets, MARK } from "./secrets.ts";

// Each pattern keeps its first group. Servers echo keys in part ("sk-ab***yz"), hence the stars. All
// repetitions are bounded or cannot overlap: the text is whatever a server sent, however long.
const KEY_LIKE = [
  // The user and password of a URL.
  /(\b[a-z][a-z0-9+.-]{0,20}:\/\/)[^\s\/@"']{1,300}(?=@)/gi,
  // A key that shows itself by its prefix.
  /()\bsk-[\w*.~+\/=-]+/gi,
  // A token after its scheme; the words listed follow the scheme's name in ordinary sentences.
  /(\bBearer\s{1,9})(?!(?:auth\w*|tokens?|schemes?|headers?|or|and|is|in)\b)[^\s"',;]+/gi,
  // A token behind a label and a separator: `"api_key": "..."`, `Authorization: Basic ...`.
  /((?:key|token|secret|password|authorization)["'\\]{0,2}\s{0,9}[:=]\s{0,9}["'\\]{0,2}(?:(?:Bearer|Basic)\s{1,9})?)(?!\[redacted\])[^\s"',;\\]{8,}/gi,
  // A long token in a sentence about one: `Incorrect API key provided: ...`. Long words of letters
  // alone are spared up to 23 letters, and so are the parts of a URL.
  /((?:key|token|secret|password|authorization)\b[^\n]{0,24}?)(?<![\w\/.-])(?=\S{0,200}?[\d*]|\S{24})(?=\w)[\w*.~+\/=-]{16,}/gi,
];

/**
 * `text` without secrets that are known and without anything that looks like a key: `sk-...`,
 * `Bearer ...`, the password of a URL, long tokens that follow a word like "key" or "Authorization". It
 * would rather take out too much than too little: it is for texts about errors.
 *
 * Redact before you shorten: a key that was cut in two is no longer recognised.
 *
 * @example Usage
 * ```ts
 * import { redact } from "./redact.ts";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(redact("Authorization: Bearer abc.def"), "Authorization: Bearer [redacted]");
 * ```
 */
export function redact(text: string): string {
  let clean = redactRecord(text);
  for (const pattern of KEY_LIKE) clean = clean.replace(pattern, `$1${MARK}`);
  return clean;
}

/** Where a word may begin: not within another one, but behind an escaped character of JSON. */
const START = String.raw`(?:(?<![a-zA-Z0-9])|(?<=\\[bfnrt])|(?<=\\u[0-9a-fA-F]{4}))`;

/** Names of what holds a secret, at the end of longer ones too. Where a list goes on is no secret. */
const LABEL = String
  .raw`(?:(?:api|access|private|secret|auth|signing|encryption)[ _-]?key|secret|password|passwd|authorization|(?<!(?:page|next|sync|cursor|continuation)[_-]?)token)`;

/** The rest of a value that is a token: it has no spaces, and a digit. It is no path and no address. */
const TOKEN = String
  .raw`(?![\/.]|https?:)(?=[\w.~+\/=*%:@!$^-]{0,200}?\d)[\w.~+\/=*%:@!$^-]{16,}`;

/** A name that says that a value is secret. */
const SECRET_NAME = new RegExp(`${LABEL}$`, "i");
const SECRET_VALUE = new RegExp(`^(?:(?:Bearer|Basic)\\s)?${TOKEN}$`, "i");

/** Between a label and its value; JSON within JSON within JSON has seven backslashes. */
const BETWEEN = String.raw`["'\\]{0,8}\s{0,9}[:=>]{1,2}\s{0,9}["'\\]{0,8}`;

// As above, each keeps its first group, and none goes over a text more than a fixed number of times.
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
  // A private key, up to its end or to where its text can no longer be one.
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

/** What one of these patterns cannot do without: few texts have it. */
const NEEDLE = new RegExp(
  `${LABEL}|[sr]k[-_]|bearer|basic|:\\/\\/|gh[opsur]_|github_pat_|glpat-|xox[a-z]-|A[KS]IA|AIza|hf_|eyJ|` +
    "-----BEGIN",
  "i",
);

/** No shorter text holds anything of the kind: `x://:y@`. */
const SHORTEST_KEY = 7;

/**
 * `text` without secrets that are known, and without what is a key for sure: by its form (`sk-...`,
 * `ghp_...`, `Bearer` and a token, the password of a URL, a private key and the like), or as a long
 * token behind a name such as `api_key`, `password` or `Authorization`, also where that stands in JSON
 * within JSON. Everything else stays as it is: it is for records of what was said and done.
 *
 * @example Usage
 * ```ts
 * import { redactRecord } from "./redact.ts";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(redactRecord('{"order": "a1b2c3d4e5f6a7b8c9"}'), '{"order": "a1b2c3d4e5f6a7b8c9"}');
 * assertEquals(redactRecord('{"api_key": "a1b2c3d4e5f6a7b8c9"}'), '{"api_key": "[redacted]"}');
 * ```
 */
export function redactRecord(text: string): string {
  return withoutKeys(text, () => {});
}

/** As {@linkcode redactRecord}; `found` is told what was taken out for what it looks like. */
function withoutKeys(text: string, found: (key: string) => void): string {
  if (text.length < SHORTEST_KEY) return text;
  let clean = hideSecrets(text);
  if (!NEEDLE.test(clean)) return clean;
  for (const pattern of KEYS) {
    clean = clean.replace(pattern, (whole: string, kept: string) => {
      found(whole.slice(kept.length));
      return kept + MARK;
    });
  }
  return clean;
}

/**
 * `value` with {@linkcode redactRecord} applied to every text and name in it. A long token under a name
 * such as `api_key` goes too, and whatever was found to be a key goes everywhere, also where nothing else
 * gives it away. Where nothing changes it is `value` itself, and so is every part of it.
 *
 * @param keys What was found to be a key in other values: it goes too, and what is found is added.
 *
 * @example Usage
 * ```ts
 * import { redactedRecord } from "./redact.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const call = { order: "a1b2c3d4e5f6a7b8c9", token: "z9y8x7w6v5u4t3s2r1" };
 * assertEquals(redactedRecord(call), { order: "a1b2c3d4e5f6a7b8c9", token: "[redacted]" });
 * ```
 */
export function redactedRecord<T>(value: T, keys: Set<string> = new Set()): T {
  const add = (key: string) => {
    // What is shorter may be a word; and nobody has so many that looking for them takes long.
    if (key.length >= SHORTEST_TOKEN && keys.size < MOST_FOUND) keys.add(key);
  };
  const clean = mapped(value, {
    text: (text) => withoutKeys(text, add),
    field(name, inner) {
      if (!isSecret(name, inner)) return false;
      add(inner);
      return true;
    },
  });
  if (keys.size === 0) return clean as T;
  // The longest first, as one may be the beginning of another.
  const sorted = [...keys].sort((left, right) => right.length - left.length);
  const everywhere = new RegExp(sorted.map((key) => RegExp.escape(key)).join("|"), "g");
  return mapped(clean, {
    text: (text) => text.length < SHORTEST_TOKEN ? text : text.replaceAll(everywhere, MARK),
    field: () => false,
  }) as T;
}

/** What nests deeper would overflow the stack, and is taken out whole. */
const DEEPEST = 1_000;
const SHORTEST_TOKEN = 16;
const MOST_FOUND = 100;

/** What becomes of the parts of a value. */
interface Mapping {
  /** Of a text, and of a name. */
  readonly text: (text: string) => string;
  /** Whether a field is taken out whole. */
  readonly field: (name: string, inner: unknown) => boolean;
}

/** `value` with its parts mapped; itself where that changes nothing. */
function mapped(value: unknown, mapping: Mapping, depth = 0): unknown {
  if (typeof value === "string") return mapping.text(value);
  if (typeof value !== "object" || value === null) return value;
  if (depth > DEEPEST) return MARK;
  if (Array.isArray(value)) {
    const items = value.map((item) => mapped(item, mapping, depth + 1));
    return items.every((item, index) => Object.is(item, value[index])) ? value : items;
  }
  let changed: [string, unknown][] | undefined;
  const names = Object.keys(value);
  for (const [index, name] of names.entries()) {
    const inner = (value as Record<string, unknown>)[name];
    const cleanName = mapping.text(name);
    const clean = mapping.field(name, inner) ? MARK : mapped(inner, mapping, depth + 1);
    if (cleanName === name && Object.is(clean, inner)) changed?.push([name, inner]);
    else {
      changed ??= Object.entries(value).slice(0, index);
      changed.push([cleanName, clean]);
    }
  }
  // As a list of entries, whatever names there are: a model may have chosen them.
  return changed === undefined ? value : Object.fromEntries(changed);
}

function isSecret(name: string, value: unknown): value is string {
  return typeof value === "string" && value.length >= SHORTEST_TOKEN && SECRET_NAME.test(name) &&
    SECRET_VALUE.test(value);
}
