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
  const steps = both.map(({ trial }) => stepsOf(trial.events));
  // Steps of other tools may be any numbers.
  const order = [...new Set(steps.flatMap((own) => [...own.keys()]))].sort((one, other) =>
    one - other
  );
  const difference = firstDifference(steps, order);
  const line = make(
    "div.difference",
    { id: "difference", tabindex: "-1" },
    difference === undefined
      ? "Their calls and answers are the same."
      : `The first difference is in ${difference.where}:`,
    difference?.told.map((told, side) =>
      make("div", `trial ${(both[side]?.place ?? 0) + 1}: `, make("span.value", told))
    ),
  );
  /** @param {OpenTrial} open @param {number} side @param {number} step */
  const stepPart = ({ place, name }, side, step) =>
    make(
      "div",
      make("p.faint whose", `trial ${place + 1}, ${name}`),
      eventList(steps[side]?.get(step) ?? [], "", difference?.events),
    );
  return [
    make(
      "div.pair heads",
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
        make("h4", titleOf(step)),
        both.map((open, side) => stepPart(open, side, step)),
      ),
    ]),
  ];
}

/** @param {number} step */
const titleOf = (step) => step === END ? "the end" : `step ${step}`;

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
    make("div.pair", differing.map(factList)),
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
 * Returns the first step whose calls or answers differ, with what differs of both in words, and these events;
 * `undefined` if nothing does.
 * @param {Map<number, any[]>[]} steps @param {number[]} order
 * @returns {{ step: number, where: string, told: string[], events: ReadonlySet<any> } | undefined}
 */
function firstDifference(steps, order) {
  for (const step of order) {
    const [own = [], other = []] = steps.map((events) =>
      (events.get(step) ?? []).filter((event) => toldOf(event) !== undefined)
    );
    const differing = [without(own, other), without(other, own)];
    const events = new Set(differing.flat());
    if (events.size === 0) continue;
    const [where, nothing] = step === END
      ? ["the answer", "no answer"]
      : [titleOf(step), "no such call"];
    const told = differing.map((some) => short(some.map(toldOf).join(" and ")) || nothing);
    return { step, where, told, events };
  }
  return undefined;
}

/** Returns what two trials are compared by: a call, whose arguments have no order, or the answer. @param {any} event */
function toldOf({ call, name, inputs, written, told }) {
  if (call === undefined) return told;
  const given = inputs?.map((/** @type {string[]} */ [parameter, value]) =>
    `${parameter}=${value}`
  );
  return `${name}(${given?.sort().join(", ") ?? written})`;
}

/** Returns the events that others lack; those of one step have no order. @param {any[]} events @param {any[]} others */
function without(events, others) {
  const left = others.map(toldOf);
  return events.filter((event) => {
    const place = left.indexOf(toldOf(event));
    if (place >= 0) left.splice(place, 1);
    return place < 0;
  });
}

/** @param {string} text */
function short(text) {
  return text.length <= LONGEST ? text : `${text.slice(0, LONGEST)} ...`;
}
