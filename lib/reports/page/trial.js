// One trial on a report's page: its facts, its graph, and its events.

// @ts-check
/// <reference lib="dom" />
/// <reference lib="esnext" />

import { grow, loadGraphviz, make } from "./parts.js";

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
      "div.beside",
      make("div", { id: "graph" }, sidePanel(trial, task)),
      make("div", make("h3", "What happened"), eventList(trial.events, "events")),
    ),
    task?.offer && folded(trial.offer, grow(task.offer)),
    rerunParts(trial),
  ];
}

/** Returns how a trial ended, and the mistake to look at. @param {any} trial */
export function summaryParts({ summary, mistake }) {
  return [make("p.summary", summary), mistake && make("p.why mistake", mistake)];
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

/** @param {any[]} events @param {string} id @param {ReadonlySet<any>} marked Where two trials differ first. */
export function eventList(events, id, marked = new Set()) {
  const items = events.map((event) => {
    const item = event.call === undefined ? textItem(event) : callItem(event);
    if (marked.has(event)) item.classList.add("first");
    return item;
  });
  const nothing = id === "" ? "nothing" : "The journal holds no events of this trial.";
  if (items.length === 0) items.push(make("li.faint", nothing));
  return make("ol.events", id === "" ? {} : { id }, items);
}

/** Returns an event that is a text. @param {any} event */
const textItem = ({ kind, title, text, more }) =>
  make(`li.${kind}`, make("span.faint", title), make("div.value", text), grow(more));

/** Returns texts that are there, as one. @param {...(string | undefined)} texts */
const listed = (...texts) => texts.filter(Boolean).join(", ");

/** Returns a call. @param {any} event */
function callItem({ call, step, did, name, role, state, note, ...event }) {
  /** @param {string} words @param {string | undefined} text */
  const noted = (words, text) =>
    text !== undefined && make("p.faint", words, make("span.value", text));
  return make(
    `li.${role === undefined ? "" : `${role} `}${state}`,
    make("span.faint", `${listed(`call ${call}, step ${step}`, did)} `),
    make("strong", name),
    make("span.faint", ` ${listed(role, note)}`),
    make(
      "div.call",
      make(
        "div",
        event.inputs?.map((/** @type {string[]} */ [parameter, value, why]) =>
          make(
            "div",
            make("span.value", `${parameter} = ${value}`),
            why && make("div.why", `\u2717 ${why}`),
          )
        ) ?? make("div.value", event.written),
      ),
      make("div.faint", "\u2192"),
      make("div.value", event.returned),
    ),
    noted("the function itself returned ", event.unperturbed),
    noted("an instruction was injected, which demands to ", event.injected),
    event.why && make("p.why", `\u2717 ${event.why}`),
    grow(event.parameters),
  );
}

/** @param {any} trial @param {any} task @returns {Content} */
export const sidePanel = (trial, task) =>
  task?.dot === undefined ? [grow(trial.side), grow(task?.side)] : graphFrame();

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
      "p.roles faint",
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
      const drawing = viz.renderSVGElement(
        `${task.dot.slice(0, end)}${callMarks(task.dot, trial.events)}\n}`,
      );
      drawing.setAttribute("role", "img");
      drawing.setAttribute("aria-label", "the graph of the task, with the numbers of the calls");
      frame.replaceChildren(drawing);
    } catch (error) {
      frame.replaceChildren(make("p.why", `The graph cannot be drawn: ${error}`));
    }
  }
}

/** The colours of calls in a graph, and the marks behind their numbers. */
const MARKS = new Map([
  ["core", ["#111111", ""]],
  ["root", ["#a3001b", " \u2717"]],
  ["cascade", ["#a3001b", " (\u2717)"]],
  ["lost", ["#8a4b00", " !"]],
]);

/**
 * Returns DOT statements that add the numbers of its calls to each function of a graph that was called; they belong
 * before its last brace. Numbers are black; green where the function is not needed; red with a cross where the call
 * failed, in brackets for cascades (FuncBenchGen, Fig. 9); brown with an exclamation mark where a fault lost its
 * result. Calls of unknown functions are left out.
 * @param {string} dot
 * @param {any[]} events
 */
export function callMarks(dot, events) {
  const calls = Map.groupBy(events.filter(({ call }) => call !== undefined), ({ name }) => name);
  return [...dot.matchAll(/^ +(\w+) \[label="([^"]*)"/gm)].flatMap(([, name, label = ""]) => {
    const numbers = (calls.get(name) ?? []).map(({ call, role, mark }) => {
      const [colour, sign] = MARKS.get(mark ?? role) ?? ["#00513a", ""];
      return `<FONT COLOR="${colour}"><B>${call}${sign}</B></FONT>`;
    });
    if (numbers.length === 0) return [];
    // Six numbers a row, so that a function with many calls does not get too wide.
    const rows = Array.from(
      { length: Math.ceil(numbers.length / 6) },
      (_, row) => numbers.slice(6 * row, 6 * row + 6).join("&#160;&#160;"),
    );
    return [`  ${name} [label=<${label.replaceAll("\\n", "<BR/>")}<BR/>${rows.join("<BR/>")}>];`];
  }).join("\n");
}
