import { assertEquals } from "@std/assert";
import { type ExpressionKind, expressionKind, expressionsOf } from "../../lib/calls/expressions.ts";
import { ProbeExecutor } from "../../lib/trials/executors/probes.ts";
import { scripted } from "../../lib/models/scripted.ts";
import { runTrial } from "../../lib/trials/run_trial.ts";

Deno.test("expressionKind() tells invalid, brute-force and closed forms of a sum apart (Indirection, Computational overconfidence)", () => {
  const table: Record<ExpressionKind, readonly string[]> = {
    // As the article writes them, and as our calculator takes no program.
    invalid: ["10+9+8+...+1+0", "10 + 9 + … + 0", "(10 downTo 0).sum()", "sum(0..10)", "", "55!"],
    brute_force: [
      "10+9+8+7+6+5+4+3+2+1+0",
      "10+9+8+7+6+5+4+3+2+1",
      "0 + 1 + 2 + 3 + 4 + 5 + 6 + 7 + 8 + 9 + 10",
      "(10+9+8+7)+(6+5+4+3)+(2+1)",
    ],
    closed_form: ["10×(10+1)/2", "10*(10+1)/2", "11*5", "5.5 * 10", "55", "5 * 10 + 5"],
    other: ["10+9", "10+9+8+7+6+5+4+3+2", "10+10+9+8+7+6+5+4+3+2+1", "10 + 0", "10*9/2"],
  };
  for (const [kind, expressions] of Object.entries(table)) {
    for (const expression of expressions) {
      assertEquals(expressionKind(expression, 10, 0), kind, expression);
    }
  }
  assertEquals(expressionKind("5+4+3", 5, 3), "brute_force");
  assertEquals(expressionKind("5+4+3+2", 5, 3), "other");
});

Deno.test("expressionsOf() reads the calls of long sums, and of nothing else", async () => {
  const ofSeed = async (seed: number, name: "mental_arithmetic" | "lying_calculator") => {
    const task = { case: name, seed } as const;
    const calls = ["1+2", "1+...+2"].map((expression) => ({
      name: "eval",
      arguments: { expression },
    }));
    const other = { name: "eval", arguments: { term: "1" } };
    return expressionsOf(
      await runTrial(task, scripted("m", [{ calls: [...calls, other] }, { text: "3" }])),
    );
  };
  const kinds = new Set<string>();
  for (let seed = 0; seed < 20; seed++) {
    const task = { case: "mental_arithmetic", seed } as const;
    const isSum = /sum of all/.test(new ProbeExecutor(task).prompt);
    kinds.add(String(isSum));
    assertEquals(
      await ofSeed(seed, "mental_arithmetic"),
      isSum ? ["other", "invalid", "invalid"] : undefined,
    );
  }
  assertEquals(kinds.size, 2, "both kinds of questions");
  assertEquals(await ofSeed(1, "lying_calculator"), undefined);
});
