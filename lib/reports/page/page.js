// The script of a report's page: what the address says is what is shown. It decides nothing: every judgement
// and every text about a trial comes from the page's data.

// @ts-check
/// <reference lib="dom" />
/// <reference lib="esnext" />

import { addressOf, readAddress } from "./address.js";
import { besideParts } from "./beside.js";
import { isEnd, ORDERS, placesOf, rowItem, ROWS, taskText } from "./list.js";
import { changeLink, changesOf, openPair, pairParts } from "./pair.js";
import { badge, block, element, make, put, unpack } from "./parts.js";
import { drawGraphs, trialParts } from "./trial.js";
import { listenToViews } from "./views.js";

/** @typedef {import("./address.js").Address} Address */
/** @typedef {import("./list.js").Index} Index */
/** @typedef {import("./list.js").Row} Row */
/** @typedef {import("./trial.js").OpenTrial} OpenTrial */

/** @type {Index} */
let index;
/** What the address says, which is nothing at first. */
let address = readAddress("", () => false);
/** Places of the rows that pass the filters. @type {number[]} */
let filtered = [];
/** The columns of the list that have something to tell, and their headings. @type {Map<string, string>} */
const columns = new Map();
/** What keys of an address can say, in the order of the options of those that are chosen. @type {Record<string, string[]>} */
const choices = { change: ["gained", "lost"], roots: ["1"], sort: ORDERS };

/** @param {string} text The number of a trial. */
const placeOf = (text) => text === "" ? -1 : Number(text) - 1;

/** @param {number} place */
const rowAt = (place) => /** @type {Row} */ (index.rows[place]);

/** Whether a key of an address can say this in this report. @param {keyof Address} key @param {string} value */
function isAllowed(key, value) {
  if (key === "q") return value.length <= 200;
  const { rows: { length: trials }, pairs } = index;
  // Pairs are numbered from 0, as in the links of tables.
  const most =
    { trial: trials, beside: trials, pair: pairs.length - 1 }[/** @type {"pair"} */ (key)];
  return choices[key]?.includes(value) ??
    (/^(0|[1-9]\d{0,6})$/.test(value) && (key === "pair" || value !== "0") &&
      Number(value) <= (most ?? Infinity));
}

/** Returns the address that differs from the present one in this. @param {Partial<Address>} change */
const linkTo = (change) => addressOf({ ...address, ...change });

/** Goes to an address that differs in this; the list begins anew unless only what is open differs. @param {Partial<Address>} change */
function go(change) {
  const hash = linkTo({ page: "beside" in change ? address.page : "", ...change });
  if (hash === location.hash) return;
  // Typing is one step of the history.
  history["q" in change ? "replaceState" : "pushState"](null, "", hash);
  follow();
}

/** Shows what the address says. */
async function follow() {
  const before = address;
  address = readAddress(location.hash, isAllowed);
  if (address.task !== "") {
    // Tables name a task by its place among those of its pair, as they know no trials.
    const change = changesOf(shownNow())[placeOf(address.task)];
    history.replaceState(null, "", change ? changeLink(shownNow(), change) : linkTo({ task: "" }));
    address = readAddress(location.hash, isAllowed);
  }
  if (address.beside === address.trial || address.trial === "") address.beside = "";
  for (const field of fields()) {
    const value = address[/** @type {keyof Address} */ (field.id)];
    if (field instanceof HTMLSelectElement) {
      field.selectedIndex = choices[field.id]?.indexOf(value) ?? 0;
    } else if (field.type === "checkbox") field.checked = value !== "";
    else if (document.activeElement !== field) field.value = value;
  }
  filtered = placesOf(index, address);
  list();
  showPair();
  showAnchor();
  await showTrials(before);
}

/** The fields of the filters, whose ids are keys of an address. */
const fields = () => /** @type {(HTMLInputElement | HTMLSelectElement)[]} */ (
  [...element("filters").querySelectorAll("input, select")]
);

/** Goes to the element that a plain address names, also within what is folded. */
function showAnchor() {
  const id = location.hash.slice(1);
  const target = /^[\w-]+$/.test(id) ? document.getElementById(id) : null;
  const folding = target?.closest("details");
  if (!folding) return;
  folding.open = true;
  target?.scrollIntoView();
}

