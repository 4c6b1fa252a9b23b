// The script of a report's page: what the address says is what is shown. It decides nothing: every judgement
// and every text about a trial comes from the page's data.

// @ts-check
/// <reference lib="dom" />
/// <reference lib="esnext" />

import { addressOf, readAddress } from "./address.js";
import { besideParts } from "./beside.js";
import {
  forgetKeys,
  inOrder,
  isEnd,
  narrow,
  placesOf,
  rowItem,
  rowsOfPage,
  taskText,
} from "./list.js";
import { watchRun } from "./live.js";
import { changeLink, changesOf, openPair, pairParts } from "./pair.js";
import { badge, block, element, kindOf, make, put, unpack } from "./parts.js";
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
/** The columns of the list that have something to tell. @type {Set<string>} */
const columns = new Set();
/** What keys of an address can say, in the order of the options of those that are chosen. @type {Record<string, string[]>} */
const choices = { change: ["gained", "lost"] };

/** Whether the trial that is open stands beside the list, not below its row. */
const wide = matchMedia("(min-width: 1100px)");

/** What differs of an address without a trial. */
const CLOSED = { trial: "", beside: "" };

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
  // Typing is one step of the history.
  if (hash !== location.hash) visit(hash, "q" in change ? "replaceState" : "pushState");
}

/** Goes to an address of this page. @param {string} hash @param {"pushState" | "replaceState"} how */
function visit(hash, how = "pushState") {
  if (hash !== location.hash) history[how](null, "", hash);
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
    } else if (document.activeElement !== field) field.value = value;
  }
  filtered = inOrder(index, placesOf(index, address));
  if (address.trial !== before.trial) address.page = pageOf(placeOf(address.trial));
  element("trial").hidden = address.trial === "";
  element("trials").classList.toggle("split", address.trial !== "");
  list();
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

/** Returns the page of the list that has a trial, or the present one. @param {number} place */
function pageOf(place) {
  const at = filtered.indexOf(place);
  if (at < 0) return address.page;
  return at < rowsOfPage() ? "" : String(Math.floor(at / rowsOfPage()) + 1);
}

/** Fills the list with a page of as many rows as this; a trial that is open stands below its row where there is no room beside. */
function list(rows = rowsOfPage()) {
  putAside();
  showPair();
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
  const others = placesOf(index, { ...address, outcome: "" });
  for (const chip of element("outcomes").querySelectorAll("button")) {
    chip.setAttribute("aria-pressed", String(chip.value === address.outcome));
    const own = others.filter((place) => isEnd(index, place, chip.value)).length;
    put(/** @type {HTMLElement} */ (chip.lastChild), own.toLocaleString("en-US"));
  }
  const open = [placeOf(address.trial), placeOf(address.beside)];
  element("list").replaceChildren(
    ...filtered.slice((page - 1) * rows, page * rows).map((place) => {
      const item = rowItem(index, place, linkTo({ trial: String(place + 1), beside: "" }), columns);
      if (open.includes(place)) item.setAttribute("aria-current", "true");
      return item;
    }),
  );
  if (wide.matches || address.trial === "") return;
  openRow()?.after(
    make("tr.opened", make("td", { colspan: String(columns.size) }, element("trial"))),
  );
}

/** Returns the row of the open trial: in the pair that is open, else in the list. */
const openRow = () =>
  [...document.querySelectorAll("#trials [aria-current=true]:is(tr)")]
    .find((row) => row.checkVisibility());

