/**
 * A tiny language model of words behind a completions endpoint: what it says of a text can be worked out by hand.
 */

import type { JsonObject } from "../../lib/base/json.ts";

/** What the model sees of a text: words with the space before them, and single signs. */
export function wordsOf(text: string): string[] {
  return text.match(/\s*[A-Za-z0-9.]*[A-Za-z0-9]|\s*[^]/g) ?? [];
}

/** The probability of a word that stood in the text before. */
export const KNOWN = 0.25;
/** The probability of any other. */
export const NEW = 1 / 64;

/** The probability of the last of some words after those before it. */
export function probability(words: readonly string[]): number {
  const last = words.at(-1)!.trim();
  return words.slice(0, -1).some((word) => word.trim() === last) ? KNOWN : NEW;
}

/** How the endpoint answers a prompt. */
export interface WordModelOptions {
  /** Opens each text, such as `<s>`; default nothing. */
  readonly opening?: string;
  /** Changes what is answered. */
  readonly change?: (answer: JsonObject, prompt: string) => unknown;
}

/** A running endpoint. */
export interface WordModel extends AsyncDisposable {
  readonly baseURL: string;
  /** The bodies of all requests. */
  readonly received: JsonObject[];
}

/** Serves the model. */
export function serveWords({ opening, change }: WordModelOptions = {}): WordModel {
  const received: JsonObject[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    const body: JsonObject = await request.json();
    received.push(body);
    const prompt = String(body["prompt"]);
    const tokens = [...(opening === undefined ? [] : [opening]), ...wordsOf(prompt), "!"];
    const answer = {
      object: "text_completion",
      model: "words",
      choices: [{
        index: 0,
        text: `${prompt}!`,
        finish_reason: "length",
        logprobs: {
          tokens,
          token_logprobs: tokens.map((_, place) =>
            place === 0 ? null : Math.log(probability(tokens.slice(0, place + 1)))
          ),
        },
      }],
      usage: { prompt_tokens: tokens.length - 1, completion_tokens: 1 },
    };
    const changed = change === undefined ? answer : change(answer, prompt);
    return changed instanceof Response ? changed : Response.json(changed);
  });
  return {
    baseURL: `http://127.0.0.1:${server.addr.port}/v1`,
    received,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}
