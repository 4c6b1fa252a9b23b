/**
 * Terminal reports: tables of trials, verdicts, and tables of a gate's error rates.
 * @module
 */

import { commandLine } from "../base/command_line.ts";
import { printable } from "../base/json.ts";
import { wrapText } from "../base/wrap.ts";
import { type GateReport, verdictName } from "../gate/gate_report.ts";
import type { Check } from "../gate/self_check.ts";
import { headlineText, verdictLine, verdictNameIn } from "./_answers.ts";
import { type Detail, tableOf } from "./columns.ts";
import { FailedTrials } from "./failures.ts";
import { MAX_CELLS } from "./metrics/_breakdowns.ts";
import { PAIRS } from "./metrics/_comparisons.ts";
import { LOST_TOOLS } from "./metrics/_lost_tools.ts";
import type { Report } from "./report.ts";
import { shortNames } from "./_short_names.ts";
import { alignedTable, cellText } from "./text_table.ts";
import { noteText, SECTIONS, sourceText, type Table } from "./_view.ts";
import { tablesOf } from "./_views.ts";

/**
 * Returns the tables of all trials after a run, without what differs from run to run, such as times. No line is longer
 * than `width`: long names of models are shortened, which the first lines explain, and tables go on below one another.
 */
export function renderTables(whole: Report, width = Infinity): string {
  return fit(whole, width, (report) => runParts(report, width));
}

/** Returns the tables of all trials, the verdicts of gates, and then how variants compare with references. */
export function renderGate(whole: Report, width = Infinity): string {
  return fit(whole, width, (report) => {
    const isReferred = PAIRS.rows(report).some(({ of, reference }) =>
      of === "strategy" && reference
    );
    return [
      // The gate compares, and pairs that it did not decide on would only distract.
      ...runParts(
        report,
        width,
        ({ section, id }) => section !== "comparisons" || id === LOST_TOOLS.id,
      ),
      ...report.gates.map((gate) => renderVerdicts(gate, report)),
      ...(isReferred ? PAIRS.tables(report, "run") : []).map((table) => renderTable(table, width)),
    ];
  });
}

/** Returns a report: its headline, its notes, its tables, the failures that are given, and the verdicts of its gates. */
export function renderReport(
  whole: Report,
  width = Infinity,
  failures: FailedTrials = new FailedTrials(),
): string {
  const tables = fit(whole, width, (report) => [
    verdictLine(report.gates, report) ?? "",
    headlineText(report) ?? "",
    ...tablesOf(report, "terminal").filter(({ section }) => section === "headline")
      .map((table) => renderTable(table, width)),
    report.notes.map((note) => `* ${printable(note, 1000)}`).join("\n"),
    renderParts(report, width, "terminal"),
    leftOut(report),
    failures.lines(false, undefined, true).join("\n"),
    ...report.gates.map((gate) => renderVerdicts(gate, report)),
  ]);
  const title = wrapText(printable(whole.suite, 300), width);
  return tables === "" ? title : `${title}\n\n${tables}`;
}

/** Returns what is rendered of a report with short names, below what these stand for. */
function fit(report: Report, width: number, render: (report: Report) => readonly string[]): string {
  const names = shortNames(report.subjects.map(({ subject }) => subject.model), width);
  const legend = [...names.forms].map(([name, form]) =>
    `${form} stands for ${printable(name, 1_000)}`
  );
  const parts = [legend.join("\n"), ...render(report.withNames(names))];
  return wrapText(parts.filter((part) => part !== "").join("\n\n"), width);
}

/** Returns what follows a run; the matrix of a single variant has all that its headline has. */
function runParts(
  report: Report,
  width: number,
  isMeant: (table: Table) => boolean = () => true,
): string[] {
  const { subjects, simulated } = report;
  const [first = "", ...others] = [
    ...(subjects.length > 1
      ? tablesOf(report, "run").filter(({ section }) => section === "headline")
        .map((table) => renderTable(table, width))
      : []),
    renderParts(report, width, "run", isMeant),
  ];
  return [(simulated ? `(${simulated}: a program, no language model)\n` : "") + first, ...others];
}

