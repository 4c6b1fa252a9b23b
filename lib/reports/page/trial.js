// One trial on a report's page: its facts, its graph, and its events.

// @ts-check
/// <reference lib="dom" />
/// <reference lib="esnext" />

import { loadGraphviz, make } from "./parts.js";

/**
 * A trial that is open: its place in the list, how the list names it, its data and that of its task.
 * @typedef {object} OpenTrial
 * @property {number} place
 * @property {string} outcome
 * @property {string} word The outcome in the words of the report.
 * @property {string} name The names of its model and its task.
 * @property {any} trial
 * @property {any} task `null` where it is unknown.
 */

/**
 * Returns the elements of a trial below its bar; its graph is drawn later.
 * @param {OpenTrial} open
 */
export function trialParts({ trial, task }) {
  return [
    ...summaryParts(trial),
    make("dl", {}, ...trial.facts.map(factItem)),
    make(
      "div",
      { class: task?.kind === "case" ? "beside shown" : "beside" },
      make("div", { id: "graph" }, ...sidePanel(trial, task)),
      make("div", {}, make("h3", {}, "What happened"), eventList(trial.events, "events")),
    ),
    ...offerParts(trial, task),
    ...rerunParts(trial),
  ];
}

/** Returns how a trial ended, and the mistake to look at. @param {any} trial */
export function summaryParts(trial) {
  return [
    make("p", { class: "summary" }, trial.summary),
    ...(trial.mistake === undefined ? [] : [make("p", { class: "why mistake" }, trial.mistake)]),
  ];
}

/** @param {[string, string]} fact */
export function factItem([name, value]) {
  return make("div", {}, make("dt", {}, name), make("dd", {}, value));
}

/** Returns the command that runs a trial again, which can be copied. @param {any} trial */
function rerunParts(trial) {
  if (trial.rerun === undefined) return [];
  const copy = make("button", { type: "button", id: "copy" }, "copy");
  const rerun = make("pre", { id: "rerun" }, trial.rerun);
  copy.addEventListener("click", async () => {
    getSelection()?.selectAllChildren(rerun);
    await navigator.clipboard?.writeText(trial.rerun).then(
      () => copy.textContent = "copied",
      () => copy.textContent = "selected: press Ctrl+C",
    );
  });
  return [make("div", { class: "bar" }, make("strong", {}, "To run it again:"), copy), rerun];
}

/** Returns the prompt and the tools, folded. @param {any} trial @param {any} task */
function offerParts(trial, task) {
  if (task === null || task.kind === "case") return [];
  return [
    make(
      "details",
      {},
      make("summary", {}, trial.offer),
      ...(task.changes ?? []).flatMap(changeParts),
      make("pre", {}, task.prompt),
      make("pre", {}, JSON.stringify(task.tools, null, 2)),
    ),
  ];
}

/** @param {any[]} events @param {string} id @param {ReadonlySet<any>} marked Where two trials differ first. */
export function eventList(events, id, marked = new Set()) {
  const items = events.map((event) => {
    const item = eventItem(event);
    if (marked.has(event)) item.classList.add("first");
    return item;
  });
  const nothing = id === "" ? "nothing" : "The journal holds no events of this trial.";
  if (items.length === 0) items.push(make("li", { class: "faint" }, nothing));
  return make("ol", { class: "events", ...(id === "" ? {} : { id }) }, ...items);
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
export function sidePanel(trial, task) {
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
  const drawing = make("div", { class: "drawing" }, make("p", { class: "faint" }, "Drawing ..."));
  const size = make("button", { type: "button" }, "actual size");
  size.addEventListener("click", () => {
    size.textContent = drawing.classList.toggle("full") ? "fit" : "actual size";
  });
  return [
    make("div", { class: "bar" }, make("h3", {}, "The hidden graph"), size),
    drawing,
    make(
      "p",
      { class: "roles" },
      make("span", { class: "core" }, "core"),
      make("span", { class: "connected" }, "irrelevant, connected"),
      make("span", { class: "disconnected" }, "irrelevant, disconnected"),
      make("span", { class: "target" }, "target"),
      "Bold numbers: the calls in their order; \u2717 failed, (\u2717) failed as a cascade, ! met a fault.",
    ),
  ];
}

/**
 * Draws the graphs of trials that are open, each in its frame, unless they were closed in the meantime.
 * @param {readonly OpenTrial[]} trials
 * @param {NodeListOf<Element>} frames One for each, or for the first.
 * @param {() => boolean} isOpen
 */
export async function drawGraphs(trials, frames, isOpen) {
  const drawn = trials.filter(({ task }) => task?.dot !== undefined);
  for (const [place, frame] of [...frames].entries()) {
    const { trial, task } = /** @type {OpenTrial} */ (drawn[place]);
    try {
      const viz = await loadGraphviz();
      if (!isOpen()) return;
      const end = task.dot.lastIndexOf("}");
      const drawing = viz.renderSVGElement(`${task.dot.slice(0, end)}${trial.dotMarks}\n}`);
      drawing.setAttribute("role", "img");
      drawing.setAttribute("aria-label", "the graph of the task, with the numbers of the calls");
      frame.replaceChildren(drawing);
    } catch (error) {
      frame.replaceChildren(make("p", { class: "why" }, `The graph cannot be drawn: ${error}`));
    }
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
        { class: "faint" },
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
