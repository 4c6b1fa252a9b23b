/**
 * Markdown reports: the tables of a report, for a pull request or a job summary.
 * @module
 */

import {
  type GateReport,
  type ReportedVerdict,
  verdictName,
  withoutKind,
} from "../gate/gate_report.ts";
import { VERDICT_KINDS } from "../gate/decide.ts";
import { commandLine } from "../base/command_line.ts";
import type { FailedTrials } from "./failures.ts";
import { listText, printable } from "../base/json.ts";
import { countText, sum } from "../base/numbers.ts";
import { provenance, type Report } from "./report.ts";
import { headlineText, verdictLine } from "./_answers.ts";
import { OVERVIEW } from "./metrics/_headline.ts";
import { CELLS } from "./metrics/_matrix.ts";
import { cellText, headTexts } from "./text_table.ts";
import { decides, noteText, sourceText, type Table } from "./_view.ts";
import { blockText, inlineText } from "./_markdown_text.ts";
import { tablesOf } from "./_views.ts";

/** Bytes of Markdown without another limit: GitHub takes 65,536 characters in a comment, with what others add. */
const MAX_BYTES = 60_000;

/** Options of Markdown. */
export interface MarkdownOptions {
  /**
   * At most this many bytes of UTF-8, of which GitHub takes 65,536 in a comment and 1,048,576 in the summary of a
   * step. Whole tables are left out, the least important first, but no verdict. Default: 60,000.
   */
  readonly limit?: number;
}

/**
 * Returns the report as Markdown, with failures if they are given: verdicts, what decides, failures, and the other
 * tables as far as there is room. Names and notes are escaped, so that none becomes markup.
 */
export function renderMarkdown(
  report: Report,
  { limit = MAX_BYTES, failures }: MarkdownOptions & { readonly failures?: FailedTrials } = {},
): string {
  const { notes, gates } = report;
  const verdict = gates.reduce((count, { verdicts }) => count + verdicts.length, 0) > 1
    ? verdictLine(gates)
    : undefined;
  const answer = headlineText(report);
  const head = [
    `# ${lineText(report.suite)}`,
    lineText(provenance(report)),
    ...[verdict, answer].flatMap((line) => line === undefined ? [] : [`**${lineText(line)}**`]),
  ];
  const list = notes.map((note) => `- ${lineText(note)}`).join("\n");
  const tables = tablesOf(report);
  const failed = failures === undefined || failures.count === 0 ? [] : [{
    title: "Failed trials",
    texts: [true, false].map((about) => failuresText(failures, "##", about)),
  }];
  const parts = tables.map(tablePart).toSpliced(tables.filter(decides).length, 0, ...failed);
  return fit(parts, gates, limit, (verdicts, isBrief) => [
    ...head,
    ...verdicts,
    ...(isBrief || list === "" ? [] : [`## Notes\n\n${list}`]),
  ]);
}

/** Returns a gate's verdicts for a job summary. */
export function gateToMarkdown(
  gate: GateReport,
  { limit = MAX_BYTES }: MarkdownOptions = {},
): string {
  return fit([], [gate], limit, (verdicts) => verdicts);
}

/** A part of a document. */
interface Part {
  readonly title: string;
  /** The part, and what may stand in its place where there is no room for it. */
  readonly texts: readonly string[];
}

function tablePart(table: Table): Part {
  return {
    title: table.kind ?? table.title,
    texts: [[`## ${lineText(table.title)}`, ...tableParts(table)].join("\n\n")],
  };
}

/**
 * Returns a document of what stands first and the parts that fit below it. Where verdicts alone are too long, their
 * numbers are left out, and then all but a line of each.
 */
function fit(
  parts: readonly Part[],
  gates: readonly GateReport[],
  limit: number,
  first: (verdicts: readonly string[], isBrief: boolean) => readonly string[],
): string {
  const document = (texts: readonly string[]) => `${texts.join("\n\n")}\n`;
  const fits = (texts: readonly string[]) => bytesOf(document(texts)) <= limit;
  const listed = [Infinity, Math.floor(limit / 2 / gates.length)];
  const tops = [
    ...[true, false].map((numbers) =>
      first(gates.map((gate) => verdictsToMarkdown(gate, numbers).trimEnd()), false)
    ),
    ...listed.map((room) => first(gates.map((gate) => listVerdicts(gate, room)), true)),
  ];
  const whole = [...tops[0]!, ...parts.map(({ texts }) => texts[0]!)];
  if (fits(whole)) return document(whole);
  const top = tops.find((texts) => fits([...texts, leftOut(parts, limit)])) ?? tops.at(-1)!;
  const taken = new Map<Part, string>();
  const documentWith = (also: readonly [Part, string][]) => {
    const all = new Map([...taken, ...also]);
    const isShort = [...all].some(([part, text]) => text !== part.texts[0]);
    const out = parts.filter((part) => !all.has(part));
    return [...top, ...all.values(), leftOut(out, limit, { numbers: top !== tops[0], isShort })];
  };
  // What matters most is taken first; a smaller part may fit where a larger one did not.
  for (const part of parts) {
    const text = part.texts.find((text) => fits(documentWith([[part, text]])));
    if (text !== undefined) taken.set(part, text);
  }
  const lines = document(documentWith([])).split("\n");
  // Only dozens of gates in next to no room come to this.
  while (bytesOf(lines.join("\n")) > limit && lines.length > 1) lines.pop();
  return lines.join("\n");
}

const encoder = new TextEncoder();

