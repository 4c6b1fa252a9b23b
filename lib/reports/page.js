// The script of a report's page. It looks up trials, filters them and shows one; it decides nothing:
// every judgement and every word comes from the data that the page holds. Texts of models only ever
// become text nodes.

// @ts-check
/// <reference lib="dom" />
/// <reference lib="esnext" />

/**
 * One line of the list: places in the names of the index, numbers, and where the rest is kept.
 * @typedef {[subject: number, cell: number, graph: number, repetition: number, outcome: number,
 *   calls: number, fewest: number, types: number, roots: number, wrong: number,
 *   chunk: number, place: number, taskChunk: number, taskPlace: number]} Row
 */

/**
 * @typedef {object} Index
 * @property {string[]} subjects
 * @property {string[]} cells
 * @property {string[]} outcomes
 * @property {string[]} types
 * @property {Row[]} rows
 */

const ROWS = 50;

/** @type {Index} */
let index;
/** Places in the list that pass the filters. @type {number[]} */
let shown = [];
let page = 0;

/** @param {string} id */
const element = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/**
 * An element with attributes, and with texts and elements in it.
 * @param {string} name
 * @param {Record<string, string>} attributes
 * @param {...(string | Node)} content
 */
function make(name, attributes, ...content) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...content);
  return made;
}

/**
 * What a block of the page holds. Blocks are unpacked when they are asked for.
 * @param {string} id
 */
