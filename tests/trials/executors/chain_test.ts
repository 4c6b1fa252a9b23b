import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { InputError } from "../../../lib/base/errors.ts";
import type { Chain } from "../../../lib/chains/chains.ts";
import { Connections } from "../../../lib/models/connect.ts";
import { scripted, type ScriptedReply } from "../../../lib/models/scripted.ts";
import { viewTrial } from "../../../lib/reports/page/_trial_view.ts";
import { describeTrial } from "../../../lib/reports/story.ts";
import { caseOpener } from "../../../lib/trials/executors/case.ts";
import { caseParts, type ToolCase } from "../../../lib/trials/executors/tool_case.ts";
import { runTrial, type TrialOptions } from "../../../lib/trials/run_trial.ts";
import { summarize } from "../../../lib/trials/summary.ts";
import { TRIAL_LINE } from "../../../lib/trials/trial.ts";
import { OWNER } from "../../support/chains.ts";

const owner = (chain: Chain = OWNER) => ({ name: "own", tools: [], chain }) as unknown as ToolCase;

/** Runs a trial in which these calls are made one after another, and then this is said. */
async function play(calls: readonly string[], text: string, options: TrialOptions = {}) {
  const replies = calls.map((call): ScriptedReply => {
    const [name = "", ...given] = call.split(/[ =]/);
    const args = given.length === 0 ? {} : { [given[0]!]: given[1]! };
    return { calls: [{ name, arguments: args }] };
  });
  const model = scripted("script", [...replies, { text }]);
  const open = caseOpener(() => owner());
  return await runTrial({ case: "own", seed: 1 }, model, { open, ...options });
}

const RIGHT = ["get_task task_id=t1", "get_user user_id=u1"];

Deno.test("each failure of a chain has its type, and is a root unless an earlier failed call returned its ids", async (context) => {
  const table: [name: string, calls: readonly string[], text: string, failures: string[]][] = [
    ["no such tool", ["get_tusk task_id=t1", ...RIGHT], "Aria Stone", [
      "1 function_not_found root",
    ]],
    ["the schema", ["get_task id=t1", ...RIGHT], "Aria Stone", ["1 wrong_number_of_inputs root"]],
    ["before the right one was shown", ["get_user user_id=u9", ...RIGHT], "Aria Stone", [
      "1 unseen_id root fabricated",
    ]],
    ["that nobody showed", [RIGHT[0]!, "get_user user_id=u9", RIGHT[1]!], "Aria Stone", [
      "2 wrong_id root fabricated",
    ]],
    ["shown without a link", ["list_tasks", "get_user user_id=Paint", ...RIGHT], "Aria Stone", [
      "2 wrong_id root other_variable",
    ]],
    ["of another type", [RIGHT[0]!, "get_user user_id=t1", RIGHT[1]!], "Aria Stone", [
      "2 wrong_id root other_variable",
    ]],
    ["from a wrong record", ["get_task task_id=t2", "get_user user_id=u2"], "Bela Crown", [
      "1 wrong_id root fabricated",
      "2 detour cascade wrong_return",
    ]],
    [
      "a detour that the answer follows from",
      [
        ...["list_tasks", "get_task task_id=t2", "get_user user_id=u2"],
      ],
      "Bela Crown",
      ["2 detour root other_record", "3 detour cascade wrong_return"],
    ],
    [
      "a detour that the answer does not follow from",
      [
        ...["list_tasks", "get_task task_id=t2", ...RIGHT],
      ],
      "Nobody",
      [],
    ],
    [
      "a detour whose value another call shows, too",
      [
        ...["list_tasks", "get_task task_id=t2", "get_user user_id=u2"],
        ...["get_task task_id=t3", "get_user user_id=u3"],
      ],
      "Bela Crown",
      [],
    ],
    [
      "before the right one was shown, and shown later",
      ["get_user user_id=u2", "list_tasks", "get_task task_id=t2"],
      "Bela Crown",
      ["1 unseen_id root fabricated"],
    ],
    [
      "a detour before the right answer",
      [
        ...["list_tasks", "get_task task_id=t2", "get_user user_id=u2", ...RIGHT],
      ],
      "Aria Stone",
      [],
    ],
  ];
  for (const [name, calls, text, failures] of table) {
    await context.step(name, async () => {
      const trial = await play(calls, text);
      const found = trial.failures.map(({ call, type, root, detail }) =>
        [
          ...[`${call}`, type, root ? "root" : "cascade"],
          ...("arguments" in detail ? [detail.arguments[0]!.origin] : []),
        ].join(" ")
      );
      assertEquals(found, failures);
      assertEquals(trial.solved, text === "Aria Stone", trial.reason);
      assertEquals(TRIAL_LINE.parse(JSON.parse(JSON.stringify(trial))).outcome, trial.outcome);
    });
  }
});

