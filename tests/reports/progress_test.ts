import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import {
  describeStatus,
  drawStatus,
  type RunStatus,
  secondsLeft,
} from "../../lib/reports/progress.ts";

const STANDING: RunStatus = {
  total: 1150,
  done: 230,
  resumed: 0,
  solved: 160,
  invalid: 5,
  inFlight: 8,
  tokens: 1_234_567,
  usd: 3.456,
  seconds: 60,
};

Deno.test("describeStatus() tells every figure in words", () => {
  assertEquals(
    describeStatus(STANDING),
    "230/1150 trials, 160 solved (71.1%), 4 min left, 5 invalid, " +
      "$3.46, 8 in flight, 1234567 tokens",
  );
});

Deno.test("describeStatus() leaves out what is not known or over", () => {
  assertEquals(
    describeStatus({ ...STANDING, total: 230, usd: undefined, inFlight: 0 }),
    "230/230 trials, 160 solved (71.1%), 5 invalid, 1234567 tokens",
  );
  assertEquals(
    describeStatus({ ...STANDING, done: 5, solved: 0, resumed: 5 }),
    "5/1150 trials, 0 solved, 5 invalid, $3.46, 8 in flight, 1234567 tokens",
  );
});

Deno.test("secondsLeft() goes by the trials that this run has carried out", () => {
  assertEquals(secondsLeft(STANDING), 240);
  assertEquals(secondsLeft({ ...STANDING, resumed: 130 }), 60 * 920 / 100);
  assertEquals(secondsLeft({ ...STANDING, resumed: 230 }), undefined);
  assertEquals(secondsLeft({ ...STANDING, done: 0 }), undefined);
  // Trials that turned out not to be needed shrink what is left.
  assertEquals(secondsLeft({ ...STANDING, total: 345 }), 30);
});

Deno.test("drawStatus() draws a bar of the share that is done, with the figures beside it", () => {
  assertEquals(
    drawStatus(STANDING, 130),
    "[==--------] 20% 230/1150  160 solved (71.1%)  4 min left  5 invalid  $3.46  " +
      "8 in flight  1234567 tokens",
  );
  assertEquals(
    drawStatus({ ...STANDING, total: 230, inFlight: 0 }, 130),
    "[==========] 100% 230/230  160 solved (71.1%)  5 invalid  $3.46  1234567 tokens",
  );
});

Deno.test("drawStatus() says 100% only when all is done", () => {
  assertMatch(drawStatus({ ...STANDING, done: 1149 }, 130), /^\[=+-\] 99% 1149\/1150 /);
  assertMatch(
    drawStatus({ ...STANDING, total: 0, done: 0, solved: 0, invalid: 0 }, 130),
    /^\[=+\] 100% 0\/0 /,
  );
});

Deno.test("drawStatus() fits any width, and gives up the least important figures first", () => {
  for (let width = 0; width <= 130; width++) {
    assert(drawStatus(STANDING, width).length <= width, `${width}`);
  }
  assertEquals(
    drawStatus(STANDING, 79),
    "[==--------] 20% 230/1150  160 solved (71.1%)  4 min left  5 invalid  $3.46",
  );
});

Deno.test("drawStatus() tells hours, minutes and seconds", () => {
  for (
    const [seconds, words] of [[0.2, "1 s left"], [59, "59 s left"], [61, "1 min left"], [
      3600 * 5 + 120,
      "5 h 2 min left",
    ]] as const
  ) {
    const standing = { ...STANDING, total: 2, done: 1, solved: 1, invalid: 0, seconds };
    assertStringIncludes(drawStatus(standing, 200), `  ${words}  `);
  }
});
