import { assert, assertEquals } from "@std/assert";
import { HEAT_CSS } from "../../../lib/reports/page/_view_markup.ts";

const cssOf = (name: string) =>
  Deno.readTextFileSync(new URL(`../../../lib/reports/page/${name}.css`, import.meta.url));

Deno.test("what is written in heat maps can be read on light pages and on dark ones", () => {
  const [page, results] = ["page", "results"].map(cssOf);
  const shares = [...HEAT_CSS.matchAll(/--heat-share: (\d+)%/g)].map(([, share]) => Number(share));
  assertEquals(shares.length, 10);
  // Whatever else a cell has, such as a link, is in the colour of its text.
  const [, inner] = /\.heat \{[^}]*& :is\(a, small\) \{([^}]*)\}/.exec(results!)!;
  assertEquals(inner!.trim(), "color: inherit;");
  for (const scheme of [1, 2]) {
    const colour = (name: string) => {
      const hex =
        new RegExp(`--${name}: light-dark\\(#(\\w{6}), #(\\w{6})\\);`).exec(page!)![scheme];
      return [0, 2, 4].map((from) => parseInt(hex!.slice(from, from + 2), 16) / 255);
    };
    const luminance = (rgb: readonly number[]) =>
      rgb.map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
        .reduce((sum, part, place) => sum + part * [0.2126, 0.7152, 0.0722][place]!, 0);
    const [ink, bad] = ["ink", "bad"].map(colour);
    for (const name of ["paper", "raised"]) {
      const paper = colour(name);
      for (const share of shares.map((share) => share / 100)) {
        const cell = bad!.map((part, place) => share * part + (1 - share) * paper[place]!);
        const [high, low] = [luminance(ink!), luminance(cell)].sort((one, other) => other - one);
        // What the guidelines for accessible pages ask of small text (WCAG 2, 1.4.3).
        assert((high! + 0.05) / (low! + 0.05) > 4.5, `${name}, ${share}`);
      }
    }
  }
});
