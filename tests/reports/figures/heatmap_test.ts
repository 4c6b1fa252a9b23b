import { assert, assertAlmostEquals, assertEquals, assertLess, assertNotMatch } from "@std/assert";
import { measureBrittleness } from "../../../lib/reports/metrics/_brittleness.ts";
import { PERTURBATIONS } from "../../../lib/perturbations/ids.ts";
import { makeReport } from "../../../lib/reports/report.ts";
import {
  failureRateFigures,
  highestRate,
  transferFigures,
} from "../../../lib/reports/figures/_figures.ts";
import { draw } from "../../../lib/reports/figures/_plotting.ts";
import type { TrialSummary } from "../../../lib/trials/summary.ts";
import { scored, scoredAll } from "../../support/parameter_scores.ts";
import { HOSTILE, record, STEERING } from "../../support/records.ts";
import { elementsOf, parseXml } from "../../support/xml.ts";

function only(trials: readonly TrialSummary[]) {
  const all = measureBrittleness(trials);
  assertEquals(all.length, 1);
  return all[0]!;
}

type Own = ReturnType<typeof only>;
const drawTransfer = (own: Own) => draw(transferFigures({ brittleness: [own] })[0]!.spec);
const drawFailureRates = (own: Own) => draw(failureRateFigures({ brittleness: [own] })[0]!.spec);

/** What is written in a drawing, in order, and its cells by what they say to a screen reader. */
function read(svg: string) {
  const elements = elementsOf(parseXml(svg));
  const cells = elements
    .filter(({ attributes }) => attributes["class"]?.startsWith("mark-rect role-mark"))
    .flatMap(({ children }) => children)
    .map(({ attributes }) => ({
      label: attributes["aria-label"]!,
      opacity: Number(attributes["fill-opacity"]),
      attributes,
    }));
  const written = elements
    .filter(({ attributes }) => /^mark-text role-mark/.test(attributes["class"] ?? ""))
    .flatMap(({ children }) => children.map(({ text }) => text));
  return { elements, cells, written };
}

/** Cells in a line of the matrix: of those with R, one has D in the same call and one later. */
const PERTURBED = scoredAll(["RD", "R D", "R", "R", "M"], { perturbation: "RD" });

Deno.test("transferFigures() has a cell for each pair of types whose first is there, with its count (Butterfly A.1)", async () => {
  const { cells, written } = read(await drawTransfer(only(PERTURBED)));
  // R, D and M occur; nothing is known of the two others.
  assertEquals([cells.length, written.length], [15, 15]);
  const place = cells.findIndex(({ label }) =>
    label.startsWith("then also: task deviation; given: redundant information")
  );
  assertEquals(written[place], "2 of 4");
  assertAlmostEquals(cells[place]!.opacity, 0.35, 1e-9);
  assert(!cells.some(({ label }) => label.includes("given: hallucination name")));
});

Deno.test("labels of heatmaps are whole", async () => {
  const ids = ["none", ...PERTURBATIONS, "unrelated+rename+RP_F"];
  const own = only(ids.flatMap((perturbation) => scoredAll(["NMRSD"], { perturbation })));
  for (const svg of [await drawTransfer(own), await drawFailureRates(own)]) {
    const texts = elementsOf(parseXml(svg)).map(({ text }) => text);
    for (const text of texts) assert(!text.includes("\u2026"), text);
    for (const type of ["hallucination name", "specification mismatch"]) {
      assert(texts.includes(type), type);
    }
  }
  const words = elementsOf(parseXml(await drawTransfer(own))).filter(({ name }) => name === "tspan")
    .map(({ text }) => text);
  for (const word of ["hallucination", "specification", "deviation"]) {
    assert(words.includes(word), word);
  }
  const rates = elementsOf(parseXml(await drawFailureRates(own))).map(({ text }) => text);
  const lines = PERTURBATIONS.flatMap((id) => /^[A-Z]/.test(id) ? [id] : id.split(/(?<=_)/));
  for (const line of [...lines, "unrelated+", "rename+"]) assert(rates.includes(line), line);
});

