// Integers beyond 2^53 from the reply of a model to what is compared, shown, journaled and handed on.

import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { z } from "zod";
import { anyOf, closeTo, inAnyOrder, matching } from "../../lib/calls/expected/matchers.ts";
import { canonicalJson, exactJson, jsonText, parseJson } from "../../lib/base/json.ts";
import { readJsonc } from "../../lib/base/input.ts";
import { loadJsonc } from "../../lib/tasks/questions/_load_jsonc.ts";
import { scorePrediction } from "../../lib/tasks/questions/scoring.ts";
import { assertCalled } from "../../lib/testing/assertions/calls.ts";
import { scripted } from "../../lib/models/scripted.ts";
import { tool } from "../../lib/tools/define_tool.ts";
import type { ExpectedValue } from "../../lib/tools/expected_call.ts";
import { caseOpener } from "../../lib/trials/executors/case.ts";
import type { ToolCase } from "../../lib/trials/executors/tool_case.ts";
import { runTrial } from "../../lib/trials/run_trial.ts";
import { TRIAL_LINE } from "../../lib/trials/trial.ts";

const ID = 7_300_000_000_000_000_123n;

/** What the tools of a trial got. */
const got: unknown[] = [];
const take = (given: { id?: unknown }) => {
  got.push(given.id);
  return given;
};
const ROW = { name: "row", description: "Finds a row" };
const row = tool({
  ...ROW,
  parameters: { type: "object", properties: { id: { type: ["integer", "array"] } } },
  execute: take,
});
const parsed = tool({ ...ROW, parameters: z.object({ id: z.number() }).readonly(), execute: take });

/** Runs a trial in which a model calls with each of these texts, and expects a call with `id`. */
async function called(texts: readonly string[], id: ExpectedValue, own = row) {
  got.length = 0;
  const expected = [{ tool: "row", arguments: { id } }];
  const toolCase: ToolCase = {
    ...{ name: "own", tools: [own], prompt: "Find it.", expected },
    assert: (run) => assertCalled(run, expected[0]!),
  };
  const calls = texts.map((text) => ({ name: "row", arguments: `{"id":${text}}` }));
  const model = scripted("m", [{ calls }, { text: "Done." }]);
  return await runTrial({ case: "own", seed: 1 }, model, {
    open: caseOpener(() => toolCase as ToolCase),
    references: true,
  });
}

Deno.test("a call is as expected by every digit of an integer", async () => {
  const table: [written: string, expected: ExpectedValue, outcome: string, got?: unknown][] = [
    [`${ID}`, ID, "solved", ID],
    [`${ID + 1n}`, ID, "wrong_answer", ID + 1n],
    [`-${ID}`, -ID, "solved", -ID],
    [`${2n ** 200n}`, 2n ** 200n, "solved", 2n ** 200n],
    [`[1, ${ID}]`, [1, ID], "solved"],
    [`[1, ${ID - 1n}]`, inAnyOrder(ID, 1), "wrong_answer"],
    [`${ID}`, anyOf(5, ID), "solved"],
    [`${ID + 1n}`, matching((id) => id === ID, "the id"), "wrong_answer"],
    [`${ID}`, closeTo(7.3e18, 1e9), "solved"],
    [`"${ID}"`, ID, "wrong_answer"],
    [`${Number.MAX_SAFE_INTEGER}`, BigInt(Number.MAX_SAFE_INTEGER), "solved"],
    ["1.0", 1n, "solved", 1],
    ["-0", 0, "solved", -0],
    // Numbers that show the digits as they were written stay numbers.
    ["1000000000000000000", 10n ** 18n, "solved", 1e18],
    ["5972000000000000000000000", 5.972e24, "solved", 5.972e24],
    ["6.022e23", 602_200_000_000_000_000_000_000n, "solved", 6.022e23],
    ["602200000000000000000001", 6.022e23, "wrong_answer"],
    ["9".repeat(400), BigInt("9".repeat(400)), "solved", BigInt("9".repeat(400))],
    ["9".repeat(400), BigInt("9".repeat(399) + "8"), "wrong_answer"],
    [`[${ID}, {"toJSON": 1, "id": ${ID}}]`, [ID, { toJSON: 1, id: ID }], "solved"],
    // A number says neither which integer was written, nor which is expected.
    [`${ID}`, Number(ID), "invalid"],
    [`${ID}`, anyOf(5, [Number(ID)]), "invalid"],
  ];
  for (const [written, expected, outcome, value] of table) {
    const trial = await called([written], expected);
    const words = `${written} ${String(expected)}: ${trial.outcome}`;
    assertEquals(trial.outcome, outcome, words);
    if (value !== undefined) assertEquals(got, [value], words);
    const line = exactJson(JSON.stringify(trial));
    assertEquals(canonicalJson(TRIAL_LINE.parse(line)), canonicalJson(line));
    assertStringIncludes(JSON.stringify(trial.events), JSON.stringify(written).slice(1, -1));
  }
});

