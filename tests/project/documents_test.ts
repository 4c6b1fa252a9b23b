// README and docs: what of them can be read or run in this process. Their code runs in
// tests/e2e/documents_code_test.ts, their commands in tests/e2e/documents_commands_test.ts.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { COMMANDS } from "../../lib/cli/commands.ts";
import { Connections } from "../../lib/models/connect.ts";
import { describeTrial } from "../../lib/reports/story.ts";
import type { NamedFlag } from "../../lib/runs/flags.ts";
import { flagsAt } from "../../lib/runs/options.ts";
import { runTrial } from "../../lib/trials/run_trial.ts";
import { parseTrialId } from "../../lib/trials/trial_id.ts";
import { ROOT } from "../support/child.ts";
import { blocksOf, PAGES, textOf } from "../support/documents.ts";

/** A text without what `deno fmt` changes for shorter lines. */
const unbroken = (text: string) => text.replaceAll(/,?\s+/g, " ").replaceAll(/,(?= )/g, "");

Deno.test("README: its test and its benchmark are what `toolgate init` writes", () => {
  const [own, generated] = blocksOf("README.md", "ts");
  const written = (name: string) => textOf(`fixtures/project/tool_tests/${name}`);
  assertEquals(unbroken(own!), unbroken(written("weather_test.ts")));
  assertEquals(unbroken(generated!), unbroken(written("benchmark.ts")));
});

Deno.test("README: the story of a failure is what its rerun line gives", async () => {
  const shown = blocksOf("README.md", "text").at(-1)!;
  const [, id] = /--only='([^']+)'/.exec(shown)!;
  const key = parseTrialId(id!)!;
  const connections = new Connections();
  const model = connections.model({ model: key.model });
  const trial = await runTrial({ ...key, id: id!, index: 0, block: 0 }, model);
  const rerun = `rerun: deno test -A --no-check my_benchmark.ts -- --only='${id}'`;
  assertEquals(shown.trim(), `The task is not solved.\n${describeTrial(trial)}\n${rerun}`);
});

Deno.test("README has at most 240 lines, and docs/README.md leads to every page", () => {
  assert(textOf("README.md").split("\n").length <= 241);
  const index = textOf("docs/README.md");
  const pages = PAGES.flatMap((page) => /^docs\/(?!README)(.*)/.exec(page)?.[1] ?? []);
  assertEquals(pages.filter((page) => !index.includes(`](${page})`)), []);
});

Deno.test("README and docs have at most 41,000 words that people wrote", () => {
  const lists = ["docs/fidelity.md", "docs/what_holds.md", "docs/words.md", "CONTRIBUTING.md"];
  const words = PAGES.filter((page) => !lists.includes(page)).map((page) => {
    const table = /<!-- (.*): deno task tables -->[^]*?<!-- end of \1 -->/g;
    return textOf(page).replaceAll(table, "").match(/\S*[\p{L}\p{N}]\S*/gu)!.length;
  });
  assert(words.reduce((sum, count) => sum + count, 0) <= 41_000, `${words}`);
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

Deno.test("docs/commands.md has a section for every command, with its options", async () => {
  const page = textOf("docs/commands.md");
  const sectionOf = (heading: string) =>
    page.split("\n## ").find((section) => section.startsWith(`${heading}\n`)) ?? "";
  const missing = (section: string, flags: readonly NamedFlag[]) =>
    flags.map(({ name }) => `--${name}`).filter((name) =>
      !new RegExp(`${name}(?![\\w-])`).test(section)
    );
  for (const [name, [, load]] of Object.entries(COMMANDS)) {
    const { flags } = await load();
    const section = sectionOf(name.split(" ")[0]!);
    assertStringIncludes(section, `\`${name}`);
    assertEquals(missing(section, flags), [], name);
  }
  const flags = flagsAt("deno test");
  assert(flags.length > 10);
  assertEquals(missing(sectionOf("Flags of deno test"), flags), []);
});
