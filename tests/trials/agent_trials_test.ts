// Agents of the user's own on every kind of task: what their model really said is judged as that of the built-in loop,
// and their trials can be derived again.
// Runs without counters of lines.

import { assert, assertEquals } from "@std/assert";
import { assertAnswer } from "../../lib/testing/assertions/runs.ts";
import { describeTrial } from "../../lib/reports/story.ts";
import { Connections } from "../../lib/models/connect.ts";
import { PERTURBATIONS } from "../../lib/perturbations/ids.ts";
import { deriveAgain } from "../../lib/trials/derive.ts";
import type { RecordedCall } from "../../lib/calls/record.ts";
import type { CallEvent } from "../../lib/calls/trace.ts";
import { caseOpener } from "../../lib/trials/executors/case.ts";
import { createExecutor } from "../../lib/trials/executors/generated.ts";
import { PROBES, type TaskSpec } from "../../lib/tasks/task_kind.ts";
import { openTask, type TaskOpener } from "../../lib/trials/executors/tasks.ts";
import type { ToolCase } from "../../lib/trials/executors/tool_case.ts";
import { runTrial, type TrialOptions } from "../../lib/trials/run_trial.ts";
import { type Trial, TRIAL_LINE } from "../../lib/trials/trial.ts";
import { generateTask } from "../../lib/tasks/graphs/task.ts";
import { FAULTS } from "../../lib/tools/fault.ts";
import type { AgentForm } from "../support/agents/agent.ts";
import { plainLoop } from "../support/agents/plain_loop.ts";
import { scripted } from "../../lib/models/scripted.ts";
import { CITY, cityPlan } from "../support/call_sets.ts";

const SPEC = { core: 4, depth: 2, connected: 2, disconnected: 1, seed: 7 };
const NOISY =
  "sim:noisy?early=0.2&stale=0.2&distract=0.2&copy=0.1&arity=0.2&hallucinate=0.2&invent=0.3&seed=1";
const FORMS: readonly AgentForm[] = (["chat", "responses"] as const).flatMap((api) =>
  [false, true].map((streamed) => ({ api, streamed }))
);

const quickly = (open: TaskOpener): TaskOpener =>
  Object.assign(
    (spec: TaskSpec, options = {}) => open(spec, { ...options, waits: false }),
    open.begin === undefined ? {} : { begin: open.begin },
  );

/** All of a trial but its times and who ran it; the calls of a step in the order of their names and arguments. */
function comparable(trial: Trial) {
  const { startedAt: _, durationMs: __, agent: ___, events, ...rest } = trial;
  const sorted = sortedCalls(events.filter(({ kind }) => kind === "call") as CallEvent[]);
  const numbers = new Map(sorted.map(({ call }, place) => [call, place + 1]));
  const renumber = <Item extends object>(item: Item): Item =>
    JSON.parse(
      JSON.stringify(item, (key, value) =>
        key === "durationMs"
          ? undefined
          : key === "call" || key === "originCall"
          ? numbers.get(value)
          : value),
    );
  const calls = sorted.map(renumber);
  const failures = rest.failures.map(renumber);
  return {
    ...JSON.parse(JSON.stringify(rest)),
    failures: failures.toSorted((one, other) => one.call - other.call),
    events: events.map((event) => event.kind === "call" ? calls.shift() : renumber(event)),
  };
}

function sortedCalls<Call extends Pick<CallEvent, "step" | "function" | "arguments">>(
  calls: readonly Call[],
): Call[] {
  const text = (call: Call) => `${call.function} ${call.arguments}`;
  return calls.toSorted((one, other) =>
    one.step - other.step || text(one).localeCompare(text(other))
  );
}

/** Runs a task by the built-in loop and by an agent, demands equal trials, and derives the agent's again. */
async function assertEqual(
  connections: Connections,
  spec: TaskSpec,
  { model: name = NOISY, ...options }: TrialOptions & { readonly model?: string },
  forms = FORMS,
): Promise<Trial> {
  let last: Trial | undefined;
  for (const form of forms) {
    const model = connections.model({ model: name, api: form.api });
    const open = quickly(options.open ?? openTask);
    const own = await runTrial(spec, model, { ...options, open });
    last = await runTrial(spec, model, { ...options, open, agent: plainLoop(form) });
    const what = JSON.stringify({ spec, name, ...form, ...options });
    assertEquals(last.agent, "watched", what);
    assertEquals(comparable(last), comparable(own), what);
    const { limits = {}, references = false } = options;
    const derived = await Promise.all([last, own].map((trial) => {
      const line = TRIAL_LINE.parse(JSON.parse(JSON.stringify(trial)));
      return deriveAgain(line, { limits, references, strategy: { strategy: "plain" }, open });
    }));
    assertEquals(derived[0], derived[1], what);
    assert(derived[0]!.kind !== "differs", what);
  }
  return last!;
}

