// Putting faults in the way of calls: which are hit, what is said, and the same for tools of the user.

import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { InputError } from "../../lib/base/errors.ts";
import { parseJson } from "../../lib/base/json.ts";
import {
  isCheck,
  isRemoving,
  PERTURBATIONS,
  perturbationsIn,
} from "../../lib/perturbations/ids.ts";
import {
  type AimedFault,
  faultInjector,
  type ToolFault,
  withFaults,
} from "../../lib/perturbations/inject_faults.ts";
import { SUITE } from "../../lib/runs/suite.ts";
import { tool } from "../../lib/tools/define_tool.ts";
import {
  briefFault,
  FAULT_PATTERN,
  type FaultId,
  faultIn,
  type FaultKind,
  FAULTS,
  isFault,
  isLasting,
  isLost,
  isTransient,
} from "../../lib/tools/fault.ts";
import { errorOfResult } from "../../lib/tools/references/symbol_table.ts";
import { isIsolated, schemaOf, type Tool } from "../../lib/tools/tool.ts";
import { parseAnswer } from "../../lib/tasks/graphs/answer.ts";
import { Toolbox } from "../../lib/trials/executors/toolbox.ts";
import fc from "../support/fast_check.ts";
import { SCHEMA_PATH } from "../support/suite_schema.ts";

/** The faults that calls of these tools meet. */
function kindsOf(faults: readonly AimedFault[], calls: readonly string[], seed = 1) {
  const inject = faultInjector(faults, { seed });
  return calls.map((tool) => inject(tool)?.kind ?? "-");
}

const hitsAll = () => true;
const hits = (name: string) => (tool: string) => tool === name;

Deno.test("faultInjector() lets a fault count only what the ones before it let through", () => {
  const faults = [
    { kind: "timeout", times: 2, hits: hits("a") },
    { kind: "rate_limit", times: 1, hits: hits("a") },
  ] as const;
  assertEquals(kindsOf(faults, ["a", "a", "a", "a"]), ["timeout", "timeout", "rate_limit", "-"]);
});

Deno.test("faultInjector() draws as often as it is told, and otherwise for other seeds and tools", () => {
  const flaky = (rate?: number) =>
    [{
      kind: "flaky",
      hits: hitsAll,
      ...(rate === undefined ? {} : { rate }),
    }] as const;
  const calls = new Array<string>(4_000).fill("a");
  const share = (kinds: readonly string[]) =>
    kinds.filter((kind) => kind === "flaky").length / kinds.length;
  // Four standard errors of the share of 4,000 draws are 0.0253 at most.
  assert(Math.abs(share(kindsOf(flaky(), calls)) - 0.2) < 0.026);
  assert(Math.abs(share(kindsOf(flaky(0.35), calls)) - 0.35) < 0.031);
  const few = calls.slice(0, 50);
  assert(`${kindsOf(flaky(), few, 1)}` !== `${kindsOf(flaky(), few, 2)}`);
  assert(`${kindsOf(flaky(), few)}` !== `${kindsOf(flaky(), few.map(() => "b"))}`);
});

/** What a model reads for each kind that keeps a call from its result. */
const CONTENTS = FAULTS.filter((kind) => kind !== "slow").map((kind) => {
  const fault = faultInjector([{ kind, hits: hitsAll, rate: 1 }], { seed: 1 })("a")!;
  return { ...fault, content: fault.content! };
});

Deno.test("faultInjector() says what went wrong as tools of one's own say it, and never a number", () => {
  for (const { kind, content, error } of CONTENTS) {
    assertEquals(parseAnswer(content, "xyz"), null, content);
    assertEquals(/\d/.test(content), false, content);
    assertEquals(errorOfResult(content), kind === "malformed_return" ? undefined : error);
    assertEquals(parseJson(content) === undefined, kind === "malformed_return");
  }
  assertEquals(new Set(CONTENTS.map(({ content }) => content)).size, CONTENTS.length);
  const said = Object.fromEntries(CONTENTS.map(({ kind, error }) => [kind, error]));
  assertMatch(said["timeout"]!, /timed out/i);
  assertMatch(said["rate_limit"]!, /rate limit.*retry after/i);
  assertMatch(said["not_found"]!, /not found/i);
  assertMatch(said["permission_denied"]!, /permission denied.*do not retry/i);
  assertMatch(said["invalid_argument"]!, /invalid argument/i);
  assertMatch(said["flaky"]!, /temporarily unavailable/i);
});

