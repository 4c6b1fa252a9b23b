/**
 * Expected calls: the call that a test expects, and its differences from a call that was made. This file
 * compares the arguments of one call; `match_calls.ts` matches lists of calls (langchain's agentevals
 * separates the two in the same way).
 * @module
 */

import { levenshteinDistance } from "@std/text/levenshtein-distance";
import { z } from "zod";
import type { RecordedCall } from "../record.ts";
import { checkIgnored } from "../values/ignored.ts";
import { parseWith } from "../../base/input.ts";
import { cannot } from "../../base/errors.ts";
import { isObject, type JsonObject, printable } from "../../base/json.ts";
import { isMatcher } from "./matchers.ts";
import type { CallExpectation, ExpectedValue } from "../../tools/expected_call.ts";
import { Position } from "../../tools/schema/position.ts";
import type { ToolSchema } from "../../tools/tool.ts";
import { type ValueDifference, valueDifferences } from "../values/differences.ts";
import { className, isPlain } from "../values/parts.ts";
import { parsePath, pathText, type ValuePath } from "../values/paths.ts";
import { valueText } from "../values/text.ts";

const EXPECTED_CALL = z.strictObject({
  tool: z.string().min(1),
  arguments: z.custom<Readonly<Record<string, ExpectedValue>>>(
    (value) => isObject(value) && isPlain(value),
    "must be a plain object",
  ).optional(),
  match: z.enum(["exact", "partial"]).default("exact"),
  ignore: z.array(z.string()).default([]),
  defaults: z.enum(["allowed", "refused"]).default("allowed"),
});

/** Characters of an expected value, and of arguments that are not JSON, shown in a message, at most. */
const MAX_TEXT_LENGTH = 120;
/** Characters of a name that are compared, at most. */
const MAX_NAME_LENGTH = 100;

/** An expected call that is checked once and then compared with many calls. */
export class CheckedCall {
  /** Name of the tool. */
  readonly tool: string;

  readonly #arguments: Readonly<Record<string, ExpectedValue>> | undefined;
  readonly #partial: boolean;
  readonly #ignore: readonly ValuePath[];
  readonly #position: Position | undefined;

