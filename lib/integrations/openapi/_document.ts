/**
 * Documents of OpenAPI: where one comes from, which version it has, and which operations it lists.
 * @module
 */

import { cannot, networkReason, reasonOf } from "../../base/errors.ts";
import { readText, withoutMark } from "../../base/input.ts";
import {
  exactJson,
  fieldOf,
  isJsonObject,
  isWithin,
  type JsonObject,
  type JsonValue,
  listText,
  LONG_DIGITS,
  printable,
  withDigitsOf,
  withNumberBounds,
} from "../../base/json.ts";
import { redact } from "../../base/redact.ts";
import { recordedSource } from "../../models/recordings/sources.ts";
import { readBody } from "../../base/request_body.ts";
import { targetOf } from "../../tools/schema/position.ts";
import { nearestOrAll } from "../../base/nearest_name.ts";
import { providerNames } from "../../tools/provider_names.ts";
import defer * as yaml from "@std/yaml";

// Loaded when the first document in YAML is read.

/** A document, read, and what it is called in messages. */
export interface OpenApiDocument {
  readonly source: string;
  readonly root: JsonObject;
}

/** An operation of a document, before anything of it but its names was read. */
export interface ListedOperation {
  readonly path: string;
  /** The HTTP method, in lower case. */
  readonly method: string;
  /** The `operationId`; omitted where it has none. */
  readonly id?: string;
  readonly tags: readonly string[];
  /** The item of `paths` it stands in, and itself. */
  readonly item: JsonObject;
  readonly operation: JsonObject;
}

/** The methods of OpenAPI 3.0 and 3.1. */
const METHODS = ["get", "put", "post", "delete", "options", "head", "patch", "trace"] as const;

/** Bytes of a document, at most: far more than those of the largest public services. */
const MAX_BYTES = 64 * 2 ** 20;
/** Seconds within which a server must send one. */
const MAX_SECONDS = 60;

/**
 * Reads a document: a parsed object, its text in JSON or YAML, or the address of either.
 *
 * @throws {InputError} If it cannot be read, or is no document of OpenAPI 3.0 or 3.1, nor of Swagger 2.0.
 */
export async function readDocument(document: unknown): Promise<OpenApiDocument> {
  const source = document instanceof URL
    ? printable(`${document.protocol}//${document.host}${document.pathname}`, 300)
    : "the OpenAPI document";
  const given = document instanceof URL ? await textAt(document, source) : document;
  const read = typeof given === "string" ? parsedText(withoutMark(given), source) : given;
  const root = isJsonObject(read) && read["swagger"] === "2.0"
    ? (await import("./_swagger.ts")).fromSwagger(read, source)
    : read;
  if (!isJsonObject(root)) {
    throw cannot(
      `use ${source}`,
      'it must be an object, a text of JSON or YAML, or a URL such as new URL("./api.yaml", import.meta.url)',
      `it is ${Array.isArray(root) ? "a list" : root === null ? "null" : describe(root)}`,
    );
  }
  const { openapi, swagger } = root;
  if (typeof openapi !== "string" || !/^3\.[01]\.\d/.test(openapi)) {
    const version = openapi ?? swagger;
    throw cannot(
      `use ${source}`,
      "it must be a document of OpenAPI 3.0 or 3.1, or of Swagger 2.0",
      version === undefined
        ? "it has no field openapi"
        : `its version is ${printable(shownValue(version), 40)}`,
    );
  }
  if (!isJsonObject(fieldOf(root, "paths"))) {
    throw cannot(`use ${source}`, "its paths must be an object", "there is none");
  }
  return { source, root };
}

/** Returns the JSON text of a value without parts: others may hold themselves, as lists in YAML can. */
export function shownValue(value: unknown): string {
  return typeof value === "object" && value !== null ? "an object" : String(JSON.stringify(value));
}

function describe(value: unknown): string {
  return typeof value === "string"
    ? `the text ${JSON.stringify(printable(value, 40))}`
    : typeof value;
}

async function textAt(url: URL, source: string): Promise<string> {
  if (url.protocol === "file:") return readText(url);
  if (!/^https?:$/.test(url.protocol)) {
    throw cannot(`read ${source}`, "its address must begin with file:, http: or https:");
  }
  return await recordedSource(source, url.origin + url.pathname, () => fetchText(url, source));
}

async function fetchText(url: URL, source: string): Promise<string> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(1000 * MAX_SECONDS) });
    const text = await readBody(response, MAX_BYTES);
    if (!response.ok) throw new Error(`the server answered with status ${response.status}`);
    if (text === undefined) throw new Error(`it has more than ${MAX_BYTES} bytes`);
    return text;
  } catch (error) {
    throw cannot(
      `read ${source}`,
      "it must be there",
      printable(redact(networkReason(error)), 300),
    );
  }
}

/** Levels of a document whose long integers keep their digits, at most. */
const MAX_LEVELS = 500;