Deno.test("an agent's trials of generated tasks are those of the loop, under every perturbation", async () => {
  const connections = new Connections();
  const failures = new Set<string>();
  for (const [place, perturbation] of ["none", ...PERTURBATIONS].entries()) {
    const forms = perturbation === "none" ? FORMS : [FORMS[place % FORMS.length]!];
    const spec = { ...SPEC, seed: place };
    const options = { perturbation, references: place % 2 === 0 };
    const trial = await assertEqual(connections, spec, options, forms);
    for (const { type } of trial.failures) failures.add(type);
  }
  for (const type of ["function_not_found", "wrong_number_of_inputs", "value_not_yet_known"]) {
    assert(failures.has(type), [...failures].join());
  }
});

Deno.test("an agent's probes are those of the loop, and its calls are forced as theirs", async () => {
  const connections = new Connections();
  const model = "sim:noisy?averse=0.3&ignore=0.3&resist=0.3&dots=0.3&seed=2";
  for (const [place, probe] of PROBES.entries()) {
    const form = FORMS[place % FORMS.length]!;
    await assertEqual(connections, { case: probe, seed: 1 }, { model }, [form]);
  }
});

Deno.test("an agent's questions are those of the loop, in every mode", async () => {
  const connections = new Connections({ sets: [CITY] });
  const outcomes = new Set<string>();
  for (const mode of ["tools", "parameters", "routing"] as const) {
    const { trials, open } = cityPlan({ mode });
    for (const [place, { task }] of trials.entries()) {
      const perturbation = place % 3 === 0 && mode === "tools" ? "timeout" : "none";
      const { outcome } = await assertEqual(
        connections,
        task,
        {
          model: "sim:truth?route=0.2&key=0.2&value=0.2&extra=0.2&syntax=0.2&fence=0.2",
          perturbation,
          ...(open === undefined ? {} : { open }),
        },
        [FORMS[place % FORMS.length]!],
      );
      outcomes.add(`${mode} ${outcome}`);
    }
  }
  for (const mode of ["tools", "parameters", "routing"]) {
    assert(
      outcomes.has(`${mode} solved`) && outcomes.has(`${mode} wrong_answer`),
      [...outcomes].join(),
    );
  }
});

/** Calls without their numbers and times, in the order of a step that {@linkcode comparable} has. */
function inOrder(calls: readonly RecordedCall[]): unknown[] {
  const named = calls.map((call) => ({ ...call, function: call.tool, arguments: call.written }));
  return sortedCalls(named).map(({ call: _, ...others }) => others);
}

/** The functions of a generated task as tools of a user's own. */
function ownCase(seed: number): ToolCase<unknown> {
  const task = generateTask({ ...SPEC, seed });
  return {
    name: `own ${seed}`,
    tools: () => createExecutor(task, { callLimit: 1000 }).tools,
    system: "You work at a shop.",
    prompt: createExecutor(task).prompt,
    turns: ["Once more, please.", "Thank you!"],
    expected: [],
    assert(run) {
      if (run.turns.length !== 3 || run.texts.at(-1) !== run.answer) throw new Error("no turns");
    },
  };
}

Deno.test("an agent's trials of own tools are those of the loop: turns, messages, texts, perturbations", async () => {
  const connections = new Connections();
  const seen: unknown[] = [];
  const all = new Map([1, 2].map((seed) => [`own ${seed}`, ownCase(seed)]));
  const open = caseOpener((name) => {
    const found = all.get(name);
    return found && {
      ...found,
      assert(run) {
        const { messages, turns, texts, usage, replies, calls, answer } = run;
        seen.push({
          // Results of one reply come in any order.
          told: messages.flatMap((one) =>
            one.role === "tool" ? [] : [{ ...one, carried: "carried" in one }]
          ),
          results: messages.filter(({ role }) => role === "tool").map((one) => JSON.stringify(one))
            .sort(),
          turns: turns.map(({ durationMs: _, calls, ...turn }) => ({
            ...turn,
            calls: inOrder(calls),
          })),
          calls: inOrder(calls),
          ...{ texts, usage, replies, answer },
        });
        return found.assert!(run);
      },
    };
  });
  for (const perturbation of ["none", "RD", "WT+CF", ...FAULTS.filter((id) => id !== "gone")]) {
    for (const [place, name] of [...all.keys()].entries()) {
      const form = FORMS[(place + perturbation.length) % FORMS.length]!;
      await assertEqual(connections, { case: name, seed: 1 }, { open, perturbation }, [form]);
    }
  }
  assert(seen.length > 15);
  for (let place = 0; place < seen.length; place += 2) assertEquals(seen[place + 1], seen[place]);
});

