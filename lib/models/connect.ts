/**
 * Connections: turn model entries of a suite into models that answer requests.
 * @module
 */

import { isGranted } from "#runtime";
import type { CallSet } from "../tasks/questions/question_set.ts";
import { environmentVariable } from "../base/environment.ts";
import { OPENAI_URL } from "./http/endpoint.ts";
import { isTextFormat } from "./formats/registry.ts";
import { InputError } from "../base/errors.ts";
import type { Model } from "./model.ts";
import { openai, type OpenAIOptions } from "./openai/openai.ts";
import { readSimulatedName } from "./simulated_name.ts";
import { inTextFormat } from "./formats/_adapter.ts";
import type { RetryPolicy } from "./http/retry.ts";
import { assertProvided, type GivenOptions, type ImportPackage, providerOf } from "./providers.ts";
import { assertRates, RateLimiters } from "./http/rate_limiter.ts";
import {
  type ModelEntry,
  modelName,
  type ProvidedEntry,
  type SampledEntry,
  takenBy,
  withSampling,
} from "./entry.ts";

/** Options for all models of a run; rate limits apply to each model of a server. */
export interface ConnectOptions extends Omit<RetryPolicy, "limiter"> {
  /** Server of entries that name none. Default: OpenAI's. */
  readonly baseURL?: string;
  /** Call sets whose truth simulated models may know. Default: none. */
  readonly sets?: readonly CallSet[];
  /** Rate limiters to share with other connections. Default: new ones. */
  readonly limiters?: RateLimiters;
  /** Imports packages of providers, by their names. Default: by the import map of the project. */
  readonly importPackage?: ImportPackage;
}

/**
 * Creates models from their entries. Simulated models are called within the process, in the same format as a
 * model behind a server.
 */
export class Connections {
  readonly #options: ConnectOptions;
  readonly #limiters: RateLimiters;
  /** Asks simulated models, whose code is loaded with the first request. */
  readonly #simulated: typeof fetch;

  /**
   * Connects no model yet.
   *
   * @throws {InputError} If `requestsPerMinute` or `tokensPerMinute` is not a whole number from 1.
   */
  constructor(options: ConnectOptions = {}) {
    assertRates(options);
    this.#options = options;
    this.#limiters = options.limiters ?? new RateLimiters();
    const { sets } = options;
    let loading: Promise<typeof fetch> | undefined;
    this.#simulated = async (...request) => {
      loading ??= import("../simulated/server.ts").then(({ simulatedFetch }) =>
        simulatedFetch(sets)
      );
      return await (await loading)(...request);
    };
  }

  /**
   * Returns the model that `entry` names.
   *
   * @param apiKey Its key. Default: the value of the variable that the entry names, or of `OPENAI_API_KEY`
   * or that of its provider.
   * @throws {InputError} If there is no such simulated model, or a key, a permission or a package is missing.
   */
  model(entry: ModelEntry, apiKey?: string): Model {
    const { sets: _, limiters: __, baseURL: usual, importPackage: ___, ...policy } = this.#options;
    const { apiKeyVariable, baseURL = usual, ...options } = withSampling(entry);
    const { model, provider } = options;
    const { name, simulated } = identityOf(entry);
    // All entries of a model share its rate limits, in any format and under any name.
    const limiterAt = (url: string) => this.#limiters.of(url, model, policy);
    // An entry may name another server of simulated models, such as `toolgate simulate`.
    if (simulated && entry.baseURL === undefined) {
      readSimulatedName(model);
      return modelAt(options, {
        ...policy,
        name,
        simulated,
        baseURL: SIMULATED_URL,
        apiKey: NO_KEY,
        limiter: limiterAt(SIMULATED_URL),
        fetch: this.#simulated,
        requestFields: ({ context }) => ({ seed: context.repetition }),
      });
    }
    if (provider !== undefined) {
      const limiter = limiterAt(entry.baseURL ?? provider);
      const asked = { ...withSampling(entry), provider };
      return this.#provided(asked, { ...policy, name, simulated, limiter }, apiKey);
    }
    return modelAt(options, {
      ...policy,
      name,
      simulated,
      limiter: limiterAt(baseURL ?? OPENAI_URL),
      baseURL,
      apiKey: apiKey ?? (apiKeyVariable && readKey(apiKeyVariable, name)),
    });
  }

  /** Returns the model of a provider, whose code is loaded with the first request. */
  #provided(entry: ProvidedEntry, given: GivenOptions, apiKey: string | undefined): Model {
    const { importPackage } = this.#options;
    assertProvided(entry, importPackage);
    const key = apiKey ?? providerKey(entry, given.name);
    const { api = "chat", toolChoice } = entry;
    const isText = isTextFormat(api);
    const asked = isText ? { ...entry, toolChoice: undefined } : entry;
    let loading: Promise<Model> | undefined;
    const model: Model = {
      ...{ name: given.name, simulated: given.simulated, toolChoice, takes: takenBy(entry) },
      async reply(request) {
        loading ??= import("../integrations/ai_sdk/provided.ts").then(({ providedModel }) =>
          providedModel(asked, { key, given, importPackage })
        );
        return await (await loading).reply(request);
      },
    };
    return isText ? inTextFormat(model, api, { toolChoice }) : model;
  }
}

/** The address of simulated models within the process: nothing is sent there. */
const SIMULATED_URL = "http://in-process/v1";

/** Sent where a server gets no key. A word of eight letters or more would be redacted from all output. */
export const NO_KEY = "none";

/** Returns the name and the API of an entry's model, before it is connected. */
export function identityOf(entry: ModelEntry): Omit<Model, "reply"> {
  const { model, api = "chat" } = entry;
  return {
    name: modelName(entry),
    simulated: model.startsWith("sim:"),
    ...(api === "chat" ? {} : { api }),
    toolChoice: entry.toolChoice,
    takes: takenBy(entry),
  };
}

/** Creates the model at an address, with the API and options of its entry. */
function modelAt(
  { api = "chat", toolChoice, ...options }: Omit<SampledEntry, "baseURL" | "apiKeyVariable">,
  address: Omit<OpenAIOptions, "model">,
): Model {
  if (!isTextFormat(api)) {
    return openai({ ...options, ...address, api, toolChoice });
  }
  return inTextFormat(openai({ ...options, ...address }), api, { toolChoice });
}

/** Returns the key of a provider. It is required unless the entry names a server, or the provider has other credentials. */
function providerKey(
  { provider, baseURL, apiKeyVariable }: ModelEntry,
  name: string,
): string | undefined {
  const { key, isKeyless } = providerOf(provider!)!;
  if (apiKeyVariable !== undefined) return readKey(apiKeyVariable, name);
  if (isKeyless) return environmentVariable(key);
  return baseURL === undefined ? readKey(key, name) : environmentVariable(key) ?? NO_KEY;
}

function readKey(variable: string, model: string): string {
  const key = environmentVariable(variable);
  if (key !== undefined) return key;
  throw new InputError(
    isGranted({ name: "env", variable })
      ? `Cannot use model ${model} as the environment variable ${variable} is not set`
      : `Cannot use model ${model} as Deno may not read ${variable}: add --allow-env=${variable}`,
  );
}
