/**
 * Stands in for the world until it is written.
 * @module
 */

import { sample, shuffle } from "@std/random";
import { type JsonObject, jsonText, type JsonValue } from "../base/json.ts";
import { fork } from "../base/random.ts";
import type { ToolGraph } from "./graph.ts";

/** What a call comes to. */
export type WorldResult = { readonly value: JsonValue } | {
  readonly unknown: {
    readonly parameter: string;
    readonly type: string;
    readonly value: JsonValue;
  };
};

/** The records that the tools of a task return. */
export class World {
  constructor(readonly graph: ToolGraph, readonly seed: number, _options?: object) {}
  ids(type: string): JsonValue[] {
    const isText = this.graph.types.get(type)!.type === "string";
    const { prng } = fork(this.seed, "ids", type);
    return Array.from({ length: 6 }, () => {
      const number = Math.floor(1e5 * prng());
      return isText ? String(number) : number;
    });
  }
  scope(name: string): JsonValue {
    return `${name}${this.seed % 1000}`;
  }
  related(type: string, id: JsonValue, relation: string): JsonValue {
    const place = [...this.graph.nodes.values()].flatMap((one) => one.records)
      .find((one) => "relation" in one.of && one.of.relation === relation)!;
    return sample(this.ids(place.type), fork(this.seed, type, jsonText(id), relation))!;
  }
  list(tool: string, input: JsonObject): JsonValue[] {
    const place = this.graph.nodes.get(tool)!.records.find((one) => "list" in one.of)!;
    return shuffle(this.ids(place.type), fork(this.seed, tool, jsonText(input))).slice(0, 3);
  }
  field(type: string, id: JsonValue, path: readonly string[]): JsonValue | undefined {
    return `V${Math.floor(1e9 * fork(this.seed, type, jsonText(id), ...path).prng())}`;
  }
  call(tool: string, input: JsonObject): WorldResult {
    const { takes, records } = this.graph.nodes.get(tool)!;
    for (const { parameter, type, role } of takes) {
      const value = input[parameter];
      if (role !== "id" || value === undefined || this.ids(type!).includes(value)) continue;
      return { unknown: { parameter, type: type!, value } };
    }
    return { value: { tool, records: records.length } };
  }
}
