/**
 * Operations as tools see them: one object of arguments, each with its place in the request, and the schema of the
 * result.
 * @module
 */

import { cannot, type InputError } from "../../base/errors.ts";
import {
  cutText,
  fieldOf,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  printable,
} from "../../base/json.ts";
import { providerNames } from "../../tools/provider_names.ts";
import { type ChosenOperation, placeOf } from "./_document.ts";
import { mapSchemas, subschemas } from "../../tools/schema/subschemas.ts";

/** Where an argument stands in the request. `body` is the whole body, `field` a property of it. */
export interface ArgumentPlace {
  readonly in: "path" | "query" | "header" | "cookie" | "body" | "field";
  /** Its name in the document. */
  readonly name: string;
  readonly style: string;
  readonly explode: boolean;
  readonly allowReserved: boolean;
  /** The media type that a parameter or a part of a form is written in; omitted where a style says how. */
  readonly type?: string;
}

/** An operation, read. */
export interface Operation extends Pick<ChosenOperation, "name" | "method" | "path"> {
  /** How messages name it. */
  readonly place: string;
  readonly description: string;
  /** The JSON Schema of the arguments. */
  readonly parameters: JsonObject;
  /** The place of each argument, by its name. */
  readonly places: ReadonlyMap<string, ArgumentPlace>;
  /** The media type of the body, and whether there must be one; omitted where there is none. */
  readonly body?: { readonly type: string; readonly required: boolean };
  /** The media type of the result, and what makes its JSON Schema; omitted where it has no content. */
  readonly result?: { readonly type: string; readonly schema: () => JsonObject };
}

/** Characters of a description, at most: OpenAI refuses longer ones. */
const MAX_DESCRIPTION = 1024;

/** What a body may be written in. */
const JSON_TYPE =
  /^((application|text)\/json *(;|$)|[^/;]+\/[^;]*\+json *(;|$)|(\*|application)\/\*)/i;
export const FORM_TYPE = /^application\/x-www-form-urlencoded/i;
export const MULTIPART_TYPE = /^multipart\/form-data/i;
const TEXT_TYPE = /^text\//i;

/** Whether a media type is JSON, or may be. */
export function isJsonType(type: string): boolean {
  return JSON_TYPE.test(type);
}

/** Parameters that OpenAPI ignores, and headers that are the connection's. */
const IGNORED_HEADERS = new Set([
  ...["accept", "content-type", "authorization"],
  ...["host", "connection", "content-length", "transfer-encoding", "upgrade", "te", "trailer"],
]);

/** Keywords of a body whose properties can stand beside the parameters without losing anything. */
const PLAIN_KEYWORDS = new Set([
  ...["type", "properties", "required", "title", "description", "additionalProperties"],
  ...["default", "examples", "deprecated", "readOnly", "writeOnly"],
]);

/** An argument, before it has a name of its own. */
interface Argument {
  readonly place: ArgumentPlace;
  readonly schema: JsonValue;
  readonly required: boolean;
}

/** Names of headers, in lower case, and of the query that every request has, so that no model is asked for them. */
export interface FixedNames {
  readonly headers: ReadonlySet<string>;
  readonly query: ReadonlySet<string>;
}

/** Reads operations of a parsed document. */
export class OperationReader {
  readonly #requests: Schemas;
  readonly #results: Schemas;

  constructor(readonly document: JsonObject, readonly source: string, readonly fixed: FixedNames) {
    this.#requests = new Schemas(document, "request");
    this.#results = new Schemas(document, "result");
  }

