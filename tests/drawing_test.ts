import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { toDot, toMermaid, toSvg } from "../lib/drawing.ts";
import { generateTask, type Task } from "../lib/task.ts";
import { test } from "./support/generated.ts";

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

/** Throws unless every element of the document is closed in order; gives the names of all. */
function elementsOf(xml: string): string[] {
  const open: string[] = [];
  const names: string[] = [];
  const body = xml.replace(/<\?xml[^>]*\?>|<!DOCTYPE[^>]*>|<!--[\s\S]*?-->/g, "");
  for (const [, end, name, alone] of body.matchAll(/<(\/?)([a-zA-Z]+)(?:\s[^<>]*?)?(\/?)>/g)) {
    if (end === "/") assertEquals(open.pop(), name);
    else {
      names.push(name!);
      if (alone !== "/") open.push(name!);
    }
  }
  assertEquals(open, []);
  return names;
}

test("toDot() draws every function and every edge, once", () => {
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

test("toDot() labels functions with their outputs, and gives each role a colour of its own", () => {
  const dot = toDot(TASK);
  const colours = new Map<string, Set<string>>();
  for (const { name, role, output } of TASK.functions) {
    const line = dot.split("\n").find((text) => text.startsWith(`  ${name} [`))!;
    assertStringIncludes(line, `label="${name}\\n${output.name}"`);
    const colour = /fillcolor="(#[0-9a-f]{6})"/.exec(line)![1]!;
    colours.set(role, (colours.get(role) ?? new Set()).add(colour));
  }
  const distinct = [...colours.values()].flatMap((set) => [...set]);
  assertEquals([distinct.length, new Set(distinct).size], [3, 3]);
});

test("toDot() gives the target, and only that, a border of its own", () => {
  assertEquals(found(toDot(TASK), /^ {2}(func_\w+) \[.*penwidth=3\];$/gm), [targetOf(TASK)]);
});

test("toMermaid() draws every function and every edge, with its role", () => {
  for (const task of [TASK, ALONE]) {
    const text = toMermaid(task);
    assertMatch(text, /^flowchart TD\n[\s\S]*\n$/);
    assertEquals(
      found(text, /^ {2}(func_\w+)\["func_\w+<br\/>\w+"\]:::(\w+)$/gm),
      task.functions.map(({ name, role }) => `${name} ${name === targetOf(task) ? "target" : role}`)
        .toSorted(),
    );
    assertEquals(found(text, /^ {2}(func_\w+) --> (func_\w+)$/gm), edgesOf(task));
    assertEquals(found(text, /^ {2}classDef (\w+) /gm), [
      "connected",
      "core",
      "disconnected",
      "target",
    ]);
  }
});

test("toMermaid() has no line of any other kind", () => {
  const known =
    /^( {2}func_\w+(\["[^"]*"\]:::\w+| --> func_\w+)| {2}classDef \w+ [\w#:,-]+|flowchart TD|)$/;
  for (const line of toMermaid(TASK).split("\n")) assertMatch(line, known);
});

test("toSvg() is a well-formed image with every function and every edge", async () => {
  for (const task of [TASK, ALONE]) {
    const svg = await toSvg(task);
    assert(elementsOf(svg).includes("svg"));
    const names = found(svg, />(func_\w+)<\/text>/g);
    assertEquals(names, task.functions.map(({ name }) => name).toSorted());
    assertEquals(found(svg, /<title>(func_\w+)&#45;&gt;(func_\w+)<\/title>/g), edgesOf(task));
    for (const { output } of task.functions) assertStringIncludes(svg, `>${output.name}</text>`);
  }
});

test("toSvg() shows the target's border, and runs nothing", async () => {
  const svg = await toSvg(TASK);
  assertEquals(svg.match(/stroke-width="3"/g)?.length, 1);
  assertEquals(/<script|\son\w+=|href=/i.test(svg), false);
});

test("toDot(), toMermaid() and toSvg() draw the same task the same way", async () => {
  const again = generateTask(TASK.spec);
  assertEquals(toDot(again), toDot(TASK));
  assertEquals(toMermaid(again), toMermaid(TASK));
  assertEquals(await toSvg(again), await toSvg(TASK));
});