/** Returns one paragraph a subject: its verdict, then its numbers; names are those of `report`, if given. */
export function renderVerdicts(
  { verdicts, text }: GateReport,
  report?: Pick<Report, "nameOf">,
): string {
  if (text !== undefined) return text;
  return verdicts.map((one) => {
    const name = report === undefined ? verdictName(one) : verdictNameIn(report, one);
    return [`${name}: ${one.text}`, ...one.numbers.map((line) => `  ${line}`)].join("\n");
  }).join("\n\n");
}

/** At most this many are shown then of the lowest rows of tests. */
const MAX_LOWEST = 12;

/** Renders all tables but that of the headline, which reports have before their notes. */
function renderParts(
  report: Report,
  width: number,
  detail: Detail,
  isMeant: (table: Table) => boolean = () => true,
): string {
  const { subjects } = report;
  const tables = partsOf(report, detail).filter(isMeant);
  const isLine = (table: Table | undefined) => subjects.length === 1 && table?.line === true;
  return tables.map((table, place) => {
    if (isLine(table)) return lineOf(table) + (isLine(tables[place + 1]) ? "\n" : "\n\n");
    // What several models have is explained once.
    const isExplained = tables.slice(0, place).some((other) => noteText(other) === noteText(table));
    return `${renderTable(table, width, !isExplained)}\n\n`;
  }).join("").trimEnd();
}

/** Returns the tables that a terminal has below its headline. */
function partsOf(report: Report, detail: Detail): Table[] {
  return tablesOf(report, detail)
    .filter(({ section }) => section !== "headline")
    .flatMap((table) => SECTIONS[table.section].isOfCells ? shortMatrix(table, report) : [table]);
}

/** Names the tables that a page has and a terminal does not, and the command that writes them. */
function leftOut(report: Report): string {
  const shown = new Set(partsOf(report, "terminal").map(({ id }) => id));
  const titles = tablesOf(report)
    .filter(({ id, section }) => section !== "headline" && !shown.has(id))
    .map(({ kind, title }) => printable(kind ?? title, 100));
  return titles.length === 0
    ? ""
    : `Left out here: ${[...new Set(titles)].join("; ")}. With all tables: ` +
      commandLine("report F.jsonl --html report.html");
}

/** Returns a table with one row as a line. */
function lineOf({ title, note, heads, rows: [row] }: Table): string {
  const cells = heads.slice(1).map(({ text }, place) => `${text} ${cellText(row![place + 1]!)}`);
  return printable(
    `${title}: ${cells.join(", ")}${note === undefined ? "" : ` (${note})`}`,
    1_000,
  );
}

/** Returns what a terminal shows of a long matrix: the lowest rows of tests, and the sum of a single variant. */
function shortMatrix(table: Table, { words, subjects }: Report): Table[] {
  const { id, title, rows } = table;
  const cells = rows.length - 1;
  if (cells <= MAX_CELLS) return [table];
  const isOfTests = words.cell === "test";
  if (!isOfTests && (id !== "matrix" || subjects.length > 1)) return [];
  const lowest = isOfTests ? MAX_LOWEST : 0;
  return [{
    ...table,
    title: `${title} (${isOfTests ? `the lowest ${lowest} of ${cells}` : `all ${cells}`})`,
    rows: [...rows.slice(0, lowest), rows.at(-1)!],
  }];
}

/** Returns a table as text: its title, its note if it is to be explained, and aligned columns. */
export function renderTable(table: Table, width: number, isExplained = true): string {
  const source = sourceText(table);
  const note = isExplained ? printable(noteText(table), 2_000) : "";
  return [
    printable(table.title + (source === "" ? "" : ` (${source})`), 300),
    ...(note === "" ? [] : [`(${note})`]),
    alignedTable(table, width),
  ].join("\n");
}

const VERDICTS = ["pass", "fail", "undecided", "invalid"] as const;

/** Returns a table of the decisions of gates on simulations whose true rate is known. */
export function renderChecks(checks: readonly Check[], width = Infinity): string {
  return tableOf(checks, [
    { unit: "name", head: "truth", value: ({ truth }) => truth },
    { unit: "text", head: "error", value: ({ error }) => error },
    { unit: "share", head: "allowed", value: ({ allowed }) => allowed },
    { unit: "share", head: "seen", value: ({ rate, interval }) => ({ value: rate, interval }) },
    VERDICTS.map((kind) => ({ unit: "count", head: kind, value: ({ gates }) => gates[kind] })),
  ], { id: "checks", section: "success", title: "" })
    .map((table) => alignedTable(table, width)).join("");
}
