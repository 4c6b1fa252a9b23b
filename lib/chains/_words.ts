/**
 * The words of names: of tools, parameters, properties and paths.
 * @module
 */

/** Returns the words of a name in snake_case, camelCase or kebab-case, in lower case. */
export function wordsOf(name: string): string[] {
  return name.replace(/([a-z0-9])([A-Z])/g, "$1 $2").replace(/([A-Z])([A-Z][a-z])/g, "$1 $2")
    .toLowerCase().split(/[^\p{L}\p{N}]+/u).filter((word) => word !== "");
}

/** Returns a name without what writers set in another way: case and separators. */
export function plainName(name: string): string {
  return name.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "");
}

const IRREGULAR: Readonly<Record<string, string>> = {
  people: "person",
  children: "child",
  indices: "index",
  movies: "movie",
  cookies: "cookie",
  aliases: "alias",
};

/** Returns a word in the singular, as English mostly has it. */
export function singular(word: string): string {
  if (Object.hasOwn(IRREGULAR, word)) return IRREGULAR[word]!;
  if (/(series|species|news|ss|us|is)$/.test(word) || word.length < 3) return word;
  if (/ies$/.test(word)) return word.slice(0, -3) + "y";
  if (/([^a]ch|sh|x|ss|zz|us)es$/.test(word)) return word.slice(0, -2);
  return word.replace(/s$/, "");
}

/** Returns the words of a name with the last one in the singular. */
export function singularWords(name: string): string[] {
  const words = wordsOf(name);
  return words.map((word, place) => place === words.length - 1 ? singular(word) : word);
}

/** Names that hold what is returned and say nothing of it. */
const ENVELOPES = new Set(
  ("data item items result results response payload content contents body value values record " +
    "records entry entries list objects object hits rows elements collection node nodes edges " +
    "embedded output resource resources").split(" "),
);

/** Whether the name of a property says nothing of what it holds. */
export function isEnvelope(name: string): boolean {
  return ENVELOPES.has(plainName(name));
}

/** Words of keys, the better ones first. Names that people are shown are none: they may change, or stand twice. */
export const KEYS: readonly string[] = (
  "id gid uuid guid uid sid login username slug key number sha iid pk"
).split(" ");

/** Keys that are called `id` by those who refer to them. */
const IDS = new Set(["id", "gid", "uuid", "guid", "uid", "sid", "pk"]);

/** Whether a key, without case and separators, is called `id` by those who refer to it. */
export function isId(key: string): boolean {
  return IDS.has(key);
}

const ONE = "get read fetch show describe lookup retrieve find view".split(" ");
const MANY = "list search find query get read fetch show count browse".split(" ");
/** What ends the noun of a name: `get_order_by_id`, `get_order_details`. */
const ENDING = new Set(["by", "details", "detail", "info", "for", "of", "from", "in"]);

/** Returns what a tool's name says: the verb and the noun of its words, such as `get_order_details`. */
export function verbAndNoun(name: string): { readonly verb: string; readonly noun: string[] } {
  const words = wordsOf(name);
  const at = words.findIndex((word) => ONE.includes(word) || MANY.includes(word));
  if (at < 0) return { verb: "", noun: [] };
  const rest = words.slice(at + 1);
  const end = rest.findIndex((word, place) => place > 0 && ENDING.has(word));
  return { verb: words[at]!, noun: end < 0 ? rest : rest.slice(0, end) };
}

/** Whether a verb is that of a tool that returns one record. */
export const isOne = (verb: string) => ONE.includes(verb);
