/**
 * Lanes: work that is begun in order, so much of it at the same time.
 * @module
 */

/** Options of {@linkcode mapConcurrent}. */
export interface MapConcurrentOptions {
  /** How many pieces of work may be under way at the same time: 1 or more. */
  readonly most: number;
  /** Whether nothing more is to be begun; asked before each piece. */
  readonly ended?: () => boolean;
}

/**
 * Does several pieces of work, each begun in order as soon as there is room. What comes of all of them
 * comes back at once where nothing has to be awaited, so that no turn of the event loop passes. After an
 * error nothing more is begun; what was begun is awaited, and the error of the first place thrown.
 *
 * @returns What came of each piece, in order; `undefined` for what was not begun.
 *
 * @example Usage
 * ```ts
 * import { mapConcurrent } from "./concurrent.ts";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(mapConcurrent(3, (place) => 2 * place, { most: 2 }), [0, 2, 4]);
 * const slow = async (place: number) => await Promise.resolve(2 * place);
 * assertEquals(await mapConcurrent(3, slow, { most: 2 }), [0, 2, 4]);
 * ```
 */
export function mapConcurrent<Result>(
  count: number,
  begin: (place: number) => Result | Promise<Result>,
  { most, ended = () => false }: MapConcurrentOptions,
): readonly (Result | undefined)[] | Promise<readonly (Result | undefined)[]> {
  const results: (Result | undefined)[] = Array.from({ length: count });
  const errors = new Map<number, unknown>();
  let next = 0;
  let underWay = 0;
  const lane = async () => {
    while (next < count && errors.size === 0 && !ended()) {
      const place = next++;
      underWay++;
      try {
        const begun = begin(place);
        results[place] = begun instanceof Promise ? await begun : begun;
      } catch (error) {
        errors.set(place, error);
      }
      underWay--;
    }
  };
  const finish = () => {
    if (errors.size > 0) throw errors.get(Math.min(...errors.keys()));
    return results;
  };
  const lanes = Array.from({ length: Math.min(most, count) }, lane);
  return underWay === 0 ? finish() : Promise.all(lanes).then(finish);
}
