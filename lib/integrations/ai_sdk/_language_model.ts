/**
 * Models of the AI SDK: any language model of its provider interface as a model.
 *
 * @see https://github.com/vercel/ai/tree/main/packages/provider/src/language-model
 * @module
 */

import { z } from "zod";
import { cannot, causesOf, reasonOf } from "../../base/errors.ts";
import { FUNCTION, parseWith } from "../../base/input.ts";
import { defined, isJsonObject, type JsonObject, printable, withNumbers } from "../../base/json.ts";
import { redact } from "../../base/redact.ts";
import { hideSecrets } from "../../base/secrets.ts";
import { describeTool, type ToolChoice } from "../../tools/tool.ts";
import { MODEL, type ModelEntry, takenBy, TOOL_CHOICE } from "../../models/entry.ts";
import {
  faultOfAnswer,
  faultOfFetch,
  ModelFault,
  RefusedError,
} from "../../models/http/endpoint.ts";
import {
  type AskedServer,
  type Attempt,
  retrying,
  type RetryPolicy,
} from "../../models/http/retry.ts";
import { InfrastructureError, type Model } from "../../models/model.ts";
import { refusedOption } from "../../models/openai/refused_option.ts";
import { faultReply, withUsage } from "../../models/openai/watched_reply.ts";
import { readResult, writePrompt } from "./_conversation.ts";
import { type Provider, providerOf } from "../../models/providers.ts";

/** A language model of the AI SDK, as `anthropic("...")` returns it: what is used of it. */
export interface LanguageModel {
  /** The version of the interface: `v3` or `v4`. */
  readonly specificationVersion: string;
  /** The name of its provider, such as `anthropic.messages`. */
  readonly provider: string;
  /** The name of the model. */
  readonly modelId: string;
  /** Asks it once. */
  doGenerate(options: never): PromiseLike<object>;
}

/** Options of models of the AI SDK; one that the provider does not take ends the run at the first reply. */
export interface AiSdkModelOptions extends
  RetryPolicy,
  Pick<
    ModelEntry,
    | "temperature"
    | "topP"
    | "maxCompletionTokens"
    | "reasoningEffort"
    | "seed"
    | "parallelToolCalls"
    | "toolChoice"
    | "takes"
    | "name"
  > {
  /** Options of providers by their names, such as `{ anthropic: { thinking: { type: "adaptive" } } }`. */
  providerOptions?: Readonly<Record<string, JsonObject>>;
  /** Texts at which a reply ends. */
  stopSequences?: readonly string[];
  /** Whether it is a program that simulates a model. Default: `false`. */
  simulated?: boolean;
}

/** Where a language model comes from. */
export interface ModelSource extends Partial<Pick<AskedServer, "isAlive">> {
  /** The model and its server, for messages. */
  readonly who: string;
  /** The name of the model. */
  readonly model: string;
  /** What is known of its provider. */
  readonly provider?: Provider | undefined;
  /** The name of its provider in `providerOptions`. */
  readonly key: string;
  /** Returns it; called with every request. */
  open(): LanguageModel | Promise<LanguageModel>;
}

/**
 * Returns a language model as the source of a model.
 *
 * @throws {InputError} If it is none, or of another version of the interface.
 */
export function sourceOf(model: LanguageModel): ModelSource {
  parseWith(LANGUAGE_MODEL, model, "the model of aiSdkModel()");
  const name = model.provider.split(".")[0]!;
  const provider = providerOf(name);
  const who = `${printable(model.modelId)} of ${printable(model.provider)}`;
  return { who, model: model.modelId, provider, key: provider?.options ?? name, open: () => model };
}

/**
 * Creates a model that asks a language model.
 *
 * @throws {InputError} If an option cannot be sent to it, or is invalid for retries.
 */
