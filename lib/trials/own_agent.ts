/**
 * Agents of the user's own: what one gets of a task, and what it cannot work on.
 * @module
 */

import { cannot } from "../base/errors.ts";
import { printable } from "../base/json.ts";
import type { Message } from "../tools/message.ts";
import type { Tool, ToolChoice } from "../tools/tool.ts";
import type { GeneratedTaskExecutor } from "./executors/generated.ts";
import { isGenerated } from "./executors/task_kind.ts";

/**
 * What an agent of the user's own gets of a task: what a model would see, and nothing that leads to the answer.
 */
export interface AgentTask {
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
  /** The number of calls that may be made. */
  readonly callLimit: number;
  /** The number of calls made within the limit, including refused ones. */
  readonly calls: number;
  /** The number of calls that may still be made. */
  readonly left: number;
  /** Whether a call past the limit was made, so that the trial is over. */
  readonly exhausted: boolean;
  /**
   * Begins a new step. After the first use, only this begins steps: for agents that make the calls of one
   * reply one after another.
   */
  step(): void;
}

/** What an agent gets besides its task. */
export interface AgentOptions {
  /** The name of the model under test at its server. */
  readonly model: string;
  /** The address of the model for clients of OpenAI's formats; requests below it are watched. */
  readonly baseURL: string;
  /** Any text, for clients that demand a key. */
  readonly apiKey: string;
  /** The address of the functions. */
  readonly toolsURL: string;
  /** Aborts when the trial ends. */
  readonly signal?: AbortSignal;
}

/** Works on a task instead of the agent loop: calls the task's tools and returns its final text. */
export type Agent = (task: AgentTask, options: AgentOptions) => Promise<string>;

/** Returns what an agent gets of a task; the executor, which knows the answer, cannot be reached from it. */
export function agentTask(executor: GeneratedTaskExecutor): AgentTask {
  const { prompt, tools, callLimit } = executor;
  return {
    ...{ prompt, history: [], tools, callLimit },
    get calls() {
      return executor.calls;
    },
    get left() {
      return executor.left;
    },
    get exhausted() {
      return executor.exhausted;
    },
    step: () => executor.step(),
  };
}

/** Names the kind of a value that is no text. */
export function kindOf(value: unknown): string {
  if (value === undefined || value === null) return String(value);
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/**
 * Refuses strategies for custom agents: strategies change the agent loop, which these do not use.
 *
 * @throws {InputError} If there is a strategy other than `baseline`.
 */
export function assertAgentStrategies(action: string, strategies: readonly string[]): void {
  const other = strategies.find((strategy) => strategy !== "baseline");
  if (other === undefined) return;
  throw cannot(
    `run ${action}`,
    "an agent of your own has no loop that a strategy could change",
    `the strategy is ${printable(other)}`,
  );
}

/**
 * Refuses other than generated tasks for custom agents: probes force calls, and cases judge texts.
 *
 * @throws {InputError} If there are any.
 */
export function assertAgentTasks(action: string, tasks: readonly object[]): void {
  const probe = tasks.find((task) => !isGenerated(task));
  if (probe === undefined) return;
  throw cannot(
    `run ${action}`,
    "an agent of your own works on generated tasks only",
    `there is ${JSON.stringify(probe)}`,
  );
}

/**
 * Refuses nested references for custom agents.
 *
 * @throws {InputError} If `references` is true.
 */
export function assertAgentCalls(action: string, references: boolean): void {
  if (!references) return;
  throw cannot(
    `run ${action}`,
    "an agent of your own makes its calls one by one, and none can refer to others",
    "references is true",
  );
}
