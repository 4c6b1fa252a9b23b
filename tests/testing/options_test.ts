// What benchmarks say of options that there are not.

import { assertThrows } from "@std/assert";
import { assertOptions } from "../../lib/testing/options.ts";
import { InputError } from "../../lib/base/errors.ts";
import { HOSTILE } from "../support/records.ts";

Deno.test("assertOptions() says where an option that there is not belongs", () => {
  const deep = JSON.parse(`${"[".repeat(5_000)}${"]".repeat(5_000)}`);
  const table: [options: object, message: string][] = [
    [{ modle: "m" }, "as there is no option modle; did you mean model?"],
    [{ name: "m" }, "as there is no option name"],
    [{ constructor: 1 }, "as there is no option constructor"],
    [{ perturbation: "RD" }, "here it is called perturbations, which takes a list"],
    [{ strategy: "restate" }, "here it is called strategies, which takes a list"],
    [{ models: ["m"] }, "here it is called model, which takes one or a list"],
    [
      { model: "sim:planner", api: "hermes" },
      'no option api: it belongs to the model, as in model: { model: "sim:planner", api: "hermes" }',
    ],
    [
      { model: ["a", "b"], toolChoice: "required" },
      'it belongs to the model, as in model: { model: ..., toolChoice: "required" }',
    ],
    [{ model: HOSTILE, body: deep }, "it belongs to the model, as in model: { model: "],
    [{ concurrency: 0 }, "at concurrency: must be at least 1: it is 0"],
    [{ concurrency: 1.5 }, "at concurrency: must be a whole number from 1 on: it is 1.5"],
    [{ requestTimeout: 0 }, "at requestTimeout: must be above 0: it is 0"],
    [{ retries: "3" }, 'at retries: must be a whole number from 0 on: it is "3"'],
    [{ report: 7 }, "at report: "],
  ];
  for (const [options, message] of table) {
    assertThrows(() => assertOptions("benchmark b", options), InputError, message);
  }
  const right = {
    model: "m",
    perturbations: ["RD"],
    concurrency: 2,
    requestTimeout: Infinity,
    journal: undefined,
  };
  assertOptions("benchmark b", right);
});
