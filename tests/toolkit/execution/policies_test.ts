// Tool executors under whatever tools do and options say.

import { assert, assertEquals, assertLessOrEqual } from "@std/assert";
import type { JsonObject } from "../../../lib/base/json.ts";
import { scripted } from "../../../lib/models/scripted.ts";
import type { Tool } from "../../../lib/tools/tool.ts";
import { TOOL_ERRORS } from "../../../lib/tools/error_category.ts";
import { ToolError } from "../../../lib/tools/tool_error.ts";
import type { Execution, ToolExecutorOptions } from "../../../lib/toolkit/execution/options.ts";
import { createToolExecutor } from "../../../lib/toolkit/execution/executor.ts";
import fc from "../../support/fast_check.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";

/** What one run of a tool does, after a while. */
interface Part {
  readonly kind: "ok" | "hang" | "text" | typeof TOOL_ERRORS[number];
  readonly takes: number;
  readonly retryAfter: number | undefined;
}

const part: fc.Arbitrary<Part> = fc.record({
  kind: fc.oneof(
    { weight: 2, arbitrary: fc.constantFrom("ok" as const, "hang" as const, "text" as const) },
    { weight: 5, arbitrary: fc.constantFrom(...TOOL_ERRORS) },
    { weight: 3, arbitrary: fc.constantFrom("rate_limit" as const, "timeout" as const) },
  ),
  takes: fc.nat({ max: 3000 }),
  retryAfter: fc.option(fc.nat({ max: 5000 }), { nil: undefined }),
});

/** What is set, and what is seen of it. */
interface Policy {
  readonly retries: number;
  readonly timeout: number;
  readonly timeLimit: number;
  readonly longestPause: number;
  readonly backoff: number;
  readonly seed: number;
  /** How often the model is asked; 0 for no repair. */
  readonly repairs: number;
  /** Which of its replies are of use. */
  readonly useful: readonly boolean[];
  readonly alternatives: "none" | "line" | "circle" | "function";
}

const policy: fc.Arbitrary<Policy> = fc.record({
  retries: fc.nat({ max: 4 }),
  timeout: fc.integer({ min: 1, max: 2500 }),
  timeLimit: fc.oneof(fc.integer({ min: 1, max: 20_000 }), fc.constant(Infinity)),
  longestPause: fc.nat({ max: 4000 }),
  backoff: fc.nat({ max: 2000 }),
  seed: fc.nat(),
  repairs: fc.nat({ max: 4 }),
  useful: fc.array(fc.boolean(), { minLength: 1, maxLength: 5 }),
  alternatives: fc.constantFrom("none", "line", "circle", "function"),
});

const NAMES = ["a", "b", "c"] as const;
const PARAMETERS = {
  type: "object",
  properties: { n: { type: "integer" } },
  required: ["n"],
  additionalProperties: false,
};

/** What was seen from outside. */
interface Seen {
  readonly runs: { readonly tool: string; readonly input: JsonObject }[];
  requests: number;
}

function toolsOf(parts: readonly Part[], clock: VirtualClock, seen: Seen): Tool[] {
  return NAMES.map((name) => ({
    name,
    description: name,
    parameters: PARAMETERS,
    async execute(input) {
      seen.runs.push({ tool: name, input });
      const { kind, takes, retryAfter } = parts[Math.min(seen.runs.length, parts.length) - 1]!;
      await clock.pause(takes);
      if (kind === "ok") return "fine";
      if (kind === "hang") return await new Promise(() => {});
      if (kind === "text") return '{"error":"Too many requests"}';
      throw new ToolError(kind, "Why", retryAfter === undefined ? {} : { retryAfter });
    },
  }));
}

function optionsOf(own: Policy, clock: VirtualClock, seen: Seen): ToolExecutorOptions {
  const { repairs, useful, alternatives, ...numbers } = own;
  let fresh = 100;
  const model = scripted("mender", () => {
    const right = useful[seen.requests++ % useful.length];
    return { text: right ? JSON.stringify({ n: ++fresh }) : "Hm." };
  });
  const table = {
    none: {},
    line: { alternatives: { a: "b", b: "c", nix: "a" } },
    circle: { alternatives: { a: "b", b: "a", nix: "a" } },
    function: {
      alternatives: ({ name }: { name: string }) => ({
        name: name === "a" ? "b" : "a",
        arguments: { n: ++fresh },
      }),
    },
  } as const;
  return {
    ...numbers,
    clock,
    ...table[alternatives],
    ...(repairs === 0 ? {} : { repair: { model, attempts: repairs } }),
  };
}

const call = fc.record({
  name: fc.constantFrom("a", "a", "a", "b", "nix"),
  arguments: fc.constantFrom<JsonObject | string>({ n: 1 }, { n: 1 }, '{"n":2}', {}, "no"),
});

/** Carries out a call under a policy. */
async function run(
  parts: readonly Part[],
  own: Policy,
  made: { name: string; arguments: JsonObject | string },
  signal?: AbortSignal,
): Promise<{ execution: Execution; seen: Seen; clock: VirtualClock }> {
  const seen: Seen = { runs: [], requests: 0 };
  const clock = new VirtualClock();
  const executor = createToolExecutor(toolsOf(parts, clock, seen), optionsOf(own, clock, seen));
  const execution = await executor.execute(made, signal === undefined ? {} : { signal });
  return { execution, seen, clock };
}

