// Two trials side by side on a report's page, step by step, and the first difference between them.

// @ts-check
/// <reference lib="dom" />
/// <reference lib="esnext" />

import { badge, make } from "./parts.js";
import { eventList, factList, folded, sidePanel, summaryParts } from "./trial.js";

/** @typedef {import("./trial.js").OpenTrial} OpenTrial */

/** The step of what comes after all calls, such as the answer. */
const END = Infinity;

/** At most this much of a call is told in words. */
const LONGEST = 160;

/**
 * Returns the elements of two trials below their bar.
 * @param {readonly [OpenTrial, OpenTrial]} both
 */
export function besideParts(both) {
  const difference = firstDifference(both.map(({ trial }) => trial.events));
  const steps = both.map(({ trial }) => stepsOf(trial.events));
  const order = [...new Set(steps.flatMap((own) => [...own.keys()]))].sort((one, other) =>
    one - other
  );
  const line = make(
    "p.difference",
    { id: "difference", tabindex: "-1" },
    difference?.text ?? "Their calls and answers are the same.",
  );
  /** @param {OpenTrial} open @param {number} side @param {number} step */
  const stepPart = ({ place, name }, side, step) =>
    make(
      "div",
      make("p", { class: "faint whose" }, `trial ${place + 1}, ${name}`),
      eventList(steps[side]?.get(step) ?? [], "", difference?.events),
    );
  return [
    make(
      "div",
      { class: "pair heads" },
      both.map(({ place, outcome, word, name, trial }) =>
        make(
          "div",
          make("h4", `trial ${place + 1} `, badge(outcome, word)),
          make("p", name),
          summaryParts(trial),
        )
      ),
    ),
    factParts(both),
    taskPart(both),
    make("h4", "What happened, step by step"),
    difference === undefined && line,
    order.map((step) => [
      step === difference?.step && line,
      make(
        "section.pair",
        make("h4", step === END ? "the end" : `step ${step}`),
        both.map((open, side) => stepPart(open, side, step)),
      ),
    ]),
  ];
}

/** Returns the facts that differ, and folded those that do not. @param {readonly [OpenTrial, OpenTrial]} both */
function factParts(both) {
  const [own, other] = /** @type {[[string, string][], [string, string][]]} */ (
    both.map(({ trial }) => trial.facts)
  );
  /** @param {[string, string][]} facts @param {[string, string]} fact */
  const has = (facts, [name, value]) => facts.some((one) => one[0] === name && one[1] === value);
  const same = own.filter((fact) => has(other, fact));
  const differing = [own, other].map((facts) => facts.filter((fact) => !has(same, fact)));
  return [
    make("div", { class: "pair facts" }, differing.map(factList)),
    folded(`${same.length} facts of both`, factList(same)),
  ];
}

/** Returns what the models were shown: once if it is the same. @param {readonly [OpenTrial, OpenTrial]} both */
function taskPart([one, other]) {
  const title = one.task?.dot === undefined ? "What the model was shown" : "The hidden graph";
  const parts = one.task === other.task
    ? sidePanel(one.trial, one.task)
    : [one, other].map(({ place, trial, task }) => [
      make("h4", `trial ${place + 1}`),
      sidePanel(trial, task),
    ]);
  return make("details", { id: "graph" }, make("summary", title), parts);
}

/** Returns events by step: those before a call belong to its step, those after all calls to the end. @param {any[]} events */
function stepsOf(events) {
  /** @type {Map<number, any[]>} */
  const steps = new Map();
  let step = END;
  for (const event of events.toReversed()) {
    step = event.step ?? step;
    steps.set(step, [event, ...steps.get(step) ?? []]);
  }
  return steps;
}

/**
 * Returns the first step whose calls differ, or that the answers do, in words, with the events that differ;
 * `undefined` if nothing does.
 * @param {any[][]} both
 * @returns {{ step: number, text: string, events: ReadonlySet<any> } | undefined}
 */
function firstDifference(both) {
  const calls = both.map((events) =>
    Map.groupBy(events.filter(({ kind }) => kind === "call"), ({ step }) => step)
  );
  // Steps of other tools may be any numbers.
  const order = [...new Set(calls.flatMap((own) => [...own.keys()]))];
  for (const step of order.sort((one, other) => one - other)) {
    const [own, other] = calls.map((one) => one.get(step) ?? []);
    const differing = [without(own ?? [], other ?? []), without(other ?? [], own ?? [])];
    if (differing.every(({ length }) => length === 0)) continue;
    const [here, there] = differing.map((some) =>
      some.length === 0 ? "no such call" : short(some.map(callText).join(" and "))
    );
    return {
      step,
      text: `step ${step}: ${here} here, ${there} there`,
      events: new Set(differing.flat()),
    };
  }
  const ends = both.map((events) => events.findLast(({ kind }) => kind === "answer"));
  const [here, there] = ends.map((end) => end === undefined ? "no answer" : answerText(end));
  if (here === there) return undefined;
  return {
    step: END,
    text: `the answer: ${short(here ?? "")} here, ${short(there ?? "")} there`,
    events: new Set(ends),
  };
}

/** Returns the calls that others lack; calls of one step have no order. @param {any[]} calls @param {any[]} others */
function without(calls, others) {
  const left = others.map(callText);
  return calls.filter((call) => {
    const place = left.indexOf(callText(call));
    if (place >= 0) left.splice(place, 1);
    return place < 0;
  });
}

/** Returns a call in words; its arguments have no order. @param {any} call */
function callText(call) {
  const inputs = call.inputs.map((/** @type {any} */ { name, value }) => `${name}=${value}`).sort();
  return `${call.function}(${call.written ?? inputs.join(", ")})`;
}

/** @param {any} answer */
function answerText({ title, text }) {
  return title.startsWith("answer: ") ? title.slice("answer: ".length) : text;
}

/** @param {string} text */
function short(text) {
  return text.length <= LONGEST ? text : `${text.slice(0, LONGEST)} ...`;
}
