// Summaries of jobs of continuous integration, with and without the permissions that they need.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { deno, ROOT } from "../support/child.ts";
import { Folder } from "../support/folders.ts";

const VARIABLE = "GITHUB_STEP_SUMMARY";

Deno.test("summarizeJob() asks for no permission that it was not given", async () => {
  using folder = new Folder();
  const script = folder.write(
    "script.ts",
    `import { summarizeJob } from ${JSON.stringify(`file://${ROOT}/lib/reports/job_summary.ts`)};
summarizeJob(() => "### one");
console.log("went on");`,
  );
  const summary = folder.file("summary.md");
  const flags = ["--no-check", "--no-prompt", `--config=${ROOT}/deno.json`];
  const run = (...permissions: string[]) =>
    deno(["run", ...flags, ...permissions, script], { env: { [VARIABLE]: summary } });
  const none = await run();
  assertEquals([none.code, none.stdout, none.stderr], [0, "went on\n", ""], none.all);
  const readOnly = await run("--allow-env");
  assertEquals([readOnly.code, readOnly.stdout], [0, "went on\n"], readOnly.all);
  assertStringIncludes(readOnly.stderr, "Deno was not given the permission");
  const both = await run("--allow-env", "--allow-write");
  assertEquals([both.code, both.stderr], [0, ""], both.all);
  assert(folder.read("summary.md").startsWith("### one"));
});
