/**
 * The registry of strategies by id, and how several are combined.
 * @module
 */

import type { Loop } from "../agent/loop.ts";
import { cannot, InputError } from "../../base/errors.ts";
import { inFirstContext } from "../../base/first_context.ts";
import { printable } from "../../base/json.ts";
import { PROMPTS } from "../../models/prompts.ts";
import type { SolvedExample } from "../../tasks/examples.ts";
import type { Strategy, StrategySettings } from "./_stages.ts";
import { lacksExamples } from "./_few_shot.ts";

/** A strategy and its stages, at each of which another model may be asked. */
interface Body {
  /** Returns it; its code is loaded with the first trial. */
  readonly run: () => Strategy<never> | Promise<Strategy<never>>;
  /** What it does, for the glossary of reports. */
  readonly words: string;
  /** The stage of requests outside the loop. */
  readonly aside?: string;
  /** The stage of the loop's requests. */
  readonly loop?: string;
}

/** The loop, unchanged. */
const plain: Strategy = (options, next) => next(options);

const ROWS = {
  plain: {
    run: () => plain,
    words: "the agent loop as it is; every other strategy is compared with it on the same tasks",
  },
  restate: {
    run: async () => (await import("./restate.ts")).restate,
    words: "each result also lists all values known so far",
  },
  indirection: {
    run: async () => (await import("./indirection.ts")).indirection,
    words: "the model names each result and passes names such as @sum, which are replaced by " +
      "values before a function is called",
  },
  plan_then_call: {
    run: async () => (await import("./_stages.ts")).planThenCall,
    aside: "plan",
    loop: "call",
    words: "the model writes a plan before it can call anything",
  },
  route_then_fill: {
    run: async () => (await import("./_stages.ts")).routeThenFill,
    aside: "route",
    loop: "fill",
    words: "the model first picks functions, and only these are then available",
  },
  backward: {
    run: async () => (await import("./_stages.ts")).backward,
    aside: "infer",
    loop: "call",
    words: "the model names the last call first, then step by step the calls that it needs",
  },
  repair: {
    run: async () => (await import("./repair.ts")).repair,
    aside: "repair",
    words: "a call that does not fit its schema goes back with its errors, and is executed once " +
      "it is repaired",
  },
  few_shot: {
    run: async () => (await import("./_few_shot.ts")).fewShot,
    words:
      "solved examples stand before the task: generated ones of other seeds, or other questions of " +
      "the same set, which are measured as well",
  },
  instruct: {
    run: async () => (await import("./_instruct.ts")).instruct,
    words:
      "the system message says how to use tools: for all that they are for and nothing else, with " +
      "each step explained and results reported as they are",
  },
  explanation: {
    run: async () => (await import("./_explanation.ts")).explanation,
    words: "every call must explain itself in a parameter of its own, which no function sees",
  },
  retry: {
    run: async () => (await import("./replacing.ts")).retry,
    words:
      "a call that a rate limit or a timeout kept from its result is made again, up to three " +
      "times, without the model",
  },
  alternative: {
    run: async () => (await import("./replacing.ts")).alternative,
    aside: "alternative",
    words: "a call that found nothing goes back with its error, and the call of another function " +
      "takes its place",
  },
} as const satisfies Readonly<Record<string, Body>>;

/** The id of a strategy. */
export type StrategyId = keyof typeof ROWS;

/** The ids of all strategies. */
export const STRATEGIES: readonly StrategyId[] = Object.keys(ROWS) as StrategyId[];

const BODIES: Readonly<Record<StrategyId, Body>> = ROWS;

/** Describes what a strategy does. */
export function strategyWords(id: StrategyId): string {
  return BODIES[id].words;
}

/**
 * Refuses strategies that rewrite arguments with nested references: `indirection`, as both have names for
 * values, and `explanation`.
 *
 * @throws {InputError} If the id contains one of them.
 */
export function assertReferring(action: string, id: string): void {
  const ids = strategiesIn(id);
  const other = ids.includes("indirection")
    ? "the names of indirection"
    : ids.find((one) => one === "explanation");
  if (other === undefined) return;
  const rule = `nested references cannot be used with ${other}`;
  throw cannot(action, rule, `references is true, and the strategy is ${id}`);
}

/**
 * Refuses `few_shot` for tasks that have no examples of their own, unless some are given.
 *
 * @throws {InputError} If the strategies contain it, and no examples are given.
 */
export function assertExamples(
  action: string,
  { strategy, examples }: { readonly strategy: string } & Pick<StrategyOptions, "examples">,
): void {
  if (examples === undefined && strategiesIn(strategy).includes("few_shot")) {
    throw lacksExamples(action);
  }
}

/** Joins the ids of combined strategies. */
const JOIN = "+";

/** Options of one or several combined strategies. */
export interface StrategyOptions {
  /** Custom prompts, by strategy and name. */
  readonly prompts?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Attempts to repair a call that does not conform to its schema (`repair`); default 2. */
  readonly attempts?: number;
  /** Rounds of asking what is missing (`backward`); default 10. */
  readonly rounds?: number;
  /** Whether the model may look up values (`indirection`); default false. */
  readonly dereference?: boolean;
  /**
   * Solved examples that stand before the task (`few_shot`); default 3. A set with fewer other questions gives
   * all of these.
   */
  readonly shots?: number;
  /** Solved examples in place of those that generated tasks and question sets have (`few_shot`). */
  readonly examples?: readonly SolvedExample[];
}

