// The markup of HTML reports that needs no browser to be looked at.

import {
  assert,
  assertEquals,
  assertGreater,
  assertMatch,
  assertNotMatch,
  assertStringIncludes,
} from "@std/assert";
import { PROBES } from "../../lib/tasks/task_kind.ts";
import { completePolicy } from "../../lib/gate/policy.ts";
import { decideTrials } from "../../lib/gate/decide_trials.ts";
import { reportProblem, reportVerdicts } from "../../lib/gate/gate_report.ts";
import { Report } from "../../lib/reports/report.ts";
import { seriesMark } from "../../lib/reports/figures/_plotting.ts";
import { writeHtml } from "../../lib/reports/html.ts";
import type { Trial } from "../../lib/trials/trial.ts";
import { Folder } from "../support/folders.ts";
import { reportedTrials } from "../support/report_data.ts";
import { scoredAll } from "../support/parameter_scores.ts";
import { generatedFrom } from "../support/generated.ts";
import {
  callEvent,
  crossed,
  failureOf,
  manyRecords,
  planOf,
  record,
  type TrialTraits,
} from "../support/records.ts";
import { textsOf } from "../support/trees.ts";

/** A figure of a page: what stands in it and under it. */
interface Figure {
  readonly caption: string;
  /** The title and the words of its legend; `undefined` where there is none. */
  readonly legend: readonly string[] | undefined;
  /** How the marks of its legend look. */
  readonly marks: readonly { readonly fill: string; readonly outline: string }[];
}

/** The figures of these trials' report, by their ids. */
async function figuresOf(trials: readonly Trial[]): Promise<Map<string, Figure>> {
  const page = await pageOf(trials);
  const figures = [...page.matchAll(/<figure class="view" id="figure-([^"]*)">([^]*?)<\/figure>/g)];
  return new Map(figures.map(([, id, markup]) => [id!, figureOf(markup!)]));
}

function figureOf(markup: string): Figure {
  const attribute = (text: string, name: string) =>
    new RegExp(`\\s${name}="([^"]*)"`).exec(text)?.[1] ?? "";
  const inside = (role: string, end: string) =>
    [...markup.matchAll(new RegExp(`role-legend-${role}"[^>]*>([^]*?)${end}`, "g"))]
      .map(([, own]) => own!);
  const title = inside("title", "</g>").map(plain);
  return {
    caption: plain(/<figcaption>([^]*?)<\/figcaption>/.exec(markup)![1]!),
    legend: title.length === 0 ? undefined : [...title, ...inside("label", "</g>").map(plain)],
    marks: inside("symbol", "</g>").map((path) => ({
      fill: attribute(path, "fill"),
      outline: attribute(path, "stroke"),
    })),
  };
}

function plain(markup: string): string {
  return markup.replace(/<[^>]*>/g, " ").replace(/\s+/g, " ").trim();
}

/** Trials of models on tasks of two sizes and two depths, some with a wrong call. */
function trialsOf(models: readonly string[], traits: TrialTraits = {}): Trial[] {
  return models.flatMap((model) =>
    [[5, 2], [5, 4], [10, 2], [10, 4]].flatMap(([core, depth]) =>
      [1, 2].map((seed) =>
        record({
          model,
          task: { core: core!, depth: depth!, connected: 0, disconnected: 0, seed },
          outcome: seed === 1 ? "solved" : "wrong_answer",
          failures: seed === 1 ? [] : [failureOf("incorrect_value")],
          ...traits,
        })
      )
    )
  );
}

/** Names of this many models. */
function modelNames(count: number): string[] {
  return Array.from({ length: count }, (_, place) => `model ${place}`);
}

Deno.test("each figure has a legend of all models, in their order, with the marks of its bars", async () => {
  for (const names of [1, 12].map(modelNames)) {
    const figures = await figuresOf(trialsOf(names));
    for (const id of ["core", "depth-5", "depth-10"]) {
      assertEquals(figures.get(id)!.legend, ["model", ...names], id);
    }
  }
});

Deno.test("the legend of a figure lacks a model that the figure lacks", async () => {
  const names = modelNames(5);
  const trials = trialsOf(names).filter(({ model, task }) =>
    model.requested !== "model 1" || generatedFrom(task).core === 5
  );
  const figures = await figuresOf(trials);
  for (const id of ["core", "depth-5"]) {
    assertEquals(figures.get(id)!.legend, ["model", ...names], id);
  }
  const { legend, marks } = figures.get("depth-10")!;
  assertEquals(legend, ["model", ...names.filter((name) => name !== "model 1")]);
  // The others look as they do elsewhere.
  assertEquals(marks.map(({ fill }) => fill), [0, 2, 3, 4].map((at) => seriesMark(at).colour));
});

