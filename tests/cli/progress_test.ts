import { assert, assertEquals, assertLess, assertMatch, assertStringIncludes } from "@std/assert";
import {
  describeStatus,
  drawStatus,
  Progress,
  type RunStatus,
  type Screen,
  secondsLeft,
} from "../../lib/cli/progress.ts";
import { planSuite } from "../../lib/runs/plan.ts";
import type { SkippedTrial } from "../../lib/runs/early_stopping.ts";
import { record, stageOf } from "../support/records.ts";
import { SMALL } from "../support/suites.ts";

const STANDING: RunStatus = {
  total: 1150,
  done: 230,
  resumed: 0,
  solved: 160,
  bounded: true,
  invalid: 5,
  inFlight: 8,
  tokens: 1_234_567,
  usd: 3.456,
  seconds: 60,
};

Deno.test("describeStatus() tells every figure in words", () => {
  assertEquals(
    describeStatus(STANDING),
    "230/1150 trials, 160 solved (71.1%, 95% interval 64.9% to 76.6%), 5 invalid, 8 in flight, " +
      "1234567 tokens, $3.46, 4 min left",
  );
});

Deno.test("describeStatus() leaves out what is not known or over", () => {
  assertEquals(
    describeStatus({ ...STANDING, total: 230, usd: undefined, inFlight: 0 }),
    "230/230 trials, 160 solved (71.1%, 95% interval 64.9% to 76.6%), 5 invalid, 1234567 tokens",
  );
  assertEquals(
    describeStatus({ ...STANDING, done: 5, solved: 0, resumed: 5 }),
    "5/1150 trials, 0 solved, 5 invalid, 8 in flight, 1234567 tokens, $3.46",
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
    "[====----------------] 20% 230/1150  71% solved (65-77%)  4 min left  5 invalid  $3.46  " +
      "8 in flight  1.2M tokens",
  );
  assertEquals(
    drawStatus({ ...STANDING, total: 230, inFlight: 0 }, 130),
    "[====================] 100% 230/230  71% solved (65-77%)  5 invalid  $3.46  1.2M tokens",
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
    "[==--------] 20% 230/1150  71% solved (65-77%)  4 min left  5 invalid  $3.46",
  );
  assertEquals(drawStatus(STANDING, 40), "[==--------] 20% 230/1150");
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

/** A screen that keeps what is written. */
function screenOf(isTerminal: boolean): Screen & { text: string } {
  return {
    isTerminal,
    text: "",
    width: () => 80,
    write(text) {
      this.text += text;
    },
  };
}

const PLAN = planSuite({ ...SMALL, graphs: 100 });
const NEEDLESS: SkippedTrial = { kind: "needless", by: "gate", reason: "it had decided" };

Deno.test("Progress writes at most eleven plain lines where there is no terminal", () => {
  for (const trials of [1, 5, 10, 11, 99, 400]) {
    const screen = screenOf(false);
    const progress = new Progress(PLAN, screen);
    progress.start({ trials: PLAN.trials.slice(0, trials), inFlight: 3 });
    for (let seed = 0; seed < trials; seed++) progress.count(record({ seed }), false);
    progress.stop();
    progress.stop();
    const lines = screen.text.trimEnd().split("\n");
    assertLess(lines.length, 12);
    assertMatch(lines.at(-1)!, new RegExp(`^${trials}/${trials} trials, ${trials} solved `));
    // deno-lint-ignore no-control-regex
    assertEquals(/[\x1b\r]/.test(screen.text), false);
  }
});

Deno.test("Progress counts resumed trials as done, and needless ones not at all", () => {
  const screen = screenOf(false);
  const progress = new Progress(PLAN, screen);
  for (let seed = 0; seed < 40; seed++) progress.count(record({ seed }), true);
  progress.start({ trials: PLAN.trials, inFlight: 0 });
  assertEquals(screen.text, "", "what the journal had is no progress");
  for (let seed = 40; seed < 60; seed++) {
    progress.count(record({ seed, outcome: "wrong_answer" }), false);
  }
  for (let seed = 60; seed < 400; seed++) progress.count(NEEDLESS, false);
  progress.stop();
  assertMatch(screen.text, /^60\/60 trials, 40 solved \(66\.7%\), 0 invalid, 720 tokens\n$/);
});

Deno.test("Progress of a run that has nothing left to do tells how it stands", () => {
  const screen = screenOf(false);
  const progress = new Progress(PLAN, screen);
  for (let seed = 0; seed < 400; seed++) progress.count(record({ seed }), true);
  progress.start({ trials: PLAN.trials, inFlight: 0 });
  progress.stop();
  assertMatch(screen.text, /^400\/400 trials, 400 solved .*\n$/);
});

Deno.test("Progress tells dollars where each model has a price, and no share of them else", () => {
  const price = { input: 1000, output: 50_000 };
  for (
    const [prices, words] of [
      [{ a: price, b: price }, ", $0.22\n"],
      [{ a: price }, "tokens\n"],
    ] as const
  ) {
    const screen = screenOf(false);
    const progress = new Progress(planSuite({ ...SMALL, graphs: 1, prices }), screen);
    progress.start({ trials: PLAN.trials.slice(0, 2), inFlight: 0 });
    for (const model of ["a", "b"]) progress.count(record({ model }), false);
    progress.stop();
    assert(screen.text.endsWith(words), screen.text);
  }
});

Deno.test("Progress draws over one line of a terminal, and gives the cursor back", () => {
  const screen = screenOf(true);
  const progress = new Progress(PLAN, screen);
  progress.start({ trials: PLAN.trials.slice(0, 2), inFlight: 1 });
  progress.count(record({ seed: 1 }), false);
  progress.count(record({ seed: 2 }), false);
  progress.stop();
  const { text } = screen;
  assertStringIncludes(text, "\x1b[?25l");
  assert(text.lastIndexOf("\x1b[?25h") > text.lastIndexOf("\x1b[?25l"), "the cursor stays hidden");
  assert(text.lastIndexOf("\x1b[?7h") > text.lastIndexOf("\x1b[?7l"), "lines do not wrap any more");
  assertStringIncludes(text, "[----------] 0% 0/2");
  assertStringIncludes(text, "[==========] 100% 2/2");
  assertEquals(text.match(/\n/g)?.length, 1, "it is one line");
  // The position of the cursor is no one's to restore: the screen may have scrolled.
  // deno-lint-ignore no-control-regex
  assertEquals(/\x1b[78]/.test(text), false);
});

Deno.test("Progress tells dollars of all models that take part, and none where a price is not known", () => {
  const prices = { a: { input: 1e6, output: 0 }, b: { input: 0, output: 0 } };
  const plan = planSuite({ ...SMALL, prices });
  const usage = { inputTokens: 3, outputTokens: 0 };
  const staged = (requested: string) => ({
    ...record({ model: "a", usage, stages: [stageOf(requested, 1)] }),
    replaced: usage,
  });
  const told = (model: string) => {
    const screen = screenOf(false);
    const progress = new Progress(plan, screen);
    progress.start({ trials: plan.trials.slice(0, 2), inFlight: 0 });
    for (const trial of [staged(model), record({ model: "a", usage })]) {
      progress.count(trial, false);
    }
    progress.stop();
    return screen.text.trimEnd().split("\n").at(-1)!;
  };
  assertMatch(told("b"), /, 9 tokens, \$8\.00$/);
  assertMatch(told("unknown"), /, 9 tokens$/);
});
