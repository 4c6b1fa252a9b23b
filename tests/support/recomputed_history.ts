/**
 * What a history tells, computed anew from its files alone, as a stranger would from the documents: no module of the
 * project is imported, sums are written out in place of recursions, and probabilities are summed up term by term.
 */

/** A record or an acceptance, as it stands in its file. */
// deno-lint-ignore no-explicit-any
type File = any;

/** Reads all files of a folder. */
function filesIn(folder: string): File[] {
  return [...Deno.readDirSync(folder)].filter(({ name }) => name.endsWith(".json"))
    .map(({ name }) => JSON.parse(Deno.readTextFileSync(`${folder}/${name}`)));
}

/** The logarithm of n!. */
function logFactorial(n: number): number {
  let log = 0;
  for (let k = 2; k <= n; k++) log += Math.log(k);
  return log;
}

/** The probability of at least `solved` of `trials` at a rate. */
function atLeast(solved: number, trials: number, rate: number): number {
  let sum = 0;
  for (let k = solved; k <= trials; k++) {
    sum += Math.exp(
      logFactorial(trials) - logFactorial(k) - logFactorial(trials - k) +
        k * Math.log(rate) + (trials - k) * Math.log(1 - rate),
    );
  }
  return sum;
}

/** Clopper and Pearson's lower bound, one-sided. */
export function lowerBound(solved: number, trials: number, confidence: number): number {
  let [low, high] = [1e-12, 1 - 1e-12];
  for (let step = 0; step < 60; step++) {
    const middle = (low + high) / 2;
    if (atLeast(solved, trials, middle) < 1 - confidence) low = middle;
    else high = middle;
  }
  return low;
}

/** A night of one model. */
export interface RecomputedNight {
  readonly date: string;
  readonly solved: number;
  readonly valid: number;
  readonly trials: number;
  /** The sum of all bets after it. */
  readonly sum: number;
}

/** Returns the nights of the first model since the last release, with the sum of bets after each. */
export function recomputeNights(
  folder: string,
  { tolerance, drop, confidence }: { tolerance: number; drop: number; confidence: number },
): { readonly nullRate: number; readonly nights: RecomputedNight[] } {
  const files = filesIn(folder);
  const last = files.filter(({ kind }) => kind === "acceptance")
    .sort((one, other) => one.acceptedAt < other.acceptedAt ? 1 : -1)[0];
  const release = files.find(({ checksum }) => checksum === last.record);
  const count = (record: File) => {
    const { trials } = record.subjects[0];
    const outcomes: string[] = trials.map((one: File) => one?.outcome ?? "missing");
    const valid = outcomes.filter((one) => one !== "invalid" && one !== "missing").length;
    return {
      solved: outcomes.filter((one) => one === "solved").length,
      valid,
      trials: outcomes.length,
    };
  };
  const reference = count(release);
  const rate = reference.solved / reference.valid;
  const nullRate = lowerBound(reference.solved, reference.trials, confidence) - tolerance;
  const alternatives = [drop / 2, drop, 2 * drop, 4 * drop].map((one) => rate - one);
  const usable = alternatives.filter((one) => one > 0 && one < nullRate);
  const isPlanned = (one: number) => one === alternatives[1];
  const weights = usable.map((one) =>
    isPlanned(one) ? 0.5 : 0.5 / usable.filter((other) => !isPlanned(other)).length
  );
  const records = files.filter((one) => one.kind === "record" && one.startedAt > release.endedAt)
    .sort((one, other) => one.startedAt < other.startedAt ? -1 : 1);
  const counted = records.map((record) => ({
    date: record.startedAt.slice(0, 10),
    ...count(record),
  }));
  /** What a bet for one alternative gains in a night: an invalid trial counts as solved. */
  const gain = ({ solved, valid, trials }: typeof counted[number], alternative: number) => {
    if (valid < 0.95 * trials) return 1;
    const failed = valid - solved;
    // A bet that is best if the alternative is true multiplies by the ratio of both probabilities.
    return ((1 - alternative) / (1 - nullRate)) ** failed *
      (alternative / nullRate) ** (trials - failed);
  };
  const nights = counted.map((night, end) => {
    let sum = 0;
    for (let start = 0; start <= end; start++) {
      if (counted[start]!.valid < 0.95 * counted[start]!.trials) continue;
      for (const [place, alternative] of usable.entries()) {
        const bets = counted.slice(start, end + 1).map((one) => gain(one, alternative));
        sum += weights[place]! * bets.reduce((product, one) => product * one, 1);
      }
    }
    return { ...night, sum };
  });
  return { nullRate, nights };
}
