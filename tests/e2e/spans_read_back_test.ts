// Spans read back: what a collector got of a trial says the same of it as the trial's line in its journal.

import { assertEquals, assertMatch } from "@std/assert";
import { readTraces, type RecordedTrace } from "../../lib/integrations/traces.ts";
import { deno, folder, ROOT } from "../support/child.ts";
import { startCollector } from "../support/collector.ts";

const CONTENT = { OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: "true" };

/** Tests of tools: of each its model is a script. */
const TESTS = `
import { assertAnswer, scripted, tool, toolTest } from "${ROOT}/mod.ts";
import { z } from "zod";

const refund = tool({
  name: "refund",
  description: "Refunds an order",
  parameters: z.object({ order: z.string() }),
  execute: ({ order }) => order === "all" ? "x".repeat(12_000) : { order, reference: 7 },
});
const broken = tool({
  name: "broken",
  description: "Is broken",
  parameters: z.object({}),
  execute: () => { throw new Error("the reference is lost"); },
});
const at = { tools: [refund, broken], system: "Always be polite.", prompt: "Refund A1.", assert: () => {} };
const A1 = { name: "refund", arguments: { order: "A1" } };
const A2 = { name: "refund", arguments: { order: "A2" } };
const done = { text: "Refunded.", usage: { inputTokens: 20, outputTokens: 4 } };

toolTest("two turns", {
  ...at,
  turns: ["And A2."],
  model: scripted("clerk", [{ text: "I see.", calls: [A1] }, done, { calls: [A2] }, { text: "That too." }]),
});
toolTest("parallel calls", {
  ...at,
  model: scripted("clerk", [{ calls: [A2, A1, A2] }, { calls: [A1] }, done]),
});
toolTest("mistakes", {
  ...at,
  model: scripted("clerk", [
    {
      calls: [
        { name: "refnd", arguments: { order: "A1" } },
        { name: "refund", arguments: '{"order":' },
        { name: "refund", arguments: "[1]" },
        { name: "refund", arguments: { order: 5 } },
        A1,
      ],
    },
    { calls: [{ name: "broken", arguments: {} }, A2] },
    done,
  ]),
});
toolTest("fault", {
  ...at,
  perturbation: "timeout",
  model: scripted("clerk", [{ calls: [A1, A2] }, { calls: [A1] }, done]),
});
toolTest("fails", {
  ...at,
  model: scripted("clerk", [{ calls: [A1] }, done]),
  assert: (run) => assertAnswer(run, /no such words/),
});
toolTest("long arguments", {
  ...at,
  model: scripted("clerk", [{ calls: [{ name: "refund", arguments: { order: "x".repeat(12_000) } }] }, done]),
});
toolTest("long result", {
  ...at,
  model: scripted("clerk", [{ calls: [{ name: "refund", arguments: { order: "all" } }, A2] }, done]),
});
toolTest("long answer", {
  ...at,
  model: scripted("clerk", [{ calls: [A1] }, { text: "x".repeat(12_000) }]),
});
`;

/** What a trace says, without times, and without which calls had a fault: spans have what the model got. */
function saidIn({ case: name, model, simulated, checked, system, ...run }: RecordedTrace) {
  const { calls, turns, texts, answer, replies, usage, failures, tools } = run;
  const text = JSON.stringify(
    {
      ...{ name, model, simulated, checked, system },
      ...{ calls, turns, texts, answer, replies, usage, failures, tools },
    },
    (key, value) => key === "durationMs" || key === "fault" ? undefined : value,
  );
  return JSON.parse(text);
}

Deno.test("spans read back say of each trial what its journal says", async () => {
  await using place = await folder();
  await using collector = startCollector();
  const journal = place.file("run.jsonl");
  const path = place.write("desk_test.ts", TESTS);
  const ran = await deno([
    ...["test", "--no-check", "--no-prompt", "--allow-env", "--allow-net=127.0.0.1"],
    ...["--allow-read", `--allow-write=${place.path}`, `--config=${ROOT}/deno.json`],
    ...[path, "--", `--out=${journal}`],
  ], { env: { ...collector.env, ...CONTENT } });
  const resourceSpans = collector.bodies.flatMap((body) => JSON.parse(body).resourceSpans);
  const spans = await readTraces(JSON.stringify({ resourceSpans }));
  const lines = await readTraces(Deno.readTextFileSync(journal));
  const names = lines.map((line) => line.case);
  assertEquals(names.length, 8, ran.all);
  assertEquals(spans.map((one) => one.case).sort(), names.toSorted());
  for (const line of lines) {
    const own = spans.find((one) => one.case === line.case)!;
    assertEquals(own.form, "otel");
    // What cannot be judged anew is said of both.
    assertEquals(own.notes, line.notes, line.case);
    if (line.case!.startsWith("long ")) assertMatch(own.notes[0]!, /^[12] texts? cut/);
    else assertEquals(saidIn(own), saidIn(line), line.case);
  }
});
