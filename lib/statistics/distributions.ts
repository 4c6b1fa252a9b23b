/**
 * The binomial, normal and Student's t distributions, and searches for the point from which a condition
 * holds.
 * @module
 */

/** Returns the sum of a number of each item. */
export function sum<T>(items: readonly T[], valueOf: (item: T) => number): number {
  return items.reduce((total, item) => total + valueOf(item), 0);
}

/**
 * Returns the probability of exactly `successes` in `trials` independent trials of the given `rate`, by
 * Loader's saddle-point expansion, which keeps its relative accuracy for any number of trials.
 *
 * @throws {RangeError} If the counts are not whole numbers, or the rate is not in 0..1.
 * @see Loader, "Fast and Accurate Computation of Binomial Probabilities", 2000.
 */
export function binomialProbability(successes: number, trials: number, rate: number): number {
  assertBinomial(successes, trials, rate);
  if (successes < 0 || successes > trials) return 0;
  if (rate === 0) return successes === 0 ? 1 : 0;
  if (rate === 1) return successes === trials ? 1 : 0;
  if (successes === 0) return Math.exp(trials * Math.log1p(-rate));
  if (successes === trials) return Math.exp(trials * Math.log(rate));
  const failures = trials - successes;
  const exponent = stirlingError(trials) - stirlingError(successes) - stirlingError(failures) -
    deviance(successes, trials * rate) - deviance(failures, trials * (1 - rate));
  return Math.exp(exponent) * Math.sqrt(trials / (2 * Math.PI * successes * failures));
}

function assertBinomial(successes: number, trials: number, rate: number): void {
  if (!Number.isSafeInteger(successes) || !Number.isSafeInteger(trials) || trials < 0) {
    throw new RangeError(
      `Cannot compute a probability as counts must be whole numbers, and trials from 0: ` +
        `there are ${successes} of ${trials}`,
    );
  }
  if (!(rate >= 0 && rate <= 1)) {
    throw new RangeError(`Cannot compute a probability as rate must be from 0 to 1: it is ${rate}`);
  }
}

/** log(n!) less Stirling's approximation of it. */
function stirlingError(n: number): number {
  if (n < SMALL_ERRORS.length) return SMALL_ERRORS[n]!;
  const square = n * n;
  return (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - 1 / 1188 / square) / square) / square) /
      square) / n;
}

/** The errors below 16, where the series is not yet accurate. */
const SMALL_ERRORS: readonly number[] = Array.from({ length: 16 }, (_, n) => {
  let logFactorial = 0;
  for (let factor = 2; factor <= n; factor++) logFactorial += Math.log(factor);
  return logFactorial - (n + 0.5) * Math.log(n) + n - 0.5 * Math.log(2 * Math.PI);
});

/** x log(x/mean) + mean - x, without cancellation if the two are close. */
function deviance(x: number, mean: number): number {
  const difference = x - mean;
  if (Math.abs(difference) >= 0.1 * (x + mean)) return x * Math.log(x / mean) - difference;
  const ratio = difference / (x + mean);
  let sum = difference * ratio;
  let term = 2 * x * ratio;
  for (let odd = 3;; odd += 2) {
    term *= ratio * ratio;
    const next = sum + term / odd;
    if (next === sum) return sum;
    sum = next;
  }
}

/**
 * Returns the probability of at least `successes` in `trials` independent trials of the given `rate`.
 *
 * @throws {RangeError} As {@linkcode binomialProbability}.
 */
export function binomialUpperTail(successes: number, trials: number, rate: number): number {
  assertBinomial(successes, trials, rate);
  if (successes <= 0) return 1;
  if (successes > trials || rate === 0) return 0;
  if (rate === 1) return 1;
  // Terms are summed away from the mode, where they only decrease, until they are negligible.
  if (successes <= trials * rate) return 1 - binomialLowerTail(successes - 1, trials, rate);
  let term = binomialProbability(successes, trials, rate);
  let sum = term;
  for (let count = successes; count < trials && term > sum * 1e-18; count++) {
    term *= (trials - count) / (count + 1) * rate / (1 - rate);
    sum += term;
  }
  return Math.min(1, sum);
}

