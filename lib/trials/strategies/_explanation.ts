/**
 * The strategy that asks for an explanation of every call (Indirection, "Thinking silently").
 * @module
 */

import { isJsonObject, jsonText, parseJson } from "../../base/json.ts";
import type { Strategy } from "./_stages.ts";
import { explanationParameter, offerExplanation } from "../../tools/references/schema.ts";
import { type PreparedCall, wrapEnvironment } from "../../tools/tool.ts";
import { EXPLANATION, MAX_KEPT_LENGTH } from "../../calls/trace.ts";

/**
 * Every tool gets one more required parameter, before all others: a text in which the model explains the call.
 * It is recorded as words of the model (stage `explanation`) and taken off before the tool sees the call, so
 * that it is never judged as an argument; a call without it is carried out like any other.
 */
export const explanation: Strategy = (options, next) => {
  const { environment, session } = options;
  const parameters = new Map(environment.tools.map((tool) => [
    tool.name,
    explanationParameter(tool),
  ]));
  const split = (call: PreparedCall): { readonly call: PreparedCall; readonly words: string } => {
    const parameter = parameters.get(call.name);
    const input = parseJson(call.resolved ?? call.arguments);
    if (parameter === undefined || !isJsonObject(input) || !Object.hasOwn(input, parameter)) {
      return { call, words: "" };
    }
    const { [parameter]: words, ...others } = input;
    return {
      call: { ...call, resolved: jsonText(others) },
      words: typeof words === "string" ? words.trim() : "",
    };
  };
  return next({
    ...options,
    environment: wrapEnvironment(environment, {
      tools: environment.tools.map(offerExplanation),
      refuse: (call) => environment.refuse(split(call).call),
      execute: (calls, write, replace) => {
        const parts = calls.map(split);
        for (const { words } of parts.slice(0, environment.left)) {
          if (words === "") continue;
          const message = words.slice(0, MAX_KEPT_LENGTH);
          session.record({ kind: "stage", stage: EXPLANATION, message });
        }
        return environment.execute(
          parts.map((part) => part.call),
          write,
          // A call that is made again is split already; one of the model's may explain itself.
          replace &&
            (async (failed) =>
              (await replace(failed)).map((one) =>
                one === undefined || one.by === "retry"
                  ? one
                  : { ...one, call: split(one.call).call }
              )),
        );
      },
    }),
  });
};
