/**
 * What the tests of calls share: calls and tools made by hand.
 */

import type { RecordedCall } from "../../lib/calls/record.ts";
import type { JsonObject, JsonValue } from "../../lib/base/json.ts";
import type { ToolSchema } from "../../lib/tools/tool.ts";

/** A call that went well, the number of which is set where it is listed. */
export function made(
  tool: string,
  given: JsonValue = {},
  rest: Partial<RecordedCall> = {},
): RecordedCall {
  const written = JSON.stringify(given);
  return { call: 1, step: 1, tool, arguments: given, written, result: "ok", ...rest };
}

/** A call that was not carried out. */
export function refused(tool: string, given: JsonValue = {}, error = "no"): RecordedCall {
  return made(tool, given, { result: JSON.stringify({ error }), error, refused: true });
}

/** Calls in order, each a step of its own. */
export function inSteps(...calls: readonly RecordedCall[]): readonly RecordedCall[] {
  return calls.map((call, place) => ({ ...call, call: place + 1, step: place + 1 }));
}

/** A tool with parameters. */
export function toolWith(name: string, properties: JsonObject = {}): ToolSchema {
  return { name, description: `Does ${name}`, parameters: { type: "object", properties } };
}

/** A record of calls on tools that are not known. */
export function recordOf(...calls: readonly RecordedCall[]) {
  return { calls: inSteps(...calls), tools: [] as readonly ToolSchema[] };
}
