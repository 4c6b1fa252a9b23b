// Tests of the user's own tools, run in this process: how they end, and what they say of wrong options.

import { type CollectedRun, CollectedTests } from "../support/collected.ts";
import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { InputError } from "../../lib/base/errors.ts";
import { scripted } from "../../lib/models/scripted.ts";
import { toolTest } from "../../lib/testing/tool_test.ts";
import type { ToolTestOptions } from "../../lib/testing/tool_test_options.ts";
import { tool } from "../../lib/tools/define_tool.ts";
import { registerOwnTests } from "./own_tests.ts";

const registered = CollectedTests.ofFile(registerOwnTests);

let finished: CollectedRun;
Deno.test.beforeAll(async () => {
  finished = await registered.run({
    filter: (name) => !name.startsWith("gated alone > trial "),
  });
});

/** The errors of failed tests, by their names. */
function errorsIn({ tests }: CollectedRun): Map<string, string> {
  return new Map(tests.flatMap(({ name, error }) => error === "" ? [] : [[name, error]]));
}

/** How each test of some tool tests ended, in their order. */
function endedIn({ tests }: CollectedRun, ...names: string[]): [name: string, ended: string][] {
  return tests.filter(({ name }) => names.includes(name.split(" > ")[0]!))
    .map(({ name, ended }) => [name, ended]);
}

Deno.test("toolTest() makes state and tools anew for each trial, and lets real ones run alone", () => {
  const ended = endedIn(finished, "alone", "apart", "asked", "faked", "at the same time");
  assertEquals(ended.length, 4 * 6 + 1);
  assertEquals(ended.filter(([, one]) => one !== "ok"), []);
});

Deno.test("toolTest() decides by a gate: pass, fail, undecided or invalid", () => {
  const tests = ["sure", "weak", "torn", "lenient", "broken", "planned"];
  const gates = endedIn(finished, ...tests).filter(([name]) => name.endsWith(" > gate"));
  assertEquals(gates, [
    ["sure > gate", "ok"],
    ["weak > gate", "FAILED"],
    ["torn > gate", "FAILED"],
    ["lenient > gate", "ok"],
    ["broken > gate", "FAILED"],
    ["planned > gate", "ok"],
  ]);
  const errors = errorsIn(finished);
  assertMatch(errors.get("weak > gate")!, /rated \(simulated\): FAIL: /);
  assertMatch(errors.get("torn > gate")!, /rated \(simulated\): UNDECIDED: /);
  assertMatch(errors.get("broken > gate")!, /rated \(simulated\): INVALID: /);
  const broken = finished.tests.find(({ name }) => name === "broken > trial 1")!;
  assertEquals(broken.steps, ["invalid: the model threw: boo"]);
  // With a gate only the gate can fail, and a sequential one plans its own size.
  const cases = endedIn(finished, ...tests).filter(([name]) => !name.endsWith(" > gate"));
  assertEquals(cases.filter(([, ended]) => ended !== "ok"), []);
  assert(
    cases.filter(([name]) => name.startsWith("planned > trial ")).length > 40,
    finished.printed,
  );
});

Deno.test("toolTest() runs references before it asks a model, and tells a call that fails once", () => {
  const ended = endedIn(finished, "unreferred", "referred", "misreferred");
  const right = ended.flatMap(([name, one]) => one === "ok" ? [name] : []);
  assertEquals([ended.length, ...right], [7, "referred > trial 1", "referred > trial 2"]);
  const errors = errorsIn(finished);
  const call = /Cannot run the reference .*: call 2, add\(\{"x":1\}\): .* required property 'y'/;
  assertMatch(errors.get("unreferred > gate")!, call);
  for (const name of ["unreferred", "misreferred"]) {
    assertMatch(errors.get(`${name} > trial 1`)!, call);
    assertMatch(errors.get(`${name} > trial 2`)!, new RegExp(`^not run: see ${name} > trial 1`));
  }
});

Deno.test("toolTest() lets a gate compare models on the same case", () => {
  const failed = endedIn(finished, "better", "worse").filter(([, ended]) => ended !== "ok");
  assertEquals(failed, [["worse > gate", "FAILED"]]);
  assertMatch(errorsIn(finished).get("worse > gate")!, /new \(simulated\): FAIL: /);
  assertMatch(finished.printed, /^new \(simulated\): PASS: /m);
});

