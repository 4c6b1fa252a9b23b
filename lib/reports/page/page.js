// The script of a report's page: lists trials, filters them and shows one. It decides nothing: every judgement
// and every text about a trial comes from the page's data.

// @ts-check
/// <reference lib="dom" />
/// <reference lib="esnext" />

import { badge, block, element, make, unpack } from "./parts.js";
import { drawGraph, trialParts } from "./trial.js";

/**
 * One row of the list: indices of names in the index, numbers, and the position of the rest in the blocks.
 * @typedef {[subject: number, cell: number, graph: number, repetition: number, outcome: number,
 *   calls: number, fewest: number, types: number, roots: number, wrong: number, shown: number,
 *   unit: number, chunk: number, place: number, taskChunk: number, taskPlace: number,
 *   why: number]} Row
 */

/**
 * @typedef {object} Index
 * @property {string[]} subjects
 * @property {string[]} cells
 * @property {string[]} units The unit of a task's number, such as `graph`, or the name of a task without one.
 * @property {string[]} outcomes
 * @property {string[]} types
 * @property {string[]} behaviours
 * @property {number[][]} shown Sets of behaviours that occur together, as indices.
 * @property {string[]} whys Why trials are not solved, such as by which assertion; empty where their calls say it.
 * @property {Row[]} rows
 */

const ROWS = 50;

/** @type {Index} */
let index;
/** Indices of the rows that pass the filters. @type {number[]} */
let filtered = [];
let page = 0;

/** @param {string} id */
const choice = (id) => Number(/** @type {HTMLSelectElement} */ (element(id)).value);

function filter() {
  const subject = choice("subject");
  const cell = choice("cell");
  const outcome = choice("outcome");
  const type = choice("type");
  const behaviour = choice("behaviour");
  const rootsOnly = /** @type {HTMLInputElement} */ (element("roots")).checked;
  filtered = [];
  index.rows.forEach((row, place) => {
    if (subject >= 0 && row[0] !== subject) return;
    if (cell >= 0 && row[1] !== cell) return;
    // The first outcome is "solved"; -2 selects all others.
    if (outcome >= 0 ? row[4] !== outcome : outcome === -2 && row[4] === 0) return;
    const types = rootsOnly ? row[8] : row[7];
    if (type === -2 ? types === 0 : type >= 0 && (types & (1 << type)) === 0) return;
    const behaviours = index.shown[row[10]] ?? [];
    if (
      behaviour === -2 ? behaviours.length === 0 : behaviour >= 0 && !behaviours.includes(behaviour)
    ) {
      return;
    }
    filtered.push(place);
  });
  page = 0;
  list();
}

function list() {
  const total = index.rows.length;
  const pages = Math.max(1, Math.ceil(filtered.length / ROWS));
  const own = filtered.slice(page * ROWS, (page + 1) * ROWS);
  element("count").textContent = `${filtered.length.toLocaleString("en-US")} of ` +
    `${total.toLocaleString("en-US")} trials` +
    (pages > 1 ? `, page ${page + 1} of ${pages}` : "");
  const previous = /** @type {HTMLButtonElement} */ (element("previous"));
  const next = /** @type {HTMLButtonElement} */ (element("next"));
  previous.disabled = page === 0;
  next.disabled = page >= pages - 1;
  element("list").replaceChildren(...own.map((place) => {
    const row = /** @type {Row} */ (index.rows[place]);
    const [subject, cell, graph, repetition, outcome, calls, fewest, types, , wrong, , unit] = row;
    const why = index.whys[row[16]] ?? "";
    const name = /** @type {string} */ (index.outcomes[outcome]);
    const kinds = index.types.filter((_, type) => types & (1 << type)).join(", ");
    return make(
      "tr",
      place === opened() ? { class: "open" } : {},
      make("td", {}, make("a", { href: `#trial-${place + 1}` }, `trial ${place + 1}`)),
      make("td", {}, badge(name)),
      make("td", { class: "words" }, index.subjects[subject] ?? ""),
      make("td", { class: "words" }, index.cells[cell] ?? ""),
      make(
        "td",
        {},
        `${index.units[unit]}${graph > 0 ? ` ${graph}` : ""}` +
          (repetition > 1 ? `, repetition ${repetition}` : ""),
      ),
      make(
        "td",
        { "data-name": "calls" },
        calls < 0 ? "-" : fewest < 0 ? String(calls) : `${calls} (fewest ${fewest})`,
      ),
      make(
        "td",
        { class: "words", "data-name": "wrong" },
        why,
        ...(wrong > 0
          ? [make("div", {}, `${wrong}${why === "" ? "" : " wrong calls"}: ${kinds}`)]
          : why === ""
          ? ["-"]
          : []),
      ),
    );
  }));
}

/** Returns the index of the trial that the address names, -1 for none. */
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
    block(row[12]).then((own) => own[row[13]]),
    row[14] < 0 ? null : block(row[14]).then((own) => own[row[15]]),
  ]);
  if (opened() !== place) return;
  const at = filtered.indexOf(place);
  const position = {
    place,
    outcome: /** @type {string} */ (index.outcomes[row[4]]),
    previous: at > 0 ? filtered[at - 1] : undefined,
    next: at >= 0 ? filtered[at + 1] : undefined,
  };
  panel.replaceChildren(...trialParts(position, trial, task));
  panel.scrollIntoView({ block: "start" });
  if (task?.dot !== undefined) {
    await drawGraph(task.dot, trial.dotMarks, () => opened() === place);
  }
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

/** Whether the file is complete: Graphviz is its last element. */
function isComplete() {
  return document.getElementById("graphviz") !== null;
}

/** @param {string} text */
function showError(text) {
  const place = document.getElementById("count");
  if (place === null) document.body.append(make("p", {}, text));
  else place.textContent = text;
}

async function start() {
  try {
    index = JSON.parse(await unpack("index"));
  } catch (error) {
    showError(
      isComplete()
        ? `The trials cannot be unpacked: ${error}`
        : "This file is incomplete: it was cut off while it was written.",
    );
    return;
  }
  /** @param {string[]} names @returns {[string, number][]} */
  const spaced = (names) => names.map((name, place) => [name.replaceAll("_", " "), place]);
  /** @param {string[]} names @returns {[string, number][]} */
  const asIs = (names) => names.map((name, place) => [name, place]);
  fill("subject", [["all", -1], ...asIs(index.subjects)]);
  fill("outcome", [["all", -1], ["not solved", -2], ...spaced(index.outcomes)]);
  fill("type", [["any or none", -1], ["any", -2], ...spaced(index.types)]);
  fill("behaviour", [["any or none", -1], ["any", -2], ...spaced(index.behaviours)]);
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
