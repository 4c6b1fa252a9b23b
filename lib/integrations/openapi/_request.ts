/**
 * Requests: the arguments of a call, each written in its place as OpenAPI says, so that none can leave it.
 * @module
 */

import { cannot, reasonOf } from "../../base/errors.ts";
import { type JsonObject, jsonText, type JsonValue, printable } from "../../base/json.ts";
import { ToolError } from "../../tools/tool_error.ts";
import {
  type ArgumentPlace,
  FORM_TYPE,
  isJsonType,
  MULTIPART_TYPE,
  type Operation,
} from "./_operation.ts";

/** What a call sends. */
export interface CallRequest {
  readonly url: URL;
  readonly method: string;
  readonly headers: Headers;
  readonly body?: string | FormData;
}

/** An argument and its place. */
interface Placed {
  readonly place: ArgumentPlace;
  readonly value: JsonValue;
}

/**
 * Returns the request of a call.
 *
 * @throws {ToolError} If an argument cannot be written in its place, or would lead elsewhere.
 */
export function requestOf(
  operation: Operation,
  input: JsonObject,
  base: URL,
  fixed: Headers,
): CallRequest {
  const placed = Object.entries(input).flatMap(([name, value]): Placed[] => {
    const place = operation.places.get(name);
    return place === undefined || value === undefined ? [] : [{ place, value }];
  });
  const headers = headersOf(operation, placed, fixed);
  const body = bodyOf(operation, placed, headers);
  return {
    url: addressOf(operation, placed, base),
    method: operation.method.toUpperCase(),
    headers,
    body,
  };
}

/**
 * Checks that calls of an operation can be sent.
 *
 * @throws {InputError} If none can, whatever its arguments are; names `source`.
 */
export function assertSendable(
  operation: Operation,
  { base, headers }: { readonly base: URL; readonly headers: Headers },
  source: string,
): void {
  const input = Object.fromEntries([...operation.places.keys()].map((name) => [name, "x"]));
  try {
    const { url, ...init } = requestOf(operation, input, base, headers);
    new Request(url, init);
  } catch (error) {
    throw cannot(
      `make a tool of ${operation.place} of ${source}`,
      "HTTP must be able to carry its request",
      printable(reasonOf(error)),
    );
  }
}

/** Returns the address of a call, which is always below the base. */
function addressOf({ path, name }: Operation, placed: readonly Placed[], base: URL): URL {
  const values = new Map(
    placed.filter(({ place }) => place.in === "path").map((one) => [one.place.name, one]),
  );
  const filled = path.replaceAll(/\{([^{}]*)\}/g, (_, key: string) => {
    const one = values.get(key);
    const text = one === undefined ? "" : pathText(one.place, one.value);
    // Without a value the address is that of another operation.
    if (text === "") {
      throw refused(`${printable(key, 80)} must not be empty, as it is a part of the path`);
    }
    return text;
  });
  // A browser takes these for steps up, and %2e for a dot.
  if (filled.split("/").some((part) => /^(?:\.|%2e){1,2}$/i.test(part))) {
    throw refused("an argument must not make a part of the path . or ..");
  }
  const folder = base.pathname.replace(/\/+$/, "");
  const url = new URL(base);
  url.pathname = `${folder}${filled}`;
  if (url.origin !== base.origin || !url.pathname.startsWith(`${folder}/`)) {
    throw refused(`the path of ${name} must not leave the base URL`);
  }
  const query = placed.filter(({ place }) => place.in === "query")
    .flatMap(({ place, value }) => queryParts(place, value));
  const all = [base.search.slice(1), ...query].filter((part) => part !== "");
  url.search = all.join("&");
  url.hash = "";
  return url;
}

function headersOf(operation: Operation, placed: readonly Placed[], fixed: Headers): Headers {
  const headers = new Headers();
  const type = operation.result?.type;
  headers.set("accept", type === undefined ? "*/*" : `${type}, */*;q=0.1`);
  for (const { place, value } of placed) {
    if (place.in !== "header" || value === null) continue;
    try {
      headers.set(place.name, pathText({ ...place, style: "simple" }, value, String));
    } catch {
      throw refused(`${printable(place.name, 80)} must be a text that a header can hold`);
    }
  }
  const cookies = placed.filter(({ place }) => place.in === "cookie")
    .flatMap(({ place, value }) => queryParts(place, value));
  if (cookies.length > 0) headers.set("cookie", cookies.join("; "));
  // Those of the user, such as keys, come last: no model replaces one.
  for (const [name, value] of fixed) {
    const own = name === "cookie" ? headers.get(name) : null;
    headers.set(name, own === null ? value : `${value}; ${own}`);
  }
  return headers;
}

/** Returns the body, and says in the headers what it is. */
function bodyOf(
  { body }: Operation,
  placed: readonly Placed[],
  headers: Headers,
): string | FormData | undefined {
  if (body === undefined) return undefined;
  const whole = placed.find(({ place }) => place.in === "body");
  const fields = placed.filter(({ place }) => place.in === "field");
  if (whole === undefined && fields.length === 0 && !body.required) return undefined;
  const { type } = body;
  if (MULTIPART_TYPE.test(type)) return multipart(whole, fields);
  headers.set("content-type", type);
  if (FORM_TYPE.test(type)) {
    return formFields(whole, fields).flatMap(({ place, value }) =>
      queryParts(place, formValue(place, value))
    )
      .join("&");
  }
  if (!isJsonType(type)) return plainText(whole?.value ?? "");
  if (whole !== undefined) return jsonText(whole.value);
  return jsonText(
    Object.fromEntries(fields.map(({ place, value }) => [place.name, value])),
  );
}

