// Transcripts of tool tests as users meet them: `deno test` in a folder of its own, its journal, and its reports.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { browserTest } from "../support/browser.ts";
import { deno, type Finished, type Folder, folder, readLines, ROOT } from "../support/child.ts";
import { linesOf } from "../support/journals.ts";
import { toolgate } from "../support/command_line.ts";
import { assertInert, unescaped } from "../support/markdown.ts";
import { goToTrial, openReport, readTrial, shownRows } from "../support/report_page.ts";
import { STEERING } from "../support/records.ts";
import { textsOf } from "../support/trees.ts";

const SECRET = `sk-${"a1b2".repeat(8)}`;
const EVIL = `<img src=x onerror=alert(1)> [x](http://evil) \\u001b[2J\\n::error::owned`;

/** Two trials: the first pays back too much, the second is right. */
const FILE = `import { assertState, tool, toolTest } from "@toolgate/toolgate";
import { z } from "zod";

const replies = (cents: number) => [
  { text: "Let me look for it. ${EVIL}", calls: [["find_order", { order: "A1" }]] },
  { text: "It is lost: I pay it back.", calls: [["refund", { order: "A1", cents }]] },
  { text: "The money is on its way.", calls: [] },
  { text: "You are welcome.", calls: [] },
];
const model = {
  name: "shop bot",
  simulated: true,
  reply({ messages, context }) {
    const { text, calls } = replies(context.repetition === 1 ? 1500 : 1200)[
      messages.filter(({ role }) => role === "assistant").length
    ];
    return Promise.resolve({
      text,
      calls: calls.map(([name, given], place) => (
        { id: String(place), name, arguments: JSON.stringify(given) }
      )),
      served: "shop bot",
      duration: 1,
      usage: { inputTokens: 10, outputTokens: 5 },
      repairs: [],
    });
  },
};

toolTest("refunds what was paid", {
  model,
  trials: 2,
  concurrency: 1,
  system: "You work for a shop of pianos. Its key is ${SECRET}.",
  prompt: "My order A1 never came!",
  turns: ["Thank you."],
  state: () => ({ orders: { A1: { cents: 1200, status: "lost" } }, paid: [] }),
  tools: (state) => [
    tool({
      name: "find_order",
      description: "Finds an order by its number. ${EVIL}",
      parameters: z.object({ order: z.string().describe("such as A1") }),
      execute: ({ order }) => state.orders[order],
    }),
    tool({
      name: "refund",
      description: "Pays money back",
      parameters: z.object({ order: z.string(), cents: z.int() }),
      execute({ order, cents }) {
        state.orders[order].status = "refunded";
        state.paid.push(cents);
      },
    }),
  ],
  assert(run) {
    assertState(run.state.paid, [1200]);
  },
});
`;

/** Where the failed assertion stands. */
const PLACE = `shop_test.ts:${
  FILE.split("\n").findIndex((line) => line.includes("assertState(run")) + 1
}:5`;

interface Ran {
  readonly place: Folder;
  readonly finished: Finished;
}

/** The runs of the file, which tests share. */
let runs: Promise<Record<"all" | "unsolved" | "none", Ran>> | undefined;
const made: Folder[] = [];
Deno.test.afterAll(async () => {
  for (const place of made) await place[Symbol.asyncDispose]();
});

function ran() {
  return runs ??= (async () => {
    const one = async (...flags: string[]): Promise<Ran> => {
      const place = await folder();
      made.push(place);
      place.write("shop_test.ts", FILE);
      const finished = await deno([
        ...["test", "--no-check", "--no-prompt", `--config=${ROOT}/deno.json`],
        ...[`--allow-read=${place.path}`, `--allow-write=${place.path}`, "shop_test.ts", "--"],
        ...["--out=j.jsonl", "--report=r.html", "--report=r.md", "--report=r.txt", ...flags],
      ], { cwd: place.path });
      return { place, finished };
    };
    const [all, unsolved, none] = await Promise.all([
      one("--story=full"),
      one("--transcripts=unsolved"),
      one("--transcripts=none"),
    ]);
    return { all, unsolved, none };
  })();
}

