/**
 * The throttles of a run: one for each model of a server, whoever asks it and in whatever format.
 * @module
 */

import { printable } from "../../base/json.ts";
import { type RateLimits, Throttle } from "./rate_limiter.ts";

/**
 * Throttles by what they are for.
 *
 * @example Usage
 * ```ts
 * import { Throttles } from "./rate_limiters.ts";
 * import { assert } from "@std/assert";
 *
 * const throttles = new Throttles(console.error);
 * const one = throttles.of("https://api.openai.com/v1", "gpt-5", {});
 * assert(throttles.of("https://api.openai.com/v1/", "gpt-5", {}) === one);
 * ```
 */
export class Throttles {
  readonly #tell: (line: string) => void;
  readonly #known = new Map<string, { readonly who: string; readonly throttle: Throttle }>();

  /** `tell` gets a line when a model is first slowed down or held back, and one about each when all is over. */
  constructor(tell: (line: string) => void = () => {}) {
    this.#tell = tell;
  }

  /** The throttle of a model at an address: the same for all who ask it with the same limits. */
  of(baseURL: string, model: string, limits: RateLimits): Throttle {
    const { requestsPerMinute, tokensPerMinute } = limits;
    const { origin, host } = URL.canParse(baseURL)
      ? new URL(baseURL)
      : { origin: baseURL, host: baseURL };
    const key = JSON.stringify([origin, model, requestsPerMinute, tokensPerMinute]);
    const known = this.#known.get(key);
    if (known !== undefined) return known.throttle;
    const who = `${printable(model, 100)} at ${printable(host, 100)}`;
    const throttle = new Throttle({
      ...(requestsPerMinute === undefined ? {} : { requestsPerMinute }),
      ...(tokensPerMinute === undefined ? {} : { tokensPerMinute }),
      onSlowed: (retryAfter) => {
        const wish = retryAfter === undefined ? "" : `, and asks to wait ${seconds(retryAfter)}`;
        this.#tell(`${who} refuses requests as they are too many (429)${wish}: slowing down`);
      },
      onHeld: (milliseconds) => {
        this.#tell(
          `${who} is asked no faster than the limits given allow: the next request begins in ` +
            seconds(milliseconds),
        );
      },
    });
    this.#known.set(key, { who, throttle });
    return throttle;
  }

  /** Tells how often and for how long each model was slowed down; of the others nothing. */
  tellWaiting(): void {
    for (const { who, throttle } of this.#known.values()) {
      const { refusals, waited } = throttle;
      const time = `requests waited ${seconds(waited)}, all together`;
      if (refusals > 0) {
        this.#tell(`${who} refused ${refusals} request${refusals === 1 ? "" : "s"}; ${time}`);
      } else if (waited >= 1_000) {
        this.#tell(`${who} was asked no faster than the limits given allow; ${time}`);
      }
    }
  }
}

function seconds(milliseconds: number): string {
  const rounded = Math.max(milliseconds > 0 ? 0.1 : 0, Math.round(milliseconds / 100) / 10);
  return `${rounded} second${rounded === 1 ? "" : "s"}`;
}
