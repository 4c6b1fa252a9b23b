/**
 * The part of a document that its chosen operations need: a document of its own, in which all references lead to
 * `components.schemas`. Nothing else is read, so that the work grows with the operations.
 * @module
 */

import { cannot, InputError } from "../../base/errors.ts";
import {
  decodeUri,
  fieldOf,
  isJsonObject,
  isWithin,
  type JsonObject,
  type JsonValue,
  printable,
} from "../../base/json.ts";
import { targetOf } from "../../tools/schema/position.ts";
import { HOLDERS, mapSchemas } from "../../tools/schema/subschemas.ts";
import { type ChosenOperation, type OpenApiDocument, placeOf, shownValue } from "./_document.ts";
import { getOrInsert, getOrInsertComputed } from "../../base/get_or_insert.ts";

/** Schemas nest at most so deep: recursive code must take them. */
const MAX_DEPTH = 200;
/** Schemas of the sub-document, at most: those of a thousand operations of a large service are fewer. */
const MAX_SCHEMAS = 500_000;
/** Values within a default, and other data of a schema, at most. */
const MAX_VALUES = 100_000;
/** Aliases in a row, at most. */
const MAX_ALIASES = 20;

/** Keywords that say nothing about arguments or results, or hold definitions, which move. */
const LEFT_OUT = new Set([
  ...["xml", "externalDocs", "discriminator", "contentSchema"],
  ...["$id", "$schema", "$anchor", "$dynamicAnchor", "$comment", "$vocabulary", "$recursiveAnchor"],
  ...["$defs", "definitions"],
]);

/** The media types of a body or a result that are taken before others, the best first. */
const PREFERRED = [
  /^application\/json *(;|$)/i,
  /^[^/;]+\/[^;]*\+json\b/i,
  /^(\*|application)\/\*/,
  /^application\/x-www-form-urlencoded\b/i,
  /^multipart\/form-data\b/i,
  /^text\//i,
];

/**
 * Returns the document of the chosen operations alone, and adds to `faults` why some of them cannot be used, by method
 * and path.
 *
 * @throws {InputError} If they need more than those of any service.
 */
export function subDocument(
  document: OpenApiDocument,
  operations: readonly ChosenOperation[],
  faults: Map<string, InputError>,
): JsonObject {
  const copier = new Copier(document, faults);
  const paths = [...Map.groupBy(operations, ({ path }) => path)].map(([path, ones]) => [
    path,
    Object.fromEntries(
      ones.flatMap((one) => copier.copied(placeOf(one), one.method, () => copier.operation(one))),
    ),
  ]);
  const schemas = copier.schemas();
  return {
    openapi: document.root["openapi"]!,
    info: { title: "", version: "" },
    paths: Object.fromEntries(paths),
    components: { schemas },
  };
}

/** Where a schema is, for messages, and what its references start from: `$ref`, and `$recursiveRef`. */
interface SchemaPlace {
  readonly at: string;
  readonly base: JsonObject;
  readonly root: JsonObject;
  readonly depth: number;
}

