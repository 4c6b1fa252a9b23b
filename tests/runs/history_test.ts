// Histories: what is kept of runs, what is left out and named, and which releases later runs are compared with.

import { assert, assertEquals, assertMatch, assertStringIncludes, assertThrows } from "@std/assert";
import { InputError } from "../../lib/base/errors.ts";
import {
  addRecord,
  addRelease,
  type History,
  partOf,
  readHistory,
  releasesOf,
} from "../../lib/runs/history/history.ts";
import { recordText, type RunRecord } from "../../lib/runs/record.ts";
import { filesIn } from "../../lib/base/folder.ts";
import { watchedName, watchHistory } from "../../lib/runs/history/watch.ts";
import { clopperPearson } from "../../lib/statistics/proportions.ts";
import { folder } from "../support/child.ts";
import { changed, dateAfter, type MadeRun, recordFile, writeRecords } from "../support/history.ts";

const NOW = new Date("2026-07-15T12:00:00.000Z");

/** A folder with records, and what is read of it. */
async function written(runs: readonly (MadeRun | RunRecord)[]) {
  const place = await folder();
  const path = place.file("history");
  const files = writeRecords(path, runs);
  const read = () => readHistory([{ path, shown: "history" }], NOW);
  return { place, path, files, read, [Symbol.asyncDispose]: () => place[Symbol.asyncDispose]() };
}

/** Accepts a record at a time. */
function accept(
  path: string,
  record: RunRecord,
  name: string,
  { at = NOW, anchor = false }: { readonly at?: Date; readonly anchor?: boolean } = {},
): void {
  const here = { path, shown: "history" };
  addRelease(here, record, { name, anchor }, readHistory([here], NOW), at);
}

const RUNS = [0, 1, 2].map((day): MadeRun => ({ date: dateAfter(day) }));

Deno.test("a history is the same, however often its records are written and read", async () => {
  await using made = await written(RUNS);
  const { records, leftOut } = made.read();
  assertEquals(leftOut, []);
  assertEquals(records.map(({ path: _, ...file }) => file), RUNS.map(recordFile));
  const here = { path: made.path, shown: "history" };
  assertEquals(addRecord(here, recordFile(RUNS[1]!), made.read()).isNew, false);
  assertEquals([...Deno.readDirSync(made.path)].length, 3);
});

/** Files that cannot be used, and why. */
const UNUSABLE: [name: string, text: (record: RunRecord) => string, why: RegExp][] = [
  ["edited", (one) => recordText(one).replace("wrong_answer", "solved"), /its checksum must be/],
  [
    "of more trials than its plan has",
    (one) =>
      recordText(changed(one, {
        subjects: one.subjects.map((own) => ({ ...own, trials: [...own.trials, null] })),
      })),
    /a subject has at most 20 trials: one has 21/,
  ],
  [
    "not ended yet",
    (one) => recordText(changed(one, { endedAt: "2031-01-01T00:00:00.000Z" })),
    /its run must have ended.*one of two clocks is wrong/,
  ],
  ["of another version", (one) => recordText(changed(one, { v: 2 as 1 })), /of version 2 of the/],
  ["no record", () => '{"kind":"recording"}', /it must be the record of a run/],
  ["no JSON", () => '{"kind":"reco', /it must be the record of a run/],
  [
    "a plan that makes no sense",
    (one) => {
      const resolved = { ...one.resolved, cells: [{ core: "<b>" }] };
      return recordText(changed(one, { resolved: resolved as never }));
    },
    /bad\.json/,
  ],
  [
    "a plan of endless trials",
    (one) => recordText(changed(one, { resolved: { ...one.resolved, graphs: 1e15 } })),
    /bad\.json/,
  ],
  [
    "few trials of many variants, whose plans would take minutes",
    (one) => {
      const resolved = { ...one.resolved, graphs: 2_000 };
      const subjects = new Array(300).fill({ ...one.subjects[0]!, trials: [] });
      return recordText(changed(one, { resolved, subjects }));
    },
    /a run has at most 1000000 trials: it has 1200000/,
  ],
];

for (const [what, text, why] of UNUSABLE) {
  Deno.test(`a record is named and left out: ${what}`, async () => {
    await using made = await written(RUNS);
    Deno.writeTextFileSync(`${made.path}/bad.json`, text(recordFile({ date: dateAfter(9) })));
    const { records, leftOut } = made.read();
    assertEquals(records.length, 3);
    assertEquals(leftOut.length, 1);
    assertMatch(leftOut[0]!, /^Left out: .*history\/bad\.json/);
    assertMatch(leftOut[0]!, why);
  });
}

