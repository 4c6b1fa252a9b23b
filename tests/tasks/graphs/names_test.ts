// Tasks with everyday names: what names say, what they hide, and what they never change.

import { assert, assertEquals, assertNotEquals, assertThrows } from "@std/assert";
import { EVERYDAY_WORDS } from "../../../lib/tasks/graphs/everyday_names.ts";
import { completeSpec, type GraphSpec, NAMES } from "../../../lib/tasks/graphs/graph.ts";
import { briefSpec, generateTask, type Task, taskToJson } from "../../../lib/tasks/graphs/task.ts";
import { wordsOfName } from "../../../lib/tasks/graphs/word_names.ts";
import { outputsOf, reservedWords } from "../../../lib/tasks/graphs/wording.ts";
import {
  DOMAINS,
  FIRST_WORDS,
  NUMBERS,
  STATES,
  VERBS,
} from "../../../lib/tasks/graphs/workflow_names.ts";
import { perturbTask } from "../../../lib/perturbations/perturbed_task.ts";
import { sha256 } from "../../../lib/base/hash.ts";
import { parseTrialId, trialId } from "../../../lib/trials/trial_id.ts";
import { createExecutor } from "../../../lib/trials/executors/generated.ts";
import { runTrial } from "../../../lib/trials/run_trial.ts";
import fc from "../../support/fast_check.ts";
import { BIG_SPECS, fewestFunctions, severalSpecs, specs } from "../../support/generated.ts";
import { inProcess } from "../../support/in_process.ts";

const EVERYDAY = ["helpful", "misleading"] as const;
const KINDS = [...EVERYDAY, "workflow"] as const;
/** All words that names of a kind are made of. */
const WORKFLOW_WORDS = [
  ...[VERBS, STATES, NUMBERS, FIRST_WORDS],
  ...DOMAINS.flatMap((things) => [
    ...[
      [...things.keys()],
      ...things.values().flatMap(({ verbs, kinds, details }) => [verbs, kinds, ...details]),
    ],
  ]),
].flat();
const knownWords = (names: typeof KINDS[number]) =>
  new Set([...names === "workflow" ? WORKFLOW_WORDS : EVERYDAY_WORDS.flat(), "id"]);
const SPEC: GraphSpec = { core: 6, depth: 3, connected: 4, disconnected: 4, seed: 5 };

/** Specs with names made of words, half of them with several outputs, of either surface. */
function namedSpecs(
  most?: number,
  kinds: readonly typeof KINDS[number][] = KINDS,
): fc.Arbitrary<GraphSpec & { readonly names: typeof KINDS[number] }> {
  return fc.tuple(
    fc.oneof(specs(most), severalSpecs(most)),
    fc.constantFrom(...kinds),
    fc.constantFrom("plain" as const, "rich" as const),
  ).map(([{ linking: _, ...spec }, names, surface]) => ({ ...spec, names, surface }));
}

/** Every name of a task that a model may write, and the types that it reads. */
function namesOf(task: Task): { written: string[]; types: Set<string>; subtypes: Set<string> } {
  const outputs = task.functions.flatMap(outputsOf);
  const parameters = task.functions.flatMap((fn) => fn.parameters);
  const variables = [...outputs, ...parameters];
  return {
    written: [...task.functions, ...variables].map(({ name }) => name),
    types: new Set(variables.map(({ type }) => type)),
    subtypes: new Set(variables.map(({ subtype }) => subtype)),
  };
}

/** Whether a name ends with all words of another. */
function endsWith(name: string, other: string): boolean {
  return ` ${wordsOfName(name).join(" ")}`.endsWith(` ${wordsOfName(other).join(" ")}`);
}

Deno.test("the everyday words are plain, and none stands on two lists or in the text of a question", () => {
  const words = EVERYDAY_WORDS.flat();
  assertEquals(new Set(words).size, words.length);
  for (const word of words) {
    assert(/^[a-z]{3,10}$/.test(word), word);
    assert(!reservedWords({}).includes(word), word);
    assertNotEquals(word, "id");
  }
  const [places, ...lists] = EVERYDAY_WORDS;
  const nouns = lists.slice(0, places!.length);
  assertEquals(new Set(nouns.map((list) => list.length)), new Set([10]));
});

