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
  return [...table.rows].map((row) => `${[...row.cells].map(csvCell).join()}\r\n`).join("");
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

/**
 * Returns a text as lines that fit a width, of letters that are not wider than most.
 * @param {string} words @param {{ width: number, size: number, weight: string, fill: string }} looks
 */
function linesOf(words, { width, size, weight, fill }) {
  const most = Math.floor((width - 10) / (0.62 * size));
  const parts = words.trim().match(new RegExp(`.{1,${most}}(?=\\s|$)|\\S{${most}}`, "gu")) ?? [];
  return parts.map((part) => {
    const text = document.createElementNS(SVG, "text");
    const looks = { "x": "5", "font-family": "system-ui, sans-serif", "font-size": `${size}px` };
    for (const [name, value] of Object.entries({ ...looks, "font-weight": weight, fill })) {
      text.setAttribute(name, value);
    }
    text.append(part.trim());
    return { text, size };
  });
}

/** Returns the drawing of a figure, in the colours of a light page. @param {HTMLElement} figure */
function figureText(figure) {
  const drawing = /** @type {SVGSVGElement} */ (figure.querySelector(".plot svg"));
  const copy = /** @type {SVGSVGElement} */ (drawing.cloneNode(true));
  const [paper, title] = ["rect", "title"].map((name) => document.createElementNS(SVG, name));
  const whole = { width: "100%", height: "100%", fill: "var(--paper)" };
  for (const [name, value] of Object.entries(whole)) paper?.setAttribute(name, value);
  const caption = figure.querySelector("figcaption");
  const name = caption?.firstChild?.textContent?.trim() ?? "";
  title?.append(name);
  const { width, height } = copy.viewBox.baseVal;
  const texts = [
    ...linesOf(name, { width, size: 14, weight: "600", fill: "var(--ink)" }),
    ...linesOf(caption?.querySelector("small")?.textContent ?? "", {
      ...{ width, size: 11, weight: "400", fill: "var(--faint)" },
    }),
  ];
  // What stands above the drawing has negative places, so that nothing in it moves.
  const above = texts.reduce((sum, { size }) => sum + 1.4 * size, 10);
  let y = -above;
  for (const { text, size } of texts) text.setAttribute("y", `${y += 1.4 * size}`);
  paper?.setAttribute("y", `${-above}`);
  copy.setAttribute("viewBox", `0 ${-above} ${width} ${height + above}`);
  copy.setAttribute("height", `${height + above}`);
  const added = [title, paper, ...texts.map(({ text }) => text)];
  copy.prepend(...added.filter((node) => node !== undefined));
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
