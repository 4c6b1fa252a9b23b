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
export const plainName = (name: string): string => wordsOf(name).join("");

const IRREGULAR = new Map([["people", "person"], ["children", "child"], ["indices", "index"]]);

/** Returns a word in the singular, as English mostly has it. */
export function singular(word: string): string {
  if (/(series|species|news|ss|us|is)$/.test(word) || word.length < 3) return word;
  if (/[^vk]ies$/.test(word)) return word.slice(0, -3) + "y";
  if (/([^a]ch|sh|x|ss|zz|ias|[^ao]us)es$/.test(word)) return word.slice(0, -2);
  return IRREGULAR.get(word) ?? word.replace(/s$/, "");
}

/** Returns the words of a name with the last one in the singular. */
export function singularWords(name: string): string[] {
  return wordsOf(name).map((word, place, { length }) =>
    place === length - 1 ? singular(word) : word
  );
}

const setOf = (words: string): ReadonlySet<string> => new Set(words.split(" "));

/** Names of what is returned that say nothing of it. */
export const ENVELOPES = setOf(
  "data item items result results response payload content contents body value values record " +
    "records entry entries list objects object hits rows elements collection node nodes edges " +
    "embedded output resource resources",
);

/** Keys that are called `id` by those who refer to them. */
export const IDS = setOf("id gid uuid guid uid sid pk");

/** Words that keys end with. Names that people are shown are none: they may change, or stand twice. */
export const KEYS = IDS.union(setOf("login username slug key number sha iid"));

/** Names of parameters that say something else than which record is asked for. */
export const NO_KEYS = setOf(
  "name title label type status date email description url path ref file filename format",
);

/** Names of parameters that are credentials. */
export const CREDENTIALS = setOf(
  "apikey xapikey accesstoken apitoken authtoken xauthtoken oauthtoken sessiontoken bearertoken " +
    "authorization credentials clientsecret password",
);

/** Verbs of tools that change nothing. */
const READING = setOf(
  "get read fetch show describe lookup retrieve find view list search query count",
);

/** Verbs of tools that change something. */
const WRITING = setOf(
  "create update delete remove add set put post patch send write edit insert move copy upload " +
    "cancel close open merge push run execute start stop enable disable assign archive clear save " +
    "fork click type fill press drag submit install book order pay",
);

/** Whether the first verb of a tool's name is one of those that change nothing. */
export function isReadingName(name: string): boolean {
  return READING.has(wordsOf(name).find((word) => READING.has(word) || WRITING.has(word)) ?? "");
}

/** Words of the names of definitions that do not tell one entity from another. */
export const FORMS = setOf(
  "simple simplified short compact mini minimal nested partial ref reference summary base basic " +
    "object response dto model full detail details public private nullable",
);

/** What ends the noun of a tool's name: `get_order_by_id`, `get_order_details`. */
const ENDING = setOf("by details detail info profile for of from in");

/**
 * Returns the noun of a tool's name, in the singular: `order item` of `list_order_items` or of `order_items_list`; empty
 * without a verb.
 */
export function nounOf(words: readonly string[]): string {
  const verb = words.findIndex((word) => READING.has(word));
  const all = verb < 0
    ? []
    : verb === words.length - 1
    ? words.slice(0, verb)
    : words.slice(verb + 1);
  const rest = all.filter((word) => !/^(a|an|the|all|my)$/.test(word));
  const end = rest.findIndex((word, place) => place > 0 && ENDING.has(word));
  return singularWords(rest.slice(0, end < 0 ? rest.length : end).join(" ")).join(" ");
}

/** Returns the words of names without those that all of them begin with, such as the name of a service. */
export function ownWordsOf(names: readonly string[]): readonly (readonly string[])[] {
  const all = names.map(wordsOf);
  const own = (all[0] ?? []).findIndex((word, place) =>
    READING.has(word) || WRITING.has(word) || all.some((one) => one[place] !== word)
  );
  return all.map((words) => names.length > 1 && own > 0 ? words.slice(own) : words);
}
