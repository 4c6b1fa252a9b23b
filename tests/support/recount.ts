/**
 * Experiments of each source, counted anew from a journal. A program of its own: it imports nothing of the project,
 * and believes of a journal only what models wrote, what tools returned and, of each wrong call, what is wrong with it.
 *
 *     deno run --allow-read tests/support/recount.ts SOURCE JOURNAL
 */

// deno-lint-ignore no-explicit-any
type Json = any;
type Values = Readonly<Record<string, string | number | null>>;

/** Figures of a row, the table of the report that has them too, and what the row is about. */
interface Row {
  readonly table: string;
  readonly of: Values;
  readonly figures: Values;
}

const share = (part: number, whole: number) => whole === 0 ? null : part / whole;
const mean = (numbers: readonly number[]) =>
  share(numbers.reduce((a, b) => a + b, 0), numbers.length);
const calls = ({ events }: Json): Json[] => events.filter(({ kind }: Json) => kind === "call");
const answer = ({ events }: Json): string =>
  events.at(-1)?.kind === "answer" ? events.at(-1).text : "";
const whole = (trials: readonly Json[]) =>
  trials.filter((trial) => trial.outcome !== "invalid" && trial.changed !== false);

function* groups(
  trials: readonly Json[],
  keyOf: (trial: Json) => Values,
): Iterable<[Values, Json[]]> {
  const byKey = Map.groupBy(trials, (trial) => JSON.stringify(keyOf(trial)));
  for (const [key, own] of byKey) yield [JSON.parse(key), own];
}

const subject = ({ model, strategy, perturbation }: Json): Values => ({
  model: model.requested,
  strategy,
  perturbation,
});

/** Whether the value that an answer states for a variable is what a right call returned for it. */
function isRight(trial: Json): boolean {
  const [, variable, value] = /(\w+) = (-?\d+)\b/.exec(answer(trial)) ?? [];
  return calls(trial).some(({ returned, failure, fault }) =>
    failure === undefined && fault === undefined && returned?.variable === variable &&
    `${returned?.value}` === value
  );
}

/** Wilson's 95% interval of a share. */
function wilson(part: number, whole: number): readonly [lower: number, upper: number] {
  const z = 1.959963984540054;
  const middle = part + z * z / 2;
  const reach = z * Math.sqrt(part * (whole - part) / whole + z * z / 4);
  return [Math.max(0, middle - reach) / (whole + z * z), (middle + reach) / (whole + z * z)];
}

/** Tables 2, 3 and 5 and Figures 13 and 14 of FuncBenchGen: success by core size and depth, calls, wrong calls. */
function* funcBenchGen(trials: readonly Json[]): Iterable<Row> {
  const sizes = ({ task: { core, depth } }: Json) => ({ core, depth });
  for (const [{ core, depth: value }, own] of groups(whole(trials), sizes)) {
    const solved = own.filter(isRight).length;
    const [solved_lower, solved_upper] = wilson(solved, own.length);
    yield {
      ...{ table: "breakdowns", of: { breakdown: `depth-${core}`, value: value! } },
      figures: { solved: share(solved, own.length), solved_lower, solved_upper },
    };
  }
  for (const [{ core }, own] of groups(whole(trials), ({ task }) => ({ core: task.core }))) {
    const [solved, failed] = [own.filter(isRight), own.filter((trial) => !isRight(trial))];
    const meanCalls = (some: readonly Json[]) => mean(some.map((trial) => calls(trial).length));
    yield {
      table: "breakdowns",
      of: { breakdown: "core", value: core! },
      figures: {
        solved: share(solved.length, own.length),
        calls_solved: meanCalls(solved),
        calls_unsolved: meanCalls(failed),
      },
    };
  }
  for (const [of, own] of groups(whole(trials), subject)) {
    const figures: Record<string, number> = {};
    for (const type of FAILURES) {
      figures[type] = own.flatMap(calls).filter(({ failure }) => failure?.type === type).length;
    }
    yield { table: "failures", of, figures };
  }
}

const FAILURES = [
  "function_not_found",
  "wrong_number_of_inputs",
  "value_not_yet_known",
  "incorrect_value",
];

/** The examples of Indirection: how often no tool was called, and how often its result was left out. */
function* indirection(trials: readonly Json[]): Iterable<Row> {
  const about = (trial: Json) => ({ ...subject(trial), probe: trial.task.case });
  for (const [of, own] of groups(whole(trials), about)) {
    const called = own.filter((trial) => calls(trial).length > 0);
    const ignored = own.filter((trial) => {
      const last = calls(trial).findLast(({ returned }) => returned !== undefined);
      return last !== undefined &&
        !answer(trial).match(/-?\d+/g)?.includes(`${last.returned.value}`);
    });
    const silent = own.length - called.length;
    const isNeedless = of["probe"] === "needless_call";
    yield {
      ...{ table: "probes", of },
      figures: {
        ...isNeedless ? { needless_call: share(called.length, own.length) } : {
          aversion: share(silent, own.length),
          ignored_result: share(ignored.length, own.length),
        },
      },
    };
  }
}

const KINDS = [
  "hallucination_name",
  "missing_information",
  "redundant_information",
  "task_deviation",
  "specification_mismatch",
];

