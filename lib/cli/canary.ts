/**
 * `canary`: watches a history for drift.
 * @module
 */

import { printableJson } from "../base/json.ts";
import { commandWidth } from "../base/terminal_width.ts";
import { wrapText } from "../base/wrap.ts";
import { completeCanary } from "../gate/canary.ts";
import { annotationLine } from "../reports/job_summary.ts";
import { partOf } from "../runs/history/history.ts";
import { watchedName, watchHistory } from "../runs/history/watch.ts";
import { number, wholeFrom } from "../runs/flags.ts";
import { command } from "./command.ts";
import { FOLDERS, historyIn } from "./journals.ts";

/** Prints the verdict on each model to stdout. */
export const canary = command({
  usage: "DIR... [OPTIONS]",
  takes: FOLDERS,
  about:
    `Compares the runs in the folders of a history with the last release of each model, strategy and
perturbation, day by day: those that ran since, of the same tasks but fresh seeds, and of the same served
model. All runs of a day (UTC) count together; days may be missing, and may have any number of trials. An
alarm means that the success rate is below the lower bound of the release's rate, less a tolerance. It stays
until another release is accepted. False alarms come in at most 5% of years, over all watched models.`,
  options: {
    suite: { value: "S", help: "the suite; default that of the last release" },
    tolerance: {
      value: "T",
      read: number,
      help: "how far below the lower bound is still no drift; default 0.01",
    },
    drop: { value: "D", read: number, help: "the drop that should be found soonest; default 0.05" },
    confidence: { value: "C", read: number, help: "confidence of the lower bound; default 0.95" },
    coverage: {
      value: "C",
      read: number,
      help: "share of a run's trials that must be valid at the first attempt; default 0.95",
    },
    maxAge: { value: "DAYS", read: wholeFrom(1), help: "how old the last day may be; default 7" },
    json: { help: "prints the verdicts as JSON" },
  },
  notes: "Exit code 0 no alarm, 1 alarm, 3 the last record cannot be used or is too old.",
  needs: ["read"],
  run({ suite, json, maxAge = 7, ...given }, { operands }) {
    const policy = completeCanary(given);
    const part = partOf(historyIn(operands), suite);
    const report = watchHistory(part, policy, { now: new Date(), maxAge });
    for (const line of report.leftOut) console.error(line);
    const text = report.watched.map((one) =>
      [`${watchedName(one)}: ${one.text}`, ...one.numbers].join("\n  ")
    ).join("\n\n");
    console.log(json ? printableJson(report, 2) : wrapText(text, commandWidth()));
    if (report.exitCode !== 0) {
      const title = `${report.suite}: drift canary`;
      const line = annotationLine({ title, message: text, file: part.records.at(-1)!.path });
      if (line !== undefined) console.error(line);
    }
    return report.exitCode;
  },
});
