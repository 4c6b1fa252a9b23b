// Journals full of what could run, steer, hide or break something: through every view of a report.

import {
  assert,
  assertEquals,
  assertGreater,
  AssertionError,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import type { Page } from "playwright-core";
import { generateTask } from "../../lib/tasks/generated/task.ts";
import { MAX_ROWS } from "../../lib/reports/tables/_headline.ts";
import { shortNames } from "../../lib/reports/tables/_short_names.ts";
import { browserTest } from "../support/browser.ts";
import { type Finished, type Folder, folder } from "../support/child.ts";
import { toolgate } from "../support/command_line.ts";
import { linesOf } from "../support/journals.ts";
import { assertInert } from "../support/markdown.ts";
import { goToTrial, openReport, readTrial } from "../support/report_page.ts";

/** Texts and, where they cannot be shown as they are, how they are. */
const EVIL: readonly (readonly [text: string, shown?: string])[] = [
  ["<script>alert(1)</script>"],
  ["</script><script>window.canary = 1</script>"],
  ["</style><style>*{display:none}</style>"],
  ['<img src=x onerror="alert(1)">'],
  ["<svg/onload=alert(1)><iframe srcdoc='<script>alert(1)</script>'></iframe>"],
  ["<base href=https://evil.example><meta http-equiv=refresh content=0;url=https://evil.example>"],
  ["<a href='javascript:alert(1)'>javascript:alert(1)</a>"],
  ["</template><template shadowrootmode=open><script>alert(1)</script></template><plaintext>"],
  ["]]> --> --!> <!-- <![CDATA[ */ /*"],
  ["\"'`\\ ${alert(1)} #{alert(1)} {{constructor.constructor('alert(1)')()}} <%= 1 %>"],
  ["&lt;b&gt; &amp; &#60;script&#62; %3Cscript%3E"],
  ['"]; evil [label=<<B>x</B>>, URL="javascript:alert(1)"]; }'],
  ["**bold** _it_ ~~no~~ `code` | cell | [x](javascript:alert(1)) ![x](https://evil.example/x.png)"],
  ["# heading https://evil.example/?a=1 www.evil.example mail@evil.example @everyone"],
  ["\u001b[31m\u001b]0;owned\u0007\u009b2J", "\\u001b[31m\\u001b]0;owned\\u0007\\u009b2J"],
  ["##[error]a ##vso[task.complete]b", "\\u0023#[error]a \\u0023#vso[task.complete]b"],
  ["\u0000 NUL \u007f\b\v", "\\u0000 NUL \\u007f\\u0008\\u000b"],
  ["\u202egnp.exe\u202c \u200fright", "\\u202egnp.exe\\u202c \\u200fright"],
  ["\u2066 a \u2067 b \u2069", "\\u2066 a \\u2067 b \\u2069"],
  ["in\u200bvis\u200dible\ufeff\u00ad\u2060", "in\\u200bvis\\u200dible\\ufeff\\u00ad\\u2060"],
  ["\ud800 half \udfff", "\\ud800 half \\udfff"],
  ["\u{e0041}\u{e0042} tags", "\\u{e0041}\\u{e0042} tags"],
  ["\u{1f600}\u{1f3f3}\ufe0f \u4e2d\u6587 \u0627\u0644\u0639\u0631\u0628\u064a\u0629 Z\u0351\u036b"],
  ["__proto__ constructor toString hasOwnProperty"],
  ["wide".repeat(40)],
];

/** What must stand in none of the views. */
const HIDDEN =
  // deno-lint-ignore no-control-regex
  /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]|\p{Cs}/u;

const SUITE = EVIL.map(([text]) => text.slice(0, 12)).reverse().join(" ");

const SPEC = { core: 4, depth: 2, connected: 1, disconnected: 1, seed: 7 };
const TASK = generateTask(SPEC);

const reply = { request: 1, calls: 1, inputTokens: 1, outputTokens: 1, durationMs: 1 };

