/**
 * Breakdowns: success by one size of the tasks, one line or group of bars a model. Each corresponds to a
 * table or a figure of FuncBenchGen (sections 4 and C).
 * @module
 */

import { byVariant, variantKey, variantLabel, variantOf } from "../../gate/variant.ts";
import type { GraphSpec } from "../../tasks/graphs/graph.ts";
import { canonicalJson } from "../../base/json.ts";
import { type Tally, tally } from "./metrics.ts";
import { type ModelEntry, modelName, REASONING_EFFORTS } from "../../models/entry.ts";
import type { TrialSummary } from "../../trials/summary.ts";

/** The kind of a breakdown. `core` and `no-extra` also show calls; there is one of kind `sets` for each model. */
export type BreakdownKind =
  | "core"
  | "no-extra"
  | "connection"
  | "depth"
  | "sets"
  | "effort"
  | "strategy"
  | "linking"
  | "outputs"
  | "names"
  | "cues";

/** Success by one size of the tasks. */
export interface Breakdown {
  /** Unique within a report, such as `depth-10`. */
  readonly id: string;
  /** The kind of the breakdown. */
  readonly kind: BreakdownKind;
  /** The title to show. */
  readonly title: string;
  /** The table or figure of FuncBenchGen that shows the same; omitted where none does. */
  readonly source?: string;
  /** The title of the axis, with its unit. */
  readonly axis: string;
  /** The title of the legend. */
  readonly legend: string;
  /** `lines` along a number, `bars` over names. */
  readonly shape: "lines" | "bars";
  /** The values along the axis, in order. */
  readonly values: readonly (number | string)[];
  readonly series: readonly Series[];
}

/** One line, or one bar of each group. */
export interface Series {
  readonly name: string;
  /** One tally for each value of the axis; `null` where there is no trial. */
  readonly tallies: readonly (Tally | null)[];
}

/** The kinds of irrelevant functions of a task (FuncBenchGen, section 4.1). */
export const CONNECTION_NAMES = [
  "no extra",
  "connected",
  "half and half",
  "disconnected",
  "mixed",
] as const;

/**
 * Names the kind of a task's irrelevant functions. Halves may differ by one; any other mixture is
 * `mixed`.
 */
export function connectionName(
  { connected, disconnected }: Pick<GraphSpec, "connected" | "disconnected">,
): typeof CONNECTION_NAMES[number] {
  if (connected === 0) return disconnected === 0 ? "no extra" : "disconnected";
  if (disconnected === 0) return "connected";
  return Math.abs(connected - disconnected) <= 1 ? "half and half" : "mixed";
}

/** Returns the value by which trials are grouped; `undefined` where it does not apply to a trial. */
type Key = (trial: GeneratedSummary) => number | string | undefined;

/**
 * Returns the breakdowns that `trials` allow: those by core size always, others where their axis has two
 * values or more. `models` says which names are one model at several thinking budgets. Trials on tasks
 * that were not generated are left out.
 */
