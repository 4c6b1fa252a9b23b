// The script of a report's page: what the address says is what is shown. It decides nothing: every judgement
// and every text about a trial comes from the page's data.

// @ts-check
/// <reference lib="dom" />
/// <reference lib="esnext" />

import { addressOf, readAddress } from "./address.js";
import { besideParts } from "./beside.js";
import { isSort, placesOf, rowItem, ROWS, taskText } from "./list.js";
import { badge, block, element, make, put, unpack } from "./parts.js";
import { take } from "./take.js";
import { drawGraphs, trialParts } from "./trial.js";

/** @typedef {import("./address.js").Address} Address */
/** @typedef {import("./list.js").Change} Change */
/** @typedef {import("./list.js").Index} Index */
/** @typedef {import("./list.js").Row} Row */
/** @typedef {import("./trial.js").OpenTrial} OpenTrial */

/** @type {Index} */
let index;
/** What the address says. @type {Address} */
let address;
/** Places of the rows that pass the filters. @type {number[]} */
let filtered = [];
/** The columns of the list that have something to tell, and their headings. @type {Map<string, string>} */
const columns = new Map();

/** @param {string} text The number of a trial. */
const placeOf = (text) => text === "" ? -1 : Number(text) - 1;

/** @param {number} place */
const rowAt = (place) => /** @type {Row} */ (index.rows[place]);

/** What each key of an address can say in this report. @type {Record<string, (value: string) => boolean>} */
let allowed;

function makeAllowed() {
  /** @param {string[]} values */
  const oneOf = (...values) => (/** @type {string} */ value) => values.includes(value);
  /** @param {number} most @param {number} least */
  const upTo = (most, least = 1) => (/** @type {string} */ value) =>
    /^(0|[1-9]\d{0,6})$/.test(value) && Number(value) >= least && Number(value) <= most;
  allowed = {
    trial: upTo(index.rows.length),
    beside: upTo(index.rows.length),
    pair: upTo(index.pairs.length - 1, 0),
    change: oneOf("gained", "lost"),
    subject: oneOf(...index.keys.subjects),
    cell: oneOf(...index.keys.cells),
    outcome: oneOf("failed", ...index.outcomes),
    type: oneOf("any", ...index.types),
    behaviour: oneOf("any", ...index.shown.flat()),
    roots: oneOf("1"),
    page: upTo(Infinity),
    sort: isSort,
    q: (value) => value.length <= 200,
  };
}

/** Returns the address that differs from the present one in this. @param {Partial<Address>} change */
const linkTo = (change) => addressOf({ ...address, ...change });

/**
 * Goes to an address that differs in this; the list begins anew unless only its page differs.
 * @param {Partial<Address>} change
 * @param {{ instead?: boolean }} options Whether it takes the present one's place in the history.
 */
function go(change, { instead = false } = {}) {
  const hash = linkTo({ page: "", ...change });
  if (hash === location.hash) return;
  history[instead ? "replaceState" : "pushState"](null, "", hash);
  follow();
}

/** Shows what the address says. */
async function follow() {
  const before = address;
  address = readAddress(location.hash, allowed);
  if (address.beside === address.trial || address.trial === "") address.beside = "";
  for (const id of /** @type {const} */ (["subject", "cell", "type", "behaviour"])) {
    /** @type {HTMLSelectElement} */ (element(id)).value = encodeURIComponent(address[id]);
  }
  /** @type {HTMLInputElement} */ (element("roots")).checked = address.roots !== "";
  const search = /** @type {HTMLInputElement} */ (element("q"));
  if (document.activeElement !== search) search.value = address.q;
  filtered = placesOf(index, address);
  list();
  showPair();
  showAnchor();
  if (address.trial !== (before?.trial ?? "") || address.beside !== (before?.beside ?? "")) {
    await showTrials(before);
  }
}

/** Goes to the element that a plain address names, also within what is folded. */
function showAnchor() {
  const id = location.hash.slice(1);
  const target = /^[\w-]+$/.test(id) ? document.getElementById(id) : null;
  const folding = target?.closest("details");
  if (!folding) return;
  folding.open = true;
  target?.scrollIntoView();
}

