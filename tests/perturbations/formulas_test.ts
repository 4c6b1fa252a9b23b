// The formulas of Tables 2 to 4 of the Butterfly paper, worked out anew by a line or two each.

import { assert, assertEquals, assertNotEquals } from "@std/assert";
import type { JsonObject } from "../../lib/base/json.ts";
import { perturbTools } from "../../lib/perturbations/documents/perturb.ts";
import {
  type DocumentMethod,
  PERTURBATION_METHODS,
  type QueryMethod,
  type ReturnMethod,
} from "../../lib/perturbations/methods.ts";
import { findParameters } from "../../lib/perturbations/queries/parameters.ts";
import { perturbQuery } from "../../lib/perturbations/queries/perturb.ts";
import { perturbReturn } from "../../lib/perturbations/returns.ts";
import fc from "../support/fast_check.ts";

Deno.test("there are the six methods on documents, four on questions and five on returns (Butterfly 4.1, 4.2, 4.3)", () => {
  const paper = "RD RE WD WT SD CO RP_F RP_L CP AN FK AP CK UK CF".split(" ");
  assertEquals([...PERTURBATION_METHODS].sort(), paper.sort());
});

/** A tool document D: pairs of a parameter and its description, of which some are required. */
const DOCUMENT: readonly (readonly [name: string, type: string, description: string])[] = [
  ["city", "string", "The city, e.g. Rome."],
  ["days", "integer", "How many days to look ahead."],
  ["units", "string", "Celsius or Fahrenheit."],
  ["hourly", "boolean", "Whether to give every hour."],
];
const REQUIRED = ["city", "days"];

type Pair = readonly [name: string, description: string | undefined];

/** The pairs of a document after a method, in order, with the types. */
function documentAfter(method: DocumentMethod, seed: number) {
  const tool = {
    name: "forecast",
    description: "Forecasts the weather.",
    parameters: {
      type: "object",
      properties: Object.fromEntries(
        DOCUMENT.map(([name, type, description]) => [name, { type, description }]),
      ),
      required: REQUIRED,
    },
    examples: [{ city: "Oslo", days: 2 }],
  };
  const [after] = perturbTools(method, [tool], seed).value;
  const properties = Object.entries(after!.parameters["properties"] as Record<string, JsonObject>);
  return {
    pairs: properties.map(([name, own]): Pair => [name, own["description"] as string | undefined]),
    types: properties.map(([name, own]) => [name, own["type"]]),
    examples: after!.examples,
  };
}

const PAIRS = DOCUMENT.map(([name, , description]): Pair => [name, description]);
const TYPES = DOCUMENT.map(([name, type]) => [name, type]);
const SEEDS = Array.from({ length: 40 }, (_, seed) => seed);
const byName = (pairs: readonly Pair[]) => pairs.toSorted(([one], [other]) => one < other ? -1 : 1);

Deno.test("methods on documents do to parameters and descriptions what the formulas of Table 2 say (Butterfly A.3.1)", () => {
  for (const seed of SEEDS) {
    // RD: {(p, d) | p not in R} and {(p, nothing) | p in R}.
    assertEquals(
      documentAfter("RD", seed).pairs,
      PAIRS.map(([p, d]): Pair => [p, REQUIRED.includes(p) ? undefined : d]),
    );
    // RE: usage examples are gone, and nothing else.
    const { pairs, examples } = documentAfter("RE", seed);
    assertEquals(examples, undefined);
    assertEquals(pairs, PAIRS.map(([p, d]): Pair => [p, d!.replace(", e.g. Rome", "")]));
    // WD: each has a description that is of no parameter of this tool.
    const wrong = documentAfter("WD", seed).pairs;
    assertEquals(wrong.map(([p]) => p), PAIRS.map(([p]) => p));
    for (const [, d] of wrong) assert(d !== undefined && !PAIRS.some(([, own]) => own === d), d);
    // WT: each has another type, and its own description.
    const { types, pairs: described } = documentAfter("WT", seed);
    assertEquals(described, PAIRS);
    types.forEach(([p, type], place) => {
      assertEquals(p, TYPES[place]![0]);
      assertNotEquals(type, TYPES[place]![1]);
    });
    // SD: the descriptions of one pair have changed places.
    const swapped = documentAfter("SD", seed).pairs;
    const [i, j, ...more] = PAIRS.flatMap(([, d], k) => swapped[k]![1] === d ? [] : [k]);
    assertEquals(more, []);
    assertEquals(
      swapped,
      PAIRS.map(([p, d], k): Pair => [p, k === i ? PAIRS[j!]![1] : k === j ? PAIRS[i!]![1] : d]),
    );
    // CO: the same pairs in another order.
    const reordered = documentAfter("CO", seed).pairs;
    assertNotEquals(reordered, PAIRS);
    assertEquals(byName(reordered), byName(PAIRS));
  }
});

