/**
 * Pair views: the tasks that a compared candidate solved more or less often, as the page of a report lists them.
 * @module
 */

import { canonicalJson } from "../../base/json.ts";
import type { ChangedTask, ComparedPair } from "../../gate/comparison.ts";
import type { Variant } from "../../gate/variant.ts";

/** Places of trials in the list, by variant and id: variants may share ids. */
export class TrialPlaces {
  readonly #places = new Map<string, number>();

  add(subject: Variant, id: string, place: number): void {
    this.#places.set(canonicalJson([subject, id]), place);
  }

  /** Returns the places of the trials that the report has. */
  of(subject: Variant, ids: readonly string[]): number[] {
    return ids.flatMap((id) => this.#places.get(canonicalJson([subject, id])) ?? []);
  }
}

/** Returns the views of pairs, at the places that they have in the report. */
export function viewPairs(
  pairs: readonly ComparedPair[],
  places: TrialPlaces,
  labelOf: (subject: Variant, simulated: boolean) => string,
) {
  return pairs.map(({ subject, simulated, against, gained, lost }) => {
    const viewTask = ({ candidate, baseline, trials: [own, others] }: ChangedTask) => [
      ...[candidate.solved, candidate.valid, baseline.solved, baseline.valid],
      ...[places.of(subject, own), places.of(against, others)],
    ];
    return {
      candidate: labelOf(subject, simulated),
      against: labelOf(against, simulated),
      gained: gained.map(viewTask),
      lost: lost.map(viewTask),
    };
  });
}
