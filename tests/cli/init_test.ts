// What `toolgate init` reads, writes and refuses; tests/e2e/init_test.ts runs what it has written.

import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { parse as parseYaml } from "@std/yaml";
import { gunzipSync, gzipSync } from "node:zlib";
import { folder, ROOT } from "../support/child.ts";
import { toolgate } from "../support/command_line.ts";
import { configOf, contents, LINKED, PACKAGE, tarball, write } from "../support/project_files.ts";

Deno.test("toolgate init keeps the package, and makes tests for the runner that a project has", async () => {
  await using place = await folder();
  const from = ["--from", place.file("package.tgz")];
  Deno.writeFileSync(from[1]!, tarball(PACKAGE));
  write(place, {
    "vitest/package.json": `{ "scripts": { "test": "mine" }, "dependencies": { "vitest": "4" } }`,
    "node/package.json": `{ "type": "module", "dependencies": { "zod": "^4.1.0" } }`,
    "commonjs/package.json": `{ "devDependencies": { "zod": "^3.25.0" } }`,
    "bun/package.json": "{}",
    "bun/bun.lock": "",
    "pnpm/package.json": `{ "dependencies": { "@toolgate/toolgate": "1" }, "type": "module" }`,
    "pnpm/deno.json": "{}",
    "pnpm/pnpm-lock.yaml": "",
    "deno/deno.json": `{ "links": ["../a"], "exclude": ["b"], "nodeModulesDir": "manual" }`,
    "git/sub $&'/x": "",
  });
  Deno.mkdirSync(place.file("git/.git"));
  /** The files that it writes beside those which all have, and what it says to do first. */
  const made = async (name: string) => {
    const { code, all, stdout } = await toolgate(["init", name, ...from], { cwd: place.path });
    assertEquals(code, 0, all);
    const files = [...stdout.matchAll(/^wrote {2}((?:tool_tests|vendor).*)/gm)];
    const first = stdout.split("Next:\n")[1]!.split("\n").slice(1, 3)
      .map((line) => line.trim().replace(/ {2}.*/, ""));
    return [...files.map(([, file]) => file), first.join(", ")];
  };
  const tgz = "vendor/toolgate-0.3.0.tgz";
  const [weather, bench] = ["tool_tests/weather.test.ts", "tool_tests/benchmark.ts"];
  for (const [name, by] of [["node", "npm"], ["bun", "bun"], ["pnpm", "pnpm"]] as const) {
    assertEquals(await made(name), [tgz, weather, bench, `${by} install, ${by} run test`]);
  }
  assertEquals(await made("vitest"), [
    ...[
      tgz,
      weather,
      "tool_tests/benchmark.ts",
      "tool_tests/benchmark.config.ts",
      "npm install, npm run toolgate:test",
    ],
  ]);
  assertEquals(await made("commonjs"), [
    ...[
      tgz,
      "tool_tests/weather.test.mts",
      "tool_tests/benchmark.mts",
      "npm install, npm run test",
    ],
  ]);
  const deno = ["vendor/toolgate/", "tool_tests/weather_test.ts", bench];
  assertEquals(await made("deno"), [...deno, "deno install, deno task test"]);
  assertEquals(await made("new"), [...deno, "deno task test, deno task edit"]);
  // A second time nothing is written.
  assertEquals(await made("deno"), ["deno install, deno task test"]);

  const file = (name: string) => Deno.readTextFileSync(place.file(name));
  const own = configOf(place.file("commonjs/package.json"));
  assertEquals(own.devDependencies, {
    ...{ zod: "^3.25.0", "@toolgate/toolgate": `file:${tgz}`, zod4: "npm:zod@^4.6.7" },
  });
  assertEquals(own.scripts.test, 'node --test "tool_tests/*.test.mts"');
  assertStringIncludes(file("commonjs/tool_tests/weather.test.mts"), 'from "zod4"');
  assertEquals(Deno.readFileSync(place.file(`node/${tgz}`)), tarball(PACKAGE));
  assertStringIncludes(file("bun/.github/workflows/toolgate.yml"), "run: npx --yes bun run bench");
  assertEquals(file("new/vendor/toolgate/lib/mod.js"), PACKAGE["0package/lib/mod.js"]);
  const { links, exclude, imports } = configOf(place.file("deno/deno.json"));
  assertEquals([links, exclude], [["../a", "./vendor/toolgate"], ["b", "vendor/"]]);
  assertEquals(imports["@toolgate/toolgate"], "npm:@toolgate/toolgate@^0.3.0");
  assertEquals(configOf(place.file("new/deno.json")).nodeModulesDir, "auto");
  assertEquals(file("new/.gitignore"), "/coverage/\n/results/\n/node_modules/\n");

  // The folder of a repository that has the project in a part of it.
  const below = await toolgate(["init", "git/sub $&'", ...from], { cwd: place.path });
  assertStringIncludes(below.stdout, "move .github/workflows/toolgate.yml there");
  // deno-lint-ignore no-explicit-any
  const workflow: any = parseYaml(file("git/sub $&'/.github/workflows/toolgate.yml"));
  assertEquals(workflow.defaults.run["working-directory"], "sub $&'");
  assertEquals(workflow.jobs.toolgate.steps.at(-1).with.path, "sub $&'/results/");
});