function parsedText(text: string, source: string): unknown {
  // Of a broken one, a reader of YAML would say something that helps less.
  const isJson = /^\s*[{[]/.test(text);
  try {
    const value = isJson ? exactJson(text) : yaml.parse(text, { schema: "core" }) as JsonValue;
    // Aliases of YAML may hold far more values than the text has characters.
    const isTree = () => isWithin(value, { levels: MAX_LEVELS, values: text.length });
    if (isJsonObject(value) && LONG_DIGITS.test(text) && isTree()) {
      return withNumberBounds(
        isJson ? value : withDigitsOf(yaml.parse(text, { schema: "failsafe" }), value),
      );
    }
    // A text of one word is YAML too.
    return typeof value === "string" ? text : value;
  } catch (error) {
    throw cannot(
      `use ${source}`,
      isJson ? "it must be JSON" : "it must be JSON or YAML",
      printable(redact(reasonOf(error).split("\n")[0]!.replace(/:$/, ""))),
    );
  }
}

/** Lists the operations of a document, of which it reads names and tags alone. */
export function listOperations({ source, root }: OpenApiDocument): ListedOperation[] {
  return Object.entries(root["paths"] as JsonObject).flatMap(([path, given]) => {
    // Extensions are no paths.
    if (!path.startsWith("/")) return [];
    const item = pathItem(root, given);
    if (item === undefined) {
      throw cannot(
        `use ${source}`,
        "each of its paths must be an object",
        `${path} is none, or refers to none`,
      );
    }
    return METHODS.flatMap((method): ListedOperation[] => {
      const operation = fieldOf(item, method);
      if (!isJsonObject(operation)) return [];
      const id = fieldOf(operation, "operationId");
      const tags = fieldOf(operation, "tags");
      return [{
        ...{ path, method, item, operation },
        ...(typeof id === "string" && id !== "" ? { id } : {}),
        tags: Array.isArray(tags) ? tags.filter((tag) => typeof tag === "string") : [],
      }];
    });
  });
}

function pathItem(root: JsonObject, given: JsonValue): JsonObject | undefined {
  if (!isJsonObject(given)) return undefined;
  return typeof given["$ref"] === "string" ? targetOf(root, given["$ref"]) : given;
}

/** An operation that becomes a tool. */
export interface ChosenOperation extends ListedOperation {
  /** The name of its tool. */
  readonly name: string;
}

/** The most tools that OpenAI takes in a request. */
const MAX_TOOLS = 128;

/** How an operation is named in messages, and can be chosen: `GET /pets/{id}`. */
export function placeOf({ method, path }: Pick<ListedOperation, "method" | "path">): string {
  return `${method.toUpperCase()} ${path}`;
}

/**
 * Returns the operations that `wanted` names, in its order, or those of its tags, or all of a document.
 *
 * @throws {InputError} If one is unknown or named by two, or there are more than models can be offered and not "all"
 * are wanted.
 */
export function chooseOperations(
  document: OpenApiDocument,
  wanted: string[] | { tags: string[] } | "all" | undefined,
): ChosenOperation[] {
  const all = listOperations(document);
  const action = `make tools of ${document.source}`;
  if (all.length === 0) throw cannot(action, "it must have an operation", "it has none");
  const chosen = Array.isArray(wanted)
    ? namedOperations(action, all, wanted)
    : wanted === undefined || wanted === "all"
    ? all
    : taggedOperations(action, all, wanted.tags);
  if (!Array.isArray(wanted) && wanted !== "all" && chosen.length > MAX_TOOLS) {
    throw cannot(
      action,
      `a model takes at most ${MAX_TOOLS} tools`,
      `${
        wanted === undefined ? "it has" : "these tags have"
      } ${chosen.length} operations; choose some by operations, as in ${
        JSON.stringify(listText(chosen.slice(0, 2).map((one) => one.id ?? placeOf(one)), 2))
      }`,
    );
  }
  const names = providerNames(chosen.map(givenName));
  return chosen.map((operation, index) => ({ ...operation, name: names[index]! }));
}

/** The name of an operation: its id, else its method and path in words. */
function givenName(operation: ListedOperation): string {
  const { id, method, path } = operation;
  return id ?? `${method}${path}`.replaceAll(/[^a-zA-Z0-9]+/g, "_").replace(/_$/, "");
}

function namedOperations(
  action: string,
  all: readonly ListedOperation[],
  wanted: readonly string[],
): ListedOperation[] {
  const byPlace = Map.groupBy(all, placeOf);
  const byId = Map.groupBy(all, ({ id = "" }) => id);
  const found = wanted.map((name) => {
    const place = name.replace(/^[a-z]+(?= \/)/i, (method) => method.toUpperCase());
    const operations = byPlace.get(place) ?? byId.get(name) ?? [];
    const [operation, other] = operations;
    if (operation === undefined) {
      throw cannot(
        action,
        "each of operations must be an operationId, or a method and a path as in GET /pets",
        `it has no ${JSON.stringify(name)}` +
          nearestOrAll(
            name,
            all.flatMap((one) => [placeOf(one), one.id ?? []].flat())
              .map((key) => printable(key, 100)),
          ),
      );
    }
    if (other !== undefined) {
      throw cannot(
        action,
        "an operationId must be that of one operation",
        `${printable(name, 80)} is that of ${
          printable(listText(operations.map(placeOf), 3), 300)
        }; choose by method and path`,
      );
    }
    return operation;
  });
  return [...new Set(found)];
}

function taggedOperations(
  action: string,
  all: readonly ListedOperation[],
  tags: readonly string[],
): ListedOperation[] {
  const known = [...new Set(all.flatMap((operation) => operation.tags))];
  const unknown = tags.find((tag) => !known.includes(tag));
  if (unknown !== undefined) {
    throw cannot(
      action,
      "each of its tags must be one of its operations",
      `none has ${JSON.stringify(unknown)}` +
        nearestOrAll(unknown, known.map((tag) => printable(tag, 100))),
    );
  }
  return all.filter((operation) => operation.tags.some((tag) => tags.includes(tag)));
}