/** Adds what a judge said to the first trial of a journal. */
function withJudge({ place }: Ran): string {
  const [plan, first, ...others] = readLines(place.file("j.jsonl"));
  const judged = {
    ...{
      kind: "judged",
      criterion: "kindness",
      score: 0.25,
      reason: "The bot does not apologize.",
    },
    ...{ question: "Is it kind? <b>Rate it</b>", reply: "[[0.25]] The bot does not apologize." },
    ...{ model: "judge model", usage: { inputTokens: 70, outputTokens: 9 } },
  };
  const lines = [plan, { ...first, events: [...first.events, judged] }, ...others];
  return place.write("judged.jsonl", linesOf(lines));
}

Deno.test("a journal has what a model was shown once, and what it needs of it in each trial", async () => {
  const { all: { place, finished } } = await ran();
  assertEquals(finished.code, 1, finished.all);
  const [, first, second] = readLines(place.file("j.jsonl"));
  const { system, prompt, tools, state } = first.transcript;
  assertEquals(system.value, "You work for a shop of pianos. Its key is [redacted].");
  assertEquals(prompt.value, "My order A1 never came!");
  assertEquals(tools.value.map(({ name }: { name: string }) => name), ["find_order", "refund"]);
  assertEquals(tools.value[0].parameters.properties.order, {
    type: "string",
    description: "such as A1",
  });
  assertEquals(state, {
    changes: [
      { path: "orders.A1.status", before: '"lost"', after: '"refunded"' },
      { path: "paid[0]", after: "1500" },
    ],
  });
  assertEquals(second.transcript, {
    ...{ system: { id: system.id }, prompt: { id: prompt.id }, tools: { id: tools.id } },
    state: { changes: [state.changes[0], { path: "paid[0]", after: "1200" }] },
  });
  for (const name of place.names()) {
    if (name !== "shop_test.ts") {
      assert(!Deno.readTextFileSync(place.file(name)).includes(SECRET), name);
    }
  }
  assert(!finished.all.includes(SECRET));
});

Deno.test("transcripts decides what is kept, and nothing else", async () => {
  const { all, unsolved, none } = await ran();
  const [whole, some, bare] = [all, unsolved, none].map(({ place }) =>
    readLines(place.file("j.jsonl"))
  );
  const judged = (lines: readonly Record<string, unknown>[]) =>
    lines.map(({ id, resolved, outcome, calls, failures, usage, behaviours }) => (
      { id, resolved, outcome, calls, failures, usage, behaviours }
    ));
  assertEquals(judged(some!), judged(whole!));
  assertEquals(judged(bare!), judged(whole!));
  const told = (lines: readonly Record<string, unknown>[]) =>
    lines.slice(1).map((trial) => [
      "transcript" in trial,
      (trial["events"] as { kind: string; text: string }[])
        .filter(({ kind, text }) => kind === "reply" && text !== "").length,
    ]);
  assertEquals(told(whole!), [[true, 4], [true, 4]]);
  assertEquals(told(some!), [[true, 4], [false, 0]]);
  assertEquals(told(bare!), [[false, 0], [false, 0]]);
  // What was called, and the answer, are what verdicts are derived from.
  const rest = (lines: readonly Record<string, unknown>[]) =>
    lines.slice(1).map(({ events }) =>
      (events as { kind: string; durationMs?: number }[]).filter(({ kind }) => kind !== "reply")
        .map(({ durationMs: _, ...event }) => event)
    );
  assertEquals(rest(bare!), rest(whole!));
  const seen = await toolgate(["report", none.place.file("j.jsonl")]);
  assertMatch(seen.stdout, /\* 2 of 2 trials have no transcript, which /);
  const kept = await toolgate(["report", all.place.file("j.jsonl")]);
  assert(!kept.stdout.includes("no transcript"), kept.all);
});

