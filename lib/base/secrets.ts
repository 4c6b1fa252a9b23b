/**
 * Known secrets: what this process was given to keep to itself, and texts without it.
 * @module
 */

/** What stands where a secret stood. */
export const MARK = "[redacted]";

/** A shorter "secret" is a placeholder, and taking it out would shred ordinary words. */
const SHORTEST_SECRET = 8;

/** Of the environment only what can hardly be a word: `POSTGRES_PASSWORD=postgres` guards nothing. */
const SHORTEST_OF_ENVIRONMENT = 16;

/** Names of variables that hold secrets, such as `GITHUB_TOKEN`. */
const SECRET_VARIABLE = /(?:key|token|secret|password|passwd|credentials?)$/i;

/** A variable may name the file that holds a secret instead. */
const PATH = /^(?:[\/.~]|[a-z]:\\)/i;

const known = new Set<string>();
/** All that a text may hold of them, by how they begin, the longest first; made again when there is a new one. */
let forms: ReadonlyMap<string, readonly string[]> | undefined;
/** Finds where one of them may begin: of all of a long secret no pattern could be made. */
let beginnings = /(?!)/g;
/** No form is longer than this. */
let longestForm = 0;
let environmentRead = false;

/**
 * Makes secrets known for as long as the process lives: from then on no text that passes through
 * {@linkcode hideSecrets} holds them. Those of fewer than eight characters are no secrets.
 */
export function registerSecrets(secrets: Iterable<string>): void {
  for (const secret of secrets) {
    if (secret.length < SHORTEST_SECRET || known.has(secret)) continue;
    known.add(secret);
    forms = undefined;
  }
}

/** Headers, and parameters of a URL, whose values say what is sent or who sends it, and are no secrets. */
const PUBLIC_NAME = new RegExp(
  "^(?:accept|content|user-agent$|referer$|http-referer$|origin$|host$|x-title$|traceparent$)|" +
    "(?:^|[-_])(?:version|beta|region|model|deployment)$",
  "i",
);

/** Headers whose values have parts. */
const PARTED_NAME = /auth|cookie|key|token|secret/i;

/** What may be secret of the headers and of the address of a request. */
export function secretsOf(headers: Headers, url: URL): string[] {
  const fields = [...headers, ...url.searchParams].filter(([name]) => !PUBLIC_NAME.test(name));
  return [
    ...fields.flatMap((
      [name, value],
    ) => [value, ...(PARTED_NAME.test(name) ? partsOf(value) : [])]),
    ...[decoded(url.username), decoded(url.password)],
  ];
}

/** What someone may quote alone: of "Bearer x" the "x", of "a=x; b=y" both, of Basic the password. */
function partsOf(value: string): string[] {
  const [, scheme, token] = /^([a-z-]+)\s+(\S+)$/i.exec(value) ?? [];
  const cookies = [...value.matchAll(/(?:^|;\s*)[^\s=;]+=([^;]+)/g)].map(([, cookie]) => cookie!);
  if (token === undefined) return cookies;
  if (scheme!.toLowerCase() !== "basic") return [token];
  const plain = fromBase64(token);
  return [token, plain, plain.slice(plain.indexOf(":") + 1)];
}

function fromBase64(text: string): string {
  try {
    return new TextDecoder().decode(Uint8Array.fromBase64(text));
  } catch {
    return "";
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * `text` without the secrets that are known, also where they stand escaped for JSON, for a URL or for
 * HTML, or in base64, and otherwise as it is. Known are those of {@linkcode registerSecrets} and, where
 * Deno may read it all, the environment's: variables named as ones that hold a key, a token, a secret
 * or a password, of at least 16 characters.
 *
 * @example Usage
 * ```ts
 * import { hideSecrets, registerSecrets } from "./secrets.ts";
 * import { assertEquals } from "@std/assert";
 *
 * registerSecrets(["hunter22-and-more"]);
 * assertEquals(hideSecrets("401: hunter22-and-more is wrong"), "401: [redacted] is wrong");
 * ```
 */
export function hideSecrets(text: string): string {
  if (text.length < SHORTEST_SECRET) return text;
  const all = knownForms();
  const end = text.endsWith("…") ? text.length - 1 : text.length;
  let clean = "";
  let done = 0;
  beginnings.lastIndex = 0;
  for (let found = beginnings.exec(text); found !== null; found = beginnings.exec(text)) {
    const { 0: beginning, index } = found;
    const own = all.get(beginning)!;
    const length = own.find((form) => text.startsWith(form, index))?.length ??
      (isCut(text, index, end, own) ? end - index : 0);
    if (length > 0) {
      clean += text.slice(done, index) + MARK;
      done = index + length;
    }
    // One may begin within what looked like the beginning of another.
    beginnings.lastIndex = length > 0 ? done : index + 1;
  }
  return done === 0 ? text : clean + text.slice(done);
}

/** No shorter text was cut before it came here. */
const SHORTEST_CUT = 1_000;

/** Whether what stands at the end of `text`, where it may have been cut, is how a secret begins. */
function isCut(text: string, from: number, end: number, own: readonly string[]): boolean {
  if (text.length < SHORTEST_CUT || end - from > longestForm) return false;
  const rest = text.slice(from, end);
  return own.some((form) => form.startsWith(rest));
}

function knownForms(): ReadonlyMap<string, readonly string[]> {
  if (!environmentRead) {
    environmentRead = true;
    registerSecrets(secretsOfEnvironment());
  }
  if (forms !== undefined) return forms;
  // The longest first, as one may be the beginning of another.
  const all = [...new Set([...known].flatMap(formsOf))]
    .sort((left, right) => right.length - left.length);
  forms = Map.groupBy(all, (form) => form.slice(0, SHORTEST_SECRET));
  // Without any, a pattern that matches nothing.
  const source = [...forms.keys()].map((text) => RegExp.escape(text)).join("|") || "(?!)";
  beginnings = new RegExp(source, "g");
  longestForm = all[0]?.length ?? 0;
  return forms;
}

function secretsOfEnvironment(): string[] {
  if (Deno.permissions.querySync({ name: "env" }).state !== "granted") return [];
  return Object.entries(Deno.env.toObject())
    .filter(([name, value]) =>
      SECRET_VARIABLE.test(name) && value.length >= SHORTEST_OF_ENVIRONMENT && !PATH.test(value)
    )
    .map(([, value]) => value);
}

/** How a secret may stand in a text. */
function formsOf(secret: string): string[] {
  const once = escapedForJson(secret);
  const slashed = once.replaceAll("/", "\\/");
  const encoded = encodedForUrl(secret);
  return [
    ...[secret, once, slashed, escapedForJson(once)].flatMap((text) => {
      const html = text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
      return [text, html, html.replaceAll('"', "&quot;").replaceAll("'", "&#39;")];
    }),
    ...[encoded, encoded.replaceAll("%20", "+")],
    ...inBase64(secret),
  ];
}

function escapedForJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/** `text` as it stands in a URL; as it is when it holds half a character, which no URL can. */
function encodedForUrl(text: string): string {
  try {
    return encodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * What of `text` shows in base64, of text around it too: three characters make four, so that it
 * begins in one of three ways, and the characters at its edges depend on its neighbours.
 */
function inBase64(text: string): string[] {
  const bytes = new TextEncoder().encode(text);
  return [0, 1, 2].map((before) => {
    const shifted = new Uint8Array([...new Uint8Array(before), ...bytes]);
    const whole = Math.floor(shifted.length * 8 / 6);
    return shifted.toBase64().slice(Math.ceil(before * 8 / 6), whole);
  });
}
