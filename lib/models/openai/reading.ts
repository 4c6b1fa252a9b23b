/**
 * Reply reading: checks the shape of a reply and reads its calls, for both wire formats.
 * @module
 */

import { z } from "zod";
import { isJsonObject, type JsonObject, parseJson } from "../../base/json.ts";
import type { ToolCall } from "../../tools/tool.ts";
import type { ModelReply } from "../model.ts";
import type { ReplySource } from "./wire_format.ts";

/** Schema of arguments as servers write them; `custom`, as an object schema would make a copy. */
export const WIRE_ARGUMENTS = z.custom<string | JsonObject | null | undefined>(
  (value) => typeof value === "string" || value == null || isJsonObject(value),
  "Invalid input: expected string or object",
).optional();

/** Schema of token counts; the maximum is beyond any reply and keeps sums finite. */
export const WIRE_TOKENS = z.number().nonnegative().max(1e12).nullish();

/** A call as a server sent it, which becomes a {@linkcode ToolCall}. */
export interface WireCall {
  readonly id: string | null | undefined;
  readonly name: string;
  readonly arguments?: z.infer<typeof WIRE_ARGUMENTS>;
}

/**
 * Returns the answer if it has the shape; `place` is its path in the whole answer.
 *
 * @throws {InfrastructureError} If it does not.
 */
export function parseShape<T>(
  schema: z.ZodType<T>,
  answer: unknown,
  { unusable }: ReplySource,
  place: readonly PropertyKey[] = [],
): T {
  const parsed = schema.safeParse(answer);
  if (parsed.success) return parsed.data;
  throw unusable(whyUnusable(answer, parsed.error, place));
}

/** Describes what is wrong with an answer. */
function whyUnusable(answer: unknown, error: z.ZodError, place: readonly PropertyKey[]): string {
  if (answer === undefined || answer === null) return "it is empty";
  if (typeof answer === "string") return `it is text that is not marked as JSON: ${answer}`;
  // Some routers pass on a provider's error with status 200.
  if (isJsonObject(answer) && isJsonObject(answer["error"])) {
    return `it is an error: ${JSON.stringify(answer["error"])}`;
  }
  return error.issues.map(({ path, message }) =>
    `at ${z.core.toDotPath([...place, ...path]) || "the top"}: ${message}`
  ).join("; ");
}

/**
 * Returns the calls. Missing ids and arguments are added, and ids of earlier calls are replaced.
 *
 * @throws {InfrastructureError} If two of them have the same id.
 */
export function readCalls(
  wireCalls: readonly WireCall[],
  { unusable, isTaken = () => false }: ReplySource,
): Pick<ModelReply, "calls" | "repairs" | "parsed"> {
  const taken = new Set<string>();
  for (const { id } of wireCalls) {
    if (!id) continue;
    if (taken.has(id)) throw unusable(`two of its calls have the id "${id}"`);
    taken.add(id);
  }
  const repairs: string[] = [];
  const calls = wireCalls.map((call, index): ToolCall => {
    const position = index + 1;
    let id = call.id;
    // Ids distinguish results, including those of earlier replies.
    if (!id || isTaken(id)) {
      const flaw = id ? "the id of an earlier call" : "no id";
      id = `call_${position}`;
      for (let suffix = 2; taken.has(id) || isTaken(id); suffix++) {
        id = `call_${position}_${suffix}`;
      }
      taken.add(id);
      repairs.push(`call ${position} had ${flaw} and was given ${id}`);
    }
    const { name, arguments: given } = call;
    if (typeof given === "string") return { id, name, arguments: given };
    repairs.push(
      given === undefined || given === null
        ? `call ${position} had no arguments and was given {}`
        : `call ${position} had an object for arguments, which was written as text`,
    );
    return { id, name, arguments: JSON.stringify(given ?? {}) };
  });
  if (calls.length === 0) return { calls, repairs };
  const readable = calls.every((call) => isJsonObject(parseJson(call.arguments)));
  const parsed = !readable ? "unreadable" : repairs.length > 0 ? "repaired" : "strict";
  return { calls, repairs, parsed };
}
