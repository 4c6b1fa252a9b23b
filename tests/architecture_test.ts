// The architecture: one ordered list of modules, each of which imports only what stands before it.

import { assert, assertEquals } from "@std/assert";

const LIB = new URL("../lib/", import.meta.url);

/** The floors of the house, the lowest first. */
const FLOORS: Readonly<Record<string, readonly string[]>> = {
  // What any program might need: it knows neither tasks nor models.
  ground: [
    "json",
    "json_layout",
    "secrets",
    "redact",
    "nesting",
    "input",
    "json_parts",
    "tolerant_json",
    "value_parts",
    "value_paths",
    "bipartite_matching",
    "member_matching",
    "stability",
    "std/random",
    "random",
    "distributions",
    "correlation",
    "statistics",
    "repetition",
    "clustered_mean",
    "betting",
    "sizing",
    "paired_sizing",
    "output",
    "journal",
    "lookahead",
    "lanes",
    "backoff",
    "deadline",
    "throttle",
    "throttles",
    "shell",
    "permissions",
  ],
  // Tasks, the calls on them and what is wrong with these: it knows no model.
  world: [
    "vocabulary",
    "graph",
    "tool",
    "message",
    "subschemas",
    "tool_documents",
    "schema_position",
    "schema_check",
    "own_tool",
    "type_words",
    "call_set",
    "truth_check",
    "call_sets/assembly",
    "call_sets/callnavi",
    "call_sets/jsonc",
    "call_sets",
    "call_scoring",
    "call_prompts",
    "difficulty",
    "conformance",
    "similarity",
    "oracle",
    "value_text",
    "ignored_parts",
    "value_differences",
    "parameter_failure",
    "task",
    "failure",
    "fault",
    "trace",
    "parses",
    "call_record",
    "expected_call",
    "call_matching",
    "call_score",
    "parameter_views",
    "drawing",
    "answer",
    "arithmetic",
    "behaviour",
    "recovery",
    "faults",
    "perturbation",
    "perturbations/literals",
    "perturbations/parameters",
    "query_files",
    "perturbations/removal",
    "perturbations/text_edits",
    "perturbations/schema_edits",
    "perturbations/examples",
    "perturbations/schema_references",
    "perturbations/retyping",
    "perturbations/types",
    "perturbations/unrelated",
    "perturbations/documents",
    "perturbations/returns",
    "perturbations/numbers",
    "perturbations/dates",
    "perturbations/places",
    "perturbations/writing",
    "perturbations/queries",
    "perturbations",
    "metamorphic",
    "perturbed_case",
    "perturbed_task",
    "fixture",
    "field_paths",
    "references",
    "filling",
    "symbolic_schema",
    "symbols",
    "nested_calls",
    "call_order",
    "nested_reply",
    "call_outcome",
    "recorder_options",
    "recorder",
    "executor",
    "tool_error",
    "definition",
    "definition_run",
    "lifting",
    "toolbox",
    "call_recording",
    "tool_case",
    "question",
    "probes",
    "tasks",
    "unit_words",
  ],
  // What is kept and decided about models: it reaches no network.
  record: [
    "model",
    "format",
    "json_calls",
    "format_reading",
    "tagged_calls",
    "formats/react",
    "formats/xml",
    "formats/hermes",
    "formats",
    "judge_score",
    "likeness",
    "judged",
    "policy",
    "prices",
    "sequential",
    "evidence",
    "gate",
    "verdict",
    "selfcheck",
  ],
  // Who works on a task: models, and the loop around them.
  subject: [
    "retry",
    "endpoint",
    "models/scripted",
    "models/openai/wire_format",
    "models/openai/reading",
    "models/openai/chat",
    "models/openai/items",
    "models/openai/responses",
    "scorer",
    "token_alignment",
    "models/openai/completions",
    "models/openai",
    "models/text_format",
    "models/simulated/wire",
    "models/simulated/functions",
    "models/simulated/arguments",
    "models/simulated/results",
    "models/simulated/reading",
    "models/simulated/linking",
    "models/simulated/planning",
    "models/simulated/stages",
    "models/simulated/writing",
    "models/simulated/questions",
    "models/simulated/planner",
    "models/simulated/mistakes",
    "models/simulated/reactions",
    "models/simulated/noisy",
    "models/simulated/truth_writing",
    "models/simulated/truth_reading",
    "models/simulated/truth_mistakes",
    "models/simulated/truth_judging",
    "models/simulated/truth",
    "models/simulated/breaking",
    "models/simulated/text_formats",
    "models/simulated/speaking",
    "models/simulated/names",
    "models/simulated/responses_wire",
    "models/simulated/responses_rules",
    "models/simulated/responses",
    "models/simulated/server",
    "models/simulated",
    "session",
    "agent",
    "conversation",
    "prompts",
    "strategy",
    "stage",
    "mending",
    "strategies/restate",
    "strategies/indirection",
    "strategies/plan_then_call",
    "strategies/route_then_fill",
    "strategies/backward",
    "strategies/repair",
    "strategies",
    "wrappers",
    "query_writer",
    "tool_execution",
    "tool_executor_options",
    "tool_course",
    "tool_executor",
    "insertions",
    "self_supervision",
    "run_tools",
  ],
  // Trials, from the planned one to the judged one.
  run: [
    "trial_id",
    "trial",
    "trial_dimensions",
    "trial_score",
    "contest",
    "ceilings",
    "judging",
    "metrics",
    "recovery_rates",
    "format_metrics",
    "dimensions",
    "call_set_metrics",
    "comparison",
    "brittleness",
    "model_entry",
    "strategy_entry",
    "suite",
    "breakdown",
    "plan_rules",
    "plan",
    "expected_usage",
    "sharding",
    "question_source",
    "journal_file",
    "results",
    "collection",
    "baseline",
    "forecast",
    "stopping",
    "connect",
    "recording_request",
    "recording_file",
    "recording_miss",
    "recording",
    "recordings",
    "llm_judge",
    "run",
    "replay",
    "retelling",
    "training_format",
    "training_formats/openai_chat",
    "training_formats/hermes",
    "training_formats",
    "training_data",
  ],
  // Where people and other programs come in.
  edge: [
    "question_story",
    "story",
    "decision",
    "report",
    "reports/text",
    "reports/words",
    "reports/table",
    "reports/call_set_columns",
    "reports/judge_tables",
    "reports/call_set_tables",
    "reports/strategy_tables",
    "reports/perturbation_tables",
    "reports/format_tables",
    "reports/recovery_tables",
    "reports/dimension_tables",
    "reports/tables",
    "reports/verdicts",
    "reports/terminal",
    "reports/markdown",
    "reports/plotting",
    "reports/figures",
    "reports/heatmap",
    "reports/dimension_figure",
    "reports/parameter_lines",
    "reports/task_view",
    "reports/trial_view",
    "reports/markup",
    "reports/figure_markup",
    "reports/sections",
    "reports/html",
    "report_file",
    "summary",
    "call_story",
    "call_assertions",
    "run_assertions",
    "assertions",
    "flags",
    "benchmark",
    "registered_files",
    "interruption",
    "registration",
    "register",
    "tool_testing",
    "commands/arguments",
    "commands/progress",
    "commands/running",
    "commands/generate",
    "commands/run",
    "commands/gate",
    "commands/report",
    "commands/accept",
    "commands/plan",
    "commands/selfcheck",
    "commands/difference",
    "commands/perturb",
    "commands/score",
    "commands/export",
    "commands/simulate",
    "cli",
  ],
};