/** A tool that counts how often it was run. */
function counting(name = "weather"): { readonly tool: Tool; readonly runs: () => number } {
  let runs = 0;
  const own: Tool = {
    name,
    description: "Tells the weather",
    parameters: {
      type: "object",
      properties: { city: { type: "string" } },
      required: ["city"],
      additionalProperties: false,
    },
    execute: () => Promise.resolve(JSON.stringify({ run: ++runs })),
  };
  return { tool: own, runs: () => runs };
}

async function resultsOf({ execute }: Tool, calls: number): Promise<unknown[]> {
  const results = [];
  for (let call = 0; call < calls; call++) {
    results.push(parseJson(await execute({ city: "Rome" })));
  }
  return results;
}

Deno.test("withFaults() gives plain tools, which do not run where they fail", async () => {
  const { tool: weather, runs } = counting();
  const [failing] = withFaults([weather], [{ kind: "timeout", times: 2 }], { seed: 7 });
  assertEquals(schemaOf(failing!), schemaOf(weather));
  const error = "Timeout: the call timed out after thirty seconds";
  assertEquals(await resultsOf(failing!, 4), [{ error }, { error }, { run: 1 }, { run: 2 }]);
  assertEquals(runs(), 2);
});

Deno.test("withFaults() aims at the tools that are named, else at each", async () => {
  const tools = [counting("a").tool, counting("b").tool];
  const aimed = withFaults(tools, [{ kind: "not_found", tool: "b" }], { seed: 7 });
  assertEquals(await resultsOf(aimed[0]!, 1), [{ run: 1 }]);
  assertEquals(Object.keys((await resultsOf(aimed[1]!, 1))[0] as object), ["error"]);
  const all = withFaults(tools, [{ kind: "not_found" }], { seed: 7 });
  for (const one of all) {
    const [first, second] = await resultsOf(one, 2);
    assertEquals([Object.keys(first!), Object.keys(second!)], [["error"], ["run"]]);
  }
});

Deno.test("withFaults() says what it is told to say", async () => {
  const said = async (fault: ToolFault) => {
    const [failing] = withFaults([counting().tool], [fault], { seed: 7 });
    return await failing!.execute({ city: "Rome" });
  };
  assertEquals(
    await said({ kind: "rate_limit", retryAfter: 30 }),
    '{"error":"Rate limit exceeded: too many requests. Retry after 30 seconds"}',
  );
  assertEquals(await said({ kind: "timeout", message: "HTTP 504" }), '{"error":"HTTP 504"}');
  assertEquals(await said({ kind: "malformed_return", message: '{"run":' }), '{"run":');
  assertEquals(await said({ kind: "slow", delay: 0, message: "never said" }), '{"run":1}');
  assertEquals(await said({ kind: "timeout", rate: 0 }), '{"run":1}');
});

Deno.test("withFaults() lets a call that does not conform go on to the tool, and does not count it", async () => {
  let asked = 0;
  const strict: Tool = {
    ...counting().tool,
    check: ({ city }) => {
      asked++;
      return city === "Atlantis"
        ? { error: "no", fault: { missing: [], unexpected: [], wrongType: [], malformed: false } }
        : undefined;
    },
  };
  const [failing] = withFaults([strict], [{ kind: "timeout" }], { seed: 7 });
  assertEquals(await failing!.execute({ town: "Rome" }), '{"run":1}');
  assertEquals(await failing!.execute({ city: "Atlantis" }), '{"run":2}');
  assertEquals(asked, 1);
  assertMatch(await failing!.execute({ city: "Rome" }), /timed out/);
});

