/**
 * Markdown as its readers see it: made HTML by two programs that know GitHub's form of it.
 * @module
 */

import { assertEquals, assertNotMatch } from "@std/assert";
import { marked } from "marked";
import { micromark } from "micromark";
import { gfm, gfmHtml } from "micromark-extension-gfm";

/** Programs that make HTML of Markdown. */
export const RENDERERS: Readonly<Record<string, (markdown: string) => string>> = {
  micromark: (markdown) =>
    micromark(markdown, {
      allowDangerousHtml: true,
      extensions: [gfm()],
      htmlExtensions: [gfmHtml()],
    }),
  marked: (markdown) => marked.parse(markdown, { gfm: true, async: false }),
};

/** Returns Markdown without its escapes: the characters that a reader sees, beside marks of headings and cells. */
export function unescaped(markdown: string): string {
  return markdown.replaceAll("<!-- -->", "").replace(
    /\\([!-/:-@[-`{-~])|&#(\d+);/g,
    (_, character, code) => character ?? String.fromCodePoint(Number(code)),
  );
}

const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"' };

/** Returns text of HTML with the characters that its entities stand for. */
export function decoded(html: string): string {
  return html.replace(
    /&(?:(amp|lt|gt|quot)|#(\d+));/g,
    (_, name, code) => name === undefined ? String.fromCodePoint(Number(code)) : ENTITIES[name]!,
  );
}

/** Asserts that GitHub, which looks at each text between elements and comments, makes no link or emoji of one. */
export function assertUnlinked(html: string, message: string): void {
  for (const text of html.split(/<!--.*?-->|<\/?[a-z][^>]*>/i).map(decoded)) {
    assertNotMatch(
      text,
      /@\w|#\d|(?<![a-z\d])GH-\d|:\/\/|(?<![a-z\d])www\.|\w@[\w.-]+\.\w/i,
      message,
    );
    // No emoji has another name without letters.
    assertNotMatch(text, /:(?:[\w+-]*[a-z][\w+-]*|[+-]1|100|1234):/i, message);
  }
}

/** The elements of reports. */
const ELEMENTS = "blockquote br code h1 h2 h3 h4 li p strong table tbody td th thead tr ul".split(
  " ",
);

/** Asserts that a report has no elements but those of reports, no attributes but those of cells, and no links. */
export function assertInert(markdown: string): void {
  for (const [name, render] of Object.entries(RENDERERS)) {
    const html = render(markdown);
    for (const [tag, element, rest] of html.matchAll(/<\/?([a-z][\w-]*)([^>]*)>/gi)) {
      assertEquals([ELEMENTS.includes(element!), tag], [true, tag], name);
      assertEquals(/^(| \/| align="right")$/.test(rest!), true, `${name}: ${tag}`);
    }
    assertNotMatch(html.replaceAll("<!-- -->", ""), /<[!?]/, name);
    assertUnlinked(html, name);
  }
}
