/**
 * `canary`: watches the nights of a history for drift.
 * @module
 */

import { printableJson } from "../base/json.ts";
import { commandWidth } from "../base/terminal_width.ts";
import { wrapText } from "../base/wrap.ts";
import { completeCanary } from "../gate/canary.ts";
import { annotationLine } from "../reports/job_summary.ts";
import { partOf, readHistory } from "../runs/history/history.ts";
import { watchedName, watchHistory } from "../runs/history/watch.ts";
import { Arguments, userPath } from "./arguments.ts";

export const CANARY_HELP =
  `Compares the nights in the folders of a history with the last release of each model, strategy and
perturbation: those that ran since, of the same tasks but fresh seeds, and of the same served model. Runs of
one day in UTC are one night; nights may be left out, and may have any number of trials. An alarm means that
the success rate is lower than the lower bound of the release's, less a tolerance; false ones come in at
most 5% of years, over all models that are watched. It stays until another release is accepted.

  --suite S        the suite (default: that of the last release)
  --tolerance T    how far below the lower bound is still no drift (default 0.01)
  --drop D         the drop that should be found soonest (default 0.05)
  --confidence C   confidence of the lower bound (default 0.95)
  --coverage C     share of a night's trials that must be valid at the first go (default 0.95)
  --json           prints the verdicts as JSON

Exit code 0 no alarm, 1 alarm, 3 the last night has no usable trials.`;

/** Prints the verdict on each model to stdout. */
export function canary(arguments_: readonly string[]): number {
  const options = new Arguments("canary", arguments_, {
    values: ["suite", "tolerance", "drop", "confidence", "coverage"],
    switches: ["json"],
  });
  if (options.operands.length === 0) {
    throw options.error("it takes the folder of a history, or several: none is given");
  }
  const names = ["tolerance", "drop", "confidence", "coverage"] as const;
  const given = names.map((name) => [name, options.number(name)] as const);
  const policy = completeCanary(
    Object.fromEntries(given.filter(([, value]) => value !== undefined)),
  );
  const folders = options.operands.map((shown) => ({ path: userPath(shown), shown }));
  const part = partOf(readHistory(folders), options.text("suite"));
  const report = watchHistory(part, policy);
  for (const line of report.leftOut) console.error(line);
  const text = report.watched.map((one) =>
    [`${watchedName(one)}: ${one.text}`, ...one.numbers].join("\n  ")
  ).join("\n\n");
  console.log(
    options.has("json") ? printableJson(report, 2) : wrapText(text, commandWidth()),
  );
  if (report.exitCode !== 0) {
    const title = `${report.suite}: drift canary`;
    const line = annotationLine({ title, message: text, file: part.records.at(-1)!.path });
    if (line !== undefined) console.error(line);
  }
  return report.exitCode;
}
