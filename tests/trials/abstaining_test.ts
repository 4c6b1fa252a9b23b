// What is right where a perturbation took away what the answer needs: to say so, and make nothing up.

import { assertEquals } from "@std/assert";
import {
  createExecutor,
  type GeneratedTaskExecutorOptions,
} from "../../lib/trials/executors/generated.ts";
import type { GraphSpec } from "../../lib/tasks/graphs/graph.ts";
import { generateTask } from "../../lib/tasks/graphs/task.ts";
import type { TaskFunction } from "../../lib/tasks/graphs/wording.ts";
import { coreInOrder, rightArguments } from "../support/generated.ts";

const TASK = generateTask({
  core: 3,
  depth: 2,
  connected: 0,
  disconnected: 0,
  seed: 7,
  inputs: [2, 2],
});
const [REMOVED] = [...TASK.inputs.keys()] as [string];
const { variable: TARGET, value: TRUTH } = TASK.target;

/** The function that takes the variable that RP_F takes away. */
const NEEDY = TASK.functions.find(({ parameters }) =>
  parameters.some(({ variable }) => variable === REMOVED)
)!;

function argumentsOf(made: TaskFunction, changes: Record<string, unknown> = {}): string {
  const right = made.parameters.map(({ name, variable }) => [name, TASK.values.get(variable)]);
  return JSON.stringify({ ...Object.fromEntries(right), ...changes });
}

interface Work {
  readonly calls?: readonly (readonly [name: string, written: string])[];
  readonly answer: string;
  readonly options?: GeneratedTaskExecutorOptions;
}

/** What comes of calls, one a step, and an answer. */
async function outcomeOf({ calls = [], answer, options = { perturbation: "RP_F" } }: Work) {
  using executor = createExecutor(TASK, options);
  for (const [name, written] of calls) {
    await executor.execute([{ id: "", name, arguments: written }]);
  }
  return executor.answer(answer).outcome;
}

const SORRY = "I cannot tell: something that it depends on is not given.";

Deno.test("to give no value is right, and abstaining is no success", async () => {
  assertEquals(await outcomeOf({ answer: SORRY }), "abstained");
  assertEquals(await outcomeOf({ answer: "" }), "abstained");
  assertEquals(await outcomeOf({ answer: SORRY, options: {} }), "no_answer");
  assertEquals(await outcomeOf({ answer: SORRY, options: { perturbation: "CO" } }), "no_answer");
});

Deno.test("to tell what is known is to claim nothing", async () => {
  const [, ...others] = [...TASK.inputs];
  const told = others.map(([name, value]) => `${name} = ${value}`).join(" and ");
  assertEquals(await outcomeOf({ answer: `I know ${told}, and not ${REMOVED}.` }), "abstained");
  // As an answer of the target it is one.
  assertEquals(
    await outcomeOf({ answer: `${TARGET} = ${others[0]![1]}` }),
    "wrong_answer",
  );
});

Deno.test("other numbers are no claims", async () => {
  for (
    const answer of [
      "I cannot tell: of the 2 functions I would need one more input.",
      `Variable ${REMOVED} is missing, so I could make 0 calls.`,
      `I am 100% sure that the value of ${REMOVED} was not given.`,
      "Missing information (see step 2).",
      `${TARGET} needs 1 more value.`,
      `${TARGET} has 2 inputs, one of which I was not told.`,
      `${NEEDY.name} cannot be called: it has 2 inputs, and it is 1 short.`,
      "The value of 1 variable is missing.",
    ]
  ) {
    assertEquals([answer, await outcomeOf({ answer })], [answer, "abstained"]);
  }
});

Deno.test("to claim a value is wrong, and no less so without its name", async () => {
  assertEquals(await outcomeOf({ answer: `${TARGET} is ${TRUTH + 1}.` }), "wrong_answer");
  assertEquals(await outcomeOf({ answer: `It is ${TRUTH + 1}.` }), "wrong_answer");
  for (
    const claim of [
      "513",
      "**513**",
      "The answer is 513.",
      "The result: **513**",
      "So it equals 513, I think.",
      `${TARGET} = ID_513`,
    ]
  ) {
    assertEquals([claim, await outcomeOf({ answer: claim })], [claim, "wrong_answer"]);
  }
  // The right value by chance is the right value.
  assertEquals(await outcomeOf({ answer: `${TARGET} is ${TRUTH}.` }), "solved");
});

