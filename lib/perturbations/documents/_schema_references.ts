/**
 * References between the schemas of a tool.
 * @module
 */

import { decodeUri, pointerKeys, pointerPart } from "../../base/json.ts";
import type { Subschema } from "../../tools/schema/subschemas.ts";
import { textAt } from "./_schema_edits.ts";

const REFERRING = ["$ref", "$dynamicRef", "$recursiveRef"];
const NAMING = ["$id", "$anchor", "$dynamicAnchor", "$recursiveAnchor"];

/** Whether a schema refers to another one. */
export function refers({ schema }: Subschema): boolean {
  return REFERRING.some((keyword) => textAt(schema, keyword) !== undefined);
}

/** An index of the references between the schemas of a tool. */
export class References {
  readonly #byPath: ReadonlyMap<string, Subschema>;
  /** Schemas by their addresses and anchors. */
  readonly #byName = new Map<string, Subschema>();
  /** The schema that pointers start from, for each schema that they occur in. */
  readonly #bases = new Map<Subschema, Subschema>();
  /** The keys that pointers continue with, by the path they lead through. */
  readonly #through = new Map<string, Set<string>>();
  readonly #naming = new Set<Subschema>();

  /** Reads the references among all schemas of a tool, the whole one first. */
  constructor(schemas: readonly Subschema[]) {
    this.#byPath = new Map(schemas.map((inner) => [inner.path, inner]));
    for (const inner of schemas) this.#name(inner);
    for (const inner of schemas) this.#trace(inner);
  }

  /** The schemas that one refers to, as far as they belong to the tool. */
  targetsOf(inner: Subschema): Subschema[] {
    return REFERRING.flatMap((keyword) => {
      const path = this.#resolved(inner, textAt(inner.schema, keyword));
      const target = path === undefined ? undefined : this.#byPath.get(path);
      return target === undefined ? [] : [target];
    });
  }

  /** Whether a reference leads into the schema at `path` by one of the keywords. */
  leadInto(path: string, isKeyword: (keyword: string) => boolean): boolean {
    return [...this.#through.get(path) ?? []].some(isKeyword);
  }

  /** Whether a schema within this one has an address or an anchor. */
  isNamedWithin(inner: Subschema): boolean {
    return this.#naming.has(inner);
  }

  #name(inner: Subschema): void {
    const { schema, around } = inner;
    const address = textAt(schema, "$id");
    const isBase = around === undefined || (address !== undefined && !address.startsWith("#"));
    this.#bases.set(inner, isBase ? inner : this.#bases.get(around)!);
    if (address !== undefined) this.#byName.set(address.replace(/#$/, ""), inner);
    for (const keyword of ["$anchor", "$dynamicAnchor"]) {
      const anchor = textAt(schema, keyword);
      if (anchor !== undefined) this.#byName.set(`#${anchor}`, inner);
    }
    if (!NAMING.some((keyword) => Object.hasOwn(schema, keyword))) return;
    for (let outer = around; outer !== undefined; outer = outer.around) {
      if (this.#naming.has(outer)) break;
      this.#naming.add(outer);
    }
  }

  #trace(inner: Subschema): void {
    for (const keyword of REFERRING) {
      let place = this.#resolved(inner, textAt(inner.schema, keyword));
      while (place !== undefined && place !== "") {
        const end = place.lastIndexOf("/");
        const outer = place.slice(0, end);
        const next = this.#through.get(outer) ?? new Set();
        if (next.has(place.slice(end + 1))) break;
        this.#through.set(outer, next.add(place.slice(end + 1)));
        place = outer;
      }
    }
  }

  /** The path that a reference means; `undefined` if it is not in the tool. */
  #resolved(inner: Subschema, reference: string | undefined): string | undefined {
    if (reference === undefined) return undefined;
    const named = this.#byName.get(reference);
    if (named !== undefined) return named.path;
    const [address = "", fragment = ""] = reference.split("#", 2);
    const base = address === "" ? this.#bases.get(inner) : this.#byName.get(address);
    if (base === undefined || !/^(?:$|\/)/.test(fragment)) return undefined;
    return base.path +
      pointerKeys(decodeUri(fragment)).map((key) => `/${pointerPart(key)}`).join("");
  }
}
