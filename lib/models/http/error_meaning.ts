/**
 * What an error of a server says, wherever in its body that stands, and what it means. What servers say is in
 * `_server_words.ts`; which statuses are asked again otherwise is in `endpoint.ts`.
 * @module
 */

import { fieldOf, isJsonObject, isObject, type JsonObject, jsonText } from "../../base/json.ts";
import { textsIn, withoutQuotes } from "../../base/quotes.ts";
import {
  type Effect,
  type Meaning,
  MEANINGS,
  SERVER_WORDS,
  type WordsRow,
} from "./_server_words.ts";

/** What a server says went wrong. */
export interface Said {
  /** The HTTP status, or that which a body of status 200 names; omitted if there is neither. */
  readonly status?: number | undefined;
  /** Codes, types and reasons, in lower case. */
  readonly codes: readonly string[];
  /** Its words. */
  readonly text: string;
  /** The whole body, in which a gateway hands on what another server said. */
  readonly body: unknown;
  /** Whether a reply had begun. */
  readonly hasBegun?: boolean;
}

/** What an error means. */
export interface ErrorMeaning extends Effect {
  /** The meaning; omitted if no row knows it. */
  readonly means?: Meaning;
  /** What the model wrote, as far as the server says; only with `reply`. */
  readonly generated?: string;
}

/** Characters of an error that are searched. */
const MAX_SEARCHED = 20_000;
/** Texts of an error that are searched, at most. */
const MAX_TEXTS = 50;

/** Fields with the words of an error. */
const TEXTS = ["message", "msg", "detail", "status_msg", "error_msg", "error"];

/** Fields with its codes. */
const CODES = ["code", "type", "status", "status_code", "reason", "error_code", "error_type"];

/** Returns the error in a body of status 200, if it is one. */
export function errorWithin(body: unknown): Said | undefined {
  const isReply = isJsonObject(body) && ["choices", "output"].some((key) => isObject(body[key]));
  const error = errorIn(body, isReply);
  // A call that the server could not read is the model's, and a filtered reply is one.
  const { finish_reason: reason, native_finish_reason: native } = firstChoice(body);
  if (error === undefined || (isReply && endingOf(reason, native).reply)) return undefined;
  return { ...said(error, body), hasBegun: isReply };
}

/** Returns what the body of an error says. */
export function errorSaid(body: unknown, status: number): Said {
  return { ...said(errorIn(body, false) ?? body, body), status };
}

/** Returns the part of a body that is its error; `undefined` if there is none. */
function errorIn(body: unknown, isReply: boolean): unknown {
  if (Array.isArray(body)) return body.map((one) => errorIn(one, true)).find(isSaid);
  if (!isJsonObject(body)) return undefined;
  const { error, errors, base_resp: base, code, success } = body;
  // MiniMax sends it with every reply; 0 means none.
  const isBad = isJsonObject(base) && base["status_code"] !== 0 && isSaid(base["status_msg"]);
  const all = [error, errors, firstChoice(body)["error"], isBad ? base : undefined];
  const found = [...all, body["promptFeedback"]].map((one) => Array.isArray(one) ? one[0] : one)
    .find(isSaid);
  if (found !== undefined || isReply) return found;
  const isError = success === false || body["object"] === "error" || body["type"] === "error" ||
    (isSaid(code) && !["0", "200"].includes(String(code))) ||
    TEXTS.some((key) => isSaid(body[key])) ||
    Object.entries(body).some(([key, value]) => /^error\b/i.test(key) && isSaid(value));
  return isError ? body : undefined;
}

function firstChoice(body: unknown): JsonObject {
  const [choice] = [fieldOf(body, "choices")].flat();
  return isJsonObject(choice) ? choice : {};
}

function isSaid(value: unknown): boolean {
  return value !== undefined && value !== null && value !== false && value !== "" && value !== 0;
}

function said(error: unknown, body: unknown): Said {
  const parts = [error, body].flatMap((part) => isJsonObject(part) ? [part] : []);
  const [status] = parts.flatMap((part) => [part["code"], part["status"], part["status_code"]])
    .filter((code) => /^[45]\d\d$/.test(`${typeof code === "object" ? "" : code}`)).map(Number);
  return { status, codes: parts.flatMap(codesIn), text: textIn(error), body };
}

/** Returns the codes of an error, those of MiniMax with a prefix, as they are numbers that others use as well. */
function codesIn(error: JsonObject): string[] {
  const { innererror, details, base_resp: base } = error;
  const more = Array.isArray(details) ? details.slice(0, 20) : [];
  const inner = [innererror, ...more].filter(isJsonObject);
  const prefix = error["status_msg"] === undefined ? "" : "base_resp_";
  return [
    ...CODES.map((key) => error[key]).filter(isSaid).map((code) =>
      `${prefix}${code}`.toLowerCase()
    ),
    ...inner.flatMap((part) => CODES.map((key) => `${part[key]}`.toLowerCase())),
    ...(isJsonObject(base) ? codesIn(base) : []),
  ];
}

