// The pages of reports of every kind in a real browser: how they look, and what their addresses keep; and figures.

import "../e2e/pages/address.ts";
import "../e2e/pages/call_sets.ts";
import "../e2e/pages/looks.ts";
import "../e2e/pages/perturbations.ts";
import "../e2e/pages/svg.ts";