Deno.test("toolTest() crosses models, strategies and perturbations, and judges each", () => {
  const subjects = ["", " + mended", " + CO", " + mended + CO"];
  assertEquals(
    endedIn(finished, "crossed").sort(),
    subjects.flatMap((subject): [string, string][] => [
      [`crossed > one${subject}`, "ok"],
      [`crossed > two${subject}`, "FAILED"],
    ]).sort(),
    finished.printed,
  );
  const others = endedIn(finished, "seeds", "each trial has a seed", "nothing told");
  assertEquals(
    others.map(([, ended]) => ended),
    ["ok", "ok", "ok", "FAILED", "ok"],
    finished.printed,
  );
  // What is right without what the question says, only the user's own assertions can say.
  assertMatch(
    errorsIn(finished).get("nothing told")!,
    /^AssertionError: The answer is not /,
  );
});

Deno.test("toolTest() tells what is wrong with what is made for a trial, without a stack", async (context) => {
  const errors = errorsIn(finished);
  const table: [name: string, message: RegExp][] = [
    [
      "state throws",
      /^AssertionError: The trial is invalid: set-up failed: state threw TypeError at \S+\/own_tests\.ts:\d+:\d+: boo$/m,
    ],
    [
      "tools are no tools",
      /^InputError: Cannot offer tools as each must have a description/,
    ],
    ["model throws", /^AssertionError: The trial is invalid: the model threw: boo$/m],
    [
      "assert throws later",
      /^AssertionError: assert itself threw RangeError at \S+own_tests\.ts:\d+:\d+: boo/,
    ],
    [
      "assert is misused",
      /^AssertionError: The trial is invalid: Cannot judge the run at \S+own_tests\.ts:\d+:\d+: Cannot expect a call of ad as /,
    ],
    [
      "judge forgotten",
      /^AssertionError: The trial is invalid: .*a judge was asked and not awaited/,
    ],
    ["of generated tasks", /^InputError: Cannot perturb .*rename/],
    ["gated > gate", /: INVALID: /],
    // Nothing has been run before it, whose error it could pass on.
    ["gated alone > gate", /: INVALID: /],
  ];
  for (const [name, message] of table) {
    await context.step(name, () => {
      const error = errors.get(name) ?? "";
      assertMatch(error, message);
      assertEquals(error.includes("/lib/"), false, error);
    });
  }
});

Deno.test("toolTest() fails where a perturbation found nothing to change", () => {
  const ended = endedIn(finished, "idle", "told");
  assertEquals(ended, [["idle", "FAILED"], ["told", "ok"]]);
  assertMatch(
    errorsIn(finished).get("idle")!,
    /AssertionError: The perturbation RP_F found nothing to/,
  );
});

Deno.test("toolTest() counts each trial under a perturbation of returns, also if the model called nothing", () => {
  const errors = errorsIn(finished);
  for (const id of ["CK", "FK", "CF"]) {
    const error = errors.get(`seldom ${id} > gate`)!;
    assertMatch(
      error,
      /: FAIL: .*\n {2}solved: 20 of 60 valid trials [^]*changed in 20 of 60 trials/,
    );
  }
  for (
    const [name, invalid] of [
      [
        "seldom idle",
        /INVALID: AP found nothing to change in "seldom idle": no return was changed/,
      ],
      ...[["UK", "UK"], ["CO+timeout", "timeout"], ["CK+II", "CK"]].map(([all, id]) =>
        [
          `seldom needless ${all}`,
          new RegExp(`INVALID: ${id} found nothing to change in any of 60 trials: no call was one`),
        ] as const
      ),
      [
        "seldom slips",
        /INVALID: 1 of 60 trials could not be judged: Cannot judge the run at .*skyy/,
      ],
    ] as const
  ) assertMatch(errors.get(`${name} > gate`)!, invalid);
  assertEquals(endedIn(finished, "seldom hit"), [["seldom hit", "ok"]]);
  assertEquals(endedIn(finished, "seldom joined").at(-1), ["seldom joined > gate", "ok"]);
});

