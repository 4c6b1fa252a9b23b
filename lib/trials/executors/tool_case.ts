/**
 * Tool cases: tools, what the user says, the assertions about the result, and what these get.
 * @module
 */

import type { Chain } from "../../chains/chains.ts";
import { type AgentRecord, callsByKind, writtenCalls } from "../../calls/record.ts";
import { cannot } from "../../base/errors.ts";
import {
  canonicalJson,
  defined,
  type JsonObject,
  type JsonValue,
  printable,
} from "../../base/json.ts";
import { type Message, sumUsage } from "../../tools/message.ts";
import type { CallExpectation, ExpectedCall } from "../../tools/expected_call.ts";
import { assertTools } from "../../tools/define_tool.ts";
import type { Step } from "../../perturbations/perturbed_case.ts";
import type { QueryParameter } from "../../perturbations/queries/literals.ts";
import { schemaOf, SERVED, type Tool, type ToolChoice } from "../../tools/tool.ts";
import type { TraceEvent, TurnEvent } from "../../calls/trace.ts";
import { sha256 } from "../../base/hash.ts";
import { kindText } from "../../base/user_code.ts";
import type { Executor } from "./executor.ts";
import type { Work } from "./fixture.ts";
import { type ConversationRecord, END_TOOL, type ToolUser, userDigest } from "../users/user.ts";

/** The result of one trial of a case, passed to its `assert`. */
export interface ToolTestRun<State = undefined> extends AgentRecord {
  /** The value that `state` made for this trial, as the tools left it. */
  readonly state: State;
  /** All messages, the question first. */
  readonly messages: readonly Message[];
  /**
   * What each message of the user led to, the question first: its prompt, calls, texts and answer. Assertions take
   * a turn as they take the run.
   */
  readonly turns: readonly ToolTestTurn[];
  /** The texts of the model in all turns, one for each reply that has any, in order; the last is the answer. */
  readonly texts: readonly string[];
  /** How the conversation with a simulated user went; omitted without one. */
  readonly conversation?: ConversationRecord;
  /** The final text with names beside values; omitted when no names are used. */
  readonly rendered?: string;
  /** The effect of each perturbation; empty without any. */
  readonly perturbed: readonly Step[];
  /** Whether values were removed from the question, so that asking for them may be the right answer. */
  readonly removed: boolean;
  /** The seed of the trial. */
  readonly seed: number;
  /** Everything that happened, in order. */
  readonly events: readonly TraceEvent[];
}

/** The right calls of a case, which show what its state must be in the end. */
export interface ToolReference<State = undefined> {
  /**
   * The calls, with arguments as a model would write them; those `by` the user are of his own tools. They are carried out
   * in this order, once a run and before its first trial, on what `state` and `tools` make for them alone.
   */
  readonly calls: readonly {
    readonly tool: string;
    readonly arguments?: JsonObject;
    readonly by?: "user";
  }[];
  /**
   * Returns what is compared of a state, as data; default: all of it. What differs from run to run, such as a time, is
   * left out by it.
   */
  readonly snapshot?: (state: State) => unknown;
}

/** A case: tools, what the user says, and the assertions about the result. */
export interface ToolCase<State = undefined> {
  /** Its name. */
  readonly name: string;
  /**
   * A chain of calls over the graph of your tools, in place of state, tools, prompt, turns, expected, parameters and
   * assert: each trial draws its question, and knows the answer.
   */
  readonly chain?: Chain;
  /**
   * Makes the state that the tools work on, once for each trial. If it has `Symbol.asyncDispose` or
   * `Symbol.dispose`, it is disposed of when the trial is over.
   */
  readonly state?: () => State | Promise<State>;
  /** The tools, or a function that makes them for each trial; what it makes is disposed of like the state. */
  readonly tools:
    | readonly Tool[]
    | ((state: State) => readonly Tool[] | Promise<readonly Tool[]>);
  /** The system message. */
  readonly system?: string;
  /** The question, or a function that makes it for each trial. */
  readonly prompt?: string | ((state: State) => string | Promise<string>);
  /** The user's further messages, each sent after an answer, with the same tools and state. */
  readonly turns?: readonly string[];
  /**
   * A simulated user who answers what the model says, in place of `turns`. With him `prompt` is his first message; where
   * it is left out, he writes that himself.
   */
  readonly user?: ToolUser<State>;
  /**
   * The correct calls, without `defaults`: they classify parameter failures, and their arguments are looked
   * for in the question. Those of `reference` do not stand in for them: a model may look things up.
   */
  readonly expected?: readonly ExpectedCall[];
  /** The parameters stated in the question; default: arguments of the expected calls found in it. */
  readonly parameters?: readonly QueryParameter[];
  /**
   * Calls that must not happen in any trial: each is the name of a tool, or a call with arguments. They are looked
   * for at the end of every trial, however it ends, also by a limit or an error, when `assert` is not called. An
   * attempt counts: a call that was refused, failed or met a fault; one that an agent holds does not. Such a trial has
   * failed, and so has a gate, at any success rate.
   */
  readonly never?: readonly CallExpectation[];
  /** Whether the model may, must or must not call; default: as its options say. */
  readonly toolChoice?: ToolChoice;
  /**
   * The right calls: after a trial its state must equal the one that they leave, whatever calls the model made. They
   * need `state`, and tools of your own: one of a server, which has no state to copy, is refused.
   */
  readonly reference?: ToolReference<State>;
  /**
   * What the model must tell the user, each in some text of any turn, or one text of a list: as whole words, or as a
   * number by its value. Case, spaces, kinds of quotes, separators of thousands and signs of currencies do not count.
   */
  readonly communicate?: readonly (string | readonly string[])[];
  /**
   * Throws an `AssertionError` if the run is not as it should be; omitted where `reference` or `communicate` say that.
   */
  readonly assert?: (run: ToolTestRun<State>) => void | Promise<void>;
}

