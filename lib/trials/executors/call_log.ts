/**
 * Call logs: record the calls that a custom agent makes on its tools.
 * @module
 */

import { type CallRecord, type RecordedCall, recordedCalls } from "../../calls/record.ts";
import { cannot } from "../../base/errors.ts";
import type { Usage } from "../../tools/message.ts";
import { isOn } from "../../perturbations/methods.ts";
import { perturbationsIn } from "../../perturbations/ids.ts";
import { assertTools } from "../../tools/define_tool.ts";
import { perturbCase, type PerturbedCase } from "../../perturbations/perturbed_case.ts";
import { schemaOf, type Tool, type ToolSchema } from "../../tools/tool.ts";
import { Toolbox } from "./toolbox.ts";
import type { TraceEvent } from "../../calls/trace.ts";

/** Options of {@linkcode logCalls}. */
export interface LogCallsOptions {
  /** Perturbation of the tools and results that the agent sees; default none. */
  readonly perturbation?: {
    /** The id, such as `WT` or `RD+CF`. */
    readonly id: string;
    /** The seed of its random choices. */
    readonly seed: number;
  };
}

/** The calls of a custom agent, recorded as they are made, for use in assertions. */
export class CallLog implements CallRecord {
  /** The original tools. */
  readonly tools: readonly ToolSchema[];
  /** The tools for the agent: each call on them is checked and recorded. */
  readonly recorded: readonly Tool[];
  /** Model replies are not seen. */
  readonly replies = 0;
  /** Nor are their tokens. */
  readonly usage: Usage = { inputTokens: 0, outputTokens: 0 };

  readonly #toolbox: Toolbox;
  readonly #started = performance.now();
  #durationMs: number | undefined;
  #answer: string | null = null;

  /**
   * Wraps tools.
   *
   * @throws {InputError} If a tool or its schema is invalid, two tools share a name, or the perturbation is
   * unknown.
   */
  constructor(tools: readonly Tool[], { perturbation }: LogCallsOptions = {}) {
    assertTools(tools);
    this.tools = tools.map(schemaOf);
    const perturbed = perturbWithoutQuestion(this.tools, perturbation);
    this.#toolbox = new Toolbox(tools, { perturbed });
    this.recorded = this.#toolbox.tools.map((tool): Tool => ({
      ...tool,
      execute: async (input) => {
        if (!this.#toolbox.ended) return await tool.execute(input);
        throw new Error(`Cannot call ${tool.name} as the recording has ended`);
      },
    }));
  }

  /** The calls so far, in order. */
  get calls(): readonly RecordedCall[] {
    return recordedCalls(this.#toolbox.events, this.#toolbox.uncut);
  }

  /** Everything that has happened so far, in order. */
  get events(): readonly TraceEvent[] {
    return this.#toolbox.events;
  }

  /** The final text; `null` until {@linkcode CallLog.end} sets it. */
  get answer(): string | null {
    return this.#answer;
  }

  /** Milliseconds from the start to the answer, or until now. */
  get durationMs(): number {
    return this.#durationMs ?? Math.round(performance.now() - this.#started);
  }

  /**
   * Ends the recording with the agent's final text. Later calls are an error.
   *
   * @throws {InputError} If calls are still under way, as their results would be lost.
   */
  end(answer: string | null): this {
    const { pending } = this.#toolbox;
    if (pending > 0) {
      throw cannot(
        "end the recording",
        "all calls must have come back",
        `${pending} ${pending === 1 ? "is" : "are"} still under way; await them`,
      );
    }
    this.#durationMs = this.durationMs;
    this.#answer = answer;
    this.#toolbox[Symbol.dispose]();
    return this;
  }
}

/** Perturbs tools and what they return, where nothing is known of the question. */
function perturbWithoutQuestion(
  tools: readonly ToolSchema[],
  perturbation: LogCallsOptions["perturbation"],
): PerturbedCase | undefined {
  if (perturbation === undefined) return undefined;
  const { id, seed } = perturbation;
  const ofQuery = perturbationsIn(id).find((one) => isOn(one, "query"));
  if (ofQuery === undefined) {
    return perturbCase(tools, { text: "", parameters: [] }, id, { seed });
  }
  throw cannot(
    `record calls under ${ofQuery}`,
    "that changes the question, which the agent is asked elsewhere",
    "change the question yourself",
  );
}

/**
 * Records the calls of a custom agent, which gets `recorded` instead of the tools. Arguments are checked
 * before a tool runs; an error that a tool throws is returned to the agent.
 *
 * @throws {InputError} If a tool or its schema is invalid, two tools share a name, or the perturbation is
 * unknown.
 *
 * @example Usage
 * ```ts
 * import { logCalls, tool } from "@toolgate/toolgate";
 * import { assertEquals } from "@std/assert";
 * import { z } from "zod";
 *
 * const search = tool({
 *   name: "search",
 *   description: "Searches",
 *   parameters: z.object({ query: z.string() }),
 *   returns: ["a", "b"],
 * });
 *
 * const run = logCalls([search]);
 * // Here an agent would work with run.recorded.
 * await run.recorded[0]!.execute({ query: "letters" });
 * run.end("a and b");
 *
 * assertEquals(run.calls.map(({ tool, arguments: given }) => [tool, given]), [
 *   ["search", { query: "letters" }],
 * ]);
 * ```
 */
export function logCalls(
  tools: readonly Tool[],
  options: LogCallsOptions = {},
): CallLog {
  return new CallLog(tools, options);
}