Deno.test("limits end an agent's trials where they end those of the loop", async () => {
  const connections = new Connections();
  const outcomes = new Set<string>();
  const limits = [
    ...[{ calls: 2 }, { calls: 3 }, { steps: 1 }, { steps: 2 }, { tokens: 900 }, { tokens: 2_000 }],
    ...[{ observation: 5 }, { parallel: 1 }],
  ];
  for (const [place, limit] of limits.entries()) {
    for (const perturbation of ["none", "flaky"]) {
      const options = { limits: limit, perturbation };
      const form = FORMS[(place + perturbation.length) % FORMS.length]!;
      const { outcome } = await assertEqual(connections, SPEC, options, [form]);
      outcomes.add(outcome);
    }
  }
  for (const kind of ["call_limit", "step_limit", "token_limit"]) {
    assert(outcomes.has(kind), [...outcomes].join());
  }
});

Deno.test("run.messages has one result for each call of the model, whatever the agent carried out", async () => {
  const said: unknown[] = [];
  const toolCase: ToolCase<unknown> = {
    name: "repaired",
    tools: [{
      ...{ name: "add", description: "Adds", parameters: { type: "object", required: ["x"] } },
      execute: ({ x }) => Promise.resolve(`${x}`),
    }],
    prompt: "Add.",
    assert: ({ messages }) =>
      void said.push(...messages.map((one) => {
        const calls = "calls" in one ? one.calls.map(({ id }) => id) : [];
        return [one.role, one.role === "tool" ? one.callId : calls, one.content];
      })),
  };
  const model = scripted("script", [
    { calls: [{ name: "add", arguments: {} }, { name: "sub", arguments: {} }] },
    { text: "It is 2." },
  ]);
  const trial = await runTrial({ case: "repaired", seed: 1 }, model, {
    open: caseOpener(() => toolCase),
    agent: async ({ tools: [add] }, { fetch, baseURL }) => {
      const ask = async (messages: unknown[]) => {
        const tools = [{ type: "function", function: { name: "add" } }];
        const body = JSON.stringify({ messages, tools });
        const response = await fetch(`${baseURL}/chat/completions`, { method: "POST", body });
        return (await response.json()).choices[0].message;
      };
      const question = { role: "user", content: "Add." };
      const message = await ask([question]);
      // What it lacks is filled in, then the agent calls by itself, and says nothing of the other call.
      const content = await add!.execute({ x: 2 });
      await add!.execute({ x: 3 });
      const [{ id }] = message.tool_calls;
      return (await ask([question, message, { role: "tool", tool_call_id: id, content }])).content;
    },
  });
  assertEquals(trial.outcome, "solved", trial.reason);
  const [, [, [one, other]]] = said as [unknown, [unknown, [string, string]]];
  assertEquals(said, [
    ["user", [], "Add."],
    ["assistant", [one, other], ""],
    ["tool", one, "2"],
    ["tool", other, '{"error":"There is no function sub"}'],
    ["assistant", [], "It is 2."],
  ]);
});

Deno.test("a request of an agent without a memory is no repetition of that of an earlier turn", async () => {
  const toolCase: ToolCase<unknown> = {
    ...{ name: "again", tools: [], prompt: "Go on.", turns: ["Go on."], assert: () => {} },
  };
  const model = scripted("script", [{ text: "I went." }, { text: "I went on." }]);
  const trial = await runTrial({ case: "again", seed: 1 }, model, {
    open: caseOpener(() => toolCase),
    agent: (task, options) =>
      plainLoop({ api: "chat", streamed: false })({ ...task, history: [] }, options),
  });
  const replies = trial.events.flatMap((event) => event.kind === "reply" ? [event] : []);
  assertEquals(replies.map(({ text, replaces }) => [text, replaces]), [
    ["I went.", undefined],
    ["I went on.", undefined],
  ]);
});

Deno.test("a trial that fails says which instructions and messages no request of its agent had", async () => {
  const toolCase: ToolCase<unknown> = {
    ...{ name: "told", tools: [], system: "Be brief.", prompt: "I am Ada.", turns: ["Who am I?"] },
    assert: (run) => assertAnswer(run, "Ada"),
  };
  const all = ["system", "history"] as const;
  for (const api of ["chat", "responses"] as const) {
    for (const left of [[], ["system"], ["history"], all] as const) {
      const trial = await runTrial(
        { case: "told", seed: 1 },
        scripted("script", [{ text: "Hello." }, { text: "Nobody." }]),
        {
          open: caseOpener(() => toolCase),
          agent: ({ system, ...task }, options) =>
            plainLoop({ api, streamed: false })({
              ...task,
              ...(left.some((part) => part === "system") ? {} : { system: system! }),
              ...(left.some((part) => part === "history") ? { history: [] } : {}),
            }, options),
        },
      );
      const said = describeTrial(trial);
      const told = all.filter((part) => said.includes(`that the task begins with: task.${part}`));
      assertEquals([trial.outcome, told], ["wrong_answer", [...left]], said);
    }
  }
});
