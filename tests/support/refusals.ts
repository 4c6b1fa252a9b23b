/**
 * What calls say that refuse their options or flags.
 */

import { CollectedTests } from "./collected.ts";
import * as toolgate from "../../mod.ts";

/** What is registered once the test file is loaded. */
const late = CollectedTests.ofFile(() => {});
Deno.test.afterAll(async () => void await late.refusal());

/** A call as source text, and the flags behind `--` that it is to find. */
export interface Refused {
  readonly call: string;
  readonly flags: readonly string[];
}

/**
 * The name and message of what each call throws, or of the test that fails in its place, or "" for one that refuses
 * nothing. A call finds what the library exports, and what `scope` has. Of the tests that are registered none runs.
 * Calls of `toolTest()` and `toolSuite()` must be made while the test file is loaded.
 */
export async function refusalsOf(
  calls: readonly (string | Refused)[],
  scope: Readonly<Record<string, unknown>> = {},
): Promise<string[]> {
  const all: Readonly<Record<string, unknown>> = { ...toolgate, ...scope };
  const told: string[] = [];
  for (const one of calls) {
    const { call, flags } = typeof one === "string" ? { call: one, flags: [] } : one;
    const body = new Function(...Object.keys(all), `return ${call}`);
    let thrown: Error | undefined;
    const collected = CollectedTests.of(() => {
      try {
        body(...Object.values(all));
      } catch (error) {
        thrown = error as Error;
      }
    }, flags);
    const refusal = thrown === undefined
      ? await collected.refusal()
      : `${thrown.name}: ${thrown.message}`;
    told.push(refusal);
  }
  return told;
}
