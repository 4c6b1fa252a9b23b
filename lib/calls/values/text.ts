/**
 * Value texts: formats values of any kind on one short line, for people.
 * @module
 */

import { isObject, printable } from "../../base/json.ts";
import { isMatcher } from "../expected/matchers.ts";
import { className, comparableText, isPlain, itemsOf, visibleParts } from "./parts.ts";

/** Characters of a value shown, at most. */
const MAX_LENGTH = 100;
/** Characters shown before the place where two long texts differ. */
const LEAD = 20;

/**
 * Formats a value as JSON, cut; matchers by their description, and values that are not JSON as in JavaScript.
 */
export function valueText(value: unknown, limit: number = MAX_LENGTH): string {
  const writer = new LimitedText(limit);
  writer.write(value);
  return printable(writer.text, limit);
}

/**
 * Formats two values so that their difference is visible: of long texts, the part around the difference;
 * characters that look alike, as escape sequences.
 */
export function differingTexts(one: unknown, other: unknown): [one: string, other: string] {
  const isText = typeof one === "string" && typeof other === "string";
  const from = isText ? excerptStart(one, other) : 0;
  const texts = [one, other].map((value) =>
    valueText(from === 0 ? value : `…${(value as string).slice(from)}`)
  );
  if (texts[0]!.normalize() !== texts[1]!.normalize()) return [texts[0]!, texts[1]!];
  const [first, second] = texts.map(asciiText);
  return first === second ? [first!, `${second!}, but not the same`] : [first!, second!];
}

/** Returns the start of the excerpt that shows the difference: 0, unless that would cut the difference off. */
function excerptStart(one: string, other: string): number {
  let same = 0;
  while (same < one.length && one[same] === other[same]) same++;
  return same < MAX_LENGTH / 2 ? 0 : same - LEAD;
}

function asciiText(text: string): string {
  return text.replace(/[^\x20-\x7e…]/g, (unit) => {
    return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}

/** Writes a value up to a limit. Each level adds characters, so that circular values end, too. */
class LimitedText {
  text = "";
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  write(value: unknown): void {
    if (isMatcher(value)) this.text += value.description;
    else if (typeof value === "string") {
      this.text += JSON.stringify(value.slice(0, this.#limit + 1));
    } else if (typeof value === "bigint") this.text += `${value}n`;
    else if (typeof value === "function") this.text += `function ${value.name}`;
    else if (isObject(value)) this.#writeObject(value);
    else this.text += String(value);
  }

  #writeObject(value: object): void {
    const name = isPlain(value) || Array.isArray(value) ? "" : `${className(value)} `;
    const text = comparableText(value);
    const items = itemsOf(value);
    if (text !== undefined) this.text += name + text;
    else if (items !== undefined) this.#writeAll(`${name}[`, items, "]");
    else {
      const { named, members } = visibleParts(value);
      const parts = [
        ...[...named].map(([key, own]) => () => {
          this.write(key);
          this.text += value instanceof Map ? " => " : ":";
          this.write(own);
        }),
        ...members.map((member) => () => this.write(member)),
      ];
      this.#writeAll(`${name}{`, parts, "}", (write) => write());
    }
  }

  #writeAll<T>(
    start: string,
    items: Iterable<T>,
    end: string,
    write: (item: T) => void = (item) => this.write(item),
  ): void {
    this.text += start;
    let isFirst = true;
    for (const item of items) {
      if (this.text.length > this.#limit) return;
      if (!isFirst) this.text += ",";
      isFirst = false;
      write(item);
    }
    this.text += end;
  }
}
