// One trial on a report's page: its facts, its graph, and its events.

// @ts-check
/// <reference lib="dom" />
/// <reference lib="esnext" />

import { loadGraphviz, make } from "./parts.js";

/** @typedef {import("./parts.js").Content} Content */

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

/** Returns the elements of a trial below its bar; its graph is drawn later. @param {OpenTrial} open */
export function trialParts({ trial, task }) {
  return [
    summaryParts(trial),
    factList(trial.facts),
    make(
      "div",
      { class: task?.kind === "case" ? "beside shown" : "beside" },
      make("div", { id: "graph" }, sidePanel(trial, task)),
      make("div", make("h3", "What happened"), eventList(trial.events, "events")),
    ),
    offer(trial, task),
    rerunParts(trial),
  ];
}

/** Returns how a trial ended, and the mistake to look at. @param {any} trial */
export function summaryParts({ summary, mistake }) {
  return [make("p.summary", summary), mistake && make("p", { class: "why mistake" }, mistake)];
}

/** @param {[name: string, value: string][]} facts */
export function factList(facts) {
  return make("dl", facts.map(([name, value]) => make("div", make("dt", name), make("dd", value))));
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
  return [make("div.bar", make("strong", "To run it again:"), copy), rerun];
}

/** Returns a part that is folded behind its name. @param {string} name @param {...Content} content */
export const folded = (name, ...content) => make("details", make("summary", name), ...content);

/** Returns the prompt and the tools, folded. @param {any} trial @param {any} task */
function offer(trial, task) {
  if (task === null || task.kind === "case") return [];
  const changes = task.changes?.map((/** @type {any} */ { title, lines }) => [
    make("p.change", title),
    make("ul", lines.map((/** @type {string} */ line) => make("li.value", line))),
  ]);
  const tools = JSON.stringify(task.tools, null, 2);
  return folded(trial.offer, changes, make("pre", task.prompt), make("pre", tools));
}

/** @param {any[]} events @param {string} id @param {ReadonlySet<any>} marked Where two trials differ first. */
export function eventList(events, id, marked = new Set()) {
  const items = events.map((event) => {
    const item = eventItem(event);
    if (marked.has(event)) item.classList.add("first");
    return item;
  });
  const nothing = id === "" ? "nothing" : "The journal holds no events of this trial.";
  if (items.length === 0) items.push(make("li.faint", nothing));
  return make("ol.events", id === "" ? {} : { id }, items);
}

/** @param {any} trial @param {any} task @returns {Content} */
export function sidePanel(trial, task) {
  if (task === null) return make("p.faint", trial.alone);
  if (task.kind === "case") return shownParts(trial, task);
  if (task.dot !== undefined) return graphFrame();
  return [
    make("h3", "What is probed"),
    make("p", task.probed),
    make("h3", "The question"),
    make("pre", task.prompt),
    make("p.faint", "A probe has no graph."),
  ];
}

/** Returns what the model of a case was shown. @param {any} trial @param {any} task */
function shownParts(trial, task) {
  return [
    make("h3", "What the model was shown"),
    make("p.faint", trial.offer),
    task.lacks && make("p.why", task.lacks),
    task.texts.map((/** @type {[string, string]} */ [name, text]) => [
      make("h4", name),
      make("pre", { id: `shown-${name}` }, text),
    ]),
    make("h4", task.tools.length === 0 ? "no tools" : `tools: ${task.tools.length}`),
    task.tools.map((/** @type {any} */ { name, description, schema }) =>
      make(
        "div.tool",
        make("strong", name),
        make("div.value", description),
        schema !== undefined && folded("parameters", make("pre", schema)),
      )
    ),
  ];
}

function graphFrame() {
  const drawing = make("div.drawing", make("p.faint", "Drawing ..."));
  const size = make("button", { type: "button" }, "actual size");
  size.addEventListener("click", () => {
    size.textContent = drawing.classList.toggle("full") ? "fit" : "actual size";
  });
  return [
    make("div.bar", make("h3", "The hidden graph"), size),
    drawing,
    make(
      "p.roles",
      make("span.core", "core"),
      make("span.connected", "irrelevant, connected"),
      make("span.disconnected", "irrelevant, disconnected"),
      make("span.target", "target"),
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
      frame.replaceChildren(make("p.why", `The graph cannot be drawn: ${error}`));
    }
  }
}

/** @param {any} event */
function eventItem(event) {
  const { kind, title, role, state, failure } = event;
  if (kind !== "call") {
    return make(
      "li",
      { class: kind },
      make("span.faint", title),
      kind === "state"
        ? event.changes.map((/** @type {any} */ { sign, text }) =>
          make("div", { class: `value ${sign}`.trim() }, text)
        )
        : make("div.value", event.text),
      event.more?.map((/** @type {[string, string]} */ [name, text]) =>
        folded(name, make("div.value", text))
      ),
    );
  }
  const inputs = event.inputs.map((/** @type {any} */ { name, value, wrong }) =>
    make(
      "div",
      make("span.value", `${name} = ${value}`),
      wrong !== undefined && make("div.why", `\u2717 ${wrong}`),
    )
  );
  const told = state === "irrelevant" ? "not needed" : state === "guessed" && "right, but guessed";
  return make(
    "li",
    { class: `${role ?? ""} ${state}`.trim() },
    make("span.faint", `${title} `),
    make("strong", event.function),
    make("span.faint", ` ${[role, told, event.fault].filter(Boolean).join(", ")}`),
    make(
      "div.call",
      make("div", event.written === undefined ? inputs : make("div.value", event.written)),
      make("div.faint", "\u2192"),
      make("div.value", event.returned),
    ),
    event.unperturbed !== undefined && make(
      "p.faint",
      "the function itself returned ",
      make("span.value", event.unperturbed),
    ),
    failure && make(
      "p.why",
      `\u2717 ${failure.type.replaceAll("_", " ")} ` +
        `(${failure.root ? "root" : "cascade"}): ${failure.cause}`,
    ),
    event.parameters?.map((/** @type {string} */ line) => make("p.parameter", line)),
  );
}