/** Events that have `text` wherever they have a text. */
function eventsOf(text: string) {
  const call = { kind: "call", step: 1, result: text };
  const wrong = { parameter: text, variable: text, given: 1 };
  const failures = [
    { type: "function_not_found", detail: { nearest: text } },
    {
      type: "wrong_number_of_inputs",
      detail: { missing: [text], unexpected: [], wrongType: [], malformed: false },
    },
    {
      type: "wrong_number_of_inputs",
      detail: { missing: ["gone"], unexpected: [text], wrongType: [text], malformed: false },
    },
    {
      type: "incorrect_value",
      detail: { arguments: [{ ...wrong, origin: "other_variable", originVariable: text }] },
    },
  ];
  return [
    { kind: "reply", ...reply, text, repairs: [text, text] },
    {
      ...{ kind: "reply", ...reply, request: 2, text: "", replaces: 1 },
      ownCalls: [{ function: text, arguments: text }, {
        function: "huge",
        arguments: text.repeat(99),
      }],
    },
    ...failures.map((failure, place) => ({
      ...call,
      call: place + 1,
      function: text,
      arguments: JSON.stringify({
        [text]: text,
        "__proto__": text,
        constructor: 1,
        toString: null,
      }),
      failure: { ...failure, root: place === 0 },
    })),
    {
      ...{ ...call, call: 5, function: TASK.functions[0]!.name, role: "core", result: "{}" },
      ...{ arguments: text, returned: { variable: text, value: 1 }, unperturbed: text },
      parameters: {
        oracle: 1,
        failures: [{
          ...{ type: "task_deviation", parameter: text, given: text, similarity: 0.5 },
          expected: { [text]: [text] },
        }],
        undecided: [{ types: ["task_deviation"], parameter: text }],
      },
    },
    { kind: "over_limit", function: text, limit: 5 },
    { kind: "answer", text, value: null },
    { kind: "stop", reason: text, message: text },
  ];
}

/** Arguments that no call should have. */
const ARGUMENTS = [
  "[".repeat(10_000) + "]".repeat(10_000),
  '{"a":'.repeat(10_000) + "1" + "}".repeat(10_000),
  JSON.stringify({ long: "x".repeat(10_000) }),
  "y".repeat(10_000),
  ...['{"__proto__": 1, "constructor": 2, "toString": 3}', "null", "[1, 2]", '"x"', "17", "", "{"],
  '{"a": 1, "a": 2, "": {"b": null}}',
];

/** How many trials there are. */
const COUNT = 3 * EVIL.length + 1;

function lines(): unknown[] {
  const of = (index: number, text: string, more: object = {}) => ({
    ...{ v: 1, kind: "trial", id: `${text} ${index}`, index, suite: SUITE },
    model: { requested: text, served: text, simulated: index % 2 === 0 },
    ...{ strategy: text, perturbation: text, task: { case: text, [text]: { [text]: [text] } } },
    ...{ outcome: "wrong_answer", solved: false, calls: 5, behaviours: [text, "__proto__"] },
    ...{ startedAt: text, ends: text, events: eventsOf(text), ...more },
  });
  const evil = EVIL.map(([text], index) => of(index, text));
  const generated = EVIL.map(([text], index) =>
    of(evil.length + index, text, {
      ...{ task: { ...SPEC, core: SPEC.core + index % 2 }, strategy: "baseline" },
      ...{ perturbation: "none", outcome: "invalid", reason: text },
    })
  );
  const calls = ARGUMENTS.map((arguments_, place) => ({
    ...{ kind: "call", call: place + 1, step: 1, function: "f", result: arguments_ },
    arguments: arguments_,
  }));
  const odd = of(2 * evil.length, "odd arguments", { task: SPEC, events: calls });
  // What strategies are compared with.
  const others = EVIL.map(([text], index) =>
    of(COUNT - EVIL.length + index, text, { strategy: "baseline" })
  );
  return [...evil, ...generated, odd, ...others];
}

let made: Promise<{ place: Folder; journal: string; written: Finished }> | undefined;
const theReport = () => made ??= makeReport();

async function makeReport() {
  const place = await folder();
  const journal = place.write("evil.jsonl", linesOf(lines()));
  const outputs = ["html", "markdown", "json"]
    .flatMap((name) => [`--${name}`, place.file(`evil.${name}`)]);
  const written = await toolgate(["report", journal, ...outputs]);
  assertEquals(written.code, 0, written.all);
  return { place, journal, written };
}

