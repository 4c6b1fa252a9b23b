// The HTML report of a real run in a real browser, held against the run's journal.

import { assert, assertEquals, assertGreater, assertStringIncludes } from "@std/assert";
import type { Page } from "playwright-core";
import { signsOf } from "../../../lib/gate/ceilings.ts";
import { FAILURE_TYPES as ALL, FAILURES } from "../../../lib/calls/failure_types.ts";
import { generateTask, taskToJson } from "../../../lib/tasks/graphs/task.ts";
import { shortNames } from "../../../lib/reports/_short_names.ts";
import { OUTCOMES } from "../../../lib/trials/trial.ts";
import { browserTest } from "../../support/browser.ts";
import { type Folder, folder, readLines } from "../../support/child.ts";
import { toolgate } from "../../support/command_line.ts";
import {
  allRows,
  chooseOutcome,
  goToTrial,
  openReport,
  readTrial,
  repeatedHeadings,
  trialIsOpen,
  unfold,
} from "../../support/report_page.ts";
import { reportedTrials } from "../../support/report_data.ts";

/** The types that failures of generated tasks have. */
const FAILURE_TYPES = ALL.filter((type) => FAILURES[type].of !== "chain");

// All kinds of wrong calls, and more trials than one page of the list holds.
const SUITE = {
  name: "small <run>",
  seed: 5,
  graphs: 2,
  repetitions: 2,
  tasks: [{ core: [4, 7], depth: [2, 3], connected: 1, disconnected: [0, 1] }],
  models: [
    "sim:planner",
    "sim:noisy?early=0.1&stale=0.15&distract=0.1&hallucinate=0.05&arity=0.05&quit=0.02&seed=3",
  ],
  gate: { successRate: 0.7, margin: 0.2 },
};

/** What a line of a journal holds, as it is written. */
// deno-lint-ignore no-explicit-any
type Line = any;

/** The run that all tests here look at: made once. */
interface RealRun {
  readonly place: Folder;
  readonly html: string;
  /** The lines of its trials, in plan order as the page numbers them. */
  readonly trials: Line[];
}

let made: Promise<RealRun> | undefined;
const theRun = () => made ??= makeRun();

async function makeRun(): Promise<RealRun> {
  const place = await folder();
  const suite = place.write("suite.jsonc", JSON.stringify(SUITE));
  // A name that a shell must not take apart.
  const journal = place.file("it's $(echo a) run.jsonl");
  const run = await toolgate(["run", suite, "--out", journal]);
  assertEquals(run.code, 0, run.all);
  const trials = readLines(journal).slice(1).sort((one, other) => one.index - other.index);
  const html = place.file("report.html");
  const report = await toolgate(["report", journal, "--html", html]);
  assertEquals(report.code, 0, report.all);
  for (const [at, { rerun }] of reportedTrials(html).entries()) trials[at].rerun = rerun;
  return { place, html, trials };
}

Deno.test.afterAll(async () => await (await made)?.place[Symbol.asyncDispose]());

/** What the page calls a model: a long name is explained in its header. */
const { shorten: shown } = shortNames(SUITE.models, 150);

/** What the list must show of a trial. */
function rowOf(trial: Line, number: number): string[] {
  const { core, depth, connected, disconnected } = trial.task;
  const types = FAILURE_TYPES.flatMap((type) => {
    const own = trial.failures.filter((failure: Line) => failure.type === type);
    return own.length === 0 ? [] : [`${own.length} \u00d7 ${type.replaceAll("_", " ")}`];
  });
  return [
    `trial ${number}`,
    trial.outcome.replaceAll("_", " "),
    `${shown(trial.model.requested)} (simulated)`,
    `core ${core}, depth ${depth}, connected ${connected}, disconnected ${disconnected}`,
    `graph ${trial.block + 1}${trial.repetition === 1 ? "" : `, repetition ${trial.repetition}`}`,
    `${trial.calls} (fewest ${trial.minimumCalls})`,
    types.join(", ") || "-",
  ];
}

/** What a trial can be found by beside its wrong calls: behaviours, and whether a core function was never called. */
function shownSigns(trial: Line): string[] {
  const called = new Set(
    trial.events.flatMap((event: Line) => event.role === "core" ? [event.function] : []),
  );
  return [...signsOf(trial as never), ...(called.size < trial.task.core ? ["missed_call"] : [])];
}

/** What a trial's behaviours are called. */
const spaced = (sign: string) => sign.replaceAll("_", " ");

/** The number of the trial with the most wrong calls, cascades among them. */
function worstOf({ trials }: RealRun): number {
  const counts = trials.map((trial) =>
    trial.failures.length * Number(trial.failures.some((one: { root: boolean }) => !one.root))
  );
  return counts.indexOf(Math.max(...counts)) + 1;
}

