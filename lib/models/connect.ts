/**
 * From a model's name in a suite to a model that can be asked.
 * @module
 */

import type { CallSet } from "../tasks/questions/question_set.ts";
import { OPENAI_URL } from "./http/endpoint.ts";
import { formatOf, isTextFormat } from "./formats/registry.ts";
import { InputError, reasonOf } from "../base/errors.ts";
import type { Model } from "./model.ts";
import { openai, type OpenAIOptions } from "./openai/openai.ts";
import { readSimulatedName } from "./simulated_name.ts";
import type { SimulatedServer } from "../simulated/server.ts";
import { inTextFormat } from "./formats/adapter.ts";
import type { RetryPolicy } from "./http/retry.ts";
import { assertRates, RateLimiters } from "./http/rate_limiter.ts";
import { type ModelEntry, modelName } from "./entry.ts";

/** What holds for all models of a run; limits hold for each model of a server. */
export interface ConnectOptions extends Omit<RetryPolicy, "limiter"> {
  /** The server of entries that name none; default OpenAI's. */
  readonly baseURL?: string;
  /** Milliseconds that simulated models take for a reply; default 0. */
  readonly latency?: number;
  /** Call sets whose truth simulated models may know; default none. */
  readonly sets?: readonly CallSet[];
  /** Where models get their limiters from; default from nowhere else. */
  readonly limiters?: RateLimiters;
}

/**
 * Models by their entries. Simulated ones are asked over HTTP as all others are, from a loopback
 * server that starts with the first request to one and stops when this is disposed of.
 *
 * @example Usage
 * ```ts
 * import { Connections } from "./connect.ts";
 * import { runTrial } from "../trials/trial.ts";
 * import { assertEquals } from "@std/assert";
 *
 * await using connections = new Connections();
 * const model = connections.model({ model: "sim:planner" });
 * const task = { core: 5, depth: 2, connected: 0, disconnected: 0, seed: 7 };
 * assertEquals((await runTrial(task, model)).outcome, "solved");
 * ```
 */
export class Connections implements AsyncDisposable {
  readonly #options: ConnectOptions;
  readonly #limiters: RateLimiters;
  #server: Promise<SimulatedServer> | undefined;

  /**
   * Makes no connection yet: each begins when its model is first asked for.
   *
   * @throws {InputError} If `requestsPerMinute` or `tokensPerMinute` is no whole number from 1 on.
   */
  constructor(options: ConnectOptions = {}) {
    assertRates(options);
    this.#options = options;
    this.#limiters = options.limiters ?? new RateLimiters();
  }

  /**
   * The model that `entry` names.
   *
   * @throws {InputError} If there is no such simulated model, or a key or a permission is missing.
   */
  model(entry: ModelEntry): Model {
    const { latency: _, sets: __, limiters: ___, baseURL: usual, ...policy } = this.#options;
    const { apiKeyVariable, baseURL = usual, ...options } = entry;
    const { model } = options;
    const name = modelName(entry);
    // Whoever asks the same model shares what it allows, in whatever format and under whatever name.
    const limiterAt = (url: string) => this.#limiters.of(url, model, policy);
    // An entry may name a server of simulated models of its own: `toolgate simulate` is one.
    if (model.startsWith("sim:") && entry.baseURL === undefined) {
      readSimulatedName(model);
      // The server starts with the first request, not with a model that may never be asked.
      let connected: Promise<Model> | undefined;
      const connect = async () => {
        const { url } = await this.#simulatedServer();
        return spokenTo(options, {
          ...policy,
          name,
          simulated: true,
          baseURL: url,
          // No secret: a key that is a word would be taken out of all that is written.
          apiKey: "none",
          limiter: limiterAt(url),
          requestFields: ({ context }) => ({ seed: context.repetition }),
        });
      };
      return {
        ...identityOf(entry),
        reply: async (request) => {
          connected ??= connect().catch((error) => {
            connected = undefined;
            throw error;
          });
          return await (await connected).reply(request);
        },
      };
    }
    return spokenTo(options, {
      ...policy,
      name,
      simulated: model.startsWith("sim:"),
      limiter: limiterAt(baseURL ?? OPENAI_URL),
      ...(baseURL === undefined ? {} : { baseURL }),
      ...(apiKeyVariable === undefined ? {} : { apiKey: readKey(apiKeyVariable, name) }),
    });
  }

  /** Stops the server of simulated models. */
  async [Symbol.asyncDispose](): Promise<void> {
    const server = await this.#server?.catch(() => undefined);
    this.#server = undefined;
    await server?.close();
  }

  /** The server of simulated models: its code is loaded when a model is first asked. */
  #simulatedServer(): Promise<SimulatedServer> {
    return this.#server ??= import("../simulated/server.ts").then(({ startSimulatedServer }) => {
      const { latency, sets } = this.#options;
      return startSimulatedServer({
        ...(latency === undefined ? {} : { latency }),
        ...(sets === undefined ? {} : { sets }),
      });
    }).catch((error) => {
      this.#server = undefined;
      throw new InputError(
        `Cannot start the server of simulated models as it needs the permission ` +
          `--allow-net=127.0.0.1: ${reasonOf(error)}`,
      );
    });
  }
}

/** What the model of an entry is called and how it is spoken to, before it is connected. */
export function identityOf(entry: ModelEntry): Omit<Model, "reply"> {
  const { model, api = "chat" } = entry;
  return {
    name: modelName(entry),
    simulated: model.startsWith("sim:"),
    ...(api === "chat" ? {} : { api }),
  };
}

/** The model at an address, spoken to as its entry says. */
function spokenTo(
  { api = "chat", toolChoice, ...options }: Omit<ModelEntry, "baseURL" | "apiKeyVariable">,
  address: Omit<OpenAIOptions, "model">,
): Model {
  if (!isTextFormat(api)) {
    return openai({
      ...options,
      ...address,
      api,
      ...(toolChoice === undefined ? {} : { toolChoice }),
    });
  }
  const { stop } = formatOf(api);
  // Not all servers know where to stop; an entry whose body has stop: null asks for nothing of it.
  const body = { ...(stop.length === 0 ? {} : { stop: [...stop] }), ...options.body };
  const model = openai({ ...options, ...address, body });
  return inTextFormat(model, api, toolChoice === undefined ? {} : { toolChoice });
}

function readKey(variable: string, model: string): string {
  const permission = Deno.permissions.querySync({ name: "env", variable });
  const key = permission.state === "granted" ? Deno.env.get(variable) : undefined;
  if (key !== undefined && key !== "") return key;
  throw new InputError(
    permission.state === "granted"
      ? `Cannot use model ${model} as the environment variable ${variable} is not set`
      : `Cannot use model ${model} as Deno may not read ${variable}: add --allow-env=${variable}`,
  );
}
