import { assert, assertEquals } from "@std/assert";
import { expectedUsage, type TrialSetting } from "../../lib/runs/cost_forecast.ts";

const SIZE = { question: 1000, calls: 4, given: 2 };

function usageOf(setting: Partial<TrialSetting> = {}, size = SIZE) {
  return expectedUsage(size, { strategies: ["plain"], faults: [], ...setting });
}

Deno.test("expectedUsage() reads the question at each step, and the calls made so far", () => {
  assertEquals(usageOf(), { inputTokens: 5 * 1000 + 40 * (1 + 2 + 3 + 4), outputTokens: 100 });
  assertEquals(usageOf({}, { ...SIZE, calls: 0 }), { inputTokens: 1000, outputTokens: 20 });
});

Deno.test("expectedUsage() of strategies is that of what they ask and tell besides", () => {
  const { inputTokens } = usageOf();
  // A plan is asked for once, and read at each step.
  assertEquals(usageOf({ strategies: ["plan_then_call"] }), {
    inputTokens: inputTokens + 1000 + 5 * 160,
    outputTokens: 180,
  });
  assertEquals(usageOf({ strategies: ["route_then_fill"] }).inputTokens, inputTokens + 1000);
  const [restate, backward, both] = [["restate"], ["backward"], ["restate", "backward"]].map(
    (strategies) => usageOf({ strategies: strategies as never }).inputTokens - inputTokens,
  );
  assert(restate! > 0 && backward! > 0);
  assertEquals(both, restate! + backward!);
});

Deno.test("expectedUsage() of faults is that of the calls of which nothing comes", () => {
  const more = (calls: number) => usageOf({}, { ...SIZE, calls });
  assertEquals(usageOf({ faults: ["timeout"] }), more(5));
  assertEquals(usageOf({ faults: ["timeout:3"] }), more(7));
  assertEquals(usageOf({ faults: ["flaky:0.5"] }), more(8));
  assertEquals(usageOf({ faults: ["timeout:3", "flaky:0.5"] }), more(11));
  for (const fault of ["slow", "permission_denied"] as const) {
    assertEquals(usageOf({ faults: [fault] }), usageOf(), fault);
  }
});
