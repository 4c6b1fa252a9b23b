/**
 * Reports in a browser: what stands in the page, as plain data.
 */

// What runs in the page is typed as that.
/// <reference lib="dom" />
/// <reference lib="dom.iterable" />

import { assertEquals } from "@std/assert";
import type { Page } from "playwright-core";
import { report } from "../../lib/cli/report.ts";
import { writeHtml } from "../../lib/reports/html.ts";
import { Report } from "../../lib/reports/report.ts";
import { summarize } from "../../lib/trials/summary.ts";
import type { Trial } from "../../lib/trials/trial.ts";
import type { Folder } from "./folders.ts";
import type { OpenedPage, PageOptions, TestBrowser } from "./browser.ts";

/** Writes the report of journals beside the last of them, and gives its path. */
export async function writeReport(...journals: string[]): Promise<string> {
  const path = journals.at(-1)!.replace(/\.jsonl$/, ".html");
  const { error } = console;
  const told: unknown[] = [];
  console.error = (text) => told.push(text);
  try {
    assertEquals(await report.read("report", [...journals, "--html", path]).run(), 0);
  } finally {
    console.error = error;
  }
  assertEquals(told, [`Wrote ${path}`]);
  return path;
}

/** Writes the report of trials that are of no plan, and gives its path. */
export async function writeTrials(folder: Folder, trials: readonly Trial[]): Promise<string> {
  const path = folder.file("report.html");
  const ordered = trials.toSorted((one, other) => one.index - other.index);
  await writeHtml(path, new Report(ordered.map((one) => summarize(one)), { suite: "s" }), ordered, {
    rerun: ({ id }) => `toolgate run --only ${id}`,
  });
  return path;
}

/** Opens a report, and waits until it has begun. */
export async function openReport(
  browser: TestBrowser,
  path: string,
  options?: PageOptions,
): Promise<OpenedPage> {
  const opened = await browser.open(path, options);
  try {
    await opened.page.waitForSelector("html[data-ready]");
    return opened;
  } catch (error) {
    await opened[Symbol.asyncDispose]();
    throw new Error(`The page does not begin: ${opened.faults.join("; ")}`, { cause: error });
  }
}

/** Waits until a page is laid out: tables and figures hear of their sizes in the frame after. */
function isLaidOut(page: Page): Promise<void> {
  return page.evaluate(async () => {
    for (let frames = 0; frames < 3; frames++) await new Promise(requestAnimationFrame);
  });
}

/** Opens all that can be opened in a page, and waits until it is laid out. */
export async function unfold(page: Page): Promise<void> {
  await page.evaluate(() => {
    for (const details of document.querySelectorAll("details")) details.open = true;
  });
  await isLaidOut(page);
}

/** The headings that a page shows more than once. */
export function repeatedHeadings(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const shown = [...document.querySelectorAll<HTMLElement>("h2, h3, caption, figcaption")]
      .filter((one) => one.checkVisibility())
      // What explains a title stands behind it in elements of its own.
      .map((one) =>
        [...(one.querySelector("div") ?? one).childNodes]
          .map((part) => part instanceof Text ? part.data.trim() : "").join("")
      );
    return shown.filter((text, place) => text !== "" && shown.indexOf(text) !== place);
  });
}

/** Gives a page another width, and waits until it is laid out. */
export async function resize(page: Page, width: number): Promise<void> {
  await page.setViewportSize({ width, height: 900 });
  await isLaidOut(page);
}

/** Changes the address of a page within it, as a link does. */
export async function goTo(page: Page, hash: string): Promise<void> {
  await page.evaluate((hash) => {
    location.hash = hash;
    // The page hears of it later.
    return new Promise((resolve) => addEventListener("hashchange", resolve, { once: true }));
  }, hash);
}

/** The rows of the list that are shown, cell by cell; without times, a column of which slow machines alone have. */
export function shownRows(page: Page): Promise<string[][]> {
  return page.evaluate(() =>
    [...document.querySelectorAll("#list tr")].map((row) =>
      [...row.querySelectorAll("td:not(.time)")].map((cell) => cell.textContent!)
    )
  );
}

/** The rows of all pages of the list, from the first on. */
export async function allRows(page: Page): Promise<string[][]> {
  while (await page.locator("#previous").isEnabled()) await page.click("#previous");
  const rows = await shownRows(page);
  while (await page.locator("#next").isEnabled()) {
    await page.click("#next");
    rows.push(...await shownRows(page));
  }
  return rows;
}