/**
 * Returns the probability of at most `successes` in `trials` independent trials of the given `rate`.
 *
 * @throws {RangeError} As {@linkcode binomialProbability}.
 */
export function binomialLowerTail(successes: number, trials: number, rate: number): number {
  assertBinomial(successes, trials, rate);
  if (successes < 0) return 0;
  if (successes >= trials || rate === 0) return 1;
  if (rate === 1) return 0;
  if (successes >= trials * rate) return 1 - binomialUpperTail(successes + 1, trials, rate);
  let term = binomialProbability(successes, trials, rate);
  let sum = term;
  for (let count = successes; count > 0 && term > sum * 1e-18; count--) {
    term *= count / (trials - count + 1) * (1 - rate) / rate;
    sum += term;
  }
  return Math.min(1, sum);
}

/**
 * Returns the probability that a standard normal variable is at most `x`: by Marsaglia's series, and in the
 * tails, where that cancels, by Laplace's continued fraction.
 *
 * @see Marsaglia, "Evaluating the Normal Distribution", 2004.
 * @see Abramowitz and Stegun, "Handbook of Mathematical Functions", 26.2.14.
 */
export function normalCumulative(x: number): number {
  if (x > 0) return 1 - normalCumulative(-x);
  const density = Math.exp(-x * x / 2) / Math.sqrt(2 * Math.PI);
  if (x < -3) {
    let fraction = 0;
    for (let level = 100; level >= 1; level--) fraction = level / (fraction - x);
    return density / (fraction - x);
  }
  let sum = x;
  for (let term = x, odd = 3; Math.abs(term) > 1e-18; odd += 2) {
    term *= x * x / odd;
    sum += term;
  }
  return 0.5 + sum * density;
}

/**
 * Returns the x that a standard normal variable stays below with the given probability.
 *
 * @throws {RangeError} If the probability is not between 0 and 1.
 */
export function normalQuantile(probability: number): number {
  if (!(probability > 0 && probability < 1)) {
    throw new RangeError(
      `Cannot find a quantile as probability must be between 0 and 1: it is ${probability}`,
    );
  }
  if (probability > 0.5) return 0 - normalQuantile(1 - probability);
  // Below -40 every probability underflows.
  return 40 * bisect((place) => normalCumulative(40 * place - 40) >= probability) - 40;
}

/**
 * The share of Student's t distribution within `t` of 0 on either side, by the finite sums for whole
 * degrees of freedom (Abramowitz and Stegun, 26.7.3 and 26.7.4).
 */
function studentWithin(t: number, degrees: number): number {
  const angle = Math.atan(t / Math.sqrt(degrees));
  const [sine, cosine] = [Math.sin(angle), Math.cos(angle)];
  const odd = degrees % 2 === 1;
  let term = odd ? cosine : 1;
  let sum = degrees === 1 ? 0 : term;
  for (let power = odd ? 3 : 2; power <= degrees - 2; power += 2) {
    term *= cosine * cosine * (power - 1) / power;
    sum += term;
  }
  return odd ? 2 / Math.PI * (angle + sine * sum) : sine * sum;
}

/**
 * Returns the t that a variable with Student's distribution stays below with the given probability.
 *
 * @throws {RangeError} If the probability is not between 0.5 and 1, or `degrees` is not a whole number of
 * at least 1.
 */
export function studentQuantile(probability: number, degrees: number): number {
  if (!(probability >= 0.5 && probability < 1 && Number.isSafeInteger(degrees) && degrees >= 1)) {
    throw new RangeError(
      "Cannot find a quantile as probability must be from 0.5 to below 1 and degrees a whole number " +
        `from 1 on: they are ${probability} and ${degrees}`,
    );
  }
  // Bisects the angle, as it is bounded and t is not.
  const angle = Math.PI / 2 * bisect((place) => {
    const t = Math.sqrt(degrees) * Math.tan(Math.PI / 2 * place);
    return place === 1 || (1 + studentWithin(t, degrees)) / 2 >= probability;
  });
  return Math.sqrt(degrees) * Math.tan(angle);
}

