/**
 * Calls as text: calls that a model wrote into its text although it could have made them as such.
 * @module
 */

import { parseJson } from "../../base/json.ts";
import { bareCalls } from "./_json_calls.ts";
import { formatOf } from "./registry.ts";

/**
 * Returns the name of an available function that a text calls in one of the usual forms, that is between tags
 * (Hermes, Qwen, Llama), behind `[TOOL_CALLS]` (Mistral), as `Action:` (ReAct), or as JSON, also in a code
 * fence; `undefined` if it calls none.
 */
export function textCall(text: string, names: readonly string[]): string | undefined {
  const beginning = text.slice(0, REACH);
  if (!FORMS.test(beginning)) return undefined;
  const marked = MISTRAL.exec(beginning)?.[1];
  if (marked !== undefined && names.includes(marked)) return marked;
  const plain = beginning.replace(MARK, "").trim();
  const fenced = [...plain.matchAll(FENCED)].map(([, json]) => json!.trim());
  return [
    ...formatOf("hermes").read(plain, names).calls,
    ...formatOf("react").read(plain, names).calls,
    ...[plain, ...fenced].filter((part) => parseJson(part) !== undefined)
      .flatMap((part) => bareCalls(part, names)),
  ].find(({ name }) => names.includes(name))?.name;
}

/** Characters that are searched, at most. */
const REACH = 20_000;
/** What each form has: most texts need not be read. */
const FORMS =
  /<\/?(?:tool_call|tool_use|function)|\[TOOL_CALLS\]|^[*_` ]{0,9}Action[*_` ]{0,9}:|["']?(?:name|function|tool|action)["']?\s{0,9}:/m;
/** Mistral's later form, `[TOOL_CALLS]add[ARGS]{...}`; the earlier one has JSON behind the mark. */
const MISTRAL = /\[TOOL_CALLS\]\s{0,9}([\w.-]{1,300})/;
const MARK = /^\s*\[TOOL_CALLS\]/;
const FENCED = /```\w{0,20}\s((?:(?!```)[^])*)```/g;
