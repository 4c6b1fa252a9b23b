// sim:noisy?memory=k: values that stand more than k messages back are misread, unless restated.

import { assert, assertEquals, assertGreater, assertLess } from "@std/assert";
import type { GraphSpec } from "../../lib/tasks/generated/graph.ts";
import type { ChatMessage } from "../../lib/simulated/wire.ts";
import { parseSimulatedModel } from "../../lib/simulated/names.ts";
import { planSuite } from "../../lib/runs/plan.ts";
import { STRATEGIES } from "../../lib/trials/strategies/registry.ts";
import { runTrial, type Trial } from "../../lib/trials/trial.ts";
import { inProcess } from "../support/in_process.ts";
import { isFaithful, makePrompt, makeTool, makeWorld, talk } from "../support/simulated_world.ts";

// A conversation made by hand

const TOOLS = [
  makeTool("func_a", "Processes variable given to produce variable alpha", ["given"]),
  makeTool("func_b", "Processes variable given to produce variable beta", ["given"]),
  makeTool("func_c", "Processes variable beta to produce variable gamma", ["beta"]),
  makeTool(
    "func_d",
    "Processes variable given, variable alpha, variable beta, variable gamma to produce variable " +
      "omega",
    ["given", "alpha", "beta", "gamma"],
  ),
];
const VALUES = { given: 101, alpha: 202, beta: 303, gamma: 404 };

/** The user message, two replies with their calls, and two results, then one. */
const MESSAGES: readonly ChatMessage[] = [
  { role: "user", content: makePrompt("omega", new Map([["given", 101]])) },
  assistant(["a", "func_a"], ["b", "func_b"]),
  { role: "tool", tool_call_id: "a", content: '{"alpha":202}' },
  { role: "tool", tool_call_id: "b", content: '{"beta":303}' },
  assistant(["c", "func_c"]),
  { role: "tool", tool_call_id: "c", content: '{"gamma":404}' },
];

function assistant(...calls: [id: string, name: string][]): ChatMessage {
  return {
    role: "assistant",
    content: "I call.",
    tool_calls: calls.map(([id, name]) => ({
      id,
      type: "function",
      function: { name, arguments: "{}" },
    })),
  };
}

/** The arguments of the next call, the target's. */
function nextArguments(options: string, messages = MESSAGES): Record<string, number> {
  const model = parseSimulatedModel(`sim:noisy?${options}`);
  const { choices } = model.reply({ model: model.name, messages, tools: TOOLS });
  const [call, ...others] = choices[0].message.tool_calls!;
  assertEquals([call!.function.name, others.length], ["func_d", 0]);
  return JSON.parse(call!.function.arguments);
}

/** The variables whose argument is not their value; what stands there must be another's value. */
function misread(given: Record<string, number>): string[] {
  return Object.entries(VALUES).filter(([name, value]) => given[name] !== value).map(([name]) => {
    assert(Object.values(VALUES).includes(given[name]!), `${name} = ${given[name]}`);
    return name;
  });
}

Deno.test("memory=k misreads what more than k messages came after, and nothing else", () => {
  const expected: [string, string[]][] = [
    ["memory=1", ["given", "alpha", "beta"]],
    ["memory=2", ["given", "alpha"]],
    ["memory=3", ["given"]],
    ["memory=4", ["given"]],
    ["memory=5", []],
    ["seed=1", []],
  ];
  for (const [options, old] of expected) {
    for (let seed = 2; seed < 30; seed++) {
      const name = options === "seed=1" ? options : `${options}&seed=${seed}`;
      assertEquals(misread(nextArguments(name)), old, name);
    }
  }
  const guesses = Array.from(
    { length: 30 },
    (_, seed) => nextArguments(`memory=1&seed=${seed}`)["given"],
  );
  assertEquals(new Set(guesses), new Set([202, 303, 404]), "which value it reads is drawn");
});

Deno.test("memory=k takes the last return for the value, and its message for its place", () => {
  const again: ChatMessage[] = [
    ...MESSAGES.slice(0, 4),
    assistant(["a2", "func_a"], ["c", "func_c"]),
    { role: "tool", tool_call_id: "a2", content: '{"alpha":202}' },
    { role: "tool", tool_call_id: "c", content: '{"gamma":404}' },
  ];
  assertEquals(misread(nextArguments("memory=2", again)), ["given", "beta"]);
});

Deno.test("memory=k reads what the last result restates, and only that", () => {
  const restating = (content: string) => MESSAGES.with(-1, { ...MESSAGES.at(-1)!, content });
  const table: [string, string[]][] = [
    ['{"gamma":404,"known_variables":{"given":101,"alpha":202,"beta":303,"gamma":404}}', []],
    ['{"gamma":404,"known_variables":{"given":101,"beta":303}}', ["alpha"]],
    // Another value than its own is no reminder.
    ['{"gamma":404,"known_variables":{"given":101,"alpha":999,"beta":303}}', ["alpha"]],
    ['{"gamma":404}\nKnown: alpha = 202', ["given", "beta"]],
  ];
  for (const [content, old] of table) {
    assertEquals(misread(nextArguments("memory=1", restating(content))), old, content);
  }
  // A result before the last one reminds of nothing.
  const earlier = MESSAGES.with(3, {
    ...MESSAGES[3]!,
    content: '{"beta":303,"known_variables":{"given":101,"alpha":202,"beta":303}}',
  });
  assertEquals(misread(nextArguments("memory=1", earlier)), ["given", "alpha", "beta"]);
});

