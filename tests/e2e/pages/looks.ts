// How the HTML report looks in a real browser: colours, contrast, narrow screens.

import { assertEquals, assertGreater, assertGreaterOrEqual, assertLess } from "@std/assert";
import type { Page } from "playwright-core";
import { PROBES } from "../../../lib/tasks/task_kind.ts";
import type { Trial } from "../../../lib/trials/trial.ts";
import { browserTest } from "../../support/browser.ts";
import { Folder } from "../../support/folders.ts";
import { writeJournal } from "../../support/journals.ts";
import { manyTrials } from "../../support/many_trials.ts";
import { failureOf, record, type TrialTraits } from "../../support/records.ts";
import {
  goTo,
  goToTrial,
  openReport,
  resize,
  unfold,
  writeReport,
  writeTrials,
} from "../../support/report_page.ts";

/** A report with every outcome and wrong calls of all kinds, and the number of the worst trial. */
let made: Promise<{ folder: Folder; html: string; worst: number }> | undefined;
const theReport = () => made ??= makeReport();

async function makeReport() {
  const folder = new Folder();
  const { plan, trials } = await manyTrials(8, ["plain", "restate"]);
  const invalid: Partial<Trial> = {
    outcome: "invalid",
    solved: false,
    reason: "500: out of order",
  };
  const [first, ...others] = trials;
  const journal = writeJournal(folder, plan, [{ ...first!, ...invalid }, ...others]);
  const most = Math.max(...others.map(({ failures }) => failures.length));
  const worst = trials.findIndex(({ failures }) => failures.length === most) + 1;
  return { folder, html: await writeReport(journal), worst };
}

Deno.test.afterAll(async () => (await made)?.folder[Symbol.dispose]());

/** A text or a mark, its colour, and the contrast to what lies behind it. */
interface Seen {
  readonly what: string;
  readonly kind: "text" | "node" | "figure" | "mark" | "pale";
  readonly colour: string;
  readonly contrast: number;
}

/** Everything in a page that must stand out from its background, as the browser computes it. */
function look(page: Page): Promise<Seen[]> {
  return page.evaluate(() => {
    type Colour = readonly [red: number, green: number, blue: number, alpha: number];
    const colourOf = (text: string): Colour => {
      // What is mixed has shares of 255.
      const match =
        /^(?:rgba?|color)\((srgb )?([\d.]+),? ([\d.]+),? ([\d.]+)(?:,? [/ ]*([\d.]+))?\)$/
          .exec(text);
      if (match === null) throw new Error(`Not a colour: ${text}`);
      const [, mixed, red, green, blue, alpha = 1] = match;
      const all = mixed === undefined ? 1 : 255;
      return [all * Number(red), all * Number(green), all * Number(blue), Number(alpha)];
    };
    const over = (top: Colour, under: Colour): Colour => {
      const mix = (place: 0 | 1 | 2) => top[place] * top[3] + under[place] * (1 - top[3]);
      return [mix(0), mix(1), mix(2), 1];
    };
    const light = ([red, green, blue]: Colour) => {
      const [r, g, b] = [red, green, blue].map((value) => {
        const part = value / 255;
        return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
      }) as [number, number, number];
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const contrast = (one: Colour, other: Colour) => {
      const [low, high] = [light(one), light(other)].sort((a, b) => a - b) as [number, number];
      return (high + 0.05) / (low + 0.05);
    };
    const behind = (element: Element | null): Colour => {
      if (element === null) return [255, 255, 255, 1];
      const own = colourOf(getComputedStyle(element).backgroundColor);
      return own[3] === 1 ? own : over(own, behind(element.parentElement));
    };
    const opacityOf = (element: Element | null): number =>
      element === null
        ? 1
        : Number(getComputedStyle(element).opacity) * opacityOf(element.parentElement);
    const seen: Seen[] = [];
    for (const element of document.querySelectorAll("body *")) {
      const written = [...element.childNodes].some((node) =>
        node instanceof Text && node.data.trim() !== ""
      );
      if (!written || !element.checkVisibility() || element.matches("script, option, :disabled")) {
        continue;
      }
      const style = getComputedStyle(element);
      const drawn = element instanceof SVGElement;
      const colour = colourOf(drawn ? style.fill : style.color);
      const shape = element.closest("g.node")?.querySelector("path, polygon, ellipse");
      const under = shape == null ? behind(element) : colourOf(getComputedStyle(shape).fill);
      seen.push({
        what: `${element.tagName}.${element.getAttribute("class")} ${
          element.textContent!.slice(0, 40)
        }`,
        kind: shape == null ? drawn ? "figure" : "text" : "node",
        colour: colour.join(" "),
        contrast: contrast(
          over([...colour.slice(0, 3), opacityOf(element)] as never, under),
          under,
        ),
      });
    }
    const marks = ".role-mark path, .role-mark line, .legend path, .mark path";
    for (const mark of document.querySelectorAll(marks)) {
      const { fill, stroke } = getComputedStyle(mark);
      // Lines have no inside, whatever it would be filled with.
      const paint = (mark.tagName === "line" ? [stroke] : [stroke, fill])
        .find((paint) => paint !== "none" && !/^rgba\(.* 0\)$/.test(paint));
      const colour = colourOf(paint ?? "rgba(0, 0, 0, 0)");
      const opacity = opacityOf(mark);
      const under = behind(mark);
      seen.push({
        what: `${mark.closest("figure")?.id} ${mark.parentElement!.getAttribute("class")} ${paint}`,
        // The band of a gate lies behind the marks, and its edge is a line.
        kind: opacity < 1 || mark.getAttribute("fill") === "var(--band)" ? "pale" : "mark",
        colour: colour.join(" "),
        contrast: contrast(
          over([...colour.slice(0, 3), opacity * colour[3]] as never, under),
          under,
        ),
      });
    }
    return seen;
  });
}

/** What each kind needs at least: text as WCAG 2 has it for AA, marks as its section 1.4.11. */
const LEAST = { text: 4.5, node: 4.5, figure: 4.5, mark: 3, pale: 1.4 };

browserTest("texts and marks stand out from their background, light and dark", async (browser) => {
  const { html, worst } = await theReport();
  await using opened = await openReport(browser, html);
  const { page, faults } = opened;
  await goToTrial(page, worst);
  await unfold(page);
  // A verdict of each kind.
  await page.evaluate(() => {
    for (const kind of ["pass", "fail", "undecided", "invalid"]) {
      const card = document.createElement("article");
      card.className = `verdict ${kind}`;
      card.append(document.createElement("span"), "Words.");
      card.firstElementChild!.className = "badge";
      card.firstElementChild!.textContent = kind;
      document.querySelector("main")!.prepend(card);
    }
  });
  const papers = new Set<string>();
  for (const scheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme: scheme });
    const seen = await look(page);
    assertEquals(seen.filter(({ what }) => what.startsWith("SPAN.badge ")).length > 4, true);
    for (const [kind, least] of Object.entries(LEAST)) {
      const own = seen.filter((one) => one.kind === kind);
      assertGreater(own.length, 10, kind);
      const worst = own.reduce((one, other) => one.contrast <= other.contrast ? one : other);
      assertGreaterOrEqual(worst.contrast, least, `${scheme}, ${kind}: ${JSON.stringify(worst)}`);
    }
    // Four series differ by their colours.
    const marks = seen.filter(({ what }) => what.startsWith("figure-core mark-symbol"));
    assertEquals(new Set(marks.map(({ colour }) => colour)).size, 4);
    papers.add(await page.evaluate(() => getComputedStyle(document.body).backgroundColor));
  }
  assertEquals(papers.size, 2);
  assertEquals(faults, []);
});

