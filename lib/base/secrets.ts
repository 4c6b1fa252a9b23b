/**
 * Registered secrets: the secrets this process was given, and their removal from texts.
 * @module
 */

import defer * as buffer from "node:buffer";
import { isGranted } from "#runtime";
import defer * as process from "node:process";
import { escapePattern } from "./escape_pattern.ts";
import { decodeUri } from "./json.ts";

/** Replaces a secret. */
export const MARK = "[redacted]";

/** A shorter "secret" is a placeholder, and removing it would damage ordinary words. */
const SHORTEST_SECRET = 8;

/** From the environment only values unlikely to be a word: `POSTGRES_PASSWORD=postgres` guards nothing. */
const SHORTEST_ENVIRONMENT_SECRET = 16;

/** Names of variables that hold secrets, such as `GITHUB_TOKEN`. */
const SECRET_VARIABLE = /(?:key|token|secret|password|passwd|credentials?)$/i;

/** A variable may hold the path of a file with the secret instead. */
const PATH = /^(?:[\/.~]|[a-z]:\\)/i;

/**
 * A shorter value is a word, whatever the name says. Also how much of a secret is looked for first: no form of one is
 * shorter.
 */
const SHORTEST_GIVEN = 6;

/** Words that say of a variable which a program was given that it holds a secret, such as `SMTP_PASS_2`. */
const GIVEN_SECRET =
  /(?:key|token|secret|pass|passwd|password|passphrase|pwd|auth|dsn|credentials?)(?:\d*$|[_-])/i;

/** Paths, flags and numbers, which guard nothing. */
const NO_SECRET = new RegExp(`${PATH.source}|^-|^[\\d.]+$`, "i");

const known = new Set<string>();
/** All forms of the secrets, longest first, by their first characters; rebuilt when one is added. */
let forms: ReadonlyMap<string, readonly string[]> | undefined;
/** Finds where one of them may begin; whole secrets may be too long for a pattern. */
let beginnings = /(?!)/g;
/** Length of the longest form. */
let longestForm = 0;
let environmentRead = false;

/**
 * Registers secrets for the lifetime of the process: {@linkcode hideSecrets} removes them from then on.
 * Those of fewer than eight characters are ignored.
 */
export function registerSecrets(secrets: Iterable<string>): void {
  for (const secret of secrets) if (secret.length >= SHORTEST_SECRET) add(secret);
}

/**
 * Registers the secrets among variables that a user gave to a program: values of six characters and more whose names
 * have words such as key, pass or auth, but for paths, flags and numbers. What was given to one program is likelier
 * to be a secret than what stands in the environment of all.
 */
export function registerGivenSecrets(variables: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(variables)) {
    const isSecret = GIVEN_SECRET.test(name) && value.length >= SHORTEST_GIVEN;
    if (isSecret && !NO_SECRET.test(value)) add(value);
  }
}

function add(secret: string): void {
  if (known.has(secret)) return;
  known.add(secret);
  forms = undefined;
}

/** Headers and URL parameters that describe the request or its sender, and are not secret. */
const PUBLIC_NAME = new RegExp(
  "^(?:accept|content|user-agent$|referer$|http-referer$|origin$|host$|x-title$|traceparent$)|" +
    "(?:^|[-_])(?:version|beta|region|model|deployment)$",
  "i",
);

/** Headers whose values may consist of parts. */
const PARTED_NAME = /auth|cookie|key|token|secret/i;

/** Returns the possible secrets in the headers and the address of a request. */
export function requestSecrets(headers: Headers, url: URL): string[] {
  const fields = [...headers, ...url.searchParams].filter(([name]) => !PUBLIC_NAME.test(name));
  return [
    ...fields.flatMap((
      [name, value],
    ) => [value, ...(PARTED_NAME.test(name) ? headerParts(value) : [])]),
    ...[decodeUri(url.username), decodeUri(url.password)],
  ];
}

/** Returns the parts that may be quoted alone: "x" of "Bearer x", both of "a=x; b=y", a Basic password. */
function headerParts(value: string): string[] {
  const [, scheme, token] = /^([a-z-]+)\s+(\S+)$/i.exec(value) ?? [];
  const cookies = [...value.matchAll(/(?:^|;\s*)[^\s=;]+=([^;]+)/g)].map(([, cookie]) => cookie!);
  if (token === undefined) return cookies;
  if (scheme!.toLowerCase() !== "basic") return [token];
  const plain = buffer.Buffer.from(token, "base64").toString();
  return [token, plain, plain.slice(plain.indexOf(":") + 1)];
}

/**
 * Returns `text` without the registered secrets, also where they are escaped for JSON, a URL or HTML, all of
 * their characters or some, or in base64 or base64url, alone or within other text. Includes those of
 * {@linkcode registerSecrets} and {@linkcode registerGivenSecrets} and, if Deno may read the whole environment,
 * the values of at least 16 characters of variables whose names end in words such as key, token, secret
 * or password.
 */
export function hideSecrets(text: string): string {
  if (text.length < SHORTEST_GIVEN || knownForms().size === 0) return text;
  const plain = without(text, findSecrets(text));
  // Any character may be escaped: then secrets are looked for in what the text stands for.
  return ESCAPE.test(plain) ? hideEscaped(plain) : plain;
}