export function languageModel(source: ModelSource, options: AiSdkModelOptions): Model {
  parseWith(GIVEN, options, "the options of aiSdkModel()");
  // Whether the server of a model made elsewhere is alive cannot be asked: its silence is taken for slowness.
  const { who, provider, key, isAlive = () => Promise.resolve(true) } = source;
  const { name = source.model, simulated = false, parallelToolCalls } = options;
  if (parallelToolCalls !== undefined && provider?.parallel === undefined) {
    const rule = `${key} has no option parallelToolCalls that is known`;
    throw cannot(`ask ${printable(name)}`, rule, "leave it out, or set the provider's own option");
  }
  const unusable = (state: string) =>
    new InfrastructureError(`Cannot use the reply of ${who}: ${quote(state)}`, {
      ...{ retryable: true, fault: "unclear" },
    });
  // What a later request is told may come from what a model wrote.
  let replied = false;
  const attempt: Attempt = async (request, signal) => {
    const { messages, tools } = request;
    const reading = {
      ...{ who, hide: hideSecrets, quote, unusable, tools, told: messages },
      isTaken: (id: string) =>
        messages.some((message) =>
          message.role === "assistant" && message.calls.some((call) => call.id === id)
        ),
    };
    const choice = parseWith(CHOICE, request.toolChoice, "toolChoice") ?? options.toolChoice;
    // Providers refuse what is about tools where there are none.
    const seed = options.seed === undefined ? undefined : request.seed ?? options.seed;
    const stops = options.stopSequences ?? request.stop ?? [];
    const stopSequences = stops.length === 0 ? undefined : stops;
    const chosen = tools.length > 0
      ? { ...options, seed, stopSequences, toolChoice: choice }
      : { ...options, seed, stopSequences, toolChoice: undefined, parallelToolCalls: undefined };
    try {
      const model = await source.open();
      const { specificationVersion: version } = model;
      const { sent, unread } = settingsOf(chosen, source, version);
      const result: { readonly warnings?: unknown } = await model.doGenerate(defined({
        prompt: writePrompt(request, { whose: [who, source.model], version }),
        tools: tools.length === 0 ? undefined : tools.map((tool) => ({
          ...{ type: "function", name: tool.name, description: describeTool(tool) },
          ...defined({ inputSchema: withNumbers(tool.parameters), strict: tool.strict }),
        })),
        ...sent,
        abortSignal: signal,
      }) as never);
      const refused = unheldOption(result.warnings, chosen, { who, unread: unread(), replied });
      if (refused !== undefined) throw refused;
      const reply = readResult(result, reading);
      replied = true;
      return withUsage(request, reply);
    } catch (error) {
      signal.throwIfAborted();
      const fault = faultOf(error, { who, unusable, replied, chosen, told: messages });
      if (fault instanceof ModelFault) return withUsage(request, faultReply(fault, reading));
      throw fault;
    }
  };
  return {
    ...{ name, simulated, toolChoice: options.toolChoice, takes: takenBy(options) },
    reply: retrying(attempt, options, { who, isAlive }),
  };
}

/** Returns a text of a server or provider without secrets, on one line, cut. */
export function quote(text: string): string {
  return printable(redact(text.slice(0, 20_000)), 300);
}

const CHOICE = TOOL_CHOICE.optional();
const { temperature, topP, maxCompletionTokens, reasoningEffort, seed, ...others } = MODEL.shape;
const GIVEN = z.strictObject({
  ...{ temperature, topP, maxCompletionTokens, reasoningEffort, seed, name: others.name },
  ...{ parallelToolCalls: others.parallelToolCalls, toolChoice: CHOICE, takes: others.takes },
  providerOptions: z.record(z.string(), z.custom<JsonObject>(isJsonObject, "must be an object"))
    .optional(),
  stopSequences: z.array(z.string()).optional(),
  simulated: z.boolean().optional(),
  // Retrying checks its own.
  ...Object.fromEntries(
    ["retries", "requestTimeout", "backoff", "limiter", "requestsPerMinute", "tokensPerMinute"]
      .map((option) => [option, z.unknown().optional()]),
  ),
});
const LANGUAGE_MODEL = z.looseObject({
  ...{ doGenerate: FUNCTION, provider: z.string(), modelId: z.string() },
  specificationVersion: z.enum(["v3", "v4"]),
}, 'must be a language model of the AI SDK, such as anthropic("...")');

