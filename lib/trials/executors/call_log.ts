/**
 * Recordings of calls: the tools of an agent of the user's own, and what became of each call on them.
 * @module
 */

import { type CallRecord, type RecordedCall, recordedCalls } from "../../calls/record.ts";
import { InputError } from "../../base/errors.ts";
import type { Usage } from "../../tools/message.ts";
import { isOn } from "../../perturbations/methods.ts";
import { perturbationsIn } from "../../perturbations/ids.ts";
import { assertTools } from "../../tools/define_tool.ts";
import { perturbCase, toolboxOptions } from "../../perturbations/perturbed_case.ts";
import { schemaOf, type Tool, type ToolSchema } from "../../tools/tool.ts";
import { Toolbox } from "./toolbox.ts";
import type { TraceEvent } from "../../calls/trace.ts";

/** Options of {@linkcode logCalls}. */
export interface LogCallsOptions {
  /** What is done to what the agent gets to see of the tools and their returns; default nothing. */
  readonly perturbation?: {
    /** The id, such as `WT` or `RD+CF`. */
    readonly id: string;
    /** What is random is drawn from it. */
    readonly seed: number;
  };
}

/** What is known of a run beside its calls. */
export interface RunFacts {
  /** Model replies. */
  readonly replies?: number;
  /** Tokens read and written. */
  readonly usage?: Usage;
}

/** The calls of an agent of one's own, as they are made: what assertions take. */
export class CallLog implements CallRecord {
  /** The tools as they are. */
  readonly tools: readonly ToolSchema[];
  /** The tools that the agent is to be given: each call on them is checked and recorded. */
  readonly recorded: readonly Tool[];

  readonly #toolbox: Toolbox;
  readonly #begun = performance.now();
  #durationMs: number | undefined;
  #answer: string | null = null;
  #facts: RunFacts = {};

  /**
   * Wraps tools.
   *
   * @throws {InputError} If one is no tool, two share a name, the schema of one is none, or the perturbation
   * is unknown.
   */
  constructor(tools: readonly Tool[], { perturbation }: LogCallsOptions = {}) {
    assertTools(tools);
    assertNoQuestion(perturbation?.id);
    this.tools = tools.map(schemaOf);
    const seen = perturbation === undefined ? undefined : perturbCase(
      this.tools,
      { text: "", parameters: [] },
      perturbation.id,
      perturbation,
    );
    this.#toolbox = new Toolbox(
      tools,
      seen === undefined ? {} : toolboxOptions(seen),
    );
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

  /** The final text; `null` until it is told. */
  get answer(): string | null {
    return this.#answer;
  }

  /** Model replies, as they were told; else 0. */
  get replies(): number {
    return this.#facts.replies ?? 0;
  }

  /** Tokens, as they were told; else 0. */
  get usage(): Usage {
    return this.#facts.usage ?? { inputTokens: 0, outputTokens: 0 };
  }

  /** Milliseconds from the beginning to the answer, or until now. */
  get durationMs(): number {
    return this.#durationMs ?? Math.round(performance.now() - this.#begun);
  }

  /**
   * Begins a new step. From the first use on, steps begin here and nowhere else: for agents that carry out
   * the calls of one reply one after another.
   */
  step(): void {
    this.#toolbox.step();
  }

  /**
   * Takes the agent's final text, and what else is known of its run. Calls after it are an error.
   *
   * @throws {InputError} If calls are still under way: what becomes of them would be lost.
   */
  end(answer: string | null, facts: RunFacts = {}): this {
    const { pending } = this.#toolbox;
    if (pending > 0) {
      throw new InputError(
        `Cannot end the recording as all calls must have come back: ${pending} ` +
          (pending === 1 ? "is" : "are") + " still under way; await them",
      );
    }
    this.#durationMs = this.durationMs;
    this.#answer = answer;
    this.#facts = facts;
    this.#toolbox[Symbol.dispose]();
    return this;
  }
}

/** A recording knows no question: what would change one changes nothing. */
function assertNoQuestion(perturbation: string | undefined): void {
  const own = perturbation === undefined ? [] : perturbationsIn(perturbation);
  const idle = own.find((id) => isOn(id, "query"));
  if (idle === undefined) return;
  throw new InputError(
    `Cannot record calls under ${idle} as that changes the question, which the agent is asked elsewhere: ` +
      "perturb it by perturbQuery",
  );
}

/**
 * Records the calls of an agent of one's own, whatever it is built with: it gets `recorded` in place of
 * the tools. Arguments are checked before a tool runs; what a tool throws goes back as an error.
 *
 * @throws {InputError} If one is no tool, two share a name, the schema of one is none, or the perturbation
 * is unknown.
 *
 * @example Usage
 * ```ts
 * import { logCalls } from "./call_log.ts";
 * import { tool } from "../../tools/define_tool.ts";
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
