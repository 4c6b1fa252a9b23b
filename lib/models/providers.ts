/**
 * Providers of the AI SDK that an entry can name. Their packages are those of the user's project: each is
 * `@ai-sdk/` and the name.
 *
 * @see https://ai-sdk.dev/providers/ai-sdk-providers
 * @module
 */

import { cannot } from "../base/errors.ts";
import { printable } from "../base/json.ts";
import { installLine } from "../base/optional_package.ts";
import type { RetryPolicy } from "./http/retry.ts";

/** The names of all providers; OpenAI's own models are asked without one. */
export const PROVIDER_NAMES = [
  "amazon-bedrock",
  "anthropic",
  "azure",
  "cerebras",
  "cohere",
  "deepseek",
  "fireworks",
  "google",
  "google-vertex",
  "groq",
  "mistral",
  "perplexity",
  "togetherai",
  "xai",
] as const;

/** The name of a provider. */
export type ProviderName = typeof PROVIDER_NAMES[number];

/** What is known of a provider. */
export interface Provider {
  /** The function of its package that makes the provider. */
  readonly factory: string;
  /** The variable that holds the key. */
  readonly key: string;
  /** Whether it has other credentials as well, which its package finds without a key. */
  readonly isKeyless?: true;
  /** Its address, where its package would let a variable of the environment change it. */
  readonly baseURL?: string;
  /** Its name in `providerOptions`. Default: the provider's. */
  readonly options?: string;
  /** Its option for several calls in one reply; `disableParallelToolUse` says the opposite. */
  readonly parallel?: "parallelToolCalls" | "disableParallelToolUse";
  /** Its option for the reasoning effort; used up to version 3 of the specification, which has none for all. */
  readonly effort?: "reasoningEffort" | "effort";
}

const PARALLEL = "parallelToolCalls";
const EFFORT = "reasoningEffort";

/** The providers by their names. */
const PROVIDERS: Readonly<Record<ProviderName, Provider>> = {
  "amazon-bedrock": {
    ...{ factory: "createAmazonBedrock", key: "AWS_BEARER_TOKEN_BEDROCK", isKeyless: true },
    options: "bedrock",
  },
  anthropic: {
    ...{ factory: "createAnthropic", key: "ANTHROPIC_API_KEY", effort: "effort" },
    ...{ baseURL: "https://api.anthropic.com/v1", parallel: "disableParallelToolUse" },
  },
  azure: { factory: "createAzure", key: "AZURE_API_KEY", parallel: PARALLEL, effort: EFFORT },
  cerebras: { factory: "createCerebras", key: "CEREBRAS_API_KEY" },
  cohere: { factory: "createCohere", key: "COHERE_API_KEY" },
  deepseek: { factory: "createDeepSeek", key: "DEEPSEEK_API_KEY" },
  fireworks: { factory: "createFireworks", key: "FIREWORKS_API_KEY" },
  google: { factory: "createGoogleGenerativeAI", key: "GOOGLE_GENERATIVE_AI_API_KEY" },
  "google-vertex": {
    ...{ factory: "createVertex", key: "GOOGLE_VERTEX_API_KEY", isKeyless: true },
    options: "vertex",
  },
  groq: { factory: "createGroq", key: "GROQ_API_KEY", parallel: PARALLEL, effort: EFFORT },
  mistral: { factory: "createMistral", key: "MISTRAL_API_KEY", parallel: PARALLEL },
  perplexity: { factory: "createPerplexity", key: "PERPLEXITY_API_KEY" },
  togetherai: { factory: "createTogetherAI", key: "TOGETHER_API_KEY" },
  xai: { factory: "createXai", key: "XAI_API_KEY", parallel: PARALLEL, effort: EFFORT },
};

/** Returns what is known of a provider; `undefined` of others than these. */
export function providerOf(name: string): Provider | undefined {
  return Object.hasOwn(PROVIDERS, name) ? PROVIDERS[name as ProviderName] : undefined;
}

/** Options of a model beside those of its entry. */
export interface GivenOptions extends RetryPolicy {
  /** Its name in results. */
  readonly name: string;
  /** Whether it is simulated. */
  readonly simulated: boolean;
}

/** Imports a package by its name. */
export type ImportPackage = (name: string) => Promise<Readonly<Record<string, unknown>>>;

/**
 * Checks that a provider can be asked.
 *
 * @param importPackage Imports its package in place of the project's import map.
 * @throws {InputError} If its package is not installed, or it has no option that the entry sets.
 */
export function assertProvided(
  { model, provider, parallelToolCalls }: {
    readonly model: string;
    readonly provider: ProviderName;
    readonly parallelToolCalls?: boolean;
  },
  importPackage: ImportPackage | undefined,
): void {
  const path = `@ai-sdk/${provider}`;
  if (parallelToolCalls !== undefined && PROVIDERS[provider].parallel === undefined) {
    const rule = `${provider} has no option parallelToolCalls that is known`;
    throw cannot(`ask ${printable(model)}`, rule, "leave it out, or set the provider's own option");
  }
  if (importPackage !== undefined) return;
  try {
    import.meta.resolve(path);
  } catch {
    const rule = `${path} must be installed`;
    throw cannot(`use model ${printable(model)}`, rule, `run: ${installLine([path])}`);
  }
}
