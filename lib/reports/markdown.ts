/**
 * Markdown reports: the tables of a report, for a pull request or a job summary.
 * @module
 */

import { type GateReport, type ReportedVerdict, verdictName } from "../gate/gate_report.ts";
import { commandLine } from "../base/command_line.ts";
import type { FailedTrials } from "./failures.ts";
import { listText, printable } from "../base/json.ts";
import { countText, sum } from "../base/numbers.ts";
import { provenance, type Report } from "./report.ts";
import { reportWords } from "./_words.ts";
import { strategiesTable } from "./tables/_strategies.ts";
import { overviewTable, verdictLine } from "./tables/_headline.ts";
import { cellsTable } from "./tables/_success.ts";
import { isLeft, sourceText } from "./tables/table.ts";
import { SECTIONS, type Table } from "./_view.ts";
import { tablesOf } from "./tables/_tables.ts";

/** Options of Markdown. */
export interface MarkdownOptions {
  /**
   * At most this many bytes of UTF-8, of which GitHub takes 65,536 in a comment and 1,048,576 in the summary of a
   * step. Whole tables are left out, the least important first, but no verdict. Default: unlimited.
   */
  readonly limit?: number;
}

/**
 * Returns the report as Markdown, with failures if they are given. Names and notes are escaped, so that none
 * becomes markup.
 */
export function renderMarkdown(
  report: Report,
  { limit = Infinity, failures }: MarkdownOptions & { readonly failures?: FailedTrials } = {},
): string {
  const { notes, gates } = report;
  const [kind, ...verdict] = verdictLine(report)?.split(": ") ?? [];
  const head = [
    `# ${words(report.suite)}`,
    words(provenance(report)),
    ...(kind === undefined ? [] : [`**${words(kind)}**: ${words(verdict.join(": "))}`]),
  ];
  const list = notes.length === 0 ? [] : [notes.map((note) => `- ${words(note)}`).join("\n")];
  const tables = tablesOf(report).map((table) => ({ table, level: "##" }));
  return fit(tables, gates, limit, (verdicts, isBrief) => [
    ...(isBrief ? [] : list),
    ...verdicts,
    ...(isBrief ? [] : failureParts(failures, "##", limit === Infinity)),
  ], head);
}

/** Returns a gate's verdicts, then its comparison of strategies, for a job summary. */
export function gateToMarkdown(
  gate: GateReport,
  { limit = Infinity }: MarkdownOptions = {},
): string {
  const tables = strategiesTable(gate.comparisons).map((table) => ({ table, level: "####" }));
  return fit(tables, [gate], limit, (verdicts) => verdicts);
}

/** A table and the mark of its heading. */
interface Headed {
  readonly table: Table;
  readonly level: string;
}

/**
 * Returns a document of what stands first and the tables that fit below it. Where verdicts alone are too long, their
 * numbers are left out, and then all but a line of each.
 */
function fit(
  tables: readonly Headed[],
  gates: readonly GateReport[],
  limit: number,
  first: (verdicts: readonly string[], isBrief: boolean) => readonly string[],
  head: readonly string[] = [],
): string {
  const texts = tables.map(({ table, level }) =>
    [`${level} ${words(table.title)}`, ...tableParts(table)].join("\n\n")
  );
  const document = (parts: readonly string[]) => `${parts.join("\n\n")}\n`;
  const fits = (parts: readonly string[]) => bytesOf(document(parts)) <= limit;
  const tops = [
    first(gates.map((gate) => verdictsToMarkdown(gate).trimEnd()), false),
    first(gates.map((gate) => verdictsToMarkdown(gate, false).trimEnd()), false),
    first(gates.map((gate) => listVerdicts(gate, Infinity)), true),
    first(gates.map((gate) => listVerdicts(gate, Math.floor(limit / 2 / gates.length))), true),
  ];
  const all = tables.map(({ table }) => table);
  // The headline stands before all else.
  const ordered = (top: readonly string[], places: ReadonlySet<number>) => {
    const textsOf = (isFirst: boolean) =>
      texts.filter((_, place) =>
        places.has(place) && (all[place]!.section === "headline") === isFirst
      );
    return [...head, ...textsOf(true), ...top, ...textsOf(false)];
  };
  const whole = ordered(tops[0]!, new Set(all.keys()));
  if (fits(whole)) return document(whole);
  const top = tops.find((parts) => fits([...head, ...parts, leftOut(all, limit, true)])) ??
    tops.at(-1)!;
  const partsOf = (places: ReadonlySet<number>) => [
    ...ordered(top, places),
    leftOut(all.filter((_, place) => !places.has(place)), limit, top !== tops[0]),
  ];
  // What matters most is taken first, and stands where it stood.
  const places = all.map((_, place) => place)
    .sort((one, other) => importance(all[one]!) - importance(all[other]!) || one - other);
  const taken = new Set<number>();
  for (const place of places) {
    if (!fits(partsOf(new Set([...taken, place])))) break;
    taken.add(place);
  }
  const lines = document(partsOf(taken)).split("\n");
  // Only dozens of gates in next to no room come to this.
  while (bytesOf(lines.join("\n")) > limit && lines.length > 1) lines.pop();
  return lines.join("\n");
}