Deno.test("a figure of something else than models has a legend of that", async () => {
  const names = modelNames(2);
  const trials = ["plain", "restate"].flatMap((strategy) => trialsOf(names, { strategy }));
  const figures = await figuresOf(trials);
  assertEquals(figures.get("depth-5")!.legend, [
    ...["model", "model 0", "model 1", "model 0 + restate", "model 1 + restate"],
  ]);
  assertEquals(figures.get("strategy-5")!.legend, ["strategy", "plain", "restate"]);
});

Deno.test("a caption says that some points have no whisker, where that is so", async () => {
  const trials = trialsOf(["m"]);
  const repeated = [1, 2].map((repetition) =>
    record({
      repetition,
      task: { core: 20, depth: 2, connected: 0, disconnected: 0, seed: 1 },
    })
  );
  const words = "points of a single task have none";
  const sure = await figuresOf(trials);
  for (const [id, { caption }] of sure) assert(!caption.includes(words), id);
  const figures = await figuresOf([...trials, ...repeated]);
  assertStringIncludes(
    figures.get("core")!.caption,
    `whiskers: 95% intervals; n = 2 to 4 valid trials a point; ${words}`,
  );
  assert(!figures.get("depth-5")!.caption.includes(words));
});

Deno.test("a page compares pairs, where there is something to show", async () => {
  const trials = crossed({ both: 3, gained: 2 }, { model: "sim:<b>", simulated: true });
  const rowOf = (page: string, title: string) => {
    const [, table] = new RegExp(`<caption>\\s*<div>${title}([^]*?)</table>`).exec(page)!;
    const [, row] = /<tbody><tr>([^]*?)<\/tr>/.exec(table!)!;
    return [...row!.matchAll(/<t[hd][^>]*>([^]*?)<\/t[hd]>/g)].map(([, cell]) => plain(cell!));
  };
  // Of a single pair the headline has the rates and their difference, which it draws.
  const page = await pageOf(trials);
  assertEquals(rowOf(page, "Pairs compared").slice(0, 5), [
    ...["sim:&#60;b&#62; + restate (simulated)", "plain", "5", "2", "0"],
  ]);
  const overview = cutOf(page, "table-overview", "</table>");
  assertEquals(overview.split('<svg class="drawn"').length, 4);
  // What is folded has its title in front.
  assertEquals(page.split("Tasks gained and lost").length, 2);
  assert(!(await pageOf(trials.slice(0, 5))).includes("Pairs compared"));
  const spoiled = trials.map((trial) => ({ ...trial, outcome: "invalid" as const, solved: false }));
  assertStringIncludes(await pageOf(spoiled), "Pairs compared");
});

const pages = new Map<string, Promise<string>>();

/** The page of these trials, which is made once. */
function pageOf(trials: readonly Trial[]): Promise<string> {
  const key = JSON.stringify(trials);
  const page = pages.get(key) ?? writePage(trials);
  pages.set(key, page);
  return page;
}

async function writePage(trials: readonly Trial[]): Promise<string> {
  using folder = new Folder();
  const path = folder.file("r.html");
  await writeHtml(path, new Report(trials, { suite: "s" }), trials, { rerun: () => "again" });
  return folder.read("r.html");
}

/** The ids of a page's sections; links to them say what their headings say. */
function sectionsOf(page: string): string[] {
  const sections = [...page.matchAll(
    /<(?:section|details) class="section" id="([^"]*)"[^>]*>\s*(?:<summary>\s*)?(?:<h2>([^<]*)<)?/g,
  )].map(([, id, title]) => ({ id: id!, title }));
  const [nav] = /<nav>[^]*<\/nav>/.exec(page)!;
  const links = [...nav!.matchAll(/<a href="#([^"]*)">([^<]*)</g)].map(([, id, text]) => {
    return { id: id!, title: text === "Success" || text === "Results" ? undefined : text };
  });
  assertEquals(links, sections);
  return sections.map(({ id }) => id);
}

const PROBED = PROBES.flatMap((probe) =>
  [1, 2, 3, 4].map((seed) => record({ task: { case: probe, seed }, model: `model ${seed}` }))
);

