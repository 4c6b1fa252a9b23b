// Hostile texts in Markdown, read by two programs that GitHub has nothing to do with, and by what GitHub does after.

import { assertEquals, assertMatch, assertNotMatch } from "@std/assert";
import { blockText, inlineText } from "../../lib/reports/_markdown_text.ts";
import fc from "../support/fast_check.ts";
import { assertUnlinked, decoded, RENDERERS } from "../support/markdown.ts";

/** Where texts stand in reports, and the elements of a document that has one there. */
const PLACES: Record<string, [(text: string) => string, RegExp]> = {
  heading: [(text) => `# ${blockText(text)}`, /^<h1>(.*)<\/h1>$/s],
  paragraph: [
    (text) => `before\n\n${blockText(text)}\n\nafter`,
    /^<p>before<\/p>(.*)<p>after<\/p>$/s,
  ],
  item: [(text) => `- ${blockText(text)}\n- after`, /^<ul><li>(.*)<\/li><li>after<\/li><\/ul>$/s],
  cell: [
    (text) => `| a | b |\n| --- | ---: |\n| ${inlineText(text)} | c |`,
    /<tbody><tr><td>(.*)<\/td><td align="right">c<\/td><\/tr><\/tbody><\/table>$/s,
  ],
  code: [(text) => `<code>${inlineText(text)}</code>`, /^<p><code>(.*)<\/code><\/p>$/s],
  "bold kind": [
    (text) => `**PASS**: ${inlineText(text)}`,
    /^<p><strong>PASS<\/strong>:(.*)<\/p>$/s,
  ],
};

/** Asserts that a text is shown as it is at every place, and that GitHub finds nothing in it. */
function assertShown(text: string): void {
  for (const [place, [write, frame]] of Object.entries(PLACES)) {
    const markdown = write(text);
    for (const [name, render] of Object.entries(RENDERERS)) {
      const html = render(markdown).replace(/\n(?=<)|(?<=>)\n/g, "").trim();
      const message = `${name}, ${place}: ${JSON.stringify(markdown)} is ${html}`;
      const inside = frame.exec(html)?.[1]?.replace(/^<p>(.*)<\/p>$/s, "$1");
      assertEquals(
        decoded(inside?.replaceAll("<!-- -->", "") ?? "nothing").trim(),
        text.trim(),
        message,
      );
      // No element but those of the frame.
      assertNotMatch(inside!.replaceAll("<!-- -->", ""), /<[a-z/!?]/i, message);
      assertUnlinked(inside!, message);
    }
  }
}

/** What Markdown and GitHub give a meaning to. */
const PIECES = [
  ..."\\`*_{}[]()<>#+-.!|&~$@:=/;,^'\"? ",
  ...[
    "a",
    "Z",
    "7",
    "é",
    "模",
    "__",
    "**",
    "~~",
    "***",
    "---",
    "===",
    "- ",
    "1. ",
    "1) ",
    "    ",
    "```",
  ],
  ...["https://evil.example", "www.evil.example", "ftp://a.b", "me@evil.example", "mailto:a@b.co"],
  ...["@everyone", "@org/team", "#1", "GH-1", "o/r#12", "a@1234567", ":tada:", ":+1:", ":100:"],
  ...["<b>", "</b>", "<!--", "-->", "<?x", "<!X", "<https://a.b>", "&amp;", "&#60;", "&#x3c;"],
  ...[
    "[a](b)",
    "![a](b)",
    "[a]: b",
    "[^1]",
    "[ ] ",
    "[x] ",
    "| --- |",
    "$x$",
    "$1",
    "~5",
    "{{ a }}",
  ],
];

Deno.test("Markdown shows any text as it is, without markup, links, mentions and emoji", () => {
  for (const piece of PIECES) assertShown(piece);
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...PIECES), { maxLength: 8 }), (pieces) => {
      assertShown(pieces.join(""));
    }),
    { numRuns: 300 },
  );
});

Deno.test("Markdown leaves alone what has no meaning where it stands, as people read the source", () => {
  for (
    const text of [
      "sim:noisy?stale=0.1&seed=3 (simulated)",
      "core 3, depth 2: solved",
      "wrong_answer after 3 calls, value_not_yet_known",
      "2026-11-22 16:00:21 UTC",
      "-3,745 and +25.0, -",
      "~1,234 tokens for $0.12, p < 0.05",
      'get_weather({"city": "Paris", "days": 3})!',
    ]
  ) {
    assertEquals(inlineText(text), text);
    assertEquals(blockText(text), text);
  }
  assertEquals(inlineText("_it_ | a_b"), "\\_it\\_ \\| a_b");
  assertEquals(blockText("1. [x](y)"), "1\\. \\[x](y)");
  assertMatch(inlineText("@all #1"), /^@<!-- -->all #<!-- -->1$/);
});
