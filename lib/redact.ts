/**
 * Takes secrets out of text before anyone sees it.
 * @module
 */

/** What stands where a secret stood. */
const MARK = "[redacted]";

// A shorter "secret" is a placeholder, and taking it out would shred ordinary words.
const SHORTEST_SECRET = 4;

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
 * `text` without the given secrets, also where they stand escaped for JSON or for a URL, and without
 * anything that looks like a key: `sk-...`, `Bearer ...`, the password of a URL, long tokens that
 * follow a word like "key" or "Authorization". Secrets of fewer than four characters are no secrets
 * and stay. It would rather take out too much than too little.
 *
 * Redact before you shorten: a key that was cut in two is no longer recognised.
 *
 * @example Usage
 * ```ts
 * import { redact } from "./redact.ts";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(redact("401: hunter22 is wrong", ["hunter22"]), "401: [redacted] is wrong");
 * assertEquals(redact("Authorization: Bearer abc.def"), "Authorization: Bearer [redacted]");
 * ```
 */
export function redact(text: string, secrets: readonly string[] = []): string {
  let clean = hideSecrets(text, secrets);
  for (const pattern of KEY_LIKE) clean = clean.replace(pattern, `$1${MARK}`);
  return clean;
}

/** `text` without the given secrets, and otherwise as it is. */
export function hideSecrets(text: string, secrets: readonly string[]): string {
  const forms = secrets
    .filter((secret) => secret.length >= SHORTEST_SECRET)
    .flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1), encodedForUrl(secret)])
    // The longest first, as one secret may be the beginning of another.
    .sort((left, right) => right.length - left.length);
  let clean = text;
  for (const form of forms) clean = clean.replaceAll(form, MARK);
  return clean;
}

/** `text` as it stands in a URL; as it is when it holds half a character, which no URL can. */
function encodedForUrl(text: string): string {
  try {
    return encodeURIComponent(text);
  } catch {
    return text;
  }
}