Deno.test.afterAll(async () => await (await made)?.place[Symbol.asyncDispose]());

/** What must be shown of a text. */
const shownOf = ([text, shown = text]: typeof EVIL[number]) => shown;

function assertNothingHidden(text: string, where: string): void {
  const found = HIDDEN.exec(text);
  if (found === null) return;
  const near = JSON.stringify(text.slice(Math.max(0, found.index - 40), found.index + 40));
  throw new AssertionError(`${where} has ${JSON.stringify(found[0])} in ${near}`);
}

Deno.test("hostile names reach a terminal visibly escaped", async () => {
  const { journal, written } = await theReport();
  const { stdout, stderr, code, all } = await toolgate(["report", journal]);
  assertEquals(code, 0, all);
  assertNothingHidden(stdout + stderr + written.stdout + written.stderr, "the terminal");
  for (const evil of EVIL) assertStringIncludes(stdout, shownOf(evil).slice(0, 60));
});

Deno.test("hostile names in Markdown are text", async () => {
  const { place } = await theReport();
  const text = Deno.readTextFileSync(place.file("evil.markdown"));
  assertNothingHidden(text, "Markdown");
  // No tag, no link, no emphasis; and no cell more than a table has columns.
  assertInert(text);
  const rows = text.trimEnd().split("\n\n").filter((part) => part.startsWith("| "));
  for (const table of rows) {
    const widths = new Set(table.split("\n").map((row) => row.split(/(?<!\\)\|/).length));
    assertEquals(widths.size, 1, table.slice(0, 300));
  }
});

Deno.test("hostile names in JSON are as they were", async () => {
  const { place } = await theReport();
  const { suite, subjects, comparisons } = JSON.parse(
    Deno.readTextFileSync(place.file("evil.json")),
  );
  assertEquals(suite, SUITE);
  const names = new Set(subjects.map((one: { subject: { model: string } }) => one.subject.model));
  for (const [text] of EVIL) assert(names.has(text), text);
  assertEquals(
    comparisons.filter(({ of }: { of: string }) => of === "strategy")
      .map(({ subject }: { subject: { strategy: string } }) => subject.strategy),
    EVIL.map(([text]) => text),
  );
});

/** All texts of a part of the page, those of attributes too, but for its own data. */
function textsOf(page: Page, part: string): Promise<string[]> {
  return page.evaluate((part) => {
    const texts: string[] = [document.title];
    const walker = document.createTreeWalker(
      document.querySelector(part)!,
      NodeFilter.SHOW_ALL,
    );
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      if (node instanceof Text && node.parentElement?.tagName !== "SCRIPT") texts.push(node.data);
      if (node instanceof Comment) texts.push(node.data);
      if (node instanceof Element) texts.push(...[...node.attributes].map(({ value }) => value));
    }
    return texts;
  }, part);
}

/** What in the page can run, lead away, or load something. */
function dangersIn(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const own = "script[id^=block-], script#index, script#graphviz, head > script, head > style";
    const bad =
      "script, style, iframe, object, embed, img, image, base, link, meta[http-equiv=refresh]";
    return [
      ...[...document.querySelectorAll(bad)].filter((one) => !one.matches(own)),
      ...[...document.querySelectorAll("*")].filter((one) =>
        [...one.attributes].some(({ name, value }) =>
          name.startsWith("on") ||
          /^(xlink:)?href$|^src/.test(name) && !value.startsWith("#")
        )
      ),
    ].map((one) => one.outerHTML.slice(0, 200));
  });
}