browserTest(
  "nothing is wider than a screen, no label is cut off, and all is readable",
  async (browser) => {
    const { html, worst } = await theReport();
    await using opened = await openReport(browser, html, { width: 400 });
    const { page, faults } = opened;
    for (const width of [400, 1280]) {
      await resize(page, width);
      await goTo(page, "#headline");
      const widest = () => page.evaluate(() => document.documentElement.scrollWidth);
      assertEquals(await widest(), width);
      await goToTrial(page, worst);
      await unfold(page);
      assertEquals(await widest(), width);
      // But for names that the key in the header explains.
      const short = await page.locator(".key b").allTextContents();
      const labels = await page.locator("figure svg text").allTextContents();
      assertGreater(labels.length, 10);
      assertEquals(
        labels.filter((text) =>
          text.includes("\u2026") &&
          !short.some((name) => text.replace(/^against /, "").startsWith(name))
        ),
        [],
      );
      const seen = await page.evaluate(() => ({
        // The numbers of trials in the list stand on one line each.
        heights: [...document.querySelectorAll("#list td:first-child a")].map((one) =>
          one.getBoundingClientRect().height
        ),
        // Each caption stands within the box that its table scrolls in.
        captions: [...document.querySelectorAll("caption div")].map((one) => {
          const box = one.closest(".view")!.getBoundingClientRect();
          const { left, right } = one.getBoundingClientRect();
          return Math.max(box.left - left, right - box.right);
        }),
        // Drawn in the size of their letters, or larger; a little smaller where names are short.
        scales: [...document.querySelectorAll<SVGSVGElement>(".plot svg")]
          .filter((one) => one.checkVisibility())
          .map((one) => one.getBoundingClientRect().width / one.viewBox.baseVal.width),
        overflowing: [...document.querySelectorAll(".plot")]
          .filter((one) =>
            one.scrollWidth > one.clientWidth && getComputedStyle(one).overflowX !== "auto"
          ).length,
        words: [...document.querySelectorAll("dl.words dd")].map((one) =>
          one.getBoundingClientRect().width
        ),
      }));
      assertLess(Math.max(...seen.heights), 30);
      assertGreater(seen.captions.length, 10);
      assertLess(Math.max(...seen.captions), 1);
      assertGreater(seen.scales.length, 5);
      assertGreaterOrEqual(Math.min(...seen.scales), 0.8);
      assertEquals(seen.overflowing, 0);
      assertGreater(Math.max(...seen.words), width === 400 ? 300 : 500);
    }
    assertEquals(faults, []);
  },
);

