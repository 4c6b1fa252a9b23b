import { assert, assertEquals } from "@std/assert";
import { spansToRemove } from "../../lib/perturbations/_removal.ts";
import fc from "../support/fast_check.ts";

/** What is left of a text. */
function rest(text: string, spans: readonly { start: number; end: number }[]): string {
  let left = "";
  let from = 0;
  for (const { start, end } of spansToRemove(text, spans)) {
    left += text.slice(from, start);
    from = end;
  }
  return left + text.slice(from);
}

Deno.test("parts that are removed take what dangles along, also where the next one begins at a point", () => {
  const text = "a. X : Y b";
  assertEquals(rest(text, [{ start: 3, end: 4 }, { start: 5, end: 8 }]), "a. b");
});

Deno.test("any parts of any text are removed, and the work ends", () => {
  const character = fc.constantFrom(..."ab .,;:!?-()[]\"'\n\tXé😀");
  const texts = fc.array(character, { maxLength: 30 }).map((own) => own.join(""));
  const places = fc.array(fc.tuple(fc.nat(40), fc.nat(40)), { maxLength: 4 });
  fc.assert(
    fc.property(texts, places, (text, pairs) => {
      const spans = pairs.map(([one, other]) => {
        const [start, end] = [one, other].map((place) => Math.min(place, text.length));
        return { start: Math.min(start!, end!), end: Math.max(start!, end!) };
      });
      const removed = spansToRemove(text, spans);
      for (const { start, end } of spans) {
        for (let place = start; place < end; place++) {
          assert(removed.some((part) => part.start <= place && place < part.end), `${place}`);
        }
      }
    }),
    { numRuns: 2000 },
  );
});
