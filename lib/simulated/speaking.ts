/**
 * How simulated models are spoken to: in any text format as well as with calls of their own, which any of
 * them may break.
 * @module
 */

import { breakCalls, type BreakDraws, breakStream, breakText, drawBreak } from "./breaking.ts";
import { readConversation } from "./reading.ts";
import { readTextRequest } from "./text_formats.ts";
import { answerWith, type ChatRequest, type SimulatedModel } from "./wire.ts";

/**
 * The model, which also understands the text formats and replies in them. In a format that has one call a
 * reply, it makes one call a reply.
 *
 * @param breaks How often it breaks the form of its calls.
 */
export function speaking(
  model: SimulatedModel,
  breaks: Pick<BreakDraws, "rates" | "seed">,
): SimulatedModel {
  const { name } = model;
  return {
    name,
    reply(request) {
      const asked = readTextRequest(request);
      const meant = asked?.request ?? request;
      const answer = model.reply(meant);
      const [choice] = answer.choices;
      const { content, tool_calls: calls = [] } = choice.message;
      const broken = calls.length === 0 ? undefined : draw(meant, breaks);
      if (asked !== undefined) {
        const { format } = asked;
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

/** Whether and how the calls of a reply are broken, and what the rest is drawn from. */
function draw(request: ChatRequest, { rates, seed }: Pick<BreakDraws, "rates" | "seed">) {
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
  // Its first two numbers tell whether and how.
  stream.prng();
  stream.prng();
  return { kind, stream };
}
