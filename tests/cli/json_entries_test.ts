import { assertEquals } from "@std/assert";
import { addEntries } from "../../lib/cli/json_entries.ts";

/** What becomes of a text to which `{ "imports": { "zod": "4" } }` is added, and then `"links": ["../x"]`. */
const TABLE: readonly [name: string, before: string, after: string][] = [
  ["an empty object", `{}\n`, `{\n  "imports": {\n    "zod": "4"\n  },\n  "links": ["../x"]\n}\n`],
  [
    "an empty object with a comment",
    `{\n\t// mine\n}`,
    `{\n\t// mine\n\t"imports": {\n\t\t"zod": "4"\n\t},\n\t"links": ["../x"]\n}`,
  ],
  [
    "comments behind the last entries, and commas",
    `// top\n{\n    "imports": {\n        "a": "1", // one\n        // end\n    }, /* b */\n\n    // last\n}\n`,
    `// top\n{\n    "imports": {\n        "a": "1", // one\n        "zod": "4",\n        // end\n    }, /* b */\n` +
    `    "links": ["../x"],\n\n    // last\n}\n`,
  ],
  [
    "a comment behind an entry without a comma",
    `{\n  "imports": {\n    "a": "1" // one\n  }, "tasks": { "t": "x" }\n}`,
    `{\n  "imports": {\n    "a": "1", // one\n    "zod": "4"\n  }, "tasks": { "t": "x" },\n  "links": ["../x"]\n}`,
  ],
  [
    "one line",
    `{ "imports": { "a": "1" }, "links": ["a",] }`,
    `{ "imports": { "a": "1",\n  "zod": "4"\n}, "links": ["a",\n  "../x"\n] }`,
  ],
  [
    "lines of Windows",
    `{\r\n  "links": [\r\n    "a"\r\n  ]\r\n}\r\n`,
    `{\r\n  "links": [\r\n    "a",\r\n    "../x"\r\n  ],\r\n  "imports": {\r\n    "zod": "4"\r\n  }\r\n}\r\n`,
  ],
];

for (const [name, before, after] of TABLE) {
  Deno.test(`addEntries() keeps all that is there: ${name}`, () => {
    const imported = addEntries(before, ["imports"], { zod: "4" });
    const added = before.includes("links")
      ? addEntries(imported, ["links"], { 1: "../x" })
      : addEntries(imported, [], { links: ["../x"] });
    assertEquals(added, after);
  });
}
