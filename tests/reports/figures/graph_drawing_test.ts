import {
  assert,
  assertEquals,
  assertMatch,
  assertNotMatch,
  assertStringIncludes,
} from "@std/assert";
import { instance } from "@viz-js/viz";
import { toDot, toSvg } from "../../../lib/reports/figures/graph_drawing.ts";
import { viewTrial } from "../../../lib/reports/page/_trial_view.ts";
import { callMarks } from "../../../lib/reports/page/trial.js";
import { generateTask, type Task } from "../../../lib/tasks/graphs/task.ts";
import { type CallEvent, failuresOf } from "../../../lib/calls/trace.ts";
import fc from "../../support/fast_check.ts";
import { specs } from "../../support/generated.ts";
import { callEvent, HOSTILE, record } from "../../support/records.ts";
import { parseXml } from "../../support/xml.ts";

const TASK = generateTask({ core: 5, depth: 2, connected: 2, disconnected: 4, seed: 7 });
const ALONE = generateTask({ core: 1, depth: 0, connected: 0, disconnected: 0, seed: 7 });

/** The edges of a task, each as its two functions. */
function edgesOf(task: Task): string[] {
  return task.functions.flatMap(({ name, dependsOn }) =>
    dependsOn.map((parent) => `${parent} ${name}`)
  ).toSorted();
}

function targetOf(task: Task): string {
  return task.functions.find(({ output }) => output.name === task.target.variable)!.name;
}

/** The first group of every match. */
function found(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map((match) => match.slice(1).join(" ")).toSorted();
}

