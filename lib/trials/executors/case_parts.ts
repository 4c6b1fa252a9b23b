/**
 * Parts of cases: hashes by which results are compared case by case.
 * @module
 */

import { canonicalJson, type JsonValue } from "../../base/json.ts";
import { sha256 } from "../../base/hash.ts";
import { schemaOf } from "../../tools/tool.ts";
import type { ToolCase } from "./tool_case.ts";

/** Hashes of a case and of what is under test with it, so that results can be compared case by case. */
export interface CaseParts {
  /** Of what the user says, the initial state and the assertions. */
  readonly case: string;
  /** Of the system text; omitted without one. */
  readonly system?: string;
  /** Of the tools as offered, and whether the model may, must or must not call them. */
  readonly tools: string;
}

/** Returns the hashes of a case and of what is under test with it. A function counts by its text. */
export function caseParts<State>(toolCase: ToolCase<State>): CaseParts {
  const { prompt, turns, expected, parameters, never, state, assert } = toolCase;
  return {
    case: sha256(canonicalJson({
      ...{ prompt: promptText(prompt), turns, expected, parameters, never },
      state: state === undefined ? undefined : String(state),
      assert: String(assert),
    })),
    ...offeredParts(toolCase),
  };
}

/** The question or, of a function that makes it, its text. */
function promptText<State>(prompt: ToolCase<State>["prompt"]): JsonValue {
  return typeof prompt === "function" ? { made: String(prompt) } : prompt;
}

/** Returns the hashes of what is under test with a case. */
function offeredParts<State>(
  { system, tools, toolChoice }: Pick<ToolCase<State>, "system" | "tools" | "toolChoice">,
): Omit<CaseParts, "case"> {
  return {
    system: system === undefined ? undefined : sha256(system),
    tools: sha256(canonicalJson({ offered: offeredTools(tools), toolChoice })),
  };
}

/** The tools as a model sees them; of a function that makes them, its text. */
function offeredTools<State>(tools: ToolCase<State>["tools"]): JsonValue {
  return (typeof tools === "function" ? String(tools) : tools.map(schemaOf)) as JsonValue;
}

/**
 * A hash of what a case asks and asserts, as far as the case itself contains it, so that trials of
 * different texts are never mixed.
 */
export function caseDigest<State>(toolCase: ToolCase<State>): string {
  const { name, tools, system, prompt, turns, toolChoice, expected, parameters, never, state } =
    toolCase;
  const offered = offeredTools(tools);
  return sha256(canonicalJson({
    ...{ name, offered, system, turns, toolChoice, expected, parameters, never },
    prompt: promptText(prompt),
    state: state === undefined ? undefined : String(state),
    assert: String(toolCase.assert),
  }));
}
