/**
 * Stands in for the world until it is written.
 * @module
 */

import type { JsonObject, JsonValue } from "../base/json.ts";
import type { ToolGraph } from "./graph.ts";

/** What a call comes to: a result, or which argument names nothing that there is. */
export type WorldAnswer =
  | { readonly value: JsonValue; readonly unknown?: never }
  | {
    readonly value?: never;
    readonly unknown: {
      readonly parameter: string;
      readonly type: string;
      readonly value: JsonValue;
    };
  };

/** The records that the tools of a task return. */
export declare class World {
  constructor(graph: ToolGraph, seed: number, options?: { readonly unknown?: "error" | "values" });
  ids(type: string): readonly JsonValue[];
  scope(name: string): JsonValue;
  call(tool: string, input: JsonObject): WorldAnswer;
  field(type: string, id: JsonValue, path: readonly string[]): JsonValue | undefined;
  related(type: string, id: JsonValue, relation: string): JsonValue;
  list(tool: string, input: JsonObject): readonly JsonValue[];
}
