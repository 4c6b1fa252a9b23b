/**
 * The graph of a set of tools: which ids they take and return, and which of them lead to each other.
 * @module
 */

import type { JsonObject } from "../base/json.ts";
import type { Tool } from "../tools/tool.ts";

/** A type of ids: the key of an entity. */
export interface IdType {
  /** `ENTITY.KEY`, such as `project.gid`, by which options name it. */
  readonly name: string;
  /** The entity, in the singular, in lower case and words apart, such as `work order`. */
  readonly entity: string;
  /** The property of its records that holds the id, such as `gid`. */
  readonly key: string;
  /** The JSON type of its ids. */
  readonly type: "string" | "integer";
  /** The schemas of the id, of all places where it is taken or returned, without references. */
  readonly schemas: readonly JsonObject[];
}

/**
 * What a parameter is for: `id` takes an id of a type; `scope` a value that the question gives and that all calls of a
 * task share, such as an account; `fixed` a value that no model is asked for, such as a credential; `free` anything else.
 */
export type TakeRole = "id" | "scope" | "fixed" | "free";

/** A parameter of a tool. */
export interface Take {
  /** Its name. */
  readonly parameter: string;
  readonly role: TakeRole;
  /** The name of its type of ids; of a `scope` the name of the scope. Omitted for others. */
  readonly type?: string;
  readonly required: boolean;
  /** Its schema, without references. */
  readonly schema: JsonObject;
}

/** The rule by which a link is strict, or that a person named it. */
export type LinkRule = "own key" | "named id" | "path word" | "given";

/** A place in the result of a tool where a record of an entity stands, or its id alone. */
export interface RecordPlace {
  /** The way there from the whole result: names of properties, and `*` for each item of a list. */
  readonly path: readonly string[];
  /** The name of the type of its id. */
  readonly type: string;
  /** The property of the record that holds the id; omitted where the id itself stands there. */
  readonly key?: string;
  /**
   * Which record it is: the one that an argument names; one of a list of what the arguments name; or the one that is
   * related to the record around it.
   */
  readonly of: { readonly argument: string } | { readonly list: true } | {
    /** How it is related: `owner` of `owner_id`, `owner.id` or `owner`. */
    readonly relation: string;
  };
  readonly rule: LinkRule;
}

/** A tool in a graph. */
export interface ToolNode {
  /** The tool as a model is offered it: without its fixed parameters. */
  readonly tool: Tool;
  /** Whether it changes nothing, so that chains may call it. */
  readonly reads: boolean;
  readonly takes: readonly Take[];
  /** The JSON Schema of its result; omitted where it is not known. */
  readonly result?: JsonObject;
  /** The records in its result, each after the one that it stands in. */
  readonly records: readonly RecordPlace[];
}

/** A link that no strict rule shows, for a person to decide on. */
export interface Suggestion {
  readonly tool: string;
  /** A parameter of the tool, or a way in its result, such as `data.*.owner`. */
  readonly at: string;
  /** The name of the type of ids that it may be. */
  readonly type: string;
  /** Why. */
  readonly reason: string;
}

/** What keeps a tool from being of use in chains. */
export interface Gap {
  readonly tool: string;
  /** What is missing, and what to write, on one line. */
  readonly reason: string;
}

/** The graph of a set of tools. */
export interface ToolGraph {
  /** The tools by name, in their order. */
  readonly nodes: ReadonlyMap<string, ToolNode>;
  /** The types of ids by name. */
  readonly types: ReadonlyMap<string, IdType>;
  /** The schemas of each scope, by its name. */
  readonly scopes: ReadonlyMap<string, readonly JsonObject[]>;
  readonly suggestions: readonly Suggestion[];
  readonly gaps: readonly Gap[];
  /** The words of questions in place of those that names give. */
  readonly words: ChainWords;
  /** A hash of what a person reviews: types, links, scopes and words. */
  readonly digest: string;
}

/** Words of questions. */
export interface ChainWords {
  /** Of an entity by its name, such as `{ "work order": "job" }`. */
  readonly entities?: Readonly<Record<string, string>>;
  /** Of a relation by `ENTITY.RELATION`, such as `{ "task.assignee": "person in charge" }`. */
  readonly relations?: Readonly<Record<string, string>>;
  /** Of a field that is asked for by `ENTITY.PATH`, such as `{ "pet.weight": "weight in grams" }`. */
  readonly fields?: Readonly<Record<string, string>>;
}

/** Options of {@linkcode toolGraph}: what a person decides. It may be read from a JSON file. */
export interface ToolGraphOptions {
  /** The result of tools that declare none, by name: a JSON Schema, or an example of it. */
  readonly returns?: Readonly<
    Record<string, { readonly schema: JsonObject } | { readonly example: unknown }>
  >;
  /** Links by `TOOL.PARAMETER` or `TOOL:WAY.IN.RESULT`: the name of a type of ids, or `null` where there is none. */
  readonly links?: Readonly<Record<string, string | null>>;
  /** Names of parameters whose values the question gives, and which all calls of a task share. */
  readonly scope?: readonly string[];
  /** Names of parameters that no model is asked for, beside those of credentials. */
  readonly fixed?: readonly string[];
  /** Names of tools that change nothing, beside those that say so. */
  readonly reads?: readonly string[];
  readonly words?: ChainWords;
}
