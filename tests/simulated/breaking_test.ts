// Simulated models that break the form of their calls, at stated rates and in ways that are told.

import { assert, assertEquals, assertGreater } from "@std/assert";
import { type Api, formatOf, TEXT_FORMATS } from "../../lib/models/formats/registry.ts";
import type { Model } from "../../lib/models/model.ts";
import { openai } from "../../lib/models/openai/openai.ts";
import { type Break, breakText, drawBreak } from "../../lib/simulated/_breaking.ts";
import { parseSimulatedModel } from "../../lib/simulated/names.ts";
import { startSimulatedServer } from "../../lib/simulated/server.ts";
import { inTextFormat } from "../../lib/models/formats/adapter.ts";
import { fork } from "../../lib/base/random.ts";
import { generateTask } from "../../lib/tasks/generated/task.ts";
import { callsOf, type Parse, type ReplyEvent } from "../../lib/calls/trace.ts";
import { runTrial } from "../../lib/trials/run_trial.ts";
import type { Trial } from "../../lib/trials/trial.ts";
import fc from "../support/fast_check.ts";
import { assertRate, makePrompt, makeTool } from "../support/simulated_world.ts";

const CALLS = fc.array(
  fc.record({
    name: fc.constantFrom("func_a", "func_b"),
    arguments: fc.dictionary(
      fc.stringMatching(/^[a-z]{4,6}(_id|Id)?$/),
      fc.oneof(
        { weight: 5, arbitrary: fc.integer({ min: -999, max: 999 }) as fc.Arbitrary<unknown> },
        fc.constantFrom("731", "@bujxe", "$1.bujxe", 'it\'s "so"\n', true, null, [731], { x: 1 }),
      ),
      { maxKeys: 4 },
    ),
  }),
  { minLength: 1, maxLength: 4 },
);

const PARSED: Readonly<Record<Break, Parse>> = { mendable: "repaired", hopeless: "unreadable" };

Deno.test("breakText() writes what can be mended without a loss, or not at all", () => {
  for (const id of TEXT_FORMATS) {
    const format = formatOf(id);
    const repairs = new Set<string>();
    fc.assert(
      fc.property(
        CALLS,
        fc.constantFrom("I call.", "I call the functions whose inputs are known."),
        fc.constantFrom<Break>("mendable", "hopeless"),
        fc.nat(),
        (given, text, kind, seed) => {
          const calls = (format.parallel ? given : given.slice(0, 1)).map((call, place) => ({
            id: `call_1_${place + 1}`,
            type: "function" as const,
            function: { name: call.name, arguments: JSON.stringify(call.arguments) },
          }));
          const stream = fork(seed, "test");
          const written = breakText(format, { text, calls }, { kind, stream });
          const read = format.read(written, ["func_a", "func_b"]);
          assertEquals(read.parsed, PARSED[kind], written);
          assertEquals(read.calls.map(({ name }) => name), calls.map((call) => call.function.name));
          const same = read.calls.filter((call, place) => {
            const own = calls[place]!.function.arguments;
            try {
              assertEquals(JSON.parse(call.arguments), JSON.parse(own));
              return true;
            } catch {
              return false;
            }
          });
          assertEquals(same.length, calls.length - (kind === "hopeless" ? 1 : 0), written);
          for (const repair of read.repairs) repairs.add(repair.replace(/\d+/, "N"));
        },
      ),
      { numRuns: 150 },
    );
    assertGreater(repairs.size, 4, [...repairs].join("; "));
  }
});

Deno.test("sim:noisy breaks calls of its own in several ways, whichever of them it is", () => {
  const names = ["b", "c", "d"];
  const tools = names.map((name) =>
    makeTool(`func_${name}`, `Processes variable a to produce variable ${name}`, ["a"])
  );
  const last = makeTool(
    "func_e",
    `Processes ${names.map((name) => `variable ${name}`).join(", ")} to produce variable e`,
    names,
  );
  const places = new Set<number>();
  const ways = (options: string) => {
    const model = parseSimulatedModel(`sim:noisy?breakFormat=1&${options}`);
    const seen = new Set<string>();
    for (let seed = 0; seed < 40; seed++) {
      const messages = [{ role: "user", content: makePrompt("e", new Map([["a", 731]])) }] as const;
      const answer = model.reply({ model: model.name, messages, tools: [...tools, last], seed });
      const calls: readonly { id: string; function: { arguments: unknown } }[] = answer.choices[0]
        .message.tool_calls!;
      const [broken, ...others] = calls.flatMap(({ id, function: { arguments: given } }, place) =>
        id !== "" && given === '{"a":731}' ? [] : [{ id, given, place }]
      );
      assertEquals(others, []);
      const { id, given, place } = broken!;
      places.add(place);
      seen.add(id === "" ? "no id" : typeof given === "string" ? given : "an object");
      assert(answer.usage.completion_tokens > 0 && answer.usage.total_tokens > 0);
    }
    return [...seen].sort();
  };
  assertEquals(ways("hopeless=0"), ["an object", "no id"]);
  const words = "the values that are known by now";
  assertEquals(ways("hopeless=1"), [words, '{"a', '{"a":'].sort());
  assertEquals([...places].sort(), [0, 1, 2]);
});

const APIS: readonly Api[] = ["chat", "responses", ...TEXT_FORMATS];

