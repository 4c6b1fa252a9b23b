// Two import maps: the one of deno.json resolves from the npm registry alone, lib/base/std/jsr.json is
// for those who have JSR. They must name the same things.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { globSync } from "node:fs";

type Imports = Readonly<Record<string, string>>;

/** Reads an import map, with its paths from the root as deno.json has them. */
function readImports(path: string): Imports {
  const url = new URL(path, import.meta.url);
  const { imports } = JSON.parse(Deno.readTextFileSync(url));
  const { "@toolgate/toolgate": _, ...rest } = imports as Record<string, string>;
  const root = new URL("../../", import.meta.url).href;
  return Object.fromEntries(
    Object.entries(rest).map(([name, to]) => [name, new URL(to, url).href.replace(root, "./")]),
  );
}

const OWN = readImports("../../deno.json");
const JSR = readImports("../../lib/base/std/jsr.json");
const STANDARD = Object.keys(OWN).filter((name) => name.startsWith("@std/"));

/** The modules that a declaration file declares. */
function declaredIn(path: string): string[] {
  const text = Deno.readTextFileSync(new URL(path, import.meta.url));
  return [...text.matchAll(/^declare module "([^"]+)"/gm)].map(([, name]) => name!);
}

Deno.test("deno.json and lib/base/std/jsr.json have the same names", () => {
  assertEquals(Object.keys(JSR).sort(), Object.keys(OWN).sort());
  assert(STANDARD.length > 0, "deno.json imports nothing of @std");
});

Deno.test("lib/base/std/jsr.json takes @std from JSR, and the rest as deno.json does", () => {
  for (const [name, target] of Object.entries(JSR)) {
    if (!name.startsWith("@std/")) {
      assertEquals(target, OWN[name], name);
      continue;
    }
    const [scope, bundle, ...entry] = name.split("/");
    const version = bundle === "random" ? "^0.1.0" : "^1";
    assertEquals(target, [`jsr:${scope}/${bundle}@${version}`, ...entry].join("/"));
  }
});

Deno.test("nothing imports a part of lib/base/std by its path, so that another map can replace it", () => {
  const root = new URL("../../", import.meta.url).pathname;
  const files = globSync(["{lib,tests,fixtures}/**/*.ts", "mod.ts"], { cwd: root });
  assert(files.includes("lib/base/random.ts"));
  const wrong = files.filter((file) =>
    /(from|import)[ (]*"[./][^"]*\bstd\/random\.ts"/.test(Deno.readTextFileSync(root + file))
  );
  assertEquals(wrong, []);
});

Deno.test("deno.json resolves without JSR", () => {
  for (const [name, target] of Object.entries(OWN)) {
    assertMatch(target, /^(npm:|\.\/lib\/)/, name);
  }
});

Deno.test("deno.json takes one version of the standard library", () => {
  const versions = STANDARD.flatMap((name) =>
    /^npm:deno-std@([^/]+)\//.exec(OWN[name]!)?.slice(1) ?? []
  );
  assertEquals(new Set(versions).size, 1, versions.join(", "));
});

Deno.test("lib/base/std/types.d.ts declares every module that comes from the untyped npm copy", () => {
  const untyped = STANDARD.filter((name) => OWN[name]!.startsWith("npm:deno-std@"));
  assertEquals(declaredIn("../../lib/base/std/types.d.ts").sort(), untyped.sort());
});

Deno.test("lib/base/std/types.d.ts is in force", () => {
  const { compilerOptions } = JSON.parse(
    Deno.readTextFileSync(new URL("../../deno.json", import.meta.url)),
  );
  assert(compilerOptions.types.includes("./lib/base/std/types.d.ts"));
});
