// Downloads from a report's page: figures as SVG that stands alone, tables as CSV.

// @ts-check
/// <reference lib="dom" />
/// <reference lib="esnext" />

import { SVG } from "./parts.js";

/** @param {string} name @param {string} type @param {string} text */
function download(name, type, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** Downloads what a button of a figure or a table offers. @param {HTMLElement} button */
export function take(button) {
  const view = /** @type {HTMLElement} */ (button.closest(".view"));
  if (button.dataset["take"] === "svg") {
    download(`${view.id}.svg`, "image/svg+xml", figureText(view));
  } else {
    const table = /** @type {HTMLTableElement} */ (view.querySelector("table"));
    download(`${view.id}.csv`, "text/csv", tableText(table));
  }
}

/** Returns a table as CSV (RFC 4180). @param {HTMLTableElement} table */
function tableText(table) {
  // A trial may be open below its row.
  return [...table.rows].filter((row) => !row.matches(".opened")).map((row) =>
    `${[...row.cells].map(csvCell).join()}\r\n`
  ).join("");
}

/** Returns the text of a cell; what a spreadsheet would run, also behind a semicolon, begins with an apostrophe. @param {Element} cell */
function csvCell(cell) {
  const text = spacedText(cell).replace(/\s+/g, " ").trim();
  const runs = /^["']*[=+\-@＝＋－＠]/.test(text) && !/^[+-]?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text);
  const safe = (runs ? "'" : "") + text.replace(/(?<=;)(?=[ "']*[=+\-@＝＋－＠])/g, "'");
  return /[",]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Returns the text within a node; lines that break are words apart. @param {Node} node @returns {string} */
function spacedText(node) {
  if (node.nodeName === "BR") return " ";
  const text = node.hasChildNodes()
    ? [...node.childNodes].map(spacedText).join("")
    : node.textContent ?? "";
  return node.nodeName === "DIV" ? ` ${text}` : text;
}

/** Returns the drawing of a figure below its title, in the colours of a light page. @param {HTMLElement} figure */
function figureText(figure) {
  const drawing = /** @type {SVGSVGElement} */ (figure.querySelector(".plot svg"));
  const copy = /** @type {SVGSVGElement} */ (drawing.cloneNode(true));
  const name = figure.querySelector("figcaption")?.firstChild?.textContent?.trim() ?? "";
  /** @param {string} kind @param {Record<string, string>} looks @param {string[]} content */
  const add = (kind, looks, ...content) => {
    const node = document.createElementNS(SVG, kind);
    for (const [key, value] of Object.entries(looks)) node.setAttribute(key, value);
    node.append(...content);
    return node;
  };
  // What stands above the drawing has negative places, so that nothing in it moves; letters are mostly narrower.
  const { width, height } = copy.viewBox.baseVal;
  const wide = Math.max(width, 10 + 9 * name.length);
  const whole = { y: "-26", width: "100%", height: "100%", fill: "var(--paper)" };
  const font = {
    "font-family": "system-ui, sans-serif",
    "font-size": "14px",
    "font-weight": "600",
  };
  copy.prepend(
    add("title", {}, name),
    add("rect", whole),
    add("text", { x: "5", y: "-10", fill: "var(--ink)", ...font }, name),
  );
  copy.setAttribute("viewBox", `0 -26 ${wide} ${height + 26}`);
  copy.setAttribute("width", `${wide}`);
  copy.setAttribute("height", `${height + 26}`);
  copy.removeAttribute("style");
  const style = getComputedStyle(document.documentElement);
  for (const node of [copy, ...copy.querySelectorAll("*")]) {
    node.removeAttribute("class");
    for (const { name, value } of [...node.attributes]) {
      const [, colour] = /^var\((--[\w-]+)\)$/.exec(value) ?? [];
      const [light] = /#\w+/.exec(colour === undefined ? "" : style.getPropertyValue(colour)) ?? [];
      if (light !== undefined) node.setAttribute(name, light);
    }
  }
  return new XMLSerializer().serializeToString(copy);
}
