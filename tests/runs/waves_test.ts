// Journals of waves: what a gate says of them, and of those that do not belong together.

import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { InputError } from "../../lib/base/errors.ts";
import { fork } from "../../lib/base/random.ts";
import { decideTrials, worstKind } from "../../lib/gate/decide_trials.ts";
import type { GatePolicy } from "../../lib/gate/policy.ts";
import { blocksOfWave } from "../../lib/gate/waves.ts";
import { acceptResults } from "../../lib/runs/record.ts";
import { shardOf } from "../../lib/runs/_assign_shards.ts";
import { decideResults } from "../../lib/runs/decide_results.ts";
import { readPlanLine } from "../../lib/runs/journal/journal.ts";
import { planLine } from "../../lib/runs/journal/plan_line.ts";
import { readResults } from "../../lib/runs/journal/results.ts";
import { type Plan, planSuite } from "../../lib/runs/plan.ts";
import { comparisonHash, planHash } from "../../lib/runs/resolved_suite.ts";
import { parseWave, partText } from "../../lib/runs/shard_text.ts";
import type { Suite } from "../../lib/runs/suite.ts";
import type { Trial } from "../../lib/trials/trial.ts";
import fc from "../support/fast_check.ts";
import { Folder } from "../support/folders.ts";
import { collect, linesOf } from "../support/journals.ts";
import { finish } from "../support/records.ts";
import { aloneUntilDecided, type Ends, pathOf, writeWave } from "../support/waves.ts";

function planOf(gate: GatePolicy, traits: Partial<Suite> = {}): Plan {
  const tasks = [{ core: [1, 2], depth: [0, 1] }];
  const suite = { name: "s", seed: 1, tasks, models: ["new", "old"], ...traits };
  return planSuite({ ...suite, gate: { ...gate, sequential: true } });
}

const RATE = planOf({ successRate: 0.8, margin: 0.3 });
const UPGRADE = planOf({ baseline: "old", margin: 0.3, discordance: 0.4 });

/** How all trials of a plan would end, with a rate for each model; a few are invalid. */
function endsOf({ trials }: Plan, seed: number, rates: Record<string, number>, invalid = 0): Ends {
  const { prng } = fork(seed, "ends");
  return trials.map((planned) => {
    const outcome = prng() < invalid
      ? "invalid"
      : prng() < rates[planned.model]!
      ? "solved"
      : "wrong_answer";
    return finish(planned, { outcome });
  });
}

/** What the gate says of journals. */
function verdictsOf(paths: readonly string[], plan: Plan) {
  const { trials, planned, rule, stopped, waves, problem } = readResults(paths);
  assertEquals(problem, undefined);
  return decideTrials(trials, planned, plan.gate!, { rule, stopped, waves });
}

const COURSES = fc.record({
  isUpgrade: fc.boolean(),
  seed: fc.nat(),
  rates: fc.record({
    new: fc.double({ min: 0.2, max: 1, noNaN: true }),
    old: fc.double({ min: 0.2, max: 1, noNaN: true }),
  }),
  invalid: fc.constantFrom(0, 0, 0.02, 0.3),
  waves: fc.integer({ min: 1, max: 9 }),
  shards: fc.integer({ min: 1, max: 4 }),
});

