/**
 * Reports of histories for terminals.
 * @module
 */

import { printable } from "../base/json.ts";
import { wrapText } from "../base/wrap.ts";
import { variantLabel } from "../gate/variant.ts";
import { type HistoryReport, type HistoryStream, historyTable } from "./history.ts";
import { renderTable } from "./terminal.ts";

/** Longer lines are cut: those that name many files. */
const MAX_LINE = 1_000;

const nameOf = ({ subject, simulated }: HistoryStream) => variantLabel(subject, simulated);

function canaryText(stream: HistoryStream): string[] {
  const { canary } = stream;
  return canary === undefined ? [] : [`${nameOf(stream)}: ${canary.text}`];
}

/** Returns a report of a history: what the canary says, its remarks, a table for each stream, and what was left out. */
export function renderHistory(report: HistoryReport, width = Infinity): string {
  const { suite, remarks, streams, leftOut } = report;
  const lines = (texts: readonly string[]) =>
    texts.map((text) => printable(text, MAX_LINE)).join("\n");
  const parts = [
    printable(suite, 300),
    lines([...streams.flatMap(canaryText), ...remarks]),
    ...streams.flatMap((stream) =>
      historyTable(stream, { id: "stream", title: nameOf(stream) })
        .map((table) => renderTable(table, width))
    ),
    lines(leftOut),
  ];
  return wrapText(parts.filter((part) => part !== "").join("\n\n"), width);
}