  /**
   * Checks the expected call.
   *
   * @param tools The available tools; empty if unknown.
   * @throws {InputError} If a key is unknown, a path is invalid or ends in a matcher, an argument is not
   * JSON, or there is no such tool.
   */
  constructor(expected: CallExpectation, tools: readonly ToolSchema[] = []) {
    const given = typeof expected === "string" ? { tool: expected } : expected;
    const { tool, ...checked } = parseWith(EXPECTED_CALL, given, "an expected call");
    if (tools.length > 0) checkTool(tool, tools);
    if (checked.arguments !== undefined) checkArguments(tool, checked.arguments);
    const schema = tools.find(({ name }) => name === tool)?.parameters;
    if (checked.arguments !== undefined) checkNames(tool, checked.arguments, schema);
    const usesDefaults = checked.defaults === "allowed" && schema !== undefined;
    this.tool = tool;
    this.#arguments = checked.arguments;
    this.#partial = checked.match === "partial";
    this.#ignore = checked.ignore.map(parsePath);
    checkIgnored(checked.arguments, this.#ignore);
    this.#position = usesDefaults ? new Position(schema) : undefined;
  }

  /** Returns the differences between a call and this one; none if it is as expected. */
  differencesOf(
    given: Pick<RecordedCall, "tool" | "arguments" | "written">,
  ): readonly ValueDifference[] {
    const { tool } = this;
    return [
      ...(given.tool === tool ? [] : valueDifferences(given.tool, tool, { name: "tool" })),
      ...this.#argumentDifferences(given),
    ];
  }

  #argumentDifferences(
    given: Pick<RecordedCall, "arguments" | "written">,
  ): readonly ValueDifference[] {
    if (this.#arguments === undefined) return [];
    if (given.arguments === undefined) {
      const actual = `no JSON: ${printable(given.written, MAX_TEXT_LENGTH)}`;
      const expected = valueText(this.#arguments);
      return [{ path: "arguments", expected, actual, kind: "different" }];
    }
    return valueDifferences(given.arguments, this.#arguments, {
      name: "arguments",
      partial: this.#partial,
      ignore: this.#ignore,
      position: this.#position,
    });
  }

  /** The expected arguments; `undefined` if any will do. */
  get arguments(): Readonly<Record<string, ExpectedValue>> | undefined {
    return this.#arguments;
  }

  /** Describes the call, such as `weather({"city":"Paris"}, and others)`. */
  toString(): string {
    const tool = printable(this.tool, MAX_NAME_LENGTH);
    if (this.#arguments === undefined) return tool;
    const ignored = this.#ignore.map(pathText).join(", ");
    return `${tool}(${valueText(this.#arguments, MAX_TEXT_LENGTH)}${
      this.#partial ? ", and others" : ""
    }${ignored === "" ? "" : `, except ${printable(ignored, MAX_TEXT_LENGTH)}`})`;
  }
}

/**
 * Returns the differences between a call and an expected call; empty if there are none.
 *
 * Another tool name is one difference, and arguments that are not JSON are one; otherwise each argument, or
 * part of one, that is missing, unexpected or different is one. An error thrown by a matcher becomes the
 * `error` of its difference.
 *
 * @param tool The expected tool, for the defaults in its JSON Schema; `undefined` if unknown.
 * @throws {InputError} If the expected call is invalid, or names another tool.
 */
export function differencesOf(
  given: Pick<RecordedCall, "tool" | "arguments" | "written">,
  expected: CallExpectation,
  tool: ToolSchema | undefined,
): readonly ValueDifference[] {
  return new CheckedCall(expected, tool === undefined ? [] : [tool]).differencesOf(given);
}

/** Returns the Levenshtein distance between two names, over the characters that are compared. */
export function nameDistance(one: string, other: string): number {
  return levenshteinDistance(one.slice(0, MAX_NAME_LENGTH), other.slice(0, MAX_NAME_LENGTH));
}

function checkTool(name: string, tools: readonly ToolSchema[]): void {
  if (tools.some((tool) => tool.name === name)) return;
  const [nearest] = tools.map((tool) => tool.name)
    .toSorted((one, other) => nameDistance(one, name) - nameDistance(other, name));
  throw cannot(
    `expect a call of ${printable(name, MAX_NAME_LENGTH)}`,
    "it must be one of the tools",
    `there is no tool of this name, and the nearest is ${printable(nearest!, MAX_NAME_LENGTH)}`,
  );
}

/** Checks that a call can have such arguments at all: a value that never matches is a mistake in the test. */
function checkArguments(tool: string, all: Readonly<Record<string, ExpectedValue>>): void {
  const waiting = [{ steps: ["arguments"] as (string | number)[], value: all as unknown }];
  const seen = new Set<object>();
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { steps, value } = next;
    const state = whyNoJson(value);
    if (state !== undefined) {
      throw cannot(
        `expect a call of ${printable(tool, MAX_NAME_LENGTH)}`,
        "its arguments must be values of JSON or matchers",
        `${pathText(steps)} is ${state}`,
      );
    }
    if (!isObject(value) || seen.has(value)) continue;
    seen.add(value);
    if (isMatcher(value)) {
      for (const own of value.held?.values ?? []) waiting.push({ steps, value: own });
      continue;
    }
    const inner: [string | number, unknown][] = Array.isArray(value)
      ? Array.from(value, (item, index) => [index, item])
      : Object.entries(value);
    for (const [step, own] of inner) waiting.push({ steps: [...steps, step], value: own });
  }
}

/** Checks that a tool that takes no other arguments has these: such a call would never be accepted. */
function checkNames(
  tool: string,
  all: Readonly<Record<string, ExpectedValue>>,
  schema: JsonObject | undefined,
): void {
  const { properties, additionalProperties } = schema ?? {};
  const isPlain = ["patternProperties", "allOf", "anyOf", "oneOf", "$ref"]
    .every((keyword) => schema === undefined || !Object.hasOwn(schema, keyword));
  if (additionalProperties !== false || !isObject(properties) || !isPlain) return;
  const names = Object.keys(properties);
  const unknown = Object.keys(all).find((name) => !names.includes(name));
  if (unknown === undefined) return;
  throw cannot(
    `expect a call of ${printable(tool, MAX_NAME_LENGTH)}`,
    "its arguments must be those of the tool",
    `there is no ${printable(unknown, MAX_NAME_LENGTH)}, but ${
      names.map((name) => printable(name, MAX_NAME_LENGTH)).join(", ") || "none"
    }`,
  );
}

/** Says why a value is neither JSON nor a matcher; `undefined` if it is one of them. */
function whyNoJson(value: unknown): string | undefined {
  if (isObject(value)) {
    if (isMatcher(value) || Array.isArray(value) || isPlain(value)) return undefined;
    return `of class ${printable(className(value), MAX_NAME_LENGTH)}`;
  }
  if (Number.isInteger(value) && !Number.isSafeInteger(value) && Math.abs(Number(value)) < 1e21) {
    // The id that was meant may have been rounded to it: calls with another one would match.
    return `${value}, a rounded number: write an integer beyond 2^53 as bigint, such as 9007199254740993n, or use closeTo()`;
  }
  if (typeof value === "number") return Number.isFinite(value) ? undefined : String(value);
  if (value === undefined) return "undefined, and what may be left out is optional() or absent()";
  const isJson = ["string", "boolean", "bigint"].includes(typeof value) || value === null;
  return isJson ? undefined : `a ${typeof value}`;
}
