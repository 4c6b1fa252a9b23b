/**
 * Model entries: models as suites name them, with their options.
 * @module
 */

import { z } from "zod";
import { type JsonObject, type JsonValue, withNumbers } from "../base/json.ts";
import { PROVIDER_NAMES, type ProviderName } from "./providers.ts";
import { type Api, APIS, isTextFormat } from "./formats/registry.ts";
import type { Prices } from "./prices.ts";
import { redactRecord } from "../base/redact.ts";
import { requestSecrets } from "../base/secrets.ts";
import { MEDIA, type Medium } from "../tools/media.ts";
import type { ToolChoice } from "../tools/tool.ts";

/** Levels of how much a model may reason before it answers. */
export const REASONING_EFFORTS = [
  "none",
  "minimal",
  "low",
  "medium",
  "high",
  "xhigh",
  "max",
] as const;

/** A model as suites name it, with its options. */
export interface ModelEntry {
  /** The name: a model of the server at `baseURL`, or `sim:...` for a simulated one. */
  readonly model: string;
  /**
   * The provider, which is asked in its own format by its package of the AI SDK (`@ai-sdk/NAME` in the project's
   * imports). Default: any server of OpenAI's format.
   */
  readonly provider?: ProviderName;
  /**
   * Its API: OpenAI's chat completions or responses, or a text format over plain chat, for models without
   * native tool calls. Default: `chat`.
   */
  readonly api?: Api;
  /** The server. Default: OpenAI's, or the provider's. */
  readonly baseURL?: string;
  /** The environment variable with the key. Default: `OPENAI_API_KEY`, or the provider's. */
  readonly apiKeyVariable?: string;
  /** Sampling temperature. Default: that of the suite's `sampling`; `null` leaves it out. */
  readonly temperature?: number | null;
  /** Nucleus sampling. Default: that of the suite's `sampling`; `null` leaves it out. */
  readonly topP?: number | null;
  /** Tokens of a reply, at most. */
  readonly maxCompletionTokens?: number;
  /** Reasoning effort, such as `minimal` or `medium`. */
  readonly reasoningEffort?: typeof REASONING_EFFORTS[number];
  /** Sampling seed; not with `responses`, which has none. */
  readonly seed?: number;
  /** Whether several calls in one reply are allowed; not with text formats, which cannot enforce it. */
  readonly parallelToolCalls?: boolean;
  /**
   * Whether it may, must or must not call functions, or must call the named one. Default: `auto`. If it must
   * call, no trial ends with an answer.
   */
  readonly toolChoice?: ToolChoice;
  /**
   * What it takes beside text in the results of tools: `image`, `audio` or both; responses carry no audio. Default:
   * text alone, which then says what was left out.
   */
  readonly takes?: readonly Medium[];
  /** Whether replies come as event streams. Default: once a server demands it. */
  readonly stream?: boolean;
  /** Further fields of the request's body; with `provider` the options of its package. */
  readonly body?: JsonObject;
  /** Name in results, for several entries of one model. Default: `model`, or `m (react)` if not `chat`. */
  readonly name?: string;
}

/** How replies are sampled. */
export interface Sampling {
  /** Sampling temperature. */
  readonly temperature?: number;
  /** Nucleus sampling. */
  readonly topP?: number;
}

const TEMPERATURE = z.number().min(0).max(2);
const TOP_P = z.number().min(0).max(1);

/** The schema of the sampling of a suite. */
export const SAMPLING: z.ZodType<Sampling> = z.strictObject({
  temperature: TEMPERATURE.optional(),
  topP: TOP_P.optional(),
});

/** An entry that leaves nothing out by `null`. */
export type SampledEntry = Omit<ModelEntry, keyof Sampling> & Sampling;

/** An entry with a provider. */
export type ProvidedEntry = SampledEntry & { readonly provider: ProviderName };

/**
 * Returns an entry with the sampling of its suite where it says none; what it sets to `null` is left out, as some
 * models refuse it.
 */
export function withSampling(entry: ModelEntry, sampling: Sampling = {}): SampledEntry {
  const { temperature = sampling.temperature, topP = sampling.topP, ...others } = entry;
  const chosen = { temperature: temperature ?? undefined, topP: topP ?? undefined };
  // Its fields keep their order where nothing changes, as journals show them.
  const isSame = chosen.temperature === entry.temperature && chosen.topP === entry.topP;
  return isSame ? entry as SampledEntry : { ...others, ...chosen };
}

/** Names of fields that contain secrets; `max_tokens`, `prompt_cache_key` and the like do not. */
const SECRET_NAME =
  /(?<!prompt_cache_)key|token$|secret|password|authorization|^(?:extra_)?headers$/i;

/** Returns whether `value`, at any depth, is a secret or has a field whose name is that of a secret. */
function holdsSecret(value: JsonValue): boolean {
  if (typeof value === "string") return redactRecord(value) !== value;
  if (typeof value !== "object" || value === null) return false;
  if (Array.isArray(value)) return value.some(holdsSecret);
  return Object.entries(value).some(([name, inner]) =>
    SECRET_NAME.test(name) || holdsSecret(inner)
  );
}

