/**
 * `export`: writes conversations of journals as training data.
 * @module
 */

import { userPath } from "../base/command_line.ts";
import { cannot } from "../base/errors.ts";
import { printable, printableJson } from "../base/json.ts";
import { countText, sum } from "../base/numbers.ts";
import { isThere, Output, resolvePath } from "../base/output_file.ts";
import { questionSource } from "../runs/question_tasks.ts";
import { type TrainingTally, writeTrainingData } from "../toolkit/training/examples.ts";
import { TRAINING_FORMATS } from "../toolkit/training/format.ts";
import { trainingFormat } from "../toolkit/training/registry.ts";
import { command } from "./command.ts";
import { JOURNALS, journalsOf } from "./journals.ts";

/** Writes training data. */
export const exportTrials = command({
  usage: "F.jsonl|FOLDER... --format F [OPTIONS]",
  takes: JOURNALS,
  about:
    `Each trial is run again with its recorded replies: a conversation is written only if all of its calls,
its answer and its outcome are those of the journal. The number left out, and why, is printed to stderr.`,
  options: {
    format: {
      value: "F",
      choices: TRAINING_FORMATS,
      help: 'openai-chat: lines {"messages", "tools", "parallel_tool_calls"}, OpenAI\'s form for ' +
        'fine-tuning chat models; hermes: lines {"conversations"}, ShareGPT\'s form with calls ' +
        "within <tool_call> tags",
    },
    only: {
      value: "solved",
      choices: ["solved"],
      help: "only trials that were solved, and whose answer a call had returned",
    },
    set: {
      value: "PATH",
      several: true,
      help: "a call set whose questions were asked; may be given several times",
    },
    out: { value: "FILE", help: "the file to write, which must not exist yet; default stdout" },
    metadata: {
      value: "F",
      help:
        "writes the metadata of each line to another file, line by line, and leaves it out of " +
        "the lines: for services that accept documented keys only, as OpenAI's may",
    },
  },
  notes:
    `The "metadata" of a line says where it comes from: trial, suite, plan, generator, task, model, served, api,
simulated, strategy, perturbation, outcome, grounded; "recovery" lists the errors of a trial that was solved
nevertheless. In openai-chat, replies with a failed call have "weight": 0, so that they are not trained on.
Replies of simulated models are marked by "simulated": "true". Cases of toolTest cannot be run again from the
command line, and are left out.

Exit code 0.`,
  needs: ({ out, metadata }) => out === metadata ? ["read"] : ["read", "write"],
  rules: [
    [({ format }) => format === undefined, `--format ${TRAINING_FORMATS.join(" or ")} is needed`],
    [
      ({ out, metadata }) =>
        out !== undefined && metadata !== undefined && placeOf(out) === placeOf(metadata),
      "each file can be written only once: --out and --metadata name the same one",
    ],
  ],
  async run({ format, only, set = [], out, metadata }, { operands }) {
    const journals = journalsOf(operands);
    // A file may be paid for, or in use for training.
    for (const file of [out, metadata]) {
      if (file === undefined || !isThere(userPath(file))) continue;
      const state = "remove it, or name another one";
      throw cannot(`write to ${file}`, "there must be no such file yet", state);
    }
    const sets = questionSource(set.map((set) => ({ set })), userPath);
    for (const warning of sets?.warnings ?? []) console.error(printable(warning, 2_000));
    using lines = out === undefined ? undefined : new Output(userPath(out), "the conversations to");
    using metadataLines = metadata === undefined
      ? undefined
      : new Output(userPath(metadata), "the metadata to");
    const tally = await writeTrainingData(
      journals.map(userPath),
      { format: trainingFormat(format!), onlySolved: only !== undefined, sets },
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
  },
});

const placeOf = (file: string): string => resolvePath(userPath(file));

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