Deno.test("the words of workflows are plain, none stands in the text of a question, and a thing tells its domain", () => {
  const things = DOMAINS.flatMap((things) => [...things.keys()]);
  assertEquals(new Set(things).size, things.length);
  for (const word of WORKFLOW_WORDS) {
    assert(/^[a-z]{2,14}$/.test(word), word);
    assert(!reservedWords({}).includes(word), word);
  }
  const rows = DOMAINS.flatMap((things) => [...things.values()]);
  assertEquals(new Set(DOMAINS.map(({ size }) => size)), new Set([12]));
  for (const { verbs, kinds, details: [of, what] } of rows) {
    const sizes = [verbs, kinds, of, what].map((list) => new Set(list).size);
    assertEquals(sizes, [2, 5, 5, 5]);
    // The last word of a name is what tells domain, thing and kind of identifier.
    const others = new Set([...kinds, ...what]);
    assertEquals(others.intersection(new Set([...things, ...NUMBERS])).size, 0, `${kinds} ${what}`);
    assertEquals(new Set(of).intersection(new Set(what)).size, 0);
  }
  // How the third person of these is written is not known.
  for (const verb of [VERBS, ...rows.map(({ verbs }) => verbs)].flat()) {
    assert(!/[^aeiou][yo]$|z$/.test(verb), verb);
  }
});

Deno.test("generateTask() makes names of words once each, up to a thousand functions and beyond", () => {
  const big = BIG_SPECS.slice(1, 2).flatMap((spec) =>
    KINDS.map((names) => ({ ...spec, names, outputs: [1, 3] as const }))
  );
  const check = (spec: GraphSpec & { readonly names: typeof KINDS[number] }) => {
    const task = generateTask(spec);
    const { written, types, subtypes } = namesOf(task);
    const letters = written.map((name) => name.replaceAll("_", "").toLowerCase());
    assertEquals(new Set(letters).size, letters.length);
    const isRich = spec.surface === "rich";
    for (const name of written) {
      assert((isRich ? /^[a-z]+(_?[a-z]+|[A-Z][a-z]+)+$/ : /^[a-z]+(_[a-z]+)+$/).test(name), name);
      assert(name.length <= 64, name);
    }
    const typeForm = spec.names === "workflow" ? /^[a-z]+( [a-z]+)*$/ : /^([A-Z][a-z]+){2,}$/;
    for (const name of [...types, ...subtypes]) assert(typeForm.test(name), name);
    assert(types.size <= task.spec.types);
    assertEquals(types.intersection(subtypes).size, 0);
    const known = knownWords(spec.names);
    const words = [...written, ...types, ...subtypes].flatMap(wordsOfName);
    for (const word of words) assert(known.has(word), word);
  };
  for (const spec of big) check(spec);
  fc.assert(fc.property(namedSpecs(), check), { numRuns: 40 });
});

Deno.test("helpful names tell what functions produce and take, misleading ones always suggest another variable", () => {
  fc.assert(fc.property(namedSpecs(20, EVERYDAY), (spec) => {
    const { functions, target } = generateTask(spec);
    const core = functions.filter(({ role }) => role === "core").flatMap(outputsOf);
    const all = functions.flatMap(outputsOf).map(({ name }) => name);
    const helps = spec.names === "helpful";
    for (const fn of functions) {
      const own = outputsOf(fn).map(({ name }) => name);
      if (helps) assert(endsWith(fn.name, own[0]!), fn.name);
      else {
        // A name may end with a shorter one: what it suggests is the longest.
        const [suggested] = all.filter((name) => endsWith(fn.name, name))
          .toSorted((one, other) => other.length - one.length);
        assert(suggested === undefined || !own.includes(suggested), fn.name);
        if (spec.core > 1) assert(core.some(({ name }) => name === suggested), fn.name);
      }
      for (const { name, variable, type } of fn.parameters) {
        if (name === variable) continue;
        assertEquals(endsWith(name, variable) && helps, helps, name);
        if (!helps) {
          const [suggested] = all.filter((one) => endsWith(name, one))
            .toSorted((one, other) => other.length - one.length);
          assertNotEquals(suggested, variable);
        }
        assert(type !== "");
      }
    }
    if (!helps && spec.core > 1) {
      assert(functions.some(({ name }) => endsWith(name, target.variable)));
    }
  }));
});

Deno.test("names of variables are of the domain of their type if they help, and of another if they mislead", () => {
  const [places, ...lists] = EVERYDAY_WORDS;
  const domainOf = (words: readonly string[]) =>
    places!.find((_, place) => lists[place]!.some((noun) => words.includes(noun)));
  fc.assert(fc.property(namedSpecs(12, EVERYDAY), (spec) => {
    const { functions } = generateTask(spec);
    for (const { name, type } of functions.flatMap(outputsOf)) {
      const own = domainOf(wordsOfName(type));
      assert(wordsOfName(type).includes(own!));
      assertEquals(
        domainOf(wordsOfName(name)) === own,
        spec.names === "helpful",
        `${name} ${type}`,
      );
    }
  }));
});

