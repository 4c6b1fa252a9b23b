/**
 * Other types: parameters get a type that no value which their schema accepts has.
 * @module
 */

import { sample } from "@std/random";
import type { JsonObject } from "../../base/json.ts";
import type { Stream } from "../../base/random.ts";
import type { Subschema } from "../../tools/schema/subschemas.ts";
import { differences, type Edit } from "./schema_edits.ts";
import { References, refers } from "./schema_references.ts";
import {
  isCheck,
  isPlainCheck,
  type Kind,
  kindsOf,
  retyped,
  retypedBeside,
  SCALARS,
  targetsBeside,
} from "./retype.ts";

/**
 * The edits by which parameters get other types. All schemas that speak of one value, such as alternatives
 * and what they refer to, get the same one. Objects and lists whose parts have schemas stay, and so does
 * what takes values of any type.
 *
 * @param parameters The schema of all arguments, and every one in it.
 */
export function otherTypes(parameters: readonly Subschema[], stream: Stream): Edit[] {
  const work = new Work(parameters);
  return work.groups.flatMap((group) => work.edits(group, stream));
}

/** Schemas that speak of the same values, in the order of the text. */
type Group = readonly Subschema[];

/** Works on the parameters of one tool. */
class Work {
  readonly groups: readonly Group[];
  readonly #children: ReadonlyMap<Subschema | undefined, readonly Subschema[]>;
  readonly #references: References;
  /** Schemas that take values of known types only. */
  readonly #bounded: ReadonlySet<Subschema>;

  constructor(parameters: readonly Subschema[]) {
    const demands = demandsAmong(parameters);
    this.#references = new References(parameters);
    this.#children = Map.groupBy(demands, ({ around }) => around);
    const known = new Set(demands);
    const targets = new Map(demands.map((inner) => [
      inner,
      this.#references.targetsOf(inner).filter((target) => known.has(target)),
    ]));
    this.groups = groupsOf(targets);
    this.#bounded = boundedAmong(targets);
  }

