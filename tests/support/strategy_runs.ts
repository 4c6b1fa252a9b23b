/**
 * Strategies at work, with doubles that can be listened to: what the tests of all strategies share.
 */

import { assertEquals } from "@std/assert";
import { type LoopOptions, runLoop } from "../../lib/trials/agent/loop.ts";
import { GeneratedTaskExecutor } from "../../lib/trials/executors/generated.ts";
import type { AnswerCheck } from "../../lib/trials/executors/fixture.ts";
import type { Message } from "../../lib/tools/message.ts";
import type { Model, ModelReply, ModelRequest } from "../../lib/models/model.ts";
import { type Script, scripted, type ScriptedReply } from "../../lib/models/scripted.ts";
import { type Ending, type Limits, Session } from "../../lib/trials/agent/session.ts";
import {
  STRATEGIES,
  type StrategyOptions,
  withStrategy,
} from "../../lib/trials/strategies/registry.ts";
import type { Task } from "../../lib/tasks/graphs/task.ts";
import type { PreparedCall, ResultWriter, ToolCall, ToolSchema } from "../../lib/tools/tool.ts";
import { type CallEvent, callsOf, type TraceEvent } from "../../lib/calls/trace.ts";
import { type PlannedTrial, trialId, type TrialKey } from "../../lib/trials/trial_id.ts";
import { rightArguments } from "./generated.ts";
import { TASK } from "./handmade.ts";
import { inProcess } from "./in_process.ts";

/** Strategies that are used together, in orders that matter. */
export const COMPOSITES: readonly string[] = [
  "restate+plan_then_call",
  "indirection+repair",
  "repair+indirection",
  "restate+indirection",
  "route_then_fill+repair",
  "plan_then_call+route_then_fill",
  "backward+restate+repair",
  "indirection+restate+plan_then_call+repair",
  "few_shot+plan_then_call+repair",
  "indirection+few_shot",
];

/** Every strategy, alone and with others. */
export const EVERY: readonly string[] = [...STRATEGIES, ...COMPOSITES];

/** A trial of a strategy in some place of a plan. */
export function planned(strategy: string, model: string, task: TrialKey["task"]): PlannedTrial {
  const key = { model, strategy, perturbation: "none", task, repetition: 1 };
  return { ...key, id: trialId(key), index: 3, block: 1 };
}

/** The model, while `requests` gets everything that it is asked, as it was then. */
export function listened(model: Model, requests: ModelRequest[]): Model {
  return {
    ...model,
    reply(request) {
      const { messages, tools, ...rest } = request;
      requests.push({ ...structuredClone({ messages, tools }), ...rest });
      return model.reply(request);
    },
  };
}

/** A script whose last reply is repeated for ever, also if it has calls. */
export function forever(...replies: readonly ScriptedReply[]): Script {
  return ({ context }) => replies[context.request - 1] ?? replies.at(-1)!;
}

/** What {@linkcode work} may be given. */
export interface WorkOptions {
  /** What is set of the strategy. */
  readonly set?: StrategyOptions;
  /** Other models, by stage. */
  readonly models?: Readonly<Record<string, Model>>;
  /** The messages that open the conversation; default the task's prompt. */
  readonly messages?: readonly Message[];
  /** Default 20 calls. */
  readonly limits?: Limits;
  /** Default the task made by hand. */
  readonly task?: Task;
  /** What stands around the strategy. */
  readonly around?: Pick<LoopOptions, "write" | "review">;
}

/** What came of some work. */
export interface Work {
  readonly ending: Ending;
  /** What is made of the answer; `undefined` where a limit ended it. */
  readonly judgement: AnswerCheck | undefined;
  /** All requests to all models, in order. */
  readonly requests: readonly ModelRequest[];
  readonly events: readonly TraceEvent[];
  readonly calls: readonly CallEvent[];
  /** How many calls reached the executor. */
  readonly executed: number;
  readonly session: Session;
}

class CountingExecutor extends GeneratedTaskExecutor {
  executed = 0;