Deno.test("withFaults() hands on the signal, which ends a delay: then the tool is not run", async () => {
  const signals: unknown[] = [];
  const own = tool({
    name: "own",
    description: "Does something",
    parameters: { type: "object" },
    execute: (_, { signal }) => signals.push(signal),
  });
  const [failing] = withFaults([own], [{ kind: "slow", delay: 1_000_000 }], { seed: 7 });
  const controller = new AbortController();
  const { signal } = controller;
  const late = failing!.execute({}, { signal });
  controller.abort(new RangeError("enough"));
  await assertRejects(() => late, RangeError, "enough");
  assertEquals(signals, []);
  const { signal: other } = new AbortController();
  await failing!.execute({}, { signal: other });
  assertEquals(signals, [other]);
});

Deno.test("withFaults() begins anew in each run, and leaves what a tool throws as it is", async () => {
  const weather = tool({
    name: "weather",
    description: "Tells the weather",
    parameters: { type: "object", properties: {} },
    sequence: [{ sky: "clear" }, { sky: "grey" }],
  });
  const failing = withFaults([weather], [{ kind: "flaky", times: 1, rate: 1 }], { seed: 7 });
  const call = { id: "1", name: "weather", arguments: "{}" };
  for (let run = 0; run < 2; run++) {
    using toolbox = new Toolbox(failing);
    const told = [];
    for (let number = 0; number < 3; number++) {
      told.push((await toolbox.execute([call]))[0]!.content);
    }
    assertEquals(told, [
      '{"error":"Service temporarily unavailable. Try again"}',
      '{"sky":"clear"}',
      '{"sky":"grey"}',
    ]);
    const errors = toolbox.events.map((event) => event.kind === "call" && event.error);
    assertEquals(errors, ["Service temporarily unavailable. Try again", undefined, undefined]);
  }
  assert(failing.every(isIsolated));
  const broken = { ...counting().tool, execute: () => Promise.reject(new Error("broken")) };
  const [own] = withFaults([broken], [{ kind: "slow", delay: 1 }], { seed: 7 });
  assertEquals([isIsolated(broken), isIsolated(own!)], [false, false]);
  await assertRejects(() => own!.execute({ city: "Rome" }), Error, "broken");
});

Deno.test("withFaults() refuses what is no fault of these tools", () => {
  const wrong: [unknown, string][] = [
    [{ kind: "outage" }, 'at [0].kind: expected one of "timeout"|"rate_limit"|'],
    [{}, "at [0].kind: it is missing"],
    [null, "at [0]: expected object, received null"],
    [
      { kind: "timeout", tool: "wether" },
      'at [0].tool: expected "weather": it is "wether"; did you mean weather?',
    ],
    [
      { kind: "timeout", times: 0 },
      "at [0].times: must be a whole number from 1 on, or Infinity: it is 0",
    ],
    [{ kind: "timeout", times: 1.5 }, "at [0].times: must be a whole number"],
    [{ kind: "flaky", rate: 20 }, "at [0].rate: must be at most 1: it is 20"],
    [{ kind: "flaky", rate: NaN }, "at [0].rate: expected number, received NaN"],
    [{ kind: "rate_limit", retryAfter: -1 }, "at [0].retryAfter: must be at least 0: it is -1"],
    [{ kind: "slow", delay: Infinity }, "at [0].delay: expected number, received Infinity"],
    [{ kind: "timeout", message: 3 }, "at [0].message: expected string, received number"],
    [{ kind: "timeout", time: 3 }, 'at [0]: Unrecognized key: "time"; did you mean times?'],
  ];
  for (const [fault, told] of wrong) {
    assertThrows(
      () => withFaults([counting().tool], [fault as ToolFault], { seed: 1 }),
      InputError,
      told,
    );
  }
  const { tool: weather } = counting();
  const faults = [{ kind: "timeout" as FaultKind }];
  assertThrows(() => withFaults([weather], faults, {} as never), InputError, "at seed: it is");
  assertThrows(
    () => withFaults([weather], faults[0] as never, { seed: 1 }),
    InputError,
    "expected array",
  );
  assertThrows(() => withFaults([{} as Tool], faults, { seed: 1 }), InputError, "a name");
});

// Faults as perturbations: which ids are allowed, and what the schema for editors says of them.