Deno.test("names and descriptions of a workflow are of one domain, tell types, and hint at no role or edge (FuncBenchGen 3.3)", () => {
  let [same, different, pairs] = [0, 0, 0];
  const domains = new Set<typeof DOMAINS[number]>();
  for (let seed = 1; seed <= 60; seed++) {
    const task = generateTask({
      ...{ core: 20, depth: 9, connected: 20, disconnected: 20, seed, names: "workflow" },
    });
    // Where most things are taken, a type has a word before its thing.
    const thingOf = (type: string) => type.split(" ").at(-1)!;
    const types = [...namesOf(task).types].map(thingOf);
    const own = DOMAINS.filter((things) => types.every((thing) => things.has(thing)));
    assertEquals(own.length, 1);
    domains.add(own[0]!);
    const variables = task.functions.flatMap((fn) => [...outputsOf(fn), ...fn.parameters]);
    const numbers = new Map<string, string>();
    for (const { name, type, subtype } of variables) {
      // The words are as many for all roles, and whether a variable is given, taken or produced.
      const [first, thing, number, ...others] = wordsOfName(name);
      assertEquals([thing, others], [thingOf(type), []]);
      assert(FIRST_WORDS.includes(first!) && NUMBERS.includes(number!), name);
      // One thing has one kind of identifier, and details of its own.
      assertEquals(numbers.getOrInsert(thing!, number!), number);
      const { details } = own[0]!.get(thing!)!;
      const [what, of, state = STATES[0]!] = subtype.split(" ").reverse();
      assert(details[0].includes(of!) && details[1].includes(what!), `${type} with ${subtype}`);
      assert(STATES.includes(state) && subtype.split(" ").length <= 3, subtype);
    }
    for (const [place, { name, output, parameters }] of task.functions.entries()) {
      const [verb, kind, thing, ...others] = wordsOfName(name);
      assertEquals([thing, others], [thingOf(output.type), []]);
      const { description } = task.tools[place]!;
      assert(description.toLowerCase().startsWith(verb!) && !/[.]/.test(description));
      assert(description.includes(` the ${kind} ${thing} from variable `), description);
      for (const { name, variable } of parameters) {
        if (name === variable) continue;
        // First words of one thing all differ: a hint could only be how they look.
        const others = variables.filter((one) =>
          ![name, variable].includes(one.name) && thingOf(one.type) === wordsOfName(variable)[1]
        );
        same += Number(variable[0] === name[0]);
        different += others.filter((one) => one.name[0] === name[0]).length / others.length;
        pairs++;
      }
    }
  }
  assertEquals(domains.size, DOMAINS.length);
  const chance = different / pairs;
  assert(Math.abs(same / pairs - chance) < 4 * Math.sqrt(chance / pairs), `${same} of ${pairs}`);
});

Deno.test("names of a workflow have as many words whether functions are needed or not, up to 60 of three types", () => {
  const [core, others] = [new Set<string>(), new Set<string>()];
  const details = { core: [0, 0], others: [0, 0] };
  for (let seed = 1; seed <= 60; seed++) {
    const size = { core: 5, depth: 2, connected: 28, disconnected: 27 };
    for (
      const { name, role, output, parameters } of generateTask({ ...size, seed, names: "workflow" })
        .functions
    ) {
      const counts = [name, output.name, ...parameters.map(({ name }) => name)]
        .map((one) => wordsOfName(one).length);
      for (const count of counts) (role === "core" ? core : others).add(String(count));
      const tally = details[role === "core" ? "core" : "others"];
      tally[0]! += Number(wordsOfName(output.subtype).length === 2);
      tally[1]!++;
    }
  }
  assertEquals([core, others], [new Set(["3"]), new Set(["3"])]);
  const [one, other] = [details.core, details.others].map(([short, all]) => short! / all!);
  assert(Math.abs(one! - other!) < 4 * Math.sqrt(0.25 / details.core[1]!), `${one} ${other}`);
});

