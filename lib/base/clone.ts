/**
 * The clone that this code runs from, if it is no package, and its commit.
 * @module
 */

import { isGranted } from "#runtime";
import defer * as fs from "node:fs";
import defer * as paths from "node:path";
import defer * as urls from "node:url";
import toolgate from "../../deno.json" with { type: "json" };
import { attempt } from "./errors.ts";
import { resolvePath } from "./output_file.ts";

/** Returns the folder of the clone that this code runs from; `undefined` if that is a package. */
export function ownClone(): string | undefined {
  // Only a clone has this very module.
  const [, top] = /^(file:.*\/)lib\/base\/clone\.ts$/.exec(import.meta.url) ?? [];
  return top === undefined ? undefined : resolvePath(urls.fileURLToPath(top));
}

/** What made a journal: results are cited with it. */
export interface Release {
  /** The version of this package. */
  readonly version: string;
  /** The commit of the clone that ran; omitted where it ran from no clone, or may not read it. */
  readonly commit?: string | undefined;
}

/** Returns what runs; nobody is asked for a permission. */
export function ownRelease(): Release {
  const { pathname, protocol } = new URL("../../.git", import.meta.url);
  const clone = protocol === "file:" && isGranted({ name: "read", path: pathname })
    ? ownClone()
    : undefined;
  return { version: toolgate.version, commit: clone && commitOf(clone) };
}

/** Returns the commit that is checked out in a folder; `undefined` where that cannot be read. */
export function commitOf(folder: string): string | undefined {
  const own = gitFolder(folder);
  if (own === undefined) return undefined;
  // That of a worktree has a HEAD of its own, and shares the rest.
  const shared = paths.resolve(own, readLine(`${own}/commondir`) ?? ".");
  const head = readLine(`${own}/HEAD`) ?? "";
  const branch = /^ref: (refs\/(?!.*\.\.)[^\p{Cc} ~^:?*[\\]+)$/u.exec(head)?.[1];
  const packed = () =>
    readIfThere(`${shared}/packed-refs`)?.split("\n")
      .find((line) => line.endsWith(` ${branch}`))?.split(" ")[0];
  const commit = branch === undefined ? head : readLine(`${shared}/${branch}`) ?? packed();
  return commit !== undefined && COMMIT.test(commit) ? commit : undefined;
}

/** Returns the folder of the repository that a folder is the top of; `undefined` if it is no such top. */
function gitFolder(folder: string): string | undefined {
  const place = `${folder}/.git`;
  const named = /^gitdir: (.+)$/.exec(readLine(place) ?? "")?.[1];
  if (named !== undefined) return paths.resolve(folder, named);
  return readLine(`${place}/HEAD`) === undefined ? undefined : place;
}

const COMMIT = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/;

function readLine(path: string): string | undefined {
  return readIfThere(path)?.replace(/\n[^]*/, "").trim();
}

/** Returns the text of a file; `undefined` if there is none, or it may not be read. */
function readIfThere(path: string): string | undefined {
  return attempt(() => fs.readFileSync(path, "utf8"));
}
