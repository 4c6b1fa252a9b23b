/**
 * Drawings of the graph of a set of tools, as DOT for Graphviz, or as SVG: an arrow leads from a tool to
 * each type of ids that it returns, and from a type to each tool that takes it.
 * @module
 */

import type { ToolGraph } from "../../chains/graph.ts";
import { dotToSvg } from "./graph_drawing.ts";

/** An arrow of the drawing, between names of nodes. */
type Arrow = readonly [from: string, to: string];

/** What is drawn: names and labels of tools and types that are linked, and the arrows between them. */
function drawn({ nodes, types }: ToolGraph) {
  const typeIds = new Map([...types.keys()].map((name, place) => [name, `type${place}`]));
  const tools: [id: string, label: string][] = [];
  const arrows: Arrow[] = [];
  for (const [place, [name, { takes, records }]] of [...nodes].entries()) {
    const id = `tool${place}`;
    const taken = takes.flatMap(({ role, type = "" }) => role === "id" ? typeIds.get(type)! : []);
    const given = records.flatMap(({ type, of }) => "argument" in of ? [] : typeIds.get(type)!);
    if (taken.length + given.length === 0) continue;
    tools.push([id, name]);
    arrows.push(...[...new Set(taken)].map((type): Arrow => [type, id]));
    arrows.push(...[...new Set(given)].map((type): Arrow => [id, type]));
  }
  return { tools, types: [...typeIds].map(([name, id]) => [id, name] as const), arrows };
}

/** Returns the graph in Graphviz's language. */
export function toolGraphToDot(graph: ToolGraph): string {
  const { tools, types, arrows } = drawn(graph);
  return [
    "digraph tools {",
    '  graph [rankdir=LR, fontname="Helvetica", bgcolor="transparent"];',
    '  node [style="filled", fontname="Helvetica", fontsize=11, fontcolor="#111111", color="#555555"];',
    '  edge [color="#777777"];',
    ...tools.map(([id, label]) =>
      `  ${id} [label=${quoted(label)}, shape=box, fillcolor="#9ecbee"];`
    ),
    ...types.map(([id, label]) =>
      `  ${id} [label=${quoted(label)}, shape=ellipse, fillcolor="#f3e3b3"];`
    ),
    ...arrows.map(([from, to]) => `  ${from} -> ${to};`),
    "}",
    "",
  ].join("\n");
}

/** Returns the graph as an SVG image, laid out by Graphviz. */
export async function toolGraphToSvg(graph: ToolGraph): Promise<string> {
  return await dotToSvg(toolGraphToDot(graph));
}

/** A label that ends neither its quotes nor its line: names of tools and entities are whatever a document says. */
function quoted(label: string): string {
  return `"${label.replaceAll(/[^\p{L}\p{N}\p{Zs}_.-]/gu, "_")}"`;
}
