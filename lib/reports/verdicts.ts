/**
 * Verdicts as text: for the terminal, and as Markdown.
 * @module
 */

import { printable } from "../base/json.ts";
import { type GateReport, type ReportedVerdict, verdictName } from "../gate/gate_report.ts";
import { markdownText } from "./text.ts";

/** Returns one paragraph a subject: its verdict, then its numbers. */
export function renderVerdicts({ verdicts, text }: GateReport): string {
  if (text !== undefined) return text;
  return verdicts.map((one) =>
    [`${verdictName(one)}: ${one.text}`, ...one.numbers.map((line) => `  ${line}`)].join("\n")
  ).join("\n\n");
}

/** Returns the verdicts as Markdown, for a job summary. */
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
