/**
 * Graph drawings: a task's graph as DOT for Graphviz, or as SVG.
 * @module
 */

import type { Role } from "../../tasks/graphs/graph.ts";
import type { Task } from "../../tasks/graphs/task.ts";
import { outputsOf, type TaskFunction } from "../../tasks/graphs/wording.ts";

/** Colours that colour-blind readers can distinguish and that suit dark text (after Okabe and Ito). */
const FILLS: Readonly<Record<Role, string>> = {
  core: "#9ecbee",
  connected: "#8fd6bd",
  disconnected: "#d9d9d9",
};
const TARGET_LINE = "#d55e00";

/**
 * Returns the graph in Graphviz's language: an edge leads from the function that produces a value to the
 * one that takes it; roles have colours, the target a thick border.
 */
export function toDot(task: Task): string {
  const lines = task.functions.flatMap((fn) => {
    const { name, role, dependsOn } = fn;
    const border = isTarget(fn, task) ? `, color="${TARGET_LINE}", penwidth=3` : "";
    return [
      `  ${name} [label="${labelOf(fn)}", fillcolor="${FILLS[role]}"${border}];`,
      ...dependsOn.map((parent) => `  ${parent} -> ${name};`),
    ];
  });
  return [
    "digraph task {",
    '  graph [rankdir=TB, fontname="Helvetica", bgcolor="transparent"];',
    '  node [shape=box, style="rounded,filled", fontname="Helvetica", fontsize=11, ' +
    'fontcolor="#111111", color="#555555"];',
    '  edge [color="#777777"];',
    ...lines,
    "}",
    "",
  ].join("\n");
}

/** The label of a function: its name, then each variable that it produces on a line of its own. */
function labelOf(fn: TaskFunction): string {
  return [fn.name, ...outputsOf(fn).map(({ name }) => name)].join("\\n");
}

/** Whether a function produces the variable asked for. */
function isTarget(fn: TaskFunction, { target }: Task): boolean {
  return outputsOf(fn).some(({ name }) => name === target.variable);
}

/** Returns the graph as an SVG image, laid out by Graphviz. */
export async function toSvg(task: Task): Promise<string> {
  return await dotToSvg(toDot(task));
}

/** Lays out a graph in Graphviz's language as an SVG image. */
export async function dotToSvg(dot: string): Promise<string> {
  // Loaded on first use: Graphviz is large, and most runs draw nothing.
  const { instance } = await import("@viz-js/viz");
  const viz = await instance();
  return viz.renderString(dot, { format: "svg" });
}
