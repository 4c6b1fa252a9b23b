// One trial on a report's page: its facts, its graph, and its events.

// @ts-check
/// <reference lib="dom" />
/// <reference lib="esnext" />

import { badge, element, loadGraphviz, make } from "./parts.js";

/**
 * The position of a trial in the list, and the indices of its neighbours, if there are any.
 * @typedef {object} Position
 * @property {number} place
 * @property {string} outcome
 * @property {number | undefined} previous
 * @property {number | undefined} next
 */

/**
 * Returns the elements of a trial; its graph is drawn later.
 * @param {Position} position
 * @param {any} trial
 * @param {any} task
 */
export function trialParts({ place, outcome, previous, next }, trial, task) {
  /** @param {string} text @param {number | undefined} other */
  const step = (text, other) =>
    other === undefined
      ? make("span", { class: "faint" }, text)
      : make("a", { href: `#trial-${other + 1}` }, text);
  const copy = make("button", { type: "button", id: "copy" }, "copy");
  const rerun = make("pre", { id: "rerun" }, trial.rerun ?? "");
  copy.addEventListener("click", async () => {
    getSelection()?.selectAllChildren(rerun);
    await navigator.clipboard?.writeText(trial.rerun).then(
      () => copy.textContent = "copied",
      () => copy.textContent = "selected: press Ctrl+C",
    );
  });
  const events = make("ol", { id: "events" }, ...trial.events.map(eventItem));
  if (trial.events.length === 0) {
    events.append(make("li", {}, "The journal holds no events of this trial."));
  }
  return [
    make(
      "div",
      { class: "bar" },
      make("h3", {}, `trial ${place + 1}`),
      badge(outcome),
      step("previous", previous),
      step("next", next),
      make("a", { href: "#trials" }, "close"),
    ),
    make("p", { id: "summary" }, trial.summary),
    ...(trial.mistake === undefined
      ? []
      : [make("p", { class: "why", id: "mistake" }, trial.mistake)]),
    make(
      "dl",
      {},
      ...trial.facts.map((/** @type {[string, string]} */ [name, value]) =>
        make("div", {}, make("dt", {}, name), make("dd", {}, value))
      ),
    ),
    ...(trial.rerun === undefined
      ? []
      : [make("div", { class: "bar" }, make("strong", {}, "To run it again:"), copy), rerun]),
    make(
      "div",
      { class: task?.kind === "case" ? "beside shown" : "beside" },
      make("div", { id: "graph" }, ...sidePanel(trial, task)),
      make("div", {}, make("h3", {}, "What happened"), events),
    ),
    ...(task === null || task.kind === "case" ? [] : [
      make(
        "details",
        {},
        make("summary", {}, trial.offer),
        ...(task.changes ?? []).flatMap(changeParts),
        make("pre", {}, task.prompt),
        make("pre", {}, JSON.stringify(task.tools, null, 2)),
      ),
    ]),
  ];
}

/** Returns the changes of one perturbation. @param {any} change */
function changeParts({ title, lines }) {
  return [
    make("p", { class: "change" }, title),
    make(
      "ul",
      {},
      ...lines.map((/** @type {string} */ line) => make("li", { class: "value" }, line)),
    ),
  ];
}

/** @param {any} trial @param {any} task */
function sidePanel(trial, task) {
  if (task === null) return [make("p", { class: "faint" }, trial.alone)];
  if (task.kind === "case") return shownParts(trial, task);
  if (task.dot !== undefined) return graphFrame();
  return [
    make("h3", {}, "What is probed"),
    make("p", {}, task.probed),
    make("h3", {}, "The question"),
    make("pre", {}, task.prompt),
    make("p", { class: "faint" }, "A probe has no graph."),
  ];
}

/** Returns what the model of a case was shown. @param {any} trial @param {any} task */
function shownParts(trial, task) {
  return [
    make("h3", {}, "What the model was shown"),
    make("p", { class: "faint" }, trial.offer),
    ...(task.lacks === undefined ? [] : [make("p", { class: "why" }, task.lacks)]),
    ...task.texts.flatMap((/** @type {[string, string]} */ [name, text]) => [
      make("h4", {}, name),
      make("pre", { id: `shown-${name}` }, text),
    ]),
    make("h4", {}, task.tools.length === 0 ? "no tools" : `tools: ${task.tools.length}`),
    ...task.tools.map((/** @type {any} */ tool) =>
      make(
        "div",
        { class: "tool" },
        make("strong", {}, tool.name),
        make("div", { class: "value" }, tool.description),
        ...(tool.schema === undefined
          ? []
          : [make("details", {}, make("summary", {}, "parameters"), make("pre", {}, tool.schema))]),
      )
    ),
  ];
}