/** Lets only trials through that ended in this way, such as `not solved`. Default: all. */
export async function chooseOutcome(page: Page, word = "all"): Promise<void> {
  await page.locator("#outcomes button", { hasText: new RegExp(`^${word} [\\d,]+$`) }).click();
}

/** A piece of text in the drawing of a graph. */
export interface DrawnText {
  readonly text: string;
  readonly colour: string;
  readonly bold: boolean;
}

/** The trial that is open. */
export interface ShownTrial {
  readonly heading: string;
  readonly outcome: string;
  readonly summary: string;
  readonly facts: Readonly<Record<string, string>>;
  readonly rerun: string;
  readonly events: readonly {
    readonly kinds: readonly string[];
    /** All of its words. */
    readonly text: string;
    /** The inputs of a call; a reason stands under the one that is wrong. */
    readonly inputs: readonly { readonly value: string; readonly wrong?: string }[];
    /** What the call returned. */
    readonly returned?: string;
    /** Why the call failed. */
    readonly why?: string;
  }[];
  /** The functions that are drawn, by name; `undefined` where there is no graph. */
  readonly nodes: Readonly<Record<string, readonly DrawnText[]>> | undefined;
  readonly edges: readonly string[];
  /** The prompt and the tools. */
  readonly task: readonly string[];
}

/** Goes to a trial by its address. */
export async function goToTrial(page: Page, number: number): Promise<void> {
  await page.evaluate((hash) => location.hash = hash, `#trial-${number}`);
  await trialIsOpen(page, number);
}

/** Waits until a trial is open and all of it is there. */
export async function trialIsOpen(page: Page, number: number): Promise<void> {
  await page.locator("#trial h3", { hasText: new RegExp(`^trial ${number}$`) }).waitFor();
  await page.locator(".drawing svg, .drawing .why, #graph > :is(p:not(.roles), pre)").first()
    .waitFor();
}

// What follows runs in the browser, where no coverage is taken.
// deno-coverage-ignore-start

/** Reads the trial that is open. */
export function readTrial(page: Page): Promise<ShownTrial> {
  return page.evaluate(() => {
    const panel = document.querySelector("#trial")!;
    const textOf = (selector: string) => panel.querySelector(selector)?.textContent ?? "";
    const drawing = panel.querySelector(".drawing svg");
    return {
      heading: textOf("h3"),
      outcome: textOf(".badge"),
      summary: textOf(".summary"),
      facts: Object.fromEntries(
        [...panel.querySelectorAll("dl div")].map((fact) => [
          fact.querySelector("dt")!.textContent,
          fact.querySelector("dd")!.textContent,
        ]),
      ),
      rerun: textOf("#rerun"),
      events: [...panel.querySelectorAll("#events > li")].map((item) => {
        const call = item.querySelector(".call");
        const why = [...item.children].find((child) => child.matches("p.why"));
        return {
          kinds: [...item.classList],
          text: item.textContent!,
          inputs: call === null ? [] : [...call.children[0]!.children].map((input) => {
            const wrong = input.querySelector(".why")?.textContent;
            const value = (input.querySelector(".value") ?? input).textContent!;
            return wrong === undefined ? { value } : { value, wrong };
          }),
          ...(call === null ? {} : { returned: call.children[2]!.textContent! }),
          ...(why === undefined ? {} : { why: why.textContent! }),
        };
      }),
      nodes: drawing === null ? undefined : Object.fromEntries(
        [...drawing.querySelectorAll("g.node")].map((node) => [
          node.querySelector("title")!.textContent,
          [...node.querySelectorAll("text")].map((text) => ({
            text: text.textContent!.replaceAll("\u00a0", " ").trim(),
            colour: getComputedStyle(text).fill,
            bold: Number(getComputedStyle(text).fontWeight) >= 600,
          })).filter(({ text }) => text !== ""),
        ]),
      ),
      edges: [...drawing?.querySelectorAll("g.edge title") ?? []].map((edge) => edge.textContent!),
      task: [...panel.querySelectorAll("details pre")].map((text) => text.textContent!),
    };
  });
}

// deno-coverage-ignore-stop
