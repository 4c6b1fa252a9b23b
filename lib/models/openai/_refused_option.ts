/**
 * Refused options: which options of a model its server does not take, such as a temperature that reasoning models
 * refuse, and how to leave them out.
 * @module
 */

import { listText } from "../../base/json.ts";
import { InfrastructureError } from "../model.ts";

/** The fields of a request's body that options set, and these options. */
const FIELDS: readonly (readonly [field: string, option: string])[] = [
  ["temperature", "temperature"],
  ["top_p", "topP"],
  ["seed", "seed"],
  ["reasoning_effort", "reasoningEffort"],
  ["max_completion_tokens", "maxCompletionTokens"],
  ["parallel_tool_calls", "parallelToolCalls"],
];

/** How servers say that they do not take a field, or its value. */
const REFUSAL =
  /unsupported|not (?:be )?(?:supported|permitted|allowed|expected|compatible)|(?:does not|doesn't|only) support|only the default|extra[ _](?:inputs|forbidden|fields)|unknown|unrecogni[sz]ed|unexpected|deprecated|cannot (?:both )?be|remove|must be|fixed at/i;

/**
 * An error of a function's schema, or of what a model wrote, may name a parameter that is called like a field.
 */
const OF_TOOLS =
  /\b(?:functions?|tools?|schema|properties|messages|arguments|json|pars(?:e|ed|er|ing)|decod(?:e|ed|er|ing)|token (?:at|in)|characters?|end of (?:data|input|file))\b|[{,]\s*\\?["']\w+\\?["']\s*:/i;

/**
 * Returns the error of a request that was refused for an option: no request with it can succeed, so that the run
 * ends with what to leave out. Returns the error as it is if it says anything else.
 */
export function refusedOption(
  error: InfrastructureError,
  who: string,
  body: object,
): InfrastructureError {
  const { status, message, permanent, fault } = error;
  if ((status !== 400 && status !== 422) || permanent !== undefined) return error;
  if (!REFUSAL.test(message) || OF_TOOLS.test(message)) return error;
  const refused = FIELDS.filter(([field]) =>
    Reflect.get(body, field) !== undefined && new RegExp(`\\b${field}\\b`).test(message)
  ).map(([, option]) => option);
  if (refused.length === 0) return error;
  const said = message.slice(message.indexOf(": ") + 2);
  return new InfrastructureError(
    `Cannot get a reply of ${who} as it refuses ${listText(refused, refused.length)}: ${
      adviceOn(refused)
    }: ${said}`,
    { status, fault, permanent: "option", cause: error },
  );
}

const FLAGS: Readonly<Record<string, string>> = {
  temperature: "--temperature default",
  topP: "--top-p default",
};

function adviceOn([option]: readonly string[]): string {
  const flag = FLAGS[option!];
  return flag === undefined
    ? `leave ${option} out of its entry`
    : `leave it out with ${option}: null in its entry, or with ${flag}`;
}
