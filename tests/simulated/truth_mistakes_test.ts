// The mistakes of the simulated model that knows the truth: each changes what its name says, no more.

import { assert, assertEquals } from "@std/assert";
import { type CallSet, difficultyOf } from "../../lib/tasks/questions/question_set.ts";
import {
  type AnswerMistake,
  drawMistakes,
  type KnownQuestion,
  possibleMistakes,
} from "../../lib/simulated/truth_mistakes.ts";
import { parseSimulatedModel } from "../../lib/simulated/names.ts";
import { truthsOf } from "../../lib/simulated/truth.ts";
import { CITY } from "../support/call_sets.ts";
import fc from "../support/fast_check.ts";
import {
  EVERY_MISTAKE,
  knownIn,
  predictionOf,
  scoresOf,
  scoresWith,
  truthModel,
  WAYS,
} from "../support/truth_scores.ts";

/** Every mistake alone, and none, with the rates that bring it about. */
const ALONE: readonly (readonly [string, readonly AnswerMistake[]])[] = [
  ["", []],
  ...EVERY_MISTAKE.map((one) => [`?${one}=1`, [one]] as const),
];

/** Holds every mistake against its row of the table, on every question, in every way, by either rule. */
function assertTable(set: CallSet, ways = WAYS): void {
  const truths = truthsOf([set]);
  for (const [options, wanted] of ALONE) {
    const model = parseSimulatedModel(`sim:truth${options}`, truths);
    for (const known of knownIn(set)) {
      for (const way of ways) {
        const made = wanted.filter((one) => possibleMistakes(known, way.mode).includes(one));
        assertEquals(
          scoresOf(model, known, way),
          scoresWith(made, way.mode),
          `${known.question.id} ${options} ${JSON.stringify(way)}`,
        );
      }
    }
  }
}

Deno.test("sim:truth makes false just what the table of mistakes says", () => assertTable(CITY));

Deno.test("possibleMistakes() tells what a question leaves room for", () => {
  const possible = (id: string, mode: "parameters" | "routing" | "tools") =>
    possibleMistakes(knownIn(CITY).find(({ question }) => question.id === id)!, mode).join(" ");
  assertEquals(possible("lib01", "parameters"), "syntax fence route key value extra");
  assertEquals(possible("lib01", "routing"), "syntax fence route");
  assertEquals(possible("lib01", "tools"), "route key value extra");
  // The truth says nothing of the arguments of its call.
  assertEquals(possible("lib02", "parameters"), "syntax fence route");
  const [known] = knownIn(CITY);
  const of = (parts: Partial<KnownQuestion["question"]["truth"]>, functions = known!.functions) => {
    const truth = { ...known!.question.truth, ...parts };
    return possibleMistakes({ question: { ...known!.question, truth }, functions }, "parameters")
      .join(" ");
  };
  assertEquals(of({ parameters: [{ title: "$$$", year: {} }] }), "syntax fence route key extra");
  assertEquals(of({ parameters: [] }), "syntax fence route");
  assertEquals(of({}, []), "syntax fence key value extra");
  assertEquals(of({ API: ["a", "b"], parameters: [{}, {}] }, []), "syntax fence route extra");
  assertEquals(of({ API: [], parameters: [] }), "syntax fence");
  const twins = ["findBook", "FINDBOOK", "find book"].map((name) => ({
    ...known!.functions[0]!,
    name,
  }));
  assertEquals(of({ parameters: [{}] }, twins), "syntax fence extra", "no name but its own");
});

Deno.test("possibleMistakes() has no syntax in lists of names where no name would be lost", () => {
  const [{ question }] = knownIn(CITY) as [KnownQuestion];
  for (const API of [[], ["'"]]) {
    const truth = { API, parameters: [] };
    const known = { question: { ...question, truth }, functions: [] };
    assertEquals(possibleMistakes(known, "routing"), ["fence"]);
  }
});

