/**
 * Perturbed cases: tools, a question and returns as the model sees them. Calls are still checked against the
 * original tools (Butterfly, section 4).
 * @module
 */

import { sample } from "@std/random";
import { type FaultId, faultIn, type FaultInjector, isFault } from "../tools/fault.ts";
import { type AimedFault, faultInjector } from "./inject_faults.ts";
import { cannot } from "../base/errors.ts";
import {
  type Change,
  type DocumentMethod,
  isOn,
  type QueryMethod,
  type ReturnMethod,
} from "./methods.ts";
import { newOrder, perturbTools } from "./documents/perturb.ts";
import type { Query } from "./queries/literals.ts";
import { perturbQuery } from "./queries/perturb.ts";
import { perturbReturn } from "./returns.ts";
import type { QueryWriter } from "./queries/_query_writer.ts";
import {
  INJECTED_INSTRUCTION,
  isRemoving,
  type MetamorphicCheck,
  type PerturbationId,
  perturbationsIn,
} from "./ids.ts";
import { fork } from "../base/random.ts";
import type { InstructionInjector } from "../tools/injection.ts";
import type { ToolSchema } from "../tools/tool.ts";
import { instructionInjector } from "./_injections.ts";

/** The effect of one perturbation. */
export interface Step {
  /** The perturbation. */
  readonly id: PerturbationId;
  /** Whether it found anything to change. */
  readonly changed: boolean;
  /** Its changes to the tools or the question; those to returns are not listed. */
  readonly changes: readonly Change[];
}

/** A case as the model sees it. */
export interface PerturbedCase<T extends ToolSchema = ToolSchema> {
  /** The tools on offer. */
  readonly tools: readonly T[];
  /** The question. */
  readonly query: Query;
  /** Whether information was removed from the question, so that it may have no answer. */
  readonly removed: boolean;
  /** The effect of each perturbation; `changed` of those of returns counts the returns so far. */
  readonly steps: readonly Step[];
  /** Returns the text that the model reads in place of a tool's return. */
  readonly perturbReturn: (text: string) => string;
  /** Injects faults into the calls of one run; omitted without faults. */
  readonly injectFault?: FaultInjector;
  /** Injects instructions into results as `perturbReturn` leaves them; omitted without `II`. */
  readonly injectInstruction?: InstructionInjector;
}

/** Options for `perturbCase()`. */
export interface CaseOptions {
  /** The seed of all random draws. */
  readonly seed: number;
  /**
   * The tools that must be called: a fault hits one of them, and one of them returns an injected instruction.
   * Default: the tool called first.
   */
  readonly needed?: readonly string[];
}

/**
 * Applies a perturbation such as `RD` or `RP_F+CF` to the user's tools and question. A fault such as
 * `timeout` hits one of the needed tools, drawn from the seed, or the tool called first; `flaky` hits any.
 * Under `II`, results of one of the needed tools, drawn from the seed, or of the tool called first, carry an
 * instruction. The result serves one run, as its faults count calls. Of the checks only `reorder` applies: names of custom
 * tools have a meaning that renaming would lose, and only the user can add unrelated tools.
 *
 * @throws {InputError} If the perturbation is unknown or for generated tasks only.
 */
export function perturbCase<T extends ToolSchema>(
  tools: readonly T[],
  query: Query,
  perturbation: string,
  options: CaseOptions,
): PerturbedCase<T> {
  const perturber = new CasePerturber(tools, query, options);
  const steps = perturbationsIn(perturbation).map((id) => perturber.take(id));
  return perturber.finish(steps) as PerturbedCase<T>;
}

/**
 * Whether a case is another one, as far as it shows by itself: what a model reads of returns depends on its calls, so
 * that a trial without any counts like all others.
 */
export function isChangedCase({ steps }: PerturbedCase): boolean {
  return steps.some(({ id, changed }) => changed || isOn(id, "return"));
}

/** The effect of a step, without its id. */
export type StepResult = Omit<Step, "id">;

/** Perturbs one case, step by step. */
export class CasePerturber {
  protected readonly seed: number;
  /** Rewrites the values in the question. Default: the built-in writer. */
  protected writer: QueryWriter | undefined;
  /** The tool whose calls are all denied, if already known. */
  protected denied: string | undefined;

  readonly #needed: readonly string[];
  readonly #faults: AimedFault[] = [];
  readonly #returns: ReturnMethod[] = [];
  /** Methods in `#returns` that have changed a return. */
  readonly #effective = new Set<ReturnMethod>();
  #removed = false;
  #injects = false;
  /** The tools before any perturbation. */
  readonly #original: readonly ToolSchema[];

