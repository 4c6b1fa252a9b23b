/**
 * Adds text formats to simulated models, and broken calls in these and in native ones.
 * @module
 */

import { breakCalls, type BreakDraws, breakStream, breakText, drawBreak } from "./_breaking.ts";
import { readConversation } from "./_reading.ts";
import { readTextRequest } from "./_text_formats.ts";
import { answerWith, type ChatRequest, type SimulatedModel } from "./wire.ts";

/**
 * Wraps a model so that it also understands the text formats and replies in them, with one call in a reply if
 * the format allows no more.
 *
 * @param breaks How often it breaks the format of its calls.
 */
export function withTextFormats(
  model: SimulatedModel,
  breaks: Pick<BreakDraws, "rates" | "seed">,
): SimulatedModel {
  const { name } = model;
  return {
    name,
    reply(request) {
      const textRequest = readTextRequest(request);
      const chatRequest = textRequest?.request ?? request;
      const answer = model.reply(chatRequest);
      const [choice] = answer.choices;
      const { content, tool_calls: calls = [] } = choice.message;
      const broken = calls.length === 0 ? undefined : drawBroken(chatRequest, breaks);
      if (textRequest !== undefined) {
        const { format } = textRequest;
        const text = broken === undefined
          ? format.writeCalls(content, calls.map((call) => call.function))
          : breakText(format, { text: content, calls }, broken);
        return answerWith(name, request, text, []);
      }
      if (broken === undefined) return answer;
      const tool_calls = breakCalls(calls, broken.kind, broken.stream);
      return { ...answer, choices: [{ ...choice, message: { ...choice.message, tool_calls } }] };
    },
  };
}

/** Draws whether and how the calls of a reply are broken; returns the stream for further draws. */
function drawBroken(request: ChatRequest, { rates, seed }: Pick<BreakDraws, "rates" | "seed">) {
  if (!rates.breakFormat) return undefined;
  const { prompt, step, repair } = readConversation(request);
  const draws: BreakDraws = {
    rates,
    seed,
    repetition: request.seed ?? 0,
    attempt: repair?.attempt ?? 0,
  };
  const kind = drawBreak(prompt, step, draws);
  if (kind === undefined) return undefined;
  const stream = breakStream(prompt, step, draws);
  // Its first two numbers determine whether and how.
  stream.prng();
  stream.prng();
  return { kind, stream };
}
