/**
 * Names of tools that providers accept, for tools whose own names they refuse, such as `db.query` of an MCP server.
 * @module
 */

/** The longest name that OpenAI accepts. */
const MAX_LENGTH = 64;

/**
 * Returns for each name one that providers accept: of letters, digits, `_` and `-`, at most 64 of them, and distinct.
 * Names that are accepted stay; in others `_` stands for each other character, and where that makes two alike, a
 * number ends the later one. The result is in the order of `names`, so that it maps back as well.
 */
export function providerNames(names: readonly string[]): readonly string[] {
  const isAccepted = (name: string) => /^[a-zA-Z0-9_-]{1,64}$/.test(name);
  // What is accepted keeps its name, wherever it stands.
  const taken = new Set(names.filter(isAccepted));
  const used = new Set<string>();
  const numbers = new Map<string, number>();
  return names.map((name) => {
    if (isAccepted(name) && !used.has(name)) {
      used.add(name);
      return name;
    }
    const plain = name.replaceAll(/[^a-zA-Z0-9_-]/gu, "_").slice(0, MAX_LENGTH) || "_";
    let free = plain;
    let number = numbers.get(plain) ?? 2;
    for (; taken.has(free); number++) {
      const end = `_${number}`;
      free = plain.slice(0, MAX_LENGTH - end.length) + end;
    }
    numbers.set(plain, number);
    taken.add(free);
    used.add(free);
    return free;
  });
}
