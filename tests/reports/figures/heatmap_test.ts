import { assert, assertAlmostEquals, assertEquals, assertLess, assertNotMatch } from "@std/assert";
import { measureBrittleness } from "../../../lib/reports/metrics/brittleness.ts";
import { PERTURBATIONS } from "../../../lib/perturbations/ids.ts";
import { makeReport } from "../../../lib/reports/report.ts";
import { perturbationFigures } from "../../../lib/reports/page/_figure_markup.ts";
import {
  drawFailureRates,
  drawTransfer,
  hasBroadRates,
  highestRate,
} from "../../../lib/reports/figures/_heatmap.ts";
import type { TrialSummary } from "../../../lib/trials/summary.ts";
import { scored, scoredAll } from "../../support/parameter_scores.ts";
import { HOSTILE, record, STEERING } from "../../support/records.ts";
import { elementsOf, parseXml } from "../../support/xml.ts";

function only(trials: readonly TrialSummary[]) {
  const all = measureBrittleness(trials);
  assertEquals(all.length, 1);
  return all[0]!;
}

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

Deno.test("drawTransfer() has a cell for each pair of types whose first is there, with its count (Butterfly A.1)", async () => {
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

Deno.test("drawTransfer() names all types on both axes, in their order, data or none", async () => {
  const { elements } = read(await drawTransfer(only(PERTURBED)));
  const texts = elements.filter(({ name }) => name === "text" || name === "tspan")
    .map(({ text }) => text);
  for (const name of ["hallucination name", "specification mismatch", "then also", "given"]) {
    assert(texts.includes(name), name);
  }
  const none = read(await drawTransfer({ transfer: [] }));
  assertEquals(none.cells, []);
});

Deno.test("labels of heatmaps are whole", async () => {
  const ids = ["none", ...PERTURBATIONS, "unrelated+rename+RP_F"];
  const own = only(ids.flatMap((perturbation) => scoredAll(["NMRSD"], { perturbation })));
  for (const svg of [await drawTransfer(own), await drawFailureRates(own, 1)]) {
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
  const rates = elementsOf(parseXml(await drawFailureRates(own, 1))).map(({ text }) => text);
  const lines = PERTURBATIONS.flatMap((id) => /^[A-Z]/.test(id) ? [id] : id.split(/(?<=_)/));
  for (const line of [...lines, "unrelated+", "rename+"]) assert(rates.includes(line), line);
});

Deno.test("drawFailureRates() has a cell for each type and perturbation that is known", async () => {
  const trials = [...PERTURBED, record({ perturbation: "CF" })];
  const { cells, written } = read(await drawFailureRates(only(trials), 0.8));
  assertEquals(cells.map(({ label }) => /perturbation: (\w+)/.exec(label)![1]), [
    ...new Array(6).fill("RD"),
  ]);
  assertEquals(written, ["0%", "20%", "80%", "0%", "40%", "100%"]);
  const opacities = cells.map(({ opacity }) => opacity);
  // The highest rate has the full colour, and half of it half.
  assertAlmostEquals(opacities[2]!, 0.7, 1e-9);
  assertAlmostEquals(opacities[4]!, 0.35, 1e-9);
  assertEquals(opacities[0], 0);
});

Deno.test("heatmaps keep hostile names as text, tell like ones apart, and draw the same again", async () => {
  const ids = [HOSTILE, HOSTILE.slice(1), "constructor", "__proto__", "<b>&", "RD"];
  const own = only(ids.map((perturbation) => scored("R", { perturbation })));
  const svg = await drawFailureRates(own, 1);
  assertEquals(await drawFailureRates(own, 1), svg);
  assertNotMatch(svg, STEERING);
  assertEquals(read(svg).cells.length, 6 * ids.length);
  for (const { name, attributes } of read(svg).elements) {
    assert(!/script|foreignobject|image|^a$|^style$/i.test(name), name);
    assert(!Object.keys(attributes).some((key) => /^on|href$|^style$/i.test(key)), name);
  }
});

Deno.test("drawFailureRates() has joined perturbations in lines of their own", async () => {
  const svg = await drawFailureRates(only([scored("", { perturbation: "CF+FK+RD" })]), 1);
  const lines = read(svg).elements.filter(({ name }) => name === "tspan").map(({ text }) => text);
  assertEquals(lines.filter((line) => /^(CF|FK|RD)/.test(line)), ["CF+", "FK+", "RD"]);
});

Deno.test("highestRate() is rounded up to a tenth, and no smaller than that", () => {
  const rate = (...words: readonly string[]) =>
    highestRate([only(scoredAll(words, { perturbation: "RD" }))]);
  assertEquals(rate("", ""), 0.1);
  assertEquals(rate("R", "R", "", "", "", "", "", "", "", ""), 0.2);
  assertEquals(rate("R", "", ""), 0.4);
  assertEquals(rate("R"), 1);
  for (let count = 1; count <= 10; count++) {
    const words = Array.from({ length: 10 }, (_, place) => place < count ? "R" : "");
    assertEquals(rate(...words), count / 10);
  }
  assertEquals(highestRate([]), 0.1);
});

Deno.test("perturbationFigures() has two figures a model, with captions that say what colours mean", async () => {
  const report = makeReport([
    ...PERTURBED,
    ...scoredAll(["R", "R"], { perturbation: "RD", model: "sim:a", simulated: true }),
    record({ model: "unknown", perturbation: "RD" }),
    record({ model: "b", perturbation: "rename" }),
  ], { suite: "s" });
  const [markup, ...others] = await perturbationFigures(report);
  assertEquals(others, []);
  const ids = [...markup!.text.matchAll(/<figure id="([^"]*)"/g)].map(([, id]) => id);
  assertEquals(ids, [
    ...["figure-failure-rates-1", "figure-transfer-1"],
    ...["figure-failure-rates-2", "figure-transfer-2"],
  ]);
  const captions = [...markup!.text.matchAll(/<figcaption>([^]*?)<\/figcaption>/g)]
    .map(([, caption]) => caption!);
  assertEquals(
    captions.filter((caption) => caption.includes("full colour: 100% of trials")).length,
    2,
  );
  assert(captions[0]!.includes("a trial without calls has none"));
  assert(captions[1]!.includes("on the diagonal: again in a later call"));
  assert(captions[2]!.startsWith("Failure rates under perturbations: sim:a (simulated)"));
  assertEquals(await perturbationFigures(makeReport([record()], { suite: "s" })), []);
});

Deno.test("hasBroadRates() gives many perturbations the room of two figures", () => {
  const trials = ["RD", "RE", "WD", "WT", "SD"].map((perturbation) => scored("", { perturbation }));
  assert(!hasBroadRates(only(trials)));
  assert(hasBroadRates(only([...trials, record()])));
});

Deno.test("what is written in heatmaps can be read on light pages and on dark ones", async () => {
  const css = await Deno.readTextFile(
    new URL("../../../lib/reports/page/page.css", import.meta.url),
  );
  const [light, dark] = css.split("@media (prefers-color-scheme: dark)");
  for (const scheme of [light!, dark!]) {
    const colour = (name: string) => {
      const [, hex] = new RegExp(`--${name}: #([0-9a-f]{6});`).exec(scheme)!;
      return [0, 2, 4].map((from) => parseInt(hex!.slice(from, from + 2), 16) / 255);
    };
    const luminance = (rgb: readonly number[]) =>
      rgb.map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
        .reduce((sum, part, place) => sum + part * [0.2126, 0.7152, 0.0722][place]!, 0);
    const [ink, heat, paper] = ["ink", "heat", "raised"].map(colour);
    const cell = heat!.map((part, place) => 0.7 * part + 0.3 * paper![place]!);
    const [high, low] = [luminance(ink!), luminance(cell)].sort((one, other) => other - one);
    // What the guidelines for accessible pages ask of small text (WCAG 2, 1.4.3).
    assertLess(4.5, (high! + 0.05) / (low! + 0.05));
  }
});