Deno.test("a gate over waves goes on until the wave in which one machine stops, and then says the same", () => {
  const kinds = new Set<string>();
  fc.assertAll(
    fc.property(COURSES, ({ isUpgrade, seed, rates, invalid, waves: of, shards }) => {
      const plan = isUpgrade ? UPGRADE : RATE;
      using folder = new Folder();
      const fates = endsOf(plan, seed, rates, invalid);
      const alone = aloneUntilDecided(plan, fates);
      const judged = decideTrials(alone, plan.trials, plan.gate!, { rule: plan.rule });
      // The block after which each decision was made, or at which the plan ends.
      const ends = judged.map(({ model }) =>
        alone.reduce(
          (most, { model: own, block }) => own.requested === model ? Math.max(most, block) : most,
          0,
        )
      );
      const last = Math.max(...ends);
      const paths: string[] = [];
      const earlier: Trial[] = [];
      for (let index = 1; index <= of; index++) {
        const wave = { index, of };
        const { first, end } = blocksOfWave(wave, plan.resolved.graphs);
        const written = writeWave(folder, plan, fates, { shards, wave, earlier });
        paths.push(...written.paths);
        earlier.push(...written.trials);
        const verdicts = verdictsOf(paths, plan).map(({ verdict }) => verdict);
        for (const [place, verdict] of verdicts.entries()) {
          if (ends[place]! >= end) assertEquals(verdict.kind, "continue", `wave ${index} of ${of}`);
          else assertEquals(verdict, judged[place]!.verdict);
        }
        const kind = worstKind(verdicts);
        if (verdicts.every((verdict) => verdict.kind !== "invalid")) {
          assertEquals(kind === "continue", end <= last);
        }
        if (end <= last) continue;
        kinds.add(kind);
        // Of what has decided nothing is run in later waves, and no more than the rest of this one is wasted.
        const wasted = earlier.filter(({ block }) => block > last);
        assert(wasted.every(({ block }) => block >= first && block < end));
        break;
      }
      assertEquals(new Set(earlier.map(({ id }) => id)).size, earlier.length);
    }),
    { numRuns: 60 },
  );
  assertEquals([...kinds].sort(), ["fail", "invalid", "pass", "undecided"]);
});

/** Trials of which each undecided gate needs more. */
const OPEN = endsOf(RATE, 11, { new: 0.65, old: 0.65 });
const WAVES = 4;

/** Writes the first waves of two shards. */
function writeWaves(folder: Folder, count: number, ends = OPEN): string[] {
  const earlier: Trial[] = [];
  return Array.from({ length: count }, (_, place) => {
    const wave = { index: place + 1, of: WAVES };
    const { paths, trials } = writeWave(folder, RATE, ends, { shards: 2, wave, earlier });
    earlier.push(...trials);
    return paths;
  }).flat();
}

Deno.test("a plan line has its wave, which no hash of the plan covers", () => {
  const wave = { index: 2, of: WAVES };
  const line = planLine(RATE, { index: 1, of: 2 }, wave);
  assertEquals([planHash(line), comparisonHash(line)], [planHash(RATE), comparisonHash(RATE)]);
  using folder = new Folder();
  assertEquals(readPlanLine(folder.write("a.jsonl", linesOf([line])))?.wave, wave);
});

Deno.test("parseWave() reads K and K/N, and refuses what is no wave", () => {
  assertEquals(parseWave("3"), { index: 3 });
  assertEquals(parseWave("3/6"), { index: 3, of: 6 });
  for (const text of ["0", "7/6", "-1", "1/", "a", "1/2/3", "1.5", ""]) {
    assertThrows(() => parseWave(text), InputError, "it must be K or K/N with 1 <= K <= N");
  }
  assertEquals(partText({ index: 1, of: 1 }, { index: 2, of: 6 }), "wave 2/6");
  assertEquals(partText({ index: 3, of: 4 }, { index: 2, of: 6 }), "shard 3/4 of wave 2/6");
});

Deno.test("decideResults() says which wave to run next, and how, with exit code 4", async () => {
  using folder = new Folder();
  const paths = writeWaves(folder, 2);
  const { verdict, exitCode, verdicts } = await decideResults(readResults(paths), RATE.gate!);
  assertEquals([verdict, exitCode], ["continue", 4]);
  const accept = () => acceptResults(readResults(paths), "it");
  assertThrows(accept, InputError, "continue the run with --resume, or with its next wave");
  for (const one of verdicts) {
    assert(one.kind === "continue");
    assertEquals(one.next, { index: 3, of: WAVES });
    assertMatch(
      one.text,
      new RegExp(
        "^CONTINUE: the trials of waves 1 to 2 cannot tell yet whether the true success rate is at least " +
          ".* Run wave 3 of 4 next, by the same command on each of the 2 shards with --wave=3/4 " +
          "and a new --out in the same folder\\.$",
      ),
    );
    assertMatch(one.numbers[0]!, /^solved: \d+ of \d+ valid trials/);
  }
});