export function breakDown(
  trials: readonly TrialSummary[],
  models: readonly ModelEntry[] = [],
): Breakdown[] {
  const generated = trials.filter(isGenerated);
  const groups = byVariant(generated, variantOf);
  const names = new Map(groups.map(({ subject, items }) => [
    variantKey(subject),
    variantLabel(subject, items.some(({ model }) => model.simulated)),
  ]));
  // Keyed by the whole variant, as two subjects may have the same name.
  const subjects: Pick<Crossing, "legend" | "series" | "seriesOrder" | "names"> = {
    legend: "model",
    series: (trial) => variantKey(variantOf(trial)),
    // The same order in every figure gives a model the same colour in all of them.
    seriesOrder: [...names.keys()],
    names,
  };
  const withoutIrrelevant = generated.filter(({ task }) => connectionName(task) === "no extra");
  const cores = valuesOf(generated, coreSize);
  const hasSeveralValues = (breakdown: Breakdown) => breakdown.values.length > 1;
  return [
    ...[{
      id: "core",
      kind: "core" as const,
      title: "Success by core size",
      source: "Table 2",
      own: generated,
    }, {
      id: "no-extra",
      kind: "no-extra" as const,
      title: "Success by core size, without irrelevant functions",
      source: "Table 5",
      own: withoutIrrelevant.length === generated.length ? [] : withoutIrrelevant,
    }].flatMap(({ own, ...words }) =>
      own.length === 0 ? [] : [cross(own, { ...words, ...CORE, ...subjects })]
    ),
    ...[cross(generated, {
      id: "connection",
      kind: "connection",
      title: "Success by type of irrelevant functions",
      source: "Fig. 4",
      ...CONNECTION,
      ...subjects,
    })].filter(hasSeveralValues),
    ...cores.map((size) =>
      cross(generated.filter((trial) => coreSize(trial) === size), {
        id: `depth-${size}`,
        kind: "depth",
        title: `Success by dependency depth, ${size} core functions`,
        source: { 10: "Figs. 5 and 13", 20: "Fig. 14", 40: "Fig. 15" }[size] ??
          forOtherSize("Fig. 5"),
        axis: "dependency depth (edges)",
        along: ({ task }) => task.depth,
        ...subjects,
      })
    ).filter(hasSeveralValues),
    ...groups.map(({ subject: own, items }, index) =>
      cross(items, {
        id: `sets-${index + 1}`,
        kind: "sets",
        title: `Success by core size and type of irrelevant functions: ${
          names.get(variantKey(own))
        }`,
        source: "Fig. 6",
        ...CORE,
        legend: CONNECTION.axis,
        series: CONNECTION.along,
        seriesOrder: CONNECTION_NAMES,
      })
    ).filter((breakdown) => hasSeveralValues(breakdown) && breakdown.series.length > 1),
    ...thinkingBudgets(generated, models).filter(({ series }) => series.length > 1),
    ...cores.map((size) =>
      cross(generated.filter((trial) => coreSize(trial) === size), {
        id: `strategy-${size}`,
        kind: "strategy",
        title: `Success by strategy, ${size} core functions`,
        source: { 5: "Fig. 8", 10: "Fig. 16" }[size] ?? forOtherSize("Fig. 8"),
        axis: "model",
        along: (trial) =>
          variantLabel({ ...variantOf(trial), strategy: "plain" }, trial.model.simulated),
        legend: "strategy",
        series: ({ strategy }) => strategy,
      })
    ).filter(({ series }) => series.length > 1),
    ...OPTIONS.filter(({ along }) => valuesOf(generated, along).length > 1)
      .map((option) => cross(generated, { id: option.kind, ...option, ...subjects })),
  ];
}

/** Breakdowns by an option of generated tasks. */
const OPTIONS: readonly Pick<Crossing, "kind" | "title" | "source" | "axis" | "along">[] = [
  {
    kind: "linking",
    title: "Success by how parameters are linked to outputs",
    source: "appendix B.2",
    axis: "linking",
    along: ({ task }) => task.linking ?? "types",
  },
  {
    kind: "outputs",
    title: "Success by variables that a function produces",
    source: "beyond section 3.4",
    axis: "outputs of a function",
    along: ({ task }) => rangeText(task.outputs),
  },
  {
    kind: "names",
    title: "Success by what names tell",
    source: "beyond section 3.2",
    axis: "names",
    along: ({ task }) => task.names ?? "random",
  },
  {
    kind: "cues",
    title: "Success by whether names tell the types of variables",
    axis: "cues",
    along: ({ task }) => task.cues ?? "none",
  },
];

/** A range of outputs in words; what another tool wrote there counts as none. */
function rangeText(range: unknown): string {
  const [fewest, most]: unknown[] = Array.isArray(range) ? range : [];
  if (!Number.isSafeInteger(fewest) || !Number.isSafeInteger(most)) return "1";
  return fewest === most ? String(fewest) : `${fewest} to ${most}`;
}

/** Marks a figure that the paper shows for another core size. */
const forOtherSize = (figure: string): string => `${figure}, for another size`;

