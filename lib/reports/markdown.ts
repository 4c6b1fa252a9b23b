/**
 * Reports as Markdown: the tables of a report, for a pull request or the summary of a job.
 * @module
 */

import { printable } from "../json.ts";
import { provenance, type Report } from "../report.ts";
import { tablesOf } from "./tables.ts";
import { markdownText } from "./text.ts";
import { verdictsToMarkdown } from "./verdicts.ts";

/**
 * The report as Markdown. Names and notes are text, whatever they hold: nothing of them becomes markup.
 *
 * @example Usage
 * ```ts
 * import { renderMarkdown } from "./markdown.ts";
 * import { makeReport } from "../report.ts";
 * import { assertStringIncludes } from "@std/assert";
 *
 * assertStringIncludes(renderMarkdown(makeReport([], { suite: "quick" })), "# quick");
 * ```
 */
export function renderMarkdown(report: Report): string {
  const { notes, gates } = report;
  const parts = [
    `# ${words(report.suite)}`,
    words(provenance(report)),
    ...(notes.length === 0 ? [] : [notes.map((note) => `- ${words(note)}`).join("\n")]),
    ...gates.map((gate) => verdictsToMarkdown(gate).trimEnd()),
    ...tablesOf(report).flatMap(({ title, source, note, rows }) => [
      `## ${words(title)}`,
      ...(source === undefined ? [] : [`As in FuncBenchGen, ${words(source)}.`]),
      table(rows),
      ...(note === undefined ? [] : [words(note)]),
    ]),
  ];
  return `${parts.join("\n\n")}\n`;
}

function table(rows: readonly (readonly string[])[]): string {
  const [head, ...body] = rows.map((row) => `| ${row.map((cell) => words(cell)).join(" | ")} |`);
  const rule = `| ${rows[0]!.map((_, column) => column === 0 ? "---" : "---:").join(" | ")} |`;
  return [head, rule, ...body].join("\n");
}

function words(text: string): string {
  return markdownText(printable(text, 1000));
}
