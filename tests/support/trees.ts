/**
 * Trees of a report's page, read back: what tests ask of them.
 */

import type { EventView } from "../../lib/reports/page/_event_view.ts";
import type { Tree } from "../../lib/reports/page/_tree.ts";

/** The elements of a tree with this name or class, in order. */
export function elementsOf(tree: Tree | undefined, selector: string): Tree[] {
  if (!Array.isArray(tree)) return [];
  const [kind] = tree;
  const own = typeof kind === "string" && kind.split(/[. ]/).includes(selector) ? [tree] : [];
  return [...own, ...tree.flatMap((inner: Tree) => elementsOf(inner, selector))];
}

/** The text of a tree, without the names of its elements. */
export function textOf(tree: Tree | undefined): string {
  if (typeof tree !== "object") return tree || "";
  if ("json" in tree) return JSON.stringify(tree.json, undefined, 2);
  const [kind, ...content] = tree;
  return (typeof kind === "string" ? content : tree).map(textOf).join("");
}

/** The texts of the elements with this name or class. */
export function textsOf(tree: Tree | undefined, selector: string): string[] {
  return elementsOf(tree, selector).map(textOf);
}

/** The kind of an event, its title and its text; a call has none. */
export function readEvent({ item, step }: EventView): [string, string, string | false] {
  const [kind, title, text] = item as [string, Tree, Tree];
  return step === undefined
    ? [kind.replace("li.", ""), textOf(title), textOf(text)]
    : ["call", textOf(title).trim(), false];
}

/** What a page shows of a call. */
export function readCall({ item }: EventView) {
  const [[kind, title, name, notes, [, given, , returned], ...more]] = [
    item as [string, Tree, Tree, Tree, [string, [string, ...Tree[]], Tree, Tree], ...Tree[]],
  ];
  const inputs = given.slice(1).filter((input) => elementsOf(input, "span").length > 0);
  return {
    title: textOf(title),
    function: textOf(name),
    notes: textOf(notes).trim(),
    /** The role of its function, if it has one, and its result. */
    kinds: kind.replace("li.", ""),
    /** The inputs; what is wrong with one follows it. */
    inputs: inputs.map((input) =>
      [...textsOf(input, "value"), ...textsOf(input, "why")] as [string, string?]
    ),
    /** The arguments as they were written; omitted if their inputs are shown. */
    written: inputs.length === 0 ? textOf(given) : undefined,
    returned: textOf(returned),
    unperturbed: textsOf(more, "value")[0],
    why: textsOf(more, "why")[0],
    parameters: textsOf(more, "parameter"),
  };
}
