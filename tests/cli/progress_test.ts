import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { Progress, type Screen } from "../../lib/cli/running.ts";
import { planSuite } from "../../lib/runs/plan.ts";
import type { SkippedTrial } from "../../lib/runs/early_stopping.ts";
import { record, stageOf } from "../support/records.ts";
import { SMALL } from "../support/suites.ts";
import { VirtualClock } from "../support/virtual_clock.ts";

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

Deno.test("Progress writes a plain line every 10 seconds where there is no terminal, and one at the end", async () => {
  using clock = new VirtualClock();
  const screen = screenOf(false);
  const progress = new Progress(PLAN, screen, clock);
  progress.start({ trials: PLAN.trials.slice(0, 45), inFlight: 3 });
  for (let seed = 0; seed < 45; seed++) {
    await clock.pause(1_000);
    progress.count(record({ seed }), false);
  }
  progress.stop();
  progress.stop();
  const lines = screen.text.trimEnd().split("\n");
  const done = lines.map((line) => Number(/^(\d+)\/45 trials, \1 solved /.exec(line)![1]));
  // A line comes before the trial that ends at the same moment.
  assertEquals(done, [9, 19, 29, 39, 45], screen.text);
  assertEquals(clock.waiting, 0, "it still waits for the next line");
  // deno-lint-ignore no-control-regex
  assertEquals(/[\x1b\r]/.test(screen.text), false);
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
  assertMatch(told("b"), / invalid, \$8\.00, 9 tokens$/);
  assertMatch(told("unknown"), / invalid, 9 tokens$/);
});
