/**
 * `export`: writes conversations of journals as training data.
 * @module
 */

import { cannot } from "../base/errors.ts";
import { printable, printableJson } from "../base/json.ts";
import { Output, resolvePath } from "../base/output_file.ts";
import { questionSource } from "../runs/question_tasks.ts";
import { type TrainingTally, writeTrainingData } from "../toolkit/training/examples.ts";
import { TRAINING_FORMATS } from "../toolkit/training/format.ts";
import { trainingFormat } from "../toolkit/training/registry.ts";
import { countText, sum } from "../base/numbers.ts";
import { Arguments, userPath } from "./arguments.ts";
import { journalsGiven } from "./journals.ts";

export const EXPORT_HELP =
  `Each trial is run again with its recorded replies: a conversation is written only if all of its calls,
its answer and its outcome are those of the journal. The number left out, and why, is printed to stderr.

  --format F      openai-chat: lines {"messages", "tools", "parallel_tool_calls"}, OpenAI's form for
                  fine-tuning chat models; hermes: lines {"conversations"}, ShareGPT's form with calls
                  within <tool_call> tags
  --only solved   only trials that were solved, and whose answer a call had returned
  --set PATH      a call set whose questions were asked; may be given several times
  --out FILE      the file to write, which must not exist yet (default: stdout)
  --metadata F    writes the metadata of each line to another file, line by line, and leaves it out of the
                  lines: for services that accept documented keys only, as OpenAI's may

The "metadata" of a line says where it comes from: trial, suite, plan, generator, task, model, served, api,
simulated, strategy, perturbation, outcome, grounded; "recovery" lists the errors of a trial that was solved
nevertheless. In openai-chat, replies with a failed call have "weight": 0, so that they are not trained on.
Replies of simulated models are marked by "simulated": "true". Cases of toolTest cannot be run again from the
command line, and are left out.

Exit code 0.`;

/** Writes training data. */
export async function exportTrials(arguments_: readonly string[]): Promise<number> {
  const options = new Arguments("export", arguments_, {
    values: ["format", "only", "out", "metadata"],
    lists: ["set"],
  });
  const journals = journalsGiven(options);
  const formatText = options.text("format");
  const id = TRAINING_FORMATS.find((one) => one === formatText);
  if (id === undefined) {
    throw options.error(
      `--format must be ${TRAINING_FORMATS.join(" or ")}: ${
        formatText === undefined ? "it is not given" : `it is ${formatText}`
      }`,
    );
  }
  const only = options.text("only");
  if (only !== undefined && only !== "solved") {
    throw options.error(`--only must be solved: it is ${only}`);
  }
  assertNewFiles(options);
  const sets = questionSource(options.list("set").map((set) => ({ set })), userPath);
  for (const warning of sets?.warnings ?? []) console.error(printable(warning, 2_000));
  const [out, sidecar] = ["out", "metadata"].map((name) => options.text(name));
  using lines = out === undefined ? undefined : new Output(userPath(out), "the conversations to");
  using metadataLines = sidecar === undefined
    ? undefined
    : new Output(userPath(sidecar), "the metadata to");
  const tally = await writeTrainingData(
    journals.map(userPath),
    { format: trainingFormat(id), onlySolved: only === "solved", sets },
    (line, metadata) => {
      const whole = metadataLines === undefined ? { ...line, metadata } : line;
      metadataLines?.write(`${JSON.stringify(metadata)}\n`);
      if (lines === undefined) console.log(printableJson(whole));
      else lines.write(`${JSON.stringify(whole)}\n`);
    },
  );
  lines?.finish();
  metadataLines?.finish();
  for (const notice of tally.notices) console.error(printable(notice, 1_000));
  console.error(tallyText(tally, out));
  return 0;
}

/** @throws {InputError} If a file exists, as it may be paid for or in use for training, or is named twice. */
function assertNewFiles(options: Arguments): void {
  const files = new Map<string, string>();
  for (const name of ["out", "metadata"]) {
    const file = options.text(name);
    if (file === undefined) continue;
    const place = resolvePath(userPath(file));
    if (files.has(place)) {
      throw options.error(`each file can be written only once: ${file} is named twice`);
    }
    files.set(place, file);
    if (!exists(place)) continue;
    throw cannot(
      `write to ${file}`,
      "there must be no such file yet",
      "remove it, or name another one",
    );
  }
}

function exists(path: string): boolean {
  try {
    Deno.lstatSync(path);
    return true;
  } catch {
    return false;
  }
}

/** Describes the conversations written and those left out. */
function tallyText(
  { trials, written, recovered, simulated, same, skipped }: TrainingTally,
  out: string | undefined,
): string {
  const skippedCount = sum([...skipped.values()], Number);
  return [
    `Wrote ${countText(written, "conversation")} of ${countText(trials, "trial")}` +
    (out === undefined ? "" : ` to ${out}`),
    ...(recovered === 0 ? [] : [`  ${recovered} marked as recovered from errors`]),
    ...(simulated === 0 ? [] : [
      `  ${simulated} of simulated models: these are programs, for tests and not for training`,
    ]),
    ...(same === 0 ? [] : [`  ${same} left out as duplicates`]),
    ...(skippedCount === 0 ? [] : [`  ${skippedCount} left out:`]),
    ...Array.from(skipped, ([reason, count]) => `    ${count}: ${reason}`),
  ].join("\n");
}
