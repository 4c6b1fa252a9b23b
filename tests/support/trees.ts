/**
 * Trees of a report's page, read back: what tests ask of them.
 */

import type { CallView, EventView } from "../../lib/reports/page/_event_view.ts";
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
export function readEvent(event: EventView): [string, string, string | false] {
  return "call" in event
    ? ["call", `call ${event.call}, step ${event.step}`, false]
    : [event.kind, event.title, event.text];
}

/** What a page shows of a call. */
export function readCall(call: CallView) {
  const { role, note, state, did, inputs = [], parameters, ...more } = call;
  const listed = (...texts: (string | undefined)[]) => texts.filter(Boolean).join(", ");
  return {
    ...more,
    title: listed(`call ${call.call}, step ${call.step}`, did),
    function: call.name,
    notes: listed(role, note),
    kinds: [role, state].filter(Boolean).join(" "),
    /** The inputs; what is wrong with one follows it. */
    inputs: inputs.map(([name, value, ...why]) =>
      [`${name} = ${value}`, ...why] as [string, string?]
    ),
    parameters: textsOf(parameters, "parameter"),
  };
}