/** Options, and the words by which warnings mean them. */
const SETTINGS: readonly (readonly [option: keyof AiSdkModelOptions, ...words: string[]])[] = [
  ["temperature", "temperature"],
  ["topP", "topP"],
  ["seed", "seed"],
  ["maxCompletionTokens", "maxOutputTokens"],
  ["reasoningEffort", "reasoning", "reasoningEffort", "thinking", "effort"],
  ["toolChoice", "toolChoice"],
  ["parallelToolCalls", "parallelToolCalls", "disableParallelToolUse"],
  ["stopSequences", "stopSequences"],
];

/** Returns what options set of a request, and which options of providers have not been read since. */
function settingsOf(
  options: AiSdkModelOptions,
  { who, provider, key }: ModelSource,
  version: string,
): { readonly sent: object; readonly unread: () => readonly string[] } {
  const { temperature, topP, seed, maxCompletionTokens, stopSequences, toolChoice } = options;
  const { reasoningEffort: effort, parallelToolCalls, providerOptions = {} } = options;
  const { parallel, effort: ownEffort } = provider ?? {};
  const isOwnEffort = version === "v3" && effort !== undefined;
  if (isOwnEffort && ownEffort === undefined) {
    throw notHeld(who, "reasoningEffort", "version 3 has none for all providers");
  }
  const all: Readonly<Record<string, JsonObject>> = {
    ...providerOptions,
    [key]: {
      ...providerOptions[key],
      ...(parallelToolCalls === undefined
        ? {}
        : { [parallel!]: (parallel === "parallelToolCalls") === parallelToolCalls }),
      ...(isOwnEffort ? { [ownEffort!]: effort } : {}),
    },
  };
  // Providers leave out without a word what they do not know.
  const read = new Set<string>();
  const watched = Object.entries(all).map(([of, fields]) => [
    of,
    new Proxy(fields, {
      get: (target, field) => {
        read.add(`${of}.${String(field)}`);
        return Reflect.get(target, field);
      },
    }),
  ]);
  return {
    sent: {
      ...{ temperature: temperature ?? undefined, topP: topP ?? undefined, seed, stopSequences },
      maxOutputTokens: maxCompletionTokens,
      reasoning: version === "v3" ? undefined : effort,
      toolChoice: toolChoice && writeChoice(toolChoice),
      providerOptions: Object.values(all).some((fields) => Object.keys(fields).length > 0)
        ? Object.fromEntries(watched)
        : undefined,
    },
    unread: () =>
      Object.entries(all).flatMap(([of, fields]) =>
        Object.keys(fields).map((field) => `${of}.${field}`).filter((field) => !read.has(field))
      ),
  };
}

function writeChoice(choice: ToolChoice): JsonObject {
  return typeof choice === "string"
    ? { type: choice }
    : { type: "tool", toolName: choice.function };
}

/** Returns the error of the first option that a provider says it did not hold, or did not read. */
function unheldOption(
  warnings: unknown,
  options: AiSdkModelOptions,
  { who, unread: [unread], replied }: {
    readonly who: string;
    readonly unread: readonly string[];
    readonly replied: boolean;
  },
): InfrastructureError | undefined {
  if (unread !== undefined) return notHeld(who, unread, "it has no such option");
  const fields = Object.values(options.providerOptions ?? {}).flatMap(Object.keys);
  for (const warning of Array.isArray(warnings) ? warnings : []) {
    const { type, feature, setting, message, details }: JsonObject = Object(warning);
    // What is deprecated holds, and other messages may quote what a model wrote.
    if (type === "deprecated" || (type === "other" && replied)) continue;
    const words = new Set(String(feature ?? setting ?? message).split(/\W+/));
    const [option] = SETTINGS.find(([option, ...names]) =>
      (options[option] ?? undefined) !== undefined && names.some((name) =>
        words.has(name)
      )
    ) ?? fields.filter((field) => words.has(field));
    if (option !== undefined) return notHeld(who, option, String(details ?? message ?? type));
  }
}

