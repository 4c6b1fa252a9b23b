/**
 * Retyping of parameters: each gets a type that rules out every value its schema accepted before.
 * @module
 */

import { sample } from "@std/random";
import type { JsonObject } from "../../base/json.ts";
import type { Stream } from "../../base/random.ts";
import type { Subschema } from "../../tools/schema/subschemas.ts";
import { differences, type Edit } from "./_schema_edits.ts";
import { References, refers } from "./_schema_references.ts";
import {
  isCheckKeyword,
  isPlainCheckKeyword,
  type Kind,
  kindsOf,
  retyped,
  retypedExcept,
  SCALARS,
  targetsExcept,
} from "./_retype.ts";

/**
 * Returns the edits that give parameters other types. All schemas of one value, such as alternatives and the
 * schemas they refer to, get the same one. Objects and lists whose parts have schemas keep their type, and
 * so do schemas that accept values of any type.
 *
 * @param parameters The schema of all arguments, and every schema within it.
 */
export function retypings(parameters: readonly Subschema[], stream: Stream): Edit[] {
  const changes = new TypeChanges(parameters);
  return changes.groups.flatMap((group) => changes.edits(group, stream));
}

/** Schemas of the same value, in document order. */
type Group = readonly Subschema[];

/** Finds the type changes for the parameters of one tool. */
class TypeChanges {
  readonly groups: readonly Group[];
  readonly #children: ReadonlyMap<Subschema | undefined, readonly Subschema[]>;
  readonly #references: References;
  /** Schemas that accept values of certain types only. */
  readonly #bounded: ReadonlySet<Subschema>;

  constructor(parameters: readonly Subschema[]) {
    const demands = demandsAmong(parameters);
    this.#references = new References(parameters);
    this.#children = Map.groupBy(demands, ({ around }) => around);
    const demanded = new Set(demands);
    const targets = new Map(demands.map((inner) => [
      inner,
      this.#references.targetsOf(inner).filter((target) => demanded.has(target)),
    ]));
    this.groups = groupsOf(targets);
    this.#bounded = boundedAmong(targets);
  }

  /** The edits that give a group another type. */
  edits(group: Group, stream: Stream): Edit[] {
    const targets = targetsExcept(kindsIn(group));
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
        return differences(path, schema, retyped(schema, target, isCheckKeyword));
      }
      if (this.#containersIn(inner).length > 0 || stays([inner])) {
        return scalar === undefined
          ? []
          : differences(path, schema, retypedExcept(schema, containers, scalar));
      }
      if (kindsOf(schema).length === 0 || this.#isHeld(path)) return [];
      return differences(path, schema, retyped(schema, target, isPlainCheckKeyword));
    });
  }

  /** The kinds of container whose parts a schema describes; the root, all arguments, is an object. */
  #containersIn(inner: Subschema): Kind[] {
    const parts = (this.#children.get(inner) ?? []).flatMap(({ role, keyword }): Kind[] => {
      if (role === "property") return ["object"];
      if (role !== "part") return [];
      return [/properties$/i.test(keyword) ? "object" : "array"];
    });
    return inner.role === "root" ? ["object", ...parts] : parts;
  }

  /**
   * A schema with all its nested branches, if they can be replaced as one. `undefined` if they describe parts,
   * refer to another schema, or are referred to.
   */
  #branchesIn(top: Subschema): Group | undefined {
    if (this.#references.isNamedWithin(top)) return undefined;
    if (this.#references.leadInto(top.path, isCheckKeyword)) return undefined;
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

  /** Whether a reference leads through a keyword that retyping would remove. */
  #isHeld(path: string): boolean {
    return this.#references.leadInto(path, isPlainCheckKeyword);
  }
}

function kindsIn(group: Group): Kind[] {
  return [...new Set(group.flatMap(({ schema }) => kindsOf(schema)))];
}

/** All schemas except those of conditions, which require nothing, and those within them. */
function demandsAmong(parameters: readonly Subschema[]): Subschema[] {
  const demands = new Set<Subschema>();
  for (const inner of parameters) {
    const { role, around } = inner;
    if (role === "root" || (role !== "condition" && demands.has(around!))) demands.add(inner);
  }
  return [...demands];
}

/** The schemas that each schema refers to. */
type Targets = ReadonlyMap<Subschema, readonly Subschema[]>;

/** The schemas grouped by the value that they describe. */
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

/** The schemas that accept certain types only, by themselves or through other schemas of the same value. */
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

/** Whether the bounded branches of a schema, counted by keyword, leave no way for other types. */
function isBoundedBy(schema: JsonObject, bounded: ReadonlyMap<string, number>): boolean {
  const all = (keyword: string) => {
    const held = schema[keyword];
    return Array.isArray(held) && held.length === bounded.get(keyword);
  };
  return bounded.has("allOf") || all("anyOf") || all("oneOf") ||
    (Object.hasOwn(schema, "if") && bounded.has("then") && bounded.has("else"));
}