const encoder = new TextEncoder();

function bytesOf(text: string): number {
  return encoder.encode(text).length;
}

function importance({ section }: Table): number {
  return SECTIONS.indexOf(section);
}

/** At most this many titles of tables that were left out are named. */
const MAX_TITLES = 6;

/** Says what is not in the document, and where it is. */
function leftOut(tables: readonly Table[], limit: number, hasBriefVerdicts: boolean): string {
  // Behind a colon stands the model of which a table is.
  const titles = new Set(tables.map(({ title }) => printable(title.split(": ")[0]!, 60)));
  const parts = [
    ...(hasBriefVerdicts ? ["the numbers of verdicts"] : []),
    ...(tables.length === 0 ? [] : [
      `${countText(tables.length, "table")} (${markdownText(listText([...titles], MAX_TITLES))})`,
    ]),
  ];
  return `> There is room for ${limit} bytes, so that this leaves out ${parts.join(" and ")}. ` +
    `All of it, from the journal of the run: ${
      markdownText(commandLine("report F.jsonl --html report.html"))
    }`;
}

/** Returns the verdicts of a gate, a heading for each subject, with their numbers. */
export function verdictsToMarkdown(
  { suite, verdict, verdicts, text }: GateReport,
  numbers = true,
): string {
  const parts = text === undefined
    ? verdicts.map((one) => verdictToMarkdown(one, numbers))
    : [markdownText(text)];
  return `### ${markdownText(printable(suite))}: ${verdict}\n\n${parts.join("\n\n")}\n`;
}

function verdictToMarkdown(verdict: ReportedVerdict, numbers: boolean): string {
  const [kind, ...rest] = verdict.text.split(": ");
  return [
    `#### ${markdownText(verdictName(verdict))}`,
    `**${kind}**: ${markdownText(rest.join(": "))}`,
    ...(numbers ? [verdict.numbers.map((line) => `- ${markdownText(line)}`).join("\n")] : []),
  ].join("\n\n");
}

/** The kinds of verdicts, the worst first. */
const KINDS = ["fail", "invalid", "undecided", "pass"] as const;

/** Returns a line for each verdict, the worst first, as many as fit, and how many there are of each kind. */
function listVerdicts({ suite, verdict, verdicts, text }: GateReport, limit: number): string {
  const heading = `### ${markdownText(printable(suite, 100))}: ${verdict}`;
  if (text !== undefined) return `${heading}\n\n${words(text)}`;
  const counts = KINDS.flatMap((kind) => {
    const count = verdicts.filter((one) => one.kind === kind).length;
    return count === 0 ? [] : [`${count} ${kind.toUpperCase()}`];
  });
  const lines = KINDS.flatMap((kind) =>
    verdicts.filter((one) => one.kind === kind)
      .map((one) =>
        `- **${kind.toUpperCase()}**: ${markdownText(printable(verdictName(one), 100))}`
      )
  );
  let room = limit - bytesOf(heading) - 200;
  const shown = lines.filter((line) => (room -= bytesOf(line) + 1) >= 0);
  const more = lines.length - shown.length;
  return [
    heading,
    `${countText(lines.length, "verdict")}: ${counts.join(", ")}`,
    [...shown, ...(more > 0 ? [`- and ${more} more`] : [])].join("\n"),
  ].join("\n\n");
}

/** Returns the success of a run without a gate and its failures, for a job summary; where there is no room, less. */
export function successToMarkdown(
  report: Report,
  failures: FailedTrials,
  { limit = Infinity }: MarkdownOptions = {},
): string {
  const { suite, subjects } = report;
  const solved = sum(subjects, ({ total }) => total.solved);
  const valid = sum(subjects, ({ total }) => total.valid);
  const named = reportWords(report);
  const table = subjects.length === 1 ? cellsTable(subjects[0]!, 0, named) : overviewTable(report);
  const head = [
    `### ${words(suite)}: ${solved} of ${countText(valid, "valid trial")} ${named.solved}`,
    words(provenance(report)),
  ];
  const whole = [...head, ...tableParts(table), ...failureParts(failures, "####")].join("\n\n");
  return `${bytesOf(whole) < limit ? whole : head.join("\n\n")}\n`;
}

/** Returns a heading and the failures to show, with what is known `about` each; nothing without any. */
function failureParts(
  failures: FailedTrials | undefined,
  level: string,
  about = false,
): string[] {
  if (failures === undefined || failures.count === 0) return [];
  const more = failures.more(false);
  return [
    `${level} ${failures.title}`,
    [
      ...failures.told(false).map((told) =>
        [
          `- ${words(told.ending)}  \n  <code>${words(told.rerun)}</code>`,
          ...(about ? told.about.map((line) => `  - ${words(line)}`) : []),
        ].join("\n")
      ),
      ...(more === undefined ? [] : [`- ${more}`]),
    ].join("\n"),
  ];
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
  const rule = `| ${
    rows[0]!.map((_, column) => isLeft(rows[0]!, column, names) ? "---" : "---:").join(" | ")
  } |`;
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
