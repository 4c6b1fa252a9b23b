// Calls that are kept or not, by losses that are worked out by hand: the model is one of words, behind a real
// endpoint, to which a word is likelier once it has been said.

import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { InputError } from "../../../lib/base/errors.ts";
import type { Insertion } from "../../../lib/toolkit/toolformer/insertions.ts";
import { InfrastructureError } from "../../../lib/models/model.ts";
import { completionsScorer } from "../../../lib/toolkit/toolformer/completions_scorer.ts";
import {
  filterInsertions,
  type FilterOptions,
  type Scorer,
  writeInsertion,
} from "../../../lib/toolkit/toolformer/filter.ts";
import type { Tool } from "../../../lib/tools/tool.ts";
import { KNOWN, NEW, serveWords } from "../../support/word_model.ts";

const RIVER: Tool = {
  name: "river",
  description: "Tells the river of a city",
  parameters: {
    type: "object",
    properties: { city: { type: "string" } },
    required: ["city"],
    additionalProperties: false,
  },
  execute: async ({ city }) => {
    const rivers = new Map<unknown, string>([
      ["Paris", "Seine"],
      ["Rome", "Tiber"],
      ["Long", "x".repeat(1001)],
      ["Half", "\ud800"],
    ]);
    const river = rivers.get(city);
    if (river === undefined) throw new Error("There is no such city");
    return await (city === "Nowhere" ? JSON.stringify({ error: "none" }) : river);
  },
};

const TEXT = "Paris lies on the Seine";
const PLACE = TEXT.indexOf("Seine");
const at = (city: string, position = PLACE): Insertion => ({
  position,
  tool: "river",
  arguments: { city },
});

async function filter(
  candidates: readonly Insertion[],
  options: Partial<FilterOptions> = {},
  text = TEXT,
  opening?: string,
) {
  await using words = serveWords(opening === undefined ? {} : { opening });
  const scorer = completionsScorer({
    model: "words",
    baseURL: words.baseURL,
    apiKey: "any",
    backoff: 1,
  });
  const filtered = await filterInsertions(text, candidates, {
    tools: [RIVER],
    scorer,
    execution: { retries: 0 },
    ...options,
  });
  return { ...filtered, prompts: words.received.map(({ prompt }) => prompt) };
}

Deno.test("filterInsertions() keeps a call whose result lowers the loss of what follows", async () => {
  const { kept, dropped, prompts } = await filter([at("Paris")]);
  assertEquals(dropped, []);
  const [insertion] = kept;
  assertEquals(insertion!.result, "Seine");
  assertEquals(insertion!.text, 'Paris lies on the [river({"city":"Paris"}) -> Seine] Seine');
  // One word follows: it is new, unless the result has said it.
  const { plain, call, result } = insertion!.losses;
  assertAlmostEquals(plain, -Math.log(NEW));
  assertAlmostEquals(call, -Math.log(NEW));
  assertAlmostEquals(result, -Math.log(KNOWN));
  assertEquals(prompts, [
    "Paris lies on the Seine",
    'Paris lies on the [river({"city":"Paris"})] Seine',
    'Paris lies on the [river({"city":"Paris"}) -> Seine] Seine',
  ]);
});

Deno.test("filterInsertions() drops a call whose result is of no help", async () => {
  const { kept, dropped } = await filter([at("Rome")]);
  assertEquals(kept, []);
  const [{ reason, message, losses }] = dropped as [typeof dropped[number]];
  assertEquals(reason, "no_help");
  assertEquals(message, "the loss of the rest is 4.159 with the result, and 4.159 without");
  assertAlmostEquals(losses!.result, -Math.log(NEW));
});

Deno.test("filterInsertions() drops a call whose arguments give away what follows, by the criterion that compares with it", async () => {
  const telling: Tool = { ...RIVER, execute: () => Promise.resolve("Seine") };
  const strict = await filter([at("Seine")], { tools: [telling], criterion: "difference" });
  assertEquals(strict.kept, []);
  const { plain, call, result } = strict.dropped[0]!.losses!;
  assertAlmostEquals(plain, -Math.log(NEW));
  assertAlmostEquals(call, -Math.log(KNOWN));
  assertAlmostEquals(result, -Math.log(KNOWN));
  // The article compares with the plain text alone.
  const { kept } = await filter([at("Seine")], { tools: [telling] });
  assertAlmostEquals(kept[0]!.losses.plain, -Math.log(NEW));
});

