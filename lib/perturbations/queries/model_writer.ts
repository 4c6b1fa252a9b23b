/**
 * Writers of perturbed queries that ask a model, as the paper's authors do for its methods CP and AN
 * (Butterfly, appendix A.3.2).
 * @module
 */

import { type JsonValue, printable } from "../../base/json.ts";
import { sumUsage, type Usage } from "../../tools/message.ts";
import type { Model } from "../../models/model.ts";
import { freeOf, type QueryParameter, textsOf } from "./literals.ts";
import type { Query } from "./parameters.ts";
import { type Forms, type QueryWriter, WRITER } from "./write.ts";
import { fillPrompt } from "../../models/prompts.ts";
import type { Stream } from "../../base/random.ts";

/** The methods that write something. */
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

/** How a model is asked. */
export interface ModelWriterOptions {
  /** How often it is asked again for one parameter when its text cannot be used; default 1. */
  readonly retries?: number;
  /** The trial that its requests are told to be of; default `perturb`. */
  readonly trial?: string;
  /** Aborts the requests. */
  readonly signal?: AbortSignal;
}

/** A parameter that the built-in writer writes for. */
export interface Fallback {
  /** The parameter's name. */
  readonly name: string;
  /** Why what the model wrote last cannot be used. */
  readonly reason: string;
}

/** A writer that has asked a model for everything that it will write. */
export interface ModelWriter extends QueryWriter {
  /** The parameters for which the model wrote nothing that can be used, in order. */
  readonly fallbacks: readonly Fallback[];
  /** The tokens that the model took. */
  readonly usage: Usage;
}

/** Longer texts are no phrase and no sentence. */
const LONGEST_WRITTEN = 300;
/** No more of a query or a value is shown to the model. */
const LONGEST_SHOWN = 20_000;

/**
 * Asks `model` once for each parameter of `query`, and again where its text cannot be used: it must be one
 * printable line of at most 300 characters that holds no value of the query, is not what it wrote for another
 * parameter, and for `AN` does not stand in the query. Where it never can be, the built-in writer writes, as it does for
 * parameters that are not the query's own and for the other method.
 *
 * @throws {InfrastructureError} If no reply could be had.
 *
 * @example Usage
 * ```ts
 * import { modelWriter } from "./model_writer.ts";
 * import { scripted } from "../../models/scripted.ts";
 * import { findParameters } from "./parameters.ts";
 * import { perturbQuery } from "./perturb.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const text = "The weather in Paris?";
 * const query = { text, parameters: findParameters(text, [{ arguments: { city: "Paris" } }]) };
 * const model = scripted("double", [{ text: "the city of the Eiffel tower" }]);
 * const writer = await modelWriter(model, query, "CP");
 * assertEquals(
 *   perturbQuery("CP", query, { seed: 1, writer }).value.text,
 *   "The weather in the city of the Eiffel tower?",
 * );
 * assertEquals(writer.fallbacks, []);
 * ```
 */
export async function modelWriter(
  model: Model,
  query: Query,
  method: WrittenMethod,
  { retries = 1, trial = "perturb", signal }: ModelWriterOptions = {},
): Promise<ModelWriter> {
  const usages: Usage[] = [];
  const texts = new Texts();
  const fallbacks: Fallback[] = [];
  const isFree = freeOf(query.parameters.flatMap((one) => textsOf(one, query.text)));
  const faultIn = (text: string) => {
    const fault = faultOf(text);
    if (fault !== undefined) return fault;
    if (!isFree(text)) return "it holds a value of the query";
    if (method === "AN" && query.text.includes(text)) return "it stands in the query already";
    return texts.has(text) ? "it is what it wrote for another parameter" : undefined;
  };
  const ask = async (parameter: QueryParameter) => {
    const reply = await model.reply({
      messages: [{ role: "user", content: promptOf(method, query, parameter) }],
      tools: [],
      context: { trial, repetition: 1, request: usages.length + 1, stage: method },
      ...(signal === undefined ? {} : { signal }),
    });
    usages.push(reply.usage);
    return reply;
  };
  for (const parameter of query.parameters) {
    let fault: string | undefined = "";
    for (let asked = 0; fault !== undefined && asked <= retries; asked++) {
      const { text, finish } = await ask(parameter);
      const said = bare(text);
      fault = finish === "length" ? "the model ran out of tokens" : faultIn(said);
      if (fault === undefined) texts.set(parameter, said);
    }
    if (fault !== undefined) fallbacks.push({ name: parameter.name, reason: fault });
  }
  const written = (own: WrittenMethod, parameter: QueryParameter) =>
    own === method ? texts.get(parameter) : undefined;
  return {
    complicate: (parameter, stream) =>
      written("CP", parameter) ?? WRITER.complicate(parameter, stream),
    distract: (parameter: QueryParameter, stream: Stream, forms?: Forms) =>
      written("AN", parameter) ?? WRITER.distract(parameter, stream, forms),
    fallbacks,
    usage: sumUsage(usages),
  };
}

/** Texts by the names and values of parameters, whose places may move. */
class Texts {
  readonly #byName = new Map<string, Map<JsonValue, string>>();
  readonly #all = new Set<string>();

  get({ name, value }: QueryParameter): string | undefined {
    return this.#byName.get(name)?.get(value);
  }

  set({ name, value }: QueryParameter, text: string): void {
    const own = this.#byName.get(name) ?? new Map();
    this.#byName.set(name, own.set(value, text));
    this.#all.add(text);
  }

  has(text: string): boolean {
    return this.#all.has(text);
  }
}

function promptOf(
  method: WrittenMethod,
  query: Query,
  { name, value, spans: [span] }: QueryParameter,
): string {
  const shown = typeof value === "object"
    ? query.text.slice(span?.start, span?.end)
    : String(value);
  return fillPrompt(PROMPTS[method], {
    query: query.text.slice(0, LONGEST_SHOWN),
    name: name.slice(0, LONGEST_WRITTEN),
    value: shown.slice(0, LONGEST_SHOWN),
  }).toWellFormed();
}

/** A text without the quotes that models put around it all the same. */
function bare(text: string): string {
  const line = text.trim();
  const inner = line.slice(1, -1);
  const isQuoted = line.length > 2 && ['""', "''", "``", "“”"].includes(line[0]! + line.at(-1)!);
  return isQuoted && !inner.includes(line[0]!) ? inner.trim() : line;
}

/** Why a text can be neither phrase nor sentence. */
function faultOf(text: string): string | undefined {
  if (text === "") return "it is empty";
  if (/[\r\n]/.test(text)) return "it has more than one line";
  if (text.length > LONGEST_WRITTEN) return `it is longer than ${LONGEST_WRITTEN} characters`;
  if (printable(text, LONGEST_WRITTEN) !== text) return "it cannot be printed";
}
