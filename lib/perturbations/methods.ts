/**
 * Perturbation methods: imperfections of tool documents, user queries and tool returns, and how a change is
 * recorded (Butterfly, section 4 and appendix A.3).
 * @module
 */

import type { JsonValue } from "../base/json.ts";

/** The target of each perturbation: a tool document, a user's query, or a tool's return. */
export const PERTURBED = {
  RD: "document",
  RE: "document",
  WD: "document",
  WT: "document",
  SD: "document",
  CO: "document",
  RP_F: "query",
  RP_L: "query",
  CP: "query",
  AN: "query",
  FK: "return",
  AP: "return",
  CK: "return",
  UK: "return",
  CF: "return",
} as const;

/** The id of one of the 15 methods. */
export type PerturbationMethod = keyof typeof PERTURBED;

/** The methods that change a tool document. */
export type DocumentMethod = MethodOn<"document">;

/** The methods that change a user's query. */
export type QueryMethod = MethodOn<"query">;

/** The methods that change a tool's return. */
export type ReturnMethod = MethodOn<"return">;

/** The methods with a given target. */
export type MethodOn<Source> = {
  [Id in PerturbationMethod]: typeof PERTURBED[Id] extends Source ? Id : never;
}[PerturbationMethod];

/** Whether an id is that of a method. */
export function isMethod(id: string): id is PerturbationMethod {
  return Object.hasOwn(PERTURBED, id);
}

/** Whether an id is that of a method with this target. */
export function isOn<Source extends typeof PERTURBED[PerturbationMethod]>(
  id: string,
  source: Source,
): id is MethodOn<Source> {
  return isMethod(id) && PERTURBED[id] === source;
}

/** All methods, ordered by target. */
export const PERTURBATION_METHODS = Object.keys(PERTURBED) as readonly PerturbationMethod[];

/**
 * One change. Paths are JSON pointers (RFC 6901) into the value before the change, the empty one being the
 * whole; `start` and `end` are offsets in UTF-16 code units.
 */
export type Change =
  | {
    /** A value was added if `before` is absent, removed if `after` is, otherwise replaced. */
    readonly kind: "value";
    readonly path: string;
    readonly before?: JsonValue;
    readonly after?: JsonValue;
  }
  | {
    /** A key of the object at `path` has another name. */
    readonly kind: "key";
    readonly path: string;
    readonly before: string;
    readonly after: string;
  }
  | {
    /** The keys of the object, or the items of the list, at `path` have another order. */
    readonly kind: "order";
    readonly path: string;
    readonly before: readonly string[];
    readonly after: readonly string[];
  }
  | {
    /** A part of a text was replaced; if `start` equals `end`, text was inserted. */
    readonly kind: "text";
    readonly start: number;
    readonly end: number;
    readonly before: string;
    readonly after: string;
  };

/** The result of a perturbation. */
export interface Perturbed<T> {
  /** The perturbed value; the same object if nothing was changed. */
  readonly value: T;
  /** Whether anything was changed: a method may find nothing that it applies to. */
  readonly changed: boolean;
  /** All changes; empty exactly if `changed` is false. */
  readonly changes: readonly Change[];
}

/** The effect of each method, in a few words. */
export const EFFECTS: Readonly<Record<PerturbationMethod, string>> = {
  RD: "descriptions of required parameters removed",
  RE: "usage examples removed",
  WD: "descriptions of parameters replaced by those of unrelated tools",
  WT: "types of parameters changed to other types",
  SD: "descriptions of a pair of parameters swapped",
  CO: "order of the parameters changed",
  RP_F: "information of the first parameter removed",
  RP_L: "information of the last parameter removed",
  CP: "values of parameters expressed in a complicated way",
  AN: "interfering information, similar to the parameters, appended",
  FK: "keys replaced by Object_1, Object_2, ...",
  AP: "ID_ put before the values of keys with the word id",
  CK: "keys written in camelCase",
  UK: "keys written in snake_case",
  CF: "the last character replaced by ...",
};

/** The result if a method does not apply to a value. */
export function unchanged<T>(value: T): Perturbed<T> {
  return { value, changed: false, changes: [] };
}

/** The result of changes to `before`; unchanged if there are none. */
export function perturbed<T>(before: T, value: T, changes: readonly Change[]): Perturbed<T> {
  return changes.length === 0 ? unchanged(before) : { value, changed: true, changes };
}

/** Why a method found nothing to change. */
export const IDLE_REASONS: Readonly<Record<PerturbationMethod, string>> = {
  RD: "no required parameter of the document has a description",
  RE: "the document has no usage examples",
  WD: "the document has no parameter with a description",
  WT: "no parameter of the document has a type that could be another one",
  SD: "the document has no two parameters with different descriptions",
  CO: "no tool of the document has two parameters or more",
  RP_F: "the query holds no value of a parameter",
  RP_L: "the query holds no value of a parameter",
  CP: "the query holds no value of a parameter that the writer can say in another way",
  AN: "the query holds no value of a parameter for which the writer has a similar one",
  FK: "the return has no key",
  AP: "the return has no key with the word id that has a text or a number",
  CK: "all keys of the return are in camelCase",
  UK: "all keys of the return are in snake_case",
  CF: "the return is empty",
};

/**
 * Why a perturbed task has no answer that a model could be held to: the question lacks a value (`removed`), a
 * function is denied (`denied`), nothing shows which values a parameter takes (`unlinked`), or documents show
 * others than it takes (`misleading`). In all but the last, a model can see it.
 */
export const OBSTACLES = ["removed", "denied", "unlinked", "misleading"] as const;

/** Why a perturbed task has no answer that a model could be held to; see {@linkcode OBSTACLES}. */
export type Obstacle = typeof OBSTACLES[number];
