// Tables and figures on a report's page: downloads, long tables, what is wider than the screen, and printing.

// @ts-check
/// <reference lib="dom" />
/// <reference lib="esnext" />

import { take } from "./take.js";

/**
 * Makes what tables and figures offer, of which the data of trials is no part. `wholeList` shows all rows of the list
 * of trials while it runs what it gets.
 * @param {(run: () => void) => void} wholeList
 */
export function listenToViews(wholeList) {
  addEventListener("click", ({ target }) => {
    const button = target instanceof Element ? target.closest("button") : null;
    if (button?.matches(".take")) {
      // The list shows one page of its rows, and the file has all.
      if (button.closest("#table-trials") === null) take(button);
      else wholeList(() => take(button));
    }
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
  const sizes = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      // What is larger than its box says so.
      const { scrollWidth, clientWidth, scrollHeight, clientHeight } = target;
      target.classList.toggle(
        "cut",
        scrollWidth > clientWidth + 1 || scrollHeight > clientHeight + 1,
      );
    }
  });
  for (const svg of document.querySelectorAll(".plot > svg")) {
    // Smaller labels are hard to read.
    const { width } = /** @type {SVGSVGElement} */ (svg).viewBox.baseVal;
    /** @type {SVGSVGElement} */ (svg).style.minWidth = `${Math.ceil(0.8 * width)}px`;
  }
  for (const box of document.querySelectorAll(".plot, div.view")) sizes.observe(box);
}