Deno.test("failureRateFigures() has success, then a cell for each type, of each perturbation that is known", async () => {
  const trials = [
    ...scoredAll(["RD", "R D", "R", "R", "M"], { perturbation: "RD", outcome: "wrong_answer" }),
    scored("", { perturbation: "RD", seed: 9 }),
    ...scoredAll(["", "", "", "", ""], { perturbation: "WD" }),
    record({ perturbation: "CF" }),
  ];
  const { cells, written } = read(await drawFailureRates(only(trials)));
  const own = cells.map(({ label }, place) => ({
    label,
    text: written[place],
    cell: cells[place]!,
  }))
    .filter(({ label }) => label.startsWith("perturbation: RD; "));
  assertEquals(own.map(({ label }) => label), [
    "perturbation: RD; measure: solved; 17%",
    "perturbation: RD; measure: hallucination name; 0%",
    "perturbation: RD; measure: missing information; 17%",
    "perturbation: RD; measure: redundant information; 67%",
    "perturbation: RD; measure: specification mismatch; 0%",
    "perturbation: RD; measure: task deviation; 33%",
    "perturbation: RD; measure: any failure; 83%",
  ]);
  assertEquals(own.map(({ text }) => text), ["17%", "0%", "17%", "67%", "0%", "33%", "83%"]);
  const opacities = own.map(({ cell }) => cell.opacity);
  // Of failures the highest rate, rounded up to a tenth, has the full colour; of success all.
  assertAlmostEquals(opacities[0]!, 0.42 / 6, 1e-9);
  assertAlmostEquals(opacities[3]!, 0.7 * (4 / 6) / 0.9, 1e-9);
  assertEquals(opacities[1], 0);
  assertEquals(
    own.map(({ cell }) => cell.attributes["fill"]),
    ["var(--good)", ...new Array(6).fill("var(--heat)")],
  );
  const solved = cells.find(({ label }) => label === "perturbation: WD; measure: solved; 100%")!;
  assertAlmostEquals(solved.opacity, 0.42, 1e-9);
  assert(!cells.some(({ label }) => label.includes("CF")));
});

Deno.test("heatmaps keep hostile names as text, tell like ones apart, and draw the same again", async () => {
  const ids = [HOSTILE, HOSTILE.slice(1), "constructor", "__proto__", "<b>&", "RD"];
  const own = only(ids.map((perturbation) => scored("R", { perturbation })));
  const svg = await drawFailureRates(own);
  assertEquals(await drawFailureRates(own), svg);
  assertNotMatch(svg, STEERING);
  assertEquals(read(svg).cells.length, 7 * ids.length);
  for (const { name, attributes } of read(svg).elements) {
    assert(!/script|foreignobject|image|^a$|^style$/i.test(name), name);
    assert(!Object.keys(attributes).some((key) => /^on|href$|^style$/i.test(key)), name);
  }
});

Deno.test("highestRate() is rounded up to a tenth, and no smaller than that", () => {
  const rate = (...words: readonly string[]) =>
    highestRate([only(scoredAll(words, { perturbation: "RD" }))]);
  assertEquals(rate("", ""), 0.1);
  assertEquals(rate("R", "R", "", "", "", "", "", "", "", ""), 0.2);
  assertEquals(rate("R", "", ""), 0.4);
  assertEquals(rate("R"), 1);
  assertEquals(highestRate([]), 0.1);
});

Deno.test("heatmaps of a report: two a model, with notes that say what colours mean", () => {
  const report = makeReport([
    ...PERTURBED,
    ...scoredAll(["R", "R"], { perturbation: "RD", model: "sim:a", simulated: true }),
    record({ model: "unknown", perturbation: "RD" }),
    record({ model: "b", perturbation: "rename" }),
  ], { suite: "s" });
  const [rates, transfers] = [failureRateFigures(report), transferFigures(report)];
  assertEquals(rates.map(({ id }) => id), ["failure-rates-1", "failure-rates-2"]);
  assertEquals(transfers.map(({ id }) => id), ["transfer-1", "transfer-2"]);
  for (const { note, section } of rates) {
    assert(note!.endsWith("full colour: 100% of trials"), note);
    assert(note!.includes("a trial without calls has none"));
    assertEquals(section, "matrix");
  }
  assert(transfers[0]!.note!.includes("on the diagonal: again in a later call"));
  assertEquals(rates[1]!.title, "Failure rates under perturbations: sim:a (simulated)");
  const plain = makeReport([record()], { suite: "s" });
  assertEquals([...failureRateFigures(plain), ...transferFigures(plain)], []);
});

Deno.test("what is written in heatmaps can be read on light pages and on dark ones", async () => {
  const css = await Deno.readTextFile(
    new URL("../../../lib/reports/page/page.css", import.meta.url),
  );
  for (const scheme of [1, 2]) {
    const colour = (name: string) => {
      const hex = new RegExp(`--${name}: light-dark\\(#(\\w{6}), #(\\w{6})\\);`).exec(css)![scheme];
      return [0, 2, 4].map((from) => parseInt(hex!.slice(from, from + 2), 16) / 255);
    };
    const luminance = (rgb: readonly number[]) =>
      rgb.map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
        .reduce((sum, part, place) => sum + part * [0.2126, 0.7152, 0.0722][place]!, 0);
    const [ink, paper] = ["ink", "raised"].map(colour);
    for (const [name, opacity] of [["heat", 0.7], ["good", 0.42]] as const) {
      const cell = colour(name).map((part, place) =>
        opacity * part + (1 - opacity) * paper![place]!
      );
      const [high, low] = [luminance(ink!), luminance(cell)].sort((one, other) => other - one);
      // What the guidelines for accessible pages ask of small text (WCAG 2, 1.4.3).
      assertLess(4.5, (high! + 0.05) / (low! + 0.05));
    }
  }
});