Deno.test("faultIn() reads how many calls are hit, or how often", () => {
  assertEquals(faultIn("timeout"), { kind: "timeout", times: 1, rate: 1 });
  assertEquals(faultIn("rate_limit:12"), { kind: "rate_limit", times: 12, rate: 1 });
  assertEquals(faultIn("slow:99"), { kind: "slow", times: 99, rate: 1 });
  assertEquals(faultIn("flaky"), { kind: "flaky", times: Infinity, rate: 0.2 });
  assertEquals(faultIn("flaky:0.35"), { kind: "flaky", times: Infinity, rate: 0.35 });
  const denied = { kind: "permission_denied", times: Infinity, rate: 1 } as const;
  assertEquals(faultIn("permission_denied"), denied);
});

Deno.test("perturbationsIn() says what is wrong with the number of a fault", () => {
  const times = "it must say how many calls fail by a whole number from 1 to 99, such as";
  const rate =
    "it must say how often a call fails by a rate between 0 and 1 that ends in no zero, such as flaky:0.35";
  const wrong: Record<string, string> = {
    "timeout:0": `${times} timeout:2: timeout:0`,
    "timeout:": `${times} timeout:2: timeout:`,
    "timeout:1.5": `${times} timeout:2: timeout:1.5`,
    "timeout:100": `${times} timeout:2: timeout:100`,
    "CF+slow:01": `${times} slow:2: slow:01`,
    "timeout:2:3": `${times} timeout:2: timeout:2:3`,
    "timeout: 2": `${times} timeout:2: timeout: 2`,
    "flaky:0": `${rate}: flaky:0`,
    "flaky:1": `${rate}: flaky:1`,
    "flaky:0.0": `${rate}: flaky:0.0`,
    "flaky:0.20": `${rate}: flaky:0.20`,
    "flaky:-0.2": `${rate}: flaky:-0.2`,
    "flaky:.2": `${rate}: flaky:.2`,
    "flaky:0.1234567": `${rate}: flaky:0.1234567`,
    "flaky:many": `${rate}: flaky:many`,
    "permission_denied:2":
      "it must have no number where permission is denied for good: permission_denied:2",
    "gone:2": "it must have no number where a function is gone for good: gone:2",
    "timeout:2+timeout": "it must not name a perturbation twice: timeout",
    "flaky:0.1+flaky:0.2": "it must not name a perturbation twice: flaky",
  };
  for (const [id, rule] of Object.entries(wrong)) {
    assertThrows(
      () => perturbationsIn(id),
      InputError,
      `Cannot use the perturbation as ${rule}`,
    );
  }
  for (const id of ["RD:2", "time_out", "Timeout", "timeout+", ":2", "__proto__"]) {
    assertThrows(
      () => perturbationsIn(id),
      InputError,
      "must be none, or some of unrelated, rename",
    );
  }
});

Deno.test("perturbationsIn() refuses none beside others", () => {
  for (const id of ["none+timeout", "RD+none", "none+none", "nonsense+none"]) {
    assertThrows(
      () => perturbationsIn(id),
      InputError,
      "Cannot use the perturbation as it must be none alone, or others joined without it (to run " +
        `both, list them separately): ${id}`,
    );
  }
});

Deno.test("perturbationsIn() names the id that another may be a slip of, and guesses no further", () => {
  const meant: Record<string, string | undefined> = {
    "rate-limit": "rate_limit",
    "RateLimit:3": "rate_limit",
    "CF+rate_limits": "rate_limit",
    "flakey:0.3": "flaky",
    "time_out": "timeout",
    "permision-denied": "permission_denied",
    "permision-denyed": "permission_denied",
    "rd": "RD",
    "RPF": "RP_F",
    "RD:2": "RD",
    "None": "none",
    "RD+None": undefined,
    "RX": undefined,
    "slew": "slow",
    "flak": "flaky",
    "fluky1": undefined,
    "": undefined,
    "+": undefined,
    "__proto__": undefined,
  };
  for (const [id, name] of Object.entries(meant)) {
    const { message } = assertThrows(() => perturbationsIn(id), InputError);
    assertEquals(/; did you mean (.*)\?$/.exec(message)?.[1], name, id);
  }
});

