/**
 * Cases under perturbations: tools, a question and what the tools return, as a model gets to see them,
 * while calls are still checked by the tools as they are (Butterfly, section 4).
 * @module
 */

import { sample } from "@std/random";
import { type FaultId, faultIn, type FaultInjector, isFault } from "../tools/fault.ts";
import { type AimedFault, injectorOf } from "./inject_faults.ts";
import { InputError } from "../base/errors.ts";
import { printable } from "../base/json.ts";
import {
  type Change,
  type DocumentMethod,
  isOn,
  type QueryMethod,
  type ReturnMethod,
} from "./methods.ts";
import { newOrder, perturbTools } from "./documents/perturb.ts";
import type { Query } from "./queries/parameters.ts";
import { perturbQuery } from "./queries/perturb.ts";
import { perturbReturn } from "./returns.ts";
import type { QueryWriter } from "./queries/write.ts";
import { isRemoving, type MetamorphicCheck, type PerturbationId, perturbationsIn } from "./ids.ts";
import { fork } from "../base/random.ts";
import type { ToolSchema } from "../tools/tool.ts";

/** What one perturbation did. */
export interface Step {
  /** The perturbation. */
  readonly id: PerturbationId;
  /** Whether it found anything to change. */
  readonly changed: boolean;
  /** What it changed of the tools or the question; returns are changed as they come. */
  readonly changes: readonly Change[];
}

/** What a model gets to see of a case. */
export interface PerturbedCase<T extends ToolSchema = ToolSchema> {
  /** The tools on offer. */
  readonly tools: readonly T[];
  /** The question. */
  readonly query: Query;
  /** Whether something was removed that the question had told, so that the right answer may be none. */
  readonly removed: boolean;
  /** What each perturbation did; those of returns only as far as there were any by now. */
  readonly steps: readonly Step[];
  /** What goes back in place of what a tool returned. */
  readonly perturbReturn: (text: string) => string;
  /** Puts faults in the way of the calls of one run; left out without any. */
  readonly injectFault?: FaultInjector;
}

/** What it takes to perturb a case. */
export interface CaseOptions {
  /** What is random is drawn from it. */
  readonly seed: number;
  /** The tools that must be called: faults hit one of them. Default the one that is called first. */
  readonly needed?: readonly string[];
  /** Writes about the values of the question; default the built-in writer. */
  readonly writer?: QueryWriter;
}

/**
 * Tools and a question of one's own under a perturbation, such as `RD` or `RP_F+CF`. A fault such as
 * `timeout` hits one of the tools that are needed, drawn from the seed, else the one that is called first;
 * `flaky` hits any. What they are made with is for one run, whose calls they count. Of the checks there is
 * `reorder` alone: other names would take from tools what their names say, and further tools are for
 * whoever has the tools to add.
 *
 * @throws {InputError} If there is no such perturbation, it is one for generated tasks only, or what is
 * needed is no tool.
 *
 * @example Usage
 * ```ts
 * import { perturbCase } from "./perturbed_case.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const text = "What is the weather in Rome?";
 * const parameters = [{ name: "city", value: "Rome", spans: [{ start: 23, end: 27 }] }];
 * const { query, removed } = perturbCase([], { text, parameters }, "RP_F", { seed: 7 });
 * assertEquals(query.text, "What is the weather in?");
 * assertEquals(removed, true);
 * ```
 */
export function perturbCase<T extends ToolSchema>(
  tools: readonly T[],
  query: Query,
  perturbation: string,
  options: CaseOptions,
): PerturbedCase<T> {
  const absent = options.needed?.find((needed) => !tools.some(({ name }) => name === needed));
  if (absent !== undefined) {
    throw new InputError(
      `Cannot perturb a case as what is needed must be some of its tools: ` +
        `${printable(absent, 100)} is none of ${tools.map(({ name }) => name).join(", ")}`,
    );
  }
  const work = new CaseWork(tools, query, options);
  const steps = perturbationsIn(perturbation).map((id) => work.take(id));
  return work.finish(steps) as PerturbedCase<T>;
}

/** What a toolbox does to let a model see a case as it is perturbed. */
export function seenThrough({ tools: offered, perturbReturn, injectFault }: PerturbedCase) {
  return { offered, perturbReturn, injectFault };
}

/** What was done, whatever it is called. */
export type Done = Omit<Step, "id">;