/** A model to which what follows has these losses without a call, and with the result of one. */
async function decide(without: number, result: number, options: Partial<FilterOptions> = {}) {
  const scorer: Scorer = {
    score: (text) => {
      const logProbability = -(text.includes("->") ? result : without);
      const start = text.length - "Seine".length;
      return Promise.resolve([
        { start: 0, end: start, logProbability: -1 },
        { start, end: text.length, logProbability },
      ]);
    },
  };
  return await filter([at("Paris")], { scorer, ...options });
}

Deno.test("filterInsertions() keeps a call if the perplexity with its result is below 0.95 times that without (Pipeline, Constructing Tool Call Datasets)", async () => {
  const pairs: [without: number, result: number][] = [
    ...[[2, 1.94], [2, 1.95], [0.5, 0.46], [0.5, 0.44], [4, 4], [3, 3.2], [0.06, 0]] as const,
  ].map(([one, other]) => [one, other]);
  const decided = [];
  for (const [without, result] of pairs) {
    const pplWithout = Math.E ** without;
    const pplWith = Math.E ** result;
    const isKept = pplWith < pplWithout * 0.95;
    const { kept } = await decide(without, result);
    assertEquals(kept.length === 1, isKept, `${without} and ${result}`);
    decided.push(isKept);
  }
  assertEquals(decided, [true, false, false, true, false, false, true]);
});

Deno.test("filterInsertions() looks at what follows to the end of the text", async () => {
  const text = "The Seine and a boat";
  const { kept } = await filter([at("Paris", 4)], {}, text);
  const { plain, result } = kept[0]!.losses;
  assertAlmostEquals(plain, -Math.log(NEW));
  assertAlmostEquals(result, (-Math.log(KNOWN) - 3 * Math.log(NEW)) / 4);
});

Deno.test("filterInsertions() keeps by the ratio of perplexities, or by the difference of losses", async () => {
  const text = "The Seine and a boat";
  const isKept = async (options: Partial<FilterOptions>) =>
    (await filter([at("Paris", 4)], options, text)).kept.length === 1;
  // The loss falls by ln 2, by which the perplexity halves.
  assert(await isKept({ criterion: "perplexity", ratio: 0.51 }));
  assert(!await isKept({ criterion: "perplexity", ratio: 0.49 }));
  assert(await isKept({ criterion: "difference", threshold: 0.69 }));
  assert(!await isKept({ criterion: "difference", threshold: 0.7 }));
  assert(!await isKept({ criterion: "difference" }), "by default a whole nat");
});

Deno.test("filterInsertions() never keeps what helps nothing at all", async () => {
  const certain: Scorer = {
    score: (text) => Promise.resolve([{ start: 0, end: text.length, logProbability: 0 }]),
  };
  for (const criterion of ["perplexity", "difference"] as const) {
    const options = { scorer: certain, criterion, ratio: 1, threshold: 0 };
    assertEquals((await filter([at("Paris")], options)).dropped[0]?.reason, "no_help", criterion);
  }
});

Deno.test("filterInsertions() keeps words apart", async () => {
  const put = async (text: string, position: number) =>
    (await filter([at("Paris", position)], {}, text)).prompts[1];
  const call = '[river({"city":"Paris"})]';
  assertEquals(await put("on the Seine", 7), `on the ${call} Seine`);
  assertEquals(await put("on the Seine", 6), `on the ${call} Seine`);
  assertEquals(await put("on the Seine", 0), `${call} on the Seine`);
  assertEquals(await put("on:Seine", 3), `on:${call}Seine`);
});

Deno.test("filterInsertions() counts no token that the plain text cannot have a probability for", async () => {
  const text = "Seine Seine";
  // The first word has nothing before it, unless the server opens the text by something.
  const bare = await filter([at("Paris", 0)], {}, text);
  const bareLosses = bare.dropped[0]!.losses!;
  assertAlmostEquals(bareLosses.plain, -Math.log(KNOWN));
  assertAlmostEquals(bareLosses.result, -Math.log(KNOWN));
  const opened = await filter([at("Paris", 0)], {}, text, "<s>");
  assertAlmostEquals(opened.kept[0]!.losses.plain, -Math.log(NEW * KNOWN) / 2);
});

