/**
 * The simulated model that makes no mistakes.
 * @module
 */

import { writeCall } from "./arguments.ts";
import { argumentsOf, nameResults, planReply } from "./planning.ts";
import { answerQuestion } from "./questions.ts";
import { readConversation } from "./reading.ts";
import { readStage } from "./stages.ts";
import { composeAnswer, type SimulatedModel } from "./wire.ts";
import { writeStage } from "./stages.ts";

/**
 * A simulated model that chains backward from the variable asked for, over types and subtypes or
 * names, calls in each reply all functions that it needs and whose inputs are known, and ends with
 * a text like `bujxe = 512`, or one that says that the value cannot be determined and which variables
 * are not given.
 *
 * It believes what it reads, so that wrong documents, questions and returns show in what it does: arguments
 * are of the types that schemas declare, a parameter without a type has no producer, sums are understood
 * and number words are not. Of returns it understands more than it must: a key in other letter case or
 * with other underscores, and what is cut short.
 *
 * A function that fails is called at most twice more, and one that it may not use is not called again: then
 * it says that the value cannot be determined. Where parameters take references to results of the same
 * reply, it calls all at once what waits for nothing else, in chains of five calls at most.
 *
 * Other questions it puts to the tool that takes one text, and says what that says.
 */
export function createPlanner(name: string): SimulatedModel {
  return {
    name,
    reply(request) {
      const stage = readStage(request);
      if (stage !== undefined) return composeAnswer(name, request, writeStage(stage), []);
      const conversation = readConversation(request);
      const asked = answerQuestion(request, conversation);
      if (asked !== undefined) return composeAnswer(name, request, asked.text, asked.calls);
      const { text, intentions } = planReply(conversation);
      const nameResult = nameResults(conversation);
      const calls = intentions.map((intention) =>
        writeCall(intention.function, argumentsOf(intention, nameResult))
      );
      return composeAnswer(name, request, text, calls);
    },
  };
}