  override execute(calls: readonly PreparedCall[], write?: ResultWriter) {
    this.executed += calls.length;
    return super.execute(calls, write);
  }
}

/** Lets a script, or a model, work on a task under a strategy. */
export async function work(
  strategy: string,
  script: Script | readonly ScriptedReply[] | Model,
  { set = {}, models = {}, messages, limits = {}, task = TASK, around = {} }: WorkOptions = {},
): Promise<Work> {
  const requests: ModelRequest[] = [];
  const model = "reply" in script ? script : scripted("script", script);
  using executor = new CountingExecutor(task, { callLimit: limits.calls ?? 20 });
  const session = new Session({
    model: listened(model, requests),
    models: new Map(
      Object.entries(models).map(([stage, other]) => [stage, listened(other, requests)]),
    ),
    context: { trial: "a trial", repetition: 1 },
    limits,
    record: (event) => executor.record(event),
  });
  const ending = await withStrategy(strategy, runLoop, set)({
    session,
    environment: executor,
    task: executor,
    messages: messages ?? [{ role: "user", content: task.prompt }],
    ...around,
  });
  const judgement = ending.kind === "answer"
    ? executor.answer(ending.text, ending.rendered)
    : undefined;
  const { events, executed } = executor;
  return { ending, judgement, requests, events, calls: callsOf(events), executed, session };
}

/** What a simulated model makes of a task; `around` says what it gets to see of returns. */
export function attempt(
  task: Task,
  { model = "sim:planner", strategy = "plain", ...options }: WorkOptions & {
    readonly model?: string;
    readonly strategy?: string;
  } = {},
): Promise<Work> {
  return work(strategy, inProcess(model), { task, limits: { calls: 2_000 }, ...options });
}

/** The answer, or what ended the work without one. */
export function answerOf({ ending }: Work): string {
  return ending.kind === "answer" ? ending.text : ending.kind;
}

/** Solved with the fewest calls, and none of them wrong. */
export function assertPerfect(task: Task, { judgement, calls }: Work): void {
  assertEquals(judgement, { outcome: "solved", grounded: true });
  assertEquals([calls.length, calls.filter((call) => call.failure)], [task.minimumCalls, []]);
}

/** Events of a kind, in order. */
export function eventsOf<Kind extends TraceEvent["kind"]>(
  { events }: { readonly events: readonly TraceEvent[] },
  kind: Kind,
): Extract<TraceEvent, { readonly kind: Kind }>[] {
  return events.filter((event): event is Extract<TraceEvent, { readonly kind: Kind }> =>
    event.kind === kind
  );
}

/** What went back to the model for calls, as its last request shows it. */
export function resultsSeen({ requests }: Pick<Work, "requests">): string[] {
  return (requests.at(-1)?.messages ?? [])
    .flatMap((message) => message.role === "tool" ? [message.content] : []);
}

/** How an {@linkcode adapting} model behaves beside its script. */
export interface Manner {
  /** Whether it first leaves out all arguments of a call, and mends that when it is asked to. */
  readonly slips?: boolean;
  /** What every reply claims of itself, given the number of the request. */
  readonly claims?: (request: number) => Partial<Pick<ModelReply, "usage" | "duration" | "finish">>;
}

/**
 * A model that does what its script says in whatever form it is asked to: it answers stages, names
 * results where they must have names, and gives names where it knows them. The script speaks of true
 * values; of its replies those that were carried out are not given again.
 */
export function adapting(
  name: string,
  task: Task,
  script: readonly ScriptedReply[],
  { slips = false, claims = () => ({}) }: Manner = {},
): Model {
  return scripted(name, (request) => {
    const { messages, tools, context } = request;
    const own = claims(context.request);
    if (tools.length === 0) return { ...own, text: stageAnswer(task) };
    const last = messages.at(-1)?.content ?? "";
    const mends = /^Tool: (\S+)$/m.exec(last)?.[1];
    const step = messages.filter((message) =>
      message.role === "assistant" && message.calls.length > 0
    ).length;
    const voice = new Voice(task, messages, tools);
    if (mends !== undefined) {
      const made = task.functions.find((one) => one.name === mends);
      if (!slips || made === undefined) return { ...own, text: "I do not know any better." };
      const call = { name: mends, arguments: rightArguments(task, made) };
      return { ...own, calls: [voice.call(call, `${step}_1`)] };
    }
    const { text = "", calls = [], ...rest } = script[Math.min(step, script.length - 1)]!;
    const written = calls.map((call, place) => voice.call(call, `${step}_${place + 1}`));
    if (slips && step === 0 && written.length > 0) written[0] = { ...written[0]!, arguments: "{}" };
    return { ...own, ...rest, text: voice.say(text), calls: written };
  });
}

