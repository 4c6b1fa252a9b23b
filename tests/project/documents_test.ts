// Every code block of README and docs runs, in a copy of the project beside a project of a user's own; their
// commands have a file of their own, tests/e2e/documents_commands_test.ts.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { Connections } from "../../lib/models/connect.ts";
import { describeTrial } from "../../lib/reports/story.ts";
import { flagsAt } from "../../lib/runs/flags.ts";
import { runTrial } from "../../lib/trials/run_trial.ts";
import { parseTrialId } from "../../lib/trials/trial_id.ts";
import { ROOT } from "../support/child.ts";
import { toolgates } from "../support/command_line.ts";
import { blocksOf, PAGES, shell, textOf, unchecked, Workplace } from "../support/documents.ts";
import { testNames } from "../support/test_names.ts";

const place = await Workplace.make();
Deno.test.beforeEach(() => place.clear());
Deno.test.afterAll(() => place[Symbol.asyncDispose]());

/** Answers requests to servers that are not there by the simulated planner. */
const STAND_IN = `
import { parseSimulatedModel } from "./lib/simulated/names.ts";
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

// Examples that register tests cannot run under `deno test --doc`, which would nest them in its own.
const EXAMPLES: readonly Example[] = [
  ...PAGES.map((page) => ({ page, blocks: blocksOf(page, "ts") })),
  ...["mod.ts", "lib/testing/benchmark.ts"].map((page) => ({
    page,
    blocks: [/```ts ignore\n(.*?)```/s.exec(textOf(page))![1]!.replaceAll(/^ \* ?/gm, "")],
  })),
].filter(({ blocks }) => blocks.length > 0);

/** Writes the blocks of a page into the copy and gives their paths there. */
function writeBlocks({ page, blocks }: Example): string[] {
  const name = page.replaceAll(/\W+/g, "_");
  return blocks.map((text, index) => {
    const path = `results/${name}_${index + 1}.ts`;
    Deno.mkdirSync(`${place.clone}/results`, { recursive: true });
    Deno.writeTextFileSync(`${place.clone}/${path}`, text);
    return path;
  });
}

Deno.test("the TypeScript of every page has the right types", async () => {
  const paths = EXAMPLES.flatMap(writeBlocks);
  assert(paths.length > 10);
  // The copy leaves results/ out of its checks.
  const config = `${place.clone}/deno.json`;
  Deno.writeTextFileSync(config, Deno.readTextFileSync(config).replace('"results/"', '"none/"'));
  const { code, output } = await shell(`deno check ${paths.join(" ")}`, place.clone);
  assertEquals(code, 0, output);
});

for (const example of EXAMPLES) {
  Deno.test(`${example.page}: its TypeScript runs in a clone`, async () => {
    const paths = writeBlocks(example);
    const standIn = `${place.clone}/results/stand_in.ts`;
    Deno.writeTextFileSync(standIn, STAND_IN.replaceAll('"./lib/', '"../lib/'));
    // The permissions that the page's own commands give, and those of the stand-in.
    const flags = new Set(
      blocksOf(example.page, "sh").flatMap((text) => [...text.matchAll(/--allow-\S+/g)])
        .map(([flag]) => flag).concat("--allow-net=127.0.0.1"),
    );
    const config = `${place.clone}/deno.json`;
    Deno.writeTextFileSync(config, Deno.readTextFileSync(config).replace('"results/"', '"none/"'));
    const { code, output } = await shell(
      `deno test --no-check --no-prompt --preload=${standIn} ${[...flags].join(" ")} ${
        paths.join(" ")
      }`,
      place.clone,
    );
    assertEquals(code, 0, output);
    assertStringIncludes(output, " | 0 failed");
  });
}

/** A text without what `deno fmt` changes for shorter lines. */
const unbroken = (text: string) => text.replaceAll(/,?\s+/g, " ").replaceAll(/,(?= )/g, "");

Deno.test("README: its test and its benchmark are what `toolgate init` writes", () => {
  const [own, generated] = blocksOf("README.md", "ts");
  const written = (name: string) => textOf(`fixtures/project/tool_tests/${name}`);
  assertEquals(unbroken(own!), unbroken(written("weather_test.ts")));
  assertEquals(unbroken(generated!), unbroken(written("benchmark.ts")));
});

Deno.test("docs/commands.md: the deno.json of a user's own project finds the clone", async () => {
  const [config] = blocksOf("docs/commands.md", "json");
  await Deno.writeTextFile(`${place.mine}/deno.json`, config!);
  const [own, generated] = blocksOf("README.md", "ts");
  await Deno.writeTextFile(`${place.mine}/weather_test.ts`, own!);
  await Deno.writeTextFile(`${place.mine}/my_benchmark.ts`, generated!);
  for (
    const [line, shown] of [
      ["deno test --no-check --no-prompt weather_test.ts", "asks for the weather ... ok"],
      [
        "deno test --no-check --no-prompt --allow-net=127.0.0.1 my_benchmark.ts",
        "tool calling > gate ... ok",
      ],
      ["deno run -A @toolgate/toolgate/cli plan --rate 0.8 --margin 0.05", "756"],
    ] as const
  ) {
    const { code, output } = await shell(line, place.mine);
    assertEquals(code, 0, output);
    assertStringIncludes(output, shown);
  }
});

Deno.test("README: the two commands are tasks, and the first prints what is shown", async () => {
  const { tasks } = JSON.parse(await Deno.readTextFile(`${ROOT}/deno.json`));
  const [bench, test] = blocksOf("README.md", "sh")
    .find((text) => text.startsWith("npx"))!.trim().split("\n");
  assertEquals(bench, "npx --yes deno@2.9.6 task bench");
  assertEquals(test, "npx --yes deno@2.9.6 task test");
  assert("bench" in tasks && "test" in tasks);
  const config = `${place.clone}/deno.json`;
  await Deno.writeTextFile(config, unchecked(await Deno.readTextFile(config)));
  const { code, output } = await shell(bench!, place.clone);
  assertEquals(code, 0, output);
  // Numbers differ from run to run; everything else of the example stands in the output.
  const shape = (text: string) => text.replace(/[\d.%]+|-(?= )/g, "#").replace(/ +/g, " ");
  const printed = blocksOf("README.md", "text").find((text) => text.startsWith("quick"))!;
  const lines = shape(printed).split("\n").filter((line) => /[a-z]/.test(line));
  for (const line of lines) assertStringIncludes(shape(output), line);
});

Deno.test("the suites of all pages run", async () => {
  const suites = PAGES.flatMap((page) => blocksOf(page, "jsonc"));
  assertEquals(suites.length, 9);
  // Paths in a suite are relative to its file.
  const paths = suites.map((_, index) => `${place.clone}/page_${index + 1}.jsonc`);
  paths.forEach((path, index) => Deno.writeTextFileSync(path, suites[index]!));
  for (const { code, all } of await toolgates(paths.map((path) => ["run", path]))) {
    assertEquals(code, 0, all);
  }
});

Deno.test("README: the story of a failure is what its rerun line gives", async () => {
  const shown = blocksOf("README.md", "text").at(-1)!;
  const [, id] = /--only='([^']+)'/.exec(shown)!;
  const key = parseTrialId(id!)!;
  await using connections = new Connections();
  const model = connections.model({ model: key.model });
  const trial = await runTrial({ ...key, id: id!, index: 0, block: 0 }, model);
  const rerun = `rerun: deno test -A my_benchmark.ts -- --only='${id}'`;
  assertEquals(shown.trim(), `The task is not solved.\n${describeTrial(trial)}\n${rerun}`);
});

Deno.test("README: the failure of a tool test is what the test prints", async () => {
  const own = blocksOf("README.md", "ts").find((text) => text.includes("asks for the weather"))!;
  const wrong = own.replace(/(name: "weather", arguments: \{ city: )"Rome"/, '$1"Rome, Georgia"');
  await Deno.writeTextFile(`${place.clone}/weather_test.ts`, wrong);
  const { code, output } = await shell(
    "deno test --no-check --no-prompt weather_test.ts",
    place.clone,
  );
  assertEquals(code, 1, output);
  const shown = blocksOf("README.md", "text").find((text) => text.includes("Georgia"))!;
  assertStringIncludes(output, shown.trim());
  const line = wrong.split("\n").findIndex((text) => text.includes("assertCalled(run")) + 1;
  assertStringIncludes(output, `weather_test.ts:${line}:`);
});

Deno.test("README has at most 240 lines and leads to every page", () => {
  const readme = textOf("README.md");
  assert(readme.split("\n").length <= 241);
  assertEquals(PAGES.slice(1).filter((page) => !readme.includes(`](${page})`)), []);
});

Deno.test("the files that documents name are there", () => {
  const missing = [...PAGES, "fixtures/README.md"].flatMap((page) =>
    [...textOf(page).matchAll(/`((?:lib|tests|fixtures|docs)\/[\w./]+)`/g)]
      .map(([, path]) => path!)
      // NAME and ROOM stand for any.
      .filter((path) => !/NAME|ROOM/.test(path))
      .filter((path) => {
        try {
          Deno.statSync(`${ROOT}/${path}`);
          return false;
        } catch {
          return true;
        }
      }).map((path) => `${page}: ${path}`)
  );
  assertEquals(missing, []);
});

Deno.test("each row of the page of attacks names a test that --filter selects", async () => {
  const rows = textOf("docs/attacks.md").split("\n")
    .filter((line) => line.startsWith("| ") && !/^\| (attack|-)/.test(line))
    .map((row) => /\| `(tests\/[\w/]+\.ts)`: (.+?) *\|$/.exec(row) ?? [row, "", ""]);
  assert(rows.length > 10);
  const names = await testNames([...new Set(rows.map(([, path]) => path!))].filter(Boolean));
  // Names of tests may hold values, and only parts of such names are on the page.
  const wrong = rows.filter(([, path, part]) =>
    part === "" || !names.get(path!)!.some((name) => name.includes(part!))
  );
  assertEquals(wrong.map(([row]) => row), []);
});

/** The anchor that a heading gets. */
const anchorOf = (heading: string) =>
  heading.toLowerCase().replaceAll(/[^\w\- ]/g, "").replaceAll(" ", "-");

Deno.test("links between documents lead somewhere", () => {
  const broken = [...PAGES, "CHANGELOG.md", "fixtures/README.md"].flatMap((page) =>
    [...textOf(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link!)
      .filter((link) => {
        if (/^https?:/.test(link)) return false;
        const [path, anchor] = link.split("#");
        const target = path === ""
          ? new URL(`file://${ROOT}/${page}`)
          : new URL(path!, `file://${ROOT}/${page}`);
        try {
          const text = anchor === undefined && Deno.statSync(target).isDirectory
            ? ""
            : Deno.readTextFileSync(target);
          const anchors = [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
            anchorOf(heading!)
          );
          return anchor !== undefined && !anchors.includes(anchor);
        } catch {
          return true;
        }
      }).map((link) => `${page}: ${link}`)
  );
  assertEquals(broken, []);
});

Deno.test("docs/commands.md lists every command with its options, and every flag of deno test", async () => {
  const page = textOf("docs/commands.md");
  const sectionOf = (heading: string) =>
    page.split("\n## ").find((section) => section.startsWith(`${heading}\n`)) ?? "";
  const optionsIn = (text: string) => [...text.matchAll(/(?<=^|[\s(`,])--[a-z][a-z-]+/g)].flat();
  const [help] = await toolgates([["--help"]]);
  const commands = [...help!.stdout.matchAll(/^ {2}([a-z]+) {2,}/gm)].map(([, name]) => name!);
  assert(commands.length > 5);
  const helps = await toolgates(commands.map((command) => [command, "--help"]));
  const missing = commands.flatMap((command, index) => {
    const known = optionsIn(sectionOf(command));
    return optionsIn(helps[index]!.stdout).filter((option) => !known.includes(option))
      .map((option) => `${command} ${option}`);
  });
  assertEquals([...new Set(missing)], []);
  const flags = flagsAt("deno test").map(({ name }) => `--${name}`);
  assert(flags.length > 10);
  const listed = optionsIn(sectionOf("Flags of deno test"));
  assertEquals(flags.filter((flag) => !listed.includes(flag)), []);
});