function list() {
  const total = index.rows.length;
  const pages = Math.max(1, Math.ceil(filtered.length / ROWS));
  const page = Math.min(Number(address.page || 1), pages);
  element("count").textContent = `${filtered.length.toLocaleString("en-US")} of ` +
    `${total.toLocaleString("en-US")} trials` +
    (pages > 1 ? `, page ${page} of ${pages}` : "");
  for (const [id, other] of /** @type {const} */ ([["previous", page - 1], ["next", page + 1]])) {
    const button = /** @type {HTMLButtonElement} */ (element(id));
    button.disabled = other < 1 || other > pages;
    button.value = String(other);
  }
  for (const chip of element("outcomes").querySelectorAll("button")) {
    chip.setAttribute("aria-pressed", String(chip.value === address.outcome));
  }
  const column = address.sort.replace("-", "");
  for (const head of element("heads").querySelectorAll("th")) {
    head.ariaSort = head.dataset["name"] !== column
      ? null
      : address.sort === column
      ? "ascending"
      : "descending";
  }
  const open = [placeOf(address.trial), placeOf(address.beside)];
  element("list").replaceChildren(
    ...filtered.slice((page - 1) * ROWS, page * ROWS).map((place) => {
      const item = rowItem(index, place, linkTo({ trial: String(place + 1), beside: "" }), columns);
      if (open.includes(place)) item.classList.add("open");
      return item;
    }),
  );
}

const openPair = () => index.pairs[Number(address.pair || -1)];

/** The tasks that the open pair changed on. @returns {Change[]} */
const changes = () => openPair()?.[address.change === "gained" ? "gained" : "lost"] ?? [];

/** Shows the tasks on which the two of a pair differ. */
function showPair() {
  const panel = element("pair");
  const pair = openPair();
  panel.hidden = pair === undefined;
  if (pair === undefined) return panel.replaceChildren();
  const { candidate, against, gained, lost } = pair;
  const change = address.change === "gained" ? "gained" : "lost";
  if (panel.dataset["of"] !== address.pair + change) panel.classList.remove("whole");
  panel.dataset["of"] = address.pair + change;
  const own = changes();
  const word = change === "gained" ? "better" : "worse";
  /** @param {"gained" | "lost"} to @param {string} text */
  const turn = (to, text) =>
    make("a", {
      href: linkTo({ change: to, trial: "", beside: "" }),
      ...(to === change ? { "aria-current": "true" } : {}),
    }, text);
  const heads = [index.unit, candidate, against];
  const rows = own.map((one) => {
    const [solved, valid, baseSolved, baseValid, [trial]] = one;
    const row = index.rows[trial ?? -1];
    // The trial that opens is one that shows the change, seldom the first of a test.
    const name = row &&
      `${index.cells[row[1]]}${index.unit === "test" ? "" : `, ${taskText(index, row)}`}`;
    const cells = [
      name === undefined ? "no trial of it is here" : make("a", { href: changeLink(one) }, name),
      `${solved} of ${valid}`,
      `${baseSolved} of ${baseValid}`,
    ];
    return make("tr", cells.map((cell, at) => make("td", { "data-name": heads[at] ?? "" }, cell)));
  });
  put(
    panel,
    make(
      "div.bar",
      make(
        "h3",
        { tabindex: "-1" },
        `${candidate} is ${word} than ${against} on ${own.length.toLocaleString("en-US")} ` +
          `${index.unit}${own.length === 1 ? "" : "s"}`,
      ),
      turn("lost", `worse on ${lost.length}`),
      turn("gained", `better on ${gained.length}`),
      make("a", { href: linkTo({ pair: "", change: "", trial: "", beside: "" }) }, "close"),
    ),
    own.length > 0 && make(
      "table",
      make(
        "thead",
        make(
          "tr",
          heads.map((head, at) =>
            make("th", { scope: "col" }, at === 0 ? head : `${head}, ${index.words[0]}`)
          ),
        ),
      ),
      make("tbody", rows),
    ),
    own.length > 15 && make("button.all", { type: "button" }, `all ${own.length} rows`),
  );
}

/** Returns the address of two trials that show a change: one that is solved beside one that is not. @param {Change} change */
function changeLink([, , , , trials, baseTrials]) {
  /** @param {number[]} places @param {boolean} solved */
  const ended = (places, solved) => {
    const wanted = places.filter((place) => (rowAt(place)[4] === 0) === solved);
    return wanted.length > 0 ? wanted : places;
  };
  const gained = address.change === "gained";
  const own = ended(trials, gained);
  const others = ended(baseTrials, !gained);
  /** @param {number} place The same repetition: trials of a test are numbered by it. */
  const twin = (place) =>
    others.find((other) =>
      rowAt(other)[3] === rowAt(place)[3] && rowAt(other)[2] === rowAt(place)[2]
    );
  const trial = own.find((place) => twin(place) !== undefined) ?? own[0] ?? 0;
  const beside = twin(trial) ?? others[0];
  return linkTo({
    trial: String(trial + 1),
    beside: beside === undefined ? "" : String(beside + 1),
  });
}