  /** @throws {InputError} If a model cannot write its request. */
  read(chosen: ChosenOperation): Operation {
    const { name, method, path } = chosen;
    const place = placeOf(chosen);
    const item = fieldOf(fieldOf(this.document, "paths"), path);
    const operation = fieldOf(item, method) as JsonObject;
    const given = (fieldOf(operation, "parameters") ?? []) as JsonObject[];
    const parameters = given.flatMap((one) => this.#parameter(one));
    this.#assertPath(place, path, parameters);
    const body = this.#body(place, fieldOf(operation, "requestBody") as JsonObject | undefined);
    const all = [...parameters, ...body?.arguments ?? []];
    const names = argumentNames(all);
    const result = this.#result(operation);
    return {
      ...{ name, method, path, place },
      description: descriptionOf(operation, place),
      parameters: this.#schemaOf(all, names),
      places: new Map(all.map((argument, index) => [names[index]!, argument.place])),
      body: body?.body,
      result,
    };
  }

  #result(operation: JsonObject): Operation["result"] {
    const [, response] = soleEntry(fieldOf(operation, "responses")) ?? [];
    const [type, media] = soleEntry(fieldOf(response, "content")) ?? [];
    if (type === undefined) return undefined;
    const given = fieldOf(media, "schema") ?? (isJsonType(type) ? {} : TEXT);
    const schema = () => {
      const converted = this.#results.convert(given);
      // One that is true or false becomes an object.
      const root = isJsonObject(converted) ? converted : converted === false ? { not: {} } : {};
      return { ...root, ...this.#results.definitions([converted]) };
    };
    return { type, schema };
  }

  #parameter(parameter: JsonObject): Argument[] {
    const { name, in: where, description, deprecated } = parameter as {
      [key: string]: JsonValue;
      name: string;
      in: "path" | "query" | "header" | "cookie";
    };
    const { headers, query } = this.fixed;
    const header = name.toLowerCase();
    if (where === "header" && (IGNORED_HEADERS.has(header) || headers.has(header))) return [];
    if (where === "query" && query.has(name)) return [];
    const [type, media] = soleEntry(fieldOf(parameter, "content")) ?? [];
    const schema = fieldOf(parameter, "schema") ?? fieldOf(media, "schema") ?? {};
    const style = String(
      fieldOf(parameter, "style") ?? (where === "query" || where === "cookie" ? "form" : "simple"),
    );
    return [{
      place: {
        ...{ in: where, name, style },
        explode: (fieldOf(parameter, "explode") ?? style === "form") === true,
        allowReserved: fieldOf(parameter, "allowReserved") === true,
        type,
      },
      schema: described(this.#requests.convert(schema), description, deprecated),
      required: where === "path" || parameter["required"] === true,
    }];
  }

  /** Returns the arguments that make up the body. */
  #body(
    place: string,
    given: JsonObject | undefined,
  ): { readonly body: NonNullable<Operation["body"]>; readonly arguments: Argument[] } | undefined {
    const entry = soleEntry(fieldOf(given, "content"));
    if (given === undefined || entry === undefined) return undefined;
    const [type, media] = entry;
    const isForm = FORM_TYPE.test(type) || MULTIPART_TYPE.test(type);
    if (!isJsonType(type) && !isForm && !TEXT_TYPE.test(type)) {
      throw this.#fault(
        place,
        "its body must be JSON, a form or a text",
        `it is ${printable(type, 80)}`,
      );
    }
    const required = given["required"] === true;
    const whole = this.#requests.convert(
      fieldOf(media, "schema") ?? (TEXT_TYPE.test(type) ? TEXT : {}),
    );
    const schema = this.#requests.target(whole);
    const fields = isForm || isJsonType(type) ? plainFields(schema, required) : undefined;
    if (MULTIPART_TYPE.test(type)) this.#assertTexts(place, schema);
    const body = { type: type.includes("*") ? "application/json" : type, required };
    const plain = { style: "form", explode: true, allowReserved: false };
    if (fields === undefined) {
      const one = described(whole, given["description"]);
      return {
        body,
        arguments: [{ place: { in: "body", name: "body", ...plain }, schema: one, required }],
      };
    }
    const needed = new Set(asList(fieldOf(schema, "required")));
    const encoding = fieldOf(media, "encoding");
    return {
      body,
      arguments: Object.entries(fields).map(([name, property]) => ({
        place: { in: "field", name, ...plain, ...fieldEncoding(fieldOf(encoding, name)) },
        schema: property,
        required: required && needed.has(name),
      })),
    };
  }

  #assertPath(place: string, path: string, parameters: readonly Argument[]): void {
    const [, unknown] =
      path.matchAll(/\{([^{}]*)\}/g).find(([, name]) =>
        !parameters.some(({ place }) => place.in === "path" && place.name === name)
      ) ?? [];
    if (unknown === undefined) return;
    throw this.#fault(
      place,
      "each name in its path must be that of a parameter",
      `${printable(unknown, 80)} is none`,
    );
  }

  #assertTexts(place: string, schema: JsonValue): void {
    const properties = fieldOf(schema, "properties");
    const binary = Object.entries(isJsonObject(properties) ? properties : {})
      .find(([, property]) => isBinary(this.#requests.target(property)));
    if (binary === undefined) return;
    throw this.#fault(
      place,
      "a model writes texts only",
      `${printable(binary[0], 80)} of its multipart body is a file`,
    );
  }

  /** Returns the JSON Schema of an object of arguments. */
  #schemaOf(all: readonly Argument[], names: readonly string[]): JsonObject {
    const required = names.filter((_, index) => all[index]!.required);
    return {
      type: "object",
      properties: Object.fromEntries(all.map(({ schema }, index) => [names[index]!, schema])),
      ...(required.length === 0 ? {} : { required }),
      // A request has no place for others.
      additionalProperties: false,
      ...this.#requests.definitions(all.map(({ schema }) => schema)),
    };
  }

  #fault(place: string, rule: string, state: string): InputError {
    return cannot(`make a tool of ${place} of ${this.source}`, rule, state);
  }
}

