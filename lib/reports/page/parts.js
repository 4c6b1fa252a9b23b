// What all of a report's page is made of: elements, and the blocks of data that it holds. Texts of models
// only ever become text nodes.

// @ts-check
/// <reference lib="dom" />
/// <reference lib="esnext" />

/** @param {string} id */
export const element = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/**
 * An element with attributes, and with texts and elements in it.
 * @param {string} name
 * @param {Record<string, string>} attributes
 * @param {...(string | Node)} content
 */
export function make(name, attributes, ...content) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...content);
  return made;
}

/**
 * What a block of the page holds. Blocks are unpacked when they are asked for.
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
  const known = blocks.get(chunk) ?? unpack(`block-${chunk}`).then((text) => JSON.parse(text));
  blocks.delete(chunk);
  blocks.set(chunk, known);
  const [oldest] = blocks.keys();
  if (blocks.size > 8 && oldest !== undefined) blocks.delete(oldest);
  return known;
}

/** Graphviz, once it was needed. @type {Promise<any> | undefined} */
let graphviz;

export function loadGraphviz() {
  graphviz ??= new Promise((resolve, reject) => {
    addEventListener("graphviz", (event) => {
      /** @type {CustomEvent} */ (event).detail().then(resolve, reject);
    }, { once: true });
    unpack("graphviz").then((source) => {
      // Its hash stands in the content security policy: nothing else runs here.
      const script = make("script", { type: "module" });
      script.textContent = source;
      document.head.append(script);
    }).catch(reject);
  });
  return graphviz;
}

/** @param {string} outcome */
export function badge(outcome) {
  // Who abstains where nothing can be answered is right.
  const right = outcome === "solved" || outcome === "abstained";
  const kind = right ? "solved" : outcome === "invalid" ? "invalid" : "failed";
  return make("span", { class: `badge ${kind}` }, outcome.replaceAll("_", " "));
}
