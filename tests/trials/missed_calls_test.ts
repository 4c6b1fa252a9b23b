// Needed calls that were never made: what counts as one, wherever it could be hidden, and in all reports.

import {
  assert,
  assertEquals,
  assertGreater,
  assertGreaterOrEqual,
  assertLess,
  assertStringIncludes,
} from "@std/assert";
import { comparePairs } from "../../lib/gate/comparison.ts";
import { Report } from "../../lib/reports/report.ts";
import { reportToJson } from "../../lib/reports/json.ts";
import { renderMarkdown } from "../../lib/reports/markdown.ts";
import { renderTables } from "../../lib/reports/terminal.ts";
import { tango } from "../../lib/statistics/proportions.ts";
import { CaseExecutor } from "../../lib/trials/executors/case.ts";
import { questionSource } from "../../lib/runs/question_tasks.ts";
import { summarize } from "../../lib/trials/summary.ts";
import { runTrial, type TrialOptions } from "../../lib/trials/run_trial.ts";
import { type Trial, TRIAL_LINE } from "../../lib/trials/trial.ts";
import { scripted, type ScriptedReply } from "../../lib/models/scripted.ts";
import { generateTask } from "../../lib/tasks/graphs/task.ts";
import type { Tool } from "../../lib/tools/tool.ts";
import { calling, CITY_PATH, cityPlan, citySuite } from "../support/call_sets.ts";
import { Folder } from "../support/folders.ts";
import { writeTrials } from "../support/report_page.ts";
import { coreInOrder, rightArguments } from "../support/generated.ts";
import { inProcess } from "../support/in_process.ts";
import { having, type MetricRecord, recordsOf } from "../support/reports.ts";
import { planOf, record } from "../support/records.ts";

const SPEC = { core: 4, depth: 2, connected: 2, disconnected: 1, seed: 7 };
const TASK = generateTask(SPEC);
const CORE = coreInOrder(TASK);
const OTHER = TASK.functions.find(({ role }) => role !== "core")!;
const RIGHT = CORE.map((one) => ({ name: one.name, arguments: rightArguments(TASK, one) }));
const NONE = scripted("shrug", () => ({ text: "I cannot tell." }));

/** The needed calls of a trial on the task, and the missed ones. */
async function missedIn(replies: readonly ScriptedReply[], options: TrialOptions = {}) {
  const trial = await runTrial(SPEC, scripted("m", [...replies, { text: "Done." }]), options);
  const { needed, missed } = summarize(trial).missed!;
  return [needed, missed];
}

Deno.test("a core function that was never called is a missed call, however wrong the others were (Butterfly 5.2)", async () => {
  const [first, second] = RIGHT as [typeof RIGHT[0], typeof RIGHT[0]];
  assertEquals(await missedIn([]), [4, 4]);
  assertEquals(await missedIn([{ calls: RIGHT }]), [4, 0]);
  assertEquals(await missedIn([{ calls: RIGHT.slice(1) }]), [4, 1]);
  // Wrong arguments are a failure of that call, and a call made twice stands for one.
  assertEquals(await missedIn([{ calls: [{ ...first, arguments: { x: 1 } }, second] }]), [4, 2]);
  assertEquals(await missedIn([{ calls: [first, first, first] }]), [4, 3]);
  const useless = [{ name: OTHER.name, arguments: {} }, { name: "made_up", arguments: {} }];
  assertEquals(await missedIn([{ calls: useless }]), [4, 4]);
});

Deno.test("limits hide no missed call, and infrastructure makes none", async () => {
  const loop = scripted("loop", () => ({ calls: [RIGHT[0]!] }));
  for (const limits of [{ calls: 3 }, { steps: 2 }, { tokens: 1 }]) {
    const trial = await runTrial(SPEC, loop, { limits });
    assert(trial.outcome.endsWith("_limit"), trial.outcome);
    assertEquals(summarize(trial).missed?.needed, 4);
    assert(summarize(trial).missed!.missed >= 3, trial.outcome);
  }
  const invalid = { ...record({ outcome: "invalid", oracle: "truth", calls: 0 }) } as Trial;
  assertEquals(recordsOf("missed-calls", [summarize(invalid)]), []);
});

