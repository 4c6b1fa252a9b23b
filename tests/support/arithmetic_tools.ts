/**
 * Tools that calculate, with a plain meaning that tests can work out beside them.
 */

import type { JsonObject } from "../../lib/base/json.ts";
import type { Tool } from "../../lib/tools/tool.ts";

/** JSON has numbers only that are finite. */
function finite(value: number): string {
  if (!Number.isFinite(value)) throw new Error("The result is not finite");
  return JSON.stringify(value);
}

function binary(name: string, apply: (left: number, right: number) => number): Tool {
  const parameters = {
    type: "object",
    properties: { left: { type: "number" }, right: { type: "number" } },
    required: ["left", "right"],
    additionalProperties: false,
  };
  return {
    name,
    description: `Can ${name} two numbers`,
    parameters,
    // deno-lint-ignore require-await
    execute: async ({ left, right }: JsonObject) => {
      if (typeof left !== "number" || typeof right !== "number") {
        throw new TypeError(`Cannot ${name} as both must be numbers: ${left}, ${right}`);
      }
      return finite(apply(left, right));
    },
  };
}

/** Evaluates an expression of numbers, `+ - * /` and parentheses. */
export const EVAL: Tool = {
  name: "eval",
  description: "Evaluates a given mathematical expression represented as a string",
  parameters: {
    type: "object",
    properties: { expression: { type: "string" } },
    required: ["expression"],
    additionalProperties: false,
  },
  // deno-lint-ignore require-await
  execute: async ({ expression }: JsonObject) => finite(calculate(String(expression))),
};

/** All of them; what is not finite throws. */
export const ARITHMETIC: readonly Tool[] = [
  binary("add", (left, right) => left + right),
  binary("subtract", (left, right) => left - right),
  binary("multiply", (left, right) => left * right),
  binary("divide", (left, right) => left / right),
  EVAL,
];

/** The value of an expression; throws on what is none. */
export function calculate(expression: string): number {
  const tokens = expression.match(/\d+(?:\.\d+)?(?:e[-+]?\d+)?|\S/g) ?? [];
  let place = 0;
  const take = (...signs: string[]) =>
    signs.includes(tokens[place] ?? "") ? tokens[place++] : undefined;
  const fail = (): never => {
    throw new Error(`Cannot read ${expression}`);
  };
  const sum = (): number => {
    let value = product();
    for (let sign = take("+", "-"); sign !== undefined; sign = take("+", "-")) {
      value += sign === "+" ? product() : -product();
    }
    return value;
  };
  const product = (): number => {
    let value = factor();
    for (let sign = take("*", "/"); sign !== undefined; sign = take("*", "/")) {
      value = sign === "*" ? value * factor() : value / factor();
    }
    return value;
  };
  const factor = (): number => {
    if (take("-") !== undefined) return -factor();
    if (take("(") === undefined) {
      const digits = tokens[place++] ?? "";
      return /^\d/.test(digits) ? Number(digits) : fail();
    }
    const value = sum();
    return take(")") === undefined ? fail() : value;
  };
  const value = sum();
  return place === tokens.length ? value : fail();
}