Deno.test("a page of probes alone has no empty section, and speaks of questions", async () => {
  const page = await pageOf(PROBED);
  assertEquals(sectionsOf(page), ["headline", "matrix", "trials", "success", "failures", "words"]);
  const body = page.slice(page.indexOf("<body>"), page.search(/id="words"\s*>/));
  for (const words of [/role-legend/, /Failure types/, /not generated/, /\bgraphs?\b/]) {
    assertNotMatch(body, words);
  }
  assertStringIncludes(page, '<th scope="col" class="task" data-name="task">question</th>');
  const both = await pageOf([...PROBED, ...trialsOf(["m"])]);
  assertStringIncludes(both, '<th scope="col" class="task" data-name="task">task</th>');
  assertEquals(sectionsOf(both), [
    ...["headline", "matrix", "trials", "success", "failures", "figures", "words"],
  ]);
  assertStringIncludes(
    await pageOf(trialsOf(["m"])),
    '<th scope="col" class="task" data-name="task">graph</th>',
  );
});

Deno.test("a page of one size has no section of figures, whose legend would stand alone", async () => {
  const trials = trialsOf(modelNames(5)).filter(({ task }) => {
    const { core, depth } = generatedFrom(task);
    return core === 5 && depth === 2;
  });
  const page = await pageOf(trials);
  assertEquals(sectionsOf(page), [
    ...["headline", "comparisons", "matrix", "trials", "success", "failures", "words"],
  ]);
  assertEquals([...(await figuresOf(trials)).keys()], []);
});

Deno.test("a page explains its words, each once", async () => {
  const trials = [...trialsOf(["m"]), ...trialsOf(["m"], { strategy: "repair" })];
  const [, words] = (await pageOf(trials)).split(/id="words"\s*>/);
  const terms = [...words!.matchAll(/<dt>([^<]*)<\/dt>\s*<dd>[^<]+<\/dd>/g)].map(([, term]) =>
    term
  );
  assertEquals(new Set(terms).size, terms.length);
  assert(terms.includes("repair") && !terms.includes("restate"), terms.join());
});

Deno.test("what a perturbation makes of a task is kept once for all of its trials", async () => {
  const trials = ["none", "RD"].flatMap((perturbation) =>
    [1, 2].flatMap((seed) =>
      [1, 2, 3].map((repetition) => record({ perturbation, seed, repetition }))
    )
  );
  using folder = new Folder();
  const path = folder.file("r.html");
  await writeHtml(path, new Report(trials, { suite: "s" }), trials, { rerun: () => "again" });
  const views = reportedTrials(path).map(({ task }) => task!);
  assertEquals(views.length, 12);
  // The very same piece of data, and not an equal one.
  assertEquals(new Set(views).size, 4);
  assertEquals(new Set(views.map(({ offer }) => textsOf(offer, "change").length === 0)).size, 2);
});

Deno.test("trials can be found by how the faults in them ended, as by behaviours", async () => {
  const lost = (call: number, name: string) => {
    const { returned: _, ...event } = callEvent(call, { function: name, fault: "timeout" });
    return { ...event, error: "timed out" };
  };
  const trials = [
    record({ seed: 1, behaviours: ["silent"] }),
    record({
      seed: 2,
      behaviours: ["silent"],
      events: [lost(1, "a"), lost(2, "b"), callEvent(3, { function: "a" }), lost(4, "c")],
    }),
    record({ seed: 3, events: [callEvent(1, { fault: "slow" })] }),
  ];
  using folder = new Folder();
  const path = folder.file("r.html");
  await writeHtml(path, new Report(trials, { suite: "s" }), trials, { rerun: () => "again" });
  assertEquals(reportedTrials(path).map(({ signs }) => signs), [
    ["silent"],
    ["silent", "fault_gave_up", "fault_recovered"],
    ["fault_recovered"],
  ]);
});

Deno.test("shares have their intervals beneath them, as tables of many columns must fit", async () => {
  const [, table] = /Behaviour towards tools([^]*?)<\/table>/.exec(await pageOf(PROBED))!;
  assertMatch(
    table!,
    /data-name="solved">100\.0% of 1 <small>\(20\.7% to 100\.0%\)<\/small><\/td>/,
  );
  const sized = await pageOf(trialsOf(["m"]));
  assertMatch(sized, /of \d+ <small>\(\S+% to \S+%\)<\/small>/);
});