/** What decides which tools a case may have. */
type PartsOnTools =
  & Pick<ToolCase<unknown>, "expected" | "never" | "toolChoice" | "state">
  & { readonly reference?: Pick<ToolReference, "calls"> | undefined };

/**
 * Checks the tools of a case, and the names it uses for them.
 *
 * @throws {InputError} If a tool is invalid, `reference`, `expected`, `never` or `toolChoice` names a tool that does not
 * exist, or `reference` one of a server.
 */
export function assertCaseTools(toolCase: PartsOnTools, tools: readonly Tool[]): void {
  assertFit("offer tools", toolCase, tools);
  const { expected = [], never = [], toolChoice, reference } = toolCase;
  const names = tools.map(({ name }) => name);
  const named = [
    ...callsOfModel(reference).map(({ tool }) => ["reference", tool] as const),
    ...expected.map(({ tool }) => ["expected", tool] as const),
    ...never.map((one) => ["never", typeof one === "string" ? one : one.tool] as const),
    ...(typeof toolChoice === "object" ? [["toolChoice", toolChoice.function] as const] : []),
  ];
  const absent = named.find(([, name]) => !names.includes(name));
  if (absent === undefined) return;
  const [option, name] = absent;
  throw cannot(
    `use ${option}`,
    "it must name existing tools",
    `there is no tool ${printable(name, 80)}, but ${
      names.map((other) => printable(other, 80)).join(", ") || "none"
    }${option === "reference" ? '; calls of the user have by: "user"' : ""}`,
  );
}

/**
 * Checks the tools of the simulated user of a case.
 *
 * @throws {InputError} If one is invalid, has the name of the tool that ends a conversation, or is of a server that
 * `reference` needs.
 */
export function assertUserTools(toolCase: PartsOnTools, tools: readonly Tool[]): void {
  assertFit("offer tools to the user", toolCase, tools);
  if (tools.every(({ name }) => name !== END_TOOL)) return;
  throw cannot("offer tools to the user", `none may be called ${END_TOOL}`, "one of them is");
}

/** Checks that tools, of the model or of its user, can work on the state of a case. */
function assertFit(
  action: string,
  { state, reference }: PartsOnTools,
  tools: readonly Tool[],
): void {
  if (!Array.isArray(tools)) {
    throw cannot(action, "they must be a list", `what makes them gave ${kindText(tools)}`);
  }
  assertTools(tools);
  const replayed = tools.find(({ replay }) => state !== undefined && replay);
  if (replayed !== undefined) {
    throw cannot(
      action,
      "in a test with state no tool may have replay: true, since a replayed result changes no state",
      `${printable(replayed.name, 80)} has`,
    );
  }
  const served = reference && tools.find(({ [SERVED]: isServed }) => isServed);
  if (served === undefined) return;
  throw cannot(
    "use reference",
    "its tools must be functions of your own, as a server has no state to copy",
    `${printable(served.name, 80)} is a tool of a server`,
  );
}

/**
 * Checks the question that a function made.
 *
 * @throws {InputError} If there is none.
 */
export function assertPrompt(prompt: unknown): void {
  if (typeof prompt === "string" && prompt.trim() !== "") return;
  throw cannot(
    "ask the question",
    "prompt must make a text that is not empty",
    typeof prompt === "string" ? "it is empty" : `it gave ${kindText(prompt)}`,
  );
}

/** The calls of a reference that are the model's. */
export function callsOfModel(reference: ToolCase<never>["reference"]): readonly ExpectedCall[] {
  return reference?.calls.filter(({ by }) => by === undefined) ?? [];
}