/** Sets of one question, whose names and values may be anything, and what is asked. */
function sets(name: fc.Arbitrary<string>): fc.Arbitrary<CallSet> {
  const key = fc.oneof(
    { weight: 3, arbitrary: fc.string({ unit: fc.character(), maxLength: 8 }) },
    fc.constantFrom("note", "note_", "note__", "__proto__", "constructor", "1", "<<", "API", "'"),
  );
  const value = fc.oneof(
    fc.string({ unit: fc.character(), maxLength: 8 }),
    fc.constantFrom("$$$", "", "```json", "O'Hara", 'say "hi"', "no", "# x"),
    fc.constantFrom("\u0000\u007f", "\u0085\u009f", "\u2028\u2029", "\ufeff\ufffe\uffff", "\ud800"),
    fc.jsonValue({ maxDepth: 3 }),
  );
  const call = fc.tuple(name, fc.dictionary(key, value as fc.Arbitrary<never>, { maxKeys: 4 }));
  return fc.record({
    calls: fc.array(call, { maxLength: 4 }),
    others: fc.uniqueArray(name, { maxLength: 3 }),
  }).map(({ calls, others }) => {
    const truth = { API: calls.map(([own]) => own), parameters: calls.map(([, given]) => given) };
    const names = new Set([...others, ...truth.API]);
    const functions = Array.from(names, (own, place) => ({
      name: own,
      document: { name: own },
      tool: { name: own, description: `${place}`, parameters: { type: "object" } },
    }));
    return {
      name: "random",
      hash: "",
      domains: new Map([["d", functions]]),
      questions: [{
        id: "q",
        domain: "d",
        messages: [{ role: "user", content: "What now?" }],
        truth,
        difficulty: difficultyOf(truth),
      }],
      warnings: [],
    };
  });
}

