import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { createExecutor } from "../../lib/trials/executors/generated.ts";
import type { JsonObject } from "../../lib/base/json.ts";
import { perturbTask } from "../../lib/perturbations/perturbed_task.ts";
import { isRemoving, PERTURBATIONS, perturbationsIn } from "../../lib/perturbations/ids.ts";
import { PERTURBED } from "../../lib/perturbations/methods.ts";
import { generateTask, type Task } from "../../lib/tasks/graphs/task.ts";
import type { TaskFunction } from "../../lib/tasks/graphs/wording.ts";
import { parseTrialId, trialId } from "../../lib/trials/trial_id.ts";
import { applyChanges, applyTextChanges } from "../support/changes.ts";
import fc from "../support/fast_check.ts";
import { surfacedSpecs } from "../support/generated.ts";
import type { GraphSpec } from "../../lib/tasks/graphs/graph.ts";

const RICH = {
  core: 5,
  depth: 3,
  connected: 3,
  disconnected: 2,
  seed: 7,
  surface: "rich",
} as const;
const TASK = generateTask(RICH);

interface Clause {
  readonly name: string;
  readonly types: string;
}

/** What a function's sentence says of its inputs and of its output, read anew. */
function clausesIn(description: string): [inputs: Clause[], output: Clause] {
  const [consumed, produced] = description.split(" to produce ") as [string, string];
  const read = (text: string) =>
    Array.from(
      text.matchAll(/variable (\w+)(?: \(([^)]*)\))?/g),
      ([, name, types = ""]): Clause => {
        return { name: name!, types };
      },
    );
  return [read(consumed), read(produced)[0]!];
}

const sorted = <T>(items: Iterable<T>) => [...items].map((item) => JSON.stringify(item)).toSorted();

Deno.test("none leaves a task as it is", () => {
  const { task, prompt, tools, given, changed, unsolvable, steps } = perturbTask(TASK, "none");
  assertEquals(task, TASK);
  assertEquals([prompt, tools, given], [TASK.prompt, TASK.tools, TASK.inputs]);
  assertEquals([changed, unsolvable, steps], [true, false, []]);
});

Deno.test("WT declares other types than whole numbers, and RE takes the examples away", () => {
  const types = perturbTask(TASK, "WT").tools.flatMap(({ parameters, description }, place) => {
    assertEquals(description, TASK.tools[place]!.description);
    const properties = parameters["properties"] as Record<string, JsonObject>;
    assertEquals(
      Object.keys(properties),
      TASK.functions[place]!.parameters.map(({ name }) => name),
    );
    return Object.values(properties).map(({ type }) => type as string);
  });
  assertEquals(new Set(types), new Set(["array", "boolean", "object"]));
  assert(TASK.tools.every(({ examples }) => examples?.length === 1));
  assert(perturbTask(TASK, "RE").tools.every(({ examples }) => examples === undefined));
});

Deno.test("RP_F and RP_L take a variable's line away, and the sentence that all is there", () => {
  const inputs = [...TASK.inputs];
  for (const [id, place] of [["RP_F", 0], ["RP_L", inputs.length - 1]] as const) {
    const { prompt, given, unsolvable, tools } = perturbTask(TASK, id);
    const left = inputs.toSpliced(place, 1);
    assertEquals(
      prompt,
      TASK.prompt.split("\n\n")[0] + "\n\n" +
        left.map(([name, value]) => `Variable ${name} = ${value}`).join("\n"),
    );
    assertEquals([...given], left);
    assertEquals([unsolvable, tools], [true, TASK.tools]);
  }
});

Deno.test("AN adds a variable for each given one, with nearly its name and a value of none", () => {
  const { prompt, given } = perturbTask(TASK, "AN");
  assert(prompt.startsWith(TASK.prompt));
  const added = prompt.slice(TASK.prompt.length).split("\n").filter((line) => line.trim() !== "");
  const read = added.map((line) => /^Variable (\w+) = (\d+)$/.exec(line)!.slice(1));
  assertEquals(
    read.map(([name, value]) => [name, Number(value)]),
    [...given].slice(TASK.inputs.size),
  );
  const names = [...TASK.inputs.keys()];
  for (const [place, [name, value]] of read.entries()) {
    const real = names[place]!;
    const differing = [...real].filter((letter, index) => letter !== name![index]);
    assertEquals([name!.length, differing.length], [real.length, 1]);
    assert(!TASK.values.has(name!));
    assert(![...TASK.values.values()].includes(Number(value)));
  }
});

