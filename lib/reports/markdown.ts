/**
 * Markdown reports: the tables of a report, for a pull request or a job summary.
 * @module
 */

import { type GateReport, type ReportedVerdict, verdictName } from "../gate/gate_report.ts";
import { printable } from "../base/json.ts";
import { provenance, type Report } from "./report.ts";
import { strategiesTable } from "./tables/_strategies.ts";
import { sourceText, type Table } from "./tables/table.ts";
import { tablesOf } from "./tables/_tables.ts";

/** Returns the report as Markdown. Names and notes are escaped, so that none becomes markup. */
export function renderMarkdown(report: Report): string {
  const { notes, gates } = report;
  const parts = [
    `# ${words(report.suite)}`,
    words(provenance(report)),
    ...(notes.length === 0 ? [] : [notes.map((note) => `- ${words(note)}`).join("\n")]),
    ...gates.map((gate) => verdictsToMarkdown(gate).trimEnd()),
    ...tablesOf(report).flatMap((table) => [`## ${words(table.title)}`, ...tableParts(table)]),
  ];
  return `${parts.join("\n\n")}\n`;
}

/** Returns the verdicts of a gate, a heading for each subject. */
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

/** Returns a gate's verdicts, then its comparison of strategies, for a job summary. */
export function gateToMarkdown(gate: GateReport): string {
  const tables = strategiesTable(gate.comparisons).flatMap((table) => [
    `#### ${words(table.title)}`,
    ...tableParts(table),
  ]);
  return `${[verdictsToMarkdown(gate).trimEnd(), ...tables].join("\n\n")}\n`;
}

function tableParts({ source, paper, note, names, rows }: Table): string[] {
  return [
    // The caption explains the columns, so it comes before the table.
    ...(source === undefined ? [] : [`${sentence(sourceText(source, paper))}.`]),
    ...(note === undefined ? [] : [`${sentence(note)}.`]),
    tableText(rows, names),
  ];
}

function tableText(rows: Table["rows"], names = 1): string {
  const [head, ...body] = rows.map((row) => `| ${row.map((cell) => words(cell)).join(" | ")} |`);
  const rule = `| ${rows[0]!.map((_, column) => column < names ? "---" : "---:").join(" | ")} |`;
  return [head, rule, ...body].join("\n");
}

function sentence(text: string): string {
  return words(text.charAt(0).toUpperCase() + text.slice(1));
}

function words(text: string): string {
  return markdownText(printable(text, 1000));
}

/** Escapes Markdown, HTML and the text that GitHub turns into links. */
function markdownText(text: string): string {
  return text.replace(
    /[\\`*_{}[\]()<>#+!|&~$@:]|(?<=www)\./gi,
    (character) => `&#${character.charCodeAt(0)};`,
  );
}
