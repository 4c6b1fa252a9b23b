// The script of a report's page: what the address says is what is shown. It decides nothing: every judgement
// and every text about a trial comes from the page's data.

// @ts-check
/// <reference lib="dom" />
/// <reference lib="esnext" />

import { addressOf, readAddress } from "./address.js";
import { besideParts } from "./beside.js";
import { isSort, placesOf, rowItem, ROWS, taskText } from "./list.js";
import { badge, block, element, make, unpack } from "./parts.js";
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
/** The columns of the list that have something to tell, and their headings. @type {ReadonlyMap<string, string>} */
let columns;

/** @param {string} text The number of a trial. */
const placeOf = (text) => text === "" ? -1 : Number(text) - 1;

/** @param {number} place */
const rowAt = (place) => /** @type {Row} */ (index.rows[place]);

/** Whether a value of an address means something in this report. @param {keyof Address} key @param {string} value */
function isAllowed(key, value) {
  /** @param {number} most */
  const isNumber = (most) => /^[1-9]\d{0,6}$/.test(value) && Number(value) <= most;
  switch (key) {
    case "trial":
    case "beside":
      return isNumber(index.rows.length);
    case "pair":
      return /^(0|[1-9]\d{0,5})$/.test(value) && Number(value) < index.pairs.length;
    case "change":
      return value === "gained" || value === "lost";
    case "subject":
      return index.subjects.includes(value);
    case "cell":
      return index.cells.includes(value);
    case "outcome":
      return value === "failed" || index.outcomes.includes(value);
    case "type":
      return value === "any" || index.types.includes(value);
    case "behaviour":
      return value === "any" || index.behaviours.includes(value);
    case "roots":
      return value === "1";
    case "page":
      return isNumber(Infinity);
    case "sort":
      return isSort(value);
    case "q":
      return value.length <= 200;
  }
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
  address = readAddress(location.hash, isAllowed);
  if (address.beside === address.trial || address.trial === "") address.beside = "";
  for (const id of ["subject", "cell", "type", "behaviour"]) {
    /** @type {HTMLSelectElement} */ (element(id)).value =
      address[/** @type {keyof Address} */ (id)];
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
  const folded = target?.closest("details");
  if (target === null || folded === null || folded === undefined) return;
  folded.open = true;
  target.scrollIntoView();
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
  for (const button of element("heads").querySelectorAll("button")) {
    const [sign, column] = address.sort.startsWith("-")
      ? ["descending", address.sort.slice(1)]
      : ["ascending", address.sort];
    const head = /** @type {HTMLElement} */ (button.parentElement);
    if (button.value === column) head.setAttribute("aria-sort", sign);
    else head.removeAttribute("aria-sort");
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

/** The tasks that the open pair changed on. @returns {Change[]} */
function changes() {
  return index.pairs[Number(address.pair)]?.[address.change === "gained" ? "gained" : "lost"] ?? [];
}

/** @param {number} count */
const units = (count) => `${count.toLocaleString("en-US")} ${index.unit}${count === 1 ? "" : "s"}`;

/** Shows the tasks on which the two of a pair differ. */
function showPair() {
  const panel = element("pair");
  const pair = address.pair === "" ? undefined : index.pairs[Number(address.pair)];
  panel.hidden = pair === undefined;
  if (pair === undefined) return panel.replaceChildren();
  const { candidate, against, gained, lost } = pair;
  const change = address.change === "gained" ? "gained" : "lost";
  if (panel.dataset["of"] !== address.pair + change) panel.classList.remove("whole");
  panel.dataset["of"] = address.pair + change;
  const [own, word] = change === "gained" ? [gained, "better"] : [lost, "worse"];
  /** @param {"gained" | "lost"} to @param {string} text */
  const turn = (to, text) =>
    make("a", {
      href: linkTo({ change: to, trial: "", beside: "" }),
      ...(to === change ? { "aria-current": "true" } : {}),
    }, text);
  const rows = own.map((one, at) => {
    const [solved, valid, baseSolved, baseValid] = one;
    const [trial] = one[4];
    const row = trial === undefined ? undefined : rowAt(trial);
    const name = row === undefined
      ? "no trial of it is here"
      // The trial that opens is one that shows the change, seldom the first of a test.
      : `${index.cells[row[1]]}${index.unit === "test" ? "" : `, ${taskText(index, row)}`}`;
    /** @type {[string, string | Node][]} */
    const cells = [
      [index.unit, row === undefined ? name : make("a", { href: changeLink(one) }, name)],
      [candidate, `${solved} of ${valid}`],
      [against, `${baseSolved} of ${baseValid}`],
    ];
    return make(
      "tr",
      at < 12 || own.length <= 15 ? {} : { class: "more" },
      ...cells.map(([head, cell]) => make("td", { "data-name": head }, cell)),
    );
  });
  panel.replaceChildren(
    make(
      "div",
      { class: "bar" },
      make(
        "h3",
        { tabindex: "-1" },
        `${candidate} is ${word} than ${against} on ${units(own.length)}`,
      ),
      turn("lost", `worse on ${lost.length}`),
      turn("gained", `better on ${gained.length}`),
      make("a", { href: linkTo({ pair: "", change: "", trial: "", beside: "" }) }, "close"),
    ),
    ...(own.length === 0 ? [] : [
      make(
        "table",
        {},
        make(
          "thead",
          {},
          make(
            "tr",
            {},
            ...[index.unit, candidate, against].map((head, at) =>
              make("th", { scope: "col" }, at === 0 ? head : `${head}, ${index.words[0]}`)
            ),
          ),
        ),
        make("tbody", {}, ...rows),
      ),
    ]),
    ...(own.length <= 15
      ? []
      : [make("button", { type: "button", class: "all" }, `all ${own.length} rows`)]),
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
  if (address.pair === "" || !changes().some((change) => change[4].includes(place))) {
    const at = filtered.indexOf(place);
    return [at - 1, at < 0 ? -1 : at + 1].map((other) => {
      const to = filtered[other];
      return to === undefined ? undefined : linkTo({ trial: String(to + 1), beside: "" });
    });
  }
  const at = changes().findIndex((change) => change[4].includes(place));
  return [at - 1, at + 1].map((other) => {
    const change = changes()[other];
    return change === undefined ? undefined : changeLink(change);
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
    if (
      link instanceof HTMLElement && location.hash.startsWith("#?") || location.hash === "#trials"
    ) {
      /** @type {HTMLElement | undefined} */ (link)?.focus();
    }
    return;
  }
  if (panel.childElementCount === 0) panel.append(make("p", { class: "faint" }, "Unpacking ..."));
  const open = await Promise.all(places.map(openTrial));
  const isOpen = () => address.trial === trial && address.beside === beside;
  if (!isOpen()) return;
  const [first, second] = open;
  const [previous, next] = neighbours();
  /** @param {string} text @param {string | undefined} href */
  const step = (text, href) =>
    href === undefined ? make("span", { class: "faint" }, text) : make("a", { href }, text);
  const heading = make(
    "h3",
    { tabindex: "-1" },
    `trial ${trial}${second ? ` beside ${beside}` : ""}`,
  );
  panel.replaceChildren(
    make(
      "div",
      { class: "bar" },
      heading,
      ...(second ? [] : [badge(first?.outcome ?? "", first?.word ?? "")]),
      step("previous", previous),
      step("next", next),
      ...(second
        ? [make("a", { href: linkTo({ beside: "" }) }, `trial ${trial} alone`)]
        : besideChoice()),
      make("a", { href: linkTo({ trial: "", beside: "" }), id: "close" }, "close"),
    ),
    ...(second === undefined &&
        changes().some((change) => change[4].includes(places[0] ?? -1) && change[5].length === 0)
      ? [
        make(
          "p",
          {},
          `No trial of ${
            index.pairs[Number(address.pair)]?.against
          } is in this report: only how they ended.`,
        ),
      ]
      : []),
    ...(first === undefined ? [] : second ? besideParts([first, second]) : trialParts(first)),
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
  if (others.length === 0) return [];
  const choice = make(
    "select",
    { id: "beside", "aria-label": "a trial of the same task to show beside it" },
    make("option", { value: "" }, "compare with ..."),
    ...others.map((other) => {
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
  return [choice];
}

/** Fills a choice; one with nothing to choose is not shown. @param {string} id @param {[string, string][]} options @param {number} least */
function fill(id, options, least) {
  const select = /** @type {HTMLSelectElement} */ (element(id));
  select.replaceChildren(...options.map(([value, text]) => make("option", { value }, text)));
  /** @type {HTMLElement} */ (select.parentElement).hidden = options.length < least;
  select.addEventListener("change", () => go({ [id]: select.value }));
}

/** Makes the filters, and the headings of the columns that have something to tell. */
function makeFilters() {
  /** @param {string} name @returns {[string, string]} */
  const spaced = (name) => [name, name.replaceAll("_", " ")];
  /** @param {string} name @returns {[string, string]} */
  const asIs = (name) => [name, name];
  const occurring = index.rows.reduce((all, row) => all | row[7], 0);
  const types = index.types.filter((_, type) => occurring & (1 << type));
  fill("subject", [["", "all"], ...index.subjects.map(asIs)], 3);
  fill("cell", [["", "all"], ...index.cells.map(asIs)], 3);
  fill("type", [["", "any or none"], ["any", "any"], ...types.map(spaced)], 3);
  fill("behaviour", [["", "any or none"], ["any", "any"], ...index.behaviours.map(spaced)], 3);
  const roots = /** @type {HTMLInputElement} */ (element("roots"));
  /** @type {HTMLElement} */ (roots.closest("label")).hidden = types.length === 0;
  roots.addEventListener("change", () => go({ roots: roots.checked ? "1" : "" }));
  const counts = index.outcomes.map((_, outcome) =>
    index.rows.reduce((sum, row) => sum + Number(row[4] === outcome), 0)
  );
  const failed = index.rows.length - (counts[0] ?? 0);
  // The word for all that failed says enough where it is also that of the only way to fail.
  const chips = [
    ["", "all", index.rows.length],
    ["failed", index.unsolved, failed],
    ...index.outcomes.map((name, outcome) => [name, index.words[outcome], counts[outcome]]),
  ].filter(([, word, count], at) => at < 2 || count !== 0 && word !== index.unsolved);
  element("outcomes").replaceChildren(...chips.map(([value, word, count]) => {
    const chip = make(
      "button",
      { type: "button", value: String(value) },
      `${word} `,
      make("small", {}, count?.toLocaleString("en-US") ?? ""),
    );
    chip.addEventListener("click", () => go({ outcome: String(value) }));
    return chip;
  }));
  const idle = [
    ...(index.subjects.length < 2 ? ["model"] : []),
    ...(index.cells.length < 2 ? ["cell"] : []),
    // Simulated models take no time worth a column.
    ...(index.rows.some((row) => row[17] >= 1000) ? [] : ["time"]),
  ];
  const heads = [...element("heads").querySelectorAll("th")];
  for (const head of heads) head.hidden = idle.includes(head.dataset["name"] ?? "");
  columns = new Map(
    heads.flatMap((head) =>
      head.hidden ? [] : [[head.dataset["name"] ?? "", head.textContent ?? ""]]
    ),
  );
  for (const button of element("heads").querySelectorAll("button")) {
    button.addEventListener("click", () => go({ sort: nextSort(button.value) }));
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
  listenToViews();
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
  makeFilters();
  listen();
  await follow();
  if (location.hash.startsWith("#?")) reveal();
  document.documentElement.dataset["ready"] = "true";
}

addEventListener("DOMContentLoaded", start);