Deno.test("methods on returns change what goes back, and neither question nor functions", () => {
  const { output } = TASK.functions.find(({ output }) => output.name.endsWith("_id"))!;
  const value = TASK.values.get(output.name)!;
  for (
    const [id, text] of [
      ["AP", `{"${output.name}":"ID_${value}"}`],
      ["FK+CF", `{"Object_1":${value}...`],
    ] as const
  ) {
    const { prompt, tools, perturbReturn, changed } = perturbTask(TASK, id);
    assertEquals([prompt, tools, changed], [TASK.prompt, TASK.tools, true]);
    assertEquals(perturbReturn(JSON.stringify({ [output.name]: value })), text);
  }
});

Deno.test("what finds nothing to change says so (Butterfly 5.1)", () => {
  const plain = generateTask({ core: 3, depth: 2, connected: 0, disconnected: 0, seed: 1 });
  const unchanged = PERTURBATIONS.filter((id) => !perturbTask(plain, id).changed);
  assertEquals(unchanged.filter((id) => id !== "SD" && id !== "CO"), ["RE", "AP", "CK", "UK"]);
  const single = generateTask({
    core: 1,
    depth: 0,
    connected: 0,
    disconnected: 0,
    seed: 1,
    inputs: [1, 1],
  });
  assertEquals(
    PERTURBATIONS.filter((id) => !perturbTask(single, id).changed),
    ["reorder", "RE", "SD", "CO", "AP", "CK", "UK"],
  );
  // What was joined has been done only if each part was.
  assertEquals(perturbTask(plain, "CF+AP").changed, false);
  // Ids get their prefix while their keys still say that they are ids.
  assertEquals(perturbTask(TASK, "FK+AP").changed, true);
  assertEquals(perturbTask(single, "RP_F+RP_L").changed, false);
  assert(PERTURBATIONS.every((id) => perturbTask(TASK, id).changed));
});

Deno.test("any task: unrelated leaves the functions of the task as they are, and in their order", () => {
  fc.assert(fc.property(surfacedSpecs(12), (spec) => {
    const task = generateTask(spec);
    const { task: more, prompt, tools } = perturbTask(task, "unrelated");
    const own = new Set(task.functions.map(({ name }) => name));
    const kept = more.functions.filter(({ name }) => own.has(name));
    assertEquals(kept, [...task.functions]);
    assertEquals(tools.filter(({ name }) => own.has(name)), [...task.tools]);
    assertEquals([prompt, tools.length], [task.prompt, task.tools.length + 5]);
    const names = (functions: readonly TaskFunction[]) =>
      functions.flatMap(({ name, parameters, output }) => [
        name,
        ...[...parameters, output].flatMap((one) => [one.name, one.type, one.subtype]),
      ]);
    const added = more.functions.filter(({ name }) => !own.has(name));
    assert(added.every(({ role }) => role === "disconnected"));
    assertEquals(new Set(names(added)).intersection(new Set(names(task.functions))), new Set());
  }));
});

Deno.test("unrelated adds functions, rename changes all names, reorder the order", () => {
  const more = perturbTask(TASK, "unrelated").task;
  assertEquals(more.functions.length, TASK.functions.length + 5);
  assertEquals([more.prompt, more.target], [TASK.prompt, TASK.target]);

  const { task: renamed } = perturbTask(TASK, "rename");
  const words = (text: string) => new Set(text.match(/[a-z]{3,}/g));
  const template = words("Processes variable with to produce func type subtype Example");
  const own = words(JSON.stringify(TASK.tools.map(({ description }) => description)));
  const other = words(JSON.stringify(renamed.tools.map(({ description }) => description)));
  assertEquals(own.intersection(other).difference(template), new Set());
  assertEquals([...renamed.inputs.values()], [...TASK.inputs.values()]);
  assertEquals(renamed.target.value, TASK.target.value);
  assertEquals([...renamed.values.values()], [...TASK.values.values()]);

  const { task: reordered, tools } = perturbTask(TASK, "reorder");
  assertNotEquals(tools, TASK.tools);
  assertEquals(sorted(tools), sorted(TASK.tools));
  assertEquals(tools.map(({ name }) => name), reordered.functions.map(({ name }) => name));
});