function bytesOf(text: string): number {
  return encoder.encode(text).length;
}

/** At most this many titles of parts that were left out are named. */
const MAX_TITLES = 12;

/** Says what is not in the document, and where it is. */
function leftOut(
  parts: readonly Part[],
  limit: number,
  { numbers = true, isShort = true }: { numbers?: boolean; isShort?: boolean } = {},
): string {
  const titles = new Set(parts.map(({ title }) => printable(title, 60)));
  const names = [
    ...(numbers ? ["the numbers of verdicts"] : []),
    ...(isShort ? ["the texts of failed trials"] : []),
    ...(parts.length === 0
      ? []
      : [`${countText(parts.length, "part")} (${inlineText(listText([...titles], MAX_TITLES))})`]),
  ];
  return `> There is room for ${limit} bytes, so that this leaves out ${names.join(" and ")}. ` +
    `All of it, from the journal of the run: ${
      inlineText(commandLine("report F.jsonl --html report.html"))
    }; more of it: --markdown with a higher --limit`;
}

/** Returns the verdicts of a gate, a heading for each subject, with their numbers. */
export function verdictsToMarkdown(
  { suite, verdict, verdicts, text }: GateReport,
  numbers = true,
): string {
  const parts = text === undefined
    ? verdicts.map((one) => verdictToMarkdown(one, numbers))
    : [blockText(text)];
  return `### ${blockText(printable(suite))}: ${verdict}\n\n${parts.join("\n\n")}\n`;
}

function verdictToMarkdown(verdict: ReportedVerdict, numbers: boolean): string {
  return [
    `#### ${blockText(verdictName(verdict))}`,
    `**${verdict.kind.toUpperCase()}**: ${inlineText(withoutKind(verdict))}`,
    ...(numbers ? [verdict.numbers.map((line) => `- ${blockText(line)}`).join("\n")] : []),
  ].join("\n\n");
}

/** Returns how many verdicts there are of each kind, and a line for each, the worst first, as many as fit. */
function listVerdicts(gate: GateReport, limit: number): string {
  const { suite, verdict, verdicts, text } = gate;
  const heading = `### ${blockText(printable(suite, 100))}: ${verdict}`;
  if (text !== undefined) return `${heading}\n\n${lineText(text)}`;
  const lines = VERDICT_KINDS.flatMap((kind) => verdicts.filter((one) => one.kind === kind))
    .map((one) =>
      `- **${one.kind.toUpperCase()}**: ${inlineText(printable(verdictName(one), 100))}`
    );
  let room = limit - bytesOf(heading) - 200;
  const shown = lines.filter((line) => (room -= bytesOf(line) + 1) >= 0);
  const more = lines.length - shown.length;
  return [
    heading,
    lineText(verdictLine([gate]) ?? ""),
    [...shown, ...(more > 0 ? [`- and ${more} more`] : [])].join("\n"),
  ].join("\n\n");
}

/** Returns the success of a run without a gate and its failures, for a job summary; where there is no room, less. */
export function successToMarkdown(
  report: Report,
  failures: FailedTrials,
  { limit = MAX_BYTES }: MarkdownOptions = {},
): string {
  const { suite, subjects, words } = report;
  const success = OVERVIEW.rows(report).map(({ tally }) => tally.success);
  const valid = sum(success, ({ of }) => of);
  const [table] = (subjects.length === 1 ? CELLS : OVERVIEW).tables(report, "page");
  const head = [
    `### ${lineText(suite)}: ${sum(success, ({ count }) => count)} of ${
      countText(valid, "valid trial")
    } ${words.solved}`,
    lineText(provenance(report)),
  ];
  const failed = failures.count === 0 ? [] : [failuresText(failures, "####", false)];
  const whole = [...head, ...(table === undefined ? [] : tableParts(table)), ...failed].join(
    "\n\n",
  );
  return `${bytesOf(whole) < limit ? whole : head.join("\n\n")}\n`;
}

/** Returns a heading and the failures to show, with what is known `about` each. */
function failuresText(failures: FailedTrials, level: string, about: boolean): string {
  const more = failures.more(false);
  const items = failures.told(false).map((told) =>
    [
      `- ${lineText(told.ending)}  \n  <code>${words(told.rerun)}</code>`,
      ...(about ? told.about.map((line) => `  - ${lineText(line)}`) : []),
    ].join("\n")
  );
  return `${level} ${failures.title}\n\n` +
    [...items, ...(more === undefined ? [] : [`- ${more}`])].join("\n");
}

function tableParts(table: Table): string[] {
  // The caption explains the columns, so it comes before the table.
  const captions = [sourceText(table), noteText(table)].filter((text) => text !== "");
  return [...captions.map((text) => `${sentence(text)}.`), tableText(table)];
}

function tableText(table: Table): string {
  const [head, ...body] = [headTexts(table), ...table.rows.map((row) => row.map(cellText))]
    .map((row) => `| ${row.map((cell) => words(cell)).join(" | ")} |`);
  const rule = `| ${table.heads.map(({ isText }) => isText ? "---" : "---:").join(" | ")} |`;
  return [head, rule, ...body].join("\n");
}

function sentence(text: string): string {
  return lineText(text.charAt(0).toUpperCase() + text.slice(1));
}

/** Escapes a text within a line. */
function words(text: string): string {
  return inlineText(printable(text, 1000));
}

/** Escapes a text at the beginning of a line. */
function lineText(text: string): string {
  return blockText(printable(text, 1000));
}
