import {
  assert,
  assertEquals,
  assertGreater,
  assertLess,
  assertNotEquals,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { sha256 } from "../../../lib/base/hash.ts";
import { toDot, toSvg } from "../../../lib/reports/figures/graph_drawing.ts";
import {
  completeSpec,
  generateGraph,
  type GraphSpec,
  NAMES,
} from "../../../lib/tasks/graphs/graph.ts";
import {
  briefSpec,
  generateTask,
  GENERATOR_VERSION,
  type Task,
  taskToJson,
} from "../../../lib/tasks/graphs/task.ts";
import { outputsOf, type Variable } from "../../../lib/tasks/graphs/wording.ts";
import { toOpenAITool } from "../../../lib/tools/tool.ts";
import { parseTrialId, trialId } from "../../../lib/trials/trial_id.ts";
import fc from "../../support/fast_check.ts";
import {
  coreInOrder,
  everySpec,
  fewestFunctions,
  severalSpecs,
  specs,
  surfacedSpecs,
} from "../../support/generated.ts";

const PLAIN: GraphSpec = { core: 6, depth: 3, connected: 4, disconnected: 4, seed: 1 };

/** Every word of the prompt and of the description that is not made up. */
const TEMPLATE_WORDS = new Set(
  ("using the tools at your disposal use functions until you are able to give me the correct " +
    "value of variable you have all the information you need to get the correct result " +
    "processes variable type with subtype to produce func").split(" "),
);

/** Every further word that a tool as JSON consists of. */
const SCHEMA_WORDS = new Set(
  ("name description parameters strict true object properties integer required " +
    "additionalproperties false").split(" "),
);

/** Every pseudo-word of a task, as often as it was drawn; links to other variables do not count. */
function pseudoWords(task: Task): string[] {
  const ofVariable = ({ name, subtype }: Variable) => [name, subtype.replace("subtype_", "")];
  const types = new Set<string>();
  const words = task.functions.flatMap(({ name, parameters, output, dependsOn }) => {
    for (const { type } of [...parameters, output]) types.add(type.replace("type_", ""));
    return [
      name.replace("func_", ""),
      ...ofVariable(output),
      ...(dependsOn.length === 0
        ? parameters.flatMap(ofVariable)
        : task.spec.linking === "types"
        ? parameters.map((parameter) => parameter.name)
        : []),
    ];
  });
  return [...words, ...types];
}

function assertUnique(words: readonly (string | number)[]): void {
  const seen = new Set<string | number>();
  const twice = words.filter((word) => seen.has(word) || !seen.add(word));
  assertEquals(twice, []);
}

function producers(task: Task): Map<string, string> {
  return new Map(task.functions.map(({ name, output }) => [output.name, name]));
}

Deno.test("generateTask() makes one function and one tool a node, with the roles of the graph (FuncBenchGen 3.2)", () => {
  everySpec((spec) => {
    const task = generateTask(spec);
    const roles = task.functions.map(({ role }) => role);
    assertEquals(roles.toSorted(), generateGraph(spec).roles.toSorted());
    assertEquals(task.tools.map(({ name }) => name), task.functions.map(({ name }) => name));
    assertEquals(task.minimumCalls, spec.core);
    assertEquals(task.version, 1);
    assertEquals(task.spec, completeSpec(spec));
  });
});

Deno.test("generateTask() makes all pseudo-words unique and none a word of prompt or description", () => {
  everySpec((spec) => {
    const words = pseudoWords(generateTask(spec));
    assertUnique(words);
    assertEquals(words.filter((word) => TEMPLATE_WORDS.has(word)), []);
  });
});

Deno.test("generateTask() never draws a word of the template, over many words of their lengths", () => {
  const drawn = new Set<string>();
  for (let seed = 0; seed < 8; seed++) {
    const task = generateTask({ ...PLAIN, core: 60, disconnected: 1500, types: 300, seed });
    for (const word of pseudoWords(task)) drawn.add(word);
  }
  // Many of the 17576 words of three letters: without a reserve, some of the template's would be among them.
  assertGreater([...drawn].filter((word) => word.length === 3).length, 7_000);
  assertEquals([...TEMPLATE_WORDS].filter((word) => drawn.has(word)), []);
});

Deno.test("generateTask() shapes names as the paper does (FuncBenchGen 3.2)", () => {
  fc.assert(fc.property(specs(), (spec) => {
    for (const { name, parameters, output } of generateTask(spec).functions) {
      assert(/^func_[a-z]{3,}$/.test(name), name);
      for (const variable of [...parameters, output]) {
        assert(/^[a-z]{4,}$/.test(variable.name), variable.name);
        assert(/^type_[a-z]{3,}$/.test(variable.type), variable.type);
        assert(/^subtype_[a-z]{3,}$/.test(variable.subtype), variable.subtype);
      }
    }
  }));
});

Deno.test("generateTask() goes on to longer words when those of three letters run short", () => {
  const task = generateTask({ ...PLAIN, core: 1, depth: 0, disconnected: 12_000 });
  const names = task.functions.map(({ name }) => name.replace("func_", ""));
  assertUnique(pseudoWords(task));
  assert(names.some((name) => name.length > 3));
});

Deno.test("generateTask() shares types among variables, and uses no more than it may (FuncBenchGen B.2)", () => {
  fc.assert(fc.property(specs(), (spec) => {
    const task = generateTask(spec);
    const types = task.functions.flatMap(({ parameters, output }) =>
      [...parameters, output].map(({ type }) => type)
    );
    assert(new Set(types).size <= completeSpec(spec).types);
  }));
  const { functions } = generateTask({ ...PLAIN, types: 1 });
  assertEquals(new Set(functions.map(({ output }) => output.type)).size, 1);
  const { functions: many } = generateTask({ ...PLAIN, core: 60, types: 5 });
  assertEquals(new Set(many.map(({ output }) => output.type)).size, 5);
});

Deno.test("generateTask() names parameters as what they consume when names link (FuncBenchGen B.2)", () => {
  fc.assert(fc.property(specs(), (spec) => {
    const task = generateTask({ ...spec, linking: "names" });
    for (const { parameters } of task.functions) {
      for (const { name, variable } of parameters) assertEquals(name, variable);
    }
  }));
});

Deno.test("generateTask() values all outputs and given inputs, and no input that is never given", () => {
  everySpec((spec) => {
    const task = generateTask(spec);
    const given = task.functions.flatMap(({ role, dependsOn, parameters }) =>
      role === "core" && dependsOn.length === 0 ? parameters.map(({ name }) => name) : []
    );
    assertEquals([...task.inputs.keys()].toSorted(), given.toSorted());
    assertEquals(
      [...task.values.keys()].toSorted(),
      [...producers(task).keys(), ...given].toSorted(),
    );
    for (const [name, value] of task.inputs) assertEquals(task.values.get(name), value);
    assertEquals(task.values.get(task.target.variable), task.target.value);
  });
});

Deno.test("generateTask() draws distinct values, of three digits while 900 suffice (FuncBenchGen 3.4)", () => {
  everySpec((spec) => {
    const values = [...generateTask(spec).values.values()];
    assertUnique(values);
    for (const value of values) assert(Number.isInteger(value) && value >= 100 && value < 10_000);
    const short = values.filter((value) => value < 1000);
    assertEquals(short.length, Math.min(values.length, 900));
  });
});

Deno.test("generateTask() draws values from all of the three-digit numbers (FuncBenchGen 3.4)", () => {
  const values: number[] = [];
  for (let seed = 0; seed < 300; seed++) values.push(generateTask({ ...PLAIN, seed }).target.value);
  const tenths = new Array(9).fill(0);
  for (const value of values) tenths[Math.floor(value / 100) - 1]++;
  // Each is binomial with mean 33.3 and standard deviation 5.4.
  for (const count of tenths) assert(count > 33.3 - 5 * 5.4 && count < 33.3 + 5 * 5.4);
});

Deno.test("generateTask() writes the prompt of appendix B.3, with the core's inputs and no more (FuncBenchGen B.3)", () => {
  everySpec((spec) => {
    const task = generateTask(spec);
    const lines = [...task.inputs].map(([name, value]) => `Variable ${name} = ${value}\n`);
    assertEquals(
      task.prompt,
      "Using the tools at your disposal, use functions until you are able to give me the correct " +
        `value of variable ${task.target.variable}.\n\n${lines.join("")}\n` +
        "You have all the information you need to get the correct result.",
    );
  });
});

Deno.test("generateTask() describes each function in the order of its parameters (FuncBenchGen B.2)", () => {
  fc.assert(fc.property(specs(), (spec) => {
    const task = generateTask(spec);
    const clause = ({ name, type, subtype }: Variable) =>
      task.spec.linking === "types"
        ? `variable ${name} (${type} with ${subtype})`
        : `variable ${name}`;
    for (const [place, { parameters, output }] of task.functions.entries()) {
      assertEquals(
        task.tools[place]!.description,
        `Processes ${parameters.map(clause).join(", ")} to produce ${clause(output)}`,
      );
    }
  }));
});

Deno.test("generateTask() offers strict tools of required integers and nothing else (FuncBenchGen B.3)", () => {
  everySpec((spec) => {
    const task = generateTask(spec);
    const plain: unknown = JSON.parse(JSON.stringify(task.tools));
    assertEquals(
      plain,
      task.functions.map(({ name, parameters }, place) => ({
        name,
        description: task.tools[place]!.description,
        strict: true,
        parameters: {
          type: "object",
          properties: Object.fromEntries(parameters.map((it) => [it.name, { type: "integer" }])),
          required: parameters.map((it) => it.name),
          additionalProperties: false,
        },
      })),
    );
    for (const [place, { parameters }] of task.functions.entries()) {
      const properties = task.tools[place]!.parameters["properties"] as object;
      assertEquals(Object.keys(properties), parameters.map((it) => it.name));
    }
  });
});

Deno.test("generateTask() reveals no answer, role or edge in prompt or tools (FuncBenchGen 3, 3.2)", () => {
  everySpec((spec) => {
    const task = generateTask({ ...spec, linking: "types" });
    const tools = JSON.stringify(task.tools);
    assertEquals(tools.match(/\d+/g), null);
    const shown = (task.prompt.match(/\d+/g) ?? []).map(Number);
    assertEquals(shown, [...task.inputs.values()]);
    for (const { output } of task.functions) assert(!shown.includes(task.values.get(output.name)!));
    const text = task.prompt + tools;
    const words = text.match(/[a-z]+/gi)!;
    const known = new Set([...TEMPLATE_WORDS, ...SCHEMA_WORDS, ...pseudoWords(task)]);
    assertEquals(words.filter((word) => !known.has(word.toLowerCase())), []);
    // Every name of an output stands in one description, its producer's; the target's in the
    // prompt, too. So nothing but type and subtype leads from a function to its consumers.
    // (A name may well be a word of JSON schemas, such as "true": those around it do not count.)
    const times = new Map<string, number>();
    const told = [task.prompt, ...task.tools.map(({ description }) => description)].join("\n");
    for (const word of told.match(/[a-z]+/gi)!) times.set(word, (times.get(word) ?? 0) + 1);
    for (const { output } of task.functions) {
      assertEquals(times.get(output.name), output.name === task.target.variable ? 2 : 1);
    }
  }, 60);
});

/** Specs of either surface, some with several outputs or everyday names. */
const anyNames = fc.tuple(
  fc.oneof(surfacedSpecs(), severalSpecs()),
  fc.constantFrom(...NAMES),
).map(([spec, names]): GraphSpec =>
  spec.linking === "names" || spec.cues === "names" ? spec : { ...spec, names }
);

Deno.test("generateTask() keeps the core byte for byte whatever irrelevant functions there are (FuncBenchGen 4.3)", () => {
  fc.assert(
    fc.property(anyNames, specs(), (spec, { connected, disconnected }) => {
      const bare = generateTask({ ...spec, connected: 0, disconnected: 0 });
      const full = generateTask({ ...spec, connected, disconnected });
      assertEquals(full.functions.filter(({ role }) => role === "core"), bare.functions);
      const names = new Set(bare.functions.map(({ name }) => name));
      const own = full.tools.filter(({ name }) => names.has(name));
      assertEquals(JSON.stringify(own), JSON.stringify(bare.tools));
      assertEquals(full.prompt, bare.prompt);
      assertEquals([...full.inputs], [...bare.inputs]);
      assertEquals(full.target, bare.target);
      for (const [name, value] of bare.values) assertEquals(full.values.get(name), value);
    }),
    { numRuns: 150 },
  );
});

Deno.test("generateTask() leaves names, values and order as they are when the linking changes", () => {
  fc.assert(fc.property(specs(), (spec) => {
    const types = generateTask({ ...spec, linking: "types" });
    const names = generateTask({ ...spec, linking: "names" });
    const unnamed = ({ functions }: Task) =>
      functions.map((made) => ({
        ...made,
        parameters: made.parameters.map(({ type, subtype, variable }) => [type, subtype, variable]),
      }));
    assertEquals(unnamed(names), unnamed(types));
    assertEquals(names.prompt, types.prompt);
    assertEquals([...names.values], [...types.values]);
  }));
});

Deno.test("generateTask() differs from seed to seed, in names as in values (FuncBenchGen 3.2)", () => {
  const prompts = new Set<string>();
  const names = new Set<string>();
  for (let seed = 0; seed < 100; seed++) {
    const task = generateTask({ ...PLAIN, seed: 2 ** 53 - 1 - seed });
    prompts.add(task.prompt);
    names.add(task.functions.map(({ name }) => name).join());
  }
  assertEquals(prompts.size, 100);
  assertEquals(names.size, 100);
});

/** The mean of a thing over 150 seeds. */
function meanOver(measure: (seed: number) => number): number {
  let sum = 0;
  for (let seed = 0; seed < 150; seed++) sum += measure(seed);
  return sum / 150;
}

Deno.test("generateTask() offers tools in an order that tells no role", () => {
  const spec = { core: 6, depth: 3, connected: 6, disconnected: 6 };
  for (const role of ["core", "connected", "disconnected"]) {
    const place = meanOver((seed) => {
      const { functions } = generateTask({ ...spec, seed });
      const places = functions.flatMap((made, place) => made.role === role ? [place] : []);
      return places.reduce((sum, it) => sum + it, 0) / 6 - 17 / 2;
    });
    // The mean of 6 of 18 places has a standard deviation of 1.79.
    assertLess(Math.abs(place), 5 * 1.79 / Math.sqrt(150), role);
  }
});

Deno.test("generateTask() offers tools in an order that tells no dependency", () => {
  const spec = { core: 10, depth: 9, connected: 0, disconnected: 0 };
  const agreement = meanOver((seed) => {
    const task = generateTask({ ...spec, seed });
    const order = coreInOrder(task).map(({ name }) => name);
    // Spearman's rank correlation: its standard deviation is a third for ten places.
    const distance = task.functions.reduce(
      (sum, { name }, place) => sum + (order.indexOf(name) - place) ** 2,
      0,
    );
    return 1 - 6 * distance / 990;
  });
  assertLess(Math.abs(agreement), 5 / 3 / Math.sqrt(150));
  const last = meanOver((seed) => {
    const task = generateTask({ ...spec, seed });
    return task.functions.findIndex(({ output }) => output.name === task.target.variable) - 4.5;
  });
  assertLess(Math.abs(last), 5 * 2.87 / Math.sqrt(150));
});

Deno.test("generateTask() shuffles parameters and prompt lines", () => {
  // Whether the first parameter's producer comes before the second's on the path to the target.
  const spec = { core: 10, depth: 9, connected: 0, disconnected: 0, extraEdges: 60 };
  let rising = 0;
  let pairs = 0;
  for (let seed = 0; seed < 100; seed++) {
    const order = coreInOrder(generateTask({ ...spec, seed })).map((made) => made);
    const place = new Map(order.map(({ name }, index) => [name, index]));
    for (const { dependsOn: [one, other] } of order) {
      if (one === undefined || other === undefined) continue;
      pairs++;
      if (place.get(one)! < place.get(other)!) rising++;
    }
  }
  assertGreater(pairs, 300);
  assertLess(Math.abs(rising / pairs - 0.5), 5 * 0.5 / Math.sqrt(pairs));

  const moved = meanOver((seed) => {
    const task = generateTask({ core: 8, depth: 1, connected: 0, disconnected: 0, seed });
    const places = [...task.inputs.keys()];
    const taken = task.functions.flatMap(({ dependsOn, parameters }) =>
      dependsOn.length === 0 ? parameters.map(({ name }) => places.indexOf(name)) : []
    );
    const steps = taken.slice(1).filter((place, index) => place > taken[index]!).length;
    return steps / (taken.length - 1) - 0.5;
  });
  assertLess(Math.abs(moved), 0.08);
});

Deno.test("generateTask() keeps tasks apart: changing one never changes another", () => {
  const before = text(PLAIN);
  const { tools } = generateTask(PLAIN);
  const properties = tools[0]!.parameters["properties"] as Record<string, { type: string }>;
  Object.values(properties)[0]!.type = "string";
  const after = text(PLAIN);
  Object.values(properties)[0]!.type = "integer";
  assert(after === before, "the tools of all tasks share a schema that can be changed");
});

Deno.test("taskToJson() has the documented shape and survives JSON", () => {
  fc.assert(fc.property(specs(20), (spec) => {
    const task = generateTask(spec);
    const json = taskToJson(task);
    assertEquals(Object.keys(json), [
      "version",
      "spec",
      "prompt",
      "inputs",
      "target",
      "minimumCalls",
      "values",
      "functions",
      "tools",
    ]);
    for (const made of json.functions) {
      assertEquals(Object.keys(made), ["name", "role", "parameters", "output", "dependsOn"]);
      for (const variable of [...made.parameters, made.output]) {
        assertEquals(Object.keys(variable), ["name", "type", "subtype"]);
      }
    }
    for (const [place, tool] of json.tools.entries()) {
      assertEquals(Object.keys(tool), ["type", "function"]);
      const { name, description, strict, parameters } = task.tools[place]!;
      assertEquals<unknown>(tool.function, { name, description, strict, parameters });
    }
    assertEquals(Object.entries(json.inputs), [...task.inputs]);
    assertEquals(Object.entries(json.values), [...task.values]);
    assertEquals(JSON.stringify(JSON.parse(JSON.stringify(json))), JSON.stringify(json));
  }));
});

Deno.test("briefSpec() keeps what a spec says, and nothing that is default", () => {
  fc.assert(fc.property(specs(), (spec) => {
    const brief = briefSpec(spec);
    assertEquals(completeSpec(brief), completeSpec(spec));
    assertEquals(briefSpec(completeSpec(spec)), brief);
    assertEquals(briefSpec(brief), brief);
    assertEquals(JSON.parse(JSON.stringify(brief)), brief);
  }));
  assertEquals(briefSpec(completeSpec(PLAIN)), PLAIN);
  const special: GraphSpec = {
    ...PLAIN,
    types: 9,
    inputs: [2, 2],
    extraEdges: 0,
    linking: "names",
    surface: "rich",
    cues: "names",
  };
  assertEquals(briefSpec(special), special);
  assertEquals(briefSpec({ ...PLAIN, surface: "plain", cues: "none" }), PLAIN);
});

// The same seed gives the same bytes on every machine and release.

const GOLDEN = new URL("../../../fixtures/golden/", import.meta.url);
const SMALL: GraphSpec = { core: 4, depth: 2, connected: 1, disconnected: 2, seed: 3 };

/** Several sizes and shapes, both linkings, small and large seeds, values of four digits. */
const GOLDEN_SPECS: readonly GraphSpec[] = [
  { core: 1, depth: 0, connected: 0, disconnected: 0, seed: 0 },
  { core: 1, depth: 0, connected: 2, disconnected: 2, seed: 1, linking: "names" },
  SMALL,
  { ...SMALL, linking: "names" },
  { core: 5, depth: 4, connected: 0, disconnected: 0, seed: 17 },
  { core: 10, depth: 1, connected: 10, disconnected: 0, seed: 100 },
  { core: 10, depth: 5, connected: 10, disconnected: 0, seed: 2 ** 32 },
  { core: 10, depth: 5, connected: 0, disconnected: 10, seed: 2 ** 53 - 1, types: 2 },
  { core: 20, depth: 11, connected: 5, disconnected: 5, seed: 20, inputs: [2, 4] },
  { core: 20, depth: 3, connected: 20, disconnected: 20, seed: 42, extraEdges: 0 },
  { core: 40, depth: 9, connected: 40, disconnected: 40, seed: 7, linking: "names", types: 40 },
  { core: 200, depth: 20, connected: 500, disconnected: 500, seed: 9 },
];

function text(spec: GraphSpec): string {
  return JSON.stringify(taskToJson(generateTask(spec)));
}

async function assertGolden(file: string, current: unknown): Promise<void> {
  const url = new URL(file, GOLDEN);
  if (Deno.env.get("TOOLGATE_UPDATE_GOLDEN") === "1") {
    await Deno.mkdir(GOLDEN, { recursive: true });
    await Deno.writeTextFile(url, JSON.stringify(current, null, 2) + "\n");
    throw new Error(
      `fixtures/golden/${file} is written anew: read its difference, then run the test without ` +
        "TOOLGATE_UPDATE_GOLDEN",
    );
  }
  const golden: unknown = JSON.parse(await Deno.readTextFile(url));
  assertEquals(
    JSON.parse(JSON.stringify(current)),
    golden,
    "A seed no longer gives the bytes it gave, so that recorded trials can no longer be run " +
      "again. If that is meant, raise GENERATOR_VERSION and refresh the golden files on purpose: " +
      "TOOLGATE_UPDATE_GOLDEN=1 deno test -A tests/tasks/graphs/task_test.ts",
  );
}

Deno.test("generateTask() gives the bytes it always gave", async () => {
  const tasks = await Promise.all(
    GOLDEN_SPECS.map(async (spec) => ({ spec, sha256: await sha256(text(spec)) })),
  );
  assertEquals(new Set(tasks.map((task) => task.sha256)).size, GOLDEN_SPECS.length);
  await assertGolden("tasks.json", { version: GENERATOR_VERSION, tasks });
});

Deno.test("generateTask() gives the task it always gave, to be read", async () => {
  await assertGolden("task.json", taskToJson(generateTask(SMALL)));
});

Deno.test("generateTask() gives other bytes for every field of the spec", async () => {
  const base = await sha256(text(SMALL));
  const changes: Partial<GraphSpec>[] = [
    { core: 5 },
    { depth: 3 },
    { connected: 2 },
    { disconnected: 3 },
    { seed: 4 },
    { types: 7 },
    { inputs: [3, 3] },
    { extraEdges: 0 },
    { linking: "names" },
    { surface: "rich" },
    { cues: "names" },
  ];
  for (const change of changes) {
    assertNotEquals(await sha256(text({ ...SMALL, ...change })), base, JSON.stringify(change));
  }
});

Deno.test("a rich surface gives variables names of two words, half of them ids, in two spellings", () => {
  const kinds = (names: Iterable<string>) =>
    new Set(Array.from(names, (name) => {
      if (/^[a-z]{4,}_id$/.test(name)) return "snake id";
      if (/^[a-z]{4,}Id$/.test(name)) return "camel id";
      if (/^[a-z]{4,}_[a-z]{4,}$/.test(name)) return "snake";
      return /^[a-z]{4,}[A-Z][a-z]{3,}$/.test(name) ? "camel" : `other: ${name}`;
    }));
  fc.assert(fc.property(specs(), (spec) => {
    const { functions, inputs } = generateTask({ ...spec, surface: "rich" });
    const core = functions.filter(({ role }) => role === "core").map(({ output }) => output.name);
    const expected = ["snake id", "camel id", "snake", "camel"].slice(0, spec.core);
    assertEquals(kinds(core), new Set(expected), "so that few core functions have all kinds");
    const all = kinds([...functions.map(({ output }) => output.name), ...inputs.keys()]);
    assert([...all].every((kind) => !kind.startsWith("other")), [...all].join());
  }));
});

Deno.test("names with cues hold the words of type and subtype, and the question says where", () => {
  fc.assert(fc.property(surfacedSpecs(30), (spec) => {
    const { functions, inputs, prompt, target } = generateTask({ ...spec, cues: "names" });
    const variables = functions.flatMap(({ parameters, output }) => [...parameters, output]);
    for (const { name, type, subtype } of variables) {
      const words = [type, subtype].map((one) => one.replace(/^(sub)?type_/, ""));
      const [one, two] = words.map((word) => word[0]!.toUpperCase() + word.slice(1));
      const snake = new RegExp(`^[a-z]{4,}_${words[0]}_${words[1]}(_id|_[a-z]{4,})?$`);
      const camel = new RegExp(`^[a-z]{4,}${one}${two}(Id|[A-Z][a-z]{3,})$`);
      assert(snake.test(name) || spec.surface === "rich" && camel.test(name), name);
    }
    assertUnique([...new Set(variables.map(({ name }) => name))]);
    const lines = Array.from(inputs, ([name, value]) => `Variable ${name} = ${value}`).join("\n");
    assertEquals(
      prompt,
      "Using the tools at your disposal, use functions until you are able to give me the correct value of " +
        `variable ${target.variable}.\n\n${lines}\n\n` +
        "The second and third words of each variable's name are those of its type and subtype.\n\n" +
        "You have all the information you need to get the correct result.",
    );
  }));
});

Deno.test("names with cues change neither graph nor values", () => {
  fc.assert(fc.property(surfacedSpecs(30), (spec) => {
    const shape = (cues: "none" | "names") => {
      const { functions, values, inputs } = generateTask({ ...spec, cues });
      const places = new Map(functions.map(({ name }, place) => [name, place]));
      return [
        functions.map(({ role, parameters, output, dependsOn }) => [
          ...[role, values.get(output.name), dependsOn.map((name) => places.get(name))],
          parameters.map(({ variable }) => values.get(variable)),
        ]),
        [...inputs.values()],
      ];
    };
    assertEquals(shape("names"), shape("none"));
  }));
});

Deno.test("a rich surface shows each function's use by numbers that are no values of the task", () => {
  fc.assert(fc.property(specs(), (spec) => {
    const { functions, tools, values } = generateTask({ ...spec, surface: "rich" });
    const known = new Set(values.values());
    for (const [place, { parameters }] of functions.entries()) {
      const { examples, description } = tools[place]!;
      const [example] = examples!;
      assertEquals(Object.keys(example!), parameters.map(({ name }) => name));
      assert(Object.values(example!).every((value) => !known.has(value as number)));
      assertStringIncludes(
        toOpenAITool(tools[place]!).function.description,
        `${description}\nExample: ${JSON.stringify(example)}`,
      );
    }
  }));
});

Deno.test("a rich surface changes neither graph nor values of the core", () => {
  fc.assert(fc.property(specs(), (spec) => {
    const core = ({ functions, values }: Task) =>
      functions.filter(({ role }) => role === "core").map(({ output, dependsOn }) => [
        values.get(output.name),
        dependsOn.length,
      ]).toSorted();
    assertEquals(core(generateTask({ ...spec, surface: "rich" })), core(generateTask(spec)));
  }));
});

const SPEC: GraphSpec = {
  ...{ core: 6, depth: 3, connected: 4, disconnected: 4, seed: 5 },
  outputs: [1, 3],
};

Deno.test("generateTask() gives functions several outputs within their range, each with a type and subtype of its own (FuncBenchGen 3.4)", () => {
  fc.assert(fc.property(severalSpecs(), (spec) => {
    const [fewest, most] = spec.outputs!;
    const { functions, values, inputs } = generateTask(spec);
    const outputs = functions.flatMap(outputsOf);
    for (const fn of functions) {
      const own = outputsOf(fn);
      assert(own.length >= fewest && own.length <= most, fn.name);
      assertEquals(own[0], fn.output);
      assertEquals(fn.outputs === undefined, own.length === 1);
    }
    const names = [...outputs.map(({ name }) => name), ...inputs.keys()];
    assertEquals(new Set(names).size, names.length);
    assertEquals(
      new Set(outputs.map(({ type, subtype }) => `${type} ${subtype}`)).size,
      outputs.length,
    );
    assertEquals(values.size, names.length);
    assertEquals(new Set(values.values()).size, values.size);
  }));
});

Deno.test("generateTask() lets functions consume one output at least of each they depend on, and leaves some unused", () => {
  let [several, unused] = [0, 0];
  fc.assert(fc.property(severalSpecs(), (spec) => {
    const { functions, target } = generateTask(spec);
    const producer = new Map(
      functions.flatMap((fn) =>
        outputsOf(fn).map((output) => [output.name, { fn, output }] as const)
      ),
    );
    const consumed = new Set<string>();
    for (const { name, parameters, dependsOn } of functions) {
      const sources = new Set<string>();
      for (const { variable, type, subtype } of parameters) {
        const source = producer.get(variable);
        if (source === undefined) continue;
        assertEquals([type, subtype], [source.output.type, source.output.subtype]);
        consumed.add(variable);
        if (sources.has(source.fn.name)) several++;
        sources.add(source.fn.name);
      }
      assertEquals([...sources], dependsOn, name);
    }
    assert(producer.has(target.variable));
    const all = functions.flatMap(outputsOf);
    unused += all.filter(({ name }) => !consumed.has(name) && name !== target.variable).length;
    assertEquals(
      functions.map(({ dependsOn }) => dependsOn.length).toSorted(),
      generateGraph(spec).parents.map((of) => of.length).toSorted(),
    );
  }));
  assertGreater(several, 100);
  assertGreater(unused, 100);
});

Deno.test("generateTask() needs each core function and no other, with one output or several (FuncBenchGen 3.2)", () => {
  const small = severalSpecs(5).filter(({ core, connected, disconnected }) =>
    core + connected + disconnected <= 11
  );
  fc.assert(
    fc.property(fc.oneof(small, specs(4).filter((spec) => spec.core > 1)), (spec) => {
      const few = { ...spec, connected: Math.min(3, spec.connected), disconnected: 1 };
      const task = generateTask(few);
      assertEquals(fewestFunctions(task), task.minimumCalls);
      assertEquals(task.minimumCalls, spec.core);
    }),
    { numRuns: 60 },
  );
});

Deno.test("generateTask() asks for any output of the target function", () => {
  const places = Array.from({ length: 60 }, (_, seed) => {
    const { functions, target } = generateTask({ ...SPEC, outputs: [3, 3], seed });
    const own = functions.find((fn) => outputsOf(fn).some(({ name }) => name === target.variable))!;
    assertEquals(own.role, "core");
    return outputsOf(own).findIndex(({ name }) => name === target.variable);
  });
  assertEquals(new Set(places), new Set([0, 1, 2]));
});

Deno.test("generateTask() leaves tasks of one output as they are, and says nothing of it in their spec", () => {
  const { outputs: _, ...plain } = SPEC;
  const one: GraphSpec = { ...SPEC, outputs: [1, 1] };
  assertEquals(taskToJson(generateTask(one)), taskToJson(generateTask(plain)));
  assertEquals(briefSpec(one), plain);
  assertEquals(briefSpec(SPEC), SPEC);
  assert(!JSON.stringify(taskToJson(generateTask(plain))).includes('"outputs"'));
  const json = JSON.parse(JSON.stringify(taskToJson(generateTask(SPEC))));
  assertEquals(json.spec.outputs, [1, 3]);
  const [several] = json.functions.filter((fn: { outputs?: unknown }) => fn.outputs !== undefined);
  assertEquals(several.outputs[0], several.output);
  for (const outputs of [[0, 1], [2, 1], [1, 1.5], [1]] as unknown as [number, number][]) {
    assertThrows(() => generateTask({ ...SPEC, outputs }), RangeError, "outputs");
  }
});

Deno.test("trial ids keep the range of outputs", () => {
  const key = { model: "m", strategy: "plain", perturbation: "none", task: SPEC, repetition: 1 };
  assert(trialId(key).includes(" outputs=1..3 "));
  assertEquals(parseTrialId(trialId(key)), key);
});

Deno.test("drawings name all outputs of a function, and mark the one that gives the target", async () => {
  const task = generateTask({ ...SPEC, outputs: [2, 3] });
  for (const fn of task.functions) {
    const names = [fn.name, ...outputsOf(fn).map(({ name }) => name)];
    assert(toDot(task).includes(`${fn.name} [label="${names.join("\\n")}"`), fn.name);
  }
  assertEquals(toDot(task).match(/penwidth=3/g)?.length, 1);
  const svg = await toSvg(task);
  for (const { name } of task.functions.flatMap(outputsOf)) assert(svg.includes(`>${name}<`), name);
});

// Tasks read anew from the texts that a model gets, by few lines that share nothing with the generator: what a
// reader of the FuncBenchGen paper would work out from them.

/** A function as its description states it; a variable as `type subtype`. */
interface Told {
  readonly name: string;
  readonly inputs: readonly { readonly name: string; readonly kind: string }[];
  readonly output: { readonly name: string; readonly kind: string };
}

/** What prompt and tools say, and the graph that follows from types and subtypes alone. */
function readTask(spec: GraphSpec) {
  const task = generateTask(spec);
  const clauses = /variable (\w+) \((type_\w+ with subtype_\w+)\)/g;
  const functions = task.tools.map((tool): Told => {
    const { function: { name, description } } = toOpenAITool(tool);
    const all = [...description.matchAll(clauses)].map(([, name, kind]) => ({
      name: name!,
      kind: kind!,
    }));
    return { name, inputs: all.slice(0, -1), output: all.at(-1)! };
  });
  const target = /correct value of variable (\w+)\./.exec(task.prompt)![1]!;
  const given = new Map(
    [...task.prompt.matchAll(/^Variable (\w+) = (\d+)$/gm)].map((
      [, name, value],
    ) => [name!, value!]),
  );
  const producers = new Map(functions.map((made) => [made.output.kind, made]));
  const parents = new Map(functions.map((made) => [
    made.name,
    made.inputs.flatMap(({ kind }) => producers.get(kind) ?? []),
  ]));
  const needed = new Set<Told>();
  const need = (made: Told) => {
    if (needed.has(made)) return;
    needed.add(made);
    parents.get(made.name)!.forEach(need);
  };
  need(functions.find(({ output }) => output.name === target)!);
  return { task, functions, given, producers, parents, needed };
}

const anySpecs = fc.integer({ min: 2, max: 24 }).chain((core) =>
  fc.record({
    core: fc.constant(core),
    depth: fc.integer({ min: 1, max: core - 1 }),
    connected: fc.nat({ max: 20 }),
    disconnected: fc.nat({ max: 20 }),
    seed: fc.maxSafeNat(),
  })
);

Deno.test("types and subtypes in the descriptions alone link functions as the graph does (FuncBenchGen 3.2, B.2)", () => {
  fc.assert(fc.property(anySpecs, (spec) => {
    const { task, functions, producers, parents } = readTask(spec);
    assertEquals(producers.size, functions.length, "a subtype is of one variable alone");
    for (const { name, dependsOn } of task.functions) {
      assertEquals(parents.get(name)!.map((one) => one.name), dependsOn);
    }
    // Names link nothing: no parameter is called as what a function returns.
    const returned = new Set(functions.map(({ output }) => output.name));
    for (const { inputs } of functions) {
      assertEquals(inputs.filter(({ name }) => returned.has(name)), []);
    }
  }));
});

Deno.test("functions that the target needs are as many as asked for, and the longest path to it is the depth in edges (FuncBenchGen 3.2)", () => {
  fc.assert(fc.property(anySpecs, (spec) => {
    const { functions, parents, needed } = readTask(spec);
    assertEquals(needed.size, spec.core);
    const depths = new Map<Told, number>();
    const depthOf = (made: Told): number => {
      const known = depths.get(made);
      if (known !== undefined) return known;
      const depth = Math.max(0, ...parents.get(made.name)!.map((parent) => 1 + depthOf(parent)));
      depths.set(made, depth);
      return depth;
    };
    assertEquals(Math.max(...[...needed].map(depthOf)), spec.depth);
    // The others take what needed functions return, or have nothing to do with them.
    const others = functions.filter((made) => !needed.has(made));
    const [fed, apart] = [true, false].map((is) =>
      others.filter(({ name }) => parents.get(name)!.some((one) => needed.has(one)) === is)
    );
    assertEquals([fed!.length, apart!.length], [spec.connected, spec.disconnected]);
    const between = apart!.reduce((sum, { name }) => sum + parents.get(name)!.length, 0);
    assert(between <= Math.floor(spec.disconnected / 2), `${between} edges`);
    apart!.forEach(depthOf);
  }));
});

Deno.test("up to twice as many edges as functions are tried between the functions of a core (FuncBenchGen A.1)", () => {
  const size = { core: 20, connected: 0, disconnected: 0 };
  for (const depth of [9, 19]) {
    const further = Array.from({ length: 100 }, (_, seed) => {
      const { parents, needed } = readTask({ ...size, depth, seed });
      return [...needed].reduce((sum, { name }) => sum + parents.get(name)!.length, 0) - 19;
    });
    assert(Math.min(...further) >= 0 && Math.max(...further) <= 40, `${further}`);
    if (depth !== 19) continue;
    // On a path of all functions 171 of 380 ordered pairs are edges that fit and are not there yet: of 40 tries so
    // many find one that no other has found, with a standard deviation of 0.3 over these graphs.
    const expected = 171 * (1 - (1 - 1 / 380) ** 40);
    const mean = further.reduce((sum, count) => sum + count, 0) / further.length;
    assert(Math.abs(mean - expected) < 1.5, `${mean} beside ${expected}`);
  }
});

Deno.test("graphs of the sizes of Figures 11 and 12 are there for every seed, and another one for each (FuncBenchGen A.2)", () => {
  const sizes = [
    { core: 10, depth: 5, connected: 10, disconnected: 0 },
    { core: 20, depth: 3, connected: 5, disconnected: 5 },
    { core: 20, depth: 11, connected: 5, disconnected: 5 },
  ];
  const sources = sizes.map((size) => {
    const [one, other] = [0, 100].map((seed) => readTask({ ...size, seed }));
    const shape = ({ parents }: typeof one & object) =>
      [...parents.values()].map(({ length }) => length).join();
    assertNotEquals(shape(one!), shape(other!));
    return [...one!.needed].filter(({ name }) => one!.parents.get(name)!.length === 0).length;
  });
  // Of as many functions more are in the first layer where the longest path is shorter.
  assert(sources[1]! > sources[2]!, `${sources}`);
});

Deno.test("generateTask() gives each schema one object of properties, which copies of it have", () => {
  for (const { parameters } of generateTask(PLAIN).tools) {
    const { properties, required } = { ...parameters };
    assert(properties === parameters["properties"]);
    assertEquals(JSON.parse(JSON.stringify(parameters)).properties, { ...properties as object });
    assertEquals(Object.keys(properties as object), required);
  }
});
