import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { mapConcurrent } from "../../lib/base/concurrent.ts";
import fc from "../support/fast_check.ts";

/** Passes turns of the event loop, so that work overlaps without a clock. */
async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await Promise.resolve();
}

Deno.test("mapConcurrent() begins in order, holds its bound, uses it, and gives results in order", async () => {
  await fc.assert(fc.asyncProperty(
    // No turns stand for work that is done at once.
    fc.array(fc.nat({ max: 12 }), { minLength: 1, maxLength: 40 }),
    fc.integer({ min: 1, max: 12 }),
    async (slowness, most) => {
      const begun: number[] = [];
      let [underWay, highest] = [0, 0];
      const results = await mapConcurrent(slowness.length, (place) => {
        begun.push(place);
        highest = Math.max(highest, ++underWay);
        const end = () => (underWay--, `result ${place}`);
        return slowness[place] === 0 ? end() : turns(slowness[place]!).then(end);
      }, { most });
      assertEquals(begun, [...slowness.keys()]);
      assertEquals(results, slowness.map((_, place) => `result ${place}`));
      assert(highest <= most);
      if (slowness.every((slow) => slow > 0)) {
        assertEquals(highest, Math.min(most, slowness.length));
      }
    },
  ));
});

Deno.test("mapConcurrent() gives results and errors at once where nothing has to be awaited", () => {
  assertEquals(mapConcurrent(3, (place) => place, { most: 2 }), [0, 1, 2]);
  assertEquals(mapConcurrent(0, (place) => place, { most: 2 }), []);
  const begun: number[] = [];
  const begin = (place: number) => {
    begun.push(place);
    if (place === 1) throw new TypeError("at once");
    return place;
  };
  assertThrows(() => mapConcurrent(3, begin, { most: 1 }), TypeError, "at once");
  assertEquals(begun, [0, 1]);
});

Deno.test("mapConcurrent() begins nothing after an error, awaits what has begun, and throws the first", async () => {
  const ended: number[] = [];
  const begun: number[] = [];
  const begin = async (place: number) => {
    begun.push(place);
    await turns([9, 6, 3, 20, 1][place]!);
    ended.push(place);
    if (place === 1 || place === 2) throw new Error(`error ${place}`);
    return place;
  };
  await assertRejects(async () => await mapConcurrent(5, begin, { most: 4 }), Error, "error 1");
  assertEquals(begun, [0, 1, 2, 3]);
  assertEquals(ended, [2, 1, 0, 3]);
});

Deno.test("mapConcurrent() begins nothing once it is told to end", async () => {
  const begun: number[] = [];
  const begin = async (place: number) => {
    begun.push(place);
    await turns(2);
    return place;
  };
  const results = await mapConcurrent(5, begin, { most: 2, ended: () => begun.length >= 3 });
  assertEquals(begun, [0, 1, 2]);
  assertEquals(results, [0, 1, 2, undefined, undefined]);
});
