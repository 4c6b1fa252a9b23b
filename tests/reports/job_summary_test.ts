import { assertEquals } from "@std/assert";
import { summarizeJob } from "../../lib/reports/job_summary.ts";
import { Folder } from "../support/folders.ts";
import { withVariable } from "../support/surroundings.ts";

const VARIABLE = "GITHUB_STEP_SUMMARY";

/** Summarizes with the variable set so, and gives what was printed on stderr. */
function summarize(
  path: string | undefined,
  markdown: string | ((limit: number) => string),
): string[] {
  const told: string[] = [];
  const { error } = console;
  using _ = withVariable(VARIABLE, path);
  console.error = (...words: unknown[]) => void told.push(words.join(" "));
  try {
    summarizeJob(typeof markdown === "string" ? () => markdown : markdown);
  } finally {
    console.error = error;
  }
  return told;
}

Deno.test("summarizeJob() appends to the file that the variable names, as a job may have several", () => {
  using folder = new Folder();
  const path = folder.write("summary.md", "# Before\n");
  assertEquals(summarize(path, "### one\n"), []);
  assertEquals(summarize(path, "### two\n"), []);
  assertEquals(folder.read("summary.md"), "# Before\n### one\n\n### two\n\n");
});

Deno.test("summarizeJob() makes the file where there is none yet", () => {
  using folder = new Folder();
  assertEquals(summarize(folder.file("summary.md"), "### one\n"), []);
  assertEquals(folder.read("summary.md"), "### one\n\n");
});

Deno.test("summarizeJob() does nothing where the variable is not set, or empty", () => {
  for (const path of [undefined, ""]) assertEquals(summarize(path, "### one\n"), []);
});

Deno.test("summarizeJob() tells when it cannot write, and goes on", () => {
  using folder = new Folder();
  folder.write("file", "");
  const reasons = [
    ["none/summary.md", "there is no such file or folder"],
    ["file/summary.md", "a part of its path is no folder"],
    [".", "it is a folder"],
  ] as const;
  for (const [name, reason] of reasons) {
    assertEquals(summarize(folder.file(name), "### one\n"), [
      `Cannot write the job summary to ${VARIABLE}: ${reason}`,
    ]);
  }
});

Deno.test("summarizeJob() gives the room that is left of a step, and writes nothing that GitHub would drop", () => {
  using folder = new Folder();
  const path = folder.write("summary.md", "é".repeat(1_000));
  const limits: number[] = [];
  const fill = (limit: number) => {
    limits.push(limit);
    return "x".repeat(Math.max(0, limit));
  };
  assertEquals(summarize(path, fill), []);
  assertEquals(Deno.statSync(path).size, 1024 * 1024);
  assertEquals(summarize(path, () => "more"), [
    `Cannot add to the job summary in ${VARIABLE} as GitHub takes at most 1048576 bytes of a step: 0 are left`,
  ]);
  assertEquals(Deno.statSync(path).size, 1024 * 1024);
  assertEquals(limits, [1024 * 1024 - 2_000 - 1]);
});