Deno.test("a tool gets the digits of results, references and schemas of libraries, and writes them", async () => {
  const { events, outcome } = await called([`${ID}`, '"$1.id"'], ID, parsed);
  assertEquals([outcome, got], ["solved", [ID, ID]]);
  const { behaviours } = await called([`${ID}`, `${ID + 1n}`], ID);
  assertEquals(behaviours, (await called(["7", "8"], 7)).behaviours);
  assertStringIncludes(JSON.stringify(events), `{\\"id\\":${ID}}`);
  assertEquals(await row.execute(exactJson(`{"id":[${ID}]}`) as never), `{"id":[${ID}]}`);
});

Deno.test("schemas may have integers beyond 2^53", async () => {
  const id = { type: "integer", minimum: -(2n ** 63n), maximum: 2n ** 63n - 1n, enum: [ID, 5] };
  const parameters = { type: "object", properties: { id } };
  const bounded = tool({ ...ROW, parameters, execute: take });
  assertEquals((await called([`${ID}`], ID, bounded)).outcome, "solved");
  assertEquals((await called([`-${2n ** 64n}`, `${ID}`], ID, bounded)).failures.length, 1);
  assertStringIncludes(JSON.stringify(bounded), `"enum":[${ID},5]`);
  const path = Deno.makeTempFileSync({ suffix: ".json" });
  const questions = [{
    id: "1",
    question: "Find it.",
    calls: [{ function: "row", arguments: { id: ID } }],
  }];
  const set = { name: "own", functions: { all: [{ ...ROW, parameters }] }, questions };
  Deno.writeTextFileSync(path, jsonText(set));
  const [question] = loadJsonc(path).questions;
  Deno.removeSync(path);
  assertEquals(question!.truth.parameters, [{ id: ID }]);
});

Deno.test("exactJson() and jsonText() keep the digits of integers, and nothing else", () => {
  const texts = [
    `{"toJSON":${ID},"id":${ID}}`,
    "9007199254740993",
    "[-9007199254740993,9007199254740991]",
    `{"a":{"b":[${ID}]}}`,
  ];
  for (const text of texts) {
    assertEquals(jsonText(exactJson(text)), text);
    assertEquals(jsonText(structuredClone(exactJson(text))), text);
  }
  for (const text of ["1e400", "-0", "1.0", "0.12345678901234567", '"9007199254740993"', "1e21"]) {
    assertEquals(exactJson(text), JSON.parse(text));
  }
  const deep = `${"[".repeat(50_000)}${ID}${"]".repeat(50_000)}`;
  assertEquals(Array.isArray(parseJson(deep)), true);
  assertThrows(() => exactJson("{9007199254740993}"), SyntaxError);
});

Deno.test("call sets are scored by every digit, in JSON and YAML", () => {
  const path = Deno.makeTempFileSync({ suffix: ".jsonc" });
  Deno.writeTextFileSync(path, `{ /* One. */ "id": [${ID}, 1.0], }`);
  const truth = { API: ["row"], parameters: [readJsonc(path, z.custom<{ id: [bigint, 1] }>())] };
  Deno.removeSync(path);
  assertEquals(truth.parameters[0], { id: [ID, 1] });
  for (const [id, exact] of [[ID, true], [ID + 1n, false]] as const) {
    const json = `{"API": ["row"], "parameters": [{"id": [${id}, 1]}]}`;
    for (const format of ["json", "yaml"] as const) {
      assertEquals(scorePrediction(json, truth, { format, rule: "strict" }).exact, exact);
    }
  }
});
