/**
 * Expected calls of generated tasks: those that the calls of a trial are compared to.
 * @module
 */

import { isJsonObject, parseJson } from "../../base/json.ts";
import type { CallEvent } from "../../calls/trace.ts";
import type { Task } from "../../tasks/generated/task.ts";
import type { TaskFunction } from "../../tasks/generated/wording.ts";
import type { ExpectedCall } from "../../tools/expected_call.ts";
import { isLost } from "../../tools/fault.ts";

/**
 * Returns one correct call of each core function; those that were called are in the order of their best calls. A task
 * may be solved in many orders, so that each is compared to its best call: the first with the most correct
 * arguments.
 */
export function expectedCallsFor(
  functions: readonly TaskFunction[],
  values: Task["values"],
  calls: readonly CallEvent[],
): readonly ExpectedCall[] {
  const expected = functions.filter(({ role }) => role === "core").map(({ name, parameters }) => {
    const right = Object.create(null) as Record<string, number>;
    for (const parameter of parameters) right[parameter.name] = values.get(parameter.variable)!;
    return { tool: name, arguments: right };
  });
  const best = new Map<string, { place: number; right: number }>();
  const byName = new Map(expected.map((one) => [one.tool, one]));
  for (const [place, call] of calls.entries()) {
    if (isLost(call)) continue;
    const truth = byName.get(call.function)?.arguments;
    if (truth === undefined) continue;
    const input = parseJson(call.resolved ?? call.arguments);
    const right = Object.entries(truth).filter(([name, value]) =>
      isJsonObject(input) && Object.hasOwn(input, name) && input[name] === value
    ).length;
    if (right > (best.get(call.function)?.right ?? -1)) {
      best.set(call.function, { place, right });
    }
  }
  const bestPlace = ({ tool }: ExpectedCall) => best.get(tool)?.place ?? calls.length;
  return expected.toSorted((one, other) => bestPlace(one) - bestPlace(other));
}
