/**
 * Which operations of a document become tools, and how these are called.
 * @module
 */

import { cannot } from "../../base/errors.ts";
import { listText, printable } from "../../base/json.ts";
import { nearestOrAll } from "../../base/nearest_name.ts";
import { providerNames } from "../../tools/provider_names.ts";
import { type ListedOperation, listOperations, type OpenApiDocument } from "./_document.ts";

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
 * @throws {InputError} If one is unknown or named by two, or there are more than models can be offered.
 */
export function chooseOperations(
  document: OpenApiDocument,
  wanted: string[] | { tags: string[] } | undefined,
): ChosenOperation[] {
  const all = listOperations(document);
  const action = `make tools of ${document.source}`;
  if (all.length === 0) throw cannot(action, "it must have an operation", "it has none");
  const chosen = Array.isArray(wanted)
    ? namedOperations(action, all, wanted)
    : wanted === undefined
    ? all
    : taggedOperations(action, all, wanted.tags);
  if (!Array.isArray(wanted) && chosen.length > MAX_TOOLS) {
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
