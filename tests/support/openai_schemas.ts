/**
 * OpenAI's own schemas of requests, where the material that is shared beside the checkout is at hand.
 */

import { assert, assertEquals } from "@std/assert";
import { Ajv2020 } from "ajv/2020";

const shared = Deno.env.get("TOOLGATE_SHARED") ?? `${import.meta.dirname}/../../../shared`;
const file = `${shared}/data/openai/request_schemas.json`;

/** Whether they are at hand. */
export const hasSchemas = exists(file);

function exists(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}

/** Asserts that bodies are requests of this name; `odd` is none, so that the schema is in force. */
export async function assertRequests(
  name: "CreateChatCompletionRequest" | "CreateResponse",
  bodies: readonly unknown[],
  odd: unknown,
): Promise<void> {
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
  ajv.addSchema(JSON.parse(await Deno.readTextFile(file)), "openai");
  const validate = ajv.compile({ $ref: `openai#/$defs/${name}` });
  assertEquals(validate(odd), false, "the schema must be in force");
  assert(bodies.length > 0);
  for (const body of bodies) assert(validate(body), ajv.errorsText(validate.errors));
}
