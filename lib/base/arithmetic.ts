/**
 * Evaluates arithmetic expressions given as text. Nothing is executed, as the text comes from models.
 * @module
 */

/** Longer text is rejected. */
const MAX_LENGTH = 1000;
/** Deepest nesting of parentheses; more would overflow the stack. */
const MAX_DEPTH = 100;

/**
 * Returns the value of an expression of numbers, `+ - * / ^`, `×`, `÷` and parentheses; `undefined` if
 * the text is not such an expression or its value is not finite.
 */
export function evaluate(expression: string): number | undefined {
  if (expression.length > MAX_LENGTH) return undefined;
  const tokens = expression.match(/\d+(?:\.\d+)?|\.\d+|[-+*/^()×÷−·]|\S/g) ?? [];
  const reader = new ArithmeticReader(tokens);
  const value = reader.sum(0);
  return reader.ended && Number.isFinite(value) ? value : undefined;
}

/** Parses tokens from left to right; an unexpected token gives NaN, which makes the whole value NaN. */
class ArithmeticReader {
  readonly #tokens: readonly string[];
  #position = 0;

  constructor(tokens: readonly string[]) {
    this.#tokens = tokens;
  }

  get ended(): boolean {
    return this.#position === this.#tokens.length;
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
    if (depth > MAX_DEPTH) return NaN;
    const sign = this.#take("+-−");
    if (sign !== undefined) return (sign === "+" ? 1 : -1) * this.#signed(depth + 1);
    const base = this.#atom(depth);
    return this.#take("^") === undefined ? base : base ** this.#signed(depth + 1);
  }

  #atom(depth: number): number {
    if (this.#take("(") === undefined) return Number(this.#tokens[this.#position++] ?? NaN);
    const value = this.sum(depth + 1);
    return this.#take(")") === undefined ? NaN : value;
  }

  /** Takes the next token if it is one of the characters. */
  #take(characters: string): string | undefined {
    const token = this.#tokens[this.#position];
    if (token === undefined || token.length !== 1 || !characters.includes(token)) return undefined;
    this.#position++;
    return token;
  }
}
