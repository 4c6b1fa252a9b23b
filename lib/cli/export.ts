/**
 * `export`: writes conversations of journals as training data.
 * @module
 */

import { userPath } from "../base/command_line.ts";
import { cannot } from "../base/errors.ts";
import { jsonText, printable, printableJson } from "../base/json.ts";
import { countText, sum } from "../base/numbers.ts";
import { isThere, Output } from "../base/output_file.ts";
import { questionSource } from "../runs/question_tasks.ts";
import { type TrainingTally, writeTrainingData } from "../toolkit/training/examples.ts";
import { TRAINING_FORMATS, trainingFormat } from "../toolkit/training/registry.ts";
import { command } from "./command.ts";
import { JOURNALS, journalsOf, UNCHECKED_OPTION } from "./journals.ts";

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
      help:
        "openai-chat: OpenAI's form for fine-tuning chat models; hermes: ShareGPT's form with " +
        "calls within <tool_call> tags",
    },
    only: {
      value: "solved",
      choices: ["solved"],
      help: "only solved trials, with answers that calls returned",
    },
    set: { value: "PATH", several: true, help: "a call set that was asked; several times" },
    out: { value: "FILE", help: "the file to write, which must not exist yet; default stdout" },
    unchecked: UNCHECKED_OPTION,
  },
  notes:
    `The "metadata" of a line says where it comes from; "simulated": "true" marks replies of simulated models. Cases
of toolTest cannot be run again from the command line, and are left out.

Exit code 0.`,
  needs: ({ out }) => out === undefined ? ["read"] : ["read", "write"],
  rules: [
    [({ format }) => format === undefined, `--format ${TRAINING_FORMATS.join(" or ")} is needed`],
  ],
  async run({ format, only, set = [], out, unchecked }, { operands }) {
    const journals = journalsOf(operands);
    // A file may be paid for, or in use for training.
    if (out !== undefined && isThere(userPath(out))) {
      const state = "remove it, or name another one";
      throw cannot(`write to ${out}`, "there must be no such file yet", state);
    }
    const sets = questionSource(set.map((set) => ({ set })), userPath);
    for (const warning of sets?.warnings ?? []) console.error(printable(warning, 2_000));
    using lines = out === undefined ? undefined : new Output(userPath(out), "the conversations to");
    const tally = await writeTrainingData(
      journals.map(userPath),
      { format: trainingFormat(format!), onlySolved: only !== undefined, sets, unchecked },
      (line, metadata) => {
        const whole = { ...line, metadata };
        if (lines === undefined) console.log(printableJson(whole));
        else lines.write(`${jsonText(whole)}\n`);
      },
    );
    lines?.finish();
    for (const notice of tally.notices) console.error(printable(notice, 1_000));
    console.error(tallyText(tally, out));
    return 0;
  },
});

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
