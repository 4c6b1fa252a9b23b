/**
 * Expected calls as data: what should have been called, for assertions, tool tests, generated tasks and the
 * truth of question sets alike. `calls/expected/` compares calls with them.
 * @module
 */

import type { JsonValue } from "../base/json.ts";
import type { MATCHER } from "./tool.ts";

/** An expectation that more than one value can meet. */
export interface Matcher {
  /** Marks matchers. */
  readonly [MATCHER]: true;
  /** Describes the values that are right. */
  readonly description: string;
  /** The right values that can be listed; omitted if none can. */
  readonly values?: readonly JsonValue[];
  /** Whether the argument, or the key of an object, may also be omitted. */
  readonly optional?: true;
  /** The expectations that it consists of; omitted if there are none. */
  readonly held?: Held;
  /** Returns whether a value is right. */
  matches(value: JsonValue): boolean;
  /** Says why a value is not right, a line each; omitted if the description says it all. */
  explain?(value: JsonValue): readonly string[];
}

/** The expectations that a matcher consists of. */
export interface Held {
  /** The expectations. */
  readonly values: readonly ExpectedValue[];
  /** Whether they are the items that a list must have, in any order; otherwise, alternatives for the value. */
  readonly items: boolean;
  /** Returns the same matcher with other expectations. */
  readonly replace: (values: readonly ExpectedValue[]) => Matcher;
}

/** A right value, or a matcher; objects and lists may contain matchers, too. */
export type ExpectedValue =
  | JsonValue
  | Matcher
  | readonly ExpectedValue[]
  | { readonly [key: string]: ExpectedValue };

/** A call as it should be made. Its options also apply within `anyOf()`, `optional()` and `inAnyOrder()`. */
export interface ExpectedCall {
  /** The name of the tool. */
  readonly tool: string;
  /** Values, matchers, or both. Default: any arguments. */
  readonly arguments?: Readonly<Record<string, ExpectedValue>>;
  /** `partial` allows further arguments, and further keys in objects. Default: `exact`. */
  readonly match?: "exact" | "partial";
  /**
   * Arguments, or parts of them, that may have any value or be absent: `date`, `items[*].id`. A star means
   * every item of a list or key of an object. If all are ignored, any call of the tool matches.
   */
  readonly ignore?: readonly string[];
  /**
   * Whether a call may pass a parameter's default from the tool's JSON Schema though it is not expected, and
   * may omit a parameter whose default is expected. Default: `allowed`. Only for assertions: failure types,
   * which the option `expected` of a tool test asks for, always accept the first and never the second.
   */
  readonly defaults?: "allowed" | "refused";
}

/** An expected call; a name alone means any call of that tool. */
export type CallExpectation = string | ExpectedCall;
