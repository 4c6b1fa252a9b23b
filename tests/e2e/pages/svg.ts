// Figures as files, by `report --svg`: a browser opens them by themselves.

import {
  assert,
  assertEquals,
  assertGreater,
  assertMatch,
  assertNotMatch,
  assertStringIncludes,
} from "@std/assert";
import { planSuite } from "../../../lib/runs/plan.ts";
import { browserTest } from "../../support/browser.ts";
import { toolgate } from "../../support/command_line.ts";
import { Folder } from "../../support/folders.ts";
import { planWith, writeJournal } from "../../support/journals.ts";
import { failureOf, finish, HOSTILE, STEERING } from "../../support/records.ts";
import { SMALL } from "../../support/suites.ts";
import { elementsOf, parseXml } from "../../support/xml.ts";

const MODELS = [
  "plain",
  '<img src=x onerror="a()"> & </svg>',
  "var(--ink)",
  `"var(--ink)"`,
  HOSTILE,
];

/** The figures of their report, and the title of each. */
const TITLES: Record<string, string> = {
  "core.svg": "Success by core size",
  "depth-5.svg": "Success by dependency depth, 5 core functions",
};

/** A plan of models with odd names on tasks of two sizes, some of them perturbed. */
const PLAN = planWith({
  ...planSuite({
    ...SMALL,
    ...{ graphs: 2, models: ["m"], perturbations: ["none", "RD"] },
    tasks: [{ core: 5, depth: [2, 4] }, { core: 10, depth: 2 }],
  }).resolved,
  models: MODELS.map((model) => ({ model })),
});

browserTest("report --svg writes figures that a browser opens as they are", async (browser) => {
  using folder = new Folder();
  const trials = PLAN.trials.map((planned) =>
    planned.block === 0 ? finish(planned) : finish(planned, {
      outcome: "wrong_answer",
      failures: [failureOf("incorrect_value")],
    })
  );
  const journal = writeJournal(folder, PLAN, trials);
  const ended = await toolgate(["report", journal, "--svg", folder.file("new/figures")]);
  assertEquals(ended.code, 0, ended.all);
  assertEquals(ended.stdout, "", "no tables are printed");
  const names = [...Deno.readDirSync(folder.file("new/figures"))].map(({ name }) => name).sort();
  assertStringIncludes(ended.stderr, `Wrote ${names.length} figures to `);
  assertEquals(names, Object.keys(TITLES));
  const pageCss = Deno.readTextFileSync(
    new URL("../../../lib/reports/page/page.css", import.meta.url),
  );
  const light = [...pageCss.matchAll(/--[\w-]+: (?:light-dark\()?(#\w+)/g)]
    .map(([, colour]) => colour!);
  for (const name of names) {
    const text = folder.read(`new/figures/${name}`);
    assertNotMatch(text, STEERING, name);
    // A strict reader and that of a browser.
    const root = parseXml(text);
    const { title, shown, faults, fonts } = await (async () => {
      await using opened = await browser.open(folder.file(`new/figures/${name}`));
      return {
        faults: [...opened.faults],
        ...await opened.page.evaluate(() => ({
          shown: [...document.querySelectorAll("[class*=role-title] text")]
            .map((one) => one.textContent).join(" "),
          title: `${document.documentElement.tagName} ${document.title}`,
          fonts: [
            ...new Set(
              [...document.querySelectorAll("text")].map((one) => one.getAttribute("font-family")),
            ),
          ],
        })),
      };
    })();
    assertEquals(faults, [], name);
    assertEquals(title, `svg ${TITLES[name]}`);
    assert(shown.startsWith(`${TITLES[name]} `) && shown.length > TITLES[name]!.length + 10, shown);
    assertEquals(fonts, ["system-ui, sans-serif"]);
    const [first, second] = root.children;
    assertEquals([first!.name, second!.name], ["title", "desc"]);
    assertGreater(second!.text.length, 10);
    for (const { name: element, attributes } of elementsOf(root)) {
      assert(!/script|style|foreignobject|image|^a$/i.test(element), element);
      for (const paint of ["fill", "stroke"]) {
        const colour = attributes[paint];
        if (colour === undefined || ["none", "transparent"].includes(colour)) continue;
        assertMatch(colour, /^#[0-9a-f]{6}$/);
        assert(light.includes(colour), `${colour} is none of the page's light theme`);
      }
    }
  }
  // Names are text as they are, in the legend too.
  const core = parseXml(folder.read("new/figures/core.svg"));
  const legend = elementsOf(core).filter(({ attributes }) =>
    attributes["class"]?.includes("role-legend-label")
  ).flatMap(({ children }) => children.map(({ text }) => text));
  assertEquals(legend.filter((text) => !text.includes(" + RD")).slice(0, 4), MODELS.slice(0, 4));
  // Again is no harm, but other files stay.
  const again = await toolgate(["report", journal, "--svg", folder.file("new/figures")]);
  assertEquals(again.code, 0, again.all);
  folder.write("new/figures/core.svg", "<svg>my own</svg>");
  const refused = await toolgate(["report", journal, "--svg", folder.file("new/figures")]);
  assertEquals(refused.code, 2);
  assertStringIncludes(refused.stderr, "core.svg");
  assertStringIncludes(refused.stderr, "only another such figure may be replaced");
  assertEquals(folder.read("new/figures/core.svg"), "<svg>my own</svg>");
});
