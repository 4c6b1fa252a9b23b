// Strategies work with what a tool gave, which a perturbation may have changed: none of them knows better.

import { assert, assertEquals } from "@std/assert";
import type { JsonObject } from "../../../lib/base/json.ts";
import { scripted } from "../../../lib/models/scripted.ts";
import { generateTask } from "../../../lib/tasks/graphs/task.ts";
import { callsOf } from "../../../lib/calls/trace.ts";
import { runTrial } from "../../../lib/trials/run_trial.ts";
import { inProcess } from "../../support/in_process.ts";

const SPEC = {
  core: 3,
  depth: 2,
  connected: 0,
  disconnected: 0,
  seed: 7,
  surface: "rich",
} as const;
const TASK = generateTask(SPEC);

async function trialOf(strategy: string, perturbation: string) {
  return await runTrial(SPEC, inProcess("sim:planner"), {
    perturbation,
    strategy: { strategy },
  });
}

/** What the results of the calls that were carried out list as known. */
async function listed(perturbation: string): Promise<JsonObject[]> {
  const { events } = await trialOf("restate", perturbation);
  return callsOf(events).filter(({ returned }) => returned !== undefined).map(({ result }) => {
    const list = result.slice(result.indexOf('{"known_variables"'));
    const read = JSON.parse(list.startsWith("{") ? list : result);
    return read["known_variables"] ?? JSON.parse(result)["known_variables"];
  });
}

Deno.test("restate lists returns by the keys that came, and as they came", async () => {
  const inputs = [...TASK.inputs.keys()];
  for (const known of await listed("FK")) {
    assertEquals(new Set(Object.keys(known)), new Set([...inputs, "Object_1"]));
  }
  for (const known of await listed("AP")) {
    const returned = Object.entries(known).filter(([name]) => !inputs.includes(name));
    for (const [name, value] of returned) {
      if (/id$/i.test(name)) assert(String(value).startsWith("ID_"), `${name} = ${value}`);
    }
    assert(returned.length > 0);
  }
  // What broke off names nothing.
  for (const known of await listed("CF")) assertEquals(Object.keys(known), inputs);
});

Deno.test("restate lists no number for what the question says in other words", async () => {
  for (const known of await listed("CP")) {
    for (const [name, value] of TASK.inputs) {
      assertEquals(Object.hasOwn(known, name), false, `${name} = ${value}`);
    }
  }
});

Deno.test("indirection binds what came: an id with a prefix is no whole number any more", async () => {
  const { outcome, failures } = await trialOf("indirection", "AP");
  assert(outcome !== "solved", outcome);
  assert(failures.some(({ type }) => type === "wrong_number_of_inputs"));
  const { outcome: plain } = await trialOf("indirection", "none");
  assertEquals(plain, "solved");
});

Deno.test("indirection: to look at a value is no call of the task, and names are what they stand for", async () => {
  const [input] = TASK.inputs.keys() as unknown as [string];
  const needy = TASK.functions.find(({ parameters }) =>
    parameters.some(({ variable }) => variable === input)
  )!;
  const calls = (...own: { name: string; arguments: JsonObject }[]) => ({ calls: own });
  const names = Object.fromEntries(
    needy.parameters.map(({ name, variable }) => [name, `@${variable}`]),
  );
  const model = scripted("m", [
    calls({ name: "dereference", arguments: { name: `@${input}` } }),
    calls({ name: needy.name, arguments: names }),
    calls({ name: needy.name, arguments: { ...names, [input]: "@nope", result: "@a" } }),
    { text: "I give up." },
  ]);
  const { events } = await runTrial(SPEC, model, {
    strategy: { strategy: "indirection", dereference: true },
  });
  const told = callsOf(events).map(({ function: name, parameters }) => [
    name,
    parameters?.oracle,
    parameters?.failures.map(({ type, parameter }) => `${type} ${parameter}`),
  ]);
  assertEquals(told, [
    ["dereference", undefined, undefined],
    // It names no result, which is no parameter of the function itself.
    [needy.name, undefined, undefined],
    [needy.name, null, [`specification_mismatch /${input}`]],
  ]);
});

Deno.test("indirection: a call that is refused for its names is held against the right one by what it means", async () => {
  const { events } = await runTrial(
    SPEC,
    inProcess("sim:planner"),
    { strategy: { strategy: "indirection", dereference: true } },
  );
  const views = callsOf(events).flatMap(({ parameters }) => parameters ?? []);
  assertEquals(views, [], "neither names nor results of names are failures");
});
