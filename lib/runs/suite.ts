/**
 * Suites: declarations of sets of trials.
 * @module
 */

import { isObject } from "../base/json.ts";
import { z } from "zod";
import {
  CALL_FORMATS,
  CALL_MODES,
  type CallFormat,
  type CallMode,
  SCORING_RULES,
  type ScoringRule,
} from "../tasks/questions/scoring.ts";
import { DIFFICULTIES, type Difficulty } from "../tasks/questions/question_set.ts";
import {
  CUES,
  type Cues,
  type GraphSpec,
  type Linking,
  LINKINGS,
  NAMES,
  type Names,
  sizeFault,
  type Sizes,
  type Surface,
  SURFACES,
} from "../tasks/graphs/graph.ts";
import { cannot } from "../base/errors.ts";
import { sum } from "../base/numbers.ts";
import { misplaced, MODEL, type ModelEntry, SAMPLING, type Sampling } from "../models/entry.ts";
import {
  type CaseSpec,
  type ProbeId,
  PROBES,
  type ProbeSpec,
  type QuestionSpec,
  USUAL_PROBES,
} from "../tasks/task_kind.ts";
import { OPTIONS, optionSchemas } from "./options.ts";
import type { SuiteSettings } from "./option_types.ts";
import { STRATEGY, STRATEGY_ID, type StrategyEntry } from "../trials/strategies/entry.ts";
import { COMMAND_AGENT, type CommandAgent } from "../trials/tap/command.ts";
import { briefSpec } from "../tasks/graphs/task.ts";

/** Sizes of tasks, which are crossed with each other. Crossings with `depth >= core` are left out. */
export interface Grid {
  /** Functions needed for the target. */
  readonly core: number | readonly number[];
  /** Edges on the longest core path; `all` means 1 to `core - 1`. */
  readonly depth: number | readonly number[] | "all";
  /** Irrelevant functions fed by a core output; default 0. */
  readonly connected?: number | readonly number[];
  /** Irrelevant functions unrelated to the core; default 0. */
  readonly disconnected?: number | readonly number[];
  /** Instead of the previous two: the number of irrelevant functions, whose kind is given next. */
  readonly irrelevant?: number | readonly number[];
  /** The kind of irrelevant functions; `half` means half of each. */
  readonly connection?: Connection | readonly Connection[];
  /** How parameters are linked to outputs; default `types`. */
  readonly linking?: Linking | readonly Linking[];
  /**
   * Whether names tell the types of variables, so that perturbations of descriptions leave tasks solvable;
   * default `none`.
   */
  readonly cues?: Cues | readonly Cues[];
  /** The look of functions: a `rich` surface has something to change for all perturbations. */
  readonly surface?: Surface;
  /** Size of the pool of types; default half of `core`. */
  readonly types?: number;
  /** Fewest and most input variables of a source function; default 1 and 2. */
  readonly inputs?: readonly [number, number];
  /** What names are made of; default `random`. */
  readonly names?: Names | readonly Names[];
  /** Fewest and most variables that a function produces, or several such pairs; default 1 and 1. */
  readonly outputs?: readonly [number, number] | readonly (readonly [number, number])[];
  /** Attempts to add another edge between core functions; default twice `core`. */
  readonly extraEdges?: number;
}

/** The kinds of irrelevant functions (FuncBenchGen, section 4.1). */
export const CONNECTIONS = ["connected", "disconnected", "half"] as const;

/** Whether irrelevant functions are fed by the core, unrelated to it, or half and half. */
export type Connection = typeof CONNECTIONS[number];

/** Probes of how a model behaves towards tools, in place of generated tasks. */
export interface ProbeSet {
  /** The probes; `all` means every probe. */
  readonly case: ProbeId | readonly ProbeId[] | "all";
}

/** Questions of a call set, asked unchanged. */
export interface QuestionSet {
  /**
   * The path of the set, a folder in CallNavi's layout, a file in toolgate's format, or BFCL's file or folder: relative
   * to the suite's file; in a test file, to the working directory. `$TOOLGATE_NAME` stands for the path in that
   * environment variable.
   */
  readonly set: string;
  /** Whether calls (default) or names of functions are written as text, or tools are called (default for BFCL). */
  readonly mode?: CallMode | readonly CallMode[];
  /** Only questions of these difficulties. */
  readonly difficulty?: Difficulty | readonly Difficulty[];
  /** Only questions of these domains. */
  readonly domain?: string | readonly string[];
  /** At most this many questions of each difficulty, drawn by the suite's seed; default all. */
  readonly sample?: number;
  /** The scoring rule; default `published`, the one that CallNavi's authors ran, and `strict` for BFCL. */
  readonly rule?: ScoringRule;
  /** The format of functions; default `json`. */
  readonly input?: CallFormat | readonly CallFormat[];
  /** The format of answers; default `json`. */
  readonly output?: CallFormat | readonly CallFormat[];
}

