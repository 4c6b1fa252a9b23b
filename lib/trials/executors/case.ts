/**
 * Cases: a question about tools of one's own, and the user's own judge of what a model makes of it.
 * @module
 */

import { behavioursIn } from "../../calls/behaviour.ts";
import type { Behaviour } from "../../calls/failure_types.ts";
import { type CallRecord, recordedCalls } from "../../calls/record.ts";
import type { AnswerCheck, Fixture, Work } from "./fixture.ts";
import { InputError, reasonOf } from "../../base/errors.ts";
import {
  canonicalJson,
  type JsonObject,
  type JsonValue,
  printable,
  printableLines,
} from "../../base/json.ts";
import { sha256 } from "../../base/hash.ts";
import type { Message } from "../../tools/message.ts";
import { isJson, isMatcher, type OracleCall } from "../../calls/expected/oracle.ts";
import { assertTools } from "../../tools/define_tool.ts";
import { withViews } from "../../calls/parameter_views.ts";
import {
  perturbCase,
  type PerturbedCase,
  type Step,
  toolboxOptions,
} from "../../perturbations/perturbed_case.ts";
import type { QueryParameter } from "../../perturbations/queries/literals.ts";
import { findParameters } from "../../perturbations/queries/parameters.ts";
import type { ExecutorOptions } from "./executor.ts";
import { schemaOf, type Tool, type ToolChoice } from "../../tools/tool.ts";
import { redact } from "../../base/redact.ts";
import { Toolbox } from "./toolbox.ts";
import { type AssertionEvent, LONGEST_KEPT, type TraceEvent } from "../../calls/trace.ts";
import type { CaseSpec } from "./task_kind.ts";

/** What came of one trial of a case: what its `assert` gets. */
export interface ToolTestRun<State = undefined> extends CallRecord {
  /** What `state` had made for this trial, as the tools have left it. */
  readonly state: State;
  /** All that was said, the question first. */
  readonly messages: readonly Message[];
  /** The final text with names beside values; left out where no names stand for values. */
  readonly rendered?: string;
  /** What each perturbation did; empty without one. */
  readonly perturbed: readonly Step[];
  /** Whether the question lacks what it had told, so that the right answer may be to ask for it. */
  readonly removed: boolean;
  /** The seed of the trial. */
  readonly seed: number;
  /** Everything that happened, in order. */
  readonly events: readonly TraceEvent[];
}

/** A case: tools, what the user says, and what must come of it. */
export interface ToolCase<State = undefined> {
  /** Its name. */
  readonly name: string;
  /** Makes what the tools work on, anew for each trial. */
  readonly state?: () => State;
  /** The tools, or how to make them for each trial. */
  readonly tools: readonly Tool[] | ((state: State) => readonly Tool[]);
  /** What stands before the question. */
  readonly system?: string;
  /** The question. */
  readonly prompt: string;
  /** What the user says after each answer, with the same tools and state. */
  readonly turns?: readonly string[];
  /** The calls that are right: for the view of parameter failures, and to find what the question tells. */
  readonly oracle?: readonly OracleCall[];
  /** What the question tells, and where; default what of the right calls' arguments is found in it. */
  readonly parameters?: readonly QueryParameter[];
  /** Whether the model may, must or must not call; default what its options say. */
  readonly toolChoice?: ToolChoice;
  /** Throws an `AssertionError` unless the run is as it should be. */
  readonly assert: (run: ToolTestRun<State>) => void | Promise<void>;
}

/** A model that never stops calling is stopped. */
const MOST_CALLS = 50;

/** What a trial of a case takes. */
export interface CaseExecutorOptions extends Partial<ExecutorOptions> {
  /** What is done to what the model gets to see; default `none`. */
  readonly perturbation?: string;
}

/** A case in one trial. */
export class CaseExecutor<State> extends Toolbox implements Fixture {
  /** The question as the model gets it. */
  readonly prompt: string;
  /** What stands before it. */
  readonly system: string | undefined;
  /** What the user says after each answer. */
  readonly turns: readonly string[];
  /** The calls that are right, as many as there are. */
  readonly minimumCalls: number | null;
  /** The tools of the calls that are right, each once; left out where these are not known. */
  readonly needed: readonly string[] | undefined;
  /** Whether the model may, must or must not call. */
  readonly toolChoice: ToolChoice | undefined;

  readonly #case: ToolCase<State>;
  readonly #state: State;
  readonly #tools: readonly Tool[];
  readonly #perturbed: PerturbedCase | undefined;
  readonly #seed: number;