/** Hashes of a case and of what is under test with it, so that results can be compared case by case. */
export interface CaseParts {
  /** Of what the user says, the initial state and the assertions. */
  readonly case: string;
  /** Of the system text; omitted without one. */
  readonly system?: string;
  /** Of the simulated user; omitted without one. */
  readonly user?: string;
  /** Of the tools as offered, and whether the model may, must or must not call them. */
  readonly tools: string;
}

/** Returns the hashes of a case and of what is under test with it. A function counts by its text. */
export function caseParts<State>(
  { chain, prompt, turns, user, expected, parameters, never, state, assert, system, ...own }:
    ToolCase<State>,
): CaseParts {
  const { reference, communicate } = own;
  const tools = chain === undefined
    ? own.tools
    : Array.from(chain.graph.nodes.values(), ({ tool }) => tool);
  return {
    case: sha256(canonicalJson({
      ...(chain !== undefined ? { chain: chain.id, never } : {
        prompt: typeof prompt === "function" ? { made: String(prompt) } : prompt,
        state: state && String(state),
        assert: assert && String(assert),
        reference: reference && [reference.calls, String(reference.snapshot)],
        ...{ communicate, turns, expected, parameters, never },
      }),
    })),
    system: system === undefined ? undefined : sha256(system),
    user: user && userDigest(user),
    // The tools as a model sees them; of a function that makes them, its text.
    tools: sha256(canonicalJson({
      offered: (typeof tools === "function" ? String(tools) : tools.map(schemaOf)) as JsonValue,
      toolChoice: own.toolChoice,
    })),
  };
}

/**
 * A hash of what a case asks and asserts, as far as the case itself contains it, so that trials of
 * different texts are never mixed.
 */
export function caseDigest<State>(toolCase: ToolCase<State>): string {
  return sha256(canonicalJson({ name: toolCase.name, ...caseParts(toolCase) }));
}

/** What one message of the user led to: assertions take it as they take the whole run. */
export interface ToolTestTurn extends AgentRecord {
  /** The message. */
  readonly prompt: string;
  /** Set if the agent said it in the name of its user; otherwise omitted. */
  readonly by?: "agent";
  /** The texts of the model, one for each reply that has any, in order; the last is the answer. */
  readonly texts: readonly string[];
}

/** Returns the turns of a run. */
export function turnsOf(
  { events, uncut }: Pick<Executor, "events" | "uncut">,
  { prompt, before = 0, answer, messages, tools, durationMs, turnsMs = [durationMs] }:
    & Pick<ToolTestRun, "messages" | "tools" | "durationMs">
    & Pick<Work, "turnsMs">
    & { readonly prompt: string; readonly before?: number; readonly answer: string },
): ToolTestTurn[] {
  const parts = eventsByTurn(events);
  // What was said before the question is no turn.
  const first = messages.findIndex(({ role }) => role !== "system") + before;
  const said = textsByTurn(messages.slice(first + 1), parts.slice(1).map(({ turn }) => turn!.text));
  return parts.map(({ turn, own }, place) => {
    const replies = own.filter((event) => event.kind === "reply");
    const isLast = place === parts.length - 1;
    const texts = said[place] ?? [];
    // Names stand for values in messages, and not in the answer.
    const all = isLast ? [...texts.slice(0, -1), answer] : texts;
    return {
      prompt: turn?.text ?? prompt,
      ...defined({ by: turn?.by }),
      ...callsByKind(own, uncut),
      ...(replies.length === 0 ? {} : { written: writtenCalls(own) }),
      tools,
      texts: all.filter((one) => one.trim() !== ""),
      answer: all.at(-1) ?? "",
      replies: replies.length,
      usage: sumUsage(replies),
      durationMs: turnsMs[place] ?? 0,
    };
  });
}

/** The events of each turn, and the message that began it; of the first that is the question. */
export function eventsByTurn(
  events: readonly TraceEvent[],
): { turn?: TurnEvent; own: TraceEvent[] }[] {
  const parts: { turn?: TurnEvent; own: TraceEvent[] }[] = [{ own: [] }];
  for (const event of events) {
    if (event.kind === "turn") parts.push({ turn: event, own: [] });
    else parts.at(-1)!.own.push(event);
  }
  return parts;
}

/** The texts of the model in each turn, empty ones among them. */
function textsByTurn(messages: readonly Message[], prompts: readonly string[]): string[][] {
  const texts: string[][] = [[]];
  for (const { role, content } of messages) {
    if (role === "user" && content === prompts[texts.length - 1]) texts.push([]);
    else if (role === "assistant") texts.at(-1)!.push(content);
  }
  return texts;
}