/** Copies the parts of a document. */
class Copier {
  /** The names of schemas that references lead to, in the order in which they were met. */
  readonly #names = new Map<JsonObject, string>();
  /** The last number of each name that more than one was called by. */
  readonly #taken = new Map<string, number>();
  /** The schemas that are still to be copied. */
  readonly #waiting: (Omit<SchemaPlace, "at" | "depth"> & {
    readonly schema: JsonObject;
    readonly name: string;
  })[] = [];
  /** The operations and schemas that refer to each schema. */
  readonly #users = new Map<string, string[]>();
  /** What is being copied. */
  #user = "";
  #schemas = 0;

  /** `faults` says why operations and schemas cannot be used, by place or name. */
  constructor(readonly document: OpenApiDocument, readonly faults: Map<string, InputError>) {}

  operation(chosen: ChosenOperation): JsonObject {
    const { item, operation } = chosen;
    const at = placeOf(chosen);
    const parameters = this.#parameters(item, operation, at);
    const body = this.#resolved(fieldOf(operation, "requestBody"), `${at}, its body`);
    const response = this.#response(operation, at);
    return {
      ...pick(operation, ["summary", "description", "deprecated"]),
      ...(parameters.length === 0 ? {} : { parameters }),
      ...(body === undefined ? {} : {
        requestBody: isJsonObject(body)
          ? {
            ...pick(body, ["description", "required"]),
            ...this.#content(body, `${at}, its body`),
          }
          : body,
      }),
      ...(response === undefined ? {} : { responses: Object.fromEntries([response]) }),
    };
  }

  /** Returns the copy of an operation or schema under a key; none where it cannot be used, which is kept. */
  copied(name: string, key: string, copy: () => JsonValue): [string, JsonValue][] {
    this.#user = name;
    try {
      return [[key, copy()]];
    } catch (error) {
      // Too many schemas are the fault of none.
      if (!(error instanceof InputError) || this.#schemas > MAX_SCHEMAS) throw error;
      this.faults.set(name, error);
      return [];
    }
  }

  /** Returns all schemas that were referred to, by name. */
  schemas(): JsonObject {
    const copies: [string, JsonValue][] = [];
    // Iterating goes on through those that copying adds.
    for (const { schema, name, ...from } of this.#waiting) {
      const place = { at: `schema ${name}`, ...from, depth: 0 };
      copies.push(...this.copied(name, name, () => this.#schema(schema, place)));
    }
    // So does iterating through what cannot be used, as it refers to such a schema.
    for (const [name, fault] of this.faults) {
      for (const user of this.#users.get(name) ?? []) getOrInsert(this.faults, user, fault);
    }
    return Object.fromEntries(copies);
  }

  /** Returns the parameters of an operation; its own take the place of those of its path. */
  #parameters(item: JsonObject, operation: JsonObject, at: string): JsonValue[] {
    const all = new Map<string, JsonValue>();
    for (const holder of [item, operation]) {
      const list = fieldOf(holder, "parameters") ?? [];
      if (!Array.isArray(list)) {
        throw this.#fault(`the parameters of ${printable(at)} must be a list`);
      }
      for (const [index, given] of list.entries()) {
        const place = `${at}, parameter ${index + 1}`;
        const parameter = this.#resolved(given, place);
        const key = isJsonObject(parameter)
          ? JSON.stringify([parameter["in"], parameter["name"]])
          : `${all.size}`;
        all.set(key, isJsonObject(parameter) ? this.#parameter(parameter, place) : parameter!);
      }
    }
    return [...all.values()];
  }

  #parameter(parameter: JsonObject, at: string): JsonObject {
    const { name } = parameter;
    const place = typeof name === "string" ? `${at} (${printable(name, 80)})` : at;
    return {
      ...pick(parameter, ["name", "in", "description", "required", "deprecated"]),
      ...pick(parameter, ["style", "explode", "allowReserved"]),
      ...this.#schemaField(parameter, place),
      ...this.#content(parameter, place),
    };
  }

  /** Returns the result of success: of the lowest status, else the one for all others. */
  #response(operation: JsonObject, at: string): [status: string, JsonValue] | undefined {
    const responses = fieldOf(operation, "responses");
    if (!isJsonObject(responses)) return undefined;
    const statuses = Object.keys(responses);
    const isNoSuccess = (status: string) => /^(?:[1345][\dX]{2}|default|x-.*)$/i.test(status);
    const status = statuses.filter((one) => /^2\d\d$/.test(one)).sort()[0] ??
      statuses.find((one) => /^2XX$/i.test(one)) ??
      (statuses.every(isNoSuccess) ? "default" : undefined);
    if (status === undefined || !Object.hasOwn(responses, status)) return undefined;
    const response = this.#resolved(responses[status], `${at}, its result`);
    return [
      status.replaceAll("x", "X"),
      // Nothing reads the description, which some leave out.
      isJsonObject(response)
        ? { description: "", ...this.#content(response, `${at}, its result`) }
        : response!,
    ];
  }

  /** Returns the one media type of several that is read or written. */
  #content(holder: JsonObject, at: string): JsonObject {
    const content = fieldOf(holder, "content");
    if (!isJsonObject(content)) return content === undefined ? {} : { content };
    const types = Object.keys(content);
    const [type] = [
      ...PREFERRED.flatMap((pattern) => types.filter((one) => pattern.test(one)).slice(0, 1)),
      ...types,
    ];
    if (type === undefined) return { content: {} };
    const media = this.#resolved(content[type], at);
    const copy = isJsonObject(media)
      ? { ...this.#schemaField(media, at), ...this.#encoding(media) }
      : media!;
    return { content: Object.fromEntries([[type, copy]]) };
  }

  #encoding(media: JsonObject): JsonObject {
    const encoding = fieldOf(media, "encoding");
    if (!isJsonObject(encoding)) return {};
    const copies = Object.entries(encoding).map(([name, one]): [string, JsonValue] => [
      name,
      isJsonObject(one) ? pick(one, ["contentType", "style", "explode", "allowReserved"]) : one,
    ]);
    return { encoding: Object.fromEntries(copies) };
  }

  #schemaField(holder: JsonObject, at: string): JsonObject {
    const schema = fieldOf(holder, "schema");
    if (schema === undefined) return {};
    const root = isJsonObject(schema) ? schema : this.document.root;
    return { schema: this.#schema(schema, { at, base: this.document.root, root, depth: 0 }) };
  }

  /** Follows references of what is no schema; such parts are copied where they are used. */
  #resolved(given: JsonValue | undefined, at: string): JsonValue | undefined {
    let value = given;
    for (let hops = 0; isJsonObject(value) && Object.hasOwn(value, "$ref"); hops++) {
      if (hops >= MAX_ALIASES) {
        throw this.#fault(`a reference must lead to an end: that of ${printable(at)} does not`);
      }
      value = this.#target(value["$ref"], at, this.document.root);
    }
    return value;
  }

  #target(reference: JsonValue | undefined, at: string, base: JsonObject): JsonObject {
    const shown = `${printable(at)} refers to ${printable(shownValue(reference))}`;
    if (typeof reference !== "string" || !/^#(?:$|\/)/.test(reference)) {
      throw this.#fault(
        "it must be one document, with references of the form #/components/...",
        `${shown}; bundle its files first`,
      );
    }
    const target = targetOf(base, reference);
    if (target === undefined || target === this.document.root) {
      throw this.#fault("its references must lead to a part of it", shown);
    }
    return target;
  }

  #schema(schema: JsonValue, place: SchemaPlace): JsonValue {
    if (++this.#schemas > MAX_SCHEMAS) {
      throw this.#fault(
        `its operations must need at most ${MAX_SCHEMAS} schemas`,
        "they need more; choose fewer, or give the document as it was before its references were replaced",
      );
    }
    if (!isJsonObject(schema)) return schema;
    const { at, depth } = place;
    if (depth > MAX_DEPTH) {
      throw this.#fault(
        `schemas must nest at most ${MAX_DEPTH} deep, and refer to themselves by $ref`,
        `${printable(at)} nests deeper`,
      );
    }
    // References within a schema with an id start from it.
    const { base, root } = typeof schema["$id"] === "string"
      ? { base: schema, root: schema }
      : place;
    const inner = { at, base, root, depth: depth + 1 };
    const copies = Object.entries(schema).flatMap(([given, value]): [string, JsonValue][] => {
      // Which branch counts is said by the discriminator, however many a value fits.
      const isSaid = given === "oneOf" && isJsonObject(schema["discriminator"]);
      const keyword = isSaid && schema["anyOf"] === undefined ? "anyOf" : given;
      if (LEFT_OUT.has(keyword) || keyword.startsWith("x-") || value === undefined) return [];
      if (keyword === "$ref") return [[keyword, this.#reference(value, at, base)]];
      // Draft 2019-09, as tools have it: a reference to the root of its schema, which is no document here.
      if (keyword === "$recursiveRef" && value === "#" && schema["$ref"] === undefined) {
        return [["$ref", this.#named(root, "schema", { base, root })]];
      }
      if (keyword === "$dynamicRef" || keyword === "$recursiveRef") {
        throw this.#fault(`its schemas must refer by $ref: ${printable(at)} has ${keyword}`);
      }
      if (!HOLDERS.has(keyword)) this.#assertShallow(value, at);
      return [[keyword, mapSchemas(keyword, value, (one) => this.#schema(one, inner))]];
    });
    return Object.fromEntries(copies);
  }

  #reference(reference: JsonValue, at: string, base: JsonObject): string {
    const target = this.#target(reference, at, base);
    const [component] = /^#\/components\/schemas\/[^/]+/.exec(String(reference)) ?? [];
    const root = base === this.document.root ? targetOf(base, component) ?? target : base;
    return this.#named(target, decodeUri(String(reference).split("/").at(-1)!), { base, root });
  }

  /** Returns the reference to a schema, which is copied under a name like `last`. */
  #named(target: JsonObject, last: string, from: Omit<SchemaPlace, "at" | "depth">): string {
    const name = getOrInsertComputed(this.#names, target, () => {
      const plain = last.replaceAll(/[^a-zA-Z0-9._-]+/g, "_").replace(/^_+/, "") || "schema";
      let free = plain;
      let number = this.#taken.get(plain) ?? 1;
      while (this.#taken.has(free)) free = `${plain}_${++number}`;
      this.#taken.set(free, 1).set(plain, number);
      this.#waiting.push({ schema: target, name: free, ...from });
      return free;
    });
    getOrInsertComputed(
      this.#users,
      name,
      () => [],
    ).push(this.#user);
    return `#/components/schemas/${name}`;
  }

  /** A value that is no schema, such as a default. */
  #assertShallow(value: JsonValue, at: string): void {
    if (isWithin(value, { levels: MAX_DEPTH, values: MAX_VALUES })) return;
    throw this.#fault(
      `its values must nest at most ${MAX_DEPTH} deep, and have at most ${MAX_VALUES} parts`,
      `one of ${printable(at)} does not`,
    );
  }

  #fault(rule: string, state?: string): InputError {
    return cannot(`use ${this.document.source}`, rule, state);
  }
}

/** Returns the fields of an object that it has. */
function pick(holder: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(
    names.flatMap((name) => Object.hasOwn(holder, name) ? [[name, holder[name]!]] : []),
  );
}
