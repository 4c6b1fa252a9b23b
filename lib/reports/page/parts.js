// Helpers of a report's page: elements, and blocks of data. Texts of models only ever become text nodes.

// @ts-check
/// <reference lib="dom" />
/// <reference lib="esnext" />

/** The namespace of drawings. */
export const SVG = "http://www.w3.org/2000/svg";

/** @param {string} id */
export const element = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/**
 * Returns an element with attributes and content.
 * @param {string} name
 * @param {Record<string, string>} attributes
 * @param {...(string | Node)} content
 */
export function make(name, attributes, ...content) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...content);
  return node;
}

/**
 * Returns the text of a block of the page, which is unpacked at each call.
 * @param {string} id
 */
export async function unpack(id) {
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

/** @param {string} outcome @param {string} word */
export function badge(outcome, word) {
  // To abstain is right where there is no answer.
  const right = outcome === "solved" || outcome === "abstained";
  const kind = right ? "solved" : outcome === "invalid" ? "invalid" : "failed";
  return make("span", { class: `badge ${kind}` }, word);
}