/** A simulated model behind HTTP, however it is spoken to. */
function modelAt(baseURL: string, model: string, api: Api): Model {
  const options = {
    ...{ model, baseURL, apiKey: "simulated", simulated: true },
    requestFields: ({ context }: { context: { repetition: number } }) => ({
      seed: context.repetition,
    }),
  };
  if (api === "chat" || api === "responses") return openai({ ...options, api });
  return inTextFormat(openai(options), api);
}

/** The replies of the loop that attempt calls. */
function attemptsIn({ events }: Trial): ReplyEvent[] {
  return events.filter((event): event is ReplyEvent =>
    event.kind === "reply" && event.stage === undefined && event.parsed !== undefined
  );
}

const RATES = { breakFormat: 0.4, hopeless: 0.4 };

for (const api of APIS) {
  Deno.test(`sim:noisy breaks just the replies in ${api} that drawBreak() tells`, async () => {
    await using server = startSimulatedServer();
    const model = modelAt(server.url, "sim:noisy?breakFormat=.4&hopeless=.4&seed=5", api);
    for (let seed = 0; seed < 12; seed++) {
      const spec = { core: 6, depth: 1 + seed % 5, connected: 1, disconnected: 0, seed };
      const trial = await runTrial(spec, model, { limits: { calls: 300 } });
      const { prompt } = generateTask(spec);
      const attempts = attemptsIn(trial).map(({ parsed }) => parsed!);
      const drawn = attempts.map((_, step): Parse => {
        const kind = drawBreak(prompt, step, { rates: RATES, seed: 5, repetition: 1 });
        return kind === undefined ? "strict" : PARSED[kind];
      });
      assertEquals(attempts, drawn);
      // Nothing else goes wrong, and what could not be read is written again.
      assertEquals(trial.outcome, "solved");
      const hopeless = drawn.filter((parsed) => parsed === "unreadable").length;
      assertEquals(trial.calls, trial.minimumCalls! + hopeless);
      assertEquals(
        trial.failures.map(({ detail }) => "malformed" in detail && detail.malformed),
        new Array(hopeless).fill(true),
      );
    }
  });
}

Deno.test("sim:noisy breaks nothing else at the same seed", async () => {
  await using server = startSimulatedServer();
  const mistakes = "early=.2&stale=.2&distract=.2&hallucinate=.1&arity=.1";
  for (const api of ["chat", "xml", "hermes"] as const) {
    for (let seed = 0; seed < 5; seed++) {
      const spec = { core: 6, depth: 3, connected: 2, disconnected: 0, seed };
      const [plain, mended] = await Promise.all(
        ["", "&breakFormat=1"].map(async (more) => {
          const model = modelAt(server.url, `sim:noisy?${mistakes}${more}`, api);
          return await runTrial(spec, model);
        }),
      );
      // What can be mended is mended without a loss: but for the form all is the same.
      const calls = (trial: Trial) =>
        callsOf(trial.events).map((call) => [
          call.function,
          JSON.parse(call.arguments),
          call.result,
        ]);
      assertEquals(calls(mended!), calls(plain!));
      assertEquals(mended!.outcome, plain!.outcome);
      assertEquals(attemptsIn(plain!).some(({ parsed }) => parsed !== "strict"), false);
      assertEquals(attemptsIn(mended!).every(({ parsed }) => parsed === "repaired"), true);
    }
  }
});

Deno.test("sim:noisy gives up what it cannot get across, and ends", async () => {
  await using server = startSimulatedServer();
  for (const api of APIS) {
    const model = modelAt(server.url, "sim:noisy?breakFormat=1&hopeless=1", api);
    const spec = { core: 1, depth: 0, connected: 0, disconnected: 0, seed: 3 };
    const trial = await runTrial(spec, model, { limits: { calls: 100 } });
    assertEquals([trial.outcome, trial.calls], ["no_answer", 20], api);
  }
});

Deno.test("drawBreak() draws at its rates, for each seed, repetition, question, step and attempt by itself", () => {
  const drawn = Array.from(
    { length: 1_000 },
    (_, step) => drawBreak("p", step, { rates: RATES, seed: 5, repetition: 1 }),
  );
  assertRate(drawn.filter((kind) => kind === undefined).length, 1_000, 0.6);
  assertRate(drawn.filter((kind) => kind === "hopeless").length, 1_000, 0.16);
  const rates = { breakFormat: 0.5, hopeless: 0.5 };
  const draws = { rates, seed: 1, repetition: 1 };
  const some = (of: (n: number) => Break | undefined) =>
    new Set(Array.from({ length: 60 }, (_, n) => of(n))).size;
  assertEquals(some((seed) => drawBreak("p", 1, { ...draws, seed })), 3);
  assertEquals(some((repetition) => drawBreak("p", 1, { ...draws, repetition })), 3);
  assertEquals(some((n) => drawBreak(`p${n}`, 1, draws)), 3);
  assertEquals(some((step) => drawBreak("p", step, draws)), 3);
  assertEquals(some((attempt) => drawBreak("p", 1, { ...draws, attempt })), 3);
  fc.assert(fc.property(fc.string(), fc.nat(), fc.nat(), (prompt, step, seed) => {
    const draw = (rates: Partial<typeof RATES>) =>
      drawBreak(prompt, step, { rates, seed, repetition: 0 });
    assertEquals(draw({}), undefined);
    assertEquals(draw({ hopeless: 1 }), undefined);
    assertEquals(draw({ breakFormat: 1 }), "mendable");
    assertEquals(draw({ breakFormat: 1, hopeless: 1 }), "hopeless");
    const drawn = draw(RATES);
    assert(drawn === undefined || drawn === draw({ breakFormat: 1, hopeless: 0.4 }));
  }));
});
