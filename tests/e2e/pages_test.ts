// The pages of reports and histories in a real browser: files of tests/e2e/pages/ in one, as they share a
// Chromium. tests/soak/pages.ts has the others.

import "./pages/downloads.ts";
import "./pages/histories.ts";
import "./pages/hostile.ts";
import "./pages/journals.ts";
import "./pages/list.ts";
import "./pages/live.ts";
import "./pages/pairs.ts";
import "./pages/run.ts";