Deno.test("a record that is there twice, or shares trials with another one, counts once", async () => {
  await using made = await written(RUNS);
  const [first] = RUNS.map(recordFile);
  Deno.copyFileSync(made.files[0]!, `${made.path}/copy.json`);
  // As when a journal is recorded, then continued, and recorded from another branch.
  const shorter = changed(first!, {
    subjects: first!.subjects.map((one) => ({ ...one, trials: one.trials.slice(0, 5) })),
  });
  writeRecords(made.path, [shorter]);
  const { records, leftOut } = made.read();
  assertEquals(records.length, 3);
  assertEquals(leftOut.length, 2);
  assertEquals(records[0]!.subjects[0]!.trials.length, 20);
});

Deno.test("half a record, as of a run that was killed, is named, and whole once it is added again", async () => {
  await using made = await written(RUNS);
  const text = Deno.readTextFileSync(made.files[1]!);
  Deno.writeTextFileSync(made.files[1]!, text.slice(0, 900));
  assertEquals([made.read().records.length, made.read().leftOut.length], [2, 1]);
  const here = { path: made.path, shown: "history" };
  assert(addRecord(here, recordFile(RUNS[1]!), made.read()).isNew);
  assertEquals(Deno.readTextFileSync(made.files[1]!), text);
  assertEquals([made.read().records.length, made.read().leftOut.length], [3, 0]);
});

Deno.test("a link to a device, of which reading never ends, is no file of a history", async () => {
  await using made = await written(RUNS);
  Deno.symlinkSync("/dev/zero", `${made.path}/zero.json`);
  Deno.symlinkSync("nowhere", `${made.path}/lost.json`);
  assertEquals(
    filesIn(made.path, ".json", "history"),
    [...made.files.map((path) => path.split("/").at(-1)!), "lost.json"],
  );
});

Deno.test("records of other suites and of other tasks are named, and never averaged in", async () => {
  const cells = [{ core: 4, depth: 2, connected: 0, disconnected: 0 }];
  await using made = await written([
    ...RUNS,
    { date: dateAfter(3), suite: "weekly" },
    { date: dateAfter(4), cells },
    { date: dateAfter(5), graphs: 30 },
  ]);
  accept(made.path, recordFile(RUNS[0]!), "v1");
  const part = partOf(made.read());
  assertEquals([part.suite, part.records.length], ["nightly", 4]);
  assertEquals(part.leftOut.length, 2);
  assertMatch(
    part.leftOut.join("\n"),
    /1 record of the suite weekly .*, such as history\/2026-06-04-/,
  );
  assertMatch(
    part.leftOut.join("\n"),
    /1 record of other tasks, which differ in cells, such as history\/2026-06-05-/,
  );
  assertEquals(partOf(made.read(), "weekly").records.length, 1);
  const error = assertThrows(() => partOf(made.read(), "nightlyy"), InputError);
  assertStringIncludes(error.message, "nightly");
});

Deno.test("the first release is the anchor until a person moves it", async () => {
  await using made = await written(RUNS);
  const [one, two, three] = RUNS.map(recordFile) as [RunRecord, RunRecord, RunRecord];
  const at = (hour: number) => ({ at: new Date(NOW.getTime() + hour * 3_600_000 / 100) });
  const names = (history: History) => {
    const { releases, anchor } = releasesOf(history, "nightly");
    return releases.map((own) => own.release.name + (own === anchor ? " (anchor)" : ""));
  };
  accept(made.path, one, "v1");
  accept(made.path, two, "v2", at(1));
  assertEquals(names(made.read()), ["v1 (anchor)", "v2"]);
  accept(made.path, three, "v3", { ...at(2), anchor: true });
  assertEquals(names(made.read()), ["v1", "v2", "v3 (anchor)"]);
  accept(made.path, two, "v2", { ...at(3), anchor: true });
  // The last release stays the last one, and no run has two records.
  assertEquals(names(made.read()), ["v1", "v2 (anchor)", "v3"]);
  assertEquals(made.read().records.length, 3);
  const error = assertThrows(
    () => accept(made.path, recordFile({ date: dateAfter(7) }), "v1", at(4)),
    InputError,
  );
  assertStringIncludes(error.message, "each release has a name of its own");
  // Where folders with a first release each are put together, the first of all is the anchor.
  await using other = await written(RUNS);
  accept(other.path, recordFile({ date: dateAfter(8) }), "worse", {
    at: new Date(NOW.getTime() - 1),
  });
  const both = [other, made].map(({ path }) => ({ path, shown: path }));
  assertEquals(names(readHistory(both, NOW)), ["worse", "v1", "v2 (anchor)", "v3"]);
  assertEquals(readHistory(both, NOW).records.length, 4);
});