/** Where something is in a text. */
type TextRange = readonly [from: number, to: number];

/** Returns `text` with the mark in place of each range. */
function without(text: string, ranges: readonly TextRange[]): string {
  let clean = "";
  let done = 0;
  for (const [from, to] of ranges) {
    clean += text.slice(done, from) + MARK;
    done = to;
  }
  return done === 0 ? text : clean + text.slice(done);
}

/** A printable character of ASCII, escaped for a URL, JSON or HTML, also in JSON within JSON. */
const ESCAPE =
  /%([2-7][0-9a-f])|\\{1,4}(?:u00|x)([2-7][0-9a-f])|\\{1,4}(\/)|&#x([2-7][0-9a-f]);|&#(\d{2,3});/i;
const ESCAPES = new RegExp(ESCAPE, "gi");

/** Hides secrets of which some characters are escaped. */
function hideEscaped(text: string): string {
  /** Where a character was escaped, in what the text stands for, and the length of all escapes up to it. */
  const shifts: { readonly at: number; readonly by: number }[] = [];
  let by = 0;
  const meant = text.replace(
    ESCAPES,
    (escape: string, url, json, slash, hex, decimal, place: number) => {
      const code = slash === undefined
        ? decimal === undefined ? parseInt(url ?? json ?? hex, 16) : Number(decimal)
        : 47;
      const at = place - by;
      by += escape.length - 1;
      shifts.push({ at, by });
      return String.fromCharCode(code);
    },
  );
  let next = 0;
  /** Where a character of it begins in the text; ranges are asked for in order. */
  const placeOf = (index: number): number => {
    while (next < shifts.length && shifts[next]!.at < index) next++;
    return index + (shifts[next - 1]?.by ?? 0);
  };
  const ranges = findSecrets(meant)
    .map(([from, to]): TextRange => [placeOf(from), placeOf(to)]);
  return without(text, ranges);
}

/** Finds the secrets in a text, in order. */
function findSecrets(text: string): TextRange[] {
  const all = knownForms();
  const end = text.endsWith("…") ? text.length - 1 : text.length;
  const ranges: TextRange[] = [];
  beginnings.lastIndex = 0;
  for (let found = beginnings.exec(text); found !== null; found = beginnings.exec(text)) {
    const { 0: beginning, index } = found;
    const candidates = all.get(beginning)!;
    const length = candidates.find((form) => text.startsWith(form, index))?.length ??
      (isCut(text, index, end, candidates) ? end - index : 0);
    if (length > 0) ranges.push([index, index + length]);
    // A secret may begin within what looked like the beginning of another.
    beginnings.lastIndex = index + Math.max(1, length);
  }
  return ranges;
}

/** Shorter texts are never cut before they come here. */
const SHORTEST_CUT = 1_000;

/** Whether `text`, which may have been cut, ends with the beginning of a secret. */
function isCut(text: string, from: number, end: number, candidates: readonly string[]): boolean {
  if (text.length < SHORTEST_CUT || end - from > longestForm) return false;
  if (end - from < SHORTEST_SECRET) return false;
  const rest = text.slice(from, end);
  return candidates.some((form) => form.startsWith(rest));
}

function knownForms(): ReadonlyMap<string, readonly string[]> {
  if (!environmentRead) {
    environmentRead = true;
    registerSecrets(environmentSecrets());
  }
  if (forms !== undefined) return forms;
  // Servers say some texts in small or capital letters alone.
  const cases = [...known].flatMap((one) => [one, one.toLowerCase(), one.toUpperCase()]);
  // Longest first, as one may be the beginning of another.
  const all = [...new Set([...new Set(cases)].flatMap(secretForms))]
    .sort((left, right) => right.length - left.length);
  forms = Map.groupBy(all, (form) => form.slice(0, SHORTEST_GIVEN));
  // Without any secrets: a pattern that matches nothing.
  const source = [...forms.keys()].map((text) => escapePattern(text)).join("|") || "(?!)";
  beginnings = new RegExp(source, "g");
  longestForm = all[0]?.length ?? 0;
  return forms;
}

function environmentSecrets(): string[] {
  if (!isGranted({ name: "env" })) return [];
  return Object.entries(process.env).flatMap(([name, value = ""]) =>
    SECRET_VARIABLE.test(name) && value.length >= SHORTEST_ENVIRONMENT_SECRET && !PATH.test(value)
      ? [value]
      : []
  );
}

/** Returns the forms in which a secret may appear in a text. */
function secretForms(secret: string): string[] {
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

/** Returns `text` escaped for a URL; unescaped if it holds a lone surrogate, which no URL can. */
function encodedForUrl(text: string): string {
  try {
    return encodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * Returns how `text` appears in base64 and base64url, also within other text: three bytes make four characters,
 * so it can start in one of three ways, and the characters at its edges depend on its neighbours. Padding stands
 * behind these.
 */
function inBase64(text: string): string[] {
  return [0, 1, 2].flatMap((before) => {
    const shifted = buffer.Buffer.from("\0".repeat(before) + text);
    const whole = Math.floor(shifted.length * 8 / 6);
    return (["base64", "base64url"] as const).map((form) =>
      shifted.toString(form).slice(Math.ceil(before * 8 / 6), whole)
    );
  });
}