Deno.test("filterInsertions() drops what has nothing behind it", async () => {
  const { dropped } = await filter([at("Paris", TEXT.length)]);
  assertEquals(dropped[0]!.reason, "nothing_follows");
  assertEquals((await filter([at("Paris", 0)], {}, "Seine")).dropped[0]!.reason, "nothing_follows");
  assertEquals((await filter([at("Paris", 0)], {}, "")).dropped[0]!.reason, "nothing_follows");
});

Deno.test("filterInsertions() drops calls that fail, and asks nobody about them (Pipeline, Constructing Tool Call Datasets)", async () => {
  const { kept, dropped, prompts } = await filter([
    at("Atlantis"),
    { ...at("Paris"), arguments: { town: "Paris" } },
    { ...at("Paris"), tool: "__proto__" },
    at("Long"),
  ]);
  assertEquals([kept.length, prompts.length], [0, 0]);
  assertEquals(dropped.map(({ reason }) => reason), ["failed", "failed", "failed", "too_long"]);
  assertEquals(dropped[0]!.message, "There is no such city");
  assertEquals(dropped[3]!.message, "the result has 1001 characters: 1000 are allowed");
});

Deno.test("filterInsertions() drops results that are errors", async () => {
  const failing: Tool = { ...RIVER, execute: () => Promise.resolve('{"error":"Seine"}') };
  assertEquals((await filter([at("Paris")], { tools: [failing] })).dropped[0]!.reason, "failed");
});

Deno.test("filterInsertions() takes results with half a character", async () => {
  assertEquals((await filter([at("Half")])).dropped[0]!.reason, "no_help");
});

Deno.test("filterInsertions() asks for the plain text once, and keeps the order", async () => {
  const { kept, dropped, prompts } = await filter([
    at("Rome"),
    at("Paris"),
    at("Rome", 6),
    at("Paris"),
  ]);
  assertEquals(kept.map(({ position }) => position), [PLACE, PLACE]);
  assertEquals(dropped.map(({ position }) => position), [PLACE, 6]);
  assertEquals(prompts.length, 1 + 2 * 4);
});

Deno.test("filterInsertions() refuses what is out of its range, before anything is called", async () => {
  const cases: [Partial<FilterOptions>, number, string][] = [
    [{ ratio: 0 }, 0, "at ratio: must be above 0: it is 0"],
    [{ ratio: 1.1 }, 0, "at ratio: must be at most 1: it is 1.1"],
    [{ ratio: NaN }, 0, "at ratio: expected number, received NaN"],
    [{ threshold: -1 }, 0, "at threshold: must be at least 0: it is -1"],
    [{ criterion: "luck" as "difference" }, 0, "at criterion: expected one of "],
    [{}, 99, "Cannot put a call into a text as its position must be from 0 to 23: it is 99"],
    [{}, 1.5, "Cannot put a call into a text as its position must be from 0 to 23: it is 1.5"],
  ];
  for (const [options, position, message] of cases) {
    const tools = [{ ...RIVER, execute: () => Promise.reject(new Error("It was called")) }];
    const error = await assertRejects(
      () => filter([at("Paris", position)], { tools, ...options }),
      InputError,
    );
    assertStringIncludes(error.message, message);
  }
});

Deno.test("filterInsertions() passes on that the scorer could not be asked", async () => {
  await using words = serveWords({ change: () => new Response("no", { status: 401 }) });
  const scorer = completionsScorer({ model: "words", baseURL: words.baseURL, apiKey: "any" });
  await assertRejects(
    () => filterInsertions(TEXT, [at("Paris")], { tools: [RIVER], scorer }),
    InfrastructureError,
    "401",
  );
});

Deno.test("filterInsertions() stops as soon as its signal aborts", async () => {
  const signal = AbortSignal.abort(new Error("enough"));
  await assertRejects(() => filter([at("Paris")], { signal }), Error, "enough");
});

Deno.test("writeInsertion() writes names and arguments that hold anything", () => {
  const given = { tool: "f", arguments: { "]": '"' } };
  assertEquals(writeInsertion(given, "a]"), '[f({"]":"\\""}) -> a]]');
});