/** Returns where the steps to the previous and the next lead: along the changes of a pair, or along the list. */
function neighbours() {
  const place = placeOf(address.trial);
  const changed = changes().findIndex((change) => change[4].includes(place));
  const at = filtered.indexOf(place);
  return [-1, 1].map((step) => {
    const change = changes()[changed + step];
    if (changed >= 0) return change && changeLink(change);
    const to = at < 0 ? undefined : filtered[at + step];
    return to === undefined ? undefined : linkTo({ trial: String(to + 1), beside: "" });
  });
}

/** Shows the trial that the address names, and the one beside it; closes the panel if it names none. @param {Address | undefined} before */
async function showTrials(before) {
  const panel = element("trial");
  const places = [placeOf(address.trial), placeOf(address.beside)].filter((place) => place >= 0);
  const { trial, beside } = address;
  panel.hidden = places.length === 0;
  if (places.length === 0) {
    panel.replaceChildren();
    const last = `trial ${before?.trial}`;
    const links = [...document.querySelectorAll("#list a, #pair h3")];
    const link = links.find(({ textContent }) => textContent === last) ?? links[0];
    if (/^#(\?|trials$)/.test(location.hash)) /** @type {HTMLElement} */ (link)?.focus();
    return;
  }
  if (panel.childElementCount === 0) panel.append(make("p.faint", "Unpacking ..."));
  const open = await Promise.all(places.map(openTrial));
  const isOpen = () => address.trial === trial && address.beside === beside;
  if (!isOpen()) return;
  const [first, second] = open;
  const [previous, next] = neighbours();
  /** @param {string} text @param {string | undefined} href */
  const step = (text, href) =>
    href === undefined ? make("span.faint", text) : make("a", { href }, text);
  const heading = make(
    "h3",
    { tabindex: "-1" },
    `trial ${trial}${second ? ` beside ${beside}` : ""}`,
  );
  const isAlone = !second &&
    changes().some((change) => change[4].includes(places[0] ?? -1) && change[5].length === 0);
  put(
    panel,
    make(
      "div.bar",
      heading,
      !second && badge(first?.outcome ?? "", first?.word ?? ""),
      step("previous", previous),
      step("next", next),
      second ? make("a", { href: linkTo({ beside: "" }) }, `trial ${trial} alone`) : besideChoice(),
      make("a", { href: linkTo({ trial: "", beside: "" }), id: "close" }, "close"),
    ),
    isAlone && make(
      "p",
      `No trial of ${openPair()?.against} is in this report: ` +
        "only how they ended.",
    ),
    first && (second ? besideParts([first, second]) : trialParts(first)),
  );
  const difference = document.getElementById("difference");
  heading.focus({ preventScroll: true });
  (second && difference || panel).scrollIntoView({ block: "start" });
  await drawGraphs(open, panel.querySelectorAll(".drawing"), isOpen);
}

/** @param {number} place @returns {Promise<OpenTrial>} */
async function openTrial(place) {
  const row = rowAt(place);
  const [trial, task] = await Promise.all([
    block(row[12]).then((own) => own[row[13]]),
    row[14] < 0 ? null : block(row[14]).then((own) => own[row[15]]),
  ]);
  return {
    ...{ place, trial, task },
    outcome: index.outcomes[row[4]] ?? "",
    word: index.words[row[4]] ?? "",
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
  const choice = make(
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
  choice.addEventListener("change", () => {
    go({ beside: /** @type {HTMLSelectElement} */ (choice).value, page: address.page });
  });
  return choice;
}

/** Fills a choice; one with nothing to choose is not shown. @param {string} id @param {string[]} values @param {string[]} first @param {string[]} names */
function fill(
  id,
  values,
  first = ["any or none", "any"],
  names = values.map((value) => value.replaceAll("_", " ")),
) {
  const select = /** @type {HTMLSelectElement} */ (element(id));
  put(
    select,
    first.map((name, at) => make("option", { value: at === 0 ? "" : name }, name)),
    values.map((value, at) =>
      make("option", { value: encodeURIComponent(value) }, names[at] ?? "")
    ),
  );
  /** @type {HTMLElement} */ (select.parentElement).hidden = select.length < 3;
  select.addEventListener("change", () => go({ [id]: decodeURIComponent(select.value) }));
}

/** Makes the filters, and the headings of the columns that have something to tell. */
function makeFilters() {
  const occurring = index.rows.reduce((all, row) => all | row[7], 0);
  const types = index.types.filter((_, type) => occurring & (1 << type));
  fill("subject", index.keys.subjects, ["all"], index.subjects);
  fill("cell", index.keys.cells, ["all"], index.cells);
  fill("type", types);
  fill("behaviour", [...new Set(index.shown.flat())]);
  const roots = /** @type {HTMLInputElement} */ (element("roots"));
  /** @type {HTMLElement} */ (roots.closest("label")).hidden = types.length === 0;
  roots.addEventListener("change", () => go({ roots: roots.checked ? "1" : "" }));
  const count = (/** @type {number} */ outcome) =>
    index.rows.filter((row) => row[4] === outcome).length;
  // The word for all that failed says enough where it is also that of the only way to fail.
  /** @type {[string, string, number][]} */
  const chips = [
    ["", "all", index.rows.length],
    ["failed", index.unsolved, index.rows.length - count(0)],
    ...index.outcomes.flatMap((name, outcome) => {
      const word = index.words[outcome] ?? "";
      const trials = count(outcome);
      /** @type {[string, string, number][]} */
      const own = trials === 0 || word === index.unsolved ? [] : [[name, word, trials]];
      return own;
    }),
  ];
  put(
    element("outcomes"),
    chips.map(([outcome, word, trials]) => {
      const chip = make(
        "button",
        { type: "button", value: outcome },
        `${word} `,
        make("small", trials.toLocaleString("en-US")),
      );
      chip.addEventListener("click", () => go({ outcome }));
      return chip;
    }),
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
    head.querySelector("button")?.addEventListener("click", () => go({ sort: nextSort(name) }));
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
  const orders = ["calls", "time", "wrong", "outcome"].includes(column)
    ? [`-${column}`, column, ""]
    : [column, `-${column}`, ""];
  return orders[orders.indexOf(address.sort) + 1] ?? orders[0] ?? "";
}

/** Makes everything of the list that can be pressed or typed into. */
function listen() {
  const search = /** @type {HTMLInputElement} */ (element("q"));
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let typing;
  search.addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(() => go({ q: search.value.slice(0, 200) }, { instead: true }), 120);
  });
  element("filters").addEventListener("submit", (event) => event.preventDefault());
  for (const id of ["previous", "next"]) {
    element(id).addEventListener("click", ({ currentTarget }) => {
      go({ page: /** @type {HTMLButtonElement} */ (currentTarget).value });
    });
  }
  addEventListener("keydown", ({ key, target }) => {
    if (key !== "Escape" || address.trial === "" || target instanceof HTMLInputElement) return;
    go({ trial: "", beside: "", page: address.page });
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

/** Makes what tables and figures offer, of which the data of trials is no part. */
function listenToViews() {
  addEventListener("click", ({ target }) => {
    const button = target instanceof Element ? target.closest("button") : null;
    if (button?.matches(".take")) take(button);
    if (button?.matches(".all")) button.parentElement?.classList.toggle("whole");
  });
  /** @type {HTMLDetailsElement[]} */
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details")].filter(({ open }) => !open);
    for (const details of folded) details.open = true;
  });
  addEventListener("afterprint", () => {
    for (const details of folded) details.open = false;
  });
  const sizes = new ResizeObserver((entries) => entries.forEach(({ target }) => fit(target)));
  for (const svg of document.querySelectorAll(".plot > svg")) {
    // Smaller labels are hard to read.
    const { width } = /** @type {SVGSVGElement} */ (svg).viewBox.baseVal;
    /** @type {SVGSVGElement} */ (svg).style.minWidth = `${Math.ceil(0.8 * width)}px`;
  }
  for (const box of document.querySelectorAll(".plot, div.view")) sizes.observe(box);
}

/** Below this width of the page, tables of several columns are blocks. */
const NARROW = 700;

/**
 * Breaks numbers of a table that is wider than its box, and makes blocks of its rows if that is not enough; a figure
 * that is wider says so.
 * @param {Element} box
 */
function fit(box) {
  const isCut = () => box.scrollWidth > box.clientWidth + 1;
  if (box.matches(".plot")) return box.classList.toggle("cut", isCut());
  box.classList.remove("tight", "blocks");
  const isNarrow = innerWidth <= NARROW && box.querySelector("th:nth-child(4)") !== null;
  box.classList.toggle("tight", isCut());
  box.classList.toggle("blocks", isNarrow || isCut());
}

async function start() {
  listenToViews();
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
  makeAllowed();
  makeFilters();
  listen();
  await follow();
  if (location.hash.startsWith("#?")) reveal();
  document.documentElement.dataset["ready"] = "true";
}

addEventListener("DOMContentLoaded", start);
