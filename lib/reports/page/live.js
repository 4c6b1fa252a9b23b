// The part of a page that is served while its run goes on: asks again and again how the run stands.

// @ts-check
/// <reference lib="dom" />
/// <reference lib="esnext" />

import { element, isServed, make, put } from "./parts.js";

/** How a run stands, in words. @typedef {{ text: string, notes: string[], ended: boolean }} State */

/** Milliseconds between two requests, at least and, after a slow one, at most. */
const [LEAST_PAUSE, MOST_PAUSE] = [1000, 2000];

/**
 * Follows the run of a served page until it has ended, and then loads the whole report.
 * @param {() => Promise<void>} refresh Shows the trials that have ended since.
 */
export async function watchRun(refresh) {
  let tag = "";
  while (isServed()) {
    const began = performance.now();
    try {
      const response = await fetch("state", { headers: { "if-none-match": tag } });
      if (response.status !== 304) {
        /** @type {State} */
        const { text, notes, ended } = await response.json();
        await refresh();
        put(element("state"), make("p", text), notes.map((note) => make("p.faint", note)));
        tag = response.headers.get("etag") ?? "";
        if (ended) return location.reload();
      }
    } catch {
      element("state").append(
        make("p", "The run has ended, or was stopped: this page keeps what it has shown."),
      );
      return;
    }
    const slow = Math.min(MOST_PAUSE, 10 * (performance.now() - began));
    await new Promise((resolve) => setTimeout(resolve, Math.max(LEAST_PAUSE, slow)));
  }
}