Deno.test("perturbationsIn() brings faults behind everything else, without what is usual", () => {
  assertEquals(perturbationsIn("timeout:1"), ["timeout"]);
  assertEquals(perturbationsIn("flaky:0.2"), ["flaky"]);
  assertEquals(perturbationsIn("flaky:0.25+slow:3+timeout:2+CF+FK+RD+rename"), [
    ...["rename", "RD", "FK", "CF", "timeout:2", "slow:3", "flaky:0.25"] as const,
  ]);
  assertEquals(perturbationsIn(PERTURBATIONS.join("+")).length, PERTURBATIONS.length);
});

Deno.test("briefFault() says the same in as few words", () => {
  const ids = fc.oneof(
    fc.tuple(
      fc.constantFrom(...FAULTS.filter((kind) => kind !== "flaky" && !isLasting(kind))),
      fc.integer({ min: 1, max: 99 }),
    ).map(([kind, times]): FaultId => `${kind}:${times}`),
    fc.integer({ min: 1, max: 999_999 }).map((rate): FaultId => `flaky:${rate / 1e6}`),
    fc.constantFrom(...FAULTS),
  );
  fc.assert(fc.property(ids, (id) => {
    const brief = briefFault(id);
    assertEquals(faultIn(brief), faultIn(id));
    assertEquals(briefFault(brief), brief);
    assert(brief.length <= id.length);
    assertEquals(perturbationsIn(id), [brief]);
  }));
});

Deno.test("isFault(), isCheck() and isRemoving() tell perturbations apart", () => {
  assertEquals(PERTURBATIONS.filter(isFault), [...FAULTS]);
  assert(isFault("timeout:3") && isFault("flaky:0.1"));
  for (const id of ["none", "RD", "reorder", "timeouts", "time", "", ":timeout", "constructor"]) {
    assert(!isFault(id), id);
  }
  for (const id of FAULTS) {
    assert(!isCheck(id));
    assertEquals(isRemoving(id), id === "permission_denied");
    assertEquals(isRemoving(`RD+${id}`), id === "permission_denied");
  }
  assert(!isCheck("reorder+timeout:2"));
});

Deno.test("isLost() and isTransient() tell what a fault comes to", () => {
  assertEquals(FAULTS.filter((fault) => !isLost({ fault })), ["slow"]);
  assert(!isLost({}));
  assertEquals(FAULTS.filter((kind) => !isTransient(kind)), ["permission_denied", "gone", "slow"]);
});

/** The patterns of perturbations in the JSON schema of suites. */
function patternsOfSchema(): { readonly names: readonly string[]; readonly pattern: RegExp } {
  const { properties: { perturbations } } = JSON.parse(Deno.readTextFileSync(SCHEMA_PATH));
  const [{ enum: names }, { pattern }] = perturbations.items.anyOf;
  return { names, pattern: new RegExp(pattern, "u") };
}

Deno.test("editors are told the same of ids as suites take", () => {
  const { names, pattern } = patternsOfSchema();
  const part = fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...PERTURBATIONS) },
    fc.tuple(
      fc.constantFrom(...FAULTS, "RD", "reorder"),
      fc.oneof(
        fc.stringMatching(/^[0-9.:-]{0,4}$/),
        fc.integer({ min: 0, max: 120 }).map(String),
        fc.integer({ min: 0, max: 10_000 }).map((rate) => String(rate / 10_000)),
      ),
    ).map(([kind, number]) => `${kind}:${number}`),
  );
  const ids = fc.uniqueArray(part, { selector: (id) => id.split(":")[0], maxLength: 4 })
    .map((parts) => parts.join("+"));
  let taken = 0;
  fc.assertAll(
    fc.property(ids, (id) => {
      const suite = { name: "n", seed: 1, tasks: [{ core: 2, depth: 1 }], models: ["m"] };
      const { success } = SUITE.safeParse({ ...suite, perturbations: [id] });
      if (success) taken++;
      assertEquals(names.includes(id) || pattern.test(id), success, id);
      const isOne = isFault(id as FaultId) && !id.includes("+");
      assertEquals(new RegExp(`^(${FAULT_PATTERN})$`).test(id), success && isOne, id);
    }),
    { numRuns: 1_000 },
  );
  assert(taken > 100, `${taken} ids were right`);
});
