/**
 * Perturbations: what can be imperfect about a tool document, a user's query or a tool's return, and how
 * a change is told (Butterfly, section 4 and appendix A.3).
 * @module
 */

import type { JsonValue } from "../base/json.ts";

/** What each perturbation changes: a tool document, a user's query, or what a tool returns. */
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

/** The 15 methods. */
export type PerturbationMethod = keyof typeof PERTURBED;

/** The methods that change a tool document. */
export type DocumentMethod = MethodOn<"document">;

/** The methods that change a user's query. */
export type QueryMethod = MethodOn<"query">;

/** The methods that change what a tool returns. */
export type ReturnMethod = MethodOn<"return">;

/** The methods that change something of a kind. */
export type MethodOn<Source> = {
  [Id in PerturbationMethod]: typeof PERTURBED[Id] extends Source ? Id : never;
}[PerturbationMethod];

/** Whether an id is that of a method. */
export function isMethod(id: string): id is PerturbationMethod {
  return Object.hasOwn(PERTURBED, id);
}

/** Whether an id is that of a method which changes things of this kind. */
export function isOn<Source extends typeof PERTURBED[PerturbationMethod]>(
  id: string,
  source: Source,
): id is MethodOn<Source> {
  return isMethod(id) && PERTURBED[id] === source;
}

/** All methods, by source. */
export const PERTURBATION_METHODS = Object.keys(PERTURBED) as readonly PerturbationMethod[];

/**
 * One change, told in terms of what was there before: paths are JSON pointers (RFC 6901), the empty one
 * being all of it, and places are offsets in UTF-16 code units.
 */
export type Change =
  | {
    /** A value was added, where `before` is absent, removed, where `after` is, or replaced. */
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
    /** A part of a text reads otherwise; nothing was there where both ends are one. */
    readonly kind: "text";
    readonly start: number;
    readonly end: number;
    readonly before: string;
    readonly after: string;
  };

/** What a perturbation makes of something. */
export interface Perturbed<T> {
  /** The value as it is now: the very same one where nothing was changed. */
  readonly value: T;
  /** Whether anything was changed: a method may find nothing that it applies to. */
  readonly changed: boolean;
  /** What was changed, and nothing else was; empty exactly where `changed` is false. */
  readonly changes: readonly Change[];
}

/** What each method does, in a few words. */
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

/** What nothing could be done about. */
export function unchanged<T>(value: T): Perturbed<T> {
  return { value, changed: false, changes: [] };
}

/** What so many changes, perhaps none, have made of `before`. */
export function perturbed<T>(before: T, value: T, changes: readonly Change[]): Perturbed<T> {
  return changes.length === 0 ? unchanged(before) : { value, changed: true, changes };
}
