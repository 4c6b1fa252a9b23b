/**
 * Ids of traces: a conversation that is in a file twice is one observation, not two.
 * @module
 */

import { cannot } from "../../base/errors.ts";
import { canonicalJson, printable } from "../../base/json.ts";
import { redact } from "../../base/redact.ts";
import type { Part } from "./_part.ts";

/** A trace, as far as its id goes. */
interface KnownTrace {
  readonly source: string;
  readonly model: string;
  readonly case?: string;
  readonly suite?: string;
  readonly id?: string;
}

/** Names of the id of a conversation, beside it or around it. */
const NAMES = ["id", "trace_id", "traceId", "conversation_id", "conversationId"] as const;

/** The id of a trace: the one beside or around it, else that of its response; `undefined` for none. */
export function idOf(part: Part, own: Part): string | undefined {
  const known = [part, own].flatMap((place) => NAMES.map((name) => scalarAt(place, name)))
    .find((id) => id !== undefined);
  const response = own.get("response");
  if (known !== undefined || response === undefined) return known;
  const id = scalarAt(response, "id");
  const time = scalarAt(response, "created") ?? scalarAt(response, "created_at");
  // Some servers draw ids of responses from a few numbers.
  return id === undefined || time === undefined ? id : `${id} at ${time}`;
}

function scalarAt(part: Part, name: string): string | undefined {
  const value = part.get(name)?.value;
  return typeof value === "number" || typeof value === "string" && value !== ""
    ? `${value}`
    : undefined;
}

/**
 * Checks that no conversation stands for two trials: that of one test and model there are no two of one id.
 *
 * @throws {InputError} If there are; names both.
 */
export function assertOnce(traces: readonly KnownTrace[]): void {
  const seen = new Map<string, KnownTrace[]>();
  for (const trace of traces) {
    if (trace.id === undefined) continue;
    const known = seen.getOrInsertComputed(canonicalJson([trace.id, trace.model]), () => []);
    const before = known.find((one) => mayBeOfOneTest(one, trace));
    known.push(trace);
    if (before === undefined) continue;
    throw cannot(
      `score ${trace.source}`,
      "each trace is a trial of its own, and needs an id of its own or none",
      `it has the id ${JSON.stringify(printable(redact(trace.id), 100))} of ${before.source}`,
    );
  }
}

/** Whether two traces may be of the same test: only names of different tests tell them apart. */
function mayBeOfOneTest(one: KnownTrace, other: KnownTrace): boolean {
  if (one.case === undefined || other.case === undefined) return true;
  return one.case === other.case &&
    (one.suite === undefined || other.suite === undefined || one.suite === other.suite);
}
