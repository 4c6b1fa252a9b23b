import { assert, assertEquals, assertThrows } from "@std/assert";
import { planSuiteFile } from "../support/suites.ts";
import { parseWith, readJsonc } from "../../lib/base/input.ts";
import { InputError } from "../../lib/base/errors.ts";
import { judge } from "../../lib/models/judge/judge.ts";
import { APIS } from "../../lib/models/formats/registry.ts";
import { MODEL, modelName, withApiPrices } from "../../lib/models/entry.ts";
import { planSuite } from "../../lib/runs/plan.ts";
import { SUITE, type Suite } from "../../lib/runs/suite.ts";
import { ROOT } from "../support/child.ts";

const SUITE_OF_ONE: Suite = {
  name: "s",
  seed: 1,
  graphs: 1,
  tasks: [{ core: 2, depth: 1 }],
  models: ["m"],
};

Deno.test("MODEL takes every way to speak to a model", () => {
  for (const api of APIS) {
    const entry = { model: "m", api, temperature: 0, toolChoice: "required" } as const;
    assertEquals(parseWith(MODEL, entry, "it"), entry);
  }
});

Deno.test("MODEL refuses what a way to speak to a model has no room for", () => {
  const texts = "a text may hold any calls: leave it out, or take the api chat";
  const table: [entry: Record<string, unknown>, fault: string][] = [
    [
      { api: "responses", seed: 0 },
      "seed: responses take no seed: leave it out, or take the api chat",
    ],
    [{ api: "react", parallelToolCalls: true }, `parallelToolCalls: ${texts}`],
    [{ api: "xml", parallelToolCalls: false }, `parallelToolCalls: ${texts}`],
    [{ api: "hermes", parallelToolCalls: false, seed: 1 }, `parallelToolCalls: ${texts}`],
    [
      { provider: "google", api: "responses" },
      "api: a provider is asked in its own format: leave the api out",
    ],
    [
      { provider: "google", model: "sim:planner" },
      "provider: a simulated model has none: leave it out",
    ],
    [
      { provider: "google", stream: true },
      "stream: the replies of a provider are read whole: leave it out",
    ],
  ];
  for (const [more, fault] of table) {
    const entry = { model: "m", ...more };
    const error = assertThrows(() => parseWith(MODEL, entry, "it"), InputError);
    assert(error.message.endsWith(`at ${fault}`), error.message);
    // Wherever an entry may stand, and once.
    const places: [suite: object, path: string][] = [
      [{ models: ["a", entry] }, "models[1]"],
      [{ judge: entry }, "judge"],
      [
        { strategies: [{ strategy: "repair", models: { repair: entry } }] },
        "strategies[0].models.repair",
      ],
    ];
    for (const [suite, path] of places) {
      const { message } = assertThrows(
        () => parseWith(SUITE, { ...SUITE_OF_ONE, ...suite }, "it"),
        InputError,
      );
      assertEquals(message.split("\n").slice(1), [`  at ${path}.${fault}`]);
    }
  }
  for (const api of ["chat", "react", "xml", "hermes"]) {
    parseWith(MODEL, { model: "m", api, seed: 0 }, "it");
  }
  for (const api of ["chat", "responses"]) {
    parseWith(MODEL, { model: "m", api, parallelToolCalls: false }, "it");
  }
});

Deno.test("MODEL takes a version behind an address, and nothing that may be a secret", () => {
  for (const end of ["", "?api-version=2024-10-21"]) {
    parseWith(MODEL, { model: "m", baseURL: `https://a.example/v1${end}` }, "it");
  }
  for (const end of ["?key=1", "?api-version=1&token=x", "#x", "?sig=abcdef"]) {
    const entry = { model: "m", baseURL: `https://a.example/v1${end}` };
    const error = assertThrows(() => parseWith(MODEL, entry, "it"), InputError);
    assert(error.message.includes("and no query but a version"), error.message);
  }
  const entry = { model: "m", baseURL: "https://me@a.example/v1" };
  assertThrows(() => parseWith(MODEL, entry, "it"), InputError);
});

Deno.test("modelName() tells how a model is spoken to, unless that is usual or it has a name", () => {
  assertEquals(modelName({ model: "m" }), "m");
  assertEquals(APIS.map((api) => modelName({ model: "m", api })), [
    "m",
    "m (responses)",
    "m (react)",
    "m (xml)",
    "m (hermes)",
  ]);
  assertEquals(modelName({ model: "m", api: "xml", name: "n" }), "n");
});

Deno.test("planSuite() keeps one model apart in every way to speak to it", () => {
  const models = APIS.map((api) => ({ model: "m", api }));
  const { trials, resolved } = planSuite({ ...SUITE_OF_ONE, models });
  assertEquals(trials.map(({ model }) => model), models.map(modelName));
  assertEquals(resolved.models, models);
  assertThrows(
    () => planSuite({ ...SUITE_OF_ONE, models: [models[2]!, models[2]!] }),
    InputError,
    "models must have distinct names: m (react) is there twice",
  );
});

Deno.test("withApiPrices() has a model cost the same in every way to speak to it", () => {
  const [cheap, dear] = [{ input: 1, output: 2 }, { input: 3, output: 4 }];
  const entries = APIS.map((api) => ({ model: "m", api }));
  const filled = withApiPrices({ m: cheap, "m (xml)": dear }, [
    ...entries,
    { model: "m", api: "hermes", name: "own" },
    { model: "other", api: "react" },
  ]);
  assertEquals(filled, {
    m: cheap,
    "m (xml)": dear,
    "m (responses)": cheap,
    "m (react)": cheap,
    "m (hermes)": cheap,
  });
  const prices = { m: cheap };
  assertEquals(withApiPrices(prices, [{ model: "m" }]), prices);
  assertEquals(withApiPrices({}, [{ model: "__proto__", api: "react" }]), {});
});

Deno.test("planSuite() prices models, stages and judges however they are spoken to", () => {
  const price = { input: 1, output: 2 };
  const suite: Suite = {
    ...SUITE_OF_ONE,
    models: [{ model: "m", api: "react" }],
    strategies: [{ strategy: "repair", models: { repair: { model: "n", api: "xml" } } }],
    budget: { usd: 1 },
    prices: { m: price, n: price },
  };
  const plan = planSuite(suite);
  assertEquals(plan.prices, { m: price, n: price, "m (react)": price, "n (xml)": price });
  assertThrows(() => planSuite({ ...suite, prices: { m: price } }), InputError, "n (xml)");
  assertEquals(planSuite({ ...SUITE_OF_ONE, prices: { m: price } }).prices, { m: price });
});

Deno.test("planSuite() prices a judge however it is spoken to", () => {
  const path = `${ROOT}/fixtures/suites/call_sets.jsonc`;
  const price = { input: 1, output: 2 };
  const { gate: _, ...suite } = readJsonc(path, SUITE);
  const plan = planSuiteFile({
    ...suite,
    models: ["m"],
    judge: { model: "m", api: "responses" },
    budget: { usd: 1 },
    prices: { m: price },
  }, path);
  assertEquals(plan.prices, { m: price, "m (responses)": price });
});

Deno.test("judge() names its model as suites do", async () => {
  const one = judge({ model: { model: "sim:truth", api: "responses" } });
  assertEquals(one.name, "sim:truth (responses)");
  const truth = { API: ["getBalance"], parameters: [{ account: 1 }] };
  const { score, why } = await one.score(JSON.stringify(truth), truth);
  assertEquals([score, why], [1, undefined]);
});
