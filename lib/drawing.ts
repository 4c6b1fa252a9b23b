/**
 * Drawings of a task's graph: as DOT for Graphviz, as Mermaid, as SVG.
 * @module
 */

import { instance } from "@viz-js/viz";
import type { Role } from "./graph.ts";
import type { Task } from "./task.ts";

/** Colours that stay apart for colour-blind eyes and carry dark text (after Okabe and Ito). */
const FILLS: Readonly<Record<Role, string>> = {
  core: "#9ecbee",
  connected: "#8fd6bd",
  disconnected: "#d9d9d9",
};
const TARGET_LINE = "#d55e00";

/**
 * The graph in Graphviz's language: an edge leads from the function that produces a value to the
 * one that takes it; roles have colours, the target a thick border.
 *
 * @example Usage
 * ```ts
 * import { toDot } from "./drawing.ts";
 * import { generateTask } from "./task.ts";
 * import { assertStringIncludes } from "@std/assert";
 *
 * const spec = { core: 3, depth: 2, connected: 0, disconnected: 0, seed: 7 };
 * assertStringIncludes(toDot(generateTask(spec)), "->");
 * ```
 */
export function toDot(task: Task): string {
  const lines = task.functions.flatMap(({ name, role, output, dependsOn }) => {
    const target = output.name === task.target.variable;
    const border = target ? `, color="${TARGET_LINE}", penwidth=3` : "";
    return [
      `  ${name} [label="${name}\\n${output.name}", fillcolor="${FILLS[role]}"${border}];`,
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

/** The graph as a Mermaid flowchart, which many Markdown viewers draw. */
export function toMermaid(task: Task): string {
  const lines = task.functions.flatMap(({ name, role, output, dependsOn }) => {
    const style = output.name === task.target.variable ? "target" : role;
    return [
      `  ${name}["${name}<br/>${output.name}"]:::${style}`,
      ...dependsOn.map((parent) => `  ${parent} --> ${name}`),
    ];
  });
  const styles = Object.entries(FILLS).map(([role, fill]) =>
    `  classDef ${role} fill:${fill},stroke:#555555,color:#111111`
  );
  return [
    "flowchart TD",
    ...lines,
    ...styles,
    `  classDef target fill:${FILLS.core},stroke:${TARGET_LINE},stroke-width:3px,color:#111111`,
    "",
  ].join("\n");
}

/** The graph as an SVG image, laid out by Graphviz. */
export async function toSvg(task: Task): Promise<string> {
  const viz = await instance();
  return viz.renderString(toDot(task), { format: "svg" });
}