  /**
   * Makes state and tools for the trial. Unless told otherwise, 50 calls may be made.
   *
   * @throws {InputError} If what makes state or tools throws or gives a promise, the tools cannot be those
   * of the case, or the perturbation is unknown.
   */
  constructor(own: ToolCase<State>, { seed }: CaseSpec, options: CaseExecutorOptions = {}) {
    const { perturbation = "none", ...others } = options;
    const state = made("state", () => own.state?.() as State);
    const make = own.tools;
    const tools = typeof make === "function" ? made("tools", () => make(state)) : make;
    assertCaseTools(own, tools);
    const text = own.prompt;
    const parameters = own.parameters ?? findParameters(text, (own.oracle ?? []).map(plainOf));
    const perturbed = perturbation === "none"
      ? undefined
      : perturbCase(tools.map(schemaOf), { text, parameters }, perturbation, {
        seed,
        needed: [...new Set((own.oracle ?? []).map(({ tool }) => tool))],
      });
    super(tools, {
      callLimit: MOST_CALLS,
      ...others,
      ...(perturbed === undefined ? {} : toolboxOptions(perturbed)),
    });
    this.#case = own;
    this.#state = state;
    this.#tools = tools;
    this.#perturbed = perturbed;
    this.#seed = seed;
    this.prompt = perturbed?.query.text ?? text;
    this.system = own.system;
    this.turns = own.turns ?? [];
    this.minimumCalls = own.oracle?.length ?? null;
    this.needed = own.oracle === undefined
      ? undefined
      : [...new Set(own.oracle.map(({ tool }) => tool))];
    this.toolChoice = own.toolChoice;
  }

  /** Whether the perturbation found something to change. */
  get changed(): boolean {
    return this.#perturbed === undefined || this.#perturbed.steps.some(({ changed }) => changed);
  }

  /** Lets the user's own assertions judge what came of it. */
  async answer(text: string, rendered: string | undefined, work: Work): Promise<AnswerCheck> {
    this.assertOpen("take an answer");
    if (this.exhausted) {
      this.end(text, null, rendered);
      return { outcome: "call_limit", grounded: false };
    }
    const failed = await this.#fails(this.#run(text, rendered, work));
    if (failed !== undefined) this.record(failed);
    this.end(text, null, rendered);
    return failed === undefined
      ? { outcome: "solved", grounded: true }
      : { outcome: "wrong_answer", grounded: false };
  }

  /** The events, with what each call is beside the right ones, where these are known. */
  viewed(): readonly TraceEvent[] | undefined {
    const { oracle } = this.#case;
    if (oracle === undefined) return undefined;
    const tools = new Map(this.#tools.map((tool) => [tool.name, schemaOf(tool)]));
    return withViews(this.events, { calls: oracle, tools });
  }

  /** The behaviours that the trace shows. */
  behaviours(): Behaviour[] {
    return behavioursIn(this.events, {
      needed: this.#case.oracle?.map(({ tool }) => tool) ?? [],
      answerOf: () => undefined,
      wordsCount: true,
      forced: this.toolChoice !== undefined && this.toolChoice !== "auto",
    });
  }

  #run(answer: string, rendered: string | undefined, work: Work): ToolTestRun<State> {
    const { messages, usage, durationMs } = work;
    return {
      calls: recordedCalls(this.events, this.uncut),
      tools: this.#tools.map(schemaOf),
      answer,
      ...(rendered === undefined ? {} : { rendered }),
      replies: this.events.filter(({ kind }) => kind === "reply").length,
      ...{ messages, usage, durationMs },
      state: this.#state,
      perturbed: this.#perturbed?.steps ?? [],
      removed: this.#perturbed?.removed ?? false,
      seed: this.#seed,
      events: [...this.events],
    };
  }

  /** What the user's assertions say against the run; `undefined` if nothing. */
  async #fails(run: ToolTestRun<State>): Promise<AssertionEvent | undefined> {
    try {
      await this.#case.assert(run);
      return undefined;
    } catch (error) {
      if (error instanceof InputError) throw unjudged(error);
      // A judge that cannot be asked says nothing against the model.
      if (error instanceof Error && error.name === "InfrastructureError") throw error;
      const at = placeInTest(error);
      return { kind: "assertion", message: told(error), ...(at === undefined ? {} : { at }) };
    }
  }
}

/**
 * A hash of what a case asks and asserts, as far as it stands in the case itself: trials of one text must
 * not pass for those of another.
 */
export function digestOf<State>(own: ToolCase<State>): string {
  const { name, tools, system, prompt, turns, toolChoice, oracle, parameters, state, assert } = own;
  const offered = typeof tools === "function" ? String(tools) : tools.map(schemaOf);
  return sha256(canonicalJson({
    ...{ name, offered, system, prompt, turns, toolChoice, oracle, parameters },
    state: state === undefined ? undefined : String(state),
    assert: String(assert),
  }));
}

/**
 * Checks the tools of a case, and what the case says of them.
 *
 * @throws {InputError} If they are no tools, or the oracle or the choice of tools names one that there is
 * not.
 */
