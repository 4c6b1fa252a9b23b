// What a registry would get: the check that Deno makes without one, and a run from those files alone.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { deno, folder, ROOT } from "../support/child.ts";
import { copy } from "../support/ci.ts";
import { PACKAGE, tarball } from "../support/project_files.ts";

Deno.test("deno publish takes what users need, finds no fault in it, and `run` works from that alone", async () => {
  // `deno check` has the types. Without a check of them it still finds slow types and modules that are left out.
  const { code, stdout, stderr, all } = await deno([
    ...["publish", "--dry-run", "--allow-dirty", "--no-check"],
  ]);
  assertEquals(code, 0, all);
  assertStringIncludes(stdout + stderr, "Dry run complete", all);
  const paths = [...(stdout + stderr).matchAll(/^ +file:\/\/(\S+) \(/gm)].map(([, path]) =>
    decodeURIComponent(path!).slice(ROOT.length + 1)
  );
  const others = paths.filter((path) => !path.startsWith("lib/"));
  assertEquals(others.sort(), [
    "CHANGELOG.md",
    "LICENSE",
    "README.md",
    "deno.json",
    "fixtures/project/chains_test.txt",
    "fixtures/project/github.yml",
    "fixtures/project/github_npm.yml",
    "fixtures/project/gitignore",
    "fixtures/project/runners.json",
    "fixtures/project/tool_tests/benchmark.ts",
    "fixtures/project/tool_tests/weather_test.ts",
    "fixtures/suites/quick.jsonc",
    "fixtures/suites/schema.json",
    "mod.ts",
  ]);
  assert(paths.length > 300, "most of lib/ is left out");

  await using place = await folder();
  for (const path of paths) copy(`${ROOT}/${path}`, place.file(`package/${path}`));
  const ran = await deno([
    ...["run", "--no-check", "--no-lock", "--no-prompt", "--allow-read"],
    ...[place.file("package/lib/cli/main.ts"), "run", "--shard", "1/20"],
  ], { cwd: place.path });
  assertEquals(ran.code, 0, ran.all);
  assertStringIncludes(ran.stderr, "package/fixtures/suites/quick.jsonc");
  Deno.writeFileSync(place.file("package.tgz"), tarball(PACKAGE));
  const made = await deno([
    ...["run", "--no-check", "--no-lock", "--no-prompt", `--allow-read=${place.path}`],
    ...[`--allow-write=${place.file("mine")}`, place.file("package/lib/cli/main.ts")],
    ...["init", place.file("mine"), "--from", place.file("package.tgz")],
  ]);
  assertEquals(made.code, 0, made.all);
});