  /** The edits by which a group gets another type. */
  edits(group: Group, stream: Stream): Edit[] {
    const targets = targetsBeside(kindsIn(group));
    const isOpen = group.some((inner) => inner.role !== "branch" && !this.#bounded.has(inner));
    if (isOpen || targets.length === 0) return [];
    const target = sample(targets, stream)!;
    const scalar = sample(SCALARS.filter((other) => targets.includes(other)), stream);
    const containers = new Set(group.flatMap((inner) => this.#containersIn(inner)));
    const stays = (inner: Group) => kindsIn(inner).some((kind) => containers.has(kind));
    const gone = new Set<Subschema>();
    return group.flatMap((inner): Edit[] => {
      const { schema, path, role, around } = inner;
      if (role === "root") return [];
      if (role === "branch" && gone.has(around!)) {
        gone.add(inner);
        return [];
      }
      const branches = this.#branchesIn(inner);
      if (branches !== undefined && !stays(branches) && kindsIn(branches).length > 0) {
        gone.add(inner);
        return differences(path, schema, retyped(schema, target, isCheck));
      }
      if (this.#containersIn(inner).length > 0 || stays([inner])) {
        return scalar === undefined
          ? []
          : differences(path, schema, retypedBeside(schema, containers, scalar));
      }
      if (kindsOf(schema).length === 0 || this.#isHeld(path)) return [];
      return differences(path, schema, retyped(schema, target, isPlainCheck));
    });
  }

  /** The kinds of container that a schema describes the parts of; all arguments are an object. */
  #containersIn(inner: Subschema): Kind[] {
    const parts = (this.#children.get(inner) ?? []).flatMap(({ role, keyword }): Kind[] => {
      if (role === "property") return ["object"];
      if (role !== "part") return [];
      return [/properties$/i.test(keyword) ? "object" : "array"];
    });
    return inner.role === "root" ? ["object", ...parts] : parts;
  }

  /**
   * A schema with its branches, and theirs, where these are nothing without it: the whole can become another
   * one. `undefined` where parts are described, something else is referred to, or leads there.
   */
  #branchesIn(top: Subschema): Group | undefined {
    if (this.#references.isNamedWithin(top)) return undefined;
    if (this.#references.leadInto(top.path, isCheck)) return undefined;
    const found = [top];
    for (const inner of found) {
      if (refers(inner)) return undefined;
      for (const child of this.#children.get(inner) ?? []) {
        if (child.role === "branch") found.push(child);
        else if (child.role !== "definition" || inner !== top) return undefined;
      }
    }
    return found;
  }

  /** Whether a reference leads by what is not there afterwards. */
  #isHeld(path: string): boolean {
    return this.#references.leadInto(path, isPlainCheck);
  }
}

function kindsIn(group: Group): Kind[] {
  return [...new Set(group.flatMap(({ schema }) => kindsOf(schema)))];
}

/** All schemas but those of conditions, which demand nothing, and those in them. */
function demandsAmong(parameters: readonly Subschema[]): Subschema[] {
  const demands = new Set<Subschema>();
  for (const inner of parameters) {
    const { role, around } = inner;
    if (role === "root" || (role !== "condition" && demands.has(around!))) demands.add(inner);
  }
  return [...demands];
}

/** The schemas and what they refer to. */
type Targets = ReadonlyMap<Subschema, readonly Subschema[]>;

/** The schemas by the values that they speak of. */
function groupsOf(targets: Targets): Group[] {
  const linked = new Map<Subschema, Subschema[]>(
    Array.from(targets.keys(), (inner) => [inner, []]),
  );
  const link = (one: Subschema, other: Subschema) => {
    linked.get(one)!.push(other);
    linked.get(other)!.push(one);
  };
  for (const [inner, referred] of targets) {
    if (inner.role === "branch") link(inner, inner.around!);
    for (const target of referred) link(inner, target);
  }
  const numbers = new Map<Subschema, number>();
  for (const first of linked.keys()) {
    if (numbers.has(first)) continue;
    const number = numbers.size;
    const group = new Set([first]);
    for (const inner of group) {
      numbers.set(inner, number);
      for (const other of linked.get(inner)!) group.add(other);
    }
  }
  return [...Map.groupBy(targets.keys(), (inner) => numbers.get(inner)!).values()];
}

/** The schemas that take values of known types only, by themselves or by what else speaks of the value. */
function boundedAmong(targets: Targets): Set<Subschema> {
  const bounded = new Set<Subschema>();
  const referring = new Map<Subschema, Subschema[]>();
  const counts = new Map<Subschema, Map<string, number>>();
  for (const [inner, referred] of targets) {
    counts.set(inner, new Map());
    for (const target of referred) {
      const others = referring.get(target);
      if (others === undefined) referring.set(target, [inner]);
      else others.push(inner);
    }
  }
  const waiting = [...targets.keys()].filter(({ schema }) => kindsOf(schema).length > 0);
  for (const inner of waiting) {
    if (bounded.has(inner)) continue;
    bounded.add(inner);
    waiting.push(...referring.get(inner) ?? []);
    const { role, keyword, around } = inner;
    if (role !== "branch") continue;
    const count = counts.get(around!)!;
    count.set(keyword, (count.get(keyword) ?? 0) + 1);
    if (isBoundedBy(around!.schema, count)) waiting.push(around!);
  }
  return bounded;
}

/** Whether a schema is left no way for other types, by how many of its branches are bounded. */
function isBoundedBy(schema: JsonObject, bounded: ReadonlyMap<string, number>): boolean {
  const all = (keyword: string) => {
    const held = schema[keyword];
    return Array.isArray(held) && held.length === bounded.get(keyword);
  };
  return bounded.has("allOf") || all("anyOf") || all("oneOf") ||
    (Object.hasOwn(schema, "if") && bounded.has("then") && bounded.has("else"));
}