/** Puts the trial that is open beside the list, where it is while rows are made anew. */
function putAside() {
  const [panel, choice] = [element("trial"), element("choice")];
  if (panel.parentElement !== choice.parentElement) choice.after(panel);
  choice.querySelector(".opened")?.remove();
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
    make("h3", { tabindex: "-1", id: "title" }, title),
    other === undefined && badge(...endOf(rowAt(place))),
    step("previous", previous),
    step("next", next),
    other === undefined
      ? besideChoice()
      : make("a", { href: linkTo({ beside: "" }) }, `trial ${trial} alone`),
    make("a", { href: linkTo(CLOSED), id: "close" }, "close"),
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
  if (trial === before.trial && beside === before.beside) return showBar(places);
  if (places.length === 0) {
    opened.replaceChildren();
    if (/^#(\?|trials$)/.test(location.hash)) focusRow(placeOf(before.trial));
    return;
  }
  if (opened.childElementCount === 0) put(opened, make("p.faint", "Unpacking ..."));
  const isOpen = () => address.trial === trial && address.beside === beside;
  const open = await Promise.all(places.map(openTrial)).catch((error) => {
    put(opened, make("p", `The trial cannot be shown: ${error.message}`));
  });
  if (!open || !isOpen()) return;
  const [first, second] = open;
  showBar(places);
  put(opened, first && (second ? besideParts([first, second]) : trialParts(first)));
  element("title").focus({ preventScroll: true });
  const hasFailed = first !== undefined && !second && kindOf(first.outcome) === "failed";
  const wrong = !hasFailed
    ? null
    : opened.querySelector("#events > :is(.wrong, .stop)") ?? opened.querySelector(".error");
  wrong?.classList.add("first");
  bringIntoView(wrong ?? document.getElementById("difference"));
  await drawGraphs(open, panel.querySelectorAll(".drawing"), isOpen);
}

/** Focuses a row of the list, or of the pair that is open. @param {number} place */
function focusRow(place) {
  const row = document.querySelector(`#list [data-place="${place}"]`);
  /** @type {HTMLElement | null} */ (row?.querySelector("a") ??
    document.querySelector("#pair h3, #list a"))
    ?.focus();
}

/** Scrolls to the open trial and its row, and to the part of the trial to look at first. @param {Element | null} part */
function bringIntoView(part) {
  const panel = element("trial");
  const row = openRow();
  if (wide.matches) {
    const { top } = panel.getBoundingClientRect();
    if (top < 0 || top > innerHeight / 2) panel.scrollIntoView();
    row?.scrollIntoView({ block: "nearest" });
    panel.scrollTop = 0;
  } else (row ?? panel).scrollIntoView();
  // Its margins keep it off the bar, and leave room for what follows.
  part?.scrollIntoView({ block: "nearest" });
}

/** @param {number} place @returns {Promise<OpenTrial>} */
async function openTrial(place) {
  const row = rowAt(place);
  const [trial, task] = await Promise.all([
    block(row[11]).then((own) => own[row[12]]),
    row[13] < 0 ? null : block(row[13]).then((own) => own[row[14]]),
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
    other !== place && row[1] === own[1] && row[2] === own[2] && row[10] === own[10] ? [other] : []
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
    const select = element(id);
    // While a run goes on, an open list would close.
    if (select.textContent !== names.join("")) {
      put(select, names.map((name) => make("option", name)));
    }
    // One with nothing to choose is not shown.
    /** @type {HTMLElement} */ (select.parentElement).hidden = values.length < 3;
  }
  // The word for all that failed says enough where it is also that of the only way to fail.
  const chips = [
    ...[["", "all"], ["failed", index.unsolved]],
    ...index.outcomes.map((outcome, at) => [outcome, index.words[at] ?? ""])
      .filter(([, word]) => word !== index.unsolved),
  ].filter(([outcome = ""]) =>
    outcome === "failed" || index.rows.some((_, place) => isEnd(index, place, outcome))
  );
  const outcomes = chips.map(([outcome = ""]) => outcome);
  // One that is made anew has no focus.
  if (choices["outcome"]?.join() !== outcomes.join()) {
    put(
      element("outcomes"),
      chips.map(([value = "", word]) =>
        make("button", { type: "button", name: "outcome", value }, `${word} `, make("small"))
      ),
    );
  }
  choices["outcome"] = outcomes;
  const idle = {
    model: index.subjects.length < 2,
    cell: index.cells.length < 2,
    // Simulated models take no time worth a column.
    time: !index.rows.some((row) => row[16] >= 1000),
  };
  for (const head of element("heads").querySelectorAll("th")) {
    const name = head.dataset["name"] ?? "";
    head.hidden = idle[/** @type {keyof idle} */ (name)] ?? false;
    if (!head.hidden) columns.add(name);
  }
}

/** Brings what the address says onto the screen: the open pair, else the list. A trial that is open does so itself. */
function reveal() {
  if (address.trial !== "") return;
  const pair = element("pair");
  pair.querySelector("h3")?.focus({ preventScroll: true });
  (pair.hidden ? element("trials") : pair).scrollIntoView();
}

/** Makes everything of the list that can be pressed, chosen or typed into. */
function listen() {
  const part = element("trials");
  part.addEventListener("click", ({ target }) => {
    const button = target instanceof Element ? target.closest("button") : null;
    const { name, value } = button ?? { name: "" };
    if (name !== "") go({ [name]: value });
  });
  part.addEventListener("change", ({ target }) => {
    if (target instanceof HTMLSelectElement) {
      const { id, value, selectedIndex } = target;
      go({ [id]: choices[id]?.[selectedIndex] ?? value });
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
  listenToKeys();
  for (const screen of [wide, narrow]) {
    screen.addEventListener("change", () => {
      address.page = pageOf(placeOf(address.trial));
      list();
    });
  }
  addEventListener("click", (event) => {
    const { target, ctrlKey, metaKey, shiftKey } = event;
    const link = target instanceof Element ? target.closest("a[href^='#?'], #trials a") : null;
    if (!(link instanceof HTMLAnchorElement) || ctrlKey || metaKey || shiftKey) return;
    // The browser would stay at a table that is far from the list, or leave the row that closes.
    event.preventDefault();
    visit(link.hash);
    if (link.closest("#trials") === null) reveal();
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

/** Makes the keys that lead through the list; their names are in the dialog that one of them shows. */
function listenToKeys() {
  const dialog = /** @type {HTMLDialogElement} */ (element("keys"));
  element("hint").addEventListener("click", () => dialog.showModal());
  dialog.querySelector("button")?.addEventListener("click", () => dialog.close());
  addEventListener("keydown", (event) => {
    const { key, target, ctrlKey, metaKey, altKey } = event;
    if (ctrlKey || metaKey || altKey || event.isComposing || dialog.open) return;
    const at = target instanceof HTMLElement ? target : document.body;
    if (at.matches("select, input")) {
      // Keys lead through the list again; the browser empties the field.
      if (key === "Escape") at.blur();
      return;
    }
    // Elsewhere arrows scroll.
    if (key.startsWith("Arrow") && at.closest("#list a, #title") === null) return;
    if (key === "j" || key === "ArrowDown") step(1);
    else if (key === "k" || key === "ArrowUp") step(-1);
    else if (key === "o" && at.matches("#list a")) /** @type {HTMLElement} */ (at).click();
    else if (key === "f") {
      go({ outcome: address.outcome === "failed" ? "" : "failed" });
      if (address.trial === "") focusRow(-1);
    } else if (key === "/") element("q").focus();
    else if (key === "?") dialog.showModal();
    else if (key === "Escape" && address.trial !== "") go(CLOSED);
    else return;
    event.preventDefault();
  });
}

/** Goes to the next or the previous trial: opens it if one is open, else focuses its row. @param {1 | -1} by */
function step(by) {
  if (address.trial !== "") {
    const hash = neighbours()[by < 0 ? 0 : 1];
    if (hash !== undefined) visit(hash);
    return;
  }
  const row = document.activeElement?.closest("#list tr");
  const first = element("list").querySelector("tr");
  const at = filtered.indexOf(placeIn(row ?? first)) + (row ? by : 0);
  const place = filtered[at];
  if (place === undefined) return;
  if (pageOf(place) !== address.page) go({ page: pageOf(place) });
  focusRow(place);
}

/** Returns the place of the trial that a row is of; -1 without one. @param {Element | null | undefined} row */
const placeIn = (row) => row instanceof HTMLElement ? Number(row.dataset["place"]) : -1;

/** Shows the trials that have ended since; what is open or focused stays so under its new number. */
async function refresh() {
  const focused = document.activeElement;
  const isInBar = element("bar").contains(focused);
  const row = placeIn(focused?.closest("#list tr"));
  const kept = [placeOf(address.trial), placeOf(address.beside), row]
    .map((place) => index.rows[place]);
  index = JSON.parse(await unpack("index"));
  const [trial = "", beside = "", linked] = kept.map((row) => {
    const place = index.rows.findIndex((one) => one[11] === row?.[11] && one[12] === row[12]);
    return place < 0 ? "" : String(place + 1);
  });
  if (address.trial !== "") {
    address = { ...address, trial, beside };
    history.replaceState(null, "", linkTo({}));
  }
  forgetKeys();
  makeFilters();
  await follow();
  if (isInBar) element("title").focus({ preventScroll: true });
  else if (linked) focusRow(placeOf(linked));
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
  await watchRun(refresh);
}

addEventListener("DOMContentLoaded", start);