function graphFrame() {
  const size = make("button", { type: "button" }, "actual size");
  size.addEventListener("click", () => {
    const full = element("drawing").classList.toggle("full");
    size.textContent = full ? "fit" : "actual size";
  });
  return [
    make("div", { class: "bar" }, make("h3", {}, "The hidden graph"), size),
    make("div", { id: "drawing" }, make("p", { class: "faint" }, "Drawing ...")),
    make(
      "p",
      { class: "key" },
      make("span", { class: "core" }, "core"),
      make("span", { class: "connected" }, "irrelevant, connected"),
      make("span", { class: "disconnected" }, "irrelevant, disconnected"),
      make("span", { class: "target" }, "target"),
      "Bold numbers: the calls in their order; \u2717 failed, (\u2717) failed as a cascade, ! met a fault.",
    ),
  ];
}

/**
 * Draws the graph of a trial, unless it was closed in the meantime.
 * @param {string} dot
 * @param {string} marks
 * @param {() => boolean} isOpen
 */
export async function drawGraph(dot, marks, isOpen) {
  try {
    const viz = await loadGraphviz();
    if (!isOpen()) return;
    const end = dot.lastIndexOf("}");
    const drawing = viz.renderSVGElement(`${dot.slice(0, end)}${marks}\n}`);
    drawing.setAttribute("role", "img");
    drawing.setAttribute("aria-label", "the graph of the task, with the numbers of the calls");
    element("drawing").replaceChildren(drawing);
  } catch (error) {
    element("drawing").replaceChildren(
      make("p", { class: "why" }, `The graph cannot be drawn: ${error}`),
    );
  }
}

/** @param {any} event */
function eventItem(event) {
  if (event.kind === "state") {
    return make(
      "li",
      { class: "state" },
      make("span", { class: "faint" }, event.title),
      ...event.changes.map((/** @type {any} */ { sign, text }) =>
        make("div", { class: `value ${sign}`.trim() }, text)
      ),
    );
  }
  if (event.kind !== "call") {
    return make(
      "li",
      { class: event.kind },
      make("span", { class: "faint" }, event.title),
      make("div", { class: "value" }, event.text),
      ...(event.more ?? []).map((/** @type {[string, string]} */ [name, text]) =>
        make(
          "details",
          {},
          make("summary", {}, name),
          make("div", { class: "value" }, text),
        )
      ),
    );
  }
  const inputs = event.written === undefined
    ? event.inputs.map((/** @type {any} */ input) =>
      make(
        "div",
        {},
        make("span", { class: "value" }, `${input.name} = ${input.value}`),
        ...(input.wrong === undefined
          ? []
          : [make("div", { class: "why" }, `\u2717 ${input.wrong}`)]),
      )
    )
    : [make("div", { class: "value" }, event.written)];
  const notes = [
    ...(event.role === undefined ? [] : [event.role]),
    ...(event.state === "irrelevant" ? ["not needed"] : []),
    ...(event.state === "guessed" ? ["right, but guessed"] : []),
    ...(event.fault === undefined ? [] : [event.fault]),
  ];
  return make(
    "li",
    { class: `${event.role ?? ""} ${event.state}`.trim() },
    make("span", { class: "faint" }, `${event.title} `),
    make("strong", {}, event.function),
    make("span", { class: "faint" }, ` ${notes.join(", ")}`),
    make(
      "div",
      { class: "call" },
      make("div", {}, ...inputs),
      make("div", { class: "faint" }, "\u2192"),
      make("div", { class: "value" }, event.returned),
    ),
    ...(event.unperturbed === undefined ? [] : [
      make(
        "p",
        { class: "unperturbed" },
        "the function itself returned ",
        make("span", { class: "value" }, event.unperturbed),
      ),
    ]),
    ...(event.failure === undefined ? [] : [
      make(
        "p",
        { class: "why" },
        `\u2717 ${event.failure.type.replaceAll("_", " ")} ` +
          `(${event.failure.root ? "root" : "cascade"}): ${event.failure.cause}`,
      ),
    ]),
    ...(event.parameters ?? []).map((/** @type {string} */ line) =>
      make("p", { class: "parameter" }, line)
    ),
  );
}