const ORDER = Object.values(FLOORS).flat();

/** Folders whose files are bodies of one contract, and what of their own folder they may import. */
const BODIES: Readonly<Record<string, readonly string[]>> = {
  "models/": [],
  "formats/": [],
  "training_formats/": [],
  "strategies/": [],
  "call_sets/": ["call_sets/assembly"],
  "perturbations/": [
    "perturbations/literals",
    "perturbations/parameters",
    "perturbations/removal",
    "perturbations/text_edits",
    "perturbations/schema_edits",
    "perturbations/examples",
    "perturbations/schema_references",
    "perturbations/retyping",
    "perturbations/types",
    "perturbations/unrelated",
    "perturbations/numbers",
    "perturbations/dates",
    "perturbations/places",
    "perturbations/writing",
  ],
  "reports/": [
    "reports/text",
    "reports/words",
    "reports/table",
    "reports/call_set_columns",
    "reports/judge_tables",
    "reports/call_set_tables",
    "reports/strategy_tables",
    "reports/perturbation_tables",
    "reports/format_tables",
    "reports/recovery_tables",
    "reports/dimension_tables",
    "reports/tables",
    "reports/verdicts",
    "reports/plotting",
    "reports/figures",
    "reports/heatmap",
    "reports/dimension_figure",
    "reports/parameter_lines",
    "reports/task_view",
    "reports/trial_view",
    "reports/markup",
    "reports/figure_markup",
    "reports/sections",
  ],
  "commands/": [
    "commands/arguments",
    "commands/progress",
    "commands/running",
    "commands/difference",
  ],
};