Deno.test("toolTest() shows nothing that a message makes look like a place", () => {
  const errors = errorsIn(finished);
  for (const name of ["spoofed", "long"]) {
    assertMatch(errors.get(name)!, /\n {4}at file:\S+\/own_tests\.ts:\d+:\d+$/);
  }
  assertEquals(finished.printed.includes("\u001b"), false);
});

const add = tool({
  name: "add",
  description: "Adds two numbers",
  parameters: { type: "object", properties: { x: { type: "number" } } },
  returns: 3,
});
const MODEL = scripted("adder", [{ text: "It is 3." }]);

/** What a user of plain JavaScript may hand in, and what is said of it. */
const WRONG: readonly [options: unknown, message: RegExp, name?: unknown][] = [
  [{ modle: "x" }, /adds:\n {2}at the top: Unrecognized key: "modle"; did you mean model\?$/],
  [
    { strategies: ["restate"] },
    /"strategies": here it is called strategy, which takes one or a list$/,
  ],
  [
    { perturbations: ["RD"] },
    /"perturbations": here it is called perturbation, which takes one or a list$/,
  ],
  [
    { temperature: 0.5 },
    /"temperature": it belongs to the model, as in model: { model: "gpt-5", temperature: \.\.\. }$/,
  ],
  [{}, /the name of a tool test:\n {2}at the top: it is missing: it must be a text of /, undefined],
  [{}, /of 1 to 200 characters, and neither __proto__ nor the name of a probe: it is " "$/, " "],
  [{}, /it is "oracle"$/, "oracle"],
  [{}, /it is "__proto__"$/, "__proto__"],
  [{ system: 7 }, /at system: expected string, received number/],
  [{ turns: [""] }, /at turns: must be a list of texts that are not empty: it is \[""\]/],
  [{ state: {} }, /at state: expected function, received object/],

  [
    { oracle: [{ tool: "add", arguments: {}, allowed: ["x"] }] },
    /"oracle": here it is called expected, whose calls have ignore in place of/,
  ],
  [
    { expected: [{ tool: "add", arguments: {}, allowed: ["x"] }] },
    /adds: Cannot use an expected call:\n {2}at the top: Unrecognized key: "allowed"/,
  ],
  [
    { expected: [{ tool: "add", defaults: "refused" }] },
    /adds: Cannot expect a call of add as only assertions take defaults: .*; here it is refused/,
  ],
  [{ expected: "add" }, /at expected: must be a list of calls: tool and arguments: it is "add"/],

  [{ parameters: [{ name: "x" }] }, /at parameters: must be a list of names, values and spans/],
  [
    { trials: 5, gate: { successRate: 0.8, sequential: true } },
    /at trials: must be left out, as a sequential gate sets the number of trials itself: it is 5/,
  ],
  [{ model: [MODEL, MODEL] }, /as models must have distinct names: adder is there twice/],
  [{ strategy: "restat" }, /adds:\n {2}at strategy: must be one of plain, restate/],
  [{ strategy: [] }, /adds:\n {2}at strategy: must not be empty/],
  [{ perturbation: "RP_F", gate: { successRate: 0.8 } }, /under RP_F none can be/],
  [{ gate: { succesRate: 0.8 } }, /tool test adds:\n.*at gate: Unrecognized key: "succesRate"/],
  [{ gate: { baseline: "other" } }, /gate\.baseline must be one of its models, .* it is other/],
];

Deno.test("toolTest() tells a wrong option in one message, and no frame of its own", async (context) => {
  const good = { model: MODEL, tools: [add], prompt: "What is 1 + 2?", assert() {} };
  for (const [options, message, ...names] of WRONG) {
    const name = names.length === 0 ? "adds" : names[0];
    await context.step(Deno.inspect([name, options]).slice(0, 100), () => {
      const given = typeof options === "object" && options !== null
        ? { ...good, ...options }
        : options;
      const error = assertThrows(
        () => toolTest(name as string, given as ToolTestOptions),
        InputError,
      );
      assertMatch(error.message, message);
      // The first frame is the one above, which calls it.
      const first = error.stack!.split("\n").find((line) => line.startsWith("    at "));
      assertMatch(first ?? "", /^ {4}at file:.*\/tool_test_test\.ts:\d+:\d+$/);
    });
  }
});
