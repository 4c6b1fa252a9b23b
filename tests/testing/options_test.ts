// What benchmarks say of options, beside what every wrong input gets (see tests/support/wrong_inputs.ts).

import { assertEquals, assertThrows } from "@std/assert";
import { InputError } from "../../lib/base/errors.ts";
import { checkOptions } from "../../lib/base/input.ts";
import { BENCHMARK } from "../../lib/testing/options.ts";
import { HOSTILE } from "../support/records.ts";

const RIGHT = { model: "m", tasks: { core: 3, depth: 1 }, seed: 1 };

Deno.test("checkOptions() says in one line what is wrong with an option, and where it belongs", () => {
  const deep = JSON.parse(`${"[".repeat(5_000)}${"]".repeat(5_000)}`);
  const table: [options: object, line: string][] = [
    [{ modle: "m" }, 'at the top: Unrecognized key: "modle"; did you mean model?'],
    [{ name: "m" }, 'at the top: Unrecognized key: "name"'],
    [{ constructor: 1 }, 'at the top: Unrecognized key: "constructor"'],
    [
      { perturbation: "RD" },
      'at the top: Unrecognized key: "perturbation": here it is called perturbations, which takes a list',
    ],
    [
      { strategy: "restate" },
      'at the top: Unrecognized key: "strategy": here it is called strategies, which takes a list',
    ],
    [
      { models: ["m"] },
      'at the top: Unrecognized key: "models": here it is called model, which takes one or a list',
    ],
    [
      { model: HOSTILE, body: deep },
      'at the top: Unrecognized key: "body": it belongs to the model, as in model: { model: "gpt-5", body: ... }',
    ],
    [{ concurrency: 1.5 }, "at concurrency: must be a whole number from 1 on: it is 1.5"],
    [{ requestTimeout: 0 }, "at requestTimeout: must be above 0: it is 0"],
    [{ retries: "3" }, 'at retries: must be a whole number from 0 on: it is "3"'],
    [{ report: 7 }, "at report: must be a path or a list of paths"],
  ];
  for (const [options, line] of table) {
    const check = () => checkOptions(BENCHMARK, { ...RIGHT, ...options }, "benchmark b");
    assertEquals(assertThrows(check, InputError).message, `Cannot use benchmark b:\n  ${line}`);
  }
  const more = { perturbations: ["RD"], requestTimeout: Infinity, journal: undefined };
  checkOptions(BENCHMARK, { ...RIGHT, ...more }, "benchmark b");
});
