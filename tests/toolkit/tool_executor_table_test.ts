// The table "Tool Call Success Rate by Error Handling Strategy" (Pipeline), which is empty there: filled by
// simulation, with faults that are injected and a simulated model that repairs.

import { assert, assertEquals } from "@std/assert";
import type { JsonObject } from "../../lib/base/json.ts";
import { scripted } from "../../lib/models/scripted.ts";
import { fork } from "../../lib/base/random.ts";
import type { Tool } from "../../lib/tools/tool.ts";
import { ToolError, type ToolErrorCategory } from "../../lib/toolkit/execution/tool_error.ts";
import { createToolExecutor } from "../../lib/toolkit/execution/executor.ts";
import type { ToolExecutorOptions } from "../../lib/toolkit/execution/options.ts";
import { VirtualClock } from "../support/virtual_clock.ts";

/** So many calls of each kind. */
const CALLS = 200;
/** How often a run of a tool fails in passing, and how often a model's arguments are right. */
const FAILS = 0.5;
const MENDS = 0.8;

const COLUMNS = ["valid", "wrong arguments", "rate limit", "not found", "timeout"] as const;
type Column = typeof COLUMNS[number];

const ROWS = ["no error handling", "simple retry", "model-assisted"] as const;
type Row = typeof ROWS[number];

/** The retries of every row that has any. */
const RETRIES = 3;

/** A tool with its alternative; how its calls go is drawn for each of them. */
function toolsOf(column: Column, clock: VirtualClock): Tool[] {
  const runs = new Map<number, number>();
  const fails = (n: number) => {
    const made = (runs.get(n) ?? 0) + 1;
    runs.set(n, made);
    return fork(11, column, n, made).prng() < FAILS;
  };
  const make = (name: string, execute: (input: JsonObject) => Promise<string>): Tool => ({
    name,
    description: name,
    parameters: {
      type: "object",
      properties: { n: { type: "integer" } },
      required: ["n"],
      additionalProperties: false,
    },
    execute,
  });
  const lookUp = make("look_up", async ({ n }) => {
    if (column === "not found") throw new ToolError("not_found", "Not here");
    if (column === "rate limit" && fails(Number(n))) {
      throw new ToolError("rate_limit", "Slower", { retryAfter: 2000 });
    }
    if (column === "timeout" && fails(Number(n))) await clock.pause(90_000);
    return JSON.stringify({ n });
  });
  return [lookUp, make("look_up_elsewhere", ({ n }) => Promise.resolve(JSON.stringify({ n })))];
}

function optionsOf(row: Row): ToolExecutorOptions {
  if (row === "no error handling") return { retries: 0 };
  if (row === "simple retry") return { retries: RETRIES };
  const model = scripted("simulated", ({ messages }) => {
    const n = Number(/call (\d+)/.exec(messages[0]!.content)![1]);
    const right = fork(11, "mends", n).prng() < MENDS;
    return { text: right ? JSON.stringify({ n }) : "I do not know." };
  });
  return {
    retries: RETRIES,
    repair: { model, attempts: 1 },
    alternatives: { look_up: "look_up_elsewhere" },
  };
}

/** One cell: how many calls came to their result, and how the others ended. */
async function cell(row: Row, column: Column) {
  using clock = new VirtualClock();
  const executor = createToolExecutor(toolsOf(column, clock), {
    ...optionsOf(row),
    clock,
    seed: 11,
  });
  const ends = new Map<ToolErrorCategory, number>();
  let [solved, attempts] = [0, 0];
  for (let n = 0; n < CALLS; n++) {
    const written = column === "wrong arguments" ? { number: n } : { n };
    const execution = await executor.execute({ name: "look_up", arguments: written }, {
      messages: [{ role: "user", content: `This is call ${n}` }],
    });
    attempts += execution.attempts.length;
    if (execution.ok) {
      assertEquals(execution.value, { n }, "what came is what was asked for");
      solved++;
    } else {
      const { category } = execution.error;
      ends.set(category, (ends.get(category) ?? 0) + 1);
    }
  }
  return { solved, attempts, ends: Object.fromEntries(ends) };
}

/** Whether so many calls are a share of all, but for five standard deviations. */
function assertShare(solved: number, share: number): void {
  const slack = 5 * Math.sqrt(CALLS * share * (1 - share));
  assert(Math.abs(solved - CALLS * share) <= slack, `${solved} is not ${CALLS * share} ± ${slack}`);
}

Deno.test("createToolExecutor() fills the table of error handling strategies", async () => {
  const cells = new Map<string, Awaited<ReturnType<typeof cell>>>();
  const table: Record<string, number[]> = {};
  for (const row of ROWS) {
    const solved: number[] = [];
    for (const column of COLUMNS) {
      const own = await cell(row, column);
      cells.set(`${row}/${column}`, own);
      solved.push(own.solved);
    }
    table[row] = [...solved, solved.reduce((sum, one) => sum + one)];
  }
  // In the order of the columns, of 200 each, and overall: it is the same on every machine.
  assertEquals(table, {
    "no error handling": [200, 0, 96, 0, 97, 393],
    "simple retry": [200, 0, 189, 0, 192, 581],
    "model-assisted": [200, 152, 189, 200, 192, 933],
  });

  // Where nothing goes wrong nothing is done, and where nothing is done what goes wrong stays wrong.
  for (const row of ROWS) assertEquals(cells.get(`${row}/valid`)!.attempts, CALLS);
  for (const row of ["no error handling", "simple retry"]) {
    const wrong = { solved: 0, attempts: CALLS };
    assertEquals(cells.get(`${row}/wrong arguments`), { ...wrong, ends: { validation: CALLS } });
    assertEquals(cells.get(`${row}/not found`), { ...wrong, ends: { not_found: CALLS } });
  }
  // Retrying helps against what passes: each run fails alone.
  for (const column of ["rate limit", "timeout"]) {
    assertShare(cells.get(`no error handling/${column}`)!.solved, 1 - FAILS);
    for (const row of ["simple retry", "model-assisted"]) {
      assertShare(cells.get(`${row}/${column}`)!.solved, 1 - FAILS ** (1 + RETRIES));
    }
  }
  // The model mends as often as it can, and the alternative is always there.
  const mended = cells.get("model-assisted/wrong arguments")!;
  assertShare(mended.solved, MENDS);
  assertEquals(mended.ends, { validation: CALLS - mended.solved });
  assertEquals(cells.get("model-assisted/not found")!.solved, CALLS);
});
