import { assertEquals, assertStringIncludes } from "@std/assert";
import { recoveryOf } from "../../../lib/calls/recovery.ts";
import { callsOf } from "../../../lib/calls/trace.ts";
import { fillPrompt, PROMPTS } from "../../../lib/models/prompts.ts";
import type { ModelRequest } from "../../../lib/models/model.ts";
import { scripted, type ScriptedReply } from "../../../lib/models/scripted.ts";
import { perturbTask } from "../../../lib/perturbations/perturbed_task.ts";
import { generateTask } from "../../../lib/tasks/graphs/task.ts";
import { runLoop } from "../../../lib/trials/agent/loop.ts";
import { Session } from "../../../lib/trials/agent/session.ts";
import { Toolbox } from "../../../lib/trials/executors/toolbox.ts";
import { withStrategy } from "../../../lib/trials/strategies/registry.ts";
import type { Tool } from "../../../lib/tools/tool.ts";
import { runTrial } from "../../../lib/trials/run_trial.ts";
import { summarize } from "../../../lib/trials/summary.ts";
import { rightArguments } from "../../support/generated.ts";
import { inProcess } from "../../support/in_process.ts";
import { said } from "../../support/strategy_runs.ts";

const SPEC = { core: 1, depth: 0, connected: 1, disconnected: 0, seed: 7 };
const TASK = generateTask(SPEC);
const { name: NAME, other: OTHER } = perturbTask(TASK, "gone").twins!;
const GIVEN = rightArguments(TASK, OTHER);
const OWN = { name: NAME, arguments: GIVEN };
const TWIN = { name: OTHER.name, arguments: GIVEN };
const ANSWER = { text: `${TASK.target.variable} = ${TASK.target.value}` };
const RESULT = JSON.stringify({ [TASK.target.variable]: TASK.target.value });

/** A trial whose model calls so, replies so where it is asked for another function, and answers. */
async function trialOf(
  call: { readonly name: string; readonly arguments: Record<string, number> },
  others: readonly ScriptedReply[],
  perturbation = "gone",
) {
  const requests: ModelRequest[] = [];
  const left = [...others];
  const model = scripted("m", (request) => {
    requests.push({ ...request, messages: [...request.messages] });
    if (request.context.stage === "alternative") return left.shift() ?? { text: "none" };
    return request.messages.length === 1 ? { calls: [call] } : ANSWER;
  });
  const trial = await runTrial(SPEC, model, {
    perturbation,
    limits: { calls: 9 },
    strategy: { strategy: "alternative" },
  });
  const results = requests.at(-1)!.messages
    .flatMap((message) => message.role === "tool" ? [[message.name, message.content]] : []);
  const stages = trial.events.flatMap((event) => event.kind === "stage" ? [event] : []);
  return { trial, requests, results, stages, calls: callsOf(trial.events) };
}

Deno.test("alternative lets another function take the place of one that is not found (Pipeline, Error Handling and Retry Logic)", async () => {
  const { trial, requests, results, stages, calls } = await trialOf(OWN, [{ calls: [TWIN] }]);
  const [, asked] = requests;
  const written = JSON.stringify(GIVEN);
  const errors = "Not found: this function no longer exists, and calling it again will not help. " +
    "Another function that gives the same result is on offer";
  assertEquals(said(asked!.messages), [
    ["user", TASK.prompt],
    ["assistant", `${NAME}(${written})`],
    ["user", fillPrompt(PROMPTS.alternative.other, { name: NAME, arguments: written, errors })],
  ]);
  assertEquals(results, [[NAME, RESULT]], "the model gets it as the result of its own call");
  assertEquals(
    calls.map(({ function: name, by, fault, step }) => [name, by, fault, step]),
    [[NAME, undefined, "gone", 1], [OTHER.name, "alternative", undefined, 1]],
  );
  assertEquals(stages, [{
    kind: "stage",
    stage: "alternative",
    message: `${OTHER.name} is called in place of ${NAME}`,
  }]);
  assertEquals([trial.outcome, trial.grounded, trial.failures], ["solved", true, []]);
  assertEquals(recoveryOf(trial.events), [
    { fault: "gone", function: NAME, end: "recovered", attempts: 1 },
  ]);
  assertEquals(summarize(trial).work, {
    asked: 1,
    unusable: 0,
    sentBack: 0,
    mended: 0,
    replaced: 1,
  });
});