Deno.test("who made up a value on the way has not abstained", async () => {
  const made = (value: unknown) =>
    ({ calls: [[NEEDY.name, argumentsOf(NEEDY, { [REMOVED]: value })]], answer: SORRY }) as const;
  assertEquals(await outcomeOf(made(100)), "no_answer");
  // A value that happens to be right is made up all the same.
  assertEquals(await outcomeOf(made(TASK.values.get(REMOVED))), "no_answer");
  // That the call is refused, for whatever reason, does not make it unsaid.
  assertEquals(await outcomeOf(made("741x")), "no_answer");
  const more = [NEEDY.name, argumentsOf(NEEDY, { [REMOVED]: 741, extra: 1 })] as const;
  assertEquals(await outcomeOf({ calls: [more], answer: SORRY }), "no_answer");
});

Deno.test("who called without the value, or for something else, has abstained", async () => {
  const others = NEEDY.parameters.filter(({ variable }) => variable !== REMOVED);
  const partial = JSON.stringify(
    Object.fromEntries(others.map(({ name, variable }) => [name, TASK.values.get(variable)])),
  );
  assertEquals(await outcomeOf({ calls: [[NEEDY.name, partial]], answer: SORRY }), "abstained");
  assertEquals(await outcomeOf({ calls: [["nothing", "{}"]], answer: SORRY }), "abstained");
  const free = TASK.functions.find(({ parameters }) =>
    parameters.every(({ variable }) => variable !== REMOVED && TASK.inputs.has(variable))
  );
  if (free === undefined) return;
  assertEquals(
    await outcomeOf({ calls: [[free.name, argumentsOf(free)]], answer: SORRY }),
    "abstained",
  );
});

Deno.test("past the limit of calls nobody has abstained", async () => {
  const call = ["nothing", "{}"] as const;
  const options = { perturbation: "RP_F", callLimit: 1 };
  assertEquals(await outcomeOf({ calls: [call, call], answer: SORRY, options }), "call_limit");
});

Deno.test("the value that is kept back is not restated, nor does it belong to anyone", async () => {
  using executor = createExecutor(TASK, { perturbation: "RP_F" });
  const value = TASK.values.get(REMOVED)!;
  const seen: Map<string, unknown>[] = [];
  const call = { id: "", name: NEEDY.name, arguments: argumentsOf(NEEDY, { [REMOVED]: 100 }) };
  await executor.execute([call], (answered, known) => {
    seen.push(new Map(known));
    return answered.map(({ content }) => content);
  });
  assertEquals(seen[0]!.has(REMOVED), false);
  assertEquals([...seen[0]!.values()].includes(value), false);
  const [event] = executor.events;
  assertEquals(event?.kind === "call" && event.failure?.type, "value_not_yet_known");
});

Deno.test("where documents link nothing any more, abstaining is right, and to try a value is to make it up", async () => {
  const spec = { core: 4, depth: 2, connected: 1, disconnected: 1, seed: 3 };
  const outcomes = async (
    changes: Partial<GraphSpec>,
    options: GeneratedTaskExecutorOptions,
    calls: "none" | "sources" | "all" = "none",
  ) => {
    const task = generateTask({ ...spec, ...changes });
    using executor = createExecutor(task, options);
    for (const made of coreInOrder(task)) {
      if (calls === "none" || calls === "sources" && made.dependsOn.length > 0) continue;
      const written = JSON.stringify(rightArguments(task, made));
      await executor.execute([{ id: "", name: made.name, arguments: written }]);
    }
    return executor.answer(SORRY).outcome;
  };
  for (const perturbation of ["RD", "WD", "RD+WT", "rename+WD"]) {
    assertEquals(await outcomes({}, { perturbation }), "abstained");
    // Who abstains always is right nowhere else.
    assertEquals(await outcomes({ cues: "names" }, { perturbation }), "no_answer");
  }
  assertEquals(await outcomes({}, { perturbation: "RD" }, "sources"), "abstained");
  assertEquals(await outcomes({}, { perturbation: "RD" }, "all"), "no_answer");
  assertEquals(await outcomes({}, { perturbation: "WT" }), "no_answer");
  assertEquals(await outcomes({}, { perturbation: "RP_F" }), "abstained");
});
