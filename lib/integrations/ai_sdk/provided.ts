/**
 * Language models of the providers that entries name, from packages of the user's project.
 * @module
 */

import { causesOf, reasonOf } from "../../base/errors.ts";
import { defined, isShallowText, printable } from "../../base/json.ts";
import { hideSecrets, registerSecrets, requestSecrets } from "../../base/secrets.ts";
import { boundedFetch } from "../../base/bounded_fetch.ts";
import { faultOfFetch, requestsTo } from "../../models/http/endpoint.ts";
import { InfrastructureError, type Model } from "../../models/model.ts";
import { withMarks } from "./_conversation.ts";
import { type LanguageModel, languageModel, type ModelSource, quote } from "./_language_model.ts";
import type { ProvidedEntry } from "../../models/entry.ts";
import { type GivenOptions, type ImportPackage, providerOf } from "../../models/providers.ts";

/** What makes language models of a provider, such as `createAnthropic`. */
type Factory = (settings: object) => (model: string) => LanguageModel;

/** Creates the model of an entry with a provider, with the options of the entry. */
export function providedModel(
  entry: ProvidedEntry,
  { key, given, importPackage }: {
    readonly key: string | undefined;
    readonly given: GivenOptions;
    /** Imports its package in place of the import map. */
    readonly importPackage: ImportPackage | undefined;
  },
): Model {
  const source = providerSource(entry, key, importPackage);
  const { model: _, provider: __, baseURL: ___, apiKeyVariable: ____, api: _____, ...others } =
    entry;
  const { body = {}, ...options } = others;
  const { stop, ...fields } = body;
  return languageModel(source, {
    ...options,
    ...given,
    stopSequences: stop === undefined ? undefined : [stop ?? []].flat().map(String),
    providerOptions: { [source.key]: fields },
  });
}

/** Returns the language model of an entry. Its package is imported with the first request. */
function providerSource(
  { model, provider: name, baseURL: given }: ProvidedEntry,
  key: string | undefined,
  importPackage: ImportPackage | undefined,
): ModelSource {
  const provider = providerOf(name)!;
  const { factory } = provider;
  const baseURL = given ?? provider.baseURL;
  const path = `@ai-sdk/${name}`;
  if (key !== undefined) registerSecrets([key]);
  const place = given === undefined ? "" : ` at ${new URL(given).host}`;
  const who = `${printable(model)} of ${name}${place}`;
  const server = { model, who, quote, hide: hideSecrets, key: undefined, headers: new Headers() };
  const heard: Heard = { at: -Infinity };
  const fetch = heardFetch(heard, server);
  const make = async () => {
    const { [factory]: create } = await (importPackage ?? ((path) => import(path)))(path)
      .catch((error) => {
        if (causesOf(error).some(({ name }) => name === "NotCapable")) throw error;
        throw new InfrastructureError(
          `Cannot ask ${who} as ${path} fails: ${quote(reasonOf(error))}`,
          {
            ...{ permanent: "option", cause: error },
          },
        );
      });
    if (typeof create !== "function") {
      throw new InfrastructureError(`Cannot ask ${who} as ${path} has no ${factory}: update it`, {
        permanent: "option",
      });
    }
    return (create as Factory)(defined({ apiKey: key, baseURL, fetch }))(model);
  };
  let opening: Promise<LanguageModel> | undefined;
  return {
    ...{ who, model, provider, key: provider.options ?? name },
    open: () => opening ??= make(),
    async isAlive(since, signal) {
      if (heard.at >= since) return true;
      if (heard.url === undefined) return false;
      const url = new URL(heard.url.origin);
      return await requestsTo({ ...server, url, fetch: undefined }).isAlive(since, signal);
    },
  };
}

/** Where requests went, and when the last one was answered. */
interface Heard {
  url?: URL;
  at: number;
}

/** Headers with keys; those of a signature are others each time. */
const KEYS = ["api-key", "authorization", "x-amz-security-token", "x-api-key", "x-goog-api-key"];

/** Returns the `fetch` of a provider: bounded, sent once, without redirects, and with its keys as secrets. */
function heardFetch(
  heard: Heard,
  server: { readonly who: string; readonly quote: (text: string) => string },
): typeof fetch {
  return async (input, init) => {
    const url = heard.url = new URL(input instanceof Request ? input.url : input);
    const keys = [...new Headers(init?.headers)].filter(([name, value]) =>
      KEYS.includes(name) && !value.startsWith("AWS4-")
    );
    registerSecrets(requestSecrets(new Headers(keys), url));
    try {
      // Headers may differ from one request to the next.
      const answer = await boundedFetch()(input, { ...init, redirect: "error" });
      const text = await answer.text();
      if (answer.status < 502 || answer.status === 529) heard.at = performance.now();
      if (!isShallowText(text)) throw new RangeError("the body nests too deep");
      return new Response(text === "" ? null : answer.ok ? withMarks(text) : text, answer);
    } catch (error) {
      init?.signal?.throwIfAborted();
      // A body that is too long or too deep may be of the model's making.
      throw error instanceof RangeError ? error : faultOfFetch(error, { ...server, url });
    }
  };
}