/** The fields of a form; those of one that is a single argument have no style of their own. */
function formFields(whole: Placed | undefined, fields: readonly Placed[]): readonly Placed[] {
  if (whole === undefined) return fields;
  return Object.entries(Object(whole.value) as JsonObject)
    .map(([name, value]) => ({ place: { ...whole.place, name }, value }));
}

/** An object in a form is JSON unless a style says more (OpenAPI 3.1, "Encoding Object"). */
function formValue({ style, type }: ArgumentPlace, value: JsonValue): JsonValue {
  if (style === "deepObject" || type !== undefined) return value;
  if (Array.isArray(value) || typeof value !== "object" || value === null) return value;
  return jsonText(value);
}

function multipart(whole: Placed | undefined, fields: readonly Placed[]): FormData {
  const form = new FormData();
  for (const { place, value } of formFields(whole, fields)) {
    for (const item of Array.isArray(value) ? value : [value]) {
      if (item === null) continue;
      if (typeof item === "object") {
        form.append(place.name, new Blob([jsonText(item)], { type: "application/json" }));
      } else form.append(place.name, String(item));
    }
  }
  return form;
}

function refused(reason: string): ToolError {
  return new ToolError("validation", `Invalid arguments: ${reason}`);
}

/** A name and its value, neither of which is encoded. */
type Named = readonly [name: string, value: string];

/** What stands between the parts of a list that is one value; all of them are encoded but this. */
const SEPARATORS: Readonly<Record<string, string>> = {
  form: ",",
  spaceDelimited: "%20",
  pipeDelimited: "|",
};

/** Returns the text of a value that is neither a list nor an object. */
function plainText(value: JsonValue): string {
  return typeof value === "object" ? jsonText(value) : String(value);
}

/** Returns the text of a value in a media type. */
function writtenIn(type: string | undefined, value: JsonValue): string {
  return type !== undefined && isJsonType(type) ? jsonText(value) : plainText(value);
}

/** Encodes a text for any part of a URL. */
function encodeText(text: string): string {
  // Lone surrogates have no place in a URL.
  return encodeURIComponent(text.toWellFormed())
    .replaceAll(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** Encodes a text for a query, but for reserved characters that end neither a value nor the query. */
function encodeReserved(text: string): string {
  return encodeText(text).replaceAll(
    /%(?:21|24|27|28|29|2A|2C|2F|3A|3B|3F|40|5B|5D)/g,
    (code) => decodeURIComponent(code),
  );
}

/** Returns the parameters of a query or a form, encoded: `name=value`, one for each part of an exploded value. */
function queryParts(place: ArgumentPlace, value: JsonValue): string[] {
  const { name, style, explode, allowReserved, type } = place;
  const encode = allowReserved ? encodeReserved : encodeText;
  const joined = ([key, text]: Named) => `${encodeText(key)}=${encode(text)}`;
  if (value === null) return [];
  if (type !== undefined || typeof value !== "object") {
    return [joined([name, writtenIn(type, value)])];
  }
  if (style === "deepObject") return deepPairs(name, value).map(joined);
  if (explode) {
    return Array.isArray(value)
      ? value.filter((item) => item !== null).map((item) => joined([name, plainText(item)]))
      : memberPairs(value).map(joined);
  }
  const parts = Array.isArray(value) ? value.map(plainText) : memberPairs(value).flat();
  if (parts.length === 0) return [];
  return [`${encodeText(name)}=${parts.map(encode).join(SEPARATORS[style] ?? ",")}`];
}

/** Returns the members of an object that have a value. */
function memberPairs(value: JsonObject): Named[] {
  return Object.entries(value).flatMap(([key, inner]): Named[] =>
    inner === null ? [] : [[key, plainText(inner)]]
  );
}

/** Returns `name[key][0]=value` for each value within another one. */
function deepPairs(name: string, value: JsonValue): Named[] {
  if (value === null) return [];
  if (typeof value !== "object") return [[name, plainText(value)]];
  return Object.entries(value).flatMap(([key, inner]) => deepPairs(`${name}[${key}]`, inner));
}

/** Returns what takes the place of `{name}` in a path. */
function pathText(place: ArgumentPlace, value: JsonValue, encode = encodeText): string {
  const { name, style, explode, type } = place;
  if (type !== undefined) return encode(writtenIn(type, value));
  const isMatrix = style === "matrix";
  const [prefix, separator] = isMatrix
    ? [`;${encode(name)}=`, ";"]
    : style === "label"
    ? [".", "."]
    : ["", ","];
  if (typeof value !== "object" || value === null) return prefix + encode(plainText(value));
  if (Array.isArray(value)) {
    const parts = value.map((item) => encode(plainText(item)));
    if (explode && isMatrix) return parts.map((part) => prefix + part).join("");
    return prefix + parts.join(explode ? separator : ",");
  }
  const pairs = memberPairs(value).map((pair) => pair.map(encode));
  if (!explode) return prefix + pairs.flat().join(",");
  return (isMatrix ? ";" : prefix) + pairs.map((pair) => pair.join("=")).join(separator);
}