/** A trial on a generated task. */
export type GeneratedSummary = TrialSummary & { readonly task: GraphSpec };

/** The sizes that every generated task has. */
const SIZES = ["core", "depth", "connected", "disconnected"] as const;

/** Whether a trial's task has the sizes of a generated one. */
export function isGenerated(trial: TrialSummary): trial is GeneratedSummary {
  const sizes: Partial<Record<string, unknown>> = { ...trial.task };
  return SIZES.every((size) => Number.isSafeInteger(sizes[size]));
}

const coreSize = ({ task }: GeneratedSummary): number => task.core;

const CORE = { axis: "core size (functions needed)", along: coreSize };

const CONNECTION = {
  axis: "irrelevant functions",
  along: ({ task }: GeneratedSummary): string => connectionName(task),
  valueOrder: CONNECTION_NAMES,
};

/** Returns one breakdown for each model that ran at several thinking budgets (Fig. 7). */
function thinkingBudgets(
  trials: readonly GeneratedSummary[],
  models: readonly ModelEntry[],
): Breakdown[] {
  const entries = new Map(models.map((entry) => [modelName(entry), entry]));
  const withEntry = trials.filter(({ model }) => entries.has(model.requested));
  const efforts = Map.groupBy(withEntry, ({ model, strategy, perturbation, task }) => {
    const { name: _, reasoningEffort: __, ...base } = entries.get(model.requested)!;
    return canonicalJson({ base, strategy, perturbation, core: task.core });
  });
  return [...efforts.values()].map((own, index) => {
    const { model, strategy, perturbation, task } = own[0]!;
    const base = { model: entries.get(model.requested)!.model, strategy, perturbation };
    return cross(own, {
      id: `effort-${index + 1}`,
      kind: "effort",
      title: `Success by thinking budget, ${task.core} core functions: ${
        variantLabel(base, model.simulated)
      }`,
      source: { 5: "Fig. 7" }[task.core] ?? forOtherSize("Fig. 7"),
      ...CONNECTION,
      legend: "thinking budget",
      series: (trial) => entries.get(trial.model.requested)!.reasoningEffort ?? "default",
      seriesOrder: [...REASONING_EFFORTS, "default"],
    });
  });
}

/** Options of {@linkcode cross}. */
interface Crossing extends Pick<Breakdown, "id" | "kind" | "title" | "source" | "axis" | "legend"> {
  readonly along: Key;
  readonly series: Key;
  /** Names of series by key. Default: the keys. */
  readonly names?: ReadonlyMap<string, string>;
  /** Order of names along the axis. Default: numbers sorted, names as they first occur. */
  readonly valueOrder?: readonly string[];
  /** Order of the series. Default: as they first occur. */
  readonly seriesOrder?: readonly string[];
}

function cross(trials: readonly GeneratedSummary[], crossing: Crossing): Breakdown {
  const { along, series, names, valueOrder, seriesOrder, ...words } = crossing;
  const present = valuesOf(trials, along);
  const values = valueOrder?.filter((value) => present.includes(value)) ?? present;
  const lines = Map.groupBy(trials, (trial) => String(series(trial)));
  const keys = seriesOrder?.filter((key) => lines.has(key)) ?? [...lines.keys()];
  return {
    ...words,
    shape: values.every((value) => typeof value === "number") ? "lines" : "bars",
    values,
    series: keys.map((key) => {
      const points = Map.groupBy(lines.get(key)!, along);
      return {
        name: names?.get(key) ?? key,
        tallies: values.map((value) => {
          const own = points.get(value);
          return own === undefined ? null : tally(own);
        }),
      };
    }),
  };
}

/** Returns the values that occur: numbers sorted, names as they first occur. */
function valuesOf(trials: readonly GeneratedSummary[], key: Key): (number | string)[] {
  const values = [...new Set(trials.flatMap((trial) => key(trial) ?? []))];
  return values.every((value) => typeof value === "number")
    ? values.toSorted((one, other) => Number(one) - Number(other))
    : values;
}
