// What `toolgate init` reads, writes and refuses; tests/e2e/init_test.ts runs what it has written.

import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { parse as parseYaml } from "@std/yaml";
import { folder, ROOT } from "../support/child.ts";
import { toolgate } from "../support/command_line.ts";
import { configOf, contents, write } from "../support/project_files.ts";

Deno.test("toolgate init has types checked where toolgate is written for the options of the project", async () => {
  await using place = await folder();
  write(place, { "other/tsconfig.json": "{}", "git/sub $&'/x": "" });
  Deno.mkdirSync(place.file("git/.git"));
  const made = await toolgate(["init", "new"], { cwd: place.path });
  assertEquals(made.code, 0, made.all);
  const { tasks } = configOf(place.file("new/deno.json"));
  assertEquals(tasks.check.command, "deno check tool_tests/");
  const other = await toolgate(["init", "other"], { cwd: place.path });
  assertStringIncludes(
    other.stdout,
    "left   tsconfig.json: toolgate is not written for it; there ",
  );
  assertEquals(configOf(place.file("other/deno.json")).tasks.check, undefined);
  assertMatch(tasks.test.command, /^deno test --no-check /);
  assertMatch(
    tasks.edit.command,
    /^deno test --watch --no-check .* --allow-write=results,recordings /,
  );
  assertStringIncludes(made.stdout, "\n  cd new\n");
  // The folder of a repository that has the project in a part of it.
  const below = await toolgate(["init", "git/sub $&'"], { cwd: place.path });
  assertStringIncludes(below.stdout, "move .github/workflows/toolgate.yml there");
  // deno-lint-ignore no-explicit-any
  const workflow: any = parseYaml(
    Deno.readTextFileSync(place.file("git/sub $&'/.github/workflows/toolgate.yml")),
  );
  assertEquals(workflow.defaults.run["working-directory"], "sub $&'");
});

Deno.test("toolgate init says what it cannot use, and writes nothing", async (context) => {
  const cases: readonly [name: string, files: Readonly<Record<string, string>>, message: RegExp][] =
    [
      ["a file in its place", { mine: "" }, /mine\/deno\.json: a part of its path is no folder/],
      [
        "a malformed deno.json",
        { "mine/deno.json": `{\n  "tasks": }\n}` },
        /mine\/deno\.json: it is not JSON with comments: .* line 2, column 12/,
      ],
      ["odd imports", { "mine/deno.json": `{ "imports": 1 }` }, /deno\.json:\n {2}at imports: /],
      ["a malformed package.json", { "mine/package.json": "{" }, /package\.json: it is not JSON/],
      [
        "an import map of its own",
        { "mine/deno.json": `{ "importMap": "map.json" }` },
        /imports must be in deno\.json itself: it takes them from map\.json/,
      ],
    ];
  for (const [name, files, message] of cases) {
    await context.step(name, async () => {
      await using place = await folder();
      write(place, files);
      const before = contents(place.path);
      const { code, stdout, stderr, all } = await toolgate(["init", place.file("mine")]);
      assertEquals([code, stdout], [2, ""], all);
      assertMatch(stderr, message);
      assertEquals(contents(place.path), before);
    });
  }
  await context.step("toolgate itself", async () => {
    for (const path of [ROOT, `${ROOT}/docs`]) {
      const { code, stderr, all } = await toolgate(["init", path]);
      assertEquals(code, 2, all);
      assertStringIncludes(stderr, "a project of your own is outside of toolgate");
    }
  });
});

Deno.test("toolgate init keeps comments, indents and lines of Windows in a deno.json that it adds to", async () => {
  await using place = await folder();
  const own =
    `// top\r\n{\r\n\t"imports": {\r\n\t\t"a": "1", // one\r\n\t}, /* b */\r\n\r\n\t// last\r\n}\r\n`;
  write(place, { "deno.json": own });
  assertEquals((await toolgate(["init", place.path])).code, 0);
  const text = Deno.readTextFileSync(place.file("deno.json"));
  for (
    const part of ["// top\r\n{", "// one\r\n", "/* b */\r\n\r\n\t// last\r\n}\r\n", '\t\t"zod": ']
  ) {
    assertStringIncludes(text, part);
  }
  assertEquals(/[^\r]\n|^ /m.test(text), false);
  assertEquals(Object.keys(configOf(place.file("deno.json")).imports), [
    ...["a", "@toolgate/toolgate", "@std/assert", "zod"],
  ]);
});

Deno.test("toolgate init loses no byte of a file it adds to", async () => {
  await using place = await folder();
  const MARK = "\uFEFF";
  write(place, { "a/deno.json": `${MARK}{}\n`, "b/.gitignore": "", "c/deno.json": "" });
  const made = await toolgate(["init", place.file("a")], {});
  assertEquals([made.code, made.stderr], [0, ""], made.all);
  const [byte] = Deno.readFileSync(place.file("a/deno.json"));
  assertEquals(byte, 0xef);
  // A letter of Latin-1.
  for (const name of ["b/.gitignore", "c/deno.json"]) {
    const bytes = new Uint8Array([0x7b, 0x7d, 0x2f, 0x2f, 0xfc, 0x0a]);
    Deno.writeFileSync(place.file(name), bytes);
    const { code, stderr, all } = await toolgate(["init", place.file(name.slice(0, 1))], {});
    assertEquals(code, 2, all);
    assertMatch(stderr, /^Cannot add to .* as its text must be UTF-8: it has other bytes\n$/);
    assertEquals(Deno.readFileSync(place.file(name)), bytes);
  }
});
