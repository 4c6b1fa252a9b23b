/**
 * The simulated model that makes no mistakes.
 * @module
 */

import { writeCall } from "./_arguments.ts";
import { argumentsOf, nameResults, planReply } from "./_planning.ts";
import { answerQuestion } from "./_questions.ts";
import { readConversation } from "./_reading.ts";
import { readStage, writeStage } from "./_stages.ts";
import type { Reading } from "../models/simulated_name.ts";
import { composeAnswer, type SimulatedModel } from "./wire.ts";

/**
 * A simulated model that chains backward from the requested variable, over types and subtypes or names. Where
 * the question says what the words of names mean, it trusts these more than descriptions and schemas. In
 * each reply it calls all needed functions whose inputs are known. It ends with a text like `bujxe = 512`, or
 * says that the value cannot be determined and which variables are not given.
 *
 * It trusts what it reads, so that wrong documents, questions and returns affect its calls: arguments have the
 * types that schemas declare, a parameter without a type has no producer, and it understands sums but not
 * number words. It reads returns tolerantly: keys in another letter case or with other underscores, and
 * truncated JSON. If a refusal says that whole numbers are expected, it gives these against the schema, too.
 *
 * A function that fails is called at most twice more, and one that is denied or gone is not called again: it calls
 * another function that produces the same variable, or says that the value cannot be determined. If parameters accept references to results of the same reply, it also
 * makes calls that wait for nothing else, in chains of at most five calls.
 *
 * It passes other questions to the tool with a single parameter, and answers with its result.
 *
 * @param reads What it leans on in place of all this: `descriptions` or `names` alone link parameters, or schemas
 * alone decide the `types` of values.
 */
export function createPlanner(name: string, reads?: Reading): SimulatedModel {
  return {
    name,
    reply(request) {
      const stage = readStage(request, reads);
      if (stage !== undefined) return composeAnswer(name, request, writeStage(stage), []);
      const conversation = readConversation(request, reads);
      const answer = answerQuestion(request, conversation);
      if (answer !== undefined) return composeAnswer(name, request, answer.text, answer.calls);
      const { text, intentions } = planReply(conversation);
      const nameResult = nameResults(conversation);
      const calls = intentions.map((intention) =>
        writeCall(intention.function, argumentsOf(intention, nameResult))
      );
      return composeAnswer(name, request, text, calls);
    },
  };
}
