// The markup of HTML reports that needs no browser to be looked at.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { makeReport } from "../../lib/report.ts";
import { seriesMark } from "../../lib/reports/figures.ts";
import { writeHtml } from "../../lib/reports/html.ts";
import type { Trial } from "../../lib/trial.ts";
import { Folder } from "../support/folders.ts";
import { failureOf, record, type TrialTraits } from "../support/records.ts";

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
  await writeHtml(path, report, trials, { replay: () => undefined });
  const page = folder.read("r.html");
  const figures = [...page.matchAll(/<figure id="figure-([^"]*)">([^]*?)<\/figure>/g)];
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
    model.requested !== "model 1" || task.core === 5
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
  const { figures: sized } = await figuresOf(trials.filter(({ task }) => task.core === 5));
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
  const words = "points of a single graph have none";
  const { figures: sure } = await figuresOf(trials);
  for (const [id, { caption }] of sure) assert(!caption.includes(words), id);
  const { figures } = await figuresOf([...trials, ...repeated]);
  assertStringIncludes(figures.get("core")!.caption, `n = 2 to 4 valid trials a point; ${words}`);
  assert(!figures.get("depth-5")!.caption.includes(words));
  const { figures: alone } = await figuresOf(repeated);
  assertStringIncludes(alone.get("overview")!.caption, words);
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