Deno.test("nothing is missed where the right answer is to say so, nor what a fault kept back", async () => {
  for (const perturbation of ["RP_F", "RP_L", "RD+RP_F"]) {
    assertEquals(await missedIn([], { perturbation }), [0, 0], perturbation);
  }
  // Without descriptions a function is needed as long as something links its parameters.
  assertEquals(await missedIn([], { perturbation: "RD" }), [0, 0]);
  const cued = await runTrial({ ...SPEC, cues: "names" }, NONE, { perturbation: "RD" });
  assertEquals(summarize(cued).missed, { needed: 4, missed: 4 });
  const again = RIGHT.map((call): ScriptedReply => ({ calls: [call] }));
  // Each is called once, and one of them is lost: the end of the fault shows it.
  const lost = await runTrial(SPEC, scripted("m", [...again, { text: "It timed out." }]), {
    perturbation: "timeout",
  });
  assertEquals(summarize(lost).recoveries?.map(({ end }) => end), ["gave_up"]);
  assertEquals(summarize(lost).missed, { needed: 4, missed: 0 });
  // A denied call ends what is needed; without one all others are.
  const denied = await runTrial(SPEC, scripted("m", [...again, { text: "It is denied." }]), {
    perturbation: "permission_denied",
  });
  const place = denied.events.filter(({ kind }) => kind === "call")
    .findIndex((event) => event.kind === "call" && event.fault === "permission_denied");
  assertEquals(
    await missedIn(again.slice(0, place + 1), { perturbation: "permission_denied" }),
    [place + 1, 0],
  );
  assertEquals(await missedIn([], { perturbation: "permission_denied" }), [4, 4]);
});

const BOOK: Tool = {
  name: "book",
  description: "Books a room",
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  execute: () => Promise.resolve("{}"),
};
const PAY: Tool = { ...BOOK, name: "pay" };

/** A trial of a case that needs two rooms and a payment. */
async function caseTrial(calls: readonly string[], perturbation = "none"): Promise<Trial> {
  const spec = { case: "trip", seed: 1 };
  const made = calls.map((name) => ({ name, arguments: { city: "Rome" } }));
  const trial = await runTrial(
    { ...planOf([record({ task: spec, perturbation })])[0]! },
    scripted("m", [...(made.length === 0 ? [] : [{ calls: made }]), { text: "Done." }]),
    {
      open: (_, given) =>
        new CaseExecutor(
          {
            name: "trip",
            tools: [BOOK, PAY],
            prompt: "Book two rooms in Rome, and pay.",
            expected: ["book", "book", "pay"].map((tool) => ({
              tool,
              arguments: { city: "Rome" },
            })),
            assert: () => {},
          },
          spec,
          given,
        ),
    },
  );
  return TRIAL_LINE.parse(JSON.parse(JSON.stringify(trial)));
}

Deno.test("cases miss the expected calls that have no counterpart, in any order", async () => {
  const missed = async (...calls: string[]) => summarize(await caseTrial(calls)).missed;
  assertEquals(await missed(), { needed: 3, missed: 3 });
  assertEquals(await missed("book"), { needed: 3, missed: 2 });
  assertEquals(await missed("pay", "book", "book", "book"), { needed: 3, missed: 0 });
  assertEquals(await missed("book", "book", "book"), { needed: 3, missed: 1 });
  assertEquals(summarize(await caseTrial([], "RP_F")).missed, { needed: 0, missed: 0 });
  const earlier = { ...await caseTrial(["book"]), needed: ["book", "pay"] };
  assertEquals(summarize(earlier).missed, undefined, "each tool once does not tell how often");
  assertEquals(
    summarize({ ...earlier, minimumCalls: 2 }).missed,
    { needed: 2, missed: 1 },
    "but where each is needed once it does",
  );
});