const MOST_ALTERNATIVES = 5;

Deno.test("createToolExecutor() keeps to its policy, whatever tools and models do", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(part, { minLength: 1, maxLength: 8 }),
      policy,
      call,
      async (parts, own, wanted) => {
        const { execution, seen, clock } = await run(parts, own, wanted);
        const { attempts } = execution;
        const made = (by: string) => attempts.filter((one) => one.by === by);

        // How many.
        assertLessOrEqual(made("retry").length, own.retries);
        assertLessOrEqual(seen.requests, own.repairs);
        assertLessOrEqual(made("repair").length, seen.requests);
        assertLessOrEqual(made("alternative").length, MOST_ALTERNATIVES);

        // Which: the attempt before says what for.
        for (const [place, { by }] of attempts.entries()) {
          const { category } = attempts[place - 1] ?? {};
          const expected = category === undefined
            ? undefined
            : category === "rate_limit" || category === "timeout"
            ? "retry"
            : category === "validation"
            ? "repair"
            : category === "not_found" || category === "unknown_tool"
            ? "alternative"
            : "nothing";
          assertEquals(by, expected);
        }
        // It ends where something came, or where nothing more is done; nowhere else.
        assertEquals(attempts.at(-1)!.ok, execution.ok);
        assertEquals(attempts.slice(0, -1).filter(({ ok }) => ok), []);
        assertEquals(
          execution.ok || execution.error.category,
          execution.ok || attempts.at(-1)!.category,
        );

        // A tool runs as often as is recorded, and never on wrong arguments.
        const ran = attempts.filter((one) => one.ran);
        assertEquals(
          ran.map((one) => [one.tool, JSON.parse(one.arguments)]),
          seen.runs.map(({ tool, input }) => [tool, input]),
        );
        for (const { input } of seen.runs) {
          assertEquals(Object.keys(input), ["n"]);
          assert(Number.isInteger(input["n"]));
        }

        // Within its times: pauses, attempts and the whole.
        let [retried, before] = [0, 0];
        for (const { by, startedAt, durationMs } of attempts) {
          const pause = Date.parse(startedAt) - before;
          if (by === "retry") {
            const whole = Math.min(own.backoff * 2 ** retried++, 8000);
            assertLessOrEqual(pause, own.longestPause + 1);
            assert(
              pause >= Math.floor(Math.min(whole / 2, own.longestPause)),
              `${pause} of ${whole}`,
            );
          } else assertLessOrEqual(pause, 0, "nothing but attempts and pauses take time");
          assertLessOrEqual(durationMs, own.timeout);
          before += pause + durationMs;
        }
        assertLessOrEqual(before, own.timeLimit);
        assertEquals(clock.waiting <= seen.runs.length, true, "only what was left behind waits");
        clock[Symbol.dispose]();

        // What the caller learns.
        if (!execution.ok) {
          assertEquals(JSON.parse(execution.content), { error: execution.error.message });
        }

        // The same again.
        const again = await run(parts, own, wanted);
        assertEquals(again.execution, execution);
        again.clock[Symbol.dispose]();
      },
    ),
    { numRuns: 150 },
  );
});

Deno.test("createToolExecutor() gives up only for a reason", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(part, { minLength: 1, maxLength: 8 }),
      policy,
      async (parts, own) => {
        const patient = { ...own, timeLimit: Infinity, longestPause: 10_000 };
        const { execution, seen, clock } = await run(parts, patient, {
          name: "a",
          arguments: { n: 1 },
        });
        clock[Symbol.dispose]();
        if (execution.ok) return;
        const used = (kind: string) => execution.attempts.filter(({ by }) => by === kind).length;
        switch (execution.error.category) {
          case "rate_limit":
          case "timeout":
            assertEquals(used("retry"), own.retries);
            break;
          case "validation":
            assertEquals(seen.requests, own.repairs);
            break;
          case "not_found":
          case "unknown_tool":
            if (own.alternatives === "function") assertEquals(used("alternative"), 5);
            if (own.alternatives === "line") {
              assertEquals(execution.attempts.at(-1)!.tool, "c");
            }
            break;
        }
      },
    ),
    { numRuns: 150 },
  );
});

Deno.test("createToolExecutor() ends in the moment in which it is cancelled", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(part, { minLength: 1, maxLength: 8 }),
      policy,
      call,
      fc.nat({ max: 12_000 }),
      async (parts, own, made, at) => {
        const seen: Seen = { runs: [], requests: 0 };
        using clock = new VirtualClock();
        const executor = createToolExecutor(
          toolsOf(parts, clock, seen),
          optionsOf(own, clock, seen),
        );
        const controller = new AbortController();
        const alarm = clock.pause(at).then(() => controller.abort(new Error("Never mind")));
        const execution = await executor.execute(made, { signal: controller.signal });
        assertLessOrEqual(clock.now(), at);
        const runs = seen.runs.length;
        if (!controller.signal.aborted) await alarm;
        else {
          assertEquals(clock.now(), at);
          assert(!execution.ok);
          assertEquals(execution.error, {
            category: "cancelled",
            message: (execution.attempts.length > 1
              ? `Failed after ${execution.attempts.length} attempts. Last error: `
              : "") + "The call was cancelled: Never mind",
          });
        }
        assertEquals(seen.runs.length, runs, "nothing runs afterwards");
      },
    ),
    { numRuns: 150 },
  );
});
