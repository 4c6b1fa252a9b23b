/**
 * Tool suites: tool tests that have their model, their tools or their gate in common.
 * @module
 */

import { cannot } from "../base/errors.ts";
import { printable } from "../base/json.ts";
import { valueText } from "../calls/values/text.ts";
import { afterLoad } from "./_after_load.ts";
import { CallSite } from "./_register.ts";
import { assertSuiteOptions } from "./_tool_options.ts";
import { SuiteTests } from "./_tool_suites.ts";
import { testFunctions } from "./tool_test.ts";
import type { ToolSuiteOptions, ToolTest } from "./tool_test_options.ts";

/**
 * Begins a suite of tool tests, and returns a function that registers its tests as `toolTest()` does: the suite has one
 * plan, one journal, one gate and one report, and its trials run side by side.
 *
 * Options of the suite hold for all of its tests. Tests may have a `model`, `strategy`, `perturbation`, `trials`, `seed`,
 * `limits` or `references` of their own; with a gate these are the same for all, but for `limits` and `references`, as the
 * gate decides over all trials of all tests. `tools`, `system`, `state`, `toolChoice` and `never` hold for tests that have
 * none of their own.
 *
 * The suite is registered once its file has been loaded. If something is wrong with it, a test of its name fails in place
 * of all others; what is wrong with one test fails where that stands and, with a gate, keeps the suite from running.
 *
 * @example In a test file
 * ```ts ignore
 * import { assertCalled, tool, toolSuite } from "@toolgate/toolgate";
 * import { z } from "zod";
 *
 * const refund = tool({
 *   name: "refund",
 *   description: "Refunds an order",
 *   parameters: z.object({ order: z.string() }),
 *   returns: { refunded: true },
 * });
 *
 * const test = toolSuite("support", {
 *   model: "gpt-5",
 *   tools: [refund],
 *   trials: 10,
 *   gate: { successRate: 0.9 },
 * });
 *
 * test("refunds an order", {
 *   prompt: "Please refund order A7.",
 *   assert: (run) => assertCalled(run, { tool: "refund", arguments: { order: "A7" } }),
 * });
 *
 * test.each([{ order: "B1" }, { order: "C2" }])("refunds $order", ({ order }) => ({
 *   prompt: `I want my money back for order ${order}.`,
 *   assert: (run) => assertCalled(run, { tool: "refund", arguments: { order } }),
 * }));
 * ```
 */
export function toolSuite<State = undefined>(
  name: string,
  options: ToolSuiteOptions<State>,
): ToolTest<"model" | "tools", State> {
  const site = new CallSite(toolSuite, name);
  let tests: SuiteTests | undefined;
  site.attempt(() => {
    if (typeof name !== "string" || name.trim() === "") {
      throw cannot(
        "use a tool suite",
        "its name must be a text that is not empty",
        `it is ${valueText(name)}`,
      );
    }
    const subject = `tool suite ${printable(name, 100)}`;
    assertSuiteOptions(subject, options);
    const suite = new SuiteTests({
      ...{ name, subject, site, kind: "suite" },
      options: options as ToolSuiteOptions<unknown>,
    });
    afterLoad(site, () => suite.register());
    tests = suite;
  });
  return testFunctions("test", (place, test, own, mode) => {
    // Of a suite that cannot be used nothing is run.
    tests?.add(place, test, own, mode);
  });
}