Deno.test("toDot() draws every function and every edge, once (FuncBenchGen A.2)", () => {
  for (const task of [TASK, ALONE]) {
    const dot = toDot(task);
    assertMatch(dot, /^digraph task \{\n[\s\S]*\n\}\n$/);
    assertEquals(
      found(dot, /^ {2}(func_\w+) \[/gm),
      task.functions.map(({ name }) => name).toSorted(),
    );
    assertEquals(found(dot, /^ {2}(func_\w+) -> (func_\w+);$/gm), edgesOf(task));
  }
});

Deno.test("toDot() labels functions with their outputs, with a colour for each role, and a border for the target", () => {
  const dot = toDot(TASK);
  const looks = TASK.functions.map(({ name, role, output }) => {
    const line = dot.split("\n").find((text) => text.startsWith(`  ${name} [`))!;
    assertStringIncludes(line, `label="${name}\\n${output.name}"`);
    return `${role} ${/fillcolor="(#[0-9a-f]{6})"/.exec(line)![1]!}`;
  });
  const colours = [...new Set(looks)].map((look) => look.split(" ")[1]);
  assertEquals([colours.length, new Set(colours).size], [3, 3]);
  assertEquals(found(dot, /^ {2}(func_\w+) \[.*penwidth=3\];$/gm), [targetOf(TASK)]);
});

Deno.test("toSvg() is a well-formed image with every function and every edge, and runs nothing", async () => {
  for (const task of [TASK, ALONE]) {
    const svg = await toSvg(task);
    assertEquals(parseXml(svg).name, "svg");
    const names = found(svg, />(func_\w+)<\/text>/g);
    assertEquals(names, task.functions.map(({ name }) => name).toSorted());
    assertEquals(found(svg, /<title>(func_\w+)&#45;&gt;(func_\w+)<\/title>/g), edgesOf(task));
    for (const { output } of task.functions) assertStringIncludes(svg, `>${output.name}</text>`);
    // The target has a border, and nothing runs.
    assertEquals(svg.match(/stroke-width="3"/g)?.length, 1);
    assertNotMatch(svg, /<script|\son\w+=|href=/i);
  }
});

/** Calls of a task's functions and of others, right and wrong, again and again. */
function callsOn(task: ReturnType<typeof generateTask>): fc.Arbitrary<CallEvent[]> {
  const names = [...task.functions.map(({ name }) => name), "func_none", HOSTILE, "__proto__"];
  return fc.array(
    fc.tuple(fc.constantFrom(...names), fc.boolean()),
    { maxLength: 40 },
  ).map((made) =>
    made.map(([name, wrong], place) =>
      callEvent(place + 1, {
        function: name,
        ...(wrong
          ? {
            failure: { type: "function_not_found", detail: { nearest: null }, root: true } as const,
          }
          : {}),
      })
    )
  );
}

/** The marks of calls in the graph of a task, as a page draws them. */
function marksOf(task: Task, events: readonly CallEvent[]): string {
  const trial = record({ events, failures: failuresOf(events) });
  return callMarks(toDot(task), [...viewTrial(trial, "", { kind: "generated", task }).events]);
}

Deno.test("callMarks() draws with every task each call once, failed ones with a cross (FuncBenchGen 4.7)", async () => {
  const viz = await instance();
  fc.assert(
    fc.property(
      specs(6).map((spec) => generateTask(spec)).chain((task) =>
        callsOn(task).map((calls) => ({ task, calls }))
      ),
      ({ task, calls }) => {
        const dot = toDot(task).replace(/\}\s*$/, `${marksOf(task, calls)}\n}\n`);
        const { output, errors } = viz.render(dot, { format: "json" });
        // It warns that it does not know how wide a cross is.
        assertEquals(errors.filter(({ level }) => level !== "warning"), []);
        const { objects = [] } = JSON.parse(output!) as {
          objects?: { name: string; _ldraw_: { op: string; text?: string }[] }[];
        };
        assertEquals(
          objects.map(({ name }) => name).sort(),
          task.functions.map(({ name }) => name).sort(),
        );
        for (const { name, _ldraw_: parts } of objects) {
          const texts = parts.flatMap(({ op, text }) => op === "T" ? [text!.trim()] : []);
          const marks = texts.filter((text) => /^\d/.test(text));
          const own = calls.filter((one) => one.function === name);
          assertEquals(
            marks,
            own.map(({ call, failure }) => failure === undefined ? `${call}` : `${call} ✗`),
          );
          const { output: variable } = task.functions.find((one) => one.name === name)!;
          const lines = texts.flatMap((text) => text.split("\\n"));
          for (const label of [name, variable.name]) {
            assert(lines.includes(label), `${label} in ${lines}`);
          }
        }
      },
    ),
    { numRuns: 20 },
  );
});

Deno.test("callMarks() has no ribbon of a function that is called again and again", () => {
  const [{ name }] = TASK.functions as [Task["functions"][number]];
  const calls = Array.from({ length: 40 }, (_, place) => callEvent(place + 1, { function: name }));
  const rows = marksOf(TASK, calls).split("<BR/>").slice(2);
  assertEquals(rows.map((row) => row.match(/<B>/g)?.length), [6, 6, 6, 6, 6, 6, 4]);
});

Deno.test("callMarks() tells a call that a fault kept from its result from one that was late", () => {
  const { name } = TASK.functions.find(({ role }) => role === "core")!;
  const calls = ([
    { fault: "timeout" },
    { fault: "slow" },
    {},
  ] as const).map((own, place) => callEvent(place + 1, { function: name, role: "core", ...own }));
  const marks = [...marksOf(TASK, calls).matchAll(/COLOR="([^"]+)"><B>([^<]+)</g)];
  assertEquals(marks.map(([, , mark]) => mark), ["1 !", "2", "3"]);
  const [fault, late, right] = marks.map(([, colour]) => colour);
  assertEquals(late, right);
  assert(fault !== right);
});

Deno.test("callMarks() is nothing where nothing of the task was called", () => {
  assertEquals(marksOf(TASK, []), "");
  assertEquals(marksOf(TASK, [callEvent(1, { function: HOSTILE })]), "");
});

Deno.test("callMarks() has a colour for calls that are needed, one for others, one for failed ones (FuncBenchGen 4.7)", () => {
  const failure = { type: "function_not_found", detail: { nearest: null }, root: true } as const;
  const calls = TASK.functions.flatMap(({ name, role }, place) => [
    callEvent(2 * place + 1, { function: name, role }),
    callEvent(2 * place + 2, { function: name, role, failure }),
  ]);
  const marks = marksOf(TASK, calls).split("\n");
  const colours = TASK.functions.map(({ role }, place) => {
    const [right, wrong] = found(marks[place]!, /COLOR="(#[0-9a-f]{6})"><B>\d+( \u2717)?</g)
      .toSorted((one, other) => one.length - other.length);
    return [role === "core" ? role : "not needed", right!.trim(), wrong];
  });
  const looks = new Map(colours.map(([kind, ...own]) => [kind, own]));
  for (const [kind, ...own] of colours) assertEquals(own, looks.get(kind));
  const [needed, other] = [looks.get("core")!, looks.get("not needed")!];
  assertEquals(needed[1], other[1]);
  assertEquals(new Set([...needed, ...other]).size, 3);
  // Green: more of it than of red and of blue.
  const [red, green, blue] = other[0]!.match(/[0-9a-f]{2}/g)!.map((part) => parseInt(part, 16));
  assert(green! > red! && green! > blue!, other[0]);
});
