/**
 * Expected calls: what a call must be like, and where one that was made is not like it. How arguments are
 * compared is said here, call by call; how calls are, in `call_matching.ts` (after langchain's agentevals,
 * which keeps the two apart).
 * @module
 */

import { levenshteinDistance } from "@std/text/levenshtein-distance";
import { z } from "zod";
import type { RecordedCall } from "../record.ts";
import { checkIgnored } from "../values/ignored.ts";
import { parseWith } from "../../base/input.ts";
import { InputError } from "../../base/errors.ts";
import { printable } from "../../base/json.ts";
import { isMatcher, type OracleValue } from "./oracle.ts";
import { Position } from "../../tools/schema/position.ts";
import type { ToolSchema } from "../../tools/tool.ts";
import { type ValueDifference, valueDifferences } from "../values/differences.ts";
import { className, isObject, isPlain } from "../values/parts.ts";
import { parsePath, pathText, type ValuePath } from "../values/paths.ts";
import { valueText } from "../values/text.ts";

/** A call that is expected. How arguments are compared also counts within what `anyOf()`, `optional()` and
 * `inAnyOrder()` are made of. */
export interface ExpectedCall {
  /** The tool. */
  readonly tool: string;
  /** The arguments: values, matchers, or both; default any. */
  readonly arguments?: Readonly<Record<string, OracleValue>>;
  /** `partial` allows further arguments, and further keys in objects; default `exact`. */
  readonly match?: "exact" | "partial";
  /**
   * Arguments, or parts of them, whose value or absence is of no account: `date`, `items[*].id`. A star
   * stands for every item of a list or key of an object. Where all are ignored, any call of the tool will do.
   */
  readonly ignore?: readonly string[];
  /**
   * Whether a parameter with a default in the tool's JSON Schema may be given with that value though it is
   * not expected, and be left out where the default is right; default `allowed`.
   */
  readonly defaults?: "allowed" | "refused";
}

/** A call that is expected; a name stands for any call of that tool. */
export type CallExpectation = string | ExpectedCall;

/** One way in which a call is not as expected. */
export type CallDifference = ValueDifference;

/** What of a recorded call is compared. */
export type ComparedCall = Pick<RecordedCall, "tool" | "arguments" | "written">;

const EXPECTED_CALL = z.strictObject({
  tool: z.string().min(1),
  arguments: z.custom<Readonly<Record<string, OracleValue>>>(
    (value) => isObject(value) && isPlain(value),
    "must be a plain object",
  ).optional(),
  match: z.enum(["exact", "partial"]).default("exact"),
  ignore: z.array(z.string()).default([]),
  defaults: z.enum(["allowed", "refused"]).default("allowed"),
});

/** So much of what is expected, and of arguments that are no JSON, is shown. */
const LONGEST = 120;
/** No more of a name is compared. */
const LONGEST_NAME = 100;

/** An expected call that was checked once, to be compared with many. */
export class CheckedCall {
  /** The tool. */
  readonly tool: string;

  readonly #arguments: Readonly<Record<string, OracleValue>> | undefined;
  readonly #partial: boolean;
  readonly #ignore: readonly ValuePath[];
  readonly #position: Position | undefined;