browserTest(
  "the report of a run opens without a fault, with verdicts, tables and figures",
  async (browser) => {
    const { html, trials } = await theRun();
    await using opened = await openReport(browser, html);
    const { page, faults } = opened;
    assertEquals(await page.title(), "small <run>: toolgate report");
    assertEquals(await page.textContent("h1"), "small <run>");
    const cards = await page.locator("#verdict article").allTextContents();
    assertEquals(cards.length, 2);
    // What did not pass stands first.
    for (const [place, model] of SUITE.models.toReversed().entries()) {
      const own = trials.filter((trial) => trial.model.requested === model);
      const solved = own.filter((trial) => trial.solved).length;
      assertStringIncludes(cards[place]!, `${shown(model)} (simulated)`);
      assertStringIncludes(cards[place]!, place === 0 ? "FAIL" : "PASS");
      assertStringIncludes(cards[place]!, `solved: ${solved} of ${own.length} valid trials`);
    }
    const figures = new Map(
      await page.locator("figure[id]").evaluateAll((all) =>
        all.map((one) => [one.id, one.querySelectorAll("svg.marks path").length] as const)
      ),
    );
    for (
      const id of ["core", "connection", "depth-4", "depth-7", "sets-1"]
    ) {
      const marks = figures.get(`figure-${id}`) ?? 0;
      assertGreater(marks, 2, `${id} of ${[...figures.keys()]}`);
    }
    const key = await page.locator("header .key li").allTextContents();
    assertEquals(key.map((text) => text.trim().replace(/\s+/g, " ")), [
      `${shown(SUITE.models[1]!)} ${SUITE.models[1]}`,
    ]);
    await unfold(page);
    assertEquals(await repeatedHeadings(page), []);
    assertEquals(faults, []);
  },
);

browserTest(
  "each filter of the list lets through just the trials that the journal has",
  async (browser) => {
    const { html, trials } = await theRun();
    await using opened = await openReport(browser, html);
    const { page, faults } = opened;
    type Chosen = { readonly [id: string]: string };
    let before: Chosen = {};
    const lets = async (chosen: Chosen, wanted: (trial: Line) => boolean) => {
      const changed = (id: string) => chosen[id] !== before[id];
      for (const id of ["subject", "type", "behaviour", "cell"].filter(changed)) {
        const label = chosen[id];
        await page.selectOption(`#${id}`, label === undefined ? { index: 0 } : { label });
      }
      if (changed("outcome")) await chooseOutcome(page, chosen["outcome"]);
      before = chosen;
      const expected = trials.map((trial, place) => ({ trial, row: rowOf(trial, place + 1) }))
        .filter(({ trial }) => wanted(trial)).map(({ row }) => row);
      const pages = Math.ceil(expected.length / 50);
      assertEquals(
        await page.textContent("#count"),
        `${expected.length} of ${trials.length} trials${pages > 1 ? `, page 1 of ${pages}` : ""}`,
        JSON.stringify(chosen),
      );
      const byName = (rows: readonly string[][]) =>
        rows.toSorted(([one], [other]) => one! < other! ? -1 : 1);
      assertEquals(byName(await allRows(page)), byName(expected), JSON.stringify(chosen));
      return expected.length;
    };
    const has = (trial: Line, type: string) =>
      trial.failures.some((one: Line) => one.type === type);

    assertGreater(await lets({}, () => true), 50);
    for (const model of SUITE.models) {
      await lets(
        { subject: `${shown(model)} (simulated)` },
        (trial) => trial.model.requested === model,
      );
    }
    assertGreater(await lets({ outcome: "not solved" }, (trial) => !trial.solved), 0);
    for (const outcome of OUTCOMES) {
      // An outcome that no trial has cannot be chosen.
      if (!trials.some((trial) => trial.outcome === outcome)) continue;
      await lets({ outcome: outcome.replaceAll("_", " ") }, (trial) => trial.outcome === outcome);
    }
    for (const type of FAILURE_TYPES) {
      const shown = await lets({ type: type.replaceAll("_", " ") }, (trial) => has(trial, type));
      assertGreater(shown, 0, type);
    }
    await lets({ type: "any" }, (trial) => FAILURE_TYPES.some((type) => has(trial, type)));
    const options = await page.locator("#behaviour option").allTextContents();
    const signs = new Set(trials.flatMap(shownSigns));
    assertEquals(options.slice(0, 2), ["any or none", "any"]);
    assertEquals(new Set(options.slice(2)), new Set([...signs].map(spaced)));
    assertGreater(signs.size, 0);
    for (const sign of signs) {
      const has = (trial: Line) => shownSigns(trial).includes(sign);
      assertGreater(await lets({ behaviour: spaced(sign) }, has), 0, sign);
      await lets(
        { behaviour: spaced(sign), outcome: "not solved" },
        (trial) => has(trial) && !trial.solved,
      );
    }
    await lets({ behaviour: "any" }, (trial) => shownSigns(trial).length > 0);
    const cell = rowOf(trials[0], 1)[3]!;
    await lets({ cell }, (trial) => rowOf(trial, 1)[3] === cell);
    await lets(
      { cell, outcome: "not solved", type: "incorrect value" },
      (trial) => rowOf(trial, 1)[3] === cell && !trial.solved && has(trial, "incorrect_value"),
    );
    assertEquals(faults, []);
  },
);