async function unpack(id) {
  const bytes = Uint8Array.from(atob(element(id).textContent ?? ""), (one) => one.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  document.documentElement.dataset["unpacked"] = String(
    Number(document.documentElement.dataset["unpacked"] ?? 0) + 1,
  );
  return await new Response(stream).text();
}

/** The blocks unpacked last. @type {Map<number, Promise<any[]>>} */
const blocks = new Map();

/** @param {number} chunk */
function block(chunk) {
  const known = blocks.get(chunk) ?? unpack(`block-${chunk}`).then((text) => JSON.parse(text));
  blocks.delete(chunk);
  blocks.set(chunk, known);
  const [oldest] = blocks.keys();
  if (blocks.size > 8 && oldest !== undefined) blocks.delete(oldest);
  return known;
}

/** Graphviz, once it was needed. @type {Promise<any> | undefined} */
let graphviz;

function loadGraphviz() {
  graphviz ??= new Promise((resolve, reject) => {
    addEventListener("graphviz", (event) => {
      /** @type {CustomEvent} */ (event).detail().then(resolve, reject);
    }, { once: true });
    unpack("graphviz").then((source) => {
      // Its hash stands in the content security policy: nothing else runs here.
      const script = make("script", { type: "module" });
      script.textContent = source;
      document.head.append(script);
    }).catch(reject);
  });
  return graphviz;
}

/** @param {string} id */
const choice = (id) => Number(/** @type {HTMLSelectElement} */ (element(id)).value);

function filter() {
  const subject = choice("subject");
  const cell = choice("cell");
  const outcome = choice("outcome");
  const type = choice("type");
  const rootsOnly = /** @type {HTMLInputElement} */ (element("roots")).checked;
  shown = [];
  index.rows.forEach((row, place) => {
    if (subject >= 0 && row[0] !== subject) return;
    if (cell >= 0 && row[1] !== cell) return;
    // The first outcome is "solved"; -2 asks for all others.
    if (outcome >= 0 ? row[4] !== outcome : outcome === -2 && row[4] === 0) return;
    const types = rootsOnly ? row[8] : row[7];
    if (type === -2 ? types === 0 : type >= 0 && (types & (1 << type)) === 0) return;
    shown.push(place);
  });
  page = 0;
  list();
}

function list() {
  const total = index.rows.length;
  const pages = Math.max(1, Math.ceil(shown.length / ROWS));
  const own = shown.slice(page * ROWS, (page + 1) * ROWS);
  element("count").textContent = `${shown.length.toLocaleString("en-US")} of ` +
    `${total.toLocaleString("en-US")} trials` +
    (pages > 1 ? `, page ${page + 1} of ${pages}` : "");
  const previous = /** @type {HTMLButtonElement} */ (element("previous"));
  const next = /** @type {HTMLButtonElement} */ (element("next"));
  previous.disabled = page === 0;
  next.disabled = page >= pages - 1;
  element("list").replaceChildren(...own.map((place) => {
    const [subject, cell, graph, repetition, outcome, calls, fewest, types, , wrong] =
      /** @type {Row} */ (index.rows[place]);
    const name = /** @type {string} */ (index.outcomes[outcome]);
    const kinds = index.types.filter((_, type) => types & (1 << type)).join(", ");
    return make(
      "tr",
      place === opened() ? { class: "open" } : {},
      make("td", {}, make("a", { href: `#trial-${place + 1}` }, `trial ${place + 1}`)),
      make("td", {}, badge(name)),
      make("td", { class: "words" }, index.subjects[subject] ?? ""),
      make("td", { class: "words" }, index.cells[cell] ?? ""),
      make("td", {}, `graph ${graph}` + (repetition > 1 ? `, repetition ${repetition}` : "")),
      make("td", {}, fewest < 0 ? String(calls) : `${calls} (fewest ${fewest})`),
      make("td", { class: "words" }, wrong === 0 ? "-" : `${wrong}: ${kinds}`),
    );
  }));
}

/** @param {string} outcome */
function badge(outcome) {
  const kind = outcome === "solved" || outcome === "invalid" ? outcome : "failed";
  return make("span", { class: `badge ${kind}` }, outcome.replaceAll("_", " "));
}

/** The place of the trial that the address asks for, -1 for none. */
function opened() {
  const match = /^#trial-(\d{1,7})$/.exec(location.hash);
  const place = match === null ? -1 : Number(match[1]) - 1;
  return place < index.rows.length ? place : -1;
}

async function open() {
  const place = opened();
  const panel = element("trial");
  panel.hidden = place < 0;
  list();
  if (place < 0) return;
  panel.replaceChildren(make("p", { class: "faint" }, "Unpacking ..."));
  const row = /** @type {Row} */ (index.rows[place]);
  const [trial, task] = await Promise.all([
    block(row[10]).then((own) => own[row[11]]),
    row[12] < 0 ? null : block(row[12]).then((own) => own[row[13]]),
  ]);
  if (opened() !== place) return;
  panel.replaceChildren(...content(place, trial, task));
  panel.scrollIntoView({ block: "start" });
  if (task !== null) await drawGraph(place, task.dot, trial.dotMarks);
}

/**
 * @param {number} place
 * @param {any} trial
 * @param {any} task
 */
function content(place, trial, task) {
  const row = /** @type {Row} */ (index.rows[place]);
  const at = shown.indexOf(place);
  /** @param {string} text @param {number | undefined} other */
  const step = (text, other) =>
    other === undefined
      ? make("span", { class: "faint" }, text)
      : make("a", { href: `#trial-${other + 1}` }, text);
  const copy = make("button", { type: "button", id: "copy" }, "copy");
  const replay = make("pre", { id: "replay" }, trial.replay ?? "");
  copy.addEventListener("click", async () => {
    getSelection()?.selectAllChildren(replay);
    await navigator.clipboard?.writeText(trial.replay).then(
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
      badge(/** @type {string} */ (index.outcomes[row[4]])),
      step("previous", at > 0 ? shown[at - 1] : undefined),
      step("next", at >= 0 ? shown[at + 1] : undefined),
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
    ...(trial.replay === undefined
      ? []
      : [make("div", { class: "bar" }, make("strong", {}, "To run it again:"), copy), replay]),
    make(
      "div",
      { class: "beside" },
      make("div", { id: "graph" }, ...(task === null ? [noGraph()] : graphFrame())),
      make("div", {}, make("h3", {}, "What happened"), events),
    ),
    ...(task === null ? [] : [
      make(
        "details",
        {},
        make("summary", {}, "prompt and tools, as the model got them"),
        make("pre", {}, task.prompt),
        make("pre", {}, JSON.stringify(task.tools, null, 2)),
      ),
    ]),
  ];
}

function noGraph() {
  return make(
    "p",
    { class: "faint" },
    "This task was not generated by this version: there is no graph.",
  );
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
      "Bold numbers: the calls in their order; \u2717 failed, (\u2717) failed as a cascade.",
    ),
  ];
}

/**
 * @param {number} place
 * @param {string} dot
 * @param {string} marks
 */
async function drawGraph(place, dot, marks) {
  try {
    const viz = await loadGraphviz();
    if (opened() !== place) return;
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
  if (event.kind !== "call") {
    return make(
      "li",
      { class: event.kind },
      make("span", { class: "faint" }, event.title),
      make("div", { class: "value" }, event.text),
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
    ...(event.state === "irrelevant" ? ["not needed"] : []),
    ...(event.state === "guessed" ? ["right, but guessed"] : []),
  ];
  return make(
    "li",
    { class: `${event.role} ${event.state}` },
    make("span", { class: "faint" }, `${event.title} `),
    make("strong", {}, event.function),
    make("span", { class: "faint" }, ` ${[event.role, ...notes].join(", ")}`),
    make(
      "div",
      { class: "call" },
      make("div", {}, ...inputs),
      make("div", { class: "faint" }, "\u2192"),
      make("div", { class: "value" }, event.returned),
    ),
    ...(event.failure === undefined ? [] : [
      make(
        "p",
        { class: "why" },
        `\u2717 ${event.failure.type.replaceAll("_", " ")} ` +
          `(${event.failure.root ? "root" : "cascade"}): ${event.failure.cause}`,
      ),
    ]),
  );
}

/**
 * @param {string} id
 * @param {[string, number][]} options
 */
function fill(id, options) {
  element(id).replaceChildren(
    ...options.map(([text, value]) => make("option", { value: String(value) }, text)),
  );
  element(id).addEventListener("change", filter);
}

/** Whether the file goes on behind the index: Graphviz is the last that stands in it. */
function whole() {
  return document.getElementById("graphviz") !== null;
}

/** @param {string} text */
function tellFault(text) {
  const place = document.getElementById("count");
  if (place === null) document.body.append(make("p", {}, text));
  else place.textContent = text;
}

async function start() {
  try {
    index = JSON.parse(await unpack("index"));
  } catch (error) {
    tellFault(
      whole()
        ? `The trials cannot be unpacked: ${error}`
        : "This file is not whole: it was cut off while it was written.",
    );
    return;
  }
  /** @param {string[]} names @returns {[string, number][]} */
  const named = (names) => names.map((name, place) => [name.replaceAll("_", " "), place]);
  /** @param {string[]} names @returns {[string, number][]} */
  const asIs = (names) => names.map((name, place) => [name, place]);
  fill("subject", [["all", -1], ...asIs(index.subjects)]);
  fill("outcome", [["all", -1], ["not solved", -2], ...named(index.outcomes)]);
  fill("type", [["any or none", -1], ["any", -2], ...named(index.types)]);
  fill("cell", [["all", -1], ...asIs(index.cells)]);
  element("roots").addEventListener("change", filter);
  element("previous").addEventListener("click", () => {
    page--;
    list();
  });
  element("next").addEventListener("click", () => {
    page++;
    list();
  });
  addEventListener("hashchange", open);
  filter();
  await open();
  document.documentElement.dataset["ready"] = "true";
}

addEventListener("DOMContentLoaded", start);
