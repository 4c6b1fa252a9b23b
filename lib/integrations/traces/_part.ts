/**
 * Parts of a trace: values that anyone may have written, read with their place, so that errors name it.
 * @module
 */

import { InputError } from "../../base/errors.ts";
import { isJsonObject, isObject, jsonText, printable } from "../../base/json.ts";
import { valueText } from "../../calls/values/text.ts";

/** A value in a trace, and its place. */
export class Part {
  /**
   * @param source What errors call the trace, such as `FILE, line 3`.
   * @param path The path of the value in it, such as `messages[2].role`; empty for all of it.
   */
  constructor(readonly value: unknown, readonly source: string, readonly path: string = "") {}

  /** The value of a field of its own; `undefined` where it has none, or `null`. */
  get(name: string): Part | undefined {
    const { value } = this;
    if (!isJsonObject(value) || !Object.hasOwn(value, name)) return undefined;
    const field: unknown = value[name];
    if (field === undefined || field === null) return undefined;
    const path = /^\w+$/.test(name)
      ? `${this.path === "" ? "" : `${this.path}.`}${name}`
      : `${this.path}[${JSON.stringify(name)}]`;
    return new Part(field, this.source, path);
  }

  /** The first of some fields that is there. */
  first(...names: readonly string[]): Part | undefined {
    return names.map((name) => this.get(name)).find((part) => part !== undefined);
  }

  /** The value of a field that must be there. */
  need(name: string): Part {
    return this.get(name) ??
      new Part(undefined, this.source, `${this.path}.${name}`.replace(/^\./, ""))
        .fail("it is missing");
  }

  /** The text; anything else is an error. */
  text(): string {
    return typeof this.value === "string" ? this.value : this.fail("must be a text");
  }

  /** Whether it is true; anything but true and false is an error. */
  isTrue(): boolean {
    return typeof this.value === "boolean" ? this.value : this.fail("must be true or false");
  }

  /** The items of a list; anything else is an error. */
  items(): Part[] {
    const { value } = this;
    if (!Array.isArray(value)) return this.fail("must be a list");
    return value.map((item, place) => new Part(item, this.source, `${this.path}[${place}]`));
  }

  /** The same place with another value, such as the one that its text stands for. */
  as(value: unknown): Part {
    return new Part(value, this.source, this.path);
  }

  /** Whether it is an object that has all of some fields. */
  has(...names: readonly string[]): boolean {
    return names.every((name) => this.get(name) !== undefined);
  }

  /** The text of a field; `undefined` where it has none that is a text. */
  textAt(name: string): string | undefined {
    const value = this.get(name)?.value;
    return typeof value === "string" ? value : undefined;
  }

  /** @throws {InputError} Always: names source, path, rule and what there is. */
  fail(rule: string, state = this.#state()): never {
    throw new InputError(
      `Cannot use ${this.source}:\n  at ${printable(this.path, 300) || "the top"}: ${rule}${
        state === "" ? "" : `: ${state}`
      }`,
    );
  }

  #state(): string {
    const { value } = this;
    if (value === undefined) return "";
    if (Array.isArray(value)) return "it is a list";
    return isObject(value) ? "it is an object" : `it is ${valueText(value)}`;
  }
}

/** The text of a value: a text as it is, anything else as JSON. */
export function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (value instanceof Error) return `${value}`;
  return jsonText(value) ?? "null";
}
