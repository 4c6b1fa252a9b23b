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

/** Returns the text of a cell; one that a spreadsheet would run as a formula begins with an apostrophe. @param {Element} cell */
function csvCell(cell) {
  const text = spacedText(cell).replace(/\s+/g, " ").trim();
  const runs = /^["']*[=+\-@＝＋－＠]/.test(text) && !/^[+-]?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text);
  const safe = runs ? `'${text}` : text;
  return /[",]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Returns the text within a node; lines that break are words apart. @param {Node} node @returns {string} */
function spacedText(node) {
  if (node.nodeName === "BR") return " ";
  return node.hasChildNodes()
    ? [...node.childNodes].map(spacedText).join("")
    : node.textContent ?? "";
}

const [PADDING, LINE] = [12, 18];

/** Returns a figure as one SVG: its title, its drawings and its legend, in the colours of a light page. @param {HTMLElement} figure */
function figureText(figure) {
  document.documentElement.classList.add("light");
  const [{ color }, { backgroundColor }] = [
    getComputedStyle(figure),
    getComputedStyle(document.body),
  ];
  const root = svg("svg", {});
  let [width, y] = [0, PADDING];
  /** @param {string} text @param {number} x @param {Record<string, string>} more */
  const write = (text, x, more = {}) => {
    const line = svg("text", { x: String(x), y: String(y + 13), fill: color, ...more });
    line.textContent = text;
    root.append(line);
    width = Math.max(width, x + text.length * 7.2);
  };
  /** @param {SVGSVGElement} drawing @param {number} x */
  const place = (drawing, x) => {
    const { width: own, height } = drawing.viewBox?.baseVal?.width
      ? drawing.viewBox.baseVal
      : drawing.getBoundingClientRect();
    const copy = resolved(drawing);
    for (const [name, value] of Object.entries({ x, y, width: own, height })) {
      copy.setAttribute(name, String(value));
    }
    root.append(copy);
    width = Math.max(width, x + own);
    return height;
  };
  const [title] = figure.querySelector("figcaption")?.childNodes ?? [];
  write(title?.textContent?.trim() ?? "", PADDING, { "font-weight": "600" });
  y += LINE + 4;
  for (const part of figure.querySelectorAll("h3, .plot svg, .legend li")) {
    if (part instanceof SVGSVGElement) {
      y += place(part, PADDING) + 6;
      continue;
    }
    const mark = part.querySelector("svg");
    if (mark !== null) place(mark, PADDING);
    write((part.textContent ?? "").replace(/\s+/g, " ").trim(), PADDING + (mark === null ? 0 : 34));
    y += LINE;
  }
  const size = { width: Math.ceil(width + PADDING), height: Math.ceil(y + PADDING) };
  root.setAttribute("viewBox", `0 0 ${size.width} ${size.height}`);
  for (const [name, value] of Object.entries(size)) root.setAttribute(name, String(value));
  root.setAttribute("font-family", "system-ui, sans-serif");
  root.setAttribute("font-size", "13");
  root.prepend(svg("rect", { width: "100%", height: "100%", fill: backgroundColor }));
  document.documentElement.classList.remove("light");
  return new XMLSerializer().serializeToString(root);
}

/** @param {string} name @param {Record<string, string>} attributes */
function svg(name, attributes) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return node;
}

/** Returns a copy of a drawing whose colours no longer depend on the page. @param {SVGSVGElement} drawing */
function resolved(drawing) {
  const copy = /** @type {SVGSVGElement} */ (drawing.cloneNode(true));
  const copies = [copy, ...copy.querySelectorAll("*")];
  for (const [place, node] of [drawing, ...drawing.querySelectorAll("*")].entries()) {
    const style = getComputedStyle(node);
    const own = /** @type {Element} */ (copies[place]);
    for (const { name, value } of [...own.attributes]) {
      if (name === "class" || name === "style") own.removeAttribute(name);
      else if (value.includes("var(")) own.setAttribute(name, style.getPropertyValue(name));
    }
  }
  return copy;
}