/** Fills the list with a page of as many rows as this. */
function list(rows = ROWS) {
  const total = index.rows.length;
  const pages = Math.max(1, Math.ceil(filtered.length / rows));
  const page = Math.min(Number(address.page || 1), pages);
  element("count").textContent = `${filtered.length.toLocaleString("en-US")} of ` +
    `${total.toLocaleString("en-US")} trials` +
    (pages > 1 ? `, page ${page} of ${pages}` : "");
  for (const [id, other] of /** @type {const} */ ([["previous", page - 1], ["next", page + 1]])) {
    const button = /** @type {HTMLButtonElement} */ (element(id));
    button.disabled = other < 1 || other > pages;
    button.value = String(other);
  }
  // Each choice counts what the other filters let through.
  const others = placesOf(index, { ...address, outcome: "", sort: "" });
  for (const chip of element("outcomes").querySelectorAll("button")) {
    chip.setAttribute("aria-pressed", String(chip.value === address.outcome));
    const own = others.filter((place) => isEnd(index, place, chip.value)).length;
    put(/** @type {HTMLElement} */ (chip.lastChild), own.toLocaleString("en-US"));
  }
  const column = address.sort.replace("-", "");
  for (const head of element("heads").querySelectorAll("th")) {
    const order = address.sort === column ? "ascending" : "descending";
    head.ariaSort = head.dataset["name"] === column ? order : null;
  }
  const open = [placeOf(address.trial), placeOf(address.beside)];
  element("list").replaceChildren(
    ...filtered.slice((page - 1) * rows, page * rows).map((place) => {
      const item = rowItem(index, place, linkTo({ trial: String(place + 1), beside: "" }), columns);
      if (open.includes(place)) item.classList.add("open");
      return item;
    }),
  );
}

/** Shows the tasks on which the two of the open pair differ. */
function showPair() {
  const panel = element("pair");
  const shown = address.pair + address.change;
  if (panel.dataset["of"] !== shown) panel.classList.remove("whole");
  panel.dataset["of"] = shown;
  const parts = pairParts(shownNow());
  panel.hidden = parts.length === 0;
  put(panel, parts);
}

/** What the page shows, as the panel of a pair needs it. */
const shownNow = () => ({ index, address, linkTo });

/** Returns where the steps to the previous and the next lead: along the changes of a pair, or along the list. */
function neighbours() {
  const place = placeOf(address.trial);
  const changes = changesOf(shownNow());
  const changed = changes.findIndex((change) => change[4].includes(place));
  const at = filtered.indexOf(place);
  return [-1, 1].map((step) => {
    const change = changes[changed + step];
    if (changed >= 0) return change && changeLink(shownNow(), change);
    const to = at < 0 ? undefined : filtered[at + step];
    return to === undefined ? undefined : linkTo({ trial: String(to + 1), beside: "" });
  });
}

/** Shows the bar of the open trial, whose links change with what else the address says. @param {number[]} places */
function showBar([place, other]) {
  if (place === undefined) return;
  const { trial, beside } = address;
  const [previous, next] = neighbours();
  /** @param {string} text @param {string | undefined} href */
  const step = (text, href) =>
    href === undefined ? make("span.faint", text) : make("a", { href }, text);
  const isAlone = other === undefined &&
    changesOf(shownNow()).some((change) => change[4].includes(place) && change[5].length === 0);
  const title = `trial ${trial}${other === undefined ? "" : ` beside ${beside}`}`;
  put(
    element("bar"),
    make("h3", { tabindex: "-1" }, title),
    other === undefined && badge(...endOf(rowAt(place))),
    step("previous", previous),
    step("next", next),
    other === undefined
      ? besideChoice()
      : make("a", { href: linkTo({ beside: "" }) }, `trial ${trial} alone`),
    make("a", { href: linkTo({ trial: "", beside: "" }), id: "close" }, "close"),
    isAlone &&
      make(
        "p",
        `No trial of ${openPair(shownNow())?.against} is in this report: only how they ended.`,
      ),
  );
}

/** Returns how the trial of a row ended, and the word for it. @param {Row} row @returns {[string, string]} */
const endOf = (row) => [index.outcomes[row[4]] ?? "", index.words[row[4]] ?? ""];