Deno.test("texts of a transcript are in the story, in Markdown and on the terminal, and steer nothing", async () => {
  const { all } = await ran();
  const { place, finished } = all;
  const journal = withJudge(all);
  const terminal = await toolgate(["report", journal]);
  const markdown = await toolgate(["report", journal, "--markdown", place.file("j.md")]);
  assertEquals([terminal.code, markdown.code], [0, 0], terminal.all + markdown.all);
  const files = ["j.md", "r.md"].map((name) => Deno.readTextFileSync(place.file(name)));
  const failed = `an assertion failed at ${PLACE}: The state is not as expected: 1 difference.`;
  const told = [
    `refunds what was paid: wrong_answer after 2 calls, ${failed}`,
    'system: "You work for a shop of pianos. Its key is [redacted]."',
    'asked: "My order A1 never came!"',
    "tools: find_order, refund",
    'reply 2 said "It is lost: I pay it back."',
    // The next user message is left to the story.
    'reply 3 said "The money is on its way.", and 1 more',
    'state: orders.A1.status: "lost" \u2192 "refunded"',
    "state: + paid[0]: 1500",
  ];
  const judge = "judge judge model, kindness: score 0.25: The bot does not apologize.";
  for (
    const text of [
      terminal.stdout,
      ...files.map(unescaped),
      Deno.readTextFileSync(place.file("r.txt")),
    ]
  ) {
    for (const line of told) assertStringIncludes(text, line);
  }
  for (const text of [terminal.stdout, unescaped(files[0]!)]) assertStringIncludes(text, judge);
  for (
    const line of [
      'asked: "My order A1 never came!"',
      "tool refund: Pays money back: {",
      'reply 2 said "It is lost: I pay it back."',
      'reply 3 said "The money is on its way."',
      'next user message: "Thank you."',
      "state: + paid[0]: 1500",
    ]
  ) assertStringIncludes(finished.stdout, line);
  for (const text of files) assertInert(text);
  for (const text of [...files, terminal.stdout, finished.stdout]) {
    assert(!STEERING.test(text) && !/^\s*::error/m.test(text));
  }
});

browserTest(
  "the page finds what was shown, said, judged, changed, and why it failed",
  async (browser) => {
    const { all } = await ran();
    const journal = withJudge(all);
    const path = all.place.file("judged.html");
    assertEquals((await toolgate(["report", journal, "--html", path])).code, 0);
    for (const [width, scheme] of [[1280, "light"], [400, "dark"]] as const) {
      await using opened = await openReport(browser, path, { width, scheme });
      const { page, faults } = opened;
      const [first, second] = await shownRows(page);
      assertStringIncludes(
        first!.at(-1)!,
        `The state is not as expected: 1 difference (${PLACE.replace(/:\d+$/, "")})`,
      );
      assertEquals(second!.at(-1), "-");
      await goToTrial(page, 1);
      for (
        const text of [
          "You work for a shop of pianos. Its key is [redacted].",
          "My order A1 never came!",
          "Pays money back",
          "Finds an order by its number. <img src=x onerror=alert(1)>",
          "It is lost: I pay it back.",
          // It ends a turn, and is not the answer.
          "The money is on its way.",
          "judge judge model, kindness: score 0.25",
          "The bot does not apologize.",
          'orders.A1.status: "lost" \u2192 "refunded"',
          "+ paid[0]: 1500",
        ]
      ) {
        assert(
          await page.locator("#trial").getByText(text, { exact: false }).first().isVisible(),
          text,
        );
      }
      const { events } = await readTrial(page);
      assertStringIncludes(
        events.find(({ text }) => text.startsWith("an assertion failed"))!.text,
        `${PLACE}The state is not as expected: 1 difference.`,
      );
      // What is long is behind its name.
      await page.getByText("parameters").first().click();
      assert(await page.getByText('"such as A1"').isVisible());
      await page.locator("#trial").getByText("question", { exact: true }).click();
      assert(await page.getByText("Is it kind? <b>Rate it</b>").isVisible());
      // The second trial has its texts from the line of the first.
      await goToTrial(page, 2);
      assert(await page.getByText("You work for a shop of pianos.").isVisible());
      assertEquals(await page.evaluate("document.documentElement.scrollWidth"), width);
      assertEquals(faults, []);
    }
  },
);

Deno.test("a journal without some of its transcripts is read, and the page says what it lacks", async () => {
  const { all: { place } } = await ran();
  const [plan, first, second] = readLines(place.file("j.jsonl"));
  const foreign = { ...first, transcript: "of another tool" };
  const journals = {
    "lost.jsonl": linesOf([plan, second]),
    "foreign.jsonl": linesOf([plan, foreign, second]),
    "torn.jsonl": linesOf([plan, second]) + JSON.stringify(first).slice(0, 700),
  };
  for (const [name, text] of Object.entries(journals)) {
    const page = place.file(`${name}.html`);
    const { code, all } = await toolgate(["report", place.write(name, text), "--html", page]);
    assertEquals(code, 0, all);
  }
  const { reportedTrials } = await import("../support/report_data.ts");
  for (const name of Object.keys(journals)) {
    const [last] = reportedTrials(place.file(`${name}.html`)).slice(-1);
    assertEquals(textsOf(last!.task!.side, "why"), [
      "The journal lacks the system text and the prompt and the tools: a line of it was lost.",
    ]);
  }
});
