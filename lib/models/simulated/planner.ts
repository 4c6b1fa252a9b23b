/**
 * The simulated model that makes no mistakes.
 * @module
 */

import { planReply } from "./planning.ts";
import { readConversation } from "./reading.ts";
import { composeAnswer, type SimulatedModel } from "./wire.ts";

/**
 * A simulated model that chains backward from the variable asked for, over types and subtypes or
 * names, calls in each reply all functions that it needs and whose inputs are known, and ends with
 * a text like `bujxe = 512`, or one that says that the value cannot be determined.
 */
export function createPlanner(name: string): SimulatedModel {
  return {
    name,
    reply(request) {
      const { text, intentions } = planReply(readConversation(request));
      const calls = intentions.map((intention) => ({
        name: intention.function.name,
        arguments: new Map(intention.arguments.map(({ parameter, value }) => [parameter, value])),
      }));
      return composeAnswer(name, request, text, calls);
    },
  };
}