/**
 * Returns the probability that a variable with Student's distribution is at least `t`. In the tail, where
 * subtracting the share within `t` would cancel, it uses the continued fraction of the incomplete beta
 * function, which keeps its relative accuracy.
 *
 * @throws {RangeError} If t is not a number, or `degrees` is not a whole number of at least 1.
 * @see Press and others, "Numerical Recipes", 6.4.
 */
export function studentTail(t: number, degrees: number): number {
  if (Number.isNaN(t) || !Number.isSafeInteger(degrees) || degrees < 1) {
    throw new RangeError(
      `Cannot compute a probability as t must be a number and degrees a whole number from 1 on: they are ${t} ` +
        `and ${degrees}`,
    );
  }
  if (t < 0) return 1 - studentTail(-t, degrees);
  if (t === Infinity) return 0;
  const [a, b] = [degrees / 2, 0.5];
  // t's share of the sum of squares, and the rest: neither is computed by subtraction.
  const ratio = t * t / degrees;
  const [own, rest] = [ratio === Infinity ? 1 : ratio / (1 + ratio), 1 / (1 + ratio)];
  const logRest = ratio === Infinity ? 2 * Math.log(Math.sqrt(degrees) / t) : -Math.log1p(ratio);
  // rest^a own^b / beta(a, b)
  const front = Math.exp(a * logRest) * Math.sqrt(own) * gammaRatio(a) / Math.sqrt(Math.PI);
  return rest < (a + 1) / (a + b + 2)
    ? front * betaFraction(rest, a, b) / a / 2
    : (1 - front * betaFraction(own, b, a) / b) / 2;
}

/** gamma(x + 1/2) / gamma(x), by its series in 1/x, which needs a large x. */
function gammaRatio(x: number): number {
  let factor = 1;
  for (; x < 100; x++) factor *= x / (x + 0.5);
  const y = 1 / (8 * x);
  const series = 1 -
    y * (1 - y * (1 / 2 + y * (5 / 2 - y * (21 / 8 + y * 399 / 8))));
  return factor * Math.sqrt(x) * series;
}

/** The continued fraction of the incomplete beta function, by Lentz's method. */
function betaFraction(x: number, a: number, b: number): number {
  const nonzero = (value: number) => Math.abs(value) < 1e-300 ? 1e-300 : value;
  let numerator = 1;
  let denominator = 1 / nonzero(1 - (a + b) * x / (a + 1));
  let fraction = denominator;
  for (let m = 1, change = 0; Math.abs(change - 1) > 1e-15; m++) {
    change = 1;
    const even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    const odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    for (const part of [even, odd]) {
      denominator = 1 / nonzero(1 + part * denominator);
      numerator = nonzero(1 + part / numerator);
      change *= numerator * denominator;
    }
    fraction *= change;
  }
  return fraction;
}

/** Returns the point in [0, 1] from which on `holds` is true; 1 if there is none. */
export function bisect(holds: (place: number) => boolean): number {
  let [below, above] = [0, 1];
  for (let halving = 0; halving < 100 && below < above; halving++) {
    const middle = (below + above) / 2;
    if (middle === below || middle === above) break;
    if (holds(middle)) above = middle;
    else below = middle;
  }
  return above;
}

/** Returns the whole number in `least..most` from which on `holds` is true; `most + 1` if there is none. */
export function bisectWhole(
  least: number,
  most: number,
  holds: (count: number) => boolean,
): number {
  let [below, above] = [least - 1, most + 1];
  while (above - below > 1) {
    const middle = Math.floor((below + above) / 2);
    if (holds(middle)) above = middle;
    else below = middle;
  }
  return above;
}