Deno.test("a gate over waves of which a shard is missing or short is invalid, and names it", async (context) => {
  using folder = new Folder();
  const paths = writeWaves(folder, 3);
  const text = (path: string) => Deno.readTextFileSync(path);
  const cut = folder.write("cut.jsonl", text(paths[3]!).split("\n").slice(0, -2).join("\n") + "\n");
  const empty = folder.write("empty.jsonl", "");
  const cases: [string, string[], RegExp][] = [
    [
      "a shard of the last wave",
      paths.slice(0, 5),
      /shard 2\/2 of wave 3\/4 is missing: .* with --shard 2\/2 --wave 3\/4 and an --out of its own in the same folder\.$/m,
    ],
    ["a shard of the first wave", paths.slice(1), /shard 1\/2 of wave 1\/4 is missing: /],
    [
      "a whole wave between others",
      [0, 1, 4, 5].map((place) => paths[place]!),
      /shard (\d)\/2 of wave 2\/4 is missing: .*; so is shard (?!\1)\d\/2 of wave 2\/4\.$/m,
    ],
    [
      "one that was killed",
      [...paths.slice(0, 3), cut],
      /shard 2\/2 of wave 2\/4 \(\S+cut\.jsonl\) lacks 1 of its \d+ trials: .*--resume/,
    ],
    ["an empty one", [...paths.slice(0, 3), empty], /shard 2\/2 of wave 2\/4 is missing/],
  ];
  for (const [name, files, told] of cases) {
    await context.step(name, async () => {
      const { verdict, exitCode, verdicts } = await decideResults(readResults(files), RATE.gate!);
      assertEquals([verdict, exitCode], ["invalid", 3]);
      // A model whose trials are all there would go on by itself.
      assertMatch(verdicts.map(({ text }) => text).join("\n"), told);
      assertThrows(() => acceptResults(readResults(files), "it"), InputError, "its next wave");
    });
  }
});

Deno.test("journals of waves that do not belong together are no run", async (context) => {
  using folder = new Folder();
  const paths = writeWaves(folder, 2);
  const [first] = paths as [string];
  const write = (name: string, ...line: Parameters<typeof planLine>) =>
    folder.write(name, linesOf([planLine(...line)]));
  const trials = shardOf(RATE, { index: 2, of: 2 }, { index: 2, of: WAVES })
    .map(({ index }) => OPEN[index]!);
  const wave = { index: 2, of: WAVES };
  const cases: [string, string[], RegExp][] = [
    [
      "a wave twice",
      [...paths, first],
      /shard 1\/2 of wave 1\/4 is there twice: \S+ is given twice/,
    ],
    [
      "another number of waves",
      [first, write("five.jsonl", RATE, { index: 2, of: 2 }, { index: 2, of: 5 })],
      /not waves of one run: \S+ is shard 1\/2 of wave 1\/4, \S+ is shard 2\/2 of wave 2\/5/,
    ],
    [
      "another number of shards",
      [first, write("shards.jsonl", RATE, { index: 2, of: 3 }, wave)],
      /not shards of one run: \S+ is shard 1\/2 of wave 1\/4, \S+ is shard 2\/3 of wave 2\/4/,
    ],
    [
      "a run without waves",
      [first, write("whole.jsonl", RATE, { index: 2, of: 2 })],
      /not waves of one run: \S+ is shard 1\/2 of wave 1\/4, \S+ is shard 2\/2/,
    ],
    [
      "a trial of another wave",
      [folder.write(
        "moved.jsonl",
        linesOf([planLine(RATE, { index: 2, of: 2 }, { index: 1, of: WAVES }), trials[0]]),
      )],
      /is shard 2\/2 of wave 1\/4 and has a trial of shard 2\/2 of wave 2\/4: /,
    ],
    [
      "more waves than blocks",
      [write("many.jsonl", RATE, { index: 1, of: 1 }, { index: 1, of: 500 })],
      /is of one of 500 waves, and its plan has \d+ blocks/,
    ],
    [
      "a gate of fixed size",
      [write(
        "fixed.jsonl",
        planSuite({
          name: "s",
          seed: 1,
          tasks: [{ core: 1, depth: 0 }],
          models: ["new"],
          gate: { successRate: 0.8 },
        }),
        { index: 1, of: 1 },
        { index: 1, of: 2 },
      )],
      /only a sequential gate is run in waves/,
    ],
  ];
  for (const [name, files, told] of cases) {
    await context.step(name, () => assertMatch(readResults(files).problem ?? "no problem", told));
  }
});