/** Shows the trial that the address names, and the one beside it; closes the panel if it names none. @param {Address} before */
async function showTrials(before) {
  const panel = element("trial");
  const opened = element("opened");
  const { trial, beside } = address;
  const places = [placeOf(trial), placeOf(beside)].filter((place) => place >= 0);
  panel.hidden = places.length === 0;
  if (trial === before.trial && beside === before.beside) return showBar(places);
  if (places.length === 0) {
    opened.replaceChildren();
    const last = `trial ${before.trial}`;
    const links = [...document.querySelectorAll("#list a, #pair h3")];
    const link = links.find(({ textContent }) => textContent === last) ?? links[0];
    if (/^#(\?|trials$)/.test(location.hash)) /** @type {HTMLElement} */ (link)?.focus();
    return;
  }
  if (opened.childElementCount === 0) put(opened, make("p.faint", "Unpacking ..."));
  const open = await Promise.all(places.map(openTrial));
  const isOpen = () => address.trial === trial && address.beside === beside;
  if (!isOpen()) return;
  const [first, second] = open;
  showBar(places);
  put(opened, first && (second ? besideParts([first, second]) : trialParts(first)));
  panel.querySelector("h3")?.focus({ preventScroll: true });
  (second && document.getElementById("difference") || panel).scrollIntoView({ block: "start" });
  await drawGraphs(open, panel.querySelectorAll(".drawing"), isOpen);
}

/** @param {number} place @returns {Promise<OpenTrial>} */
async function openTrial(place) {
  const row = rowAt(place);
  const [trial, task] = await Promise.all([
    block(row[12]).then((own) => own[row[13]]),
    row[14] < 0 ? null : block(row[14]).then((own) => own[row[15]]),
  ]);
  const [outcome, word] = endOf(row);
  return {
    ...{ place, trial, task, outcome, word },
    name: `${index.subjects[row[0]]}, ${index.cells[row[1]]}, ${taskText(index, row)}`,
  };
}

/** At most this many trials are offered to stand beside another. */
const MOST_BESIDE = 100;

/** Returns the choice of a trial of the same task to show beside the open one; none where there is no other. */
function besideChoice() {
  const place = placeOf(address.trial);
  const own = rowAt(place);
  const others = index.rows.flatMap((row, other) =>
    other !== place && row[1] === own[1] && row[2] === own[2] && row[11] === own[11] ? [other] : []
  ).slice(0, MOST_BESIDE);
  if (others.length === 0) return undefined;
  return make(
    "select",
    { id: "beside", "aria-label": "a trial of the same task to show beside it" },
    make("option", { value: "" }, "compare with ..."),
    others.map((other) => {
      const row = rowAt(other);
      const repetition = row[3] > 1 ? `, repetition ${row[3]}` : "";
      return make(
        "option",
        { value: String(other + 1) },
        `trial ${other + 1}: ${index.words[row[4]]}, ${index.subjects[row[0]]}${repetition}`,
      );
    }),
  );
}

/** Makes the filters, and the headings of the columns that have something to tell. */
function makeFilters() {
  const occurring = index.rows.reduce((all, row) => all | row[7], 0);
  const types = index.types.filter((_, type) => occurring & (1 << type));
  const signs = [...new Set(index.shown.flat())];
  const spaced = (/** @type {string} */ name) => name.replaceAll("_", " ");
  /** @type {Record<string, [values: string[], names: string[]]>} */
  const options = {
    subject: [["", ...index.keys.subjects], ["all", ...index.subjects]],
    cell: [["", ...index.keys.cells], ["all", ...index.cells]],
    type: [["", "any", ...types], ["any or none", "any", ...types.map(spaced)]],
    behaviour: [["", "any", ...signs], ["any or none", "any", ...signs.map(spaced)]],
  };
  for (const [id, [values, names]] of Object.entries(options)) {
    choices[id] = values;
    const select = put(element(id), names.map((name) => make("option", name)));
    // One with nothing to choose is not shown.
    /** @type {HTMLElement} */ (select.parentElement).hidden = values.length < 3;
  }
  /** @type {HTMLElement} */ (element("roots").closest("label")).hidden = types.length === 0;
  // The word for all that failed says enough where it is also that of the only way to fail.
  const chips = [
    ...[["", "all"], ["failed", index.unsolved]],
    ...index.outcomes.map((outcome, at) => [outcome, index.words[at] ?? ""])
      .filter(([, word]) => word !== index.unsolved),
  ].filter(([outcome = ""]) =>
    outcome === "failed" || index.rows.some((_, place) => isEnd(index, place, outcome))
  );
  choices["outcome"] = chips.map(([outcome = ""]) => outcome);
  put(
    element("outcomes"),
    chips.map(([value = "", word]) =>
      make("button", { type: "button", name: "outcome", value }, `${word} `, make("small"))
    ),
  );
  const idle = {
    model: index.subjects.length < 2,
    cell: index.cells.length < 2,
    // Simulated models take no time worth a column.
    time: !index.rows.some((row) => row[17] >= 1000),
  };
  for (const head of element("heads").querySelectorAll("th")) {
    const name = head.dataset["name"] ?? "";
    head.hidden = idle[/** @type {keyof idle} */ (name)] ?? false;
    if (!head.hidden) columns.set(name, head.textContent ?? "");
  }
}

/** Brings what the address says onto the screen: the open pair, else the list. A trial that is open does so itself. */
function reveal() {
  if (address.trial !== "") return;
  const part = element(address.pair === "" ? "trials" : "pair");
  part.querySelector("h3")?.focus({ preventScroll: true });
  part.scrollIntoView();
}

/** Returns the next order by a column: numbers from the highest, then turned round, then that of the plan. @param {string} column */
function nextSort(column) {
  const orders = [column, `-${column}`];
  if (["calls", "time", "wrong", "outcome"].includes(column)) orders.reverse();
  return [...orders, ""][orders.indexOf(address.sort) + 1] ?? "";
}

/** Makes everything of the list that can be pressed, chosen or typed into. */
function listen() {
  const part = element("trials");
  part.addEventListener("click", ({ target }) => {
    const button = target instanceof Element ? target.closest("button") : null;
    const { name, value } = button ?? { name: "" };
    if (name !== "") go({ [name]: name === "sort" ? nextSort(value ?? "") : value });
  });
  part.addEventListener("change", ({ target }) => {
    if (target instanceof HTMLSelectElement) {
      const { id, value, selectedIndex } = target;
      go({ [id]: choices[id]?.[selectedIndex] ?? value });
    } else if (target instanceof HTMLInputElement && target.type === "checkbox") {
      go({ [target.id]: target.checked ? "1" : "" });
    }
  });
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let typing;
  element("q").addEventListener("input", ({ currentTarget }) => {
    const { value } = /** @type {HTMLInputElement} */ (currentTarget);
    clearTimeout(typing);
    typing = setTimeout(() => go({ q: value.slice(0, 200) }), 120);
  });
  element("filters").addEventListener("submit", (event) => event.preventDefault());
  addEventListener("keydown", ({ key, target }) => {
    if (key !== "Escape" || address.trial === "" || target instanceof HTMLInputElement) return;
    go({ trial: "", beside: "" });
  });
  addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a[href^='#?']") : null;
    if (!(link instanceof HTMLAnchorElement) || link.closest("#trials") !== null) return;
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    // The browser would stay at a table that is far from the list.
    event.preventDefault();
    if (link.hash !== location.hash) history.pushState(null, "", link.hash);
    follow();
    reveal();
  });
  // Going back tells both, and following a link at least one.
  let last = location.hash;
  for (const name of ["hashchange", "popstate"]) {
    addEventListener(name, () => {
      if (location.hash !== last || name === "popstate") follow();
      last = location.hash;
    });
  }
}

async function start() {
  listenToViews((run) => {
    list(Math.max(1, filtered.length));
    run();
    list();
  });
  try {
    index = JSON.parse(await unpack("index"));
  } catch (error) {
    // Graphviz is the last element of a whole file.
    const text = document.getElementById("graphviz") !== null
      ? `The trials cannot be unpacked: ${error}`
      : "This file is incomplete: it was cut off while it was written.";
    put(document.getElementById("count") ?? document.body.appendChild(make("p")), text);
    return;
  }
  makeFilters();
  listen();
  await follow();
  if (location.hash.startsWith("#?")) reveal();
  document.documentElement.dataset["ready"] = "true";
}

addEventListener("DOMContentLoaded", start);
