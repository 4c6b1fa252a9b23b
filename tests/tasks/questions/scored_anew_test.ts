// Answers to questions scored anew: sections 5.1 and 5.3 of the CallNavi paper, in a few lines each.

import { assert, assertEquals } from "@std/assert";
import type { JsonObject, JsonValue } from "../../../lib/base/json.ts";
import { scorePrediction } from "../../../lib/tasks/questions/scoring.ts";
import { electionStability } from "../../../lib/tasks/questions/stability.ts";
import fc from "../../support/fast_check.ts";

interface Calls {
  readonly API: readonly string[];
  readonly parameters: readonly JsonObject[];
}

/** Whether two trees are identical, but for placeholders of the truth. */
function identical(truth: JsonValue, given: JsonValue): boolean {
  if (truth === "$$$") return true;
  if (typeof truth !== "object" || truth === null) return truth === given;
  if (typeof given !== "object" || given === null) return false;
  if (Array.isArray(truth) !== Array.isArray(given)) return false;
  const [own, other] = [Object.entries(truth), Object.entries(given)];
  return own.length === other.length && own.every(([key, value]) => {
    const found = other.find(([name]) => name === key);
    return found !== undefined && identical(value, found[1]);
  });
}

/** Whether the calls are the right ones, and include the right names of parameters. */
function alike(truth: Calls, given: Calls): boolean {
  return truth.API.join() === given.API.join() &&
    truth.parameters.length === given.parameters.length &&
    truth.parameters.every((of, place) =>
      Object.keys(of).every((key) => Object.keys(given.parameters[place]!).includes(key))
    );
}

const leaf = fc.oneof(
  fc.constantFrom<JsonValue>("$$$", "a", "b", 1, 2, true, null),
  fc.array(fc.constantFrom<JsonValue>("a", 1, "$$$"), { maxLength: 2 }),
  fc.dictionary(fc.constantFrom("x", "y"), fc.constantFrom<JsonValue>("a", "$$$", 2), {
    minKeys: 1,
    noNullPrototype: true,
  }),
);
const parameters = fc.dictionary(fc.constantFrom("p", "q", "r"), leaf, {
  minKeys: 1,
  maxKeys: 2,
  noNullPrototype: true,
});
const calls = fc.array(fc.tuple(fc.constantFrom("find", "book"), parameters), {
  minLength: 1,
  maxLength: 3,
}).map((all): Calls => ({ API: all.map(([name]) => name), parameters: all.map(([, of]) => of) }));

/** A truth, and an answer that is often nearly it. */
const pairs = calls.chain((truth) =>
  fc.tuple(
    fc.constant(truth),
    fc.oneof(
      calls,
      fc.constant(truth),
      fc.constant({ ...truth, parameters: [...truth.parameters, { p: "a" }] }),
      fc.tuple(fc.nat(), parameters).map(([place, other]): Calls => ({
        ...truth,
        parameters: truth.parameters.with(place % truth.parameters.length, other),
      })),
      fc.tuple(fc.nat(), leaf).map(([place, value]): Calls => {
        const at = place % truth.parameters.length;
        const [key] = Object.keys(truth.parameters[at]!);
        return {
          ...truth,
          parameters: truth.parameters.with(at, { ...truth.parameters[at], [key!]: value }),
        };
      }),
    ),
  )
);

Deno.test("structural accuracy and exact match are those of two trees compared anew, placeholders left out (CallNavi 5.1)", () => {
  const seen = new Set<string>();
  fc.assert(
    fc.property(pairs, ([truth, given]) => {
      const scores = scorePrediction(JSON.stringify(given), truth as never, { rule: "strict" });
      const structural = alike(truth, given);
      const exact = structural && identical(truth as never, given as never);
      assertEquals(
        [scores.syntaxValid, scores.structural, scores.exact],
        [true, structural, exact],
      );
      seen.add(`${structural} ${exact}`);
    }),
    { numRuns: 2_000 },
  );
  assertEquals(seen.size, 3, "wrong calls, right calls with wrong values, and right ones");
});

Deno.test("syntax validity is whether an answer can be parsed (CallNavi 5.1)", () => {
  const truth = { API: ["find"], parameters: [{ p: "a" }] };
  fc.assert(fc.property(calls, fc.nat(), (given, place) => {
    const text = JSON.stringify(given);
    const cut = text.slice(0, 1 + place % (text.length - 1));
    const valid = (said: string) => scorePrediction(said, truth, { rule: "strict" }).syntaxValid;
    assertEquals([valid(text), valid(cut), valid(`${text} (an assumption)`)], [true, false, false]);
  }));
});

Deno.test("election stability is (F1 - F2) / (N - F2), and 0 on a tie (CallNavi 5.3, D)", () => {
  fc.assert(fc.property(
    fc.array(fc.constantFrom("A", "B", "C", "D"), { minLength: 1, maxLength: 9 }),
    (outputs) => {
      const [first = 0, second = 0] = ["A", "B", "C", "D"]
        .map((output) => outputs.filter((one) => one === output).length).sort((a, b) => b - a);
      const expected = first === second ? 0 : (first - second) / (outputs.length - second);
      assert(Math.abs(electionStability(outputs)! - expected) < 1e-12);
    },
  ));
});

Deno.test("values in the places of placeholders are right, and values that the question has must be as it has them (CallNavi E.1, E.2)", () => {
  const exact = (truth: Calls, ...of: JsonObject[]) =>
    scorePrediction(JSON.stringify({ API: truth.API, parameters: of }), truth, { rule: "strict" })
      .exact;
  const hard = {
    API: ["getCustomerCreditCards", "getCreditCardDetails", "getCurrencyExchangeRates"],
    parameters: [
      { customerID: "123155" },
      { creditCardNumber: "$$$" },
      { currencyPair: "$$$" },
    ],
  };
  const [customer, card, pair] = [
    { customerID: "123155" },
    { creditCardNumber: "4000 1" },
    { currencyPair: "EUR/JPY" },
  ];
  assertEquals(exact(hard, customer!, card!, pair!), true);
  assertEquals(exact(hard, ...hard.parameters), true);
  assertEquals(exact(hard, { customerID: "123156" }, card!, pair!), false);
  const medium = {
    API: ["getWireTransferDetails", "cancelWireTransfer"],
    parameters: [{ transferID: "WT987654" }, { transferID: "WT987654" }],
  };
  assertEquals(exact(medium, ...medium.parameters), true);
  assertEquals(exact(medium, { transferID: "WT987654" }, { transferID: "$$$" }), false);
});
