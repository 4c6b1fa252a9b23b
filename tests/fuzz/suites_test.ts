// Suites that people and programs have spoiled: each comes to a plan that holds together, or to one message
// that names the file and what is wrong with it.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { parse as parseJsonc } from "@std/jsonc";
import { Ajv } from "ajv";
import { planSuiteFile } from "../support/suites.ts";
import { readSuite } from "../../lib/cli/running.ts";
import { InputError } from "../../lib/base/errors.ts";
import { canonicalJson, type JsonValue, parseJson } from "../../lib/base/json.ts";
import { readPlanLine } from "../../lib/runs/journal/journal.ts";
import { planLine, planOfLine } from "../../lib/runs/journal/plan_line.ts";
import type { Plan } from "../../lib/runs/plan.ts";
import { countTrials } from "../../lib/runs/resolved_suite.ts";
import { parseTrialId } from "../../lib/trials/trial_id.ts";
import { ROOT } from "../support/child.ts";
import fc from "../support/fast_check.ts";
import { Folder } from "../support/folders.ts";
import {
  anyJson,
  assertReadable,
  byteChanges,
  changed,
  changedBytes,
  changedText,
  fuzz,
  quietly,
  textChanges,
  valueChanges,
} from "../support/fuzzing.ts";
import { linesOf } from "../support/journals.ts";
import { SCHEMA_PATH } from "../support/suite_schema.ts";

const SUITES = `${ROOT}/fixtures/suites`;

/** The suites by name, as they are but that their call sets are found from anywhere. */
const TEXTS = new Map(
  [...Deno.readDirSync(SUITES)].flatMap(({ name }) => name.endsWith(".jsonc") ? [name] : []).sort()
    .map((name) => {
      const text = Deno.readTextFileSync(`${SUITES}/${name}`);
      const sets = `${ROOT}/fixtures/call_sets`;
      return [
        name,
        text.replaceAll('"../call_sets', `"${sets}`)
          .replace('"$TOOLGATE_CALLNAVI"', `"${sets}/city"`),
      ];
    }),
);

const validate = new Ajv({ validateFormats: false })
  .compile(JSON.parse(Deno.readTextFileSync(SCHEMA_PATH)));

/** What a suite file comes to: a plan, or what is wrong with it. */
async function planOf(bytes: string | Uint8Array): Promise<Plan | InputError> {
  using folder = new Folder();
  const path = folder.write("suite.jsonc", bytes);
  try {
    return (await quietly(() => planSuiteFile(readSuite(path), path))).value;
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    assertReadable(error.message);
    // What is wrong with a call set names that, wherever it lies.
    if (!/call_sets|the call set|^Cannot read/.test(error.message)) {
      assertStringIncludes(error.message, folder.path);
    }
    assert(
      /\bas\b|: at |\n {2}at |line \d+|cannot|is not JSON/i.test(error.message),
      error.message,
    );
    return error;
  }
}

/** Plans of more trials are not looked at one by one. */
const MANY = 20_000;

function checkPlan(plan: Plan): void {
  const { trials, resolved } = plan;
  assert(trials.length > 0);
  assertEquals(trials.length, countTrials(resolved));
  if (trials.length > MANY) return;
  assertEquals(new Set(trials.map(({ id }) => id)).size, trials.length, "ids must be distinct");
  for (const [index, { id, index: own, block, ...key }] of trials.entries()) {
    assertEquals(own, index);
    assert(block >= 0 && block < resolved.graphs);
    assertEquals(parseTrialId(id), JSON.parse(JSON.stringify(key)));
  }
  using folder = new Folder();
  const path = folder.write("a.jsonl", linesOf([planLine(plan)]));
  const line = readPlanLine(path);
  assert(line !== undefined);
  const read = planOfLine(line);
  assert(read !== undefined, "its trials can be listed");
  // Entry by entry would take longer than all the rest.
  assertEquals(canonicalJson(read.trials), canonicalJson(trials));
  assertEquals(read.gate, JSON.parse(JSON.stringify(plan.gate ?? null)) ?? undefined);
}

