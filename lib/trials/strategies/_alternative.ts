/**
 * The strategy that asks for another function where one cannot work (Pipeline, error handling and retry logic).
 * @module
 */

import { printable } from "../../base/json.ts";
import { fillPrompt } from "../../models/prompts.ts";
import { isLimited } from "../agent/session.ts";
import { alternating, replacing } from "./replacing.ts";
import { limitText, type Strategy, type Texts } from "./_stage.ts";

/**
 * A call that found nothing, or whose function does not exist, goes back to the model with the error (stage
 * `alternative`), and the call of another function that it makes takes its place. Without one, with arguments that
 * do not conform, or if it was made before, the error stands.
 */
export const alternative: Strategy<Texts<"alternative">> = (options, next, { prompts }) => {
  const { session } = options;
  const own = alternating(async ({ call, message }, { messages, environment }, faultOf) => {
    const { name } = call;
    const quoted = limitText(call.arguments);
    const words = { name: limitText(name), arguments: quoted, errors: limitText(message) };
    const reply = await session.ask({
      stage: "alternative",
      aside: true,
      messages: [
        ...messages,
        // As text: calls of a conversation must be answered by results, and there are none yet.
        { role: "assistant", content: `${words.name}(${quoted})`, calls: [] },
        { role: "user", content: fillPrompt(prompts.other, words) },
      ],
      tools: environment.tools,
    });
    if (isLimited(reply)) return undefined;
    const other = reply.calls.find((one) =>
      environment.tools.some((tool) => tool.name === one.name) && one.name !== name
    );
    const fault = other === undefined
      ? "no other function was called"
      : faultOf(other) ?? environment.refuse(other)?.error;
    const what = `in place of ${printable(name, 100)}`;
    session.record({
      kind: "stage",
      stage: "alternative",
      ...fault === undefined
        ? { message: `${printable(other!.name, 100)} is called ${what}` }
        : { message: `nothing is called ${what}: ${printable(fault, 500)}`, unusable: true },
    });
    return fault === undefined ? other : undefined;
  });
  return next(replacing(options, own));
};