/** What passes for a plan, a list of functions and a list of calls. */
function stageAnswer({ functions }: Task): string {
  const core = functions.filter(({ role }) => role === "core").map(({ name }) => name);
  return `{"API": ["${core.join('", "')}"]} <!stop>`;
}

type ScriptedCall = NonNullable<ScriptedReply["calls"]>[number];

/** Writes in names what a script says in values, as far as the conversation has names. */
class Voice {
  readonly #task: Task;
  readonly #tools: readonly ToolSchema[];
  /** The name that stands for each variable, the first one. */
  readonly #names = new Map<string, string>();

  constructor(task: Task, messages: readonly Message[], tools: readonly ToolSchema[]) {
    this.#task = task;
    this.#tools = tools;
    const calls = new Map<string, ToolCall>();
    const learn = (variable: string, name: string) => {
      if (!this.#names.has(variable)) this.#names.set(variable, name);
    };
    for (const message of messages) {
      if (message.role === "user") {
        for (const [, variable, name] of message.content.matchAll(/^Variable (\w+) = (@\w+)$/gm)) {
          learn(variable!, name!);
        }
      } else if (message.role === "assistant") {
        for (const call of message.calls) calls.set(call.id, call);
      } else if (message.role === "tool") {
        const name = /^@\w+/.exec(message.content)?.[0];
        const made = task.functions.find((one) => one.name === calls.get(message.callId)?.name);
        if (name !== undefined && made !== undefined) learn(made.output.name, name);
      }
    }
  }

  call({ name, arguments: given }: ScriptedCall, number: string): ScriptedCall {
    const result = resultOf(this.#tools.find((tool) => tool.name === name));
    if (typeof given === "string" || result === undefined) return { name, arguments: given };
    const made = this.#task.functions.find((one) => one.name === name)!;
    const named = Object.entries(given).map(([parameter, value]) => {
      const { variable = "" } = made.parameters.find((one) => one.name === parameter) ?? {};
      const symbol = this.#names.get(variable);
      return [parameter, symbol && this.#task.values.get(variable) === value ? symbol : value];
    });
    return { name, arguments: { ...Object.fromEntries(named), [result]: `@result_${number}` } };
  }

  say(text: string): string {
    return text.replaceAll(/\b(\w+) = (\d+)\b/g, (whole, variable, value) => {
      const symbol = this.#names.get(variable);
      return symbol && this.#task.values.get(variable) === Number(value)
        ? `${variable} = ${symbol}`
        : whole;
    });
  }
}

/** The parameter of a tool that names the result. */
export function resultOf(tool: ToolSchema | undefined): string | undefined {
  const properties = Object.entries(tool?.parameters["properties"] ?? {});
  return properties.find(([, schema]) =>
    String(Object(schema).description).startsWith("Descriptive unique variable @name")
  )?.[0];
}

/** A text of a strategy, with its words filled in as plainly as can be. */
export function filled(text: string, words: Readonly<Record<string, string>>): string {
  return Object.entries(words).reduce((all, [word, own]) => all.split(`{${word}}`).join(own), text);
}

/** Functions as stages list them. */
export function listed(tools: readonly ToolSchema[]): string {
  return JSON.stringify(
    tools.map(({ name, description, parameters }) => ({ name, description, parameters })),
    null,
    1,
  );
}

/** Messages in short: role and content. */
export function said(messages: readonly Message[]): [role: string, content: string][] {
  return messages.map(({ role, content }) => [role, content]);
}
