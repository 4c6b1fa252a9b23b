/**
 * Trees: parts of a page as data, of which its script makes elements and text nodes.
 * @module
 */

/**
 * A text; a value that the page's script writes as JSON; an element, which begins with its name and, after a dot, its
 * classes, and goes on with what it holds; or several of these. What is `false` is left out.
 */
export type Tree = string | false | { readonly json: unknown } | readonly Tree[];

/** Returns a part that is folded behind its name. */
export function folded(name: string, ...content: readonly Tree[]): Tree {
  return ["details", ["summary", name], ...content];
}
