/**
 * Prompts: the texts of all strategies. A suite may replace each of them.
 * @module
 */

/** The texts, by strategy and purpose. Words in braces are replaced. */
export const PROMPTS = {
  indirection: {
    /** Follows the question. */
    use: `{question}

The values of variables are not shown to you: you work with their names, which begin with @. Give every call a new, descriptive @name for its result in {parameters}. Wherever a value is expected you may give an @name that is known by then; the name of a result is known from your next reply on. For a part of a value write its path: @Order.total for a field, @List.0 for the first item of a list. Names are replaced by their values before a function sees them, and in your final answer too: state the answer with its @name.`,
  },
  plan_then_call: {
    /** Asks for the plan; no function can be called. */
    plan: `{question}

These functions are on offer, as a JSON list:
{tools}

Do not answer yet, and call nothing: write a plan, which will be carried out by calling these functions. Give one numbered step for each call that is needed, in an order in which all of its inputs are known: the name of the function, and for each argument the value that is given or the step that returns it. End with what the answer will be taken from.`,
    /** Follows question and plan. */
    call:
      `Now carry out this plan: call the functions, in each reply all whose inputs are known by then, and give the values that were really returned wherever the plan refers to a step. Where the plan turns out to be wrong, correct it. When you have the answer, give it.`,
    /** Used instead if calls must be written as text. */
    answer:
      `Now carry out this plan: give your final answer in exactly the form that was asked for. Where the plan turns out to be wrong, correct it.`,
  },
  route_then_fill: {
    /** Asks for the functions only (CallNavi, appendix B.1). */
    route:
      `Give the API list with descriptions below, then give the question in a chatbot, please give me the correct API that should be called.
=======API list start=======
{tools}
=======API list end=======
=======Question start=======
{question}
=======Question end=======
Given the user question, and the APIs, classify and give the correct API names to call, all that are needed. The answer should be formatted in only one line, and only API names in brackets look like "['getCustomerDetails', 'deposit-Funds']" or "['getCustomerDetails']". NO explanation and NO parameters in the answer!`,
  },
  backward: {
    /** Asks for the last call (CallNavi, appendix B.3). */
    final:
      `Give the API list of a chatbot system with descriptions below, then give the question in chatbot, please first give me the one API that can answer the final task in the question.
=======API list start=======
{tools}
=======API list end=======
=======Question start=======
{question}
=======Question end=======
Given the user question, and the APIs, classify and give a correct last one task API name and parameters to call.
The answer should be formatted into the following JSON format: {"API": ["name"], "parameters": [{"parameter": "value"}]}
Parameters whose value is not known yet are "$$$".
We will solve the question in the next steps. NO explanation in the answer!`,
    /** Asks for missing calls, repeatedly (CallNavi, appendix B.3). */
    missing:
      `Then please based on the answer before, try to find APIs to fill in the missing information needed to complete the final API call list from the previous answer.
Please also check if the API list has solved all sub-questions in the question. If not, please add other APIs and parameters related to the question in the correct order.
The answer should be formatted in the JSON format used in the previous talk.
Check if we can get all input parameters from the questions or from the APIs of the list or not, if we can't please don't put <!stop> after the API list.
If you think all the information is completed to solve the question, please write a <!stop> after the full API list.
NO explanation in the answer! Only give API calling JSON!`,
    /** Follows question and list. */
    call:
      `Now make these calls: call the functions, in each reply all whose inputs are known by then, and give the values that were really returned. Where the list turns out to be wrong, correct it. When you have the answer, give it.`,
    /** Used instead if calls must be written as text. */
    answer:
      `Now give this list as your final answer, in exactly the form that was asked for. Where the list turns out to be wrong, correct it.`,
  },
  few_shot: {
    /** Precedes the task, in the system message. */
    show:
      `Here is how such questions were answered before. No value of an example holds for any other question, and only functions that you are offered can be called, in the form in which you are asked to call them.

{examples}`,
  },
  instruct: {
    /** Follows the system message of a task (Indirection, against silence, aversion and ignored results). */
    use:
      `Use the tools on offer for every calculation and every decision that they are for, even where you could do without, and for nothing else: where no tool can help, answer without calling any. Before each call, explain in words what you are about to do and why. Report the results of tools as they are: do not correct, replace or withhold them.`,
  },
  repair: {
    /** Sent back if a call violates its schema (Pipeline, error handling and retry logic). */
    fix: `The following tool call has invalid arguments, and was not carried out:
Tool: {name}
Arguments: {arguments}
Errors: {errors}
Schema: {schema}

Generate corrected arguments: call the tool {name} again, or answer with nothing but the arguments as JSON.`,
    /** Sent back if an answer cannot be parsed (CallNavi, section 5.1, the fix of the JSON structure). */
    reform: `The following answer cannot be read, as {errors}:
=======Answer start=======
{answer}
=======Answer end=======
Write the same answer again, in exactly the form that was asked for: what stands in another syntax goes into that form as well. Do not change, add or leave out any call or any value. NO explanation/notes in the answer!`,
  },
  alternative: {
    /** Asks for another call in place of one that cannot work (Pipeline, error handling and retry logic). */
    other: `The following tool call has no result, and making it again would not help:
Tool: {name}
Arguments: {arguments}
Errors: {errors}

If another tool on offer gives the same result, call that tool now: its result takes the place of this one. If none does, call nothing and answer: none.`,
  },
} as const;

/** A strategy with prompt texts. */
export type Prompted = keyof typeof PROMPTS;

/** Words in braces. */
const WORD = /\{([a-z]+)\}/g;

/** Replaces the words in braces of a text. Replacements are not searched again, as they may be hostile. */
export function fillPrompt(text: string, words: Readonly<Record<string, string>>): string {
  return text.replaceAll(WORD, (whole, word) => Object.hasOwn(words, word) ? words[word]! : whole);
}