Deno.test("memory=k gives the right value where there is no other to mistake it for", () => {
  const messages: ChatMessage[] = [
    MESSAGES[0]!,
    assistant(["x", "func_nix"]),
    { role: "tool", tool_call_id: "x", content: '{"error":"There is no such function"}' },
  ];
  const model = parseSimulatedModel("sim:noisy?memory=1");
  const { choices } = model.reply({ model: model.name, messages, tools: TOOLS });
  const given = choices[0].message.tool_calls!.map((call) => JSON.parse(call.function.arguments));
  assertEquals(given, [{ given: 101 }, { given: 101 }]);
});

// Conversations of random tasks

/** How many messages came after the one that gave each variable its value. */
function agesIn(messages: readonly ChatMessage[]): Map<string, number> {
  const ages = new Map<string, number>();
  for (const [place, message] of messages.entries()) {
    if (message.role === "assistant") continue;
    for (const [, one, other] of `${message.content}`.matchAll(/Variable (\w+) =|"(\w+)":\d/g)) {
      ages.set(one ?? other!, messages.length - 1 - place);
    }
  }
  return ages;
}

Deno.test("memory=k misreads whatever it calls: needed, early or irrelevant functions", () => {
  const model = parseSimulatedModel("sim:noisy?memory=4&early=.3&distract=1");
  const seen = { fresh: 0, old: 0, irrelevant: 0 };
  for (let seed = 0; seed < 100; seed++) {
    const world = makeWorld({ core: 10, connected: 8, disconnected: 2, seed });
    const { steps, requests } = talk(model, world);
    for (const [index, { known, calls }] of steps.entries()) {
      const ages = agesIn(requests[index]!.messages);
      for (const { arguments: given, function: called } of calls) {
        for (const [own, variable] of called!.parameters) {
          if (!known.has(variable)) continue;
          const isOld = ages.get(variable)! > 4;
          assertEquals(given.get(own) !== known.get(variable), isOld, `${variable} of ${seed}`);
          assert([...known.values()].includes(given.get(own)!));
          if (isOld && called!.role !== "core") seen.irrelevant++;
          seen[isOld ? "old" : "fresh"]++;
        }
      }
    }
  }
  for (const [what, count] of Object.entries(seen)) assertGreater(count, 40, what);
});

Deno.test("memory=k misreads nothing where every result restates all", () => {
  const model = parseSimulatedModel("sim:noisy?memory=1&distract=.5");
  for (let seed = 0; seed < 60; seed++) {
    const world = makeWorld({ core: 10, connected: 4, seed });
    const { steps, text } = talk(model, world, { restate: true });
    for (const { known, calls } of steps) for (const call of calls) assert(isFaithful(call, known));
    assertEquals(text, `${world.target} = ${world.values.get(world.target)}`);
  }
});

Deno.test("memory=k leaves the other mistakes of a model as they were drawn", () => {
  const mistakes = "hallucinate=.2&early=.3&distract=.4&seed=3";
  for (let seed = 0; seed < 30; seed++) {
    const world = makeWorld({ core: 8, connected: 3, seed });
    const names = (options: string, restate: boolean) =>
      talk(parseSimulatedModel(`sim:noisy?${mistakes}${options}`), world, { restate })
        .calls.map(({ name }) => name);
    assertEquals(names("&memory=3", false), names("", false));
    assertEquals(names("&memory=3", true), names("&memory=3", false));
  }
});

// Generated tasks

/** Depths of the tasks below, and the kinds of their ten irrelevant functions. */
const DEPTHS = [1, 3, 5, 7, 9];
const KINDS = ["connected", "disconnected"] as const;

Deno.test("memory=k fails with depth and with connected functions that are called; restate mends it", async () => {
  const model = inProcess("sim:noisy?memory=12&distract=1");
  const { trials: plan } = planSuite({
    name: "memory",
    seed: 1,
    graphs: 16,
    tasks: [{ core: 10, depth: DEPTHS, irrelevant: 10, connection: KINDS }],
    models: [model.name],
    strategies: STRATEGIES,
  });
  const trials: Trial[] = [];
  for (const planned of plan) trials.push(await runTrial(planned, model));
  const rate = (traits: { strategy: string; depth?: number; kind?: typeof KINDS[number] }) => {
    const own = trials.filter(({ strategy, task }) => {
      const spec = task as GraphSpec;
      return strategy === traits.strategy &&
        (traits.depth === undefined || spec.depth === traits.depth) &&
        (traits.kind === undefined || spec[traits.kind] === 10);
    });
    return own.filter(({ solved }) => solved).length / own.length;
  };

  const [shallow, , middle, , deep] = DEPTHS.map((depth) => rate({ strategy: "baseline", depth }));
  assertLess(middle!, shallow! - 0.2);
  assertLess(deep!, middle! - 0.1);
  assertGreater(deep!, 0);
  const [connected, disconnected] = KINDS.map((kind) => rate({ strategy: "baseline", kind }));
  assertLess(connected!, disconnected! - 0.15);
  assertEquals(rate({ strategy: "restate" }), 1);

  // What goes wrong is what was told in time, and lost.
  const failures = trials.flatMap((trial) => trial.failures);
  assertEquals(new Set(failures.map(({ type }) => type)), new Set(["incorrect_value"] as const));
});
