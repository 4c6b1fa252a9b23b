/**
 * What a chain is, and the task that it draws.
 * @module
 */

import type { JsonObject, JsonValue } from "../base/json.ts";
import type { Tool } from "../tools/tool.ts";
import type { ToolGraph } from "./graph.ts";
import type { World } from "./world.ts";

/** A chain of calls that each trial draws anew, from its seed. */
export interface Chain {
  /** Its name, such as `chain 17 of 3 calls`. */
  readonly name: string;
  /** The number of calls that its question needs, at least. */
  readonly calls: number;
  /** The graph that its calls follow. */
  readonly graph: ToolGraph;
  /** All that its tasks depend on but the seed, as text: for hashes. */
  readonly id: string;
  /** The hash of {@linkcode sample}, the same for all chains that were made together. */
  readonly sample: string;
  /** Whether that hash was given as `confirmed`: whether somebody has read the sample. */
  readonly confirmed: boolean;
  /** The same questions with the tools of other versions, by name; omitted without any. */
  readonly versions?: ReadonlyMap<string, Chain>;
  /**
   * Draws its task: the same for the same seed.
   *
   * @throws {InputError} If none is found, as each that was drawn can be answered by fewer calls; or if the tools of
   * this version do not lead to the answer.
   */
  draw(seed: number): ChainTask;
}

/** A record of a world: the type of its id by name, such as `project.gid`, and the id. */
export interface RecordId {
  /** The name of the type. */
  readonly type: string;
  /** The id. */
  readonly id: JsonValue;
}

/** A question over a world, with the calls that answer it. */
export interface ChainTask {
  /** The question, with how to write the answer. */
  readonly question: string;
  /** The calls, in their order. */
  readonly calls: readonly { readonly tool: string; readonly arguments: JsonObject }[];
  /** The right answer. */
  readonly answer: JsonValue;
  /** Where it stands: the record, and the way within it. */
  readonly target: RecordId & { readonly path: readonly string[] };
  /** The records whose ids the question gives. */
  readonly given: readonly RecordId[];
  /** The values of scopes that the question gives, by name. */
  readonly scopes: Readonly<Record<string, JsonValue>>;
  /** The values of other records in place of the answer: who names one of them is wrong. */
  readonly others: readonly JsonValue[];
  /** The tools on offer, which answer from the world. */
  readonly tools: readonly Tool[];
  /** What the tools answer. */
  readonly world: World;
  /** What each call shows for the next one; the last shows the answer. */
  readonly steps: readonly ChainStep[];
}

/** What a call of a chain shows that the next one takes. */
export interface ChainStep {
  /** The name of the tool. */
  readonly tool: string;
  /** The way to it from the whole result: names of properties, and `*` for each item of a list. */
  readonly at: readonly string[];
  /** The record that it names; of the last call, the one that the answer is of. */
  readonly shows: RecordId;
}
