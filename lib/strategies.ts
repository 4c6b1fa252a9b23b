/**
 * The strategies there are.
 * @module
 */

import { InputError } from "./input.ts";
import { printable } from "./json.ts";
import { restate } from "./strategies/restate.ts";
import { baseline, type Strategy } from "./strategy.ts";

const BODIES = { baseline, restate } satisfies Record<string, Strategy>;

/** The ids of all strategies. */
export const STRATEGIES = Object.keys(BODIES) as readonly (keyof typeof BODIES)[];

/**
 * The strategy of an id.
 *
 * @throws {InputError} If there is none.
 */
export function strategyOf(id: string): Strategy {
  if (Object.hasOwn(BODIES, id)) return BODIES[id as keyof typeof BODIES];
  throw new InputError(
    `Cannot use the strategy as it must be one of ${STRATEGIES.join(", ")}: it is ${printable(id)}`,
  );
}