Deno.test("alternative lets the error stand where no other right call is made", async () => {
  const [parameter] = Object.keys(GIVEN);
  const replies: [ScriptedReply, reason: string][] = [
    [{ text: "none" }, "no other function was called"],
    [{ calls: [OWN] }, "no other function was called"],
    [{ calls: [{ ...OWN, name: "func_none" }] }, "no other function was called"],
    [
      { calls: [{ ...TWIN, arguments: { [parameter!]: "?" } }] },
      `Function ${OTHER.name} takes exactly`,
    ],
  ];
  for (const [reply, reason] of replies) {
    const { results, stages, calls } = await trialOf(OWN, [reply]);
    assertStringIncludes(results[0]![1]!, "no longer exists");
    assertEquals([stages.length, calls.length, stages[0]!.unusable], [1, 1, true]);
    assertStringIncludes(stages[0]!.message, reason);
  }
});

Deno.test("alternative asks about what is not found and about names that do not exist, and nothing else", async () => {
  const invented = await trialOf({ ...OWN, name: "func_none" }, [{ calls: [OWN] }], "none");
  assertEquals([invented.results, invented.trial.outcome], [[["func_none", RESULT]], "solved"]);
  const [wrong, right] = invented.calls;
  assertEquals([wrong!.failure?.type, right!.by], ["function_not_found", "alternative"]);
  for (const fault of ["timeout", "rate_limit", "permission_denied", "invalid_argument", "none"]) {
    assertEquals((await trialOf(OWN, [{ calls: [TWIN] }], fault)).stages, [], fault);
  }
  assertEquals((await trialOf({ ...OWN, arguments: {} }, [], "none")).stages, []);
});

Deno.test("alternative makes five other calls at most, and none twice", async () => {
  /** The tools that are called where all find nothing, and the model names these one after another. */
  const called = async (names: readonly string[]) => {
    const made: string[] = [];
    const tools = [..."abcdefgh"].map((name): Tool => ({
      name,
      description: name,
      parameters: { type: "object", properties: {} },
      execute: () => {
        made.push(name);
        return Promise.reject(new Error("Not found"));
      },
    }));
    let asked = 0;
    const model = scripted(
      "m",
      ({ context, messages }) =>
        context.stage === "alternative"
          ? { calls: [{ name: names[asked++]!, arguments: {} }] }
          : messages.length === 1
          ? { calls: [{ name: "a", arguments: {} }] }
          : { text: "No." },
    );
    const session = new Session({
      model,
      context: { trial: "1", repetition: 1 },
      record: () => {},
    });
    using environment = new Toolbox(tools);
    const messages = [{ role: "user", content: "And?" } as const];
    await withStrategy("alternative", runLoop)({ session, environment, messages });
    return made.join("");
  };
  assertEquals(await called([..."bcdefgh"]), "abcdef");
  assertEquals(await called([..."bab"]), "ab");
});

Deno.test("a model that gives up is asked, and finds the other function, with names for values too", async () => {
  const spec = { core: 4, depth: 3, connected: 2, disconnected: 0, seed: 0 };
  const solved: Record<string, number> = {};
  const strategies = ["plain", "retry", "alternative", "indirection+alternative"];
  for (const strategy of [...strategies, "alternative+indirection", "restate+alternative"]) {
    solved[strategy] = 0;
    for (let seed = 1; seed <= 8; seed++) {
      const model = inProcess("sim:noisy?giveup=1&seed=1");
      const options = { perturbation: "gone", strategy: { strategy } };
      const trial = await runTrial({ ...spec, seed }, model, options);
      solved[strategy] += Number(trial.solved && trial.grounded);
    }
  }
  assertEquals(solved, {
    plain: 0,
    retry: 0,
    alternative: 8,
    "indirection+alternative": 8,
    "alternative+indirection": 8,
    "restate+alternative": 8,
  });
});