Deno.test("types and subtypes link names of words as they link random ones, and the fewest calls are the core (FuncBenchGen B.2)", () => {
  fc.assert(
    fc.property(namedSpecs(4), (spec) => {
      const task = generateTask({
        ...spec,
        connected: Math.min(3, spec.connected),
        disconnected: 1,
      });
      const producers = new Map(
        task.functions.flatMap(outputsOf).map((one) => [`${one.type} ${one.subtype}`, one.name]),
      );
      assertEquals(producers.size, task.functions.flatMap(outputsOf).length);
      for (
        const { name, type, subtype, variable } of task.functions.flatMap((fn) => fn.parameters)
      ) {
        assertEquals(producers.get(`${type} ${subtype}`) ?? name, variable);
      }
      assertEquals(fewestFunctions(task), spec.core);
    }),
    { numRuns: 40 },
  );
});

Deno.test("names and outputs leave graph, inputs' number and defaults as they are", () => {
  const plain = generateTask(SPEC);
  for (const names of KINDS) {
    const named = generateTask({ ...SPEC, names });
    const shape = (task: Task) =>
      task.functions.map(({ role, parameters, dependsOn }) =>
        `${role} ${parameters.length} ${dependsOn.length}`
      );
    assertEquals(shape(named), shape(plain));
    assertEquals([...named.inputs.values()], [...plain.inputs.values()]);
    assertEquals(named.target.value, plain.target.value);
    assertEquals(briefSpec({ ...SPEC, names }), { ...SPEC, names });
    const key = {
      ...{ model: "m", strategy: "plain", perturbation: "none", repetition: 1 },
      task: { ...SPEC, names },
    };
    assertEquals(parseTrialId(trialId(key)), key);
  }
  assertEquals(briefSpec({ ...SPEC, names: "random" }), SPEC);
  assertEquals(generateTask({ ...SPEC, names: "random" }).tools, plain.tools);
  assertThrows(
    () => completeSpec({ ...SPEC, names: "kind" as typeof NAMES[number] }),
    RangeError,
    "names must be one of random, helpful, misleading, workflow: it is kind",
  );
  assertThrows(
    () => completeSpec({ ...SPEC, names: "misleading", linking: "names" }),
    RangeError,
    "names cannot mislead where they are what links parameters",
  );
  const linked = generateTask({ ...SPEC, names: "helpful", linking: "names" });
  for (const { name, variable } of linked.functions.flatMap((fn) => fn.parameters)) {
    assertEquals(name, variable);
  }
});

Deno.test("tasks with names of words and several outputs are what they were when they were first generated", async () => {
  const hashes: Record<string, string> = {};
  for (const names of NAMES) {
    const task = generateTask({ ...SPEC, names, surface: "rich", outputs: [1, 3] });
    hashes[names] = (await sha256(JSON.stringify(taskToJson(task)))).slice(0, 12);
  }
  assertEquals(hashes, {
    random: "725b06c2fde4",
    helpful: "67a77c68571f",
    misleading: "a428a8da8f91",
    workflow: "e8649c80dc95",
  });
});

Deno.test("sim:planner solves tasks whatever names say, and one that reads names alone those that help (FuncBenchGen 3.3)", async () => {
  const solved: Record<string, number> = {};
  for (const names of KINDS) {
    for (const model of ["sim:planner", "sim:planner?reads=names"]) {
      let count = 0;
      for (const [core, depth] of [[2, 1], [4, 1], [6, 3], [9, 5]] as const) {
        for (let seed = 1; seed <= 10; seed++) {
          const spec = {
            ...{ core, depth, connected: 3, disconnected: 3, seed, names },
            ...(seed % 2 === 0 ? {} : { outputs: [1, 3] as const }),
            ...(seed % 3 === 0 ? { surface: "rich" as const } : {}),
          };
          const trial = await runTrial(spec, inProcess(model));
          if (trial.solved) {
            count++;
            assertEquals([trial.calls, trial.failures.length], [core, 0]);
          }
        }
      }
      solved[`${names} ${model}`] = count;
    }
  }
  assertEquals(solved, {
    "helpful sim:planner": 40,
    "helpful sim:planner?reads=names": 40,
    "misleading sim:planner": 40,
    "misleading sim:planner?reads=names": 0,
    "workflow sim:planner": 40,
    "workflow sim:planner?reads=names": 0,
  });
});

