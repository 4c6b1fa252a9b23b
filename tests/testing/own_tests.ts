// @ts-nocheck: a user may write no types.
// Tests of the user's own tools of all kinds, each group of which has names of its own.

import {
  askJudges,
  assertAnswer,
  assertCalled,
  judge,
  scripted,
  tool,
  toolTest,
} from "../../mod.ts";
import { assertEquals } from "@std/assert";

const add = tool({
  name: "add",
  description: "Adds two numbers",
  parameters: {
    type: "object",
    properties: { x: { type: "number" }, y: { type: "number" } },
    required: ["x", "y"],
    additionalProperties: false,
  },
  execute: ({ x, y }) => x + y,
});
const call = { calls: [{ name: "add", arguments: { x: 1, y: 2 } }] };
const adder = (name = "adder") => scripted(name, [call, { text: "It is 3." }]);
// After the tests of the file's suite, which are registered once it has been loaded.
const later = (name, fn) => addEventListener("load", () => Deno.test(name, fn));
const silent = (name = "silent") => scripted(name, [{ text: "I cannot tell." }]);
const rests = { tools: [add], prompt: "What is 1 + 2?", assert: (run) => assertAnswer(run, "3") };

/** Registers all of them. */
export function registerOwnTests() {
  {
    // However long a call takes, others begin meanwhile if they may.
    const waiting = (seen) => async () => {
      seen.now++;
      seen.most = Math.max(seen.most, seen.now);
      await new Promise((resolve) => setTimeout(resolve, 20));
      seen.now--;
      return "3";
    };
    const slow = (seen) => tool({ ...schema, execute: waiting(seen) });
    const schema = {
      name: "add",
      description: "Adds",
      parameters: { type: "object", properties: {} },
    };
    const model = scripted("adder", [{ calls: [{ name: "add", arguments: {} }] }, { text: "3" }]);
    const seen = {
      alone: { now: 0, most: 0 },
      apart: { now: 0, most: 0 },
      asked: { now: 0, most: 0 },
    };
    const own = { ...rests, model, trials: 6 };
    toolTest("alone", { ...own, tools: [slow(seen.alone)] });
    toolTest("asked", { ...own, tools: [slow(seen.asked)], concurrency: 3 });
    toolTest("apart", {
      ...own,
      state: () => ({ calls: 0 }),
      tools: (
        state,
      ) => [tool({ ...schema, execute: () => (state.calls++, waiting(seen.apart)()) })],
      assert: (run) => assertEquals(run.state, { calls: 1 }),
    });
    toolTest("faked", {
      ...own,
      tools: [tool({ ...schema, sequence: ["first", "second"] })],
      assert: (run) => assertEquals(run.calls.map(({ result }) => result), ["first"]),
    });
    later("at the same time", () => {
      assertEquals([seen.alone.most, seen.asked.most, seen.apart.most > 1], [1, 3, true]);
    });
  }
  {
    const rated = (share) =>
      scripted(
        "rated",
        ({ context }) => ({ text: (context.repetition * share) % 1 < share ? "3" : "4" }),
      );
    const gate = { successRate: 0.8, margin: 0.2 };
    const own = { ...rests, trials: 40, gate };
    toolTest("sure", { ...own, model: rated(0.95) });
    toolTest("weak", { ...own, model: rated(0.5) });
    toolTest("torn", { ...own, model: rated(0.75), trials: 20 });
    toolTest("lenient", {
      ...own,
      model: rated(0.75),
      trials: 20,
      gate: { ...gate, undecided: "pass" },
    });
    toolTest("broken", {
      ...own,
      model: scripted("rated", () => {
        throw new TypeError("boo");
      }),
    });
    // Its gate cannot decide, so that nothing is asked; without one, the other tests of the file go on.
    const right = { tool: "add", arguments: { x: 1, y: 2 } };
    const calls = [right, { tool: "add", arguments: { x: 1 } }];
    const referring = { ...rests, trials: 2, state: () => ({}), model: adder() };
    toolTest("unreferred", { ...referring, gate, reference: { calls } });
    toolTest("referred", { ...referring, reference: { calls: [right] } });
    toolTest("misreferred", { ...referring, reference: { calls } });
    toolTest("planned", { ...rests, model: rated(0.99), gate: { ...gate, sequential: true } });
  }
  {
    const { execute: _, ...schema } = add;
    const sky = tool({ ...schema, name: "sky", returns: { sky_state: "clear" } });
    const call = { calls: [{ name: "sky", arguments: { x: 1, y: 2 } }] };
    /** A model that calls in one of three trials, and answers always. */
    const seldom = scripted(
      "seldom",
      ({ context, messages }) =>
        messages.at(-1).role === "user" && context.repetition % 3 === 0 ? call : { text: "clear" },
    );
    const own = { ...rests, tools: [sky], model: seldom, trials: 60, gate: { successRate: 0.8 } };
    const assert = (run) => assertCalled(run, "sky");
    for (const perturbation of ["CK", "FK", "CF"]) {
      toolTest(`seldom ${perturbation}`, { ...own, perturbation, assert });
    }
    toolTest("seldom idle", { ...own, perturbation: "CK+AP", assert });
    for (const perturbation of ["UK", "CO+timeout", "CK+II"]) {
      const needless = { ...own, perturbation, assert() {}, model: silent() };
      toolTest(`seldom needless ${perturbation}`, needless);
    }
    const again = scripted(
      "again",
      ({ messages }) =>
        messages.filter(({ role }) => role === "tool").length < 4 ? call : { text: "clear" },
    );
    toolTest("seldom joined", {
      ...own,
      perturbation: "timeout+rate_limit:2",
      assert,
      model: again,
    });
    // By its seed, the rate spares this call.
    toolTest("seldom hit", {
      ...rests,
      tools: [sky],
      perturbation: "flaky:0.01",
      assert,
      model: again,
    });
    let judged = 0;
    const slips = (run) => judged++ === 7 && assertCalled(run, "skyy") || undefined;
    toolTest("seldom slips", { ...own, assert: slips });
    const slow = judge({
      model: scripted(
        "slow",
        () => new Promise((done) => setTimeout(done, 20, { text: "[[0.9]]" })),
      ),
    });
    toolTest("judge forgotten", {
      ...{ ...rests, model: silent() },
      assert: (run) => void askJudges(run, slow.like("polite")),
    });
  }
  {
    const gate = { baseline: "old", margin: 0.15 };
    const own = { ...rests, trials: 40, gate };
    toolTest("better", { ...own, model: [silent("old"), adder("new")] });
    toolTest("worse", { ...own, model: [adder("old"), silent("new")] });
  }
  {
    toolTest("crossed", {
      ...rests,
      model: [adder("one"), silent("two")],
      strategy: ["plain", { strategy: "repair", name: "mended" }],
      perturbation: ["none", "CO"],
    });
    toolTest("seeds", {
      ...rests,
      model: adder(),
      trials: 3,
      perturbation: "CO",
      assert(run) {
        seen.add(run.seed);
        assertEquals(run.perturbed.map(({ id, changed }) => [id, changed]), [["CO", true]]);
        // Calls are checked by the tools as they are, which assertions see.
        assertEquals(Object.keys(run.tools[0].parameters.properties), ["x", "y"]);
      },
    });
    const seen = new Set();
    later("each trial has a seed", () => assertEquals(seen.size, 3));
    toolTest("nothing told", {
      ...rests,
      model: silent(),
      expected: [{ tool: "add", arguments: { x: 1, y: 2 } }],
      perturbation: "RP_F",
      assert(run) {
        assertEquals([run.removed, run.messages[0].content.includes("1")], [true, false]);
        assertAnswer(run, "3");
      },
    });
  }
  {
    const own = { ...rests, model: adder() };
    toolTest("state throws", {
      ...own,
      state() {
        throw new TypeError("boo");
      },
    });
    toolTest("tools are no tools", { ...own, tools: () => [{ name: "add" }] });
    toolTest("model throws", {
      ...own,
      model: scripted("m", () => {
        throw new TypeError("boo");
      }),
    });
    toolTest("assert throws later", {
      ...own,
      assert: () => Promise.reject(new RangeError("boo")),
    });
    toolTest("assert is misused", { ...own, assert: (run) => assertCalled(run, { tool: "ad" }) });
    toolTest("of generated tasks", { ...own, perturbation: "rename" });
    toolTest("gated", {
      ...own,
      trials: 2,
      gate: { successRate: 0.5 },
      state() {
        throw new TypeError("boo");
      },
    });
    toolTest("gated alone", {
      ...own,
      trials: 2,
      gate: { successRate: 0.5 },
      state() {
        throw new TypeError("boo");
      },
    });
  }
  {
    const own = { ...rests, model: adder(), perturbation: "RP_F" };
    toolTest("idle", own);
    toolTest("told", { ...own, expected: [{ tool: "add", arguments: { x: 1, y: 2 } }] });
  }
  {
    toolTest("spoofed", {
      ...rests,
      model: scripted("sly", [{ text: "4\n    at file:///etc/passwd:1:1\u001b[31m" }]),
      assert: (run) => assertEquals(run.answer, "3"),
    });
    toolTest("long", {
      ...rests,
      model: scripted("chatty", [{ text: "4".repeat(50_000) }]),
      assert: (run) => assertEquals(run.answer, "3"),
    });
  }
}
