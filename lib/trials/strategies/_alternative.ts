/**
 * The strategy that asks for another function where one cannot work (Pipeline, error handling and retry logic).
 * @module
 */

import { printable } from "../../base/json.ts";
import { callSignature } from "../../calls/behaviour.ts";
import type { FailedCall, PreparedCall, Replacement } from "../../tools/tool.ts";
import { MAX_ALTERNATIVES, REMEDIES } from "../../tools/error_category.ts";
import { fillPrompt } from "../../models/prompts.ts";
import type { Failing } from "../agent/loop.ts";
import { isLimited } from "../agent/session.ts";
import { replacing } from "./_replacing.ts";
import { limitText, type Strategy, type Texts } from "./_stage.ts";

/**
 * A call that found nothing, or whose function does not exist, goes back to the model with the error (stage
 * `alternative`), and the call of another function that it makes takes its place. Without one, with arguments that
 * do not conform, or if it was made before, the error stands.
 */
export const alternative: Strategy<Texts<"alternative">> = (options, next, { prompts }) => {
  const { session } = options;
  /** The signatures of the calls that were made for each call of the model. */
  const made = new WeakMap<PreparedCall, Set<string>>();
  const ask = async (
    { original, call, message }: FailedCall,
    { messages, environment }: Failing,
  ) => {
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
    const tried = made.get(original) ?? new Set();
    made.set(original, tried.add(signatureOf(call)));
    const other = reply.calls.find((one) =>
      environment.tools.some((tool) => tool.name === one.name) && one.name !== name
    );
    const fault = other === undefined
      ? "no other function was called"
      : tried.has(signatureOf(other))
      ? "the same call was made before"
      : tried.size > MAX_ALTERNATIVES
      ? `${MAX_ALTERNATIVES} calls were made in its place`
      : environment.refuse(other)?.error;
    const what = `in place of ${printable(name, 100)}`;
    session.record({
      kind: "stage",
      stage: "alternative",
      message: other === undefined || fault !== undefined
        ? `nothing is called ${what}: ${printable(fault!, 500)}`
        : `${printable(other.name, 100)} is called ${what}`,
      ...(fault === undefined ? {} : { unusable: true as const }),
    });
    return fault === undefined ? other : undefined;
  };
  return next(replacing(options, async (failing) => {
    const replacements: (Replacement | undefined)[] = [];
    for (const one of failing.failed) {
      const call = REMEDIES[one.category] === "replace" ? await ask(one, failing) : undefined;
      replacements.push(call && { call, by: "alternative" });
    }
    return replacements;
  }));
};

function signatureOf({ name, arguments: written }: PreparedCall): string {
  return callSignature({ function: name, arguments: written });
}
