/**
 * Published data and expected values that are no part of the project: tests of them are ignored, and say so,
 * where they cannot be found.
 */

/** The project's folder. */
const ROOT = new URL("../..", import.meta.url).pathname;

/** Data that lie outside of the project. */
export interface OutsideData {
  /** What they are called in the names of tests. */
  readonly what: string;
  /** The environment variable that says where they are. */
  readonly variable: string;
  /** Where they are; `undefined` when that is not known. */
  readonly path: string | undefined;
}

/** CallNavi's published data set: a folder with `APIs/` and `Questions/`. */
export const CALLNAVI = find("CallNavi's data", "TOOLGATE_CALLNAVI", "data/callnavi");

/** BFCL's published files: a folder with questions, `possible_answer/` and verdicts of its checker. */
export const BFCL = find("BFCL's data", "TOOLGATE_BFCL", "data/bfcl");

/** Tools of public MCP servers: a folder with `tools.json`, as their `tools/list` answers. */
export const MCP = find("tools of MCP servers", "TOOLGATE_MCP", "data/mcp");

/** Published trajectories of tau-bench: a folder with its JSON files. */
export const TAU = find("trajectories of tau-bench", "TOOLGATE_TAU", "data/tau");

/** Scores that were worked out by other programs. */
export const GOLDEN = find("expected scores", "TOOLGATE_GOLDEN", "golden");

/** Recorded replies of real servers: a folder with `replies.jsonl`. */
export const WIRE_REPLIES = find("recorded replies", "TOOLGATE_WIRE_REPLIES", "data/wire");

/** The texts of the five papers and articles that the project follows, in the order of their names. */
export const SOURCE_TEXTS = find("the texts of the sources", "TOOLGATE_SOURCES", "seeds");

function find(what: string, variable: string, beside: string): OutsideData {
  const path = Deno.env.get(variable) ?? `${ROOT}../shared/${beside}`;
  return { what, variable, path: isThere(path) ? path : undefined };
}

function isThere(path: string): boolean {
  try {
    return Deno.statSync(path).isDirectory;
  } catch {
    return false;
  }
}

/** A test of outside data, which gets their path. */
export function outsideTest(
  name: string,
  { what, variable, path }: OutsideData,
  fn: (path: string) => void | Promise<void>,
): void {
  const ignored = path === undefined;
  Deno.test({
    name: ignored ? `${name} (ignored: ${variable} does not lead to ${what})` : name,
    ignore: ignored,
    fn: () => fn(path!),
  });
}
