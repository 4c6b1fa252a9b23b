/**
 * The query writer that asks a model, as the paper's authors do for the methods CP and AN (Butterfly,
 * appendix A.3.2).
 * @module
 */

import { printable } from "../../base/json.ts";
import type { Model } from "../../models/model.ts";
import { freeOf, type Query, type QueryParameter, revealingTexts } from "./literals.ts";
import { type QueryWriter, WRITER } from "./_query_writer.ts";
import { fillPrompt } from "../../models/prompts.ts";

/** The methods that need a writer. */
export type WrittenMethod = "CP" | "AN";

const PROMPTS: Readonly<Record<WrittenMethod, string>> = {
  CP: `A user asks:
=======Query start=======
{query}
=======Query end=======
In it stands the value of the parameter {name}: {value}
Say this value in a complicated way, by a descriptive phrase from which it can be worked out, such as "the capital of France" for Paris, or "seven hundred plus thirty-one" for 731. The phrase will stand in the query in place of the value, and must not hold the value itself.
Answer with the phrase alone, on one line. NO explanation and NO quotes!`,
  AN: `A user asks:
=======Query start=======
{query}
=======Query end=======
In it stands the value of the parameter {name}: {value}
Write one sentence that will stand behind the query and interferes with it: it tells another value, similar to this one, without asking for anything. It must not hold the value itself.
Answer with the sentence alone, on one line. NO explanation and NO quotes!`,
};

/** A parameter for which the built-in writer is used instead. */
export interface Fallback {
  /** The parameter's name. */
  readonly name: string;
  /** Why the model's last text cannot be used. */
  readonly reason: string;
}

/** A writer whose texts a model has already written. */
export interface ModelWriter extends QueryWriter {
  /** The parameters for which the model wrote no usable text, in order. */
  readonly fallbacks: readonly Fallback[];
}

/** The longest usable text, in characters. */
const MAX_WRITTEN_LENGTH = 300;
/** Longer queries and values are cut off in prompts. */
const MAX_SHOWN_LENGTH = 20_000;

/**
 * Asks `model` once for each parameter of `query`, and again if its text cannot be used: it must be one
 * printable line of at most 300 characters that contains no value of the query, differs from its texts for
 * other parameters, and for `AN` does not occur in the query. If none is usable, the built-in writer takes
 * over, as for parameters that are not in the query and for the other method.
 *
 * @throws {InfrastructureError} If the model gives no reply.
 */
export async function modelWriter(
  model: Model,
  query: Query,
  method: WrittenMethod,
  { retries = 1 }: { readonly retries?: number } = {},
): Promise<ModelWriter> {
  let request = 0;
  const texts = new Map<string, string>();
  // Places of parameters may move.
  const keyOf = ({ name, value }: QueryParameter) => JSON.stringify([name, value]);
  const fallbacks: Fallback[] = [];
  const isFree = freeOf(query.parameters.flatMap((one) => revealingTexts(one, query.text)));
  const textFault = (text: string) => {
    const fault = formFault(text);
    if (fault !== undefined) return fault;
    if (!isFree(text)) return "it contains a value of the query";
    if (method === "AN" && query.text.includes(text)) return "the query contains it already";
    return [...texts.values()].includes(text)
      ? "the model wrote the same for another parameter"
      : undefined;
  };
  const ask = (parameter: QueryParameter) =>
    model.reply({
      messages: [{ role: "user", content: promptOf(method, query, parameter) }],
      tools: [],
      context: { trial: "perturb", repetition: 1, request: ++request, stage: method },
    });
  for (const parameter of query.parameters) {
    let fault: string | undefined = "";
    for (let attempt = 0; fault !== undefined && attempt <= retries; attempt++) {
      const { text, finish } = await ask(parameter);
      const phrase = unquoted(text);
      fault = finish === "length" ? "the model ran out of tokens" : textFault(phrase);
      if (fault === undefined) texts.set(keyOf(parameter), phrase);
    }
    if (fault !== undefined) fallbacks.push({ name: parameter.name, reason: fault });
  }
  const modelText = (writing: WrittenMethod, parameter: QueryParameter) =>
    writing === method ? texts.get(keyOf(parameter)) : undefined;
  return {
    complicate: (parameter, stream) =>
      modelText("CP", parameter) ?? WRITER.complicate(parameter, stream),
    distract: (parameter, stream) =>
      modelText("AN", parameter) ?? WRITER.distract(parameter, stream),
    fallbacks,
  };
}

function promptOf(
  method: WrittenMethod,
  query: Query,
  { name, value, spans: [span] }: QueryParameter,
): string {
  const valueText = typeof value === "object"
    ? query.text.slice(span?.start, span?.end)
    : String(value);
  return fillPrompt(PROMPTS[method], {
    query: query.text.slice(0, MAX_SHOWN_LENGTH),
    name: name.slice(0, MAX_WRITTEN_LENGTH),
    value: valueText.slice(0, MAX_SHOWN_LENGTH),
  }).toWellFormed();
}

/** A text without the quotes that models put around it despite the prompt. */
function unquoted(text: string): string {
  const line = text.trim();
  const inner = line.slice(1, -1);
  const isQuoted = line.length > 2 && ['""', "''", "``", "“”"].includes(line[0]! + line.at(-1)!);
  return isQuoted && !inner.includes(line[0]!) ? inner.trim() : line;
}

/** Why a text is not a usable phrase or sentence; `undefined` if it is. */
function formFault(text: string): string | undefined {
  if (text === "") return "it is empty";
  if (/[\r\n]/.test(text)) return "it has more than one line";
  if (text.length > MAX_WRITTEN_LENGTH) return `it is longer than ${MAX_WRITTEN_LENGTH} characters`;
  if (printable(text, MAX_WRITTEN_LENGTH) !== text) return "it cannot be printed";
}
