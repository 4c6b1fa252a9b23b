/**
 * What a strategy is, and those that ask in stages: requests to a model before the loop begins.
 * @module
 */

import type { Loop, LoopOptions } from "../agent/loop.ts";
import type { Message } from "../../tools/message.ts";
import { fillPrompt, type Prompted, type PROMPTS } from "../../models/prompts.ts";
import { type Ending, isLimited } from "../agent/session.ts";
import type { SolvedExample } from "../../tasks/examples.ts";
import { describeTool, type ToolSchema, wrapEnvironment } from "../../tools/tool.ts";

/** The prompts of a strategy, by name. */
export type Texts<Id extends Prompted = Prompted> = Readonly<
  Record<keyof typeof PROMPTS[Id] & string, string>
>;

/** The options of a strategy, complete; each strategy uses its own. */
export interface StrategySettings<Own = unknown> {
  /** Its prompts. */
  readonly prompts: Own;
  /** Attempts to repair a call that does not conform to its schema (`repair`). */
  readonly attempts: number;
  /** Rounds of asking what is missing (`backward`). */
  readonly rounds: number;
  /** Solved examples that the task itself gives (`few_shot`). */
  readonly shots: number;
  /** Solved examples in place of the task's own (`few_shot`); `undefined` where none are given. */
  readonly examples: readonly SolvedExample[] | undefined;
  /** Whether no strategy within this one asks before the loop, and the loop may end with what it found. */
  readonly isLast: boolean;
  /** Whether values can be looked up (`indirection`). */
  readonly dereference: boolean;
}

/**
 * A way to work on a task. It changes the loop's input, such as messages, tools or result texts, makes
 * requests of its own before it, and changes its output; it is no second loop. `next` is the loop, or the
 * next strategy around it.
 */
export type Strategy<Own = unknown> = (
  options: LoopOptions,
  next: Loop,
  settings: StrategySettings<Own>,
) => Promise<Ending>;

/**
 * Opens a separate conversation: a model gets the question and the functions as text, and can call none.
 *
 * @param prompt Opens it; its placeholders are `question` and `tools`.
 */
function openStage(
  { environment: { tools }, messages, session }: LoopOptions,
  name: string,
  prompt: string,
) {
  const said = messages.filter(({ role }) => role !== "system").map(({ content }) => content);
  const words = { question: said.join("\n\n"), tools: listTools(tools) };
  const conversation: Message[] = [
    ...messages.filter(({ role }) => role === "system"),
    { role: "user", content: fillPrompt(prompt, words) },
  ];
  return {
    /** Returns the model's reply, or the limit that was reached. */
    ask: () => session.ask({ stage: name, aside: true, messages: conversation }),
    /** Adds the model's reply and the next prompt. */
    followUp(reply: string, prompt: string): void {
      conversation.push(
        { role: "assistant", content: reply, calls: [] },
        { role: "user", content: prompt },
      );
    },
    /** Records the result. */
    end(message: string, usable: boolean): void {
      const unusable = usable ? undefined : true as const;
      session.record({ kind: "stage", stage: name, message, unusable });
    },
  };
}

/** Runs the loop as stage `call` with the text that an earlier stage found; if empty, without it. */
function carryOut(
  options: LoopOptions,
  next: Loop,
  found: string,
  // The prompt that follows: to call, or to answer if nothing can be called.
  prompts: { readonly call: string; readonly answer: string },
): Promise<Ending> {
  const prompt = options.task?.present === undefined ? prompts.call : prompts.answer;
  const messages: Message[] = found === "" ? [] : [
    { role: "assistant", content: found, calls: [] },
    { role: "user", content: prompt },
  ];
  return next({ ...options, stage: "call", messages: [...options.messages, ...messages] });
}

/** The maximum length of a text that is passed on by a stage. */
const MAX_PASSED_LENGTH = 20_000;

/** Limits the length of a text passed from one stage to another. */
export function limitText(text: string): string {
  return text.slice(0, MAX_PASSED_LENGTH).toWellFormed();
}