Deno.test("where the record of a release cannot be used, nothing is decided by others", async () => {
  await using made = await written(RUNS);
  const [first] = RUNS.map(recordFile);
  accept(made.path, first!, "v1");
  const text = Deno.readTextFileSync(made.files[0]!);
  for (const damaged of [text.slice(0, 900), text.replace("wrong_answer", "solved")]) {
    Deno.writeTextFileSync(made.files[0]!, damaged);
    assertThrows(() => made.read(), InputError, "Cannot use history/2026-06-01-");
  }
});

/** Runs after a release of many trials. */
async function watchedRuns(runs: readonly MadeRun[], release: Partial<MadeRun> = {}) {
  const accepted = { date: dateAfter(-10), graphs: 500, ...release };
  const made = await written([accepted, ...runs]);
  accept(made.path, recordFile(accepted), "v1");
  return made;
}

Deno.test("only runs since the release, of its served model and of fresh tasks, are watched", async () => {
  const moved = [{ served: "made-up-2" }];
  await using made = await watchedRuns([
    { date: dateAfter(-11) },
    { date: dateAfter(0), seed: 5 },
    { date: dateAfter(0), startedAt: `${dateAfter(0)}T21:00:00.000Z` },
    { date: dateAfter(1), seed: 5 },
    { date: dateAfter(2), subjects: moved },
    { date: dateAfter(3), subjects: [{ missing: 4 }], stopped: "its gate had decided" },
    { date: dateAfter(4), subjects: [{ invalid: 20 }] },
    { date: dateAfter(5), subjects: [{ model: "sim:other" }] },
  ]);
  const { watched: [only, ...others], leftOut, exitCode, verdict } = watchHistory(
    partOf(made.read()),
    {},
  );
  assertEquals(others, []);
  assertEquals(
    only!.days.map(({ date, trials, unused }) => [date, trials, unused !== undefined]),
    [
      [dateAfter(0), 40, false],
      [dateAfter(1), 0, true],
      [dateAfter(2), 0, true],
      // Its first two blocks are not whole, so that none is.
      [dateAfter(3), 0, true],
      [dateAfter(4), 0, true],
      [dateAfter(5), 0, true],
    ],
  );
  assertEquals([verdict, exitCode], ["invalid", 3]);
  assertEquals(leftOut.length, 5);
  assertMatch(leftOut[0]!, /2026-06-02-.*20 of its tasks were used before/);
  assertMatch(leftOut[1]!, /2026-06-03-.*another model was served: made-up-2/);
  assertMatch(leftOut[2]!, /2026-06-04-.*there are no trials/);
  assertMatch(leftOut[3]!, /2026-06-05-.*none of 20 planned trials is valid/);
  assertMatch(leftOut[4]!, /2026-06-06-.*it has no trials of sim:made-up/);
});

Deno.test("a release that ended early proves less than one of as many trials, as it may have ended while it was lucky", async () => {
  const whole = recordFile({ date: dateAfter(-10), graphs: 500 });
  const ending = (trials: number) =>
    changed(whole, {
      stopped: "its gate had decided",
      subjects: whole.subjects.map((one) => ({
        ...one,
        trials: one.trials.map((trial, place) => place < trials ? trial : null),
      })),
    });
  for (const [trials, isEarly] of [[800, true], [1000, false]] as const) {
    const release = ending(trials);
    await using made = await written([release, { date: dateAfter(0) }]);
    accept(made.path, release, "v1");
    const { watched: [only] } = watchHistory(partOf(made.read()), {});
    const { solved, valid, lower } = only!.reference;
    assertEquals(valid, trials);
    assertEquals(lower < clopperPearson(solved, valid, 0.95).lower, isEarly);
  }
});

Deno.test("a last run of other tasks, or without the model, is no quiet one", async () => {
  const cells = [{ core: 3, depth: 1, connected: 0, disconnected: 0 }];
  for (
    const [last, why] of [
      [{ cells }, /it is of other tasks, which differ in cells/],
      [{ judge: "lenient" }, /it is of other tasks, which differ in judge/],
      [{ subjects: [{ model: "sim:other" }] }, /it has no trials of sim:made-up/],
      [{ subjects: [{ served: "made-up-2" }] }, /another model was served: made-up-2/],
      [{ stopped: "its budget was spent" }, /its run ended early: its budget was spent/],
    ] as const
  ) {
    // The day before, or earlier on the same day.
    for (const startedAt of [`${dateAfter(0)}T01:00:00.000Z`, `${dateAfter(1)}T01:00:00.000Z`]) {
      const runs = [{ date: "", startedAt }, { date: dateAfter(1), ...last }];
      await using made = await watchedRuns(runs, { graphs: 100 });
      const { watched: [only], exitCode } = watchHistory(partOf(made.read()), {});
      assertEquals([only!.kind, exitCode], ["invalid", 3]);
      assertMatch(only!.reason!, why);
    }
  }
});