/** An option that an API does not have, and what to do about it. */
function notWith(
  { model, provider, api = "chat", baseURL, stream }: ModelEntry,
): readonly [option?: keyof ModelEntry, rule?: string] {
  if (provider !== undefined && api === "responses") {
    return ["api", "a provider is asked in its own format: leave the api out"];
  }
  if (provider !== undefined && model.startsWith("sim:") && baseURL === undefined) {
    return ["provider", "a simulated model has none: leave it out"];
  }
  if (provider !== undefined && stream !== undefined) {
    return ["stream", "the replies of a provider are read whole: leave it out"];
  }
  if (api === "responses") {
    return ["seed", "responses take no seed: leave it out, or take the api chat"];
  }
  if (!isTextFormat(api)) return [];
  return ["parallelToolCalls", "a text may hold any calls: leave it out, or take the api chat"];
}

/** The name of a key in place of the variable that holds it. */
const KEY_NAME = /^(?:\w+_)?api[-_]?key$/i;

/** What says so where a key is written into a model or a suite. */
const NO_KEY_HERE =
  "keys are not written here; apiKeyVariable of a model names the environment variable that holds one";

/**
 * Returns the errors of strict objects with a key, or with a name that is used elsewhere; of all else others tell.
 *
 * @param advice What to do instead, by name.
 */
export function misplaced(
  advice: Readonly<Record<string, string>> = {},
): (issue: z.core.$ZodRawIssue) => string | undefined {
  const adviceOn = (name: string) =>
    KEY_NAME.test(name) ? NO_KEY_HERE : Object.hasOwn(advice, name) ? advice[name] : undefined;
  return (issue) => {
    if (issue.code !== "unrecognized_keys") return undefined;
    const name = issue.keys.find((key) => adviceOn(key) !== undefined);
    return name && `Unrecognized key: ${JSON.stringify(name)}: ${adviceOn(name)}`;
  };
}

/** Schema of whether a reply may, must or must not call. */
export const TOOL_CHOICE: z.ZodType<ToolChoice> = z.union([
  z.enum(["auto", "none", "required"]),
  z.strictObject({ function: z.string().min(1) }),
], { error: 'must be auto, none, required or { "function": "name" }' });

/** Whether an address holds nothing that may be a secret: plans are kept in journals. */
export function isPublicAddress(address: string): boolean {
  return URL.canParse(address) && !/[#@]/.test(address) && redactRecord(address) === address &&
    requestSecrets(new Headers(), new URL(address)).every((secret) => secret === "");
}

/** Schema of a model entry. */
export const MODEL = z.strictObject({
  model: z.string().min(1),
  provider: z.enum(PROVIDER_NAMES).optional(),
  api: z.enum(APIS).optional(),
  baseURL: z.url({ protocol: /^https?$/, error: "must be an http or https URL" })
    .refine(isPublicAddress, {
      message:
        "must hold no name, password or key, and no query but a version: plans are kept in journals",
    }).optional(),
  apiKeyVariable: z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/).optional(),
  temperature: TEMPERATURE.nullable().optional(),
  topP: TOP_P.nullable().optional(),
  maxCompletionTokens: z.int().min(1).optional(),
  reasoningEffort: z.enum(REASONING_EFFORTS).optional(),
  seed: z.int().optional(),
  parallelToolCalls: z.boolean().optional(),
  toolChoice: TOOL_CHOICE.optional(),
  takes: z.array(z.enum(MEDIA)).optional(),
  stream: z.boolean().optional(),
  body: z.preprocess(withNumbers, z.record(z.string(), z.json()))
    .refine((body) => !holdsSecret(body), {
      message: "must hold no secret: plans are kept in journals",
    }).optional(),
  name: z.string().min(1).optional(),
}, { error: misplaced() }).check(({ value, issues }) => {
  const [option, message] = notWith(value as ModelEntry);
  if (option === undefined || value[option] === undefined) return;
  issues.push({ code: "custom", message: message!, path: [option], input: value });
});

/** Returns what the model of an entry takes beside text. */
export function takenBy({ api, takes }: Pick<ModelEntry, "api" | "takes">): ModelEntry["takes"] {
  return api === "responses" ? takes?.filter((medium) => medium !== "audio") : takes;
}

/** Returns the name of a model entry in results. */
export function modelName({ model, api = "chat", name }: ModelEntry): string {
  return name ?? (api === "chat" ? model : `${model} (${api})`);
}

/** Returns the prices, with those of models under an API other than `chat`, which cost the same. */
export function withApiPrices(prices: Prices, entries: readonly ModelEntry[]): Prices {
  const more = entries.filter((entry) =>
    entry.name === undefined && Object.hasOwn(prices, entry.model) &&
    !Object.hasOwn(prices, modelName(entry))
  );
  if (more.length === 0) return prices;
  return {
    ...prices,
    ...Object.fromEntries(more.map((entry) => [modelName(entry), prices[entry.model]!])),
  };
}