/** What the page must show of an event; `undefined` for one that it leaves out. */
function eventOf(
  event: Line,
  right: Readonly<Record<string, number>>,
): { readonly has: string[]; readonly [more: string]: unknown } | undefined {
  if (event.kind === "answer") {
    return { kinds: ["answer"], has: [`answer: ${event.value ?? "none found"}`, event.text] };
  }
  if (event.kind === "reply") {
    if (event.text === "" || event.calls === 0) return undefined;
    return { kinds: ["said"], has: [`reply ${event.request}`, event.text] };
  }
  const { failure } = event;
  const wrong = new Map<string, Line>(
    (failure?.detail.arguments ?? []).map((one: Line) => [one.parameter, one]),
  );
  const origins: Record<string, (one: Record<string, unknown>) => string> = {
    other_variable: ({ originVariable }) => `which is the value of ${originVariable}`,
    wrong_return: ({ originCall }) => `which call ${originCall} had returned wrongly`,
    fabricated: () => "which no call had returned",
  };
  return {
    kinds: [
      ...(event.role === undefined ? [] : [event.role]),
      failure !== undefined ? "wrong" : (event.role ?? "core") === "core" ? "right" : "irrelevant",
    ],
    has: [
      `call ${event.call}, step ${event.step} ${event.function}`,
      ...(failure?.detail.nearest ? [`the nearest is ${failure.detail.nearest}`] : []),
      ...(failure?.detail.missing ?? []).map((name: string) => `missing ${name}`),
    ],
    inputs: Object.entries(JSON.parse(event.arguments)).map(([name, value]) => {
      const one = wrong.get(name);
      return one === undefined ? { value: `${name} = ${value}` } : {
        value: `${name} = ${value}`,
        wrong: `\u2717 ${name} expects ${
          name === one.variable ? "its own value" : `the value of ${one.variable}`
        } but got ${one.given}, ${origins[one.origin]!(one)}; expected ${right[one.variable]}`,
      };
    }),
    returned: event.result,
    ...(failure === undefined ? {} : {
      why: `\u2717 ${failure.type.replaceAll("_", " ")} (${failure.root ? "root" : "cascade"}): `,
    }),
  };
}

/** What is special about an event, as an open trial shows it. */
function kindsOf({ kind, role, text, failure, returned }: Line): string[] {
  return [
    `${kind} ${role}, ${[text === "", failure === undefined, returned === undefined]}`,
    ...(failure === undefined ? [] : [`${failure.type} ${failure.root}`]),
    ...(failure?.detail.arguments ?? []).map((one: Line) =>
      `${one.origin} ${failure.detail.arguments.length}`
    ),
    ...(failure?.detail.missing ?? []).map(() => "missing"),
    ...(failure?.detail.nearest ? ["nearest"] : []),
  ];
}

/** Holds the trial that is open against its line in the journal. */
async function assertShown(page: Page, number: number, trial: Line): Promise<void> {
  const shown = await readTrial(page);
  assertEquals(shown.heading, `trial ${number}`);
  assertEquals(shown.outcome, trial.outcome.replaceAll("_", " "));
  assertStringIncludes(shown.summary, `${trial.outcome} after ${trial.calls} calls`);
  assertEquals(shown.facts["model"], `${trial.model.requested} (simulated)`);
  assertEquals(shown.facts["seed"], String(trial.task.seed));
  assertEquals(shown.facts["repetition"], trial.repetition > 1 ? "2" : undefined);
  assertEquals(shown.rerun, trial.rerun);
  assertEquals(shown.facts["behaviours"], signsOf(trial).join(", ") || undefined);
  const { inputTokens, outputTokens } = trial.usage;
  assertEquals(shown.facts["tokens"], `${inputTokens} read, ${outputTokens} written`);
  const { values, target } = taskToJson(generateTask(trial.task));
  assertEquals(shown.facts["right answer"], `${target.variable} = ${target.value}`);
  const root = trial.failures.find((failure: Line) => failure.root);
  const told = root === undefined ? [] : [`call ${root.call} (step ${root.step}) ${root.function}`];
  for (const words of told) assertStringIncludes(await page.innerText("#trial .mistake"), words);
  const expected = trial.events.flatMap((event: Line) => eventOf(event, values) ?? []);
  // The first wrong call of a trial that failed is marked.
  const wrong = expected.find(({ kinds }: Line) => kinds.includes("wrong"));
  if (!trial.solved) wrong?.kinds.push("first");
  assertEquals(shown.events.length, expected.length);
  for (const [place, { text, why, ...event }] of shown.events.entries()) {
    const { has, why: because, ...rest } = { inputs: [], ...expected[place] };
    assertEquals(event, rest);
    for (const words of has) assertStringIncludes(text, words);
    assertEquals(why?.startsWith(because) ?? because, because === undefined ? undefined : true);
  }
}

