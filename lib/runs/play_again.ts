/**
 * Plays trials of journals again: where the truth is data, each line must say what its own events give.
 * @module
 */

import { InputError, reasonOf } from "../base/errors.ts";
import { printable } from "../base/json.ts";
import { countText, grouped } from "../base/numbers.ts";
import { fork, freshSeed } from "../base/random.ts";
import { shuffle } from "@std/random";
import { GENERATOR_VERSION, generatorText } from "../tasks/graphs/task.ts";
import { type Derivation, deriveAgain } from "../trials/derive.ts";
import { isCase, isQuestion } from "../tasks/task_kind.ts";
import { openTask, type TaskOpener } from "../trials/executors/tasks.ts";
import { strategyChoice, strategyName } from "../trials/strategies/entry.ts";
import type { Trial } from "../trials/trial.ts";
import { type JournalFile, wholeTrial } from "./journal/journal.ts";
import type { PlanLine } from "./journal/plan_line.ts";
import { withCallSets } from "./question_tasks.ts";
import { getOrInsertComputed } from "../base/get_or_insert.ts";

/** Where a trial is. */
type KeptTrial = readonly [file: JournalFile, id: string];

/** Trials that `gate`, `accept` and `history add` each play again, at most. */
const SAMPLE_SIZE = 200;

/**
 * Plays a random sample of the trials of journals again, and returns what to say about it. It is drawn after the
 * journals were read, so that nobody can know which trials are in it.
 *
 * @throws {InputError} If a line disagrees with its own events; the message has file, line, trial and field.
 */
export async function playSample(files: readonly JournalFile[]): Promise<string[]> {
  const all = placesOf(files);
  const seed = freshSeed();
  const isWhole = all.length <= SAMPLE_SIZE;
  const picked = isWhole ? all : shuffle(all, fork(seed, "sample")).slice(0, SAMPLE_SIZE);
  const { agree, disagreements: [first], notices } = await play(picked);
  if (first !== undefined) throw new InputError(`Cannot judge ${first}`);
  const played = `${agree} of ${grouped(all.length)} trials played again` +
    (isWhole ? "" : ` (seed ${seed})`);
  return [...(agree === 0 ? [] : [`${played}: all agree`]), ...notices];
}

/**
 * Plays all trials of journals again, whose plans must have them. Returns how many gave what their lines say, a sentence
 * with file, line, trial and field for each other one, and notices about trials that stand as recorded although their
 * truth is data.
 */
export async function playAll(files: readonly JournalFile[]) {
  return await play(placesOf(files));
}

function placesOf(files: readonly JournalFile[]): KeptTrial[] {
  return files.flatMap((file) => file.trials.map(({ id }): KeptTrial => [file, id]));
}

async function play(places: readonly KeptTrial[]) {
  const players = new Map<JournalFile, (trial: Trial) => Promise<Derivation>>();
  const disagreements: string[] = [];
  const recorded = new Map<string, number>();
  let agree = 0;
  for (const [file, id] of places) {
    const place = file.places.get(id)!;
    const derive = getOrInsertComputed(players, file, playerOf);
    const result = await derive(wholeTrial(file.path, place));
    if (result.kind === "agrees") agree++;
    else if (result.kind === "differs") {
      disagreements.push(
        `${file.path}, line ${place.line}: trial ${printable(id, 500)} disagrees with its own ` +
          `events: ${printable(result.field)} is ${result.recorded}, and its events give ` +
          result.derived,
      );
    } else if (result.why !== undefined) {
      recorded.set(result.why, (recorded.get(result.why) ?? 0) + 1);
    }
  }
  const notices = Array.from(
    recorded,
    ([why, count]) => `taken as recorded, not derived again: ${countText(count, "trial")} ${why}`,
  );
  return { agree, disagreements, notices };
}

/** Returns what derives the trials of a journal again. */
function playerOf({ plan }: JournalFile): (trial: Trial) => Promise<Derivation> {
  const { limits = {}, references = false, generator, strategies } = plan!.resolved;
  const { open, missing } = setsOf(plan!);
  const choices = new Map(strategies.map((entry) => [strategyName(entry), strategyChoice(entry)]));
  const whyNone = generator === GENERATOR_VERSION ? undefined : generatorText(generator);
  return async (trial) => {
    const why = isCase(trial.task)
      ? undefined
      : whyNone ?? (isQuestion(trial.task) ? missing : undefined);
    if (why !== undefined) return { kind: "recorded", why };
    const strategy = choices.get(trial.strategy)!;
    return await deriveAgain(trial, { limits, references, strategy, open });
  };
}

/** Opens tasks without the time that faults take, with the call sets of a plan; says why these cannot be read. */
function setsOf(
  { suite, resolved, places }: PlanLine,
): { readonly open: TaskOpener; readonly missing?: string } {
  const quick = (open: TaskOpener): TaskOpener => (spec, options) =>
    open(spec, { ...options, waits: false });
  try {
    const { open = openTask } = withCallSets({ suite, resolved, trials: [], places });
    return { open: quick(open) };
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    const missing = `of a call set that cannot be read (${reasonOf(error)})`;
    return { open: quick(openTask), missing };
  }
}
