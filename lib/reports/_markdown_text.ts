/**
 * Text in Markdown: escapes what would become markup, a link or a mention on GitHub, and nothing else, as people
 * read the source too.
 * @module
 */

/**
 * A comment between two characters. GitHub looks for addresses, mentions, issues and emoji after it has read
 * backslashes and entities: neither `\@name` nor `&#64;name` keeps it from finding a mention, and this does.
 *
 * @see https://github.com/github/cmark-gfm/issues/181
 */
const GAP = "<!-- -->";

/** What is escaped; `_` within a word and one `~` or `$` before a number, which open and close nothing, are not. */
const SPECIAL = new RegExp(
  [
    // An address or a mention, an issue, the address of a page, and emoji, some of which are named by numbers.
    /@(?=[\w.+-])|#(?=\d)|GH-(?=\d)|:(?=\/\/)|www(?=\.)/,
    /:(?=[\w+-]*[a-z][\w+-]*:|[+-]1:|100:|1234:)/,
    // What begins code, emphasis, a link, a cell, an element, an entity, and a placeholder of a template.
    /[\\`*[|]|<(?=[a-z/!?])|&(?=#?\w+;)|\{(?=[{%])/,
    /(?<![\p{L}\p{N}_])_+|_+(?![\p{L}\p{N}_])|(?<=\S)[~$]|[~$](?!\d)/u,
  ].map(({ source }) => source).join("|"),
  "giu",
);

/** Escapes a text within a line, such as a cell of a table. */
export function inlineText(text: string): string {
  return text.replace(SPECIAL, (part) => {
    if (/[@#:a-z]/i.test(part)) return part + GAP;
    // Pages are made, and formulas found, before backslashes are read.
    return /[{$]/.test(part)
      ? `&#${part.charCodeAt(0)};`
      : part.replaceAll(/./g, (character) => `\\${character}`);
  });
}

/** Escapes a text that begins a line: a heading, a paragraph or the item of a list. */
export function blockText(text: string): string {
  return inlineText(text)
    .replace(/#(?=#*\s*$)/g, "\\#")
    .replace(/^(?=[#>]|[+-](?:[\s-]|$))/, "\\")
    .replace(/^(\d{1,9})(?=[.)](?:\s|$))/, "$1\\")
    .replace(/^\s/, (space) => `&#${space.charCodeAt(0)};`);
}