Deno.test("checks keep what names suggest: other words still help or mislead or are a workflow, and added functions have new ones", async () => {
  for (const names of KINDS) {
    for (let seed = 1; seed <= 6; seed++) {
      const spec = { ...SPEC, names, seed, outputs: [1, 2] as const };
      const task = generateTask(spec);
      for (const id of ["rename", "unrelated", "rename+unrelated"]) {
        const { task: changed } = perturbTask(task, id);
        const { written } = namesOf(changed);
        const letters = written.map((name) => name.replaceAll("_", ""));
        assertEquals(new Set(letters).size, letters.length, id);
        const known = knownWords(names);
        for (const word of written.flatMap(wordsOfName)) assert(known.has(word), word);
        if (id === "rename") {
          const before = new Set(namesOf(task).written);
          assert(written.filter((name) => before.has(name)).length < written.length / 10);
        }
        for (const model of ["sim:planner", "sim:planner?reads=names"]) {
          const trial = await runTrial(spec, inProcess(model), { perturbation: id });
          const isSolved = names === "helpful" || model === "sim:planner";
          assertEquals(trial.solved, isSolved, `${names} ${id} ${model} ${seed}`);
        }
      }
    }
  }
});

Deno.test("functions that a check adds to a large task have names that it does not have", () => {
  for (const names of KINDS) {
    const task = generateTask({ ...SPEC, connected: 500, disconnected: 494, names });
    const { written } = namesOf(perturbTask(task, "unrelated").task);
    assert(written.length > namesOf(task).written.length);
    const letters = written.map((name) => name.replaceAll("_", ""));
    assertEquals(new Set(letters).size, letters.length);
  }
});

Deno.test("an answer may say everyday names in words, and is then as good or bad as one that writes them", () => {
  const task = generateTask({ ...SPEC, names: "helpful" });
  const { variable, value } = task.target;
  const words = wordsOfName(variable);
  const spoken = words.join(" ");
  const answers: [text: string, value: number | null][] = [
    [`The ${spoken} is ${value}, from 731 and 12.`, value],
    [`**${words.map((word) => word.toUpperCase()).join(" ")}**: ${value} (of 999)`, value],
    [`${words.join("-")} = ${value}; that was step 7`, value],
    [`${words.join("")}: ${value}. I used 5 calls`, value],
    [`${variable} = ${value}, not 12`, value],
    // Another variable, and no claim.
    [`The large ${spoken} is here: none.`, null],
  ];
  for (const [text, read] of answers) {
    using executor = createExecutor(task);
    executor.answer(text);
    const answer = executor.events.at(-1)!;
    assert(answer.kind === "answer" && answer.text === text);
    assertEquals(answer.value, read, text);
  }
  for (
    const [text, outcome] of [
      [`The ${spoken} is 512.`, "wrong_answer"],
      [`The ${spoken} is not known: 2 inputs are missing.`, "abstained"],
    ]
  ) {
    using executor = createExecutor(task, { perturbation: "RP_F" });
    assertEquals(executor.answer(text!).outcome, outcome, text);
  }
});

Deno.test("an answer for a variable with a longer name is none for the target", () => {
  const task = generateTask({ ...SPEC, names: "misleading" });
  const { variable, value } = task.target;
  const values = new Map([...task.values, [`lucky_${variable}`, 111]]);
  using executor = createExecutor({ ...task, values });
  const spoken = wordsOfName(variable).join(" ");
  executor.answer(`The ${spoken} is ${value}, and the lucky ${spoken} is 111.`);
  const answer = executor.events.at(-1)!;
  assert(answer.kind === "answer");
  assertEquals(answer.value, value);
});

Deno.test("perturbations of documents and returns find names of words to change", () => {
  for (const names of KINDS) {
    const rich = generateTask({ ...SPEC, core: 12, names, surface: "rich" });
    for (const id of ["RD", "WD", "SD", "CO", "RE", "AP", "CK", "UK", "FK", "AN", "CP", "RP_F"]) {
      assert(perturbTask(rich, id).changed, `${names} ${id}`);
    }
    if (names === "workflow") {
      const offered = perturbTask(rich, "gone").tools.map(({ name }) => name);
      assertEquals(new Set(offered).size, rich.tools.length + 1);
      for (const word of offered.flatMap(wordsOfName)) assert(knownWords(names).has(word), word);
    }
    const { types, subtypes } = namesOf(rich);
    const { tools } = perturbTask(rich, "WD");
    const known = knownWords(names);
    for (const [place, { description }] of tools.entries()) {
      const [taken = ""] = description.split(" to produce ");
      assertEquals(
        taken.split("variable ")[0],
        rich.tools[place]!.description.split("variable ")[0],
      );
      for (const [, type, subtype] of taken.matchAll(/\(([\w ]+) with ([\w ]+)\)/g)) {
        assert(!types.has(type!) && !subtypes.has(subtype!), `${type} with ${subtype}`);
        for (const word of wordsOfName(`${type} ${subtype}`)) assert(known.has(word), word);
      }
    }
  }
});