/** The schema of a text. */
const TEXT: JsonObject = { type: "string" };

/**
 * Returns a name for each argument: its own where a provider takes it and it is the first with it, else one with the
 * place behind it, as in `id_query`.
 */
function argumentNames(all: readonly Argument[]): readonly string[] {
  const used = new Set<string>();
  const wanted = all.map(({ place }) => {
    const isField = place.in === "field";
    const name = used.has(place.name) ? `${place.name}_${isField ? "body" : place.in}` : place.name;
    used.add(name);
    // Checks of schemas leave out a property of this name.
    return name === "__proto__" ? "proto" : name;
  });
  return providerNames(wanted);
}

/**
 * Returns the properties of a body that can stand beside the parameters; `undefined` where it takes others as well,
 * or says more of them than a schema of all arguments could.
 */
function plainFields(schema: JsonValue, required: boolean): JsonObject | undefined {
  if (!isJsonObject(schema)) return undefined;
  const { type = "object", properties, additionalProperties = false } = schema;
  const needs = asList(fieldOf(schema, "required"));
  const isPlain = type === "object" && isJsonObject(properties) && additionalProperties === false &&
    Object.keys(schema).every((keyword) => PLAIN_KEYWORDS.has(keyword)) &&
    (required || needs.length === 0) &&
    needs.every((name) => Object.hasOwn(properties, String(name)));
  return isPlain ? properties : undefined;
}

function fieldEncoding(encoding: JsonValue | undefined): Partial<ArgumentPlace> {
  const style = fieldOf(encoding, "style");
  const explode = fieldOf(encoding, "explode");
  const type = fieldOf(encoding, "contentType");
  const isStyled = style !== undefined || explode !== undefined;
  return {
    ...(typeof style === "string" ? { style } : {}),
    ...(isStyled ? { explode: (explode ?? (style ?? "form") === "form") === true } : {}),
    allowReserved: fieldOf(encoding, "allowReserved") === true,
    // A style says how a value is written, and then the type counts for nothing.
    ...(typeof type === "string" && !isStyled ? { type } : {}),
  };
}

function isBinary(schema: JsonValue): boolean {
  const part = isJsonObject(schema) && isJsonObject(schema["items"]) ? schema["items"] : schema;
  return fieldOf(part, "format") === "binary" ||
    fieldOf(part, "contentMediaType") === "application/octet-stream";
}

function asList(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}

function soleEntry(content: JsonValue | undefined): [type: string, media: JsonValue] | undefined {
  return isJsonObject(content) ? Object.entries(content)[0] : undefined;
}

/** Returns a schema with what its parameter says of it. */
function described(
  schema: JsonValue,
  description: JsonValue | undefined,
  deprecated?: JsonValue,
): JsonValue {
  const fields = {
    ...(typeof description === "string" && description !== "" ? { description } : {}),
    ...(deprecated === true ? { deprecated } : {}),
  };
  if (Object.keys(fields).length === 0) return schema;
  return isJsonObject(schema) ? { ...schema, ...fields } : schema === true ? fields : schema;
}

