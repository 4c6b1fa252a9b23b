/**
 * Pair views: the tasks that a compared candidate solved more or less often, as the page of a report lists them.
 * @module
 */

import { canonicalJson } from "../../base/json.ts";
import type { ChangedTask, ComparedPair } from "../../gate/comparison.ts";
import type { Simulated, Variant } from "../../gate/variant.ts";

/** Returns the views of pairs in the report's order; `places` are those of trials, by variant and id. */
export function viewPairs(
  pairs: readonly ComparedPair[],
  places: ReadonlyMap<string, number>,
  labelOf: (subject: Variant, simulated: Simulated) => string,
) {
  // The report may lack trials that a pair compares.
  const placesOf = (variant: Variant, ids: readonly string[]) =>
    ids.flatMap((id) => places.get(canonicalJson([variant, id])) ?? []);
  return pairs.map(({ subject, simulated, against, againstSimulated, gained, lost }) => {
    const viewTask = ({ candidate, baseline, trials: [own, others] }: ChangedTask) => [
      ...[candidate.solved, candidate.valid, baseline.solved, baseline.valid],
      ...[placesOf(subject, own), placesOf(against, others)],
    ];
    return {
      candidate: labelOf(subject, simulated),
      against: labelOf(against, againstSimulated),
      gained: gained.map(viewTask),
      lost: lost.map(viewTask),
    };
  });
}
