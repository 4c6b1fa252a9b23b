/**
 * The experiments of docs/experiments.md: a row a table or figure of a source.
 */

import { textOf } from "./documents.ts";

/** A row of a table of experiments. */
export interface ExperimentRow {
  /** What of the source it is. */
  readonly what: string;
  /** The command, without `deno task toolgate`. */
  readonly command: string;
  /** The name of the suite that it runs. */
  readonly suite: string;
  /** What the report calls it. */
  readonly heading: string;
  /** Trials of a model. */
  readonly trials: number;
  /** Estimated US dollars of a model. */
  readonly usd: number;
}

/** All rows, in order. */
export const EXPERIMENTS: readonly ExperimentRow[] = textOf("docs/experiments.md").split("\n")
  .filter((line) => line.includes("| `run fixtures/suites/"))
  .map((line) => {
    const [what, quoted, heading, trials, cost] = line.slice(2, -2).split("|").map((cell) =>
      cell.trim()
    );
    const command = quoted!.replaceAll("`", "");
    return {
      ...{ what: what!, command, heading: heading! },
      suite: /suites\/(\w+)\.jsonc/.exec(command)![1]!,
      trials: Number(trials!.replace(",", "")),
      usd: Number(cost!.slice(1)),
    };
  });
