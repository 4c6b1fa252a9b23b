// The list of a report's trials: which pass the filters, and in which order.

// @ts-check
/// <reference lib="dom" />
/// <reference lib="esnext" />

import { badge, element, kindOf, make } from "./parts.js";

/** @typedef {import("./address.js").Address} Address */
/** @typedef {import("./parts.js").Content} Content */

/**
 * One row of the list: indices of names in the index, numbers, and the position of the rest in the blocks.
 * @typedef {[subject: number, cell: number, graph: number, repetition: number, outcome: number,
 *   calls: number, fewest: number, types: number, wrong: number, shown: number,
 *   unit: number, chunk: number, place: number, taskChunk: number, taskPlace: number,
 *   why: number, milliseconds: number, mistakes: number]} Row
 */

/**
 * A task that a candidate solved more or less often than what it is compared with: how often each solved it and had
 * a valid trial, and the places of their trials in the list.
 * @typedef {[solved: number, valid: number, baseSolved: number, baseValid: number,
 *   trials: number[], baseTrials: number[]]} Change
 */

/**
 * @typedef {object} Index
 * @property {string[]} subjects
 * @property {string[]} cells
 * @property {{ subjects: string[], cells: string[] }} keys What addresses call these, whatever can be shown of it.
 * @property {string[]} units The unit of a task's number, such as `graph`, or the name of a task without one.
 * @property {string[]} outcomes
 * @property {string[]} words The outcomes in the words of the report, such as `passed` for own tests.
 * @property {string} unsolved The word for all outcomes but the first and `invalid`.
 * @property {string[]} types
 * @property {string[][]} shown Sets of behaviours that occur together.
 * @property {string[]} whys Why trials are not solved, such as by which assertion; empty where their calls say it.
 * @property {string[]} mistakes The types of wrong calls that occur together, and how often each occurs.
 * @property {string} unit What pairs are compared on, such as `task`.
 * @property {number} listed How many pairs have trials.
 * @property {{ candidate: string, against: string, gained: Change[], lost: Change[] }[]} pairs
 * @property {Row[]} rows
 */

/** Whether a screen is that of a phone. */
export const narrow = matchMedia("(max-width: 700px)");

/** Returns how many rows a page of the list has. */
export const rowsOfPage = () => narrow.matches ? 10 : 50;

/**
 * Whether a trial ended in this way: as addresses call it, `failed` for all ways but the first and `invalid`.
 * @param {Index} index
 * @param {number} place
 * @param {string} outcome
 */
export function isEnd(index, place, outcome) {
  const own = index.outcomes[/** @type {Row} */ (index.rows[place])[4]];
  if (outcome === "failed") return own !== index.outcomes[0] && own !== "invalid";
  return outcome === "" || own === outcome;
}

/**
 * Returns the places of the rows that pass the filters of an address.
 * @param {Index} index
 * @param {Address} address
 */
export function placesOf(index, { subject, cell, outcome, type, behaviour, q }) {
  const [own, at] = [index.keys.subjects.indexOf(subject), index.keys.cells.indexOf(cell)];
  const kind = index.types.indexOf(type);
  const words = q.toLowerCase().split(/\s+/).filter((word) => word !== "");
  return index.rows.flatMap((row, place) => {
    if (own >= 0 && row[0] !== own || at >= 0 && row[1] !== at) return [];
    if (!isEnd(index, place, outcome)) return [];
    if (type === "any" ? row[7] === 0 : kind >= 0 && (row[7] & (1 << kind)) === 0) return [];
    const signs = index.shown[row[9]] ?? [];
    if (behaviour === "any" ? signs.length === 0 : behaviour !== "" && !signs.includes(behaviour)) {
      return [];
    }
    return words.every((word) => searchKey(index, place).includes(word)) ? [place] : [];
  });
}

/** Returns places with those of failed trials first; within a kind of outcome in the order of the plan. @param {Index} index @param {readonly number[]} places */
export function inOrder(index, places) {
  const ranks = index.outcomes.map((outcome) =>
    ["failed", "invalid", "solved"].indexOf(kindOf(outcome))
  );
  /** @param {number} place */
  const rankOf = (place) => ranks[/** @type {Row} */ (index.rows[place])[4]] ?? 0;
  return places.toSorted((one, other) => rankOf(one) - rankOf(other) || one - other);
}

/** The texts of rows that a search looks at, made at the first search. @type {string[]} */
const keys = [];

/** Forgets them, as rows have other places. */
export const forgetKeys = () => void keys.splice(0);

/** @param {Index} index @param {number} place */
function searchKey(index, place) {
  const row = /** @type {Row} */ (index.rows[place]);
  return keys[place] ??= [
    `trial ${place + 1}`,
    index.words[row[4]],
    index.subjects[row[0]],
    index.cells[row[1]],
    taskText(index, row),
    index.whys[row[15]],
    index.mistakes[row[17]],
    // Files have the types by their names.
    ...index.types.filter((_, type) => row[7] & (1 << type)),
  ].join("\n").toLowerCase();
}

/** @param {Index} index @param {Row} row */
export function taskText(index, [, , graph, repetition, , , , , , , unit]) {
  return `${index.units[unit]}${graph > 0 ? ` ${graph}` : ""}` +
    (repetition > 1 ? `, repetition ${repetition}` : "");
}

/** Returns the mark of a variant, which is that of its series in figures. @param {number} subject */
function markItem(subject) {
  const { content } = /** @type {HTMLTemplateElement} */ (element("marks"));
  return content.children[subject]?.cloneNode(true);
}

/**
 * Returns a row of the list.
 * @param {Index} index
 * @param {number} place
 * @param {string} href
 * @param {ReadonlySet<string>} columns Those that are shown.
 */
export function rowItem(index, place, href, columns) {
  const row = /** @type {Row} */ (index.rows[place]);
  const [subject, cell, , , , calls, fewest, , wrong] = row;
  const why = index.whys[row[15]] ?? "";
  /** @type {[string, ...Content[]][]} */
  const cells = [
    ["trial", make("a", { href }, `trial ${place + 1}`)],
    ["outcome", badge(index.outcomes[row[4]] ?? "", index.words[row[4]] ?? "")],
    ["model", markItem(subject), make("span", index.subjects[subject])],
    ["cell", index.cells[cell]],
    ["task", taskText(index, row)],
    ["calls", calls < 0 ? "-" : fewest < 0 ? String(calls) : `${calls} (fewest ${fewest})`],
    ["time", row[16] > 0 ? `${(row[16] / 1000).toFixed(1)} s` : "-"],
    ["wrong", [why, wrong > 0 && index.mistakes[row[17]]].filter(Boolean).join("; ") || "-"],
  ];
  return make(
    "tr",
    { "data-place": String(place) },
    cells.map(([name, ...content]) => columns.has(name) && make(`td.${name}`, content)),
  );
}