/** Table 1 of Butterfly, over all tasks and over those solved without a perturbation: failures of each kind, accuracy. */
function* butterfly(trials: readonly Json[]): Iterable<Row> {
  const taskOf = ({ model, strategy, task, repetition }: Json) =>
    JSON.stringify([model.requested, strategy, task, repetition]);
  const isPlain = ({ perturbation }: Json) => perturbation === "none";
  const solved = new Set(whole(trials).filter(isPlain).filter(isRight).map(taskOf));
  const isMeant = (trial: Json) => !isPlain(trial) && solved.has(taskOf(trial));
  yield* failureRates("failure-rates", whole(trials));
  yield* failureRates("failure-rates-of-solved", whole(trials).filter(isMeant));
  for (const [of, own] of groups(whole(trials), subject)) {
    // Removed values leave nothing to solve.
    const solvable = own.filter(({ unsolvable }) => unsolvable === undefined);
    const meant = solvable.filter(isMeant);
    const failed = own.map((trial) => kindsOf(trial).size).filter((kinds) => kinds > 0);
    yield {
      ...{ table: "perturbations", of },
      figures: {
        task_accuracy: share(solvable.filter(isRight).length, solvable.length),
        accuracy_of_solved: share(meant.filter(isRight).length, meant.length),
        several_failures: share(failed.filter((kinds) => kinds > 1).length, failed.length),
      },
    };
  }
}

const kindsOf = (trial: Json) =>
  new Set<string>(
    calls(trial).flatMap(({ parameters }) => parameters?.failures ?? [])
      .map(({ type }: Json) => type),
  );

function* failureRates(table: string, trials: readonly Json[]): Iterable<Row> {
  for (const [key, own] of groups(trials, subject)) {
    for (const failure of KINDS) {
      const possible = own.filter(({ impossible = [] }) => !impossible.includes(failure));
      const failing = possible.filter((trial) => kindsOf(trial).has(failure));
      yield {
        ...{ table, of: { ...key, failure } },
        figures: { rate: share(failing.length, possible.length) },
      };
    }
  }
}

/** Table 4 of CallNavi, by the rule of its code: right functions, right calls, and a judge. */
function* callNavi(trials: readonly Json[]): Iterable<Row> {
  const scored = whole(trials).flatMap((trial) =>
    trial.events.filter(({ kind }: Json) => kind === "scored").slice(-1)
      .map((event: Json) => ({ ...trial, ...event }))
  );
  const about = (trial: Json) => ({ ...subject(trial), mode: trial.task.mode, version: "final" });
  for (const [of, own] of groups(scored, about)) {
    const rights = own.map((one) => ({ difficulty: one.task.difficulty, ...rightOf(one) }));
    const routing_all = share(rights.filter(({ routing }) => routing).length, rights.length);
    yield { table: "call-set-functions", of, figures: { routing_all } };
    const { version: _, ...asked } = of;
    yield {
      ...{ table: "call-set-judge", of: asked },
      figures: { judge: mean(own.map(({ judged }) => judged.score)) },
    };
    if (of["mode"] === "routing") continue;
    const exact = (level: string) => {
      const those = rights.filter(({ difficulty }) => level === "all" || difficulty === level);
      return share(those.filter((one) => one.exact).length, those.length);
    };
    const levels = ["easy", "medium", "hard"].map(exact);
    yield {
      ...{ table: "call-set-calls", of },
      figures: {
        ...{ exact_easy: levels[0]!, exact_medium: levels[1]!, exact_hard: levels[2]! },
        ...{ exact_all: exact("all"), exact_macro: mean(levels as number[]) },
      },
    };
  }
}

/** Whether an answer has the right functions in order, and whether it has the right arguments. */
function rightOf({ task, output, truth }: Json): { routing: boolean; exact: boolean } {
  if (task.mode === "routing") {
    const names = output.replace(/[\s'"[\]]/g, "").toLowerCase();
    return { routing: names === truth.API.join(",").toLowerCase(), exact: false };
  }
  let said: Json;
  try {
    said = JSON.parse(output);
  } catch {
    return { routing: false, exact: false };
  }
  const routing = JSON.stringify(said.API) === JSON.stringify(truth.API);
  const isLike = (given: Json, right: Json) =>
    right === "$$$" || JSON.stringify(right) === "{}" ||
    JSON.stringify(given) === JSON.stringify(right);
  const exact = routing && truth.parameters.length === said.parameters?.length &&
    truth.parameters.every((right: Json, place: number) =>
      Object.entries(right).every(([name, value]) => isLike(said.parameters[place]?.[name], value))
    );
  return { routing, exact };
}

/** The table of Pipeline on error handling: success under each fault, and its mean over these. */
function* pipeline(trials: readonly Json[]): Iterable<Row> {
  const about = ({ model, strategy }: Json) => ({ model: model.requested, strategy });
  for (const [key, own] of groups(whole(trials), about)) {
    const byFault = Map.groupBy(own, ({ perturbation }) => perturbation as string);
    const shares = [...byFault].map(([fault, those]): [string | null, number] => [
      fault,
      those.filter(isRight).length / those.length,
    ]);
    for (
      const [fault, solved] of [
        ...shares,
        [null, mean(shares.map(([, one]) => one))] as const,
      ]
    ) {
      yield { table: "error-handling", of: { ...key, fault }, figures: { solved } };
    }
  }
}

/** What counts an experiment of each source. */
export const RECOUNTS: Readonly<Record<string, (trials: readonly Json[]) => Iterable<Row>>> = {
  FuncBenchGen: funcBenchGen,
  Indirection: indirection,
  Butterfly: butterfly,
  CallNavi: callNavi,
  Pipeline: pipeline,
};

if (import.meta.main) {
  const [source, path] = Deno.args;
  const lines = Deno.readTextFileSync(path!).trimEnd().split("\n").map((line) => JSON.parse(line));
  console.log(
    JSON.stringify([...RECOUNTS[source!]!(lines.filter(({ kind }) => kind === "trial"))], null, 2),
  );
}
