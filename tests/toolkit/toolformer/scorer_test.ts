// Losses, worked out by hand.

import { assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { InputError } from "../../../lib/base/errors.ts";
import { lossFrom, type ScoredToken } from "../../../lib/toolkit/toolformer/scorer.ts";

/** Tokens of two characters each, with these probabilities. */
function tokens(...probabilities: (number | null)[]): ScoredToken[] {
  return probabilities.map((probability, place) => ({
    start: 2 * place,
    end: 2 * place + 2,
    logProbability: probability === null ? null : Math.log(probability),
  }));
}

Deno.test("lossFrom() is the mean of what follows, in nats a token", () => {
  const loss = lossFrom(tokens(null, 0.5, 0.25, 1), 2)!;
  assertAlmostEquals(loss.loss, (Math.log(2) + Math.log(4) + 0) / 3);
  assertAlmostEquals(loss.perplexity, 2);
  assertEquals(loss.tokens, 3);
});

Deno.test("lossFrom() takes a token that straddles the offset for one that follows", () => {
  assertEquals(lossFrom(tokens(null, 0.5, 0.25), 3)?.tokens, 2);
  assertEquals(lossFrom(tokens(null, 0.5, 0.25), 4)?.tokens, 1);
});

Deno.test("lossFrom() leaves out tokens without a probability", () => {
  assertEquals(lossFrom(tokens(null, 0.5), 0)?.tokens, 1);
  assertAlmostEquals(lossFrom(tokens(null, 0.5), 0)!.loss, Math.log(2));
});

Deno.test("lossFrom() is undefined where nothing counts", () => {
  assertEquals(lossFrom(tokens(null, 0.5), 4), undefined);
  assertEquals(lossFrom(tokens(null), 0), undefined);
  assertEquals(lossFrom([], 0), undefined);
  assertEquals(lossFrom(tokens(null, 0.5), 2, () => 0), undefined);
});

Deno.test("lossFrom() weighs by distance as Toolformer does", () => {
  const far = tokens(0.5, 0.5, 0.5, 0.5, 0.5, 1e-9, 1e-9);
  const loss = lossFrom(far, 0, "decaying")!;
  assertAlmostEquals(loss.loss, Math.log(2));
  assertEquals(loss.tokens, 5);
  // 1 * ln 2 + 0.8 * ln 4, through 1.8.
  assertAlmostEquals(
    lossFrom(tokens(0.5, 0.25), 0, "decaying")!.loss,
    (1 + 1.6) * Math.log(2) / 1.8,
  );
});

Deno.test("lossFrom() counts the tokens that follow from 0 on for weights of one's own", () => {
  const places: number[] = [];
  const loss = lossFrom(tokens(null, 0.5, 0.25, 0.125), 4, (place) => {
    places.push(place);
    return place === 0 ? 3 : 1;
  });
  assertEquals(places, [0, 1]);
  assertAlmostEquals(loss!.loss, (3 * Math.log(4) + Math.log(8)) / 4);
});

Deno.test("lossFrom() refuses weights that are none", () => {
  for (const weight of [-1, NaN, Infinity]) {
    const error = assertThrows(() => lossFrom(tokens(0.5), 0, () => weight), InputError);
    assertEquals(
      error.message,
      `Cannot weigh tokens as weights must be numbers from 0 on: that of token 0 is ${weight}`,
    );
  }
});