Deno.test("sim:truth makes false just that of any names and values", () => {
  const written = WAYS.filter(({ mode }) => mode !== "routing");
  const anyName = fc.string({ unit: fc.character(), minLength: 1, maxLength: 8 });
  fc.assert(fc.property(sets(anyName), (set) => assertTable(set, written)), { numRuns: 40 });
  // Names in brackets have no room for brackets and both kinds of quotes.
  const plainName = fc.stringMatching(/^[\w.:'-]{1,6}$/);
  fc.assert(fc.property(sets(plainName), (set) => assertTable(set)), { numRuns: 60 });
});

Deno.test("sim:truth makes mistakes together as it makes them alone", () => {
  const anySet = sets(fc.stringMatching(/^[\w.:-]{1,6}$/));
  const check = (set: CallSet, wanted: readonly AnswerMistake[], seed: number) => {
    const rates = wanted.map((one) => `${one}=1`);
    const model = truthModel(`?${[...rates, `seed=${seed}`].join("&")}`, set);
    for (const known of knownIn(set)) {
      for (const way of WAYS) {
        const made = wanted.filter((one) => possibleMistakes(known, way.mode).includes(one));
        assertEquals(scoresOf(model, known, way), scoresWith(made, way.mode));
      }
    }
  };
  const mistakes = fc.subarray(EVERY_MISTAKE);
  fc.assert(fc.property(anySet, mistakes, fc.nat(), check), { numRuns: 100 });
});

Deno.test("sim:truth brings no true name back that it has misspelt", () => {
  const [{ question, functions }] = knownIn(CITY) as [KnownQuestion];
  for (const names of [["note"], ["note", "note_"], ["note_", "note"], ["note", "note__"]]) {
    const given = Object.fromEntries(names.map((name) => [name, "x"]));
    const truth = { API: ["findBook"], parameters: [given] };
    const set = { ...CITY, questions: [{ ...question, truth }] };
    for (let seed = 0; seed < 10; seed++) {
      const model = truthModel(`?key=1&extra=1&seed=${seed}`, set);
      const known = { question: { ...question, truth }, functions };
      assertEquals(scoresOf(model, known, WAYS[0]!), scoresWith(["key", "extra"], "parameters"));
    }
  }
});

Deno.test("drawMistakes() tells which mistakes sim:truth makes, each at its rate", () => {
  const rates = { syntax: 0.2, fence: 0.3, route: 0.25, key: 0.5, value: 0.4, extra: 0.1 };
  const options = Object.entries(rates).map(([kind, rate]) => `${kind}=${rate}`).join("&");
  const model = truthModel(`?${options}&seed=4`, CITY);
  const made = new Map<string, number>();
  const possible = new Map<string, number>();
  const count = (counts: Map<string, number>, kinds: readonly string[]) =>
    kinds.forEach((kind) => counts.set(kind, (counts.get(kind) ?? 0) + 1));
  let both = 0;
  for (const known of knownIn(CITY)) {
    for (let repetition = 0; repetition < 150; repetition++) {
      const drawn = drawMistakes(known, "parameters", { rates, seed: 4, repetition });
      count(made, drawn);
      count(possible, possibleMistakes(known, "parameters"));
      if (drawn.includes("syntax") && drawn.includes("fence")) both++;
      for (const way of repetition < 20 ? WAYS : []) {
        const own = drawn.filter((one) => possibleMistakes(known, way.mode).includes(one));
        assertEquals(scoresOf(model, known, way, repetition), scoresWith(own, way.mode));
      }
    }
  }
  for (const [kind, rate] of Object.entries(rates)) {
    const [hits, all] = [made.get(kind)!, possible.get(kind)!];
    const error = Math.sqrt(rate * (1 - rate) / all);
    assert(Math.abs(hits / all - rate) < 4 * error, `${kind}: ${hits} of ${all}`);
  }
  assert(Math.abs(both / 1200 - 0.06) < 4 * Math.sqrt(0.06 * 0.94 / 1200), `both: ${both}`);
  const bare = drawMistakes(knownIn(CITY)[0]!, "parameters", { rates: {}, seed: 4, repetition: 1 });
  assertEquals(bare, [], "rates that are left out are 0");
});

Deno.test("sim:truth draws anew for each seed, repetition, question and mistake", () => {
  const drawn = (seed: number, repetition: number) =>
    knownIn(CITY).map((known) =>
      drawMistakes(known, "parameters", {
        rates: { syntax: 0.5, fence: 0.5, key: 0.5, value: 0.5 },
        seed,
        repetition,
      }).join(" ")
    );
  assertEquals(drawn(1, 1), drawn(1, 1));
  const different = [drawn(1, 1), drawn(2, 1), drawn(1, 2), drawn(2, 2)].map((all) => all.join());
  assertEquals(new Set(different).size, 4);
  assert(new Set(drawn(1, 1)).size > 3, "by question");
  const texts = [1, 2, 3, 4, 5, 6].map((seed) =>
    predictionOf(truthModel(`?value=1&seed=${seed}`, CITY), knownIn(CITY)[3]!, WAYS[0]!)
  );
  assert(new Set(texts).size > 2, "which value is wrong is drawn as well");
  const rare = Array.from(
    { length: 200 },
    (_, seed) =>
      predictionOf(truthModel(`?value=0.1&seed=${seed}`, CITY), knownIn(CITY)[3]!, WAYS[0]!),
  );
  assert(new Set(rare).size > 4, "and has nothing to do with whether one is");
});

Deno.test("sim:truth leaves out a call, or calls another function of the domain", () => {
  const known = knownIn(CITY).find(({ question }) => question.id === "lib05")!;
  const names = known.functions.map(({ name }) => name);
  const lengths = new Set<number>();
  for (let seed = 0; seed < 40; seed++) {
    const text = predictionOf(truthModel(`?route=1&seed=${seed}`, CITY), known, WAYS[0]!) as string;
    const { API, parameters } = JSON.parse(text) as { API: string[]; parameters: unknown[] };
    assertEquals(API.length, parameters.length);
    assert(API.every((name) => names.includes(name)), text);
    const right = API.filter((name) => known.question.truth.API.includes(name));
    assert(API.length === 1 || right.length === 1 || API[0] === API[1], text);
    lengths.add(API.length);
  }
  assertEquals([...lengths].sort(), [1, 2], "either happens");
});
