/**
 * Failures in words: what was wrong with a call, and which argument of it.
 * @module
 */

import { printable } from "../base/json.ts";
import type { Failure, WrongArgument } from "./failure.ts";

/**
 * Describes one failure.
 *
 * @example Usage
 * ```ts
 * import { describeFailure } from "@toolgate/toolgate/reports";
 * import { assertEquals } from "@std/assert";
 *
 * const text = describeFailure({
 *   call: 1,
 *   step: 1,
 *   function: "func_qzx",
 *   type: "function_not_found",
 *   detail: { nearest: "func_qxz" },
 *   root: true,
 * });
 * assertEquals(
 *   text,
 *   "call 1 (step 1) func_qzx: function_not_found: there is no such function, the nearest is func_qxz",
 * );
 * ```
 */
export function describeFailure(failure: Failure): string {
  const where = `call ${failure.call} (step ${failure.step}) ${printable(failure.function, 60)}`;
  return `${where}: ${failure.type}: ${describeCause(failure)}`;
}

/** Describes why a call failed. */
export function describeCause(failure: Failure): string {
  switch (failure.type) {
    case "function_not_found":
      return failure.detail.nearest === null
        ? "there is no such function"
        : `there is no such function, the nearest is ${failure.detail.nearest}`;
    case "wrong_number_of_inputs": {
      const { missing, unexpected, wrongType, malformed } = failure.detail;
      if (malformed) return "the arguments are not a JSON object";
      const list = (problem: string, names: readonly string[]) =>
        names.length === 0
          ? []
          : [`${problem} ${names.map((name) => printable(name, 40)).join(", ")}`];
      return [
        ...list("missing", missing),
        ...list("unexpected", unexpected),
        ...list("not as the schema requires:", wrongType),
      ].join("; ");
    }
    case "value_not_yet_known":
      return `before step ${failure.step} no call had returned the values it needs: ` +
        failure.detail.arguments.map(describeArgument).join("; ");
    case "incorrect_value":
      return failure.detail.arguments.map(describeArgument).join("; ");
  }
}

/** Names the call that returned a wrong value; journals may not have its number. */
export function sourceCall({ originCall }: WrongArgument): string {
  return originCall === undefined ? "an earlier call" : `call ${originCall}`;
}

/** Describes one wrong argument. */
export function describeArgument(wrong: WrongArgument): string {
  const source = wrong.origin === "wrong_return"
    ? `which ${sourceCall(wrong)} had returned wrongly`
    : wrong.origin === "other_variable"
    ? `which is the value of ${wrong.originVariable}`
    : "which no call had returned";
  // Input variables are linked by name.
  const expected = wrong.parameter === wrong.variable
    ? "its own value"
    : `the value of ${wrong.variable}`;
  return `${wrong.parameter} expects ${expected} but got ${wrong.given}, ${source}`;
}