Deno.test("methods on questions do to their information what the formulas of Table 3 say (Butterfly A.3.2)", () => {
  const text = "Find flights from Lisbon to Bergen for 3 people below 450 euros.";
  const infos = ["Lisbon", "Bergen", "3", "450"];
  const parameters = findParameters(text, [
    { arguments: { to: "Bergen", from: "Lisbon", people: 3, price: 450 } },
  ]);
  const after = (method: QueryMethod, seed: number) =>
    perturbQuery(method, { text, parameters }, { seed }).value.text;
  const there = (said: string) => infos.map((info) => new RegExp(`\\b${info}\\b`).test(said));
  for (const seed of SEEDS) {
    // RP_F: {info_2 ... info_n}; RP_L: {info_1 ... info_n-1}.
    assertEquals(there(after("RP_F", seed)), [false, true, true, true]);
    assertEquals(there(after("RP_L", seed)), [true, true, true, false]);
    // CP: C(info) for each; what is around them stays.
    const complicated = after("CP", seed);
    assertEquals(there(complicated), [false, false, false, false]);
    for (const word of ["Find flights from", " to ", " people below ", " euros."]) {
      assert(complicated.includes(word), complicated);
    }
    // AN: the question, and behind it n pieces of interfering information.
    const noisy = after("AN", seed);
    assert(noisy.startsWith(text), noisy);
    const noise = noisy.slice(text.length);
    assertEquals(there(noise), [false, false, false, false]);
    assertEquals(noise.match(/[.!?](?= |$)/g)?.length, infos.length, noise);
  }
});

/** Words of a key, from which both notations are made. */
const words = fc.array(fc.constantFrom("user", "name", "id", "total", "at", "price"), {
  minLength: 1,
  maxLength: 3,
});
const camel = ([first, ...more]: readonly string[]) =>
  [first, ...more.map((word) => word[0]!.toUpperCase() + word.slice(1))].join("");
const snake = (of: readonly string[]) => of.join("_");
const value = fc.oneof(fc.nat({ max: 999 }), fc.constantFrom("Ada", "b7", "x"));
const entries = fc.uniqueArray(fc.tuple(words, value), {
  minLength: 1,
  maxLength: 5,
  selector: ([of]) => of.join(),
});

Deno.test("methods on returns do to keys and values what the formulas of Table 4 say (Butterfly 4.3, A.3.3)", () => {
  const after = (method: ReturnMethod, text: string) => perturbReturn(method, text).value;
  const written = (pairs: readonly (readonly [string, unknown])[]) =>
    `{${pairs.map(([key, own]) => `"${key}":${JSON.stringify(own)}`).join(",")}}`;
  fc.assert(fc.property(entries, fc.constantFrom(camel, snake), (pairs, notation) => {
    const own = pairs.map(([of, v]) => [notation(of), v] as const);
    const text = written(own);
    // FK: {F(k_i): v_i} with F(k_i) = Object_i.
    assertEquals(after("FK", text), written(own.map(([, v], i) => [`Object_${i + 1}`, v])));
    // AP: P(v) for values of ids, v for others.
    assertEquals(
      after("AP", text),
      written(own.map(([k, v], i) => [k, pairs[i]![0].includes("id") ? `ID_${v}` : v])),
    );
    // CK, UK: {C(k): v}, {U(k): v}.
    assertEquals(after("CK", text), written(pairs.map(([of, v]) => [camel(of), v])));
    assertEquals(after("UK", text), written(pairs.map(([of, v]) => [snake(of), v])));
    // CF: s(O)[0:-1] and "...".
    assertEquals(after("CF", text), `${text.slice(0, -1)}...`);
  }));
});