/** Returns the words of an error as its server wrote them: JSON where it has no field for them. */
function textIn(error: unknown, levels = 3): string {
  if (typeof error === "string") return error;
  const found = isJsonObject(error) ? TEXTS.map((key) => error[key]).find(isSaid) : undefined;
  if (typeof found === "string") return found;
  if (isJsonObject(found) && levels > 0) return textIn(found, levels - 1);
  return jsonText(found ?? error) ?? "";
}

/**
 * Returns what an error means.
 *
 * @param told What the request and the reply contain, which the server may quote.
 * @param hasAnswered Whether the server has answered any request.
 */
export function errorMeaning(
  { status, codes, text, body }: Said,
  { told, hasAnswered = false }: { readonly told?: unknown; readonly hasAnswered?: boolean } = {},
): ErrorMeaning {
  const texts = isObject(body) ? [...textsIn(body).take(MAX_TEXTS)] : [];
  const [words, ...others] = withoutQuotes(
    [text, ...texts].map((one) => one.slice(0, MAX_SEARCHED)),
    told,
  );
  const isJson = isObject(body);
  const isPage = /^\s*</.test(text);
  const row = SERVER_WORDS.find((row) =>
    row.finish === undefined && (row.status?.includes(status ?? 0) ?? true) &&
    (row.code === undefined || codes.some((code) => hasWord(row.code!, code))) &&
    !(row.first && hasAnswered) && !(row.form === "JSON" ? !isJson : row.form && isPage) &&
    // A gateway hands on the whole error of a server somewhere in its own.
    (fits(row, words!) || ("reply" in MEANINGS[row.means] && others.some((one) => fits(row, one))))
  );
  if (row === undefined) return {};
  const { means } = row;
  const effect: Effect = MEANINGS[means];
  const isCertain = row.code !== undefined || (row.says === undefined && !row.first);
  const fault = effect.fault ?? (isCertain && effect.permanent ? "infrastructure" : "unclear");
  if (effect.reply === undefined) return { ...effect, means, fault };
  const wrote = row.wrote?.exec(text.slice(0, MAX_SEARCHED))?.[1] ?? "";
  return { ...effect, means, generated: generatedText(body) ?? wrote };
}

/** How a reply ended; without a meaning if it has no finish reason, or no row knows it. */
export interface Ending extends Omit<ErrorMeaning, "generated"> {
  /** The finish reason that no row knows. */
  readonly unknown?: string;
}

/** Meanings that a gateway may hide behind a finish reason of its own. */
const OWN: readonly Meaning[] = ["unreadable call", "filtered", "cut off"];

/**
 * Returns how a reply ended by its finish reasons: that of the server, and that of the model's own server, which counts
 * where a gateway makes an end or an error of it.
 */
export function endingOf(...reasons: readonly unknown[]): Ending {
  // SGLang gives an object.
  const given = reasons.map((reason) => isJsonObject(reason) ? reason["type"] : reason)
    .filter((reason) => typeof reason === "string" && reason !== "") as string[];
  const meanings = given.map(finishMeaning);
  const means = OWN.find((one) => meanings.includes(one)) ?? meanings[0];
  if (means !== undefined) return { ...MEANINGS[means], means };
  return given.length === 0 ? {} : { unknown: given[0]! };
}

/** Finish reasons and their meanings. */
const FINISHES = new Map(
  SERVER_WORDS.flatMap(({ finish, means }) =>
    (finish?.split(" ") ?? []).map((name) => [name, means] as const)
  ),
);

/** Returns what a finish reason means, in any case, without what some servers say behind a colon. */
export function finishMeaning(reason: string): Meaning | undefined {
  const name = reason.toLowerCase().replace(/:.*$/s, "").trim().replace(/[\s-]+/g, "_")
    .replace(/^finish_reason_/, "");
  return FINISHES.get(name) ?? FINISHES.get(name.split(".")[0]!);
}

function fits({ says, not }: WordsRow, text: string): boolean {
  return (says?.some((pattern) => pattern.test(text)) ?? true) && !not?.test(text);
}

/** Whether a word is among others, perhaps with more behind a dot. */
function hasWord(words: string, word: string): boolean {
  const all = words.split(" ");
  return all.includes(word) || all.includes(word.split(".")[0]!);
}

/** Returns what a model wrote, where the server sends it along. */
function generatedText(body: unknown): string | undefined {
  const text = fieldOf(fieldOf(body, "error") ?? body, "failed_generation");
  return typeof text === "string" ? text : undefined;
}

/** Returns the milliseconds after which a body asks to try again, as Gemini does; `undefined` if it does not. */
export function delayIn(body: unknown): number | undefined {
  const text = isObject(body) ? jsonText(body).slice(0, MAX_SEARCHED) : "";
  const [, seconds] = /"retryDelay":\s*"(\d+(?:\.\d+)?)s"/.exec(text) ?? [];
  return seconds === undefined ? undefined : Number(seconds) * 1000;
}