/** The functions as text, for stages that cannot call them. */
function listTools(tools: readonly ToolSchema[]): string {
  return JSON.stringify(
    tools.map((tool) => ({
      name: tool.name,
      description: describeTool(tool),
      parameters: tool.parameters,
    })),
    null,
    1,
  );
}

/** The functions named in a text, in their own order. */
function mentionedTools(text: string, tools: readonly ToolSchema[]): ToolSchema[] {
  const plain = (word: string) => word.replace(/^[.:-]+/, "").replace(/[.:-]+$/, "");
  const words = new Set(text.match(/[\w.:-]+/g)?.flatMap((word) => [word, plain(word)]));
  return tools.filter(({ name }) => words.has(name));
}

/**
 * One model writes a plan and cannot call anything (stage `plan`); the same or another one carries it out
 * (stage `call`). Without a plan, only the question is sent.
 */
export const planThenCall: Strategy<Texts<"plan_then_call">> = async (
  options,
  next,
  { prompts },
) => {
  const stage = openStage(options, "plan", prompts.plan);
  const reply = await stage.ask();
  if (isLimited(reply)) return reply;
  const plan = limitText(reply.text.trim());
  const { tools } = options.environment;
  const names = mentionedTools(plan, tools);
  stage.end(
    plan === ""
      ? "there is no plan: the question stands for itself"
      : `the plan names ${names.length} of ${tools.length} functions`,
    plan !== "",
  );
  return await carryOut(options, next, plan, prompts);
};

/**
 * One model selects the functions (stage `route`); the same or another one is offered only those, and calls
 * them (stage `fill`). If none is selected, all are offered.
 */
export const routeThenFill: Strategy<Texts<"route_then_fill">> = async (
  options,
  next,
  { prompts },
) => {
  const { environment } = options;
  const { tools } = environment;
  const stage = openStage(options, "route", prompts.route);
  const reply = await stage.ask();
  if (isLimited(reply)) return reply;
  const answer = limitText(reply.text);
  const picked = mentionedTools(answer, tools);
  stage.end(
    picked.length === 0
      ? `no function was picked: all ${tools.length} are offered`
      : `${picked.length} of ${tools.length} functions are offered`,
    picked.length > 0,
  );
  return await next({
    ...options,
    stage: "fill",
    environment: picked.length === 0
      ? environment
      : wrapEnvironment(environment, { tools: picked }),
  });
};

/** Marks a list as complete. */
const STOP = "<!stop>";

/**
 * The model names the final call, and is asked what is missing until it says that nothing is, the list no
 * longer changes, or `rounds` is reached (stage `infer`). Then the list is carried out (stage `call`);
 * without a list, only the question is sent. Where calls are written, the list is the answer, as in the paper:
 * nothing is asked any more. It is handed on if another strategy within this one asks before the loop.
 */
export const backward: Strategy<Texts<"backward">> = async (
  options,
  next,
  { prompts, rounds, isLast },
) => {
  const stage = openStage(options, "infer", prompts.final);
  let list = "";
  let reason = `${rounds} rounds are over`;
  let round = 0;
  for (; round <= rounds; round++) {
    const reply = await stage.ask();
    if (isLimited(reply)) return reply;
    const isComplete = reply.text.includes(STOP);
    const answer = limitText(reply.text.replaceAll(STOP, "").trim());
    // An empty reply adds nothing, and does not undo earlier ones.
    const isNew = answer !== "" && answer !== list;
    if (isNew) list = answer;
    if (!isNew || isComplete) {
      reason = list === ""
        ? "there is no list: the question stands for itself"
        : isComplete
        ? "the list is complete"
        : "nothing was added any more";
      break;
    }
    stage.followUp(list, prompts.missing);
  }
  stage.end(
    `${reason}; rounds of asking what is missing: ${Math.min(round, rounds)}`,
    list !== "",
  );
  const { fromList } = options.task ?? {};
  if (list !== "" && isLast && fromList !== undefined) {
    return await next({ ...options, stage: "call", answered: fromList(list) });
  }
  return await carryOut(options, next, list, prompts);
};