export function assertCaseTools(
  { oracle = [], toolChoice }: Pick<ToolCase, "oracle" | "toolChoice">,
  tools: readonly Tool[],
): void {
  if (!Array.isArray(tools)) {
    throw new InputError(
      `Cannot offer tools as they must be a list: what makes them gave ${kindOf(tools)}`,
    );
  }
  assertTools(tools);
  const names = tools.map(({ name }) => name);
  const named = [
    ...oracle.map(({ tool }) => ["oracle", tool] as const),
    ...(typeof toolChoice === "object" ? [["toolChoice", toolChoice.function] as const] : []),
  ];
  const absent = named.find(([, name]) => !names.includes(name));
  if (absent === undefined) return;
  const [option, name] = absent;
  throw new InputError(
    `Cannot use ${option} as it must name tools that there are: there is no tool ` +
      `${printable(name, 80)}, but ${
        names.map((other) => printable(other, 80)).join(", ") || "none"
      }`,
  );
}

/** What the user's own function makes for a trial. */
function made<Made>(what: "state" | "tools", make: () => Made): Made {
  let value: Made;
  try {
    value = make();
  } catch (error) {
    throw new InputError(`Cannot begin a trial as ${what} must not throw: ${thrownIn(error)}`);
  }
  if (value instanceof Promise) {
    value.catch(() => {});
    throw new InputError(
      `Cannot begin a trial as ${what} must be made at once: it is a promise. What takes time is done ` +
        "before the test is registered, or by the tools",
    );
  }
  return value;
}

function kindOf(value: unknown): string {
  return value === null ? "null" : typeof value;
}

/** What the user's own code threw, and where. */
function thrownIn(error: unknown): string {
  const kind = error instanceof Error ? printable(error.constructor.name, 60) : typeof error;
  return `it threw ${kind}${placeOf(error)}: ${printable(redact(reasonOf(error)), 500)}`;
}

function placeOf(error: unknown): string {
  const at = placeInTest(error);
  return at === undefined ? "" : ` at ${at}`;
}

/**
 * What the user's assert threw, as a text. Assertions come from any library, and from several copies of one.
 * Any other error counts as one too: most say that what they look at is not there, and were such a trial
 * `invalid`, running it again until it is right would make a bad model a good one.
 */
function told(error: unknown): string {
  const own = error instanceof Error && isAssertion(error)
    ? error.message.replace(COLOURS, "")
    : `assert ${thrownIn(error).replace(/^it /, "")} (no AssertionError)`;
  // Texts of a model must not give orders to whatever reads a log of tests.
  const text = redact(own).replace(/^(\s*)::/gm, "$1\\::").replaceAll("##[", "#\\#[");
  return printableLines(text, LONGEST_KEPT);
}

/** An assertion was asked for what it cannot assert, and says so itself. */
function unjudged(error: InputError): InputError {
  const lines = error.message.split("\n").map((line) => line.trim());
  return new InputError(`Cannot judge the run${placeOf(error)}: ${lines.join(" ")}`);
}

/** The arguments of a right call as far as they are values: of several that are right, the first. */
function plainOf({ arguments: expected }: OracleCall): { arguments: JsonObject } {
  const plain = Object.entries(expected).flatMap(([name, value]): [string, JsonValue][] => {
    const [own] = isMatcher(value) ? value.values ?? [] : isJson(value) ? [value] : [];
    return own === undefined ? [] : [[name, own]];
  });
  return { arguments: Object.fromEntries(plain) };
}

function isAssertion(error: Error): boolean {
  return error.name === "AssertionError" || error.constructor.name === "AssertionError";
}

/** What colours a terminal. */
// deno-lint-ignore no-control-regex
const COLOURS = /\u001b\[[\d;]*m/g;

/** Our own files, and those of libraries. */
const FOREIGN = [
  new URL("../../", import.meta.url).href,
  "/node_modules/",
  "/npm/",
  "https://",
  "ext:",
];

/** So much of a stack is read. */
const LONGEST_STACK = 10_000;

/** Where in the user's file an error came about, as far as its stack tells. */
function placeInTest(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { stack = "", message } = error;
  // What stands in the message may look like a frame.
  const frames = stack.slice(Math.max(0, stack.indexOf(message)) + message.length);
  const own = frames.slice(0, LONGEST_STACK).split("\n")
    .map((frame) => /^\s+at .*?(file:[^\s)]+)\)?$/.exec(frame)?.[1])
    .find((url) => url !== undefined && !FOREIGN.some((part) => url.includes(part)));
  if (own === undefined) return undefined;
  const here = new URL(`file://${Deno.cwd()}/`).href;
  return printable(own.startsWith(here) ? own.slice(here.length) : own, 500);
}
