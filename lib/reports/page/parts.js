// Helpers of a report's page: elements, and blocks of data. Texts of models only ever become text nodes.

// @ts-check
/// <reference lib="dom" />
/// <reference lib="esnext" />

/** The namespace of drawings. */
export const SVG = "http://www.w3.org/2000/svg";

/** @param {string} id */
export const element = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** What elements hold; what is not there is left out. @typedef {string | Node | undefined | false | any[]} Content */

/**
 * Returns an element.
 * @param {string} kind Its name, and its classes after a dot.
 * @param {...(Content | Record<string, string>)} content Its attributes if it has any, then what it holds.
 */
export function make(kind, ...content) {
  const [name = "", own] = kind.split(".");
  const node = document.createElement(name);
  if (own !== undefined) node.className = own;
  const [first] = content;
  if (first && Object.getPrototypeOf(first) === Object.prototype) {
    for (const [key, value] of Object.entries(first)) node.setAttribute(key, value);
    content.shift();
  }
  return put(node, .../** @type {Content[]} */ (content));
}

/**
 * Returns what a tree of the page's data stands for.
 * @param {any} tree A text, an object with what is written as JSON, an element as a list of its name and what it holds,
 *   or a list of trees.
 * @returns {Content}
 */
export function grow(tree) {
  if (!Array.isArray(tree)) return tree?.json ? JSON.stringify(tree.json, undefined, 2) : tree;
  const [kind, ...content] = tree;
  return typeof kind === "string" ? make(kind, content.map(grow)) : tree.map(grow);
}

/** Replaces what an element holds. @param {HTMLElement} node @param {...Content} content */
export function put(node, ...content) {
  node.replaceChildren(.../** @type {any[]} */ (content).flat(Infinity).filter(Boolean));
  return node;
}

/** Whether the page fetches its data from where it came from, as its run goes on. */
export const isServed = () => document.getElementById("live") !== null;

/**
 * Returns the text of a block of the page, which is unpacked at each call.
 * @param {string} id
 */
export async function unpack(id) {
  if (isServed()) {
    const response = await fetch(id);
    if (!response.ok) throw new Error(`the server of this page answers ${response.status}`);
    return await response.text();
  }
  const bytes = Uint8Array.from(atob(element(id).textContent ?? ""), (one) => one.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  document.documentElement.dataset["unpacked"] = String(
    Number(document.documentElement.dataset["unpacked"] ?? 0) + 1,
  );
  return await new Response(stream).text();
}

/** The blocks unpacked last. @type {Map<number, Promise<any[]>>} */
const blocks = new Map();

/** @param {number} chunk */
export function block(chunk) {
  const content = blocks.get(chunk) ?? unpack(`block-${chunk}`).then((text) => JSON.parse(text));
  blocks.delete(chunk);
  blocks.set(chunk, content);
  const [oldest] = blocks.keys();
  if (blocks.size > 8 && oldest !== undefined) blocks.delete(oldest);
  return content;
}

/** Graphviz, loaded on first use. @type {Promise<any> | undefined} */
let graphviz;

export function loadGraphviz() {
  graphviz ??= new Promise((resolve, reject) => {
    addEventListener("graphviz", (event) => {
      /** @type {CustomEvent} */ (event).detail().then(resolve, reject);
    }, { once: true });
    unpack("graphviz").then((source) => {
      // The content security policy has its hash: nothing else can run here.
      const script = make("script", { type: "module" });
      script.textContent = source;
      document.head.append(script);
    }).catch(reject);
  });
  return graphviz;
}

/** Returns `solved`, `failed` or `invalid`: to abstain is right where there is no answer. @param {string} outcome */
export function kindOf(outcome) {
  if (outcome === "abstained") return "solved";
  return outcome === "solved" || outcome === "invalid" ? outcome : "failed";
}

/** @param {string} outcome @param {string} word */
export const badge = (outcome, word) => make(`span.badge ${kindOf(outcome)}`, word);