browserTest(
  "a trial that is clicked shows every call as the journal has it (FuncBenchGen C.4)",
  async (browser) => {
    const run = await theRun();
    const worst = worstOf(run);
    await using opened = await openReport(browser, run.html, { hash: `#?q=trial+${worst}` });
    const { page, faults } = opened;
    await page.locator("#list").getByText(`trial ${worst}`, { exact: true }).click();
    await trialIsOpen(page, worst);
    await assertShown(page, worst, run.trials[worst - 1]);
    assertEquals(
      await page.locator("#list tr[aria-current] td").first().textContent(),
      `trial ${worst}`,
    );
    // By their addresses, trials until each kind of event and of failure was seen.
    const seen = new Set<string>();
    const telling = run.trials.flatMap((trial, place) => {
      const before = seen.size;
      for (const kind of trial.events.flatMap(kindsOf)) seen.add(kind);
      return seen.size > before ? place + 1 : [];
    });
    for (const type of FAILURE_TYPES) assert(seen.has(`${type} true`), type);
    assert([...seen].some((kind) => / false$/.test(kind)), "no cascade");
    for (const number of telling) {
      await goToTrial(page, number);
      await assertShown(page, number, run.trials[number - 1]);
    }
    assertEquals(faults, []);
  },
);

browserTest(
  "an open trial shows the graph, prompt and tools that generate makes of its task",
  async (browser) => {
    const run = await theRun();
    const worst = worstOf(run);
    const trial = run.trials[worst - 1];
    const generated = await toolgate(["generate", "--trial", trial.id]);
    const task = JSON.parse(generated.stdout);
    await using opened = await openReport(browser, run.html, { hash: `#trial-${worst}` });
    const { page, faults } = opened;
    await trialIsOpen(page, worst);
    const { nodes, edges, task: [prompt, tools] } = await readTrial(page);
    assertEquals(prompt, task.prompt);
    assertEquals(JSON.parse(tools!), task.tools);
    type Function = { name: string; output: { name: string }; dependsOn: string[] };
    const names = task.functions.map(({ name }: Function) => name);
    assertEquals(Object.keys(nodes!).sort(), names.toSorted());
    assertEquals(
      edges.toSorted(),
      task.functions.flatMap(({ name, dependsOn }: Function) =>
        dependsOn.map((parent) => `${parent}->${name}`)
      ).sort(),
    );
    const calls = trial.events.filter((event: { kind: string }) => event.kind === "call");
    for (const { name, output } of task.functions as Function[]) {
      const texts = nodes![name]!;
      assertEquals(texts.slice(0, 2).map(({ text }) => text), [name, output.name]);
      assertEquals(
        texts.slice(2),
        calls.filter((call: Line) => call.function === name).map((call: Line) => ({
          text: call.failure === undefined
            ? `${call.call}`
            : `${call.call} ${call.failure.root ? "\u2717" : "(\u2717)"}`,
          colour: call.failure !== undefined
            ? "rgb(163, 0, 27)"
            : call.role === "core"
            ? "rgb(17, 17, 17)"
            : "rgb(0, 81, 58)",
          bold: true,
        })),
      );
    }
    assert(Object.values(nodes!).flat().some(({ text }) => text.includes("\u2717")));
    assertEquals(faults, []);
  },
);

browserTest(
  "previous, next, close and the browser's back lead from trial to trial",
  async (browser) => {
    const { html, trials } = await theRun();
    await using opened = await openReport(browser, html, { hash: "#?outcome=failed" });
    const { page, faults } = opened;
    const numbers = trials.flatMap(({ solved }, place) => solved ? [] : place + 1);
    const [first, second] = numbers as [number, number];
    await page.click("#list a");
    await trialIsOpen(page, first);
    const bar = (name: string) =>
      page.locator("#trial .bar").first().getByText(name, { exact: true });
    // The first one has none before it.
    assertEquals(await bar("previous").evaluate((one) => one.tagName), "SPAN");
    await bar("next").click();
    await trialIsOpen(page, second);
    await bar("previous").click();
    await trialIsOpen(page, first);
    await page.goBack();
    await trialIsOpen(page, second);
    await bar("close").click();
    await page.locator("#trial").waitFor({ state: "hidden" });
    await page.goBack();
    await trialIsOpen(page, second);
    assertEquals(faults, []);
  },
);
