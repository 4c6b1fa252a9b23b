/**
 * Offered names: hosts of MCP offer the functions of a server under its name and theirs, such as
 * `mcp__toolgate__weather`. What a model calls is read without what stands before.
 * @module
 */

import type { ToolChoice, ToolSchema } from "../../tools/tool.ts";

/** The name of the MCP server of a trial. */
export const SERVER_NAME = "toolgate";

/** The name of the function that says a text to the user. */
export const ASK = "ask_user";

/** What stands before the names of a server: its own name, and a separator at the end. */
const PREFIX = new RegExp(`${SERVER_NAME}.*[^a-z0-9]$`, "is");

/** The names under which an agent has offered its model the functions of a task. */
export class OfferedNames {
  readonly #own: ReadonlySet<string>;
  readonly #prefixes = new Set<string>();

  /** Knows the functions by their own names. */
  constructor(own: Iterable<string>) {
    this.#own = new Set(own);
  }

  /** Takes the functions that a request offers, whose names later requests and replies may have. */
  learn(tools: readonly Pick<ToolSchema, "name">[]): void {
    const found = new Map<string, number>();
    for (const { name } of tools) {
      if (this.#own.has(name)) continue;
      for (const own of this.#own) {
        const before = name.endsWith(own) ? name.slice(0, name.length - own.length) : "";
        if (own !== "" && PREFIX.test(before)) found.set(before, (found.get(before) ?? 0) + 1);
      }
    }
    // The end of one function's name may be another's: the host has put the same before all of them.
    const [prefix] = [...found].toSorted(([one, times], [other, more]) =>
      more - times || one.length - other.length
    );
    if (prefix !== undefined) this.#prefixes.add(prefix[0]);
  }

  /** Returns a name without what stands before those of the server, also one that a model has invented. */
  plain(name: string): string {
    if (this.#own.has(name)) return name;
    const plain = [...this.#prefixes].filter((prefix) => name.startsWith(prefix))
      .map((prefix) => name.slice(prefix.length));
    return plain.find((one) => this.#own.has(one)) ?? plain[0] ?? name;
  }

  /** Returns a choice by the name under which a request offers the function. */
  choiceIn(
    tools: readonly Pick<ToolSchema, "name">[],
    choice: ToolChoice | undefined,
  ): ToolChoice | undefined {
    if (typeof choice !== "object") return choice;
    const offered = tools.find(({ name }) => this.plain(name) === choice.function);
    return offered === undefined ? choice : { function: offered.name };
  }
}
