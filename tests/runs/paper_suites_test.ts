// The suites of the FuncBenchGen paper's experiments beside its setup, counted anew.

import { assertEquals } from "@std/assert";
import { readJsonc } from "../../lib/base/input.ts";
import { SUITE } from "../../lib/runs/suite.ts";
import { ROOT } from "../support/child.ts";
import { generatedFrom } from "../support/generated.ts";
import { planSuiteFile } from "../support/suites.ts";

function planOf(name: string) {
  const path = `${ROOT}/fixtures/suites/${name}.jsonc`;
  return planSuiteFile(readJsonc(path, SUITE), path);
}

/** The cells of a suite: core, depth, connected and disconnected functions. */
function cellsOf(name: string): string[] {
  return planOf(name).resolved.cells.map(generatedFrom)
    .map(({ core, depth, connected, disconnected }) =>
      [core, depth, connected, disconnected].join(" ")
    ).sort();
}

type Kind = "connected" | "disconnected" | "half";

/** The setup as section 4.1 has it. */
function setup(
  cores: readonly number[],
  counts: readonly number[],
  kinds: readonly Kind[] = ["connected", "disconnected", "half"],
): string[] {
  const cells = cores.flatMap((core) => {
    // Every depth up to 10 functions, else every tenth part of their number, from 1 on.
    const step = core <= 10 ? 1 : core / 10;
    const depths = Array.from({ length: core }, (_, place) => 1 + place * step)
      .filter((depth) => depth < core);
    return depths.flatMap((depth) =>
      counts.flatMap((count) =>
        kinds.map((kind) => {
          const connected = { connected: count, disconnected: 0, half: count / 2 }[kind];
          return [core, depth, connected, count - connected].join(" ");
        })
      )
    );
  });
  return [...new Set(cells)].sort();
}

const COUNTS = [0, 10, 20, 40];

Deno.test("suites/main_grid.jsonc crosses core sizes, depths, counts and kinds of irrelevant functions as the setup does, five graphs each (FuncBenchGen 4.1)", () => {
  assertEquals(cellsOf("main_grid"), setup([5, 10, 20], COUNTS));
  const graphs = Map.groupBy(planOf("main_grid").trials, ({ task }) => {
    const { core, depth, connected, disconnected } = generatedFrom(task);
    return [core, depth, connected, disconnected].join();
  });
  for (const [cell, { length }] of graphs) assertEquals(length, 5, cell);
  // Of other cells as well: no two share a core graph.
  const seeds = new Set(planOf("main_grid").trials.map(({ task }) => generatedFrom(task).seed));
  assertEquals(seeds.size, 1150);
});

Deno.test("suites/larger_sets.jsonc has cores of 40 functions beside those of the main grid (FuncBenchGen 4.5)", () => {
  assertEquals(cellsOf("larger_sets"), setup([5, 10, 20, 40], COUNTS));
});

Deno.test("suites/thinking_budget.jsonc has cores of 5 functions with all irrelevant ones, under a minimal and a medium budget (FuncBenchGen 4.5)", () => {
  assertEquals(cellsOf("thinking_budget"), setup([5], COUNTS));
  const { models } = readJsonc(`${ROOT}/fixtures/suites/thinking_budget.jsonc`, SUITE);
  assertEquals(
    models.map((model) => typeof model === "string" ? model : model.reasoningEffort),
    ["minimal", "medium"],
  );
});

Deno.test("suites/mitigation.jsonc has cores of 5 and 10 functions with connected ones, with and without restated values (FuncBenchGen 4.6.1, C.3)", () => {
  assertEquals(cellsOf("mitigation"), setup([5, 10], COUNTS, ["connected"]));
  const { trials } = planOf("mitigation");
  assertEquals([...new Set(trials.map(({ strategy }) => strategy))], ["plain", "restate"]);
});

Deno.test("suites/no_extra.jsonc has the cells of the main grid without irrelevant functions (FuncBenchGen C.1)", () => {
  assertEquals(cellsOf("no_extra"), setup([5, 10, 20], [0]));
});

Deno.test("suites/depth_40.jsonc has ten depths of cores of 40 functions (FuncBenchGen C.3)", () => {
  assertEquals(cellsOf("depth_40"), setup([40], COUNTS));
});
