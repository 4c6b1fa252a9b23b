/**
 * Reports of verdicts: for the terminal, and as Markdown.
 * @module
 */

import { printable } from "../base/json.ts";
import { type GateReport, type ReportedVerdict, verdictName } from "../gate/gate_report.ts";
import { markdownText } from "./text.ts";

/** The verdicts as paragraphs, one a subject, each with its numbers under it. */
export function renderVerdicts({ verdicts, text }: GateReport): string {
  if (text !== undefined) return text;
  return verdicts.map((one) =>
    [`${verdictName(one)}: ${one.text}`, ...one.numbers.map((line) => `  ${line}`)].join("\n")
  ).join("\n\n");
}

/** The verdicts as Markdown, for the summary of a job. */
export function verdictsToMarkdown({ suite, verdict, verdicts, text }: GateReport): string {
  const parts = text === undefined ? verdicts.map(verdictToMarkdown) : [markdownText(text)];
  return `### ${markdownText(printable(suite))}: ${verdict}\n\n${parts.join("\n\n")}\n`;
}

function verdictToMarkdown(verdict: ReportedVerdict): string {
  const [kind, ...words] = verdict.text.split(": ");
  return [
    `#### ${markdownText(verdictName(verdict))}`,
    `**${kind}**: ${markdownText(words.join(": "))}`,
    verdict.numbers.map((line) => `- ${markdownText(line)}`).join("\n"),
  ].join("\n\n");
}
