/**
 * The names of everything that can be wrong with a call or a trial; imports nothing.
 * @module
 */

/** The failure types, in the order in which they are checked. */
export const FAILURE_TYPES = [
  "function_not_found",
  "wrong_number_of_inputs",
  "value_not_yet_known",
  "incorrect_value",
] as const;

/** Which predicate failed first: name, schema, dataflow, or value. */
export type FailureType = typeof FAILURE_TYPES[number];

/** The five types. */
export const PARAMETER_FAILURE_TYPES = [
  "hallucination_name",
  "missing_information",
  "redundant_information",
  "specification_mismatch",
  "task_deviation",
] as const;

/** What kind of mistake was made with a parameter. */
export type ParameterFailureType = typeof PARAMETER_FAILURE_TYPES[number];

/** What the types mean, in one sentence each. */
export const PARAMETER_FAILURE_WORDS: Readonly<Record<ParameterFailureType, string>> = {
  hallucination_name: "A parameter was given that the function does not have.",
  missing_information: "A parameter that the function or the task needs was not given.",
  redundant_information:
    "A parameter was given that the function has, but the task does not ask for.",
  specification_mismatch: "A value is not of the type, range or format that the function takes.",
  task_deviation: "A value is one that the function takes, but not the one that the task asks for.",
};

/** Every behaviour. */
export const BEHAVIOURS = ["aversion", "ignored_result", "silent", "forced_loop"] as const;

/**
 * What a trace shows, and no more: it cannot tell why.
 *
 * - `aversion`: it answered although it had never called a function that the task needs. On generated
 *   tasks only answers with a value count, as others give up; a model that got the value by chance, or
 *   read it elsewhere, counts too.
 * - `ignored_result`: its answer is none of the values that the functions which give the answer had
 *   returned to it. A slip in copying looks the same as contradiction.
 * - `silent`: it made calls and never wrote a word beside them. Reasoning that the provider hides
 *   counts as silence.
 * - `forced_loop`: it ran into a limit while repeating calls that it had made before; where the task
 *   forces calls that cannot help, while making any. Calls in ever new words are seen there only.
 */
export type Behaviour = typeof BEHAVIOURS[number];