/** The file is planned as it should be, and editors say the same of it. */
async function checkSuite(bytes: string | Uint8Array): Promise<void> {
  const plan = await planOf(bytes);
  if (plan instanceof InputError) return;
  checkPlan(plan);
  const value = parseJsonc(typeof bytes === "string" ? bytes : new TextDecoder().decode(bytes));
  assert(
    validate(value),
    `schema.json refuses what can be planned: ${JSON.stringify(validate.errors)}`,
  );
}

const name = () => fc.constantFrom(...TEXTS.keys());
const textOf = (name: string) => TEXTS.get(name)!;
const valueOf = (name: string) => parseJsonc(textOf(name)) as JsonValue;

fuzz(
  "planSuite() makes a plan of a suite with other fields, or says what is wrong",
  fc.tuple(name(), valueChanges()),
  ([suite, changes]) => checkSuite(JSON.stringify(changed(valueOf(suite), changes))),
  { runs: 50 },
);

fuzz(
  "planSuite() makes a plan of a suite with another text, or says what is wrong",
  fc.tuple(name(), textChanges()),
  ([suite, changes]) => checkSuite(changedText(textOf(suite), changes)),
  { runs: 20 },
);

fuzz(
  "planSuite() makes a plan of a suite with other bytes, or says what is wrong",
  fc.tuple(name(), byteChanges(), fc.constantFrom("", "\ufeff", "\u0000"), fc.boolean()),
  ([suite, changes, before, windows]) => {
    const whole = before + (windows ? textOf(suite).replaceAll("\n", "\r\n") : textOf(suite));
    return checkSuite(changedBytes(new TextEncoder().encode(whole), changes));
  },
  { runs: 50 },
);

fuzz(
  "planSuite() makes a plan of any JSON in place of a part of a suite, or says what is wrong",
  fc.tuple(
    anyJson(),
    fc.constantFrom(
      "",
      "tasks",
      "models",
      "strategies",
      "perturbations",
      "limits",
      "gate",
      "prices",
    ),
  ),
  ([made, field]) => {
    const usual = { name: "s", seed: 1, graphs: 2, tasks: [{ core: 3, depth: 2 }], models: ["m"] };
    return checkSuite(JSON.stringify(field === "" ? made : { ...usual, [field]: made }));
  },
  { runs: 150 },
);

fuzz(
  "planSuite() makes a plan of a suite torn anywhere, or says what is wrong",
  fc.tuple(name(), fc.nat()),
  async ([suite, length]) => {
    const torn = textOf(suite).slice(0, length % textOf(suite).length);
    const plan = await planOf(torn);
    assert(plan instanceof InputError || parseJson(torn.replace(/\/\/.*/g, "")) !== undefined);
  },
  { runs: 100 },
);

for (
  const [what, size] of Object.entries({ 1_000_000: 1e6, 1e9: 1e9, "2 ** 53 - 1": 2 ** 53 - 1 })
) {
  for (
    const tasks of [
      { core: size, depth: "all" },
      { core: [5, size], depth: "all" },
      { core: size, depth: size - 1 },
      { core: 5, depth: 2, connected: size },
      { core: 5, depth: 2, disconnected: Array.from({ length: 1000 }, (_, at) => size - at) },
    ]
  ) {
    Deno.test(
      `planSuite() says at once of tasks of size ${what} what is wrong: ${
        JSON.stringify(tasks).slice(0, 50)
      }`,
      async () => {
        const plan = await planOf(
          JSON.stringify({ name: "s", seed: 1, tasks: [tasks], models: ["m"] }),
        );
        if (!(plan instanceof InputError)) checkPlan(plan);
      },
    );
  }
}

Deno.test("planSuite() says at once that lists come to too many cells", async () => {
  const many = Array.from({ length: 2_000 }, (_, at) => at + 1);
  const tasks = [{ core: many, depth: many, connected: many, disconnected: many }];
  const plan = await planOf(JSON.stringify({ name: "s", seed: 1, tasks, models: ["m"] }));
  assert(plan instanceof InputError, "it has eight billion cells");
});

Deno.test("readJsonc() says of thousands of faults only what a person can read", async () => {
  const tasks = new Array(3_000).fill({ core: "x", depth: -1, more: "y".repeat(100) });
  const plan = await planOf(JSON.stringify({ name: "s", seed: 1, tasks, models: ["m"] }));
  assert(plan instanceof InputError);
});
