// The markup of HTML reports that needs no browser to be looked at.

import {
  assert,
  assertEquals,
  assertMatch,
  assertNotMatch,
  assertStringIncludes,
} from "@std/assert";
import { BEHAVIOURS, PARAMETER_FAILURE_TYPES } from "../../lib/calls/failure_types.ts";
import { PERTURBATIONS } from "../../lib/perturbations/ids.ts";
import { PROBES } from "../../lib/trials/executors/task_kind.ts";
import { makeReport } from "../../lib/reports/report.ts";
import { seriesMark } from "../../lib/reports/figures/_plotting.ts";
import { writeHtml } from "../../lib/reports/html.ts";
import { stagesOf, STRATEGIES } from "../../lib/trials/strategies/registry.ts";
import type { Trial } from "../../lib/trials/trial.ts";
import { Folder } from "../support/folders.ts";
import { reportedTrials } from "../support/report_data.ts";
import { generatedFrom } from "../support/generated.ts";
import {
  callEvent,
  crossed,
  failureOf,
  record,
  traced,
  type TrialTraits,
} from "../support/records.ts";

/** A figure of a page: what stands under it. */
interface Figure {
  readonly caption: string;
  /** The words of its own legend; `undefined` where there is none. */
  readonly legend: readonly string[] | undefined;
  /** How the marks of its legend look. */
  readonly marks: readonly { readonly fill: string; readonly outline: string }[];
}

/** The figures of these trials' report, by their ids, and the legend that they share. */
async function figuresOf(
  trials: readonly Trial[],
): Promise<{ figures: Map<string, Figure>; shared: readonly string[] | undefined }> {
  using folder = new Folder();
  const path = folder.file("r.html");
  const report = makeReport(trials, { suite: "s" });
  await writeHtml(path, report, trials, { rerun: () => undefined });
  const page = folder.read("r.html");
  const figures = [...page.matchAll(/<figure id="figure-([^"]*)"[^>]*>([^]*?)<\/figure>/g)];
  const shared = /<div class="shared">([^]*?)<\/div>/.exec(page)?.[1];
  return {
    figures: new Map(figures.map(([, id, markup]) => [id!, figureOf(markup!)])),
    shared: shared === undefined ? undefined : legendOf(shared),
  };
}

function figureOf(markup: string): Figure {
  const legend = /<ul class="legend">[^]*?<\/ul>/.exec(markup)?.[0];
  const attribute = (text: string, name: string) =>
    new RegExp(`\\s${name}="([^"]*)"`).exec(text)?.[1] ?? "";
  return {
    caption: plain(/<figcaption>([^]*?)<\/figcaption>/.exec(markup)![1]!),
    legend: legend === undefined ? undefined : legendOf(legend),
    marks: [...(legend ?? "").matchAll(/<path [^>]*>/g)].map(([path]) => ({
      fill: attribute(path, "fill"),
      outline: attribute(path, "stroke"),
    })),
  };
}