  /** Starts with the unperturbed tools and question, which each step changes. */
  constructor(
    protected tools: readonly ToolSchema[],
    protected query: Query,
    { seed, needed = [] }: CaseOptions,
  ) {
    this.#original = tools;
    this.seed = seed;
    this.#needed = needed;
  }

  /** Applies one perturbation. */
  take(id: PerturbationId): Step {
    const { changed, changes } = isOn(id, "document")
      ? this.perturbTools(id)
      : isOn(id, "query")
      ? this.perturbQuery(id)
      : isOn(id, "return")
      ? this.perturbReturns(id)
      : id === INJECTED_INSTRUCTION
      ? this.#inject()
      : isFault(id)
      ? this.fault(id)
      : this.check(id);
    return { id, changed, changes };
  }

  /** Returns the case after all steps. */
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
        : { injectFault: faultInjector(this.#faults, { seed: this.seed }) }),
      ...(this.#injects ? { injectInstruction: this.injector() } : {}),
    };
  }

  #inject(): StepResult {
    this.#injects = true;
    // As with faults, a model that calls nothing has not left out what it was to be shown.
    return { changed: this.tools.length > 0, changes: [] };
  }

  /** Injects instructions into results of a needed tool, else of the one called first; made once all else is known. */
  protected injector(): InstructionInjector {
    let carrier = sample(this.needed(), fork(this.seed, "II carrier"));
    const wanted = new Set(this.needed());
    return instructionInjector({
      seed: this.seed,
      carries: (tool) => {
        wanted.add(tool);
        return (carrier ??= tool) === tool;
      },
      // What the model was going to call by itself would show nothing.
      callable: () => this.#original.filter(({ name }) => !wanted.has(name)),
    });
  }

  protected perturbTools(id: DocumentMethod): StepResult {
    const { value, changed, changes } = perturbTools(id, this.tools, this.seed);
    this.tools = value;
    return { changed, changes };
  }

  protected perturbQuery(id: QueryMethod): StepResult {
    const { value, changed, changes } = perturbQuery(id, this.query, {
      seed: this.seed,
      writer: this.writer,
    });
    this.query = value;
    this.#removed ||= changed && isRemoving(id);
    return { changed, changes };
  }

  protected perturbReturns(id: ReturnMethod): StepResult {
    this.#returns.push(id);
    return { changed: true, changes: [] };
  }

  /**
   * The tool that a fault hits is drawn before any call, unless it is the one called first. `flaky` counts as
   * a change even if by chance it hits no call.
   */
  protected fault(id: FaultId): StepResult {
    const setting = faultIn(id);
    const { kind } = setting;
    if (kind === "gone") {
      throw cannot(
        "perturb a custom case by gone",
        "it is for generated tasks, which offer another function in place of the one that is gone",
        "withFaults makes tools of your own fail so",
      );
    }
    let hit = sample(this.needed(), fork(this.seed, "fault", kind));
    if (kind === "permission_denied") this.denied = hit;
    const hits = kind === "flaky" ? () => true : (tool: string) => (hit ??= tool) === tool;
    this.aim({ ...setting, hits });
    return { changed: this.tools.length > 0, changes: [] };
  }

  /** Adds a fault of calls. */
  protected aim(fault: AimedFault): void {
    this.#faults.push(fault);
  }

  /** The tools that must be called, in an order that no perturbation changes. */
  protected needed(): readonly string[] {
    return this.#needed;
  }

  protected check(id: MetamorphicCheck): StepResult {
    if (id !== "reorder") {
      throw cannot(
        `perturb a custom case by ${id}`,
        "reorder is the only check for custom cases",
        "names of custom tools have a meaning, and only the user can add unrelated tools",
      );
    }
    const order = newOrder(this.tools.length, fork(this.seed, id));
    if (order === undefined) return { changed: false, changes: [] };
    const { tools } = this;
    this.tools = order.map((place) => tools[place]!);
    const names = (list: readonly ToolSchema[]) => list.map(({ name }) => name);
    const change = {
      kind: "order",
      path: "",
      before: names(tools),
      after: names(this.tools),
    } as const;
    return { changed: true, changes: [change] };
  }

  /** Applies the steps so far to a tool's return. */
  protected returned(text: string): string {
    return this.#returns.reduce((current, method) => {
      const { value, changed } = perturbReturn(method, current);
      if (changed) this.#effective.add(method);
      return value;
    }, text);
  }
}