Deno.test("toolgate init says what it cannot use, and writes nothing", async (context) => {
  const cases: readonly [name: string, files: Readonly<Record<string, string>>, message: RegExp][] =
    [
      ["a file in its place", { mine: "" }, /mine\/package\.json: a part of its path is no folder/],
      ["no package", {}, /as no registry has the package yet: run deno task package in a clone/],
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
  const { "0package/package.json": _, ...others } = PACKAGE;
  const odd = [
    ...["0package/../../a", "0/etc/a", "0../a/b", "0package/a\\..\\b", "0package", "0package//a"],
    ...["2package/link", "0package/C:a"],
  ];
  const packages: readonly (readonly [string, Uint8Array | undefined, message: RegExp])[] = [
    ["no file", undefined, /Cannot use .*from as it must be, or have, the package toolgate-0/],
    ["a text", new TextEncoder().encode("text"), /it is not gzipped/],
    ["no archive", gzipSync("text"), /it is cut short, or is no tar archive/],
    ["half of one", gzipSync(gunzipSync(tarball(PACKAGE)).subarray(0, 1200)), /it is cut short/],
    ["another one", tarball(others), /package\.json is not that of @toolgate\/toolgate/],
    ...odd.map((name) =>
      [name, tarball({ ...PACKAGE, [name]: "" }), /is no file within its folder/] as const
    ),
  ];
  for (const [name, bytes, message] of packages) {
    await context.step(`a package that is ${name}`, async () => {
      await using place = await folder();
      if (bytes !== undefined) Deno.writeFileSync(place.file("from"), bytes);
      const line = ["init", place.file("mine"), "--from", place.file("from")];
      const { code, stderr, all } = await toolgate(line);
      assertEquals([code, stderr.trimEnd().split("\n").length], [2, 1], all);
      assertMatch(stderr, message);
      assertEquals(place.names(), bytes === undefined ? [] : ["from"]);
    });
  }
  await context.step("a folder without a package", async () => {
    await using place = await folder();
    const { code, stderr } = await toolgate(["init", place.file("mine"), "--from", place.path]);
    assertEquals(code, 2);
    assertMatch(
      stderr,
      /^Cannot use .* as it must be, or have, the package toolgate-0\.2\.0\.tgz: .*\n$/,
    );
  });
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
    `// top\r\n{\r\n\t"imports": {\r\n\t\t"@toolgate/toolgate": "1", // one\r\n\t}, /* b */\r\n\r\n\t// last\r\n}\r\n`;
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
    ...["@toolgate/toolgate", "@std/assert", "zod"],
  ]);
});

Deno.test("toolgate init loses no byte of a file it adds to", async () => {
  await using place = await folder();
  const MARK = "\uFEFF";
  write(place, {
    ...{ "a/deno.json": `${MARK}${LINKED}\n`, "b/.gitignore": "", "b/deno.json": LINKED },
    "c/deno.json": "",
  });
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
