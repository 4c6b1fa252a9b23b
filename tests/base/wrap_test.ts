import { assert, assertEquals, assertNotMatch } from "@std/assert";
import stringWidth from "string-width";
import { breakLines, wrapText } from "../../lib/base/wrap.ts";
import fc from "../support/fast_check.ts";

Deno.test("breakLines() keeps every word, and no line is too long", () => {
  const words = fc.array(
    fc.oneof(
      fc.stringMatching(/^[a-z_=/]{1,30}$/),
      fc.constant("日本語のとても長い名前"),
      fc.constant("👩‍👩‍👧‍👧é"),
    ),
    { minLength: 1 },
  );
  fc.assert(fc.property(words, fc.integer({ min: 2, max: 60 }), (parts, width) => {
    const text = parts.join(" ");
    const lines = breakLines(text, width);
    for (const line of lines) assert(stringWidth(line) <= width, JSON.stringify(lines));
    assertEquals(lines.join("").replaceAll(" ", ""), parts.join(""));
  }));
});

Deno.test("wrapText() breaks long lines alone, and indents what goes on", () => {
  assertEquals(
    wrapText("short\n  true rate: at least one half\n(a note of words)", 14),
    ["short", "  true", "      rate: at", "      least", "      one half", "(a note of", " words)"]
      .join("\n"),
  );
  assertEquals(wrapText("a".repeat(500), Infinity), "a".repeat(500));
});

Deno.test("wrapText() makes no command to a CI job of what comes to begin a line", () => {
  const texts = [
    "a ::error::b ".repeat(40),
    `${"x".repeat(70)}_::stop-commands::${"y".repeat(70)}`,
  ];
  for (const text of texts) {
    for (let width = 20; width < 130; width++) {
      assertNotMatch(wrapText(text, width), /^\s*::/m, `${width}`);
    }
  }
});

Deno.test("wrapText() keeps a command whole, on a line of its own", () => {
  const command = "deno task toolgate accept results.jsonl --out 'base line.json'";
  assertEquals(
    wrapText(`INVALID: keep the trials with --out=results.jsonl, then ${command}`, 50),
    `INVALID: keep the trials with\n    --out=results.jsonl, then\n    ${command}`,
  );
});