Deno.test("cells of tables are text, whatever they hold", async () => {
  const model = '<img src="x" onerror="alert(1)">';
  const parses = {
    strict: 0,
    repaired: 1,
    unreadable: 0,
    repairs: [{ repair: `${model} N`, replies: 1 }],
  };
  const page = await pageOf([{ ...record({ model }), parses } as Trial]);
  const [, repairs] = /Commonest repairs([^]*?)<\/table>/.exec(page)!;
  assertMatch(repairs!, /<th scope="row"[^>]*>&#60;img/);
  assertMatch(repairs!, /<td[^>]*>(?:<svg[^]*?<\/svg>)?&#60;img/);
  assertNotMatch(repairs!, /<img/);
});

/** The page of a report. */
async function pageWith(report: Report): Promise<string> {
  using folder = new Folder();
  const path = folder.file("r.html");
  await writeHtml(path, report, [], { rerun: () => "again" });
  return folder.read("r.html");
}

const cutOf = (page: string, id: string, end: string) =>
  page.slice(page.indexOf(`id="${id}"`), page.indexOf(end, page.indexOf(`id="${id}"`)));

Deno.test("what decides stands above the trials, and all else below them is folded", async () => {
  const page = await pageWith(
    new Report([
      ...trialsOf(["m"]),
      ...scoredAll(["R", ""]),
      ...scoredAll(["R", "D"], { perturbation: "RD" }),
    ], { suite: "s" }),
  );
  const kinds = [...page.matchAll(/<(section|details) class="section" id="([^"]*)"\s*(open)?\s*>/g)]
    .map(([, kind, id, open = ""]) => `${kind} ${id} ${open}`.trim());
  assertEquals(kinds, [
    ...["section headline", "section comparisons", "section matrix", "section trials"],
    "details success",
    ...["details perturbations open", "details failures", "details figures", "details cells"],
    "details words",
  ]);
  // The numbers of a figure are folded beneath it, and stand nowhere else.
  const figure = cutOf(page, "figure-depth-5", "</figure>");
  assertMatch(figure, /<details><summary>numbers<\/summary>[^]*id="table-depth-5"/);
  assertEquals(page.split('id="table-depth-5"').length, 2);
  // Those of success stand open.
  assert(!cutOf(page, "figure-core", "</figure>").includes("<table"));
  assertStringIncludes(page, 'id="table-core"');
  assertEquals(new Set(page.match(/ id="[^"]*"/g)).size, page.match(/ id="[^"]*"/g)!.length);
});

Deno.test("verdicts say one sentence; of more than four those that did not pass stand first", async () => {
  const gateOf = (models: readonly string[]) => {
    const trials = models.flatMap((model) =>
      manyRecords(model.startsWith("bad") ? 2 : 20, 20, { model })
    );
    const policy = completePolicy({ successRate: 0.6 });
    const gate = reportVerdicts("s", decideTrials(trials, planOf(trials), policy), policy);
    return pageWith(new Report(trials, { suite: "s", gates: [gate] }));
  };
  const shown = (page: string) => {
    const section = cutOf(page, "verdict", "</section>");
    return {
      section,
      names: [...section.matchAll(/<strong>([^<]*)<\/strong>/g)].map(([, name]) => name),
    };
  };
  const page = await gateOf(["a", "bad", "b", "c"]);
  const four = shown(page);
  assertEquals(four.names, ["bad", "a", "b", "c"]);
  assert(!four.section.includes("passed</summary>"));
  assert(!page.includes('href="#headline"'), "verdicts have a heading, and tell the same");
  const [card] = /<article class="verdict fail">[^]*?<\/article>/.exec(four.section)!;
  assertStringIncludes(card!, '<span class="measured">10.0% of 20</span>');
  assertMatch(card!, /<p>Needs 60% \(55% with tolerance\): it is below, proved<\/p>\s*<details>/);
  assertMatch(card!, /<li>the true success rate is below 60\.0%\. [^]*<li>solved: 2 of 20 valid/);
  const overview = cutOf(page, "table-overview", "</table>");
  assertStringIncludes(overview, "line and band: what the gate asks for, and its tolerance");
  assertEquals(overview.split('fill="var(--band)"').length, 5);
  const five = shown(await gateOf(["a", "bad 1", "b", "c", "bad 2"]));
  assertEquals(five.names, ["bad 1", "bad 2", "a", "b", "c"]);
  const folded = five.section.slice(five.section.indexOf("<summary>3 passed</summary>"));
  assertEquals(folded.split("<article").length, 4);
});

Deno.test("only its kind is left out of what a verdict says, as its badge has it", async () => {
  const trials = [record()];
  const policy = completePolicy({ successRate: 0.6 });
  const [decided] = decideTrials(trials, planOf(trials), policy);
  const verdict = { kind: "invalid", reason: "SHA: it differs" } as const;
  const gates = [
    reportVerdicts("s", [{ ...decided!, verdict }], policy),
    reportProblem("s", "HTTP: 502"),
  ];
  const page = await pageWith(new Report(trials, { suite: "s", gates }));
  const said = [...cutOf(page, "verdict", "</section>").matchAll(/<(?:p|li)>([^<]*)</g)];
  assertEquals(said.map(([, text]) => text), [
    ...["SHA: it differs", "SHA: it differs.", "HTTP: 502."],
  ]);
});

Deno.test("a variant has one mark, that of its place, wherever its name stands", async () => {
  const trials = ["plain", "restate"].flatMap((strategy) => trialsOf(["a", "b"], { strategy }));
  const page = await pageOf(trials);
  const names = [...page.matchAll(
    /<th scope="row"[^>]*>\s*<svg class="mark"[^>]*>\s*<path d="([^"]*)" fill="([^"]*)" \/>\s*<\/svg>\s*([^<]*)<\/th>/g,
  )];
  assertGreater(names.length, 20);
  const { subjects, nameOf } = new Report(trials, { suite: "s" });
  const order = subjects.map(nameOf);
  for (const [, shape, fill, name] of names) {
    const { colour, shape: own } = seriesMark(order.indexOf(name!.trim()));
    assertEquals([shape, fill], [own, colour], name);
  }
  assertEquals(new Set(names.map(([, , , name]) => name!.trim())), new Set(order));
  // A test that is called like a model is none.
  const tests = ["a", "b"].map((model) => record({ model, task: { case: "a", seed: 1 } }));
  const matrix = cutOf(await pageOf(tests), "table-matrix", "</table>");
  assertEquals(matrix.split('<svg class="mark"').length, 3);
});

Deno.test("long tables show their first rows, and each cell says its column", async () => {
  const trials = (count: number) =>
    Array.from({ length: count }, (_, place) => record({ model: `m ${place}` }));
  const tableOf = async (count: number) =>
    cutOf(await pageOf(trials(count)), "table-outcomes", 'data-take="csv"');
  const few = await tableOf(15);
  assert(!few.includes('class="all"'));
  const many = await tableOf(16);
  assertMatch(
    many,
    /<\/table>\s*<button type="button" class="all">all 16 rows<\/button>/,
  );
  assertMatch(many, /<td\s+class="number"\s+data-name="solved">1<\/td>/);
  const failed = cutOf(await pageOf(trialsOf(["m"])), "table-failures", "</table>");
  assertMatch(failed, /<td\s+class="number"\s+data-name="incorrect_value">4 \(100\.0%\)<\/td>/);
  const odd = await pageOf([record({ behaviours: ['"><script>' as never] })]);
  assertMatch(odd, /<td\s+class="number"\s+data-name="&#34;&#62;&#60;script&#62;">1<\/td>/);
});

Deno.test("a cell that stands alone names the group of its column, whose heading only the first has", async () => {
  const core = cutOf(await pageOf(trialsOf(["m"])), "table-core", 'data-take="csv"');
  assertMatch(core, /<th scope="col"[^>]*>calls if solved</);
  for (const head of ["solved", "calls if solved", "if not"]) {
    assertMatch(core, new RegExp(`data-name="core 5: ${head}"`));
  }
  assertNotMatch(core, /data-name="calls/);
});

Deno.test("long names of models are short throughout, and whole once, in the header", async () => {
  const [long, longer] = ["x", "y"].map((end) => `accounts/${"z".repeat(40)}/models/m-${end}`);
  const trials = trialsOf([long!, "m", longer!]);
  const page = await pageOf(trials);
  assertEquals(page.split(long!).length, 2);
  const [key] = /<ul class="key">[^]*?<\/ul>/.exec(page)!;
  const items = [...key.matchAll(/<li>[^]*?<\/li>/g)].map(([item]) => ({
    fill: /fill="([^"]*)"/.exec(item)![1],
    text: plain(item),
  }));
  assertEquals(items, [
    { fill: seriesMark(0).colour, text: `accounts/zzzzz…zzz/models/m-x ${long}` },
    { fill: seriesMark(2).colour, text: `accounts/zzzzz…zzz/models/m-y ${longer}` },
  ]);
  assertStringIncludes(page, "/models/m-x</");
  for (const [length, hasKey] of [[30, false], [31, true]] as const) {
    const page = await pageOf(trialsOf(["m".repeat(length)]));
    assertEquals(page.includes('class="key"'), hasKey, `${length}`);
  }
});