/** Returns the error of an option that a provider does not take, which ends the run. */
function notHeld(who: string, option: string, said: string): InfrastructureError {
  const isSampling = option === "temperature" || option === "topP";
  const advice = isSampling ? `${option}: null leaves it out` : "leave it out";
  const problem = `its provider does not take ${option}: ${advice}: ${quote(said)}`;
  return new InfrastructureError(`Cannot get a reply of ${who} as ${problem}`, {
    ...{ permanent: "option", fault: "unclear" },
  });
}

/** Errors of the AI SDK that say that there are no credentials. */
const NO_CREDENTIALS = ["AI_LoadAPIKeyError", "AI_LoadSettingError"];

/** How the runtime says that a connection broke; the error of a program has the same class. */
const BROKEN = /^error (?:sending request|reading a body)/;

/** Returns the error that a failed request is. */
function faultOf(
  error: unknown,
  { who, unusable, replied, chosen, told }: {
    readonly who: string;
    readonly unusable: (state: string) => InfrastructureError;
    readonly replied: boolean;
    readonly chosen: AiSdkModelOptions;
    readonly told: unknown;
  },
): InfrastructureError {
  const causes = causesOf(error);
  const own = causes.find((cause) => cause instanceof InfrastructureError);
  if (own !== undefined) return own;
  const action = `Cannot get a reply of ${who}`;
  const denied = causes.find((cause) => cause.name === "NotCapable");
  if (denied !== undefined) {
    const [, variable] = /env access to "(\w+)"/.exec(denied.message) ?? [];
    const advice = variable === undefined ? quote(denied.message) : `add --allow-env=${variable}`;
    return new InfrastructureError(`${action} as Deno was not given the permission: ${advice}`, {
      permanent: "permission",
    });
  }
  const given: Readonly<Record<string, unknown>> = Object(error);
  const { name, url, statusCode, responseBody, responseHeaders, argument } = given;
  const isCall = name === "AI_APICallError";
  const asked = { who, quote, url: addressOf(url) };
  if (isCall && typeof statusCode === "number" && statusCode >= 400 && statusCode <= 599) {
    const headers = responseHeaders as HeadersInit | undefined;
    const answer = new Response(null, { status: statusCode, headers });
    const text = typeof responseBody === "string" ? responseBody : "";
    const fault = faultOfAnswer(answer, text, { ...asked, told, hasAnswered: replied });
    return fault instanceof RefusedError && !replied
      ? refusedOption(fault, who, fieldsOf(chosen))
      : fault;
  }
  const broken = causes.find(({ message }) => BROKEN.test(message));
  if (broken !== undefined) return faultOfFetch(broken, asked);
  const said = causes.map(({ message }) => message).join(": ") || reasonOf(error);
  if (isCall || error instanceof RangeError) return unusable(said);
  const permanent = NO_CREDENTIALS.includes(String(name))
    ? "key" as const
    : !replied && name === "AI_InvalidArgumentError" && argument === "providerOptions"
    ? "option" as const
    : undefined;
  return new InfrastructureError(`${action}: ${quote(said)}`, { fault: "unclear", permanent });
}

/** Returns options by the names that servers give them. */
function fieldsOf(options: AiSdkModelOptions): object {
  const { temperature, topP, maxCompletionTokens, reasoningEffort, seed, toolChoice } = options;
  return {
    ...{ temperature: temperature ?? undefined, top_p: topP ?? undefined, seed },
    ...{ max_output_tokens: maxCompletionTokens, reasoning_effort: reasoningEffort },
    ...{ tool_choice: toolChoice, parallel_tool_calls: options.parallelToolCalls },
  };
}

/** Returns the address of an API, without what follows its version. */
function addressOf(url: unknown): URL {
  const text = String(url).replace(/[?#].*$/s, "").replace(/(\/v\d\w*)\/.*$/s, "$1");
  return URL.canParse(text) ? new URL(text) : new URL("https://unknown.invalid");
}