/** One setting of all sizes, or one kind of probe: a spec without its seed. */
export type SeededCell = Omit<GraphSpec, "seed"> | Omit<ProbeSpec, "seed">;

/** A model that judges answers, and its prompt. */
export interface JudgeEntry extends ModelEntry {
  /** The prompt, with the placeholders `predicted` and `truth` in braces; default CallNavi's prompt. */
  readonly prompt?: string;
}

/** The entry of a judge. */
export function judgeEntry(judge: string | JudgeEntry): JudgeEntry {
  return typeof judge === "string" ? { model: judge } : judge;
}

/** A kind of task; each block of a plan has one task of every cell. */
export type Cell = SeededCell | Omit<CaseSpec, "seed"> | QuestionSpec;

/** The cells of a grid, and the number of impossible crossings left out. */
export interface Cells {
  /** The cells, in the order of the crossing. */
  readonly cells: readonly SeededCell[];
  /** Crossings with `depth >= core`. */
  readonly skipped: number;
}

/** A suite as written by users. */
export interface Suite extends SuiteSettings {
  /** The name, which is part of every record. */
  readonly name: string;
  /** The seed of all tasks; `fresh` draws one at the start, for contamination-free runs. */
  readonly seed: number | "fresh";
  /** The sizes of generated tasks, probes, or call sets. */
  readonly tasks: readonly (Grid | ProbeSet | QuestionSet)[];
  /** The models; a suite file without any is run with `--model`. */
  readonly models: readonly (string | ModelEntry)[];
  /** A program that works on the tasks in place of the agent loop, and asks the models; default none. */
  readonly agent?: CommandAgent;
  /** The strategies, by id or with options; default `["plain"]`. */
  readonly strategies?: readonly (string | StrategyEntry)[];
  /** A model that judges how similar answers and truth are, for call sets. */
  readonly judge?: string | JudgeEntry;
  /** How models sample that do not say it themselves, also those of stages and those given by flags. */
  readonly sampling?: Sampling;
}

/** Characters of the name of a suite, at most. */
export const MAX_NAME_LENGTH = 200;

const count = z.int().min(0);
/** A schema of lists that are not empty. */
export const nonEmpty = <T extends z.ZodType>(item: T) => z.array(item).min(1, "must not be empty");
/** A schema of one thing or a list of them. */
export const oneOrMore = <T extends z.ZodType>(item: T) => z.union([item, nonEmpty(item)]);

const PROBE_SET = z.strictObject({
  case: z.union([oneOrMore(z.enum(PROBES)), z.literal("all")], {
    error: `must be all, one of ${PROBES.join(", ")}, or a list of them`,
  }),
}, {
  error: (issue) =>
    issue.code === "unrecognized_keys"
      ? `probes have no ${issue.keys.join(", ")}: give either case or sizes`
      : undefined,
});

const A_RANGE = { error: "must be [fewest, most], such as [1, 3]" };
const RANGE = z.tuple([z.int().min(1), z.int().min(1)], A_RANGE);

const GRID = z.strictObject({
  core: oneOrMore(z.int().min(1)),
  depth: z.union([count, nonEmpty(count), z.literal("all")]),
  connected: oneOrMore(count).optional(),
  disconnected: oneOrMore(count).optional(),
  irrelevant: oneOrMore(count).optional(),
  connection: oneOrMore(z.enum(CONNECTIONS)).optional(),
  linking: oneOrMore(z.enum(LINKINGS)).optional(),
  cues: oneOrMore(z.enum(CUES)).optional(),
  surface: z.enum(SURFACES).optional(),
  types: z.int().min(1).optional(),
  inputs: RANGE.optional(),
  outputs: z.union([RANGE, z.array(RANGE, A_RANGE).min(1, "must not be empty")]).optional(),
  names: oneOrMore(z.enum(NAMES)).optional(),
  extraEdges: count.optional(),
}).refine((grid) => grid.inputs === undefined || grid.inputs[0] <= grid.inputs[1], {
  message: "the fewest inputs must not be above the most",
  path: ["inputs"],
}).refine((grid) => outputRanges(grid).every(([fewest, most]) => fewest <= most), {
  message: "the fewest outputs must not be above the most",
  path: ["outputs"],
}).refine(
  ({ linking = "types", names = "random" }) =>
    !listOf(linking).includes("names") || !listOf(names).includes("misleading"),
  { message: 'names cannot mislead with linking "names"', path: ["names"] },
).refine(
  ({ cues = "none", names = "random" }) =>
    !listOf(cues).includes("names") || listOf(names).every((one) => one === "random"),
  { message: 'cues "names" go with random names', path: ["cues"] },
).refine((grid) => grid.irrelevant === undefined || grid.connection !== undefined, {
  message: "it is missing: irrelevant needs it",
  path: ["connection"],
}).refine((grid) => grid.connection === undefined || grid.irrelevant !== undefined, {
  message: "it is missing: connection needs it",
  path: ["irrelevant"],
}).refine(
  (grid) =>
    grid.irrelevant === undefined ||
    (grid.connected === undefined && grid.disconnected === undefined),
  { message: "give either irrelevant or connected and disconnected", path: ["irrelevant"] },
).check(({ value, issues }) => {
  const message = sizeFault(largestSizes(value as Grid));
  if (message !== undefined) issues.push({ code: "custom", message, path: [], input: value });
});