function legendOf(markup: string): string[] {
  return [...markup.matchAll(/<li>([^]*?)<\/li>/g)].map(([, item]) => plain(item!));
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

/** Names of so many models. */
function modelNames(count: number): string[] {
  return Array.from({ length: count }, (_, place) => `model ${place}`);
}

Deno.test("figures of up to three models have a legend each", async () => {
  for (const names of [1, 3].map(modelNames)) {
    const { figures, shared } = await figuresOf(trialsOf(names));
    assertEquals(shared, undefined);
    for (const id of ["core", "depth-5", "depth-10"]) {
      assertEquals(figures.get(id)!.legend, ["model:", ...names], id);
    }
  }
});

Deno.test("figures of more models share a legend, which has all of them once", async () => {
  const names = modelNames(10);
  const { figures, shared } = await figuresOf(trialsOf(names));
  assertEquals(shared, ["model:", ...names]);
  for (const id of ["core", "depth-5", "depth-10"]) {
    assertEquals(figures.get(id)!.legend, undefined, id);
  }
  // That of wrong calls stands elsewhere.
  assertEquals(figures.get("failures")!.legend, ["model:", ...names]);
});

Deno.test("figures share no legend where one of them lacks a model", async () => {
  const names = modelNames(5);
  const trials = trialsOf(names).filter(({ model, task }) =>
    model.requested !== "model 1" || generatedFrom(task).core === 5
  );
  const { figures, shared } = await figuresOf(trials);
  assertEquals(shared, undefined);
  assertEquals(figures.get("core")!.legend, ["model:", ...names]);
  assertEquals(
    figures.get("depth-10")!.legend,
    ["model:", ...names.filter((name) => name !== "model 1")],
  );
});

Deno.test("a figure of something else than models has a legend of its own", async () => {
  const names = modelNames(2);
  const trials = ["baseline", "restate"].flatMap((strategy) => trialsOf(names, { strategy }));
  const { figures, shared } = await figuresOf(trials);
  assertEquals(shared?.length, 5);
  assertEquals(figures.get("strategy-5")!.legend, ["strategy:", "baseline", "restate"]);
});

Deno.test("the strategies of one model alone are a figure", async () => {
  const trials = ["baseline", "restate"].flatMap((strategy) => trialsOf(["m"], { strategy }));
  const { figures } = await figuresOf(trials);
  for (const id of ["strategy-5", "strategy-10"]) {
    assertEquals(figures.get(id)?.legend, ["strategy:", "baseline", "restate"], id);
  }
  // Success along one size, however, is no figure.
  const { figures: sized } = await figuresOf(
    trials.filter(({ task }) => generatedFrom(task).core === 5),
  );
  assertEquals([sized.has("core"), sized.has("strategy-5")], [false, true]);
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
  const { figures: sure } = await figuresOf(trials);
  for (const [id, { caption }] of sure) assert(!caption.includes(words), id);
  const { figures } = await figuresOf([...trials, ...repeated]);
  assertStringIncludes(figures.get("core")!.caption, `n = 2 to 4 valid trials a point; ${words}`);
  assert(!figures.get("depth-5")!.caption.includes(words));
  const { figures: alone } = await figuresOf(repeated);
  assertStringIncludes(alone.get("overview")!.caption, words);
});

Deno.test("wrong calls are drawn of unperturbed trials alone, where there are any", async () => {
  const ids = ["RD", "CF", "rename"];
  const names = modelNames(2);
  const perturbed = ids.flatMap((perturbation) => trialsOf(names, { perturbation }));
  const both = (await figuresOf([...trialsOf(names), ...perturbed])).figures.get("failures")!;
  assertEquals(both.legend, ["model:", ...names]);
  assertStringIncludes(both.caption, "unperturbed trials only");
  const alone = (await figuresOf(perturbed)).figures.get("failures")!;
  assertEquals(alone.legend!.length, 1 + ids.length * names.length);
  const plain = (await figuresOf(trialsOf(names))).figures.get("failures")!;
  for (const { caption } of [alone, plain]) assert(!caption.includes("unperturbed"), caption);
});

Deno.test("where only perturbed trials have wrong calls there is no figure without a bar", async () => {
  const trials = [
    ...trialsOf(["m"], { failures: [] }),
    ...trialsOf(["m"], { perturbation: "RD" }),
  ];
  const page = await pageOf(trials);
  assertStringIncludes(page, "<p>Without perturbations no call was wrong.</p>");
  assert(!page.includes('id="figure-failures"'));
  assertMatch(page, /Failure types[^]*m \+ RD/);
  const none = await pageOf(trialsOf(["m"], { failures: [], perturbation: "RD" }));
  assertStringIncludes(none, "<p>No call was wrong.</p>");
});

Deno.test("success of all trials is drawn of perturbed trials as well", async () => {
  const ids = ["none", "RD", "CF"];
  const trials = ids.flatMap((perturbation) => trialsOf(["m"], { perturbation }));
  const { caption } = (await figuresOf(trials)).figures.get("overview")!;
  assert(!caption.includes("unperturbed"));
  const page = await pageOf(trials);
  const [, drawn] = /<figure id="figure-overview"([^]*?)<\/figure>/.exec(page)!;
  for (const name of ["m + RD", "m + CF"]) assertStringIncludes(drawn!, name);
});

Deno.test("the marks of a legend of bars look as the bars do", async () => {
  const names = modelNames(12);
  const { figures } = await figuresOf(trialsOf(names));
  const { marks } = figures.get("failures")!;
  assertEquals(
    marks,
    names.map((_, place) => {
      const { colour, outline } = seriesMark(place);
      return { fill: colour, outline };
    }),
  );
  assertEquals(new Set(marks.map(({ fill, outline }) => `${fill} ${outline}`)).size, 12);
});

Deno.test("a page shows strategies against the baseline, where there is something to show", async () => {
  const trials = crossed({ both: 3, gained: 2 }, { model: "sim:<b>", simulated: true });
  using folder = new Folder();
  const pageOf = async (own: readonly Trial[]) => {
    const path = folder.file("r.html");
    await writeHtml(path, makeReport(own, { suite: "s" }), own, { rerun: () => undefined });
    return folder.read("r.html");
  };
  const page = await pageOf(trials);
  const { figures } = await figuresOf(trials);
  assertEquals(
    figures.get("strategies")!.caption,
    "Strategies against the baseline of the same model, on the same tasks; whiskers: 95% intervals, " +
      "each for a single comparison",
  );
  const [, table] = /<caption>\s*<div>Strategies against the baseline([^]*?)<\/table>/.exec(page)!;
  const cells = [...table!.matchAll(/<t[hd][^>]*>([^]*?)<\/t[hd]>/g)].map(([, cell]) =>
    plain(cell!)
  );
  assertEquals(cells.slice(10, 15), [
    ...["sim:&#60;b&#62; + restate (simulated)", "5", "60.0%", "100.0%", "+40.0"],
  ]);
  assertEquals((await figuresOf(trials.slice(0, 5))).figures.has("strategies"), false);
  // The word stands in the list of words alone.
  assert(!(await pageOf(trials.slice(0, 5))).includes("Strategies against"));
  const spoiled = trials.map((trial) => ({ ...trial, outcome: "invalid" as const, solved: false }));
  const { figures: none } = await figuresOf(spoiled);
  assertEquals(none.has("strategies"), false);
  assertStringIncludes(await pageOf(spoiled), "Strategies against the baseline");
  const single = [trials[0]!, trials[5]!].flatMap((trial) => [trial, { ...trial, repetition: 2 }]);
  const { figures: unsure } = await figuresOf(single);
  assertStringIncludes(unsure.get("strategies")!.caption, "points of a single task have none");
});

/** The page of these trials. */
async function pageOf(trials: readonly Trial[]): Promise<string> {
  using folder = new Folder();
  const path = folder.file("r.html");
  await writeHtml(path, makeReport(trials, { suite: "s" }), trials, { rerun: () => undefined });
  return folder.read("r.html");
}

/** The drawings of a figure: the heading over each, if any, and the names of its rows. */
function drawingsOf(page: string, id: string): string[][] {
  const [, figure] = new RegExp(`<figure id="figure-${id}"[^>]*>([^]*?)</figure>`).exec(page)!;
  const parts = /<h3>([^<]*)<\/h3>|(<div class="plot">)|"text mark" [^>]*>([^<]*)<\/text>/g;
  const drawings: string[][] = [];
  let heading: string[] = [];
  for (const [, own, plot, row] of figure!.matchAll(parts)) {
    if (own !== undefined) heading = [own];
    else if (plot !== undefined) drawings.push(heading);
    else drawings[drawings.length - 1] = [...drawings.at(-1)!, row!];
  }
  return drawings;
}

Deno.test("figures of many strategies are in parts, one a model under its name", async () => {
  const strategies = ["baseline", "restate", "repair"];
  const trials = ["a", "sim:b", "c"].flatMap((model) =>
    strategies.flatMap((strategy) =>
      trialsOf([model], { strategy, simulated: model.startsWith("sim:") })
    )
  );
  const page = await pageOf(trials);
  const names = ["a", "sim:b (simulated)", "c"];
  assertEquals(drawingsOf(page, "overview"), names.map((name) => [name, ...strategies]));
  // Six differences still stand beneath each other, each under its whole name.
  assertEquals(drawingsOf(page, "strategies"), [
    names.flatMap((name) =>
      strategies.slice(1).map((one) => name.replace(/( \(simulated\))?$/, ` + ${one}$1`))
    ),
  ]);
});

Deno.test("figures of many models are in parts of eight", async () => {
  const names = modelNames(20);
  const drawings = drawingsOf(await pageOf(trialsOf(names)), "overview");
  assertEquals(drawings.map(({ length }) => length), [8, 8, 4]);
  assertEquals(drawings.flat(), names);
  assertEquals(drawingsOf(await pageOf(trialsOf(names.slice(0, 8))), "overview"), [
    names.slice(0, 8),
  ]);
});

/** The ids of a page's sections, and where its links lead. */
function sectionsOf(page: string): string[] {
  const ids = [...page.matchAll(/<section id="([^"]*)">/g)].map(([, id]) => id!);
  const links = [...page.matchAll(/<a href="#([^"]*)">/g)].map(([, id]) => id!);
  assertEquals(links, ids);
  return ids;
}

const PROBED = PROBES.flatMap((probe) =>
  [1, 2, 3, 4].map((seed) => record({ task: { case: probe, seed }, model: `model ${seed}` }))
);

Deno.test("a page of probes alone has no empty section, and speaks of questions", async () => {
  const page = await pageOf(PROBED);
  assertEquals(sectionsOf(page), ["headline", "matrix", "success", "failures", "trials", "words"]);
  const body = page.slice(page.indexOf("<body>"), page.indexOf('<section id="words">'));
  for (const words of [/class="shared"/, /Failure types/, /not generated/, /\bgraphs?\b/]) {
    assertNotMatch(body, words);
  }
  assertStringIncludes(page, "<p>All calls fit the functions on offer.</p>");
  assertStringIncludes(page, '<th scope="col">question</th>');
  const both = await pageOf([...PROBED, ...trialsOf(["m"])]);
  assertStringIncludes(both, '<th scope="col">task</th>');
  assertEquals(sectionsOf(both), [
    ...["headline", "matrix", "success", "figures", "failures", "trials", "words"],
  ]);
  assertStringIncludes(await pageOf(trialsOf(["m"])), '<th scope="col">graph</th>');
});

Deno.test("a page of one size has no section of figures, whose legend would stand alone", async () => {
  const trials = trialsOf(modelNames(5)).filter(({ task }) => {
    const { core, depth } = generatedFrom(task);
    return core === 5 && depth === 2;
  });
  const page = await pageOf(trials);
  assertEquals(sectionsOf(page), ["headline", "matrix", "success", "failures", "trials", "words"]);
  assert(!page.includes('class="shared"'));
});

Deno.test("no legend of models stands over figures of strategies alone", async () => {
  const trials = modelNames(2).flatMap((model) =>
    ["baseline", "restate"].flatMap((strategy) => trialsOf([model], { strategy }))
  ).filter(({ task }) => generatedFrom(task).core === 5 && generatedFrom(task).depth === 2);
  const { figures, shared } = await figuresOf(trials);
  assertEquals(shared, undefined);
  assertEquals(figures.get("strategy-5")!.legend, ["strategy:", "baseline", "restate"]);
});

Deno.test("the words of a page have each strategy, probe, behaviour and stage", async () => {
  const [, words] = (await pageOf([record()])).split('<section id="words">');
  const terms = [...words!.matchAll(/<dt>([^<]*)<\/dt>/g)].map(([, term]) => term!);
  assertEquals(new Set(terms).size, terms.length, "each stands there once");
  const wanted = [
    ...STRATEGIES,
    ...PROBES,
    ...BEHAVIOURS,
    "ungrounded",
    "stage",
    "probe",
    "strategy",
    ...PERTURBATIONS,
    ...PARAMETER_FAILURE_TYPES.map((type) => type.replaceAll("_", " ")),
    ...["perturbation", "check", "abstained", "unchanged", "given, then also", "Butterfly"],
  ];
  for (const word of wanted) assert(terms.includes(word), word);
  const [, stage] = /<dt>stage<\/dt>\s*<dd>([^<]*)<\/dd>/.exec(words!)!;
  for (const name of stagesOf(["plan_then_call", "route_then_fill"])) {
    assertStringIncludes(stage!, name);
  }
  for (const name of stagesOf(["backward", "repair"])) assertStringIncludes(stage!, name);
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
  await writeHtml(path, makeReport(trials, { suite: "s" }), trials, { rerun: () => undefined });
  assertEquals(reportedTrials(path).map(({ signs }) => signs), [
    ["silent"],
    ["silent", "fault_gave_up", "fault_recovered"],
    ["fault_recovered"],
  ]);
});

Deno.test("shares have their intervals beneath them, as tables of many columns must fit", async () => {
  const [, table] = /Behaviour towards tools([^]*?)<\/table>/.exec(await pageOf(PROBED))!;
  assertMatch(table!, /<td>100\.0% <small>\(20\.7% to 100\.0%\)<\/small><\/td>/);
  const trials = ["none", "RD"].map((perturbation) => ({
    ...traced([callEvent(1)], { perturbation }),
    oracle: "truth" as const,
  }));
  const [, rates] = /Failure rates under([^]*?)<\/table>/.exec(await pageOf(trials))!;
  assertMatch(rates!, /<td>0\.0% <small>\(0\.0,<br>-\d+\.\d to \+\d+\.\d\)<\/small><\/td>/);
  const sized = await pageOf(trialsOf(["m"]));
  assertMatch(sized, /<small>\(\S+% to \S+%\), n \d+<\/small>/);
});

Deno.test("cells of tables are text, whatever they hold", async () => {
  const model = '<img src="x" onerror="alert(1)">';
  const parses = {
    strict: 0,
    repaired: 1,
    unreadable: 0,
    repairs: [{ repair: model, replies: 1 }],
  };
  const page = await pageOf([{ ...record({ model }), parses } as Trial]);
  const [, repairs] = /Commonest repairs([^]*?)<\/table>/.exec(page)!;
  assertMatch(repairs!, /<th scope="row">&#60;img/);
  assertMatch(repairs!, /<td>&#60;img/);
  assertNotMatch(repairs!, /<img/);
});