/** An agent that knows the task calls what it must, in an order in which it can. */
async function solve(task: Task, perturbation: string) {
  using executor = createExecutor(task, { perturbation, callLimit: 500 });
  const { functions, values, target } = executor.task;
  const byName = new Map(functions.map((made) => [made.name, made]));
  const done = new Set<string>();
  const call = async (name: string): Promise<void> => {
    const { parameters, dependsOn } = byName.get(name)!;
    if (done.has(name)) return;
    done.add(name);
    for (const parent of dependsOn) await call(parent);
    const given = parameters.map((one) => [one.name, values.get(one.variable)!] as const);
    const [answered] = await executor.execute([{
      id: name,
      name,
      arguments: JSON.stringify(Object.fromEntries(given)),
    }]);
    assertEquals(
      answered!.content,
      executor.events.at(-1)!.kind === "call"
        ? (executor.events.at(-1) as { result: string }).result
        : undefined,
    );
  };
  await call(functions.find(({ output }) => output.name === target.variable)!.name);
  const { outcome } = executor.answer(`${target.variable} = ${target.value}`);
  const failed = executor.events.filter((event) => event.kind === "call" && event.failure);
  return { outcome, failed: failed.length };
}

/**
 * What is left to see of the links of a task's core, read anew from its documents alone: each parameter that takes
 * an output must be linked to it by its name, by words of its name that an output's name has too, or by the text
 * of its types; which words of names count, the question says.
 */
function links({ functions, prompt }: Task, tools: Task["tools"]): "shown" | "missing" | "wrong" {
  const outputs = tools.map(({ description }) => clausesIn(description)[1]);
  const wordsOf = (name: string) =>
    name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).split(/[ _]/).slice(1, 3)
      .join();
  const hasRule = prompt.includes("second and third words of each variable's name");
  const found = functions.flatMap(({ name, role, parameters, dependsOn }) => {
    if (role !== "core" || dependsOn.length === 0) return [];
    const [inputs] = clausesIn(tools.find((tool) => tool.name === name)!.description);
    return parameters.map(({ name, variable }) => {
      const types = inputs.find((clause) => clause.name === name)!.types;
      const output = outputs.find((one) => one.name === name) ??
        outputs.find((one) => hasRule && wordsOf(one.name) === wordsOf(name)) ??
        outputs.find((one) => types !== "" && one.types === types);
      return output === undefined ? "missing" : output.name === variable ? "shown" : "wrong";
    });
  });
  return found.find((link) => link === "missing") ?? found.find((link) => link === "wrong") ??
    "shown";
}

const ID = fc.subarray([...PERTURBATIONS], { minLength: 1, maxLength: 3 })
  .map((ids) => ids.join("+"));

Deno.test("any perturbation of any task: right calls are right, whatever the model was shown (Butterfly 4)", async () => {
  await fc.assert(
    fc.asyncProperty(surfacedSpecs(12), ID, async (spec, id) => {
      const { outcome, failed } = await solve(generateTask(spec), id);
      // A value that was not given can only be guessed: the call is marked, and is no failure either.
      assertEquals([outcome, failed], ["solved", 0]);
    }),
    { numRuns: 60 },
  );
});

Deno.test("any perturbation of any task is the same whenever it is made, and tells what it changed", () => {
  fc.assert(fc.property(surfacedSpecs(12), ID, (spec, id) => {
    const task = generateTask(spec);
    const before = JSON.stringify(task.tools);
    const made = perturbTask(task, id);
    const again = perturbTask(generateTask(spec), id);
    assertEquals([again.prompt, again.tools, again.given], [made.prompt, made.tools, made.given]);
    assertEquals(JSON.stringify(task.tools), before);
    const removed = made.steps.some(({ id, changed }) => isRemoving(id) && changed);
    const isLinked = links(made.task, made.tools) === "shown";
    assertEquals(made.unsolvable, removed || !isLinked);
    assertEquals(made.steps.map((step) => step.id), perturbationsIn(id));
  }));
});

Deno.test("RD, WD and SD leave no answer where descriptions alone link parameters, WT always leaves one (Butterfly 4.1)", () => {
  const shape = { core: 5, depth: 2, connected: 2, disconnected: 1 };
  for (let seed = 0; seed < 25; seed++) {
    const obstacles = (changes: Partial<GraphSpec>) =>
      ["RD", "WD", "SD", "WT", "CO", "RE"].map((id) =>
        perturbTask(generateTask({ ...shape, seed, ...changes }), id).obstacle
      );
    // A function of the core takes two outputs where paths of different length meet.
    const swapped = generateTask({ ...shape, seed }).functions
      .some(({ role, dependsOn }) => role === "core" && dependsOn.length > 1);
    const misled = swapped ? "misleading" : undefined;
    assertEquals(obstacles({}), ["unlinked", "unlinked", misled, undefined, undefined, undefined]);
    for (const kept of [{ cues: "names" }, { linking: "names" }, { core: 1, depth: 0 }] as const) {
      assertEquals(obstacles(kept), new Array(6).fill(undefined), JSON.stringify(kept));
    }
  }
  const task = generateTask({ ...shape, seed: 1 });
  assertEquals(
    ["RD+WT", "WD+SD", "rename+RD", "RD+RP_F", "RD+permission_denied"].map((id) =>
      perturbTask(task, id).obstacle
    ),
    ["unlinked", "unlinked", "unlinked", "removed", "denied"],
  );
});

