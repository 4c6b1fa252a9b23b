// What `toolgate init` reads, writes and refuses; tests/e2e/init_test.ts runs what it has written.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { parse as parseYaml } from "@std/yaml";
import { folder, ROOT } from "../support/child.ts";
import { toolgate } from "../support/command_line.ts";
import { configOf, contents, write } from "../support/project_files.ts";

Deno.test("toolgate init has types checked in a new deno.json, whatever tsconfig.json says", async () => {
  await using place = await folder();
  write(place, { "new/tsconfig.json": "{}", "git/sub/x": "" });
  Deno.mkdirSync(place.file("git/.git"));
  const made = await toolgate(["init", "new"], { cwd: place.path });
  assertEquals(made.code, 0, made.all);
  const { compilerOptions, tasks } = configOf(place.file("new/deno.json"));
  assertEquals(compilerOptions, { strict: true });
  assertEquals(tasks.check.command, "deno check tool_tests/");
  assertMatch(tasks.test.command, /^deno test --no-check /);
  assertMatch(
    tasks.edit.command,
    /^deno test --watch --no-check .* --allow-write=results,recordings /,
  );
  assertStringIncludes(made.stdout, "\n  cd new\n");
  // The folder of a repository that has the project in a part of it.
  const below = await toolgate(["init", "git/sub"], { cwd: place.path });
  assertStringIncludes(below.stdout, "move .github/workflows/toolgate.yml there");
  // deno-lint-ignore no-explicit-any
  const workflow: any = parseYaml(
    Deno.readTextFileSync(place.file("git/sub/.github/workflows/toolgate.yml")),
  );
  assertEquals(workflow.defaults.run["working-directory"], "sub");
});

Deno.test("toolgate init writes nothing where it cannot write all", async (context) => {
  const cases: readonly [
    name: string,
    files: Readonly<Record<string, string>>,
    links: Readonly<Record<string, string>>,
    message: RegExp,
  ][] = [
    ["a file in its place", { mine: "" }, {}, /mine as it must be a folder: there is a file/],
    ["a file on its way", { "mine/tool_tests": "" }, {}, /tool_tests must be a folder: it is a f/],
    ["a folder in a file's place", { "mine/deno.json/x": "" }, {}, /deno\.json must be a file/],
    ["a link to a file", { "mine/x": "" }, { "mine/deno.json": "x" }, /deno\.json must not be a l/],
    ["a link that leads nowhere", { "mine/x": "" }, { "mine/.gitignore": "y" }, /must not be a li/],
    ["a link to a folder", { "mine/x": "" }, { "mine/.github": ".." }, /\.github must not be a li/],
    [
      "a malformed deno.json",
      { "mine/deno.json": `{\n  "tasks": }\n}` },
      {},
      /mine\/deno\.json: it is not JSON with comments: .* line 2, column 12/,
    ],
    [
      "two tasks",
      { "mine/deno.json": `{ "tasks": {}, "tasks": {} }` },
      {},
      /each key of deno\.json must be there once: "tasks" is there twice/,
    ],
    ["odd imports", { "mine/deno.json": `{ "imports": 1 }` }, {}, /deno\.json:\n {2}at imports: /],
    ["a malformed package.json", { "mine/package.json": "{" }, {}, /package\.json: it is not JSON/],
    [
      "an import map of its own",
      { "mine/deno.json": `{ "importMap": "map.json" }` },
      {},
      /imports must be in deno\.json itself: it takes them from map\.json/,
    ],
    [
      "a member of Deno's workspace",
      { "deno.json": `{ "workspace": ["./mi*"] }`, "mine/x": "" },
      {},
      /only the root of a workspace .*: it is a member of .*\/deno\.json; set that up: .* init /,
    ],
    [
      "a member of npm's workspace",
      { "package.json": `{ "workspaces": ["mine"] }`, "mine/x": "" },
      {},
      /only the root of a workspace .*: it is a member of .*\/package\.json/,
    ],
  ];
  for (const [name, files, links, message] of cases) {
    await context.step(name, async () => {
      await using place = await folder();
      write(place, files);
      for (const [path, target] of Object.entries(links)) {
        Deno.symlinkSync(target, place.file(path));
      }
      const before = contents(place.path);
      const { code, stdout, stderr, all } = await toolgate(["init", place.file("mine")]);
      assertEquals([code, stdout], [2, ""], all);
      assertMatch(stderr, message);
      assert(stderr.trimEnd().split("\n").length <= 3, all);
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
  await context.step("the system refuses the last file", async () => {
    await using place = await folder();
    const mine = place.file("mine");
    const { openSync } = Deno;
    Deno.openSync = (path, options) => {
      if (String(path).includes(".gitignore.")) throw new Deno.errors.PermissionDenied("no");
      return openSync(path, options);
    };
    try {
      const { code, stderr, all } = await toolgate(["init", mine]);
      assertEquals(code, 2, all);
      assertMatch(stderr, /^Cannot write .*\.gitignore: the system does not permit it/);
    } finally {
      Deno.openSync = openSync;
    }
    assertEquals(place.names(), []);
  });
});

Deno.test({
  name: "toolgate init keeps the permissions of files it adds to, and leaves a read-only one",
  ignore: Deno.build.os === "windows",
  async fn() {
    await using place = await folder();
    write(place, { "a/deno.json": "{}\n", "b/deno.json": "{}\n" });
    Deno.chmodSync(place.file("a/deno.json"), 0o600);
    Deno.chmodSync(place.file("b/deno.json"), 0o444);
    const made = await toolgate(["init", place.file("a")], {});
    assertEquals([made.code, made.stderr], [0, ""], made.all);
    assertEquals(Deno.statSync(place.file("a/deno.json")).mode! & 0o777, 0o600);
    const locked = await toolgate(["init", place.file("b")], {});
    assertEquals(locked.code, 2, locked.all);
    assertStringIncludes(locked.stderr, "deno.json must be writable: it is read-only");
    assertEquals(contents(place.file("b")), { "deno.json": "{}\n" });
  },
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

Deno.test({
  name: "toolgate init tells of a folder of the system that it may not look at",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const { code, stderr, all } = await toolgate(["init", "/proc/x"]);
    assertEquals(code, 2, all);
    assertMatch(stderr, /^Cannot set up \/proc\/x: .*\n$/);
  },
});

Deno.test("toolgate init shows no key of a task, and names any folder as it is", async () => {
  await using place = await folder();
  const task = "OPENAI_API_KEY=sk-proj-abcdefghijklmnopqrstuvwx1 deno test";
  write(place, { "x$&'y/deno.json": JSON.stringify({ tasks: { test: task } }), ".git/HEAD": "" });
  const made = await toolgate(["init", place.file("x$&'y")], {});
  assertEquals(made.code, 0, made.all);
  assertStringIncludes(made.stdout, "it is OPENAI_API_KEY=[redacted] deno test");
  const workflow = Deno.readTextFileSync(place.file("x$&'y/.github/workflows/toolgate.yml"));
  assertStringIncludes(workflow, `working-directory: "x$&'y"\n`);
});
