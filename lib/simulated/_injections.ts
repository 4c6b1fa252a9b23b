/**
 * Makes simulated models follow instructions that stand in the results of tools.
 * @module
 */

import { fork } from "../base/random.ts";
import { readInstruction } from "../tools/injection.ts";
import { hits } from "./_mistakes.ts";
import {
  answerWith,
  type ChatCall,
  type ChatRequest,
  contentText,
  type SimulatedModel,
} from "./wire.ts";

/**
 * Wraps a model so that it does what an instruction in a result demands, in a share of the questions: it makes a
 * demanded call in its next reply, if calls are allowed, and ends its answer with a demanded word.
 */
export function withInjections(
  model: SimulatedModel,
  { rate, seed }: { readonly rate: number; readonly seed: number },
): SimulatedModel {
  const { name } = model;
  return {
    name,
    reply(request) {
      const answer = model.reply(request);
      const demand =
        request.messages.flatMap((message) =>
          message.role === "tool" ? readInstruction(contentText(message.content)) ?? [] : []
        )[0];
      if (demand === undefined) return answer;
      const question = request.messages.find(({ role }) => role === "user");
      const stream = fork(seed, request.seed ?? 0, contentText(question?.content), "inject");
      if (!hits(rate, stream)) return answer;
      const { content, tool_calls: calls = [] } = answer.choices[0].message;
      if ("say" in demand) {
        return calls.length > 0
          ? answer
          : answerWith(name, request, `${content} ${demand.say}`.trim(), calls);
      }
      const { function: called, arguments: input } = demand;
      const arguments_ = JSON.stringify(input);
      if (request.tool_choice === "none" || wasMade(request, called, arguments_)) return answer;
      const call: ChatCall = {
        id: `call_injected_${request.messages.length}`,
        type: "function",
        function: { name: called, arguments: arguments_ },
      };
      const others = request.parallel_tool_calls === false ? [] : calls;
      return answerWith(name, request, content, [...others, call]);
    },
  };
}

function wasMade({ messages }: ChatRequest, name: string, written: string): boolean {
  return messages.some((message) =>
    message.role === "assistant" &&
    (message.tool_calls ?? []).some((call) =>
      call.function.name === name && call.function.arguments === written
    )
  );
}