/** The largest tasks of a grid, for {@linkcode sizeFault}. */
function largestSizes(sizes: Grid): Sizes {
  const { core, connected = 0, disconnected = 0, irrelevant = 0, inputs, extraEdges } = sizes;
  // A list may be too long to be spread.
  const most = (value: number | readonly number[]) =>
    listOf(value).reduce((one, other) => Math.max(one, other), 0);
  return {
    core: most(core),
    connected: most(connected) + most(irrelevant),
    disconnected: most(disconnected),
    outputs: [1, most(outputRanges(sizes).map(([, largest]) => largest))],
    inputs,
    extraEdges,
  };
}

const QUESTION_SET = z.strictObject({
  set: z.string().min(1),
  mode: oneOrMore(z.enum(CALL_MODES)).optional(),
  difficulty: oneOrMore(z.enum(DIFFICULTIES)).optional(),
  domain: oneOrMore(z.string().min(1)).optional(),
  sample: z.int().min(1).optional(),
  rule: z.enum(SCORING_RULES).optional(),
  input: oneOrMore(z.enum(CALL_FORMATS)).optional(),
  output: oneOrMore(z.enum(CALL_FORMATS)).optional(),
});

/** The schema of a judge's entry. */
export const JUDGE = MODEL.safeExtend({
  prompt: z.string().refine(
    (text) => ["{predicted}", "{truth}"].every((word) => text.includes(word)),
    { message: "must hold {predicted} and {truth}" },
  ).optional(),
});

/** The schema of what a suite asks. */
export const TASK = z.union([
  GRID,
  PROBE_SET,
  QUESTION_SET,
]) as unknown as z.ZodType<Suite["tasks"][number]>;

const RULES = z.strictObject({
  $schema: z.string().optional(),
  name: z.string().min(1).max(MAX_NAME_LENGTH),
  tasks: nonEmpty(TASK),
  models: nonEmpty(z.union([z.string().min(1), MODEL])),
  agent: COMMAND_AGENT.optional(),
  strategies: nonEmpty(z.union([STRATEGY_ID, STRATEGY])).optional(),
  judge: z.union([z.string().min(1), JUDGE]).optional(),
  sampling: SAMPLING.optional(),
  ...optionSchemas("suite"),
  seed: OPTIONS.seed.schema!,
}, { error: misplaced() });

/** The schema of suites that can be run. */
export const SUITE = RULES as unknown as z.ZodType<Suite>;

/** A suite as a file has it: commands take its models from flags where it names none. */
export type SuiteFile = Omit<Suite, "models"> & Partial<Pick<Suite, "models">>;

/** The schema of suite files. */
export const SUITE_FILE = RULES.extend({
  models: RULES.shape.models.optional(),
}) as unknown as z.ZodType<SuiteFile>;

/**
 * Crosses the sizes of `grid`. Combinations with `depth >= core` are skipped and counted. A set of probes
 * gives one cell each.
 *
 * @throws {InputError} If no combination is left, there are more than a million, or a task is too large.
 *
 * @example Usage
 * ```ts
 * import { grid } from "@toolgate/toolgate";
 * import { assertEquals } from "@std/assert";
 *
 * const { cells, skipped } = grid({ core: [3, 5], depth: [1, 4], connected: [0, 2] });
 * assertEquals(cells.length, 6);
 * assertEquals(skipped, 2);
 * ```
 */
