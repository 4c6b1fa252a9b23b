// The commands of docs/experiments.md, each whole with its simulated models, as a user runs them: the tables and
// figures of the sources are in their reports. How long each takes is printed.

import { assert, assertEquals } from "@std/assert";
import { countingServer, deno, folder, ROOT } from "../support/child.ts";
import { EXPERIMENTS } from "../support/experiment_rows.ts";
import { CALLNAVI, outsideTest } from "../support/outside_data.ts";

for (const [command, rows] of Map.groupBy(EXPERIMENTS, (row) => row.command)) {
  const { suite } = rows[0]!;
  const title = `docs/experiments.md: ${command} ends in ${
    rows.map(({ what }) => what).join("; ")
  }`;
  const test = async (path?: string) => {
    await using place = await folder();
    // In place of OpenAI's, as simulated models do not think.
    await using server = countingServer("sim:planner");
    const isReal = suite === "thinking_budget";
    const toolgate = async (...words: string[]) => {
      const { code, all } = await deno(["task", "-q", "toolgate", ...words], {
        cwd: ROOT,
        env: {
          ...path === undefined ? {} : { [CALLNAVI.variable]: path },
          ...isReal ? { OPENAI_API_KEY: "sk-none" } : {},
        },
      });
      assertEquals(code, 0, all);
    };
    const [journal, page] = ["jsonl", "html"].map((end) => `${place.path}/${suite}.${end}`);
    const began = performance.now();
    await toolgate(
      ...command.split(" "),
      ...["--out", journal!, ...isReal ? ["--base-url", server.url] : []],
    );
    console.log(`${suite}: ${Math.round((performance.now() - began) / 1000)} s`);
    await toolgate("report", journal!, "--html", page!);
    // Titles mark what a simulated judge gave.
    const text = Deno.readTextFileSync(page!).replaceAll(" (simulated)", "");
    for (const { what, heading } of rows) {
      const isThere = [`>${heading}<`, `>${heading}: `].some((one) => text.includes(one));
      assert(isThere, `${what}: no table or figure of the page is called ${heading}`);
    }
  };
  if (suite === "callnavi") outsideTest(title, CALLNAVI, test);
  else Deno.test(title, () => test());
}
