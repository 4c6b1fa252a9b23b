// The pages of reports and histories, and figures, in a real browser: all files of tests/e2e/pages/ in one, as they
// share a Chromium.

import "./pages/address.ts";
import "./pages/call_sets.ts";
import "./pages/downloads.ts";
import "./pages/histories.ts";
import "./pages/hostile.ts";
import "./pages/journals.ts";
import "./pages/kinds.ts";
import "./pages/looks.ts";
import "./pages/pairs.ts";
import "./pages/perturbations.ts";
import "./pages/run.ts";
import "./pages/svg.ts";