interface Source {
  /** Path in `lib/`, without the extension. */
  readonly name: string;
  readonly text: string;
  /** What it imports, as written. */
  readonly specifiers: readonly string[];
  /** What it imports of `lib/`, by name. */
  readonly modules: readonly string[];
}

/** Imports stand at the beginning of a line; those of examples stand behind a star. */
function specifiersOf(text: string): string[] {
  const statement = /^(?:import|export)\b(?:[^"';]*?\bfrom)?\s*["']([^"']+)["']/gm;
  const dynamic = /^(?!\s*(?:\*|\/\/)).*\bimport\(\s*["']([^"']+)["']/gm;
  return [statement, dynamic].flatMap((one) => [...text.matchAll(one)].map(([, path]) => path!));
}

function namesIn(folder: URL, prefix = ""): string[] {
  return [...Deno.readDirSync(folder)].flatMap(({ name, isDirectory }) =>
    isDirectory
      ? namesIn(new URL(`${name}/`, folder), `${prefix}${name}/`)
      : name.endsWith(".ts") && !name.endsWith(".d.ts")
      ? [prefix + name.slice(0, -".ts".length)]
      : []
  ).sort();
}

function readSource(name: string): Source {
  const place = new URL(`${name}.ts`, LIB);
  const text = Deno.readTextFileSync(place);
  const specifiers = specifiersOf(text);
  const modules = specifiers.flatMap((specifier) => {
    if (specifier === "@std/random") return ["std/random"];
    if (!specifier.startsWith(".")) return [];
    // Texts of the report's page are no modules.
    if (!specifier.endsWith(".ts")) return [];
    return [new URL(specifier, place).href.slice(LIB.href.length).replace(/\.ts$/, "")];
  });
  return { name, text, specifiers, modules };
}

const SOURCES = namesIn(LIB).map(readSource);

Deno.test("specifiersOf() finds every kind of import, and none in comments", () => {
  const text = [
    'import one from "1";',
    "import {",
    "  type Two,",
    "  two,",
    '} from "2";',
    'import "3";',
    'export * from "4";',
    'export type { Five } from "5";',
    'const six = await import("6");',
    ' * import { no } from "7";',
    '// import { no } from "8";',
    'export const nine = "9";',
  ].join("\n");
  assertEquals(specifiersOf(text).sort(), ["1", "2", "3", "4", "5", "6"]);
});

Deno.test("every module of lib is on the list once", () => {
  assertEquals([...ORDER].sort(), SOURCES.map(({ name }) => name).sort());
});

Deno.test("each module imports only modules that stand before it on the list", () => {
  const wrong = SOURCES.flatMap(({ name, modules }) =>
    modules
      .filter((imported) => !ORDER.slice(0, ORDER.indexOf(name)).includes(imported))
      .map((imported) => `${name} imports ${imported}`)
  );
  assertEquals(wrong, []);
  assert(SOURCES.some(({ modules }) => modules.length > 0), "no import was found at all");
});

Deno.test("lib never imports mod.ts or itself by its published name", () => {
  const wrong = SOURCES.flatMap(({ name, specifiers }) =>
    specifiers
      .filter((specifier) => /(^|\/)mod\.ts$/.test(specifier) || specifier.includes("toolgate"))
      .map((specifier) => `${name} imports ${specifier}`)
  );
  assertEquals(wrong, []);
});

Deno.test("bodies in a plural folder import nothing of each other", () => {
  const wrong = Object.entries(BODIES).flatMap(([folder, shared]) => {
    // A file and the folder of its name are one body, such as models/simulated.
    const bodyOf = (name: string) =>
      name.startsWith(folder) ? name.slice(folder.length).split("/")[0] : undefined;
    return SOURCES.filter(({ name }) => bodyOf(name) !== undefined).flatMap(({ name, modules }) =>
      modules.filter((imported) =>
        bodyOf(imported) !== undefined && bodyOf(imported) !== bodyOf(name) &&
        !shared.includes(imported)
      ).map((imported) => `${name} imports ${imported}`)
    );
  });
  assertEquals(wrong, []);
});

Deno.test("lib draws no random numbers but from a seed", () => {
  // The copy of @std/random keeps the standard library's defaults.
  const wrong = SOURCES.filter(({ name, text }) =>
    !name.startsWith("std/") && text.includes("Math.random")
  );
  assertEquals(wrong.map(({ name }) => name), []);
});

Deno.test("lib has no default exports", () => {
  const wrong = SOURCES.filter(({ text }) =>
    /^export\s+default\b|^export\s*\{[^}]*\bdefault\b/m.test(text)
  );
  assertEquals(wrong.map(({ name }) => name), []);
});