Deno.test("variants whose tasks cannot be solved are not watched, and nothing to watch is not quiet", async () => {
  const subjects = [{}, { strategy: "repair" }];
  const runs = [-10, 0].map((day) => {
    const record = recordFile({ date: dateAfter(day), graphs: 100, subjects });
    const [first, second] = record.subjects;
    const trials = second!.trials.map((trial) => ({ ...trial!, unsolvable: "unlinked" as const }));
    return changed(record, { subjects: [first!, { ...second!, trials }] });
  });
  await using made = await written(runs);
  accept(made.path, runs[0]!, "v1");
  const { watched, exitCode } = watchHistory(partOf(made.read()), {});
  assertEquals([watched.map(({ strategy }) => strategy), exitCode], [["plain"], 0]);
  const removed = runs.map((record) => {
    const subjects = record.subjects.map((own) => ({ ...own, perturbation: "RP_F" }));
    return changed(record, { subjects });
  });
  await using none = await written(removed);
  accept(none.path, removed[0]!, "v1");
  assertThrows(() => watchHistory(partOf(none.read()), {}), InputError, "must be solvable");
});

Deno.test("a run that cannot be used takes back no alarm of its day, and makes no quiet one", async () => {
  const at = (hour: number) => `${dateAfter(0)}T${hour}:00:00.000Z`;
  const bad = { date: "", startedAt: at(20), subjects: [{ invalid: 20 }] };
  for (const [rate, kind] of [[0.5, "alarm"], [0.95, "invalid"]] as const) {
    const first = { date: "", startedAt: at(12), graphs: 100, subjects: [{ rate }] };
    await using made = await watchedRuns([first, bad]);
    const { watched: [only], leftOut } = watchHistory(partOf(made.read()), {});
    assertEquals([only!.kind, only!.days.map(({ trials }) => trials)], [kind, [200]]);
    assertMatch(leftOut[0]!, /^Not watched: .*: none of 20 planned trials is valid$/);
  }
});

Deno.test("runs on the very tasks of the release are compared with it", async () => {
  const runs = [0, 1].map((day) => ({ date: dateAfter(day), seed: 77, graphs: 500 }));
  await using made = await watchedRuns(runs, { seed: 77 });
  const { watched: [only], leftOut } = watchHistory(partOf(made.read()), {});
  assertEquals([only!.days.length, leftOut], [2, []]);
});

Deno.test("a drop of thirty days is found, over all models that are watched", async () => {
  const subjects = (rate: number) => [{ rate }, { model: "sim:steady", served: "steady-1" }];
  const runs = Array.from({ length: 30 }, (_, day): MadeRun => ({
    date: dateAfter(day),
    graphs: 25,
    subjects: subjects(day < 18 ? 0.9 : 0.75),
  }));
  await using made = await watchedRuns(runs, { subjects: subjects(0.9) });
  const { watched, verdict, exitCode } = watchHistory(partOf(made.read()), {});
  assertEquals([verdict, exitCode], ["alarm", 1]);
  const [dropped, steady] = watched;
  assertEquals([dropped!.kind, steady!.kind], ["alarm", "quiet"]);
  assertEquals(dropped!.threshold, 2 * 7_300);
  assert(dropped!.since! >= dateAfter(15) && dropped!.since! <= dateAfter(20), dropped!.since);
  assert(dropped!.alarmed! > dateAfter(17), dropped!.alarmed);
  assertEquals(watchedName(dropped!), "sim:made-up (simulated), served as sim:made-up");
  assertMatch(dropped!.text, /^ALARM: since 2026-06-/);
  assertEquals(
    dropped!.days.map(({ date, solved, trials }) => [date, solved, trials]),
    runs.map((run) => [
      run.date,
      recordFile(run).subjects[0]!.trials.filter((one) => one!.outcome === "solved").length,
      50,
    ]),
  );
  // Another release begins anew.
  const last = recordFile(runs.at(-1)!);
  accept(made.path, last, "v2", { at: new Date(NOW.getTime() + 1_000) });
  const anew = watchHistory(partOf(made.read()), { drop: 0.2 });
  assertEquals(anew.watched.map(({ kind }) => kind), ["invalid", "invalid"]);
});