/** Returns what an operation does, in its own words, else its method and path. */
function descriptionOf(operation: JsonObject, place: string): string {
  const texts = ["summary", "description"].flatMap((field) => {
    const text = operation[field];
    return typeof text === "string" && text.trim() !== "" ? [text.trim()] : [];
  });
  const [summary, ...others] = texts.length === 0 ? [place] : texts;
  const whole = [summary, ...others.filter((text) => text !== summary)].join("\n\n");
  return whole.length <= MAX_DESCRIPTION ? whole : `${cutText(whole, MAX_DESCRIPTION - 1)}…`;
}

const PREFIX = "#/components/schemas/";
const DEFINITIONS = "#/$defs/";

/** The schemas of a parsed document in one direction; each is converted once. */
class Schemas {
  readonly #components: JsonObject;
  readonly #left: "readOnly" | "writeOnly";
  readonly #converted = new Map<string, JsonValue>();

  /** A request leaves out what is read-only, a result what is write-only. */
  constructor(document: JsonObject, direction: "request" | "result") {
    const schemas = fieldOf(fieldOf(document, "components"), "schemas");
    this.#components = isJsonObject(schemas) ? schemas : {};
    this.#left = direction === "request" ? "readOnly" : "writeOnly";
  }

  /** Returns `$defs`, if there are any: what converted schemas refer to, and what that refers to, by name. */
  definitions(schemas: readonly JsonValue[]): JsonObject {
    const names = new Set(schemas.flatMap(namesIn));
    // Iterating goes on through the names that are added.
    for (const name of names) for (const next of namesIn(this.#named(name))) names.add(next);
    if (names.size === 0) return {};
    return { $defs: Object.fromEntries([...names].map((name) => [name, this.#named(name)])) };
  }

  /** Returns what a converted schema stands for: itself, or what its reference leads to. */
  target(schema: JsonValue): JsonValue {
    let found = schema;
    // The check of arguments reports endless ones.
    const seen = new Set<JsonValue>();
    while (isJsonObject(found) && typeof found["$ref"] === "string" && !seen.has(found)) {
      seen.add(found);
      found = this.#named(found["$ref"].slice(DEFINITIONS.length));
    }
    return found;
  }

  #named(name: string): JsonValue {
    const converted = this.#converted.get(name) ?? this.convert(this.#components[name] ?? true);
    this.#converted.set(name, converted);
    return converted;
  }

  /** Returns a schema whose references lead to `#/$defs/`. */
  convert(schema: JsonValue): JsonValue {
    if (!isJsonObject(schema)) return schema;
    const left = this.#leftOut(schema);
    const copies = Object.entries(schema).map(([keyword, value]): [string, JsonValue] => {
      if (keyword === "$ref") return [keyword, DEFINITIONS + String(value).slice(PREFIX.length)];
      if (keyword === "required" && Array.isArray(value)) {
        return [keyword, value.filter((name) => !left.has(String(name)))];
      }
      const kept = keyword === "properties" && isJsonObject(value)
        ? Object.fromEntries(Object.entries(value).filter(([name]) => !left.has(name)))
        : value;
      return [keyword, mapSchemas(keyword, kept, (inner) => this.convert(inner))];
    });
    return Object.fromEntries(copies);
  }

  /** The names of the properties that are of the other direction alone. */
  #leftOut(schema: JsonObject): Set<string> {
    const properties = fieldOf(schema, "properties");
    if (!isJsonObject(properties)) return new Set();
    const names = Object.keys(properties).filter((name) => {
      const property = properties[name];
      if (!isJsonObject(property)) return false;
      const { $ref } = property;
      const target = typeof $ref === "string"
        ? fieldOf(this.#components, $ref.slice(PREFIX.length))
        : undefined;
      return property[this.#left] === true || fieldOf(target, this.#left) === true;
    });
    return new Set(names);
  }
}

/** The names of the definitions that a converted schema refers to. */
function namesIn(schema: JsonValue): string[] {
  return isJsonObject(schema)
    ? subschemas(schema).flatMap(({ schema: { $ref } }) =>
      typeof $ref === "string" ? [$ref.slice(DEFINITIONS.length)] : []
    ).toArray()
    : [];
}