Deno.test("a gate that has decided needs no shard after that, and its results can be accepted", async () => {
  using folder = new Folder();
  const ends = endsOf(RATE, 1, { new: 1, old: 1 });
  const paths = writeWaves(folder, 2, ends);
  // The first wave decides; what a killed shard of the second one lacks matters to nobody.
  const results = readResults(paths.slice(0, 3));
  assertEquals((await decideResults(results, RATE.gate!)).verdict, "pass");
  assertEquals(acceptResults(results, "it").subjects.length, 2);
});

Deno.test("a model that has decided is not run again, while the run goes on for another one", async () => {
  using folder = new Folder();
  const ends = endsOf(RATE, 3, { new: 0.3, old: 0.65 });
  const paths = writeWaves(folder, 3, ends);
  const models = new Set(
    readResults(paths.slice(4)).trials.map(({ model }) => model.requested),
  );
  assertEquals([...models], ["old"]);
  const { verdict, exitCode, verdicts } = await decideResults(readResults(paths), RATE.gate!);
  assertEquals([verdict, exitCode], ["continue", 4]);
  assertEquals(verdicts.map(({ kind }) => kind), ["fail", "continue"]);
});

Deno.test("a gate over later waves names the first one also for a model of which these have no trial", async () => {
  using folder = new Folder();
  const paths = writeWaves(folder, 3, endsOf(RATE, 3, { new: 0.3, old: 0.65 }));
  const { verdicts } = await decideResults(readResults(paths.slice(4)), RATE.gate!);
  assertEquals(verdicts.length, 2);
  for (const { text } of verdicts) {
    assertMatch(text, /^INVALID: shard \d\/2 of wave 1\/4 is missing: /);
  }
});

Deno.test("a call that must not happen fails a gate over waves at once", () => {
  using folder = new Folder();
  const plan = planOf({ successRate: 0.8, margin: 0.3 }, { models: ["new"] });
  const ends = endsOf(plan, 3, { new: 0.65 });
  const never = { never: true as const };
  const marked = ends.map((trial, place) => place === 0 ? { ...trial, ...never } : trial);
  const wave = { index: 1, of: WAVES };
  const { paths, trials } = writeWave(folder, plan, ends, { shards: 1, wave, earlier: [] });
  const { waves, planned, rule } = readResults(paths);
  const [first] = decideTrials(
    trials.map(({ index }) => marked[index] as never),
    planned,
    plan.gate!,
    { rule, waves },
  );
  assert(first !== undefined && "never" in first.verdict);
  assertEquals([first.verdict.otherwise, worstKind([first.verdict])], ["continue", "fail"]);
});

Deno.test("readCollection() takes the waves of a run as one, and another run of a wave as another one", () => {
  using one = new Folder();
  using other = new Folder();
  const paths = writeWaves(one, 2);
  assertEquals(collect([paths]).runs.length, 1);
  const later = OPEN.map((trial) => ({ ...trial, startedAt: "2026-02-02T00:00:00.000Z" }));
  const again = writeWaves(other, 2, later);
  assertEquals(collect([paths, again]).runs.length, 2);
  assertEquals(pathOf(one, { index: 1, of: 2 }, { index: 1, of: WAVES }), paths[0]);
});