/**
 * Returns the strategies in an id such as `repair` or `restate+plan_then_call`. The first is the outermost:
 * the next ones start from its changes.
 *
 * @throws {InputError} If a strategy is unknown or named twice, or `plain` is joined to others.
 */
export function strategiesIn(id: string): StrategyId[] {
  const fault = strategyFault(id);
  if (fault === undefined) return id.split(JOIN) as StrategyId[];
  throw cannot("use the strategy", `it ${fault}`, `it is ${printable(id, 200)}`);
}

/** Returns which rule a text breaks that is no id of strategies; `undefined` if it is one. */
export function strategyFault(id: string): string | undefined {
  const ids = id.split(JOIN);
  return ids.some((one) => !Object.hasOwn(BODIES, one))
    ? `must be one of ${STRATEGIES.join(", ")}, or several of them joined by ${JOIN} without spaces`
    : new Set(ids).size < ids.length
    ? "must name none of them twice"
    : ids.length > 1 && ids.includes("plain")
    ? "must not join plain, which is the loop as it is, to others"
    : ids.slice(0, Math.max(0, ids.indexOf("indirection"))).some((one) =>
        BODIES[one as StrategyId].loop
      )
    ? "must have indirection before strategies that ask first, which would see the values"
    : undefined;
}

/** The stages at which another model may be asked. */
export function stagesOf(ids: readonly StrategyId[]): string[] {
  const asides = ids.flatMap((id) => BODIES[id].aside ?? []);
  // There is one loop, and the innermost strategy names it.
  const loop = ids.findLast((id) => BODIES[id].loop !== undefined);
  return loop === undefined ? asides : [...asides, BODIES[loop].loop!];
}

/**
 * Wraps the loop in the strategies of an id.
 *
 * @throws {InputError} If a strategy is unknown, or an option does not apply to it.
 */
export function withStrategy(id: string, loop: Loop, options: StrategyOptions = {}): Loop {
  const ids = strategiesIn(id);
  const fault = optionFault(ids, options);
  if (fault !== undefined) {
    throw new InputError(
      `Cannot use the strategy ${id}: at ${fault.path.join(".")}: ${fault.message}`,
    );
  }
  const { attempts = 2, rounds = 10, dereference = false, shots = 3, examples } = options;
  return ids.reduceRight<Loop>((next, one, place) => {
    const prompts = { ...defaultPrompts(one), ...options.prompts?.[one] };
    const isLast = ids.slice(place + 1).every((inner) => BODIES[inner].loop === undefined);
    const settings = {
      prompts,
      attempts,
      rounds,
      dereference,
      isLast,
      shots,
      examples,
    } as StrategySettings<never>;
    const { run } = BODIES[one];
    return async (loopOptions) => (await inFirstContext(run))(loopOptions, next, settings);
  }, loop);
}

/** Returns what is wrong with options of strategies, and where; `undefined` if nothing is. */
export function optionFault(
  ids: readonly StrategyId[],
  { prompts = {}, attempts, rounds, dereference, shots, examples }: StrategyOptions,
): { readonly path: readonly string[]; readonly message: string } | undefined {
  const unused = ([
    ["attempts", attempts, "repair"],
    ["rounds", rounds, "backward"],
    ["dereference", dereference, "indirection"],
    ["shots", shots, "few_shot"],
    ["examples", examples, "few_shot"],
  ] as const).find(([, value, owner]) => value !== undefined && !ids.includes(owner));
  if (unused !== undefined) {
    return { path: [unused[0]], message: `needs the strategy ${unused[2]}` };
  }
  if (shots !== undefined && examples !== undefined) {
    return { path: ["shots"], message: "cannot be used with examples" };
  }
  for (const [id, texts] of Object.entries(prompts)) {
    if (!ids.includes(id as StrategyId)) {
      const known = ids.filter((one) => Object.hasOwn(PROMPTS, one)).join(", ") ||
        "none of these strategies";
      return { path: ["prompts", id], message: `texts can be given of ${known} only` };
    }
    const defaults = defaultPrompts(id as StrategyId);
    for (const [name, text] of Object.entries(texts)) {
      const path = ["prompts", id, name];
      if (!Object.hasOwn(defaults, name)) {
        const known = ids.flatMap((one) =>
          Object.keys(defaultPrompts(one)).map((key) => `${one}.${key}`)
        );
        return { path, message: `there is no such text: there are ${known.join(", ") || "none"}` };
      }
      const [words, needed] = [wordsIn(text), wordsIn(defaults[name]!)];
      const lacking = needed.find((word) => NEEDED.includes(word) && !words.includes(word));
      if (lacking !== undefined) return { path, message: `the text must hold ${lacking}` };
      const unknown = words.find((word) => !needed.includes(word));
      if (unknown !== undefined) {
        return {
          path,
          message: `nothing fills in ${unknown}: there is ${needed.join(", ") || "nothing"}`,
        };
      }
    }
  }
  return undefined;
}

function defaultPrompts(id: StrategyId): Readonly<Record<string, string>> {
  return Object.hasOwn(PROMPTS, id) ? PROMPTS[id as keyof typeof PROMPTS] : {};
}

/** Without these placeholders a model would lack its input. */
const NEEDED: readonly string[] = [
  "{question}",
  "{tools}",
  "{arguments}",
  "{answer}",
  "{examples}",
];

/** The distinct placeholders in a text. */
function wordsIn(text: string): string[] {
  return [...new Set(text.match(/\{[a-z]+\}/g))];
}
