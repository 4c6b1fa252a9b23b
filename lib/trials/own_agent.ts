/**
 * Agents of the user's own: what one gets of a task, and how it asks the model.
 * @module
 */

import { cannot } from "../base/errors.ts";
import type { Message } from "../tools/message.ts";
import type { Tool, ToolChoice } from "../tools/tool.ts";
import type { Executor } from "./executors/executor.ts";

/**
 * What an agent of the user's own gets of a task: what a model would see, and nothing that leads to the answer.
 */
export interface AgentTask
  extends Pick<Executor, "callLimit" | "calls" | "left" | "exhausted" | "step"> {
  /** The user message. */
  readonly prompt: string;
  /** The instructions before it; omitted without any. */
  readonly system?: string;
  /** The messages of earlier turns; empty in the first one. */
  readonly history: readonly Message[];
  /** The functions on offer, ready to be called. */
  readonly tools: readonly Tool[];
  /** Whether the agent may, must or must not call, or the function it must call; default: as it likes. */
  readonly toolChoice?: ToolChoice;
  /**
   * Says a text to the user in the middle of the work, as an answer of the model, and returns what he says to it, which
   * is the next turn; `undefined` once he says no more: the text that the agent then returns is the last answer. Omitted
   * where nobody answers, as a test has neither `user` nor `turns`. He answers one text after another. What he takes is
   * not time of the agent's.
   *
   * @throws {Error} If the text is blank, the trial is over, or he spoils it, which no agent can undo.
   */
  readonly user?: (text: string) => Promise<string | undefined>;
}

/** How an agent asks the model under test, so that what the model says is seen. */
export interface AgentOptions {
  /**
   * A `fetch` for the agent's client. What it sends below `baseURL` goes to the model under test; requests for
   * replies to any other address are watched as well, and sent as they are, but for the choice of tools that the task
   * demands.
   */
  readonly fetch: typeof fetch;
  /**
   * The address of the model under test for clients of OpenAI's formats, such as `http://127.0.0.1:PORT/TOKEN/v1`:
   * requests there get its key and options. Without the permission to listen at 127.0.0.1 only `fetch` reaches it.
   */
  readonly baseURL: string;
  /** The address of the functions, and of `ask_user` where there is a user, for agents in other processes. */
  readonly toolsURL: string;
  /**
   * Starts an MCP server with the functions, `submit_answer` and, where there is a user, `ask_user`, for agents that are
   * clients of MCP, and returns its address (Streamable HTTP). What the agent submits is then its answer, and the text
   * that it returns is not.
   *
   * @throws {InfrastructureError} If it cannot start; an agent that rejects with that makes the trial `invalid`.
   */
  readonly mcpURL: () => Promise<string>;
  /** A text for clients that demand a key; it is not that of the model. */
  readonly apiKey: string;
  /** The name of the model under test at its server. */
  readonly model: string;
  /** Aborts when the trial is over, such as by a limit. */
  readonly signal: AbortSignal;
}

/**
 * Works on a task in place of the agent loop: calls the task's tools, and returns its final text. It is called once
 * for each message of the user.
 */
export interface Agent {
  (task: AgentTask, options: AgentOptions): Promise<string>;
  /** Set for a program, which ends soon after its signal aborts, and not at once. */
  readonly isProgram?: true;
}

/**
 * Refuses strategies for custom agents: strategies change the agent loop, which these do not use.
 *
 * @throws {InputError} If there is a strategy other than `plain`.
 */
export function assertAgentStrategies(action: string, strategies: readonly string[]): void {
  const other = strategies.find((strategy) => strategy !== "plain");
  if (other === undefined) return;
  throw cannot(
    `run ${action}`,
    "an agent of your own has no loop that a strategy could change",
    `the strategy is ${other}`,
  );
}