for (const width of [1280, 400]) {
  browserTest(`hostile trials open as text, ${width} pixels wide`, async (browser) => {
    const { place } = await theReport();
    await using opened = await openReport(browser, place.file("evil.html"), { width });
    const { page, faults } = opened;
    const check = async (part: string, where: string) => {
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assertEquals(wide, width, where);
      assertEquals(await dangersIn(page), [], where);
      for (const text of await textsOf(page, part)) assertNothingHidden(text, where);
      assertEquals(await page.evaluate(() => "canary" in globalThis), false, where);
      assertEquals(faults, [], where);
    };
    await page.evaluate(() => {
      for (const details of document.querySelectorAll("details")) details.open = true;
    });
    await check("body", "the page");
    const count = 2 * EVIL.length + 1;
    assertStringIncludes((await page.textContent("#count"))!, `${COUNT} of ${COUNT} trials`);
    const list = await page.locator("#list tr").allTextContents();
    const { forms } = shortNames(EVIL.map(([text]) => text), 150);
    const key = (await page.locator("header .key").textContent())!;
    assertGreater(forms.size, 3);
    for (const [place, evil] of EVIL.entries()) {
      assertStringIncludes(list[place]!, shownOf(evil));
      if (forms.has(evil[0])) assertStringIncludes(key, shownOf(evil));
      const short = (forms.get(evil[0]) ?? shownOf(evil)).slice(0, 100);
      // The figure of the headline has twelve rows.
      if (place < MAX_ROWS) {
        assertStringIncludes(await page.innerText("#figure-overview"), short);
      }
      // The figure has twenty pairs.
      if (place >= 20) continue;
      assertStringIncludes(await page.innerText("#figure-comparisons"), short);
    }
    // One size is enough to look at each.
    const step = width === 1280 ? 1 : 5;
    for (let number = 1; number <= count; number += step) {
      await goToTrial(page, number);
      await page.evaluate(() => {
        for (const details of document.querySelectorAll("#trial details")) {
          (details as HTMLDetailsElement).open = true;
        }
      });
      await check("#trial", `trial ${number}`);
      if (number === count) continue;
      const shown = shownOf(EVIL[(number - 1) % EVIL.length]!);
      const { facts, events, nodes } = await readTrial(page);
      assertEquals(events.length, 10);
      for (const { text } of events) assertStringIncludes(text, shown);
      assert(events.some(({ why }) => why?.includes("missing gone")));
      for (const name of ["model", "served as"]) assertStringIncludes(facts[name]!, shown);
      assertEquals(nodes === undefined, number <= EVIL.length);
    }
    const { events } = await readTrial(page);
    if (width === 1280) assertEquals(events.length, ARGUMENTS.length);
  });
}

browserTest("the page's policy blocks whatever would get in all the same", async (browser) => {
  const { place } = await theReport();
  await using opened = await openReport(browser, place.file("evil.html"));
  const { page, faults } = opened;
  const policy = await page.getAttribute("meta[http-equiv=Content-Security-Policy]", "content");
  const hash = "'sha256-[A-Za-z0-9+/]{43}='";
  assertMatch(
    policy!,
    new RegExp(
      `^default-src 'none'; script-src ${hash} ${hash} 'wasm-unsafe-eval'; style-src ${hash}; ` +
        "base-uri 'none'; form-action 'none'$",
    ),
  );
  await page.evaluate(() => {
    const add = (name: string, attributes: Record<string, string>, text = "") => {
      const element = document.createElement(name);
      for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
      element.textContent = text;
      document.body.append(element);
      return element;
    };
    const run = "globalThis.canary = 1";
    add("script", {}, run);
    add("script", { src: `data:text/javascript,${run}` });
    add("img", { src: "https://evil.example/x.png", onerror: run });
    add("button", { onclick: run }).click();
    add("iframe", { srcdoc: `<script>${run}</script>` });
    add("style", {}, "main { display: none }");
    add("a", { href: `javascript:${run}` }).click();
    fetch("https://evil.example/").catch(() => {});
  });
  await page.waitForTimeout(200);
  assertEquals(await page.evaluate(() => "canary" in globalThis), false);
  assertEquals(await page.isVisible("main"), true);
  for (
    const directive of ["script-src-elem", "script-src-attr", "img-src", "connect-src", "style-src"]
  ) {
    assert(faults.some((fault) => fault.includes(`violation of ${directive}`)), faults.join("\n"));
  }
  assert(!faults.some((fault) => fault.startsWith("request: https")), faults.join("\n"));
});
