// The panel of a pair on a report's page: the tasks that one of two gained or lost, and the trials that show it.

// @ts-check
/// <reference lib="dom" />
/// <reference lib="esnext" />

import { taskText } from "./list.js";
import { make } from "./parts.js";

/** @typedef {import("./address.js").Address} Address */
/** @typedef {import("./list.js").Change} Change */
/** @typedef {import("./list.js").Index} Index */
/** @typedef {import("./list.js").Row} Row */

/**
 * What the page shows: its data, what its address says, and the address that differs from it in this.
 * @typedef {{ index: Index, address: Address, linkTo: (change: Partial<Address>) => string }} Shown
 */

/** Returns the pair that the address names. @param {Shown} shown */
export function openPair({ index, address }) {
  return index.pairs[Number(address.pair || -1)];
}

/** Which tasks of the open pair are listed. @param {Shown} shown */
const changeName = ({ address }) => address.change === "gained" ? "gained" : "lost";

/** Returns the tasks that the open pair changed on. @param {Shown} shown @returns {Change[]} */
export function changesOf(shown) {
  return openPair(shown)?.[changeName(shown)] ?? [];
}

/** Returns the tasks on which the two of the open pair differ; nothing without one. @param {Shown} shown */
export function pairParts(shown) {
  const { index, address, linkTo } = shown;
  const pair = openPair(shown);
  if (pair === undefined) return [];
  const { candidate, against } = pair;
  const own = changesOf(shown);
  const words = { lost: "worse", gained: "better" };
  const title = `${candidate} is ${words[changeName(shown)]} than ${against} on ` +
    `${own.length.toLocaleString("en-US")} ${index.unit}${own.length === 1 ? "" : "s"}`;
  const turns = /** @type {const} */ (["lost", "gained"]).map((change) =>
    make("a", {
      href: linkTo({ change, trial: "", beside: "" }),
      ...(change === changeName(shown) ? { "aria-current": "true" } : {}),
    }, `${words[change]} on ${pair[change].length}`)
  );
  const isListed = own.some(([, , , , trials]) => trials.length > 0);
  const heads = [index.unit, `${candidate}, ${index.words[0]}`, `${against}, ${index.words[0]}`];
  const rows = own.map((one) => {
    const [solved, valid, baseSolved, baseValid, trials] = one;
    const [trial = -1] = trials;
    const row = index.rows[trial];
    // The trial that opens is one that shows the change, seldom the first of a test.
    const task = row && index.unit !== "test" ? `, ${taskText(index, row)}` : "";
    const href = changeLink(shown, one);
    const link = row && make("a", { href }, `${index.cells[row[1]]}${task}`);
    const cells = [
      link ?? "not in this report",
      `${solved} of ${valid}`,
      `${baseSolved} of ${baseValid}`,
    ];
    const isOpen = trials.includes(Number(address.trial) - 1);
    return make(
      "tr",
      isOpen ? { "aria-current": "true" } : {},
      cells.map((cell) => make("td", cell)),
    );
  });
  return [
    make(
      "div.bar",
      make("h3", { tabindex: "-1" }, title),
      turns,
      make("a", { href: linkTo({ pair: "", change: "", trial: "", beside: "" }) }, "close"),
      isListed && make("button.take", { type: "button", "data-take": "csv" }, "CSV"),
    ),
    isListed
      ? make(
        "table",
        make("thead", make("tr", heads.map((head) => make("th", { scope: "col" }, head)))),
        make("tbody", rows),
      )
      : own.length > 0 &&
        make("p", `Which ${index.unit}s these are is listed for the first ${index.listed} pairs.`),
    isListed && own.length > 15 && make("button.all", { type: "button" }, `all ${own.length} rows`),
  ];
}

/**
 * Returns the address of two trials that show a change: one that is solved beside one that is not; that of the pair
 * alone where the page has none.
 * @param {Shown} shown
 * @param {Change} change
 */
export function changeLink(shown, change) {
  const { index, linkTo } = shown;
  /** @param {number} place */
  const rowAt = (place) => /** @type {Row} */ (index.rows[place]);
  /** @param {number[]} places @param {boolean} solved */
  const ended = (places, solved) => {
    const wanted = places.filter((place) => (rowAt(place)[4] === 0) === solved);
    return wanted.length > 0 ? wanted : places;
  };
  const gained = changeName(shown) === "gained";
  const own = ended(change[4], gained);
  const others = ended(change[5], !gained);
  /** @param {number} place The same repetition: trials of a test are numbered by it. */
  const twin = (place) =>
    others.find((other) =>
      rowAt(other)[3] === rowAt(place)[3] && rowAt(other)[2] === rowAt(place)[2]
    );
  const trial = own.find((place) => twin(place) !== undefined) ?? own[0];
  const beside = trial === undefined ? undefined : twin(trial) ?? others[0];
  const [first, second] = [trial, beside].map((place) => place === undefined ? "" : `${place + 1}`);
  return linkTo({ task: "", trial: first ?? "", beside: second ?? "" });
}