Deno.test("a chain tells its steps, the right answer, and that it was solved in another way", async () => {
  const steps = "stage chain: task.id -> get_task -> owner_id -> get_user -> email";
  const right = describeTrial(await play(RIGHT, "It is **Aria Stone**."));
  assertMatch(right, new RegExp(`${steps}$`, "m"));
  const wrong = describeTrial(await play(["list_tasks"], "Bela Crown"));
  assertStringIncludes(wrong, 'The answer must be "Aria Stone"');
  const other = await play(["list_tasks", "get_task task_id=t1", "list_tasks"], "Aria Stone");
  const way = "solved by another way: 3 calls, the chain has 2";
  assertStringIncludes(describeTrial(other), `${steps}; ${way}`);
  // Its calls are not held against the chain.
  const { solved, parameters, missed, dimensions } = summarize(other);
  assertEquals([solved, parameters, missed, dimensions], [true, undefined, undefined, undefined]);
  const { side } = viewTrial(other, undefined, undefined);
  assertStringIncludes(
    JSON.stringify(side),
    JSON.stringify(["pre", `task.id\n-> get_task\n-> owner_id\n-> get_user\n-> email; ${way}`]),
  );
});

Deno.test("a chain that draws no task makes the trial invalid", async () => {
  const draw = () => {
    throw new InputError("Cannot draw a chain of 9 calls");
  };
  const open = caseOpener(() => owner({ ...OWNER, draw }));
  const trial = await runTrial({ case: "own", seed: 1 }, scripted("m", [{ text: "unasked" }]), {
    open,
  });
  assertEquals([trial.outcome, trial.failures], ["invalid", []]);
  assertStringIncludes(trial.reason!, "Cannot draw a chain of 9 calls");
});

Deno.test("a chain runs under perturbations, with an agent, and with sim:truth", async (context) => {
  const runs: [name: string, solved: boolean, options: TrialOptions][] = [
    ...["RD", "CP", "CK", "FK", "CF", "timeout", "rate_limit:1", "flaky:0.2"].map((
      perturbation,
    ): [string, boolean, TrialOptions] => [perturbation, true, { perturbation }]),
    ["agent", true, {
      agent: async ({ tools }) => {
        const call = async (name: string, input: Record<string, string>) =>
          JSON.parse(await tools.find((one) => one.name === name)!.execute(input));
        const { owner_id } = await call("get_task", { task_id: "t1" });
        return (await call("get_user", { user_id: owner_id })).email;
      },
    }],
  ];
  const open = caseOpener(() => owner());
  for (const [name, solved, options] of runs) {
    await context.step(name, async () => {
      const model = new Connections().model({ model: "sim:truth" });
      const trial = await runTrial({ case: "own", seed: 1 }, model, { open, ...options });
      assertEquals([trial.outcome, trial.solved], ["solved", solved], describeTrial(trial));
    });
  }
});

Deno.test("mistakes of sim:truth in chains have their types", async (context) => {
  const table: [model: string, solved: boolean, failures: string[]][] = [
    ["sim:truth", true, []],
    ["sim:truth?value=1", false, ["wrong_id"]],
    ["sim:truth?value=1&seed=1", false, ["wrong_id", "detour"]],
  ];
  const open = caseOpener(() => owner());
  for (const [name, solved, failures] of table) {
    await context.step(name, async () => {
      const trial = await runTrial(
        { case: "own", seed: 1 },
        new Connections().model({ model: name }),
        { open },
      );
      assertEquals([trial.solved, trial.failures.map(({ type }) => type)], [solved, failures]);
    });
  }
});

Deno.test("the hashes of a chain are of its id and of the tools of its graph", () => {
  const { case: one, tools } = caseParts(owner());
  assertEquals(caseParts(owner({ ...OWNER, id: "other" })).tools, tools);
  assertEquals(caseParts(owner({ ...OWNER, id: "other" })).case === one, false);
});