/** Reports of all kinds, by what they are about. */
function kindsOfTrials(): Record<string, Trial[]> {
  const models = ["gpt-5", "sim:noisy?distract=0.2&hallucinate=0.05&early=0.4&copy=0.3"];
  const of = (model: string, index: number, traits: TrialTraits) => ({
    ...record({ model, simulated: model.startsWith("sim:"), seed: index, ...traits }),
    ...{ index, id: `trial ${index}` },
  });
  const each = (traits: readonly TrialTraits[]) =>
    models.flatMap((model, place) =>
      traits.map((own, index) => of(model, traits.length * place + index, own))
    );
  const ended: readonly TrialTraits[] = [
    { outcome: "solved" },
    { outcome: "wrong_answer", failures: [failureOf("incorrect_value")] },
  ];
  return {
    nothing: [],
    graphs: each([3, 5, 8, 13].flatMap((core) =>
      ended.map((end, seed) => ({
        ...{ task: { core, depth: 2, connected: 5, disconnected: 0, seed }, ...end },
      }))
    )),
    perturbations: each(
      ["none", "RD", "CF", "rename", "shuffle_functions"].flatMap((perturbation) =>
        ended.map((end) => ({ perturbation, ...end }))
      ),
    ),
    strategies: each(
      ["plain", "restate", "plan_then_call"].flatMap((strategy) =>
        ended.map((end) => ({ strategy, ...end }))
      ),
    ),
    probes: each(PROBES.map((probe) => ({ task: { case: probe, seed: 1 } }))),
    tests: each(
      ["lends a book to a member without fees", "x".repeat(200)].flatMap((name) =>
        ended.map((end, seed) => ({ task: { case: name, seed }, ...end }))
      ),
    ),
  };
}

browserTest("no kind of report scrolls sideways on a phone without saying so", async (browser) => {
  using folder = new Folder();
  for (const [kind, trials] of Object.entries(kindsOfTrials())) {
    const html = await writeTrials(folder, trials);
    await using opened = await openReport(browser, html, { width: 400 });
    const { page, faults } = opened;
    for (const hash of trials.length === 0 ? [""] : ["", "#trial-2", "#?trial=2&beside=1"]) {
      if (hash !== "") await goTo(page, hash);
      await unfold(page);
      const seen = await page.evaluate(() => ({
        width: document.documentElement.scrollWidth,
        unseen: [...document.querySelectorAll("body *")].filter((one) =>
          one.scrollWidth > one.clientWidth + 1 &&
          ["auto", "scroll", "hidden"].includes(getComputedStyle(one).overflowX) &&
          // Rows of the list are cut to one line: the open trial has the rest.
          !one.matches(".cut, select, input, #list > tr > td")
        ).map((one) => `${one.tagName}.${one.className} in ${one.parentElement!.id}`),
      }));
      assertEquals([seen.width, seen.unseen], [400, []], `${kind} ${hash}`);
    }
    assertEquals(faults, [], kind);
  }
});

browserTest("names have room", async (browser) => {
  using folder = new Folder();
  const trials = ["one", "two", "three", "four"].flatMap((name, place) =>
    [3, 5].map((core, index) => ({
      ...record({
        model: `long_name_without_space_${name}`,
        task: { core, depth: 2, connected: 5, disconnected: 5, seed: 1 },
        outcome: "wrong_answer",
        failures: [failureOf("incorrect_value")],
      }),
      ...{ index: 2 * place + index, id: `${name} ${core}` },
    }))
  );
  const html = await writeTrials(folder, trials);
  await using opened = await openReport(browser, html);
  const { page, faults } = opened;
  for (const width of [1280, 800, 400]) {
    await resize(page, width);
    const narrowest = await page.locator("#table-matrix").evaluate((view) =>
      Math.min(
        ...[...view.querySelectorAll("tbody th, tbody .name")]
          .filter(({ textContent }) => textContent.length > 20)
          .map((one) => one.getBoundingClientRect().width),
      )
    );
    assertGreater(narrowest, 149, `at ${width}`);
  }
  assertEquals(faults, []);
});

browserTest("the table of probes has all of its columns on a screen", async (browser) => {
  using folder = new Folder();
  const models = ["sim:planner", "sim:noisy?averse=0.2&ignore=0.3 + indirection"];
  const trials = models.flatMap((model) =>
    PROBES.map((probe, place) =>
      record({ model, simulated: true, index: place, task: { case: probe, seed: 1 } })
    )
  );
  const html = await writeTrials(folder, trials);
  await using opened = await openReport(browser, html);
  const cut = await opened.page.evaluate(() =>
    [...document.querySelectorAll("#success .view")].map((one) => one.scrollWidth - one.clientWidth)
  );
  assertEquals(cut, cut.map(() => 0));
  assertEquals(opened.faults, []);
});
