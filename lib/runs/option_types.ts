/**
 * The types of options, written by `deno task tables` from the table in `options.ts`.
 * @module
 */

import type { GatePolicy } from "../gate/policy.ts";
import type { Budget, Prices } from "../models/prices.ts";
import type { RecordingOptions } from "../models/recordings/options.ts";
import type { Limits } from "../trials/agent/session.ts";
import type { Transcripts } from "../trials/transcript.ts";

/** The options of runs. */
export interface RunSettings {
  /** The server of models that name none; default OpenAI's. */
  readonly baseURL?: string;
  /**
   * Perturbations of what each model sees, by id or several ids joined by `+`; default `none`. Faults of
   * functions are among them, such as `timeout`, `timeout:3` or `flaky:0.35`.
   */
  readonly perturbations?: readonly string[];
  /**
   * The seed of all tasks: a number always gives the same tasks; `fresh` draws one at the start and prints
   * it, for contamination-free runs.
   */
  readonly seed?: number | "fresh";
  /** Graphs per cell; default 5. A sequential gate sets it itself. */
  readonly graphs?: number;
  /**
   * `distractors`: cells that differ only in their irrelevant functions (`connected`, `disconnected`,
   * `irrelevant`, `connection`) share their core graphs, so that reports can compare these cells core by
   * core. Gates then count core graphs, each with its trials in all cells as one. `none`, the default:
   * each cell has graphs of its own.
   */
  readonly pair?: "distractors" | "none";
  /** Trials of each graph; default 1. */
  readonly repetitions?: number;
  /**
   * The limits of each trial: `calls` (default: twice as many as its task needs, and what faults are
   * expected to take), `steps` (replies), `seconds`, `tokens`, `observation`, `parallel` and `depth`.
   */
  readonly limits?: Limits;
  /**
   * Whether arguments may refer to results of other calls of the same reply, such as `$1.field` for call 1
   * or `$call_id.field`; default `false`. Calls are then carried out in the order of their references.
   */
  readonly references?: boolean;
  /**
   * The gate of each model, strategy and perturbation: against a success rate, or against a baseline on
   * the same graphs. With it, only the gate's own test can fail; without it, each unsolved case does.
   */
  readonly gate?: GatePolicy;
  /**
   * Whether the test file fails if the gate does not decide, as `deno test --filter` can leave its test
   * out; default `false`: a line says so. Not for parts of a run, by `--only` or `--shard` or `--wave`,
   * whose gate is decided elsewhere.
   */
  readonly requireGate?: boolean;
  /** A journal: a file to which finished trials are appended. */
  readonly journal?: string;
  /** Trials that run at the same time; default 8. */
  readonly concurrency?: number;
  /** Where replies are recorded, or replayed from without a key or a network. */
  readonly recordings?: RecordingOptions;
  /** The budget of the run: once it is spent, nothing more is started. */
  readonly budget?: Budget;
  /** The prices of models in US dollars per million tokens; required for budgets and limits in dollars. */
  readonly prices?: Prices;
  /**
   * Milliseconds that one attempt of a request may take; default 300,000. A request without a whole reply
   * in time is not sent again.
   */
  readonly requestTimeout?: number;
  /**
   * Further attempts of a failed request; default 3. Attempts that a rate limit refuses while other
   * requests are in flight do not count, as the run then slows down.
   */
  readonly retries?: number;
  /** Requests to each model that may begin within any 60 seconds; default unlimited. */
  readonly requestsPerMinute?: number;
  /** Tokens that each model may read and write within any 60 seconds; default unlimited. */
  readonly tokensPerMinute?: number;
  /**
   * Which trials of tool tests keep a transcript in journals and reports, with the system text, the
   * question, the tools on offer, what the model wrote between its calls, and the changes of the state:
   * `all` (default), `unsolved`, or `none`.
   */
  readonly transcripts?: Transcripts;
  /**
   * One or several files for the report at the end of the run, by their endings: `.html` a page, `.md`
   * Markdown, `.txt` what a terminal shows. Their folders are created if needed.
   */
  readonly report?: string | readonly string[];
}

/** The options of runs that `benchmark()` takes. */
export type BenchmarkSettings = Omit<RunSettings, "transcripts">;

/** The options of runs that `toolTest()` takes. */
export type ToolTestSettings = Omit<
  RunSettings,
  "perturbations" | "graphs" | "pair" | "repetitions"
>;

/** The options of runs that suite files have. */
export type SuiteSettings = Omit<
  RunSettings,
  | "baseURL"
  | "requireGate"
  | "journal"
  | "concurrency"
  | "recordings"
  | "requestTimeout"
  | "retries"
  | "requestsPerMinute"
  | "tokensPerMinute"
  | "transcripts"
  | "report"
>;