export function grid(sizes: Grid | ProbeSet): Cells {
  if (!isObject(sizes)) {
    throw cannot(
      "make a grid",
      "it must have sizes, such as { core: 3, depth: 1 }",
      `it has ${sizes}`,
    );
  }
  if ("case" in sizes) {
    const probes = sizes.case === "all" ? USUAL_PROBES : [...new Set(listOf(sizes.case))];
    return { cells: probes.map((probe) => ({ case: probe })), skipped: 0 };
  }
  const fault = sizeFault(largestSizes(sizes));
  if (fault !== undefined) throw cannot("make a grid", fault);
  const crossings = countCrossings(sizes);
  if (crossings > MAX_CROSSINGS) {
    throw cannot(
      "make a grid",
      `its lists must have at most ${MAX_CROSSINGS} crossings`,
      `they have ${crossings}`,
    );
  }
  const cells: SeededCell[] = [];
  let skipped = 0;
  const { types, inputs, extraEdges, surface } = sizes;
  const kinds = kindsOf(sizes);
  for (const core of listOf(sizes.core)) {
    const depths = sizes.depth === "all"
      ? core === 1 ? [0] : Array.from({ length: core - 1 }, (_, index) => index + 1)
      : listOf(sizes.depth);
    for (const depth of depths) {
      for (const [connected, disconnected] of irrelevantCounts(sizes)) {
        for (const kind of kinds) {
          if (depth >= core || (core > 1 && depth === 0)) {
            skipped++;
            continue;
          }
          const sized = { core, depth, connected, disconnected, ...kind };
          const spec = { ...sized, types, inputs, extraEdges, surface, seed: 0 };
          const { seed: _, ...brief } = briefSpec(spec);
          cells.push(brief);
        }
      }
    }
  }
  if (cells.length === 0) {
    throw cannot(
      "make a grid",
      "core must be at least 1 and depth from 1 to core - 1 (0 for core 1)",
      `core is ${JSON.stringify(sizes.core)}, depth is ${JSON.stringify(sizes.depth)}`,
    );
  }
  return { cells, skipped };
}

/** At least the maximum number of trials in a plan. */
const MAX_CROSSINGS = 1_000_000;

/** The number of crossings, including impossible ones, which take time to skip. */
function countCrossings(sizes: Grid): number {
  const { core, depth, connected, disconnected, irrelevant, connection } = sizes;
  const depths = depth === "all"
    ? sum(listOf(core), (one) => Math.max(1, one - 1))
    : listOf(core).length * listOf(depth).length;
  const { linking, names, cues } = sizes;
  return [connected, disconnected, irrelevant, connection, linking, names, cues].reduce<number>(
    (product, list) => product * Math.max(1, listOf<unknown>(list).length),
    depths * outputRanges(sizes).length,
  );
}

/** Crosses what is said about functions. */
function kindsOf(sizes: Grid): Pick<GraphSpec, "linking" | "outputs" | "names" | "cues">[] {
  return listOf(sizes.linking ?? "types").flatMap((linking) =>
    outputRanges(sizes).flatMap((outputs) =>
      listOf(sizes.names ?? "random").flatMap((names) =>
        listOf(sizes.cues ?? "none").map((cues) => ({ linking, outputs, names, cues }))
      )
    )
  );
}

/** The ranges of outputs: a pair of numbers is one range. */
function outputRanges(
  { outputs = [1, 1] }: { readonly outputs?: Grid["outputs"] | undefined },
): readonly (readonly [number, number])[] {
  return typeof outputs[0] === "number"
    ? [outputs as readonly [number, number]]
    : outputs as readonly (readonly [number, number])[];
}

function irrelevantCounts(sizes: Grid): [connected: number, disconnected: number][] {
  if (sizes.irrelevant === undefined) {
    return listOf(sizes.connected ?? 0).flatMap((connected) =>
      listOf(sizes.disconnected ?? 0)
        .map((disconnected): [number, number] => [connected, disconnected])
    );
  }
  const pairs = listOf(sizes.irrelevant).flatMap((irrelevant) =>
    listOf(sizes.connection ?? "connected").map((connection): [number, number] => {
      if (connection === "connected") return [irrelevant, 0];
      if (connection === "disconnected") return [0, irrelevant];
      return [Math.ceil(irrelevant / 2), Math.floor(irrelevant / 2)];
    })
  );
  // Without irrelevant functions all kinds are the same.
  return [...new Map(pairs.map((pair) => [`${pair}`, pair])).values()];
}

/** A list of the value or values; empty without any. */
export function listOf<T>(value: T | readonly T[] | undefined): readonly T[] {
  return value === undefined ? [] : Array.isArray(value) ? value : [value as T];
}
