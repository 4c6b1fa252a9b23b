// The script of a history's page, which has figures and tables and no trials.

// @ts-check
/// <reference lib="dom" />
/// <reference lib="esnext" />

import { listenToViews } from "./views.js";

addEventListener("DOMContentLoaded", () => {
  listenToViews((run) => run());
  document.documentElement.dataset["ready"] = "true";
});