  /**
   * Checks what is expected.
   *
   * @param tools The tools that there are; empty where they are not known.
   * @throws {InputError} If a key is unknown, a path is none or ends in a matcher, an argument can be no
   * JSON, or there is no such tool.
   */
  constructor(expected: CallExpectation, tools: readonly ToolSchema[] = []) {
    const given = typeof expected === "string" ? { tool: expected } : expected;
    const { tool, ...checked } = parseWith(EXPECTED_CALL, given, "an expected call");
    if (tools.length > 0) checkTool(tool, tools);
    if (checked.arguments !== undefined) checkArguments(tool, checked.arguments);
    const schema = tools.find(({ name }) => name === tool)?.parameters;
    const usesDefaults = checked.defaults === "allowed" && schema !== undefined;
    this.tool = tool;
    this.#arguments = checked.arguments;
    this.#partial = checked.match === "partial";
    this.#ignore = checked.ignore.map(parsePath);
    checkIgnored(checked.arguments, this.#ignore);
    this.#position = usesDefaults ? new Position(schema) : undefined;
  }

  /** The ways in which a call is not as expected; none where it is. */
  differencesOf(given: ComparedCall): readonly CallDifference[] {
    const { tool } = this;
    return [
      ...(given.tool === tool ? [] : valueDifferences(given.tool, tool, { name: "tool" })),
      ...this.#argumentDifferences(given),
    ];
  }

  #argumentDifferences(given: ComparedCall): readonly CallDifference[] {
    if (this.#arguments === undefined) return [];
    if (given.arguments === undefined) {
      const actual = `no JSON: ${printable(given.written, LONGEST)}`;
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

  /** The call in words, such as `weather({"city":"Paris"}, and others)`. */
  toString(): string {
    const tool = printable(this.tool, LONGEST_NAME);
    if (this.#arguments === undefined) return tool;
    const ignored = this.#ignore.map(pathText).join(", ");
    return `${tool}(${valueText(this.#arguments, LONGEST)}${this.#partial ? ", and others" : ""}${
      ignored === "" ? "" : `, but for ${printable(ignored, LONGEST)}`
    })`;
  }
}

/**
 * The ways in which a call is not as expected; empty where it is.
 *
 * A tool of another name is one, and arguments that are no JSON are one; else there is one for each
 * argument, or part of one, that is missing, unexpected or different. What a matcher throws is told as the
 * `error` of its difference.
 *
 * @param tool The tool that is expected, with its JSON Schema, whose defaults count; `undefined` where it is
 * not known.
 * @throws {InputError} If what is expected cannot be used, or is another tool.
 *
 * @example Usage
 * ```ts
 * import { differencesOf } from "./expected_call.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const written = '{"city":"Paris","filters":{"since":"2025"},"unit":"celsius"}';
 * const given = { tool: "weather", arguments: JSON.parse(written), written };
 * const unit = { type: "string", default: "celsius" };
 * const parameters = { type: "object", properties: { unit } };
 * const tool = { name: "weather", description: "", parameters };
 *
 * const expected = { tool: "weather", arguments: { city: "Paris", filters: { since: "2026" } } };
 * assertEquals(differencesOf(given, expected, tool), [{
 *   path: "arguments.filters.since",
 *   expected: '"2026"',
 *   actual: '"2025"',
 *   kind: "different",
 * }]);
 * assertEquals(differencesOf(given, { ...expected, ignore: ["filters.since"] }, tool), []);
 * ```
 */
export function differencesOf(
  given: ComparedCall,
  expected: CallExpectation,
  tool: ToolSchema | undefined,
): readonly CallDifference[] {
  return new CheckedCall(expected, tool === undefined ? [] : [tool]).differencesOf(given);
}

/** How far apart two names are: the letters to change, as far as names are compared. */
export function nameDistance(one: string, other: string): number {
  return levenshteinDistance(one.slice(0, LONGEST_NAME), other.slice(0, LONGEST_NAME));
}

function checkTool(name: string, tools: readonly ToolSchema[]): void {
  if (tools.some((tool) => tool.name === name)) return;
  const [nearest] = tools.map((tool) => tool.name)
    .toSorted((one, other) => nameDistance(one, name) - nameDistance(other, name));
  throw new InputError(
    `Cannot expect a call of ${printable(name, LONGEST_NAME)} as it must be one of the tools: ` +
      `there is no tool of this name, and the nearest is ${printable(nearest!, LONGEST_NAME)}`,
  );
}

/** Checks that a call can have such arguments at all: what can never be met is a slip. */
function checkArguments(tool: string, all: Readonly<Record<string, OracleValue>>): void {
  const waiting = [{ steps: ["arguments"] as (string | number)[], value: all as unknown }];
  const seen = new Set<object>();
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { steps, value } = next;
    const state = whyNoJson(value);
    if (state !== undefined) {
      throw new InputError(
        `Cannot expect a call of ${
          printable(tool, LONGEST_NAME)
        } as its arguments must be values ` +
          `of JSON or matchers: ${printable(pathText(steps))} is ${state}`,
      );
    }
    if (!isObject(value) || isMatcher(value) || seen.has(value)) continue;
    seen.add(value);
    const inner: [string | number, unknown][] = Array.isArray(value)
      ? Array.from(value, (item, index) => [index, item])
      : Object.entries(value);
    for (const [step, own] of inner) waiting.push({ steps: [...steps, step], value: own });
  }
}

/** What a value is that JSON does not have and that is no matcher; `undefined` where it can be met. */
function whyNoJson(value: unknown): string | undefined {
  if (isObject(value)) {
    if (isMatcher(value) || Array.isArray(value) || isPlain(value)) return undefined;
    return `of class ${printable(className(value), LONGEST_NAME)}`;
  }
  if (typeof value === "number") return Number.isFinite(value) ? undefined : String(value);
  if (value === undefined) return "undefined, and what may be left out is optional() or absent()";
  const isJson = ["string", "boolean"].includes(typeof value) || value === null;
  return isJson ? undefined : `a ${typeof value}`;
}