Deno.test("rename and unrelated keep cues: names of the same types have the same words", () => {
  fc.assert(
    fc.property(
      surfacedSpecs(8),
      fc.constantFrom("rename", "unrelated", "unrelated+rename"),
      (spec, id) => {
        const { task, tools } = perturbTask(generateTask({ ...spec, cues: "names" }), `${id}+WD`);
        assertEquals(links(task, tools), "shown");
        const variables = task.functions.flatMap((
          { parameters, output },
        ) => [...parameters, output]);
        for (const { name, type, subtype } of variables) {
          const [, ...words] = name.split(/_|(?=[A-Z])/).map((word) => word.toLowerCase());
          assertEquals(words.slice(0, 2), [type, subtype].map((one) => one.split("_")[1]!));
        }
      },
    ),
    { numRuns: 40 },
  );
});

Deno.test("one perturbation of any task: the changes told make of what was what is", () => {
  fc.assert(fc.property(surfacedSpecs(12), fc.constantFrom(...PERTURBATIONS), (spec, id) => {
    const task = generateTask(spec);
    const { prompt, tools, steps: [step] } = perturbTask(task, id);
    if (!Object.hasOwn(PERTURBED, id)) return;
    const source = PERTURBED[id as keyof typeof PERTURBED];
    const plain = (value: unknown) => JSON.parse(JSON.stringify(value));
    if (source === "document") {
      const rebuilt = applyChanges(plain(task.tools), step!.changes);
      assertEquals(JSON.stringify(rebuilt), JSON.stringify(tools));
      assertEquals(prompt, task.prompt);
    } else {
      assertEquals(applyTextChanges(task.prompt, step!.changes), prompt);
      assertEquals(tools, task.tools);
    }
    // What only functions change that are not needed has not been changed.
    if (step!.changed && source !== "return") assert(step!.changes.length > 0);
    if (source === "query") assertEquals(step!.changed, step!.changes.length > 0);
  }));
});

Deno.test("any task: what counts as changed is what the task needs", () => {
  fc.assert(fc.property(surfacedSpecs(12), fc.constantFrom("SD", "CO"), (spec, id) => {
    const task = generateTask(spec);
    const { tools, changed } = perturbTask(task, id);
    const needed = task.functions.some(({ role }, place) =>
      role === "core" && tools[place]!.description !== task.tools[place]!.description
    );
    assertEquals(changed, needed);
  }));
});

Deno.test("any task: no number by which another is told is a value of the task", () => {
  fc.assert(
    fc.property(surfacedSpecs(30), (spec) => {
      const task = generateTask(spec);
      const values = new Set(task.values.values());
      const { prompt, told, given, unsolvable } = perturbTask(task, "CP");
      // Its value is given in words, so that lists of given numbers lack it.
      assertEquals([told, given, unsolvable], [task.inputs, new Map(), false]);
      const lines = prompt.split("\n").filter((line) => line.startsWith("Variable "));
      assertEquals(lines.length, task.inputs.size);
      for (const line of lines) {
        const numbers = line.slice(line.indexOf("=")).match(/\d+/g) ?? [];
        assert(numbers.every((number) => !values.has(Number(number))), line);
      }
    }),
    { numRuns: 300 },
  );
});

Deno.test("unrelated puts its functions anywhere among the others", () => {
  const places = new Set(
    Array.from({ length: 40 }, (_, seed) => {
      const task = generateTask({ ...RICH, seed });
      const own = new Set(task.functions.map(({ name }) => name));
      const { task: more } = perturbTask(task, "unrelated");
      return more.functions.findIndex(({ name }) => !own.has(name));
    }),
  );
  assert(places.size > 2, `always at ${[...places]}`);
});

Deno.test("ids of trials keep a rich surface, cues and a perturbation", () => {
  const key = {
    model: "m",
    strategy: "plain",
    perturbation: "RP_F+CF",
    task: { ...RICH, cues: "names" },
    repetition: 1,
  } as const;
  assertEquals(parseTrialId(trialId(key)), key);
});
