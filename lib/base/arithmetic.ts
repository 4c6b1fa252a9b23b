/**
 * Arithmetic expressions as text, evaluated without executing anything: they come from models.
 * @module
 */

/** No longer text is read. */
const LONGEST = 1000;
/** Parentheses within each other; more would exceed the stack. */
const DEEPEST = 100;

/**
 * The value of an expression of numbers, `+ - * / ^`, `×`, `÷` and parentheses; `undefined` when it is
 * none or has no finite value.
 *
 * @example Usage
 * ```ts
 * import { evaluate } from "./arithmetic.ts";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(evaluate("10 * (10 + 1) / 2"), 55);
 * assertEquals(evaluate("fetch('x')"), undefined);
 * ```
 */
export function evaluate(expression: string): number | undefined {
  if (expression.length > LONGEST) return undefined;
  const tokens = expression.match(/\d+(?:\.\d+)?|\.\d+|[-+*/^()×÷−·]|\S/g) ?? [];
  const reader = new Reader(tokens);
  const value = reader.sum(0);
  return reader.ended && Number.isFinite(value) ? value : undefined;
}

/** Reads tokens from left to right; what cannot be read is NaN, which makes all of it NaN. */
class Reader {
  readonly #tokens: readonly string[];
  #place = 0;

  constructor(tokens: readonly string[]) {
    this.#tokens = tokens;
  }

  get ended(): boolean {
    return this.#place === this.#tokens.length;
  }

  sum(depth: number): number {
    let value = this.#product(depth);
    for (let sign = this.#take("+-−"); sign !== undefined; sign = this.#take("+-−")) {
      const other = this.#product(depth);
      value = sign === "+" ? value + other : value - other;
    }
    return value;
  }

  #product(depth: number): number {
    let value = this.#signed(depth);
    for (let sign = this.#take("*/×÷·"); sign !== undefined; sign = this.#take("*/×÷·")) {
      const other = this.#signed(depth);
      value = "/÷".includes(sign) ? value / other : value * other;
    }
    return value;
  }

  #signed(depth: number): number {
    if (depth > DEEPEST) return NaN;
    const sign = this.#take("+-−");
    if (sign !== undefined) return (sign === "+" ? 1 : -1) * this.#signed(depth + 1);
    const base = this.#atom(depth);
    return this.#take("^") === undefined ? base : base ** this.#signed(depth + 1);
  }

  #atom(depth: number): number {
    if (this.#take("(") === undefined) return Number(this.#tokens[this.#place++] ?? NaN);
    const value = this.sum(depth + 1);
    return this.#take(")") === undefined ? NaN : value;
  }

  /** The next token, if it is one of the characters. */
  #take(characters: string): string | undefined {
    const token = this.#tokens[this.#place];
    if (token === undefined || token.length !== 1 || !characters.includes(token)) return undefined;
    this.#place++;
    return token;
  }
}