Deno.test("questions miss true calls where calls are made, and nowhere else", async () => {
  const { open } = questionSource(citySuite().tasks, () => CITY_PATH)!;
  for (const mode of ["tools", "parameters"] as const) {
    for (const planned of cityPlan({ mode }).trials) {
      const needed = (await runTrial(planned, NONE, { open })).minimumCalls!;
      const idle = summarize(await runTrial(planned, NONE, { open })).missed;
      const right = summarize(await runTrial(planned, calling(), { open })).missed;
      assertEquals(
        [idle, right],
        mode === "tools"
          ? [{ needed, missed: needed }, { needed, missed: 0 }]
          : [undefined, undefined],
      );
    }
  }
});

/** Trials of a model that makes no call any more under RD: it solves all tasks without. */
async function silenced(count: number): Promise<Trial[]> {
  const trials = [];
  for (let seed = 1; seed <= count; seed++) {
    const spec = { ...SPEC, cues: "names" as const, seed };
    const noisy = inProcess("sim:noisy?stale=1&seed=1");
    const plain = await runTrial(spec, noisy);
    const idle = await runTrial(spec, NONE, { perturbation: "RD" });
    trials.push(plain, { ...idle, model: plain.model });
  }
  return trials;
}

Deno.test("a model that stops calling under a perturbation looks worse, not better (Butterfly 5.2)", async () => {
  const trials = await silenced(6);
  const summaries = trials.map(summarize);
  const rateOf = (perturbation: string, failure: string) => {
    const [own] = having(recordsOf("failure-rates", summaries), { perturbation, failure });
    return [own!["rate_count"], own!["rate_of"]];
  };
  const changeOf = (failure: string) =>
    having(recordsOf("failure-rate-changes", summaries), { failure })[0]!;
  // The five types alone improve: that is why they are not alone.
  assertGreater(rateOf("none", "any_failure")[0] as number, 0);
  assertEquals(rateOf("RD", "any_failure"), [0, 6]);
  assertLess(changeOf("any_failure")["difference"] as number, 0);
  assertEquals(rateOf("none", "missed_call"), [0, 6]);
  assertEquals(rateOf("RD", "missed_call"), [6, 6]);
  const [own] = having(recordsOf("missed-calls", summaries), { perturbation: "RD" });
  assertEquals([own!["calls_count"], own!["calls_of"]], [24, 24]);
  const missed = changeOf("missed_call");
  const { lower, upper } = tango(6, 0, 6, 0.975);
  assertEquals(
    ["gained", "lost", "difference_lower", "difference_upper"].map((name) => missed[name]!),
    [6, 0, lower, upper],
  );
  assertEquals(rateOf("RD", "either"), [6, 6]);
  assertGreaterOrEqual(changeOf("either")["difference"] as number, 0);
  assertEquals(comparePairs(trials)[0]!.missed!.interval, { lower, upper });
  // Eq. 1 counted by hand: a trial passes if no call of it has a view with a failure.
  const failing = trials.filter(({ perturbation, events }) =>
    perturbation === "none" &&
    events.some((event) => event.kind === "call" && (event.parameters?.failures ?? []).length > 0)
  ).length;
  assertEquals(rateOf("none", "any_failure"), [failing, 6]);
});

Deno.test("every kind of report tells of missed calls", async () => {
  const trials = await silenced(4);
  const report = new Report(trials.map(summarize), { suite: "s" });
  for (const text of [renderTables(report), renderMarkdown(report)]) {
    assertStringIncludes(text, "Missed calls");
    assertStringIncludes(text, "missed call");
    assertStringIncludes(text, "any failure");
  }
  using folder = new Folder();
  assertStringIncludes(Deno.readTextFileSync(await writeTrials(folder, trials)), "Missed calls");
  const { metrics } = JSON.parse(JSON.stringify(reportToJson(report)));
  assertEquals(
    metrics["missed-calls"].map((one: MetricRecord) => [
      ...[one["perturbation"], one["missing_count"], one["missing_of"]],
      ...[one["calls_count"], one["calls_of"]],
    ]),
    [["none", 0, 4, 0, 16], ["RD", 4, 4, 16, 16]],
  );
});
