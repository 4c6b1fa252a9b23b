/**
 * Language models of the providers that entries name, from packages of the user's project.
 * @module
 */

import { cannot } from "../../base/errors.ts";
import { defined, isShallowText, printable } from "../../base/json.ts";
import { hideSecrets, registerSecrets, requestSecrets } from "../../base/secrets.ts";
import type { ModelEntry } from "../entry.ts";
import { boundedFetch } from "../http/_bounded_fetch.ts";
import { faultOfFetch, requestsTo } from "../http/endpoint.ts";
import { InfrastructureError } from "../model.ts";
import { type LanguageModel, type ModelSource, quote } from "./model.ts";
import { type ProviderName, providerOf } from "./providers.ts";

/** Imports a package by its name. */
export type ImportPackage = (name: string) => Promise<Readonly<Record<string, unknown>>>;

/** What makes language models of a provider, such as `createAnthropic`. */
type Factory = (settings: object) => (model: string) => LanguageModel;

/**
 * Returns the language model of an entry with a provider. Its package is imported with the first request.
 *
 * @param importPackage Imports it in place of the import map.
 * @throws {InputError} If the import map has no package of the provider.
 */
export function providerSource(
  { model, provider: name, baseURL: given }: ModelEntry & { readonly provider: ProviderName },
  key: string | undefined,
  importPackage?: ImportPackage,
): ModelSource {
  const provider = providerOf(name)!;
  const { factory } = provider;
  const baseURL = given ?? provider.baseURL;
  const path = `@ai-sdk/${name}`;
  if (importPackage === undefined) assertImported(path, model);
  if (key !== undefined) registerSecrets([key]);
  const place = given === undefined ? "" : ` at ${new URL(given).host}`;
  const who = `${printable(model)} of ${name}${place}`;
  const server = { model, who, quote, hide: hideSecrets, key: undefined, headers: new Headers() };
  const heard: Heard = { at: -Infinity };
  const fetch = heardFetch(heard, server);
  const make = async () => {
    const { [factory]: create } = await (importPackage ?? ((path) => import(path)))(path);
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

/** Throws if the import map of the project has no such package. */
function assertImported(path: string, model: string) {
  try {
    import.meta.resolve(path);
  } catch {
    throw cannot(
      `use model ${printable(model)}`,
      `${path} must be in the imports of deno.json`,
      `add "${path}": "npm:${path}" to "imports" there, or run: deno add npm:${path}`,
    );
  }
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
      return new Response(text === "" ? null : text, answer);
    } catch (error) {
      init?.signal?.throwIfAborted();
      // A body that is too long or too deep may be of the model's making.
      throw error instanceof RangeError ? error : await faultOfFetch(error, { ...server, url });
    }
  };
}