/** Perturbs one case, step by step. */
export class CaseWork {
  /** The tools as they are by now. */
  protected tools: readonly ToolSchema[];
  /** The question as it is by now. */
  protected query: Query;
  protected readonly seed: number;
  /** Writes about the values of the question. */
  protected writer: QueryWriter | undefined;
  /** The tool of which no call is allowed, where that is known. */
  protected denied: string | undefined;

  readonly #needed: readonly string[];
  readonly #faults: AimedFault[] = [];
  readonly #returns: ReturnMethod[] = [];
  /** Those of them that have changed anything. */
  readonly #effective = new Set<ReturnMethod>();
  #removed = false;

  /** Begins with what is to be perturbed. */
  constructor(
    tools: readonly ToolSchema[],
    query: Query,
    { seed, needed = [], writer }: CaseOptions,
  ) {
    this.tools = tools;
    this.query = query;
    this.seed = seed;
    this.writer = writer;
    this.#needed = needed;
  }

  /** Takes one step. */
  take(id: PerturbationId): Step {
    const { changed, changes } = isOn(id, "document")
      ? this.perturbTools(id)
      : isOn(id, "query")
      ? this.perturbQuery(id)
      : isOn(id, "return")
      ? this.perturbReturns(id)
      : isFault(id)
      ? this.fault(id)
      : this.check(id);
    return { id, changed, changes };
  }

  /** What the steps have come to. */
  finish(steps: readonly Step[]): PerturbedCase {
    const { tools, query } = this;
    const effective = this.#effective;
    return {
      tools,
      query,
      removed: this.#removed,
      get steps() {
        return steps.map((step) =>
          isOn(step.id, "return") ? { ...step, changed: effective.has(step.id) } : step
        );
      },
      perturbReturn: (text) => this.returned(text),
      ...(this.#faults.length === 0
        ? {}
        : { injectFault: injectorOf(this.#faults, { seed: this.seed }) }),
    };
  }

  protected perturbTools(id: DocumentMethod): Done {
    const { value, changed, changes } = perturbTools(id, this.tools, this.seed);
    this.tools = value;
    return { changed, changes };
  }

  protected perturbQuery(id: QueryMethod): Done {
    const { value, changed, changes } = perturbQuery(id, this.query, {
      seed: this.seed,
      ...(this.writer === undefined ? {} : { writer: this.writer }),
    });
    this.query = value;
    this.#removed ||= changed && isRemoving(id);
    return { changed, changes };
  }

  protected perturbReturns(id: ReturnMethod): Done {
    this.#returns.push(id);
    return { changed: true, changes: [] };
  }

  /**
   * Which tool a fault hits is known before any call, unless it is the one that is called first. Whether
   * `flaky` hits a call that is made is luck, and yet the tools are flaky.
   */
  protected fault(id: FaultId): Done {
    const setting = faultIn(id);
    const { kind } = setting;
    let hit = sample(this.needed(), fork(this.seed, "fault", kind));
    if (kind === "permission_denied") this.denied = hit;
    const hits = kind === "flaky" ? () => true : (tool: string) => (hit ??= tool) === tool;
    this.#faults.push({ ...setting, hits });
    return { changed: this.tools.length > 0, changes: [] };
  }

  /** The tools that must be called, in an order that hangs on nothing that perturbations change. */
  protected needed(): readonly string[] {
    return this.#needed;
  }

  protected check(id: MetamorphicCheck): Done {
    if (id !== "reorder") {
      throw new InputError(
        `Cannot perturb a case of one's own by ${id} as of the checks there is reorder alone: ` +
          "names say what tools of one's own are for, and tools to add are one's own",
      );
    }
    const order = newOrder(this.tools.length, fork(this.seed, id));
    if (order === undefined) return { changed: false, changes: [] };
    const { tools } = this;
    this.tools = order.map((place) => tools[place]!);
    const names = (own: readonly ToolSchema[]) => own.map(({ name }) => name);
    const change = {
      kind: "order",
      path: "",
      before: names(tools),
      after: names(this.tools),
    } as const;
    return { changed: true, changes: [change] };
  }

  /** What the steps so far make of what a tool returned. */
  protected returned(text: string): string {
    return this.#returns.reduce((own, method) => {
      const { value, changed } = perturbReturn(method, own);
      if (changed) this.#effective.add(method);
      return value;
    }, text);
  }
}
