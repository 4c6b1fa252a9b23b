// sim:noisy?memory=k: values that stand more than k messages back are misread, unless restated.

import { assert, assertEquals, assertGreater, assertLess } from "@std/assert";
import type { GraphSpec } from "../../lib/tasks/generated/graph.ts";
import { planSuite } from "../../lib/runs/plan.ts";
import { parseSimulatedModel } from "../../lib/simulated/names.ts";
import type { ChatMessage } from "../../lib/simulated/wire.ts";
import { runTrial } from "../../lib/trials/run_trial.ts";
import type { Trial } from "../../lib/trials/trial.ts";
import { inProcess } from "../support/in_process.ts";
import {
  calling,
  isFaithful,
  makePrompt,
  makeTool,
  makeWorld,
  replyTo,
  returning,
  talk,
} from "../support/simulated_world.ts";

const VALUES = { given: 101, alpha: 202, beta: 303, gamma: 404 };
const TOOLS = [["given", "alpha"], ["given", "beta"], ["beta", "gamma"], [
  "given",
  "alpha",
  "beta",
  "gamma",
  "omega",
]].map((names, place) => {
  const [inputs, output] = [names.slice(0, -1), names.at(-1)];
  const clauses = inputs.map((name) => `variable ${name}`).join(", ");
  return makeTool(
    `func_${"abcd"[place]}`,
    `Processes ${clauses} to produce variable ${output}`,
    inputs,
  );
});

/** A user message, two replies with their calls, and two results, then one. */
const MESSAGES: readonly ChatMessage[] = [
  { role: "user", content: makePrompt("omega", new Map([["given", 101]])) },
  calling(["a", "func_a"], ["b", "func_b"]),
  returning("a", '{"alpha":202}'),
  returning("b", '{"beta":303}'),
  calling(["c", "func_c"]),
  returning("c", '{"gamma":404}'),
];

/** The arguments of the next call, the target's; what is misread must be another's value. */
function nextArguments(options: string, messages = MESSAGES): Record<string, unknown> {
  const { calls } = replyTo(parseSimulatedModel(`sim:noisy?${options}`), messages, TOOLS);
  const [[name, given], ...others] = calls as [typeof calls[number]];
  assertEquals([name, others.length], ["func_d", 0]);
  for (const value of Object.values(given)) assert(Object.values<unknown>(VALUES).includes(value));
  return given;
}

/** The variables whose argument is not their value. */
function misread(options: string, messages = MESSAGES): string {
  const given = nextArguments(options, messages);
  return Object.entries(VALUES).filter(([name, value]) => given[name] !== value)
    .map(([name]) => name).join(" ");
}

Deno.test("memory=k misreads what more than k messages came after, and nothing else", () => {
  const old = ["given alpha beta", "given alpha", "given", "given", ""];
  for (let seed = 2; seed < 20; seed++) {
    assertEquals(old.map((_, place) => misread(`memory=${place + 1}&seed=${seed}`)), old);
    assertEquals(misread(`seed=${seed}`), "");
  }
  const guesses = Array.from({ length: 30 }, (_, seed) => nextArguments(`memory=1&seed=${seed}`));
  assertEquals(new Set(guesses.map(({ given }) => given)), new Set<unknown>([202, 303, 404]));
});

Deno.test("memory=k takes the last return for the value, and its message for its place", () => {
  const again = [
    ...MESSAGES.slice(0, 4),
    calling(["a2", "func_a"], ["c", "func_c"]),
    returning("a2", '{"alpha":202}'),
    returning("c", '{"gamma":404}'),
  ];
  assertEquals(misread("memory=2", again), "given beta");
});

Deno.test("memory=k reads what the last result restates, and only that", () => {
  const known = '"known_variables":{"given":101,"beta":303';
  const table: [content: string, old: string][] = [
    [`{"gamma":404,${known},"alpha":202,"gamma":404}}`, ""],
    [`{"gamma":404,${known}}}`, "alpha"],
    // Another value than its own is no reminder.
    [`{"gamma":404,${known},"alpha":999}}`, "alpha"],
    ['{"gamma":404}\nKnown: alpha = 202', "given beta"],
  ];
  for (const [content, old] of table) {
    assertEquals(misread("memory=1", MESSAGES.with(-1, returning("c", content))), old, content);
  }
  const earlier = MESSAGES.with(3, returning("b", `{"beta":303,${known},"alpha":202}}`));
  assertEquals(misread("memory=1", earlier), "given alpha beta", "it reminds of nothing later on");
});

Deno.test("memory=k gives the right value where there is no other to mistake it for", () => {
  const refused = returning("x", '{"error":"There is no such function"}');
  const messages = [MESSAGES[0]!, calling(["x", "func_nix"]), refused];
  const { calls } = replyTo(parseSimulatedModel("sim:noisy?memory=1"), messages, TOOLS);
  assertEquals(calls.map(([, given]) => given), [{ given: 101 }, { given: 101 }]);
});

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
  for (let seed = 0; seed < 60; seed++) {
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
  assertGreater(Math.min(...Object.values(seen)), 25, JSON.stringify(seen));
});

Deno.test("memory=k misreads nothing where every result restates all", () => {
  const model = parseSimulatedModel("sim:noisy?memory=1&distract=.5");
  for (let seed = 0; seed < 30; seed++) {
    const world = makeWorld({ core: 10, connected: 4, seed });
    const { steps, text } = talk(model, world, { restate: true });
    for (const { known, calls } of steps) for (const call of calls) assert(isFaithful(call, known));
    assertEquals(text, `${world.target} = ${world.values.get(world.target)}`);
  }
});

/** Depths of the tasks below, and the kinds of their ten irrelevant functions. */
const DEPTHS = [1, 5, 9];
const KINDS = ["connected", "disconnected"] as const;

Deno.test("memory=k fails with depth and with connected functions that are called; restate mends it", async () => {
  const model = inProcess("sim:noisy?memory=12&distract=1");
  const { trials: plan } = planSuite({
    name: "memory",
    seed: 1,
    graphs: 12,
    tasks: [{ core: 10, depth: DEPTHS, irrelevant: 10, connection: KINDS }],
    models: [model.name],
    strategies: ["baseline", "restate"],
  });
  const trials: Trial[] = [];
  for (const planned of plan) trials.push(await runTrial(planned, model));
  const rate = (strategy: string, has: (spec: GraphSpec) => boolean = () => true) => {
    const own = trials.filter((one) => one.strategy === strategy && has(one.task as GraphSpec));
    return own.filter(({ solved }) => solved).length / own.length;
  };
  const [shallow, middle, deep] = DEPTHS.map((depth) =>
    rate("baseline", (spec) => spec.depth === depth)
  );
  assertLess(middle!, shallow! - 0.2);
  assertLess(deep!, middle! - 0.1);
  const [connected, disconnected] = KINDS.map((kind) =>
    rate("baseline", (spec) => spec[kind] === 10)
  );
  assertLess(connected!, disconnected! - 0.15);
  assertEquals(rate("restate"), 1);
  // What goes wrong is what was told in time, and lost.
  const failures = trials.flatMap((trial) => trial.failures);
  assertEquals(new Set(failures.map(({ type }) => type)), new Set(["incorrect_value"] as const));
});
