/**
 * Refused options: finds the field of a request that a server refuses, and says what to leave out.
 * @module
 */

import { jsonText } from "../../base/json.ts";
import type { RefusedError } from "../http/endpoint.ts";
import { InfrastructureError } from "../model.ts";

/** The fields of a request's body that options set, these options, and what else than leaving them out helps. */
const FIELDS: readonly (readonly [field: string, option: string, advice?: string])[] = [
  ["temperature", "temperature", by("temperature: null", "--temperature default")],
  ["top_p", "topP", by("topP: null", "--top-p default")],
  ["seed", "seed"],
  ["reasoning_effort", "reasoningEffort"],
  ["reasoning", "reasoningEffort"],
  [
    "max_completion_tokens",
    "maxCompletionTokens",
    'leave it out of its entry, which may set body: { "max_tokens": … } in its place',
  ],
  ["max_output_tokens", "maxCompletionTokens"],
  ["parallel_tool_calls", "parallelToolCalls"],
  ["tool_choice", "toolChoice"],
  ["stop", "stop", 'set body: { "stop": null } in its entry'],
];

function by(entry: string, flag: string): string {
  return `leave it out with ${entry} in its entry, or with ${flag}`;
}

/** Fields without which there is no request. */
const NEEDED = ["model", "messages", "input", "tools", "stream"];

/** Words that servers also use without meaning a field. */
const WORDS = ["stop", "user", "store", "include", "reasoning", "text", "prompt", "format"];

/** How servers say that they do not take a field, or its value. */
const REFUSAL =
  /unsupported|did not match any variant|invalid|illegal|incompatible|no endpoints found|非法|不支持|not (?:be )?(?:supported|permitted|allowed|expected|compatible|recognized|one of|valid|enabled)|(?:does not|doesn't|only) support|\bonly\b|extra[ _](?:inputs|forbidden|fields)|unknown|unrecogni[sz]ed|unexpected|deprecated|cannot (?:both )?be|remove|must be|should be|fixed at/i;

/**
 * An error of a function's schema, or of what a model wrote, may name a parameter that is called like a field.
 */
const OF_TOOLS =
  /\b(?:functions?|tools?|\w*schema|properties|messages|arguments|json|pars(?:e|ed|er|ing)|decod(?:e|ed|er|ing)|token (?:at|in)|characters?|end of (?:data|input|file))\b|[{,]\s*\\?["']\w+\\?["']\s*:/i;

/** Words of Gemini and of servers in Rust about every request, which is JSON. */
const OF_ALL = /Invalid JSON payload received|JSON body into the target type/g;

/**
 * The place of a field as FastAPI says it, also as Python writes it, and as text within JSON; and what LiteLLM and
 * programs in Python say of one.
 */
const PLACE =
  /["'\\]+loc["'\\]+\s*:\s*[[(]\s*["'\\]+body["'\\]+\s*,\s*["'\\]+(\w+)["'\\]+\s*[,\])]|does not support parameters: [[{]\s*'(\w+)'|unexpected keyword argument ["'\\]+(\w+)/g;

/**
 * Returns the error of a request that was refused for an option: no request with it can succeed, so that the run
 * ends with what to leave out. Returns the error as it is if it says anything else.
 */
export function refusedOption(
  error: RefusedError,
  who: string,
  body: object,
): InfrastructureError {
  const { status, message, permanent, fault, said } = error;
  if (![400, 404, 422, 500].includes(status ?? 0)) return error;
  if (permanent !== undefined && permanent !== "address") return error;
  const whole = jsonText(said.body) ?? "";
  const places = [...whole.matchAll(PLACE)].flatMap(([, ...fields]) => fields);
  const [, param] = /"param":"([\w.]+)"/.exec(whole) ?? [];
  const text = said.text.replace(OF_ALL, "");
  const mayName = status !== 500 && REFUSAL.test(text) && !OF_TOOLS.test(text);
  const refused = Object.entries(body).flatMap(([field, value]) => {
    if (value === undefined || NEEDED.includes(field)) return [];
    const isMeant = status !== 500 &&
      [param?.split(".")[0], param?.replace(".", "_")].includes(field);
    const isRefused = places.includes(field) || isMeant || (mayName && isNamed(field, text));
    const [, option = `body.${field}`, advice] = FIELDS.find(([one]) => one === field) ?? [];
    return isRefused ? [{ option, advice }] : [];
  });
  const [first] = refused;
  if (first === undefined) return error;
  const { option, advice = `leave ${option} out of its entry` } = first;
  const names = [...new Set(refused.map(({ option }) => option))].join(", ");
  return new InfrastructureError(
    `Cannot get a reply of ${who} as it refuses ${names}: ${advice}: ${
      message.slice(message.indexOf(": ") + 2)
    }`,
    { status, fault, permanent: "option", cause: error },
  );
}

/** Whether a text names a field, as it is sent or in camel case. */
function isNamed(field: string, text: string): boolean {
  const camel = field.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
  const open = WORDS.includes(field) ? `(?:["'\`]|parameters?:? |: )` : "\\b";
  const also = field === "reasoning_effort" ? "|not support thinking|reasoning value" : "";
  return /^\w+$/.test(field) &&
    new RegExp(`${open}(?:${field}|${camel}${also})\\b`, "i").test(text);
}
