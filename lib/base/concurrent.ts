/**
 * Runs async work in order with a concurrency limit.
 * @module
 */

/** Options of {@linkcode mapConcurrent}. */
export interface MapConcurrentOptions {
  /** How many pieces of work may run at the same time: 1 or more. */
  readonly most: number;
  /** Returns whether to start nothing more; asked before each piece. */
  readonly ended?: () => boolean;
}

/**
 * Runs several pieces of work, each started in order as soon as there is room. Returns the results
 * directly, not as a promise, if no piece was async, which saves a turn of the event loop. After an
 * error nothing more is started; running work is awaited, and the error with the lowest index is thrown.
 *
 * @returns The result of each piece, in order; `undefined` for those not started.
 */
export function mapConcurrent<Result>(
  count: number,
  start: (place: number) => Result | Promise<Result>,
  { most, ended = () => false }: MapConcurrentOptions,
): readonly (Result | undefined)[] | Promise<readonly (Result | undefined)[]> {
  const results: (Result | undefined)[] = Array.from({ length: count });
  const errors = new Map<number, unknown>();
  let next = 0;
  let underWay = 0;
  const worker = async () => {
    while (next < count && errors.size === 0 && !ended()) {
      const place = next++;
      underWay++;
      try {
        const outcome = start(place);
        results[place] = outcome instanceof Promise ? await outcome : outcome;
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
  const workers = Array.from({ length: Math.min(most, count) }, worker);
  return underWay === 0 ? finish() : Promise.all(workers).then(finish);
}
