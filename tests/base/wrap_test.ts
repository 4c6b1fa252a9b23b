import { assert, assertEquals } from "@std/assert";
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
