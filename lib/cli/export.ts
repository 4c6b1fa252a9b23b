/**
 * `export`: conversations of journals as training data.
 * @module
 */

import { InputError } from "../base/errors.ts";
import { printable } from "../base/json.ts";
import { Output, resolvePath } from "../base/output_file.ts";
import { questionSource } from "../runs/question_tasks.ts";
import { type TrainingTally, writeTrainingData } from "../toolkit/training/examples.ts";
import { TRAINING_FORMATS } from "../toolkit/training/format.ts";
import { trainingFormat } from "../toolkit/training/registry.ts";
import { Arguments, userPath } from "./arguments.ts";

export const EXPORT_HELP =
  `toolgate export F.jsonl... --format F: conversations with tools, to train models on

Each trial is run once more with its recorded replies: a conversation is written only if all of its calls,
its answer and its outcome come out as the journal says. How many are not, and why, is told on stderr.

  --format F      openai-chat: lines {"messages", "tools", "parallel_tool_calls"}, OpenAI's form for
                  fine-tuning chat models; hermes: lines {"conversations"}, ShareGPT's form with calls
                  within <tool_call> tags
  --only solved   trials only that were solved, and whose answer a call had really returned
  --set PATH      where a call set lies whose questions were asked; may be given several times
  --out FILE      where to write; there must be no such file yet (default: stdout)
  --metadata F    writes each line's metadata to a file of its own, line by line, and leaves it out of the
                  lines: for whoever takes lines with documented keys only, as OpenAI may

The "metadata" of a line says where it comes from: trial, suite, plan, generator, task, model, served, api,
simulated, strategy, perturbation, outcome, grounded; and "recovery" what went wrong in a trial that was
solved all the same. In openai-chat, replies with a call that failed have "weight": 0, so that they are not
trained on. What simulated models said is marked by "simulated": "true". Cases of one's own (toolTest) cannot
be run again from the command line, and are left out.

Exit code 0.`;

/** Writes training data. */
export async function exportTrials(arguments_: readonly string[]): Promise<number> {
  const options = new Arguments("export", arguments_, {
    values: ["format", "only", "out", "metadata"],
    lists: ["set"],
  });
  if (options.operands.length === 0) {
    throw options.error("it takes one journal or more: none is given");
  }
  const given = options.text("format");
  const id = TRAINING_FORMATS.find((one) => one === given);
  if (id === undefined) {
    throw options.error(
      `--format must be ${TRAINING_FORMATS.join(" or ")}: ${
        given === undefined ? "it is not given" : `it is ${given}`
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
  using beside = sidecar === undefined
    ? undefined
    : new Output(userPath(sidecar), "the metadata to");
  const tally = await writeTrainingData(
    options.operands.map(userPath),
    { format: trainingFormat(id), onlySolved: only === "solved", sets },
    (line, metadata) => {
      const text = JSON.stringify(beside === undefined ? { ...line, metadata } : line);
      beside?.write(`${JSON.stringify(metadata)}\n`);
      if (lines === undefined) console.log(text);
      else lines.write(`${text}\n`);
    },
  );
  lines?.finish();
  beside?.finish();
  for (const notice of tally.notices) console.error(printable(notice, 1_000));
  console.error(tell(tally, out));
  return 0;
}

/** What was paid for, and what somebody may train on, is never written over. */
function assertNewFiles(options: Arguments): void {
  const taken = new Map<string, string>();
  for (const name of ["out", "metadata"]) {
    const file = options.text(name);
    if (file === undefined) continue;
    const place = resolvePath(userPath(file));
    if (taken.has(place)) {
      throw options.error(`each file can be written once only: ${file} is named twice`);
    }
    taken.set(place, file);
    if (!exists(place)) continue;
    throw new InputError(
      `Cannot write to ${file} as there must be no such file yet: remove it, or name another one`,
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

/** What was written and what was not, for people. */
function tell(
  { trials, written, recovered, simulated, same, skipped }: TrainingTally,
  out: string | undefined,
): string {
  const left = [...skipped.values()].reduce((sum, count) => sum + count, 0);
  return [
    `Wrote ${count(written, "conversation")} of ${count(trials, "trial")}` +
    (out === undefined ? "" : ` to ${out}`),
    ...(recovered === 0 ? [] : [`  ${recovered} marked as recovered from what went wrong`]),
    ...(simulated === 0 ? [] : [
      `  ${simulated} said by simulated models: programs, to try this out, and not to train on`,
    ]),
    ...(same === 0 ? [] : [`  ${same} left out as the same conversation is there already`]),
    ...(left === 0 ? [] : [`  ${left} left out:`]),
    ...Array.from(skipped, ([reason, count]) => `    ${count}: ${reason}`),
  ].join("\n");
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}
