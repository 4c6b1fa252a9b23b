// The TypeScript of README and docs runs in a copy of the project, and in a project of a user's own beside it. Its types
// are checked by `deno task checks`.

import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { blocksOf, PAGES, shell, textOf, Workplace } from "../support/documents.ts";

const place = await Workplace.make();
Deno.test.beforeEach(() => place.clear());
Deno.test.afterAll(() => place[Symbol.asyncDispose]());

/** Answers requests to servers that are not there by the simulated planner. */
const STAND_IN = `
import { parseSimulatedModel } from "./lib/simulated/_names.ts";
const real = globalThis.fetch;
const planner = parseSimulatedModel("sim:planner");
globalThis.fetch = async (input, init) => {
  const { hostname } = new URL(String(input instanceof Request ? input.url : input));
  if (hostname === "127.0.0.1") return real(input, init);
  return Response.json(planner.reply(await new Response(init.body).json()));
};
`;

/** The TypeScript of a page, and of the example at the top of a module. */
interface Example {
  readonly page: string;
  readonly blocks: readonly string[];
}

// Examples that register tests cannot run within one, as tests/project/examples_test.ts runs all others.
const EXAMPLES: readonly Example[] = [
  ...PAGES.map((page) => ({ page, blocks: blocksOf(page, "ts") })),
  ...["mod.ts", "lib/testing/benchmark.ts"].map((page) => ({
    page,
    blocks: [/```ts ignore\n(.*?)```/s.exec(textOf(page))![1]!.replaceAll(/^ \* ?/gm, "")],
  })),
].filter(({ blocks }) => blocks.length > 0);

/** A page and the paths of its blocks in the copy. */
interface Written {
  readonly name: string;
  readonly paths: readonly string[];
}

/** Writes the blocks of pages into the copy, a file each. */
function writeBlocks(examples: readonly Example[]): Written[] {
  Deno.mkdirSync(`${place.clone}/results`);
  // The copy leaves results/ out of its checks and tests.
  const config = `${place.clone}/deno.json`;
  Deno.writeTextFileSync(config, Deno.readTextFileSync(config).replace('"results/"', '"none/"'));
  return examples.map(({ page, blocks }) => {
    const name = page.replaceAll(/\W+/g, "_");
    const paths = blocks.map((text, index) => {
      const path = `results/${name}_${index + 1}.ts`;
      Deno.writeTextFileSync(`${place.clone}/${path}`, text);
      return path;
    });
    return { name, paths };
  });
}

/** The permissions that the commands of a page give, and those of the stand-in. */
function flagsOf({ page }: Example): string {
  const flags = blocksOf(page, "sh").flatMap((text) => text.match(/--allow-\S+/g) ?? []);
  return [...new Set(["--allow-net=127.0.0.1", ...flags])].sort().join(" ");
}

for (const [flags, examples] of Map.groupBy(EXAMPLES, flagsOf)) {
  Deno.test(`the TypeScript of ${examples.map(({ page }) => page).join(", ")} runs in a clone`, async () => {
    const written = writeBlocks(examples);
    const standIn = `${place.clone}/results/stand_in.ts`;
    Deno.writeTextFileSync(standIn, STAND_IN.replaceAll('"./lib/', '"../lib/'));
    // Each file that is run loads the library anew, so that one has all pages, but for README, whose test goes by the
    // name of another page's.
    const files = Map.groupBy(written, ({ name }) => name === "README_md" ? "readme" : "pages");
    const loaders = [...files].map(([file, own]) => {
      const lines = own.flatMap(({ paths }) => paths).map((path) =>
        `await import("../${path}");\nconsole.log("loaded ${path}");`
      );
      Deno.writeTextFileSync(`${place.clone}/results/${file}.ts`, lines.join("\n"));
      return `results/${file}.ts`;
    });
    const { code, output } = await shell(
      `deno test --no-check --no-prompt --preload=${standIn} ${flags} ${loaders.join(" ")}`,
      place.clone,
    );
    assertEquals(code, 0, output);
    assertStringIncludes(output, " | 0 failed");
    for (const path of written.flatMap(({ paths }) => paths)) {
      assertStringIncludes(output, `loaded ${path}`);
    }
  });
}

Deno.test("docs/commands.md: the deno.json of a user's own project finds the clone, and a test fails there as README shows", async () => {
  const [config] = blocksOf("docs/commands.md", "json");
  const [own, generated] = blocksOf("README.md", "ts");
  const wrong = own!.replace(/(name: "weather", arguments: \{ city: )"Rome"/, '$1"Rome, Georgia"');
  for (
    const [path, text] of [
      ["deno.json", config],
      ["my_benchmark.ts", generated],
      ["right_test.ts", own],
      ["weather_test.ts", wrong],
    ] as const
  ) Deno.writeTextFileSync(`${place.mine}/${path}`, text!);
  const { code, output } = await shell(
    "deno test --no-check --no-prompt my_benchmark.ts right_test.ts weather_test.ts",
    place.mine,
  );
  assertEquals(code, 1, output);
  assertStringIncludes(output, "tool calling > gate ... ok");
  assertStringIncludes(output, "asks for the weather ... ok");
  assertMatch(output, /passed .*\| 1 failed/);
  const shown = blocksOf("README.md", "text").find((text) => text.includes("Georgia"))!;
  assertStringIncludes(output, shown.trim());
  const line = wrong.split("\n").findIndex((text) => text.includes("assertCalled(run")) + 1;
  assertStringIncludes(output, `weather_test.ts:${line}:`);
  const plan = "deno run -A @toolgate/toolgate/cli plan --rate 0.8 --margin 0.05";
  const planned = await shell(plan, place.mine);
  assertEquals(planned.code, 0, planned.output);
  assertStringIncludes(planned.output, "756");
});
