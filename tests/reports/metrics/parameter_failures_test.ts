import { assert, assertEquals } from "@std/assert";
import { toolFailuresOf, withViews } from "../../../lib/calls/parameter_views.ts";
import { type CallEvent, callsOf, MAX_KEPT_LENGTH } from "../../../lib/calls/trace.ts";
import { planSuite } from "../../../lib/runs/plan.ts";
import { questionSource } from "../../../lib/runs/question_tasks.ts";
import { Run } from "../../../lib/runs/run.ts";
import { runTrial } from "../../../lib/trials/run_trial.ts";
import { summarize } from "../../../lib/trials/summary.ts";
import { TRIPS } from "../../support/call_sets.ts";
import { ROOT } from "../../support/child.ts";
import { inProcess } from "../../support/in_process.ts";
import { recordsOf, tablesOf } from "../../support/reports.ts";
import { truthsOf } from "../../../lib/simulated/_truth.ts";

Deno.test("failures by tool and parameter are those that the views of all calls have (Butterfly 3)", async () => {
  const suite = {
    name: "trips",
    seed: 1,
    tasks: [{ set: `${ROOT}/fixtures/call_sets/trips.jsonc`, mode: "tools" as const }],
    models: ["sim:truth?key=0.3&value=0.4&optional=0.5"],
    repetitions: 10,
    perturbations: ["none", "AN", "timeout"],
  };
  const plan = planSuite(suite, { tasks: questionSource(suite.tasks, (path) => path)! });
  using run = new Run(plan, {
    connect: ({ model }) => inProcess(model, undefined, truthsOf([TRIPS])),
  });
  const trials = await run.all();
  const expected = [...Map.groupBy(trials, ({ perturbation }) => perturbation)].flatMap(
    ([perturbation, own]) => {
      const calls = own.flatMap(({ id, events }) =>
        callsOf(events).filter(({ fault }) => fault === undefined).map((call) => ({ ...call, id }))
      );
      const failing = calls.flatMap(({ function: tool, id, call, parameters }) =>
        (parameters?.failures ?? []).map((failure) => ({
          ...{ ...failure, tool, id, at: `${id} ${call}` },
          ...(failure.type === "hallucination_name" ? { parameter: "undeclared names" } : {}),
        }))
      );
      return [...Map.groupBy(failing, ({ tool, parameter }) => `${tool} ${parameter}`)]
        .map(([name, wrong]) => {
          const ofTool = calls.filter((call) => call.function === wrong[0]!.tool);
          return [
            ...[perturbation, name, new Set(wrong.map(({ at }) => at)).size, ofTool.length],
            ...[wrong, ofTool].map((some) => new Set(some.map(({ id }) => id)).size),
            wrong.filter(({ type }) => type === "redundant_information").length,
          ].join(" ");
        });
    },
  );
  const summaries = trials.map(summarize);
  const found = recordsOf("parameter-failures", summaries).map((one) =>
    [
      ...[one["perturbation"], `${one["tool"]} ${one["parameter"]}`],
      ...["calls_count", "calls_of", "trials_count", "trials_of", "redundant_information"]
        .map((id) => one[id]),
    ].join(" ")
  );
  assert(found.length > 20);
  assertEquals(found.toSorted(), expected.toSorted());

  // Tables have the unperturbed trials, and the parameters with the most wrong calls.
  const [table] = tablesOf("parameter-failures", summaries);
  const shares = table!.rows.map((row) => row[4]!.text);
  assertEquals(shares.length, 10);
  const spec = { core: 4, depth: 2, connected: 0, disconnected: 0, seed: 1 };
  const generated = await runTrial(spec, inProcess("sim:noisy?key=0.5"));
  assert(generated.failures.length > 0);
  assertEquals(recordsOf("parameter-failures", [summarize(generated)]), []);

  // Where a tool takes any names, models could make rows up.
  const failures = Array.from({ length: 300 }, (_, place) => ({
    ...{ parameter: `/p${place}`, type: "task_deviation" as const, calls: place + 1 },
  }));
  const many = { ...summaries[0]!, toolFailures: [{ tool: "f", calls: 300, failures }] };
  const rows = recordsOf("parameter-failures", [many]).map((row) => row["calls_count"]);
  assertEquals([rows.length, rows[0], rows.at(-1)], [200, 300, 101]);
});

Deno.test("a call counts once for a parameter, cut names and those that no tool declares too, of those compared", async () => {
  const long = "x".repeat(120);
  const names = [`${long}1`, `${long}2`];
  const properties = Object.fromEntries(names.map((name) => [name, { type: "string" }]));
  const declared = { type: "object", properties, additionalProperties: false };
  const tool = { name: "f", description: "", parameters: declared };
  const written = [
    JSON.stringify({ ...Object.fromEntries(names.map((name) => [name, 1])), a: 1, b: 1 }),
    JSON.stringify({ [names[0]!]: "y".repeat(MAX_KEPT_LENGTH) }).slice(0, MAX_KEPT_LENGTH),
  ];
  const events = written.map((text, place): CallEvent => ({
    ...{ kind: "call", call: place + 1, step: place + 1, function: "f" },
    ...{ arguments: text, result: "{}" },
  }));
  const viewed = await withViews(events, [{ tool: "f", arguments: {} }], [tool]);
  const [cut] = callsOf(viewed)[0]!.parameters!.failures.slice(-1);
  assertEquals(toolFailuresOf(viewed), [{
    tool: "f",
    calls: 1,
    failures: [
      { parameter: "undeclared names", type: "hallucination_name", calls: 1 },
      { parameter: cut!.parameter, type: "specification_mismatch", calls: 1 },
    ],
  }]);
});
