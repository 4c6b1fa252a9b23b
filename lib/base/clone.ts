/**
 * The clone that this code runs from, if it came from no registry: its repository and its commit.
 * @module
 */

import { isGranted } from "#runtime";
import defer * as fs from "node:fs";
import defer * as paths from "node:path";
import defer * as urls from "node:url";
import toolgate from "../../deno.json" with { type: "json" };
import { attempt } from "./errors.ts";
import { resolvePath } from "./output_file.ts";

/** A clone of toolgate. */
export interface Clone {
  /** Its folder. */
  readonly folder: string;
  /** The address that anyone may clone it from, without credentials. Omitted when it has none. */
  readonly repository?: string;
  /** The commit that is checked out. Omitted when that cannot be read. */
  readonly commit?: string;
}

/** Returns the clone that this code runs from; `undefined` if it came from a registry. */
export function ownClone(): Clone | undefined {
  const { protocol, href } = new URL("../../", import.meta.url);
  if (protocol !== "file:") return undefined;
  return readClone(resolvePath(urls.fileURLToPath(href)));
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
  const isReadable = protocol === "file:" && isGranted({ name: "read", path: pathname });
  return { version: toolgate.version, commit: isReadable ? ownClone()?.commit : undefined };
}

/** Reads the address and commit of a clone's repository, if it has one. */
export function readClone(folder: string): Clone {
  const own = gitFolder(folder);
  if (own === undefined) return { folder };
  // That of a worktree has a HEAD of its own, and shares the rest.
  const shared = paths.resolve(own, readLine(`${own}/commondir`) ?? ".");
  const address = /^\[remote "origin"\]\s*\n(?:[ \t]+.*\n)*?[ \t]+url = (.*)$/m
    .exec(readIfThere(`${shared}/config`) ?? "")?.[1];
  const repository = address === undefined ? undefined : publicAddress(address);
  return { folder, repository, commit: headCommit(own, shared) };
}

/** Returns the folder of the repository that a folder is the top of; `undefined` if it is no such top. */
function gitFolder(folder: string): string | undefined {
  const place = `${folder}/.git`;
  const named = /^gitdir: (.+)$/.exec(readLine(place) ?? "")?.[1];
  if (named !== undefined) return paths.resolve(folder, named);
  return readLine(`${place}/HEAD`) === undefined ? undefined : place;
}

const COMMIT = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/;

function headCommit(own: string, shared: string): string | undefined {
  const head = readLine(`${own}/HEAD`) ?? "";
  const branch = /^ref: (refs\/(?!.*\.\.)[^\p{Cc} ~^:?*[\\]+)$/u.exec(head)?.[1];
  const packed = () =>
    readIfThere(`${shared}/packed-refs`)?.split("\n")
      .find((line) => line.endsWith(` ${branch}`))?.split(" ")[0];
  const commit = branch === undefined ? head : readLine(`${shared}/${branch}`) ?? packed();
  return commit !== undefined && COMMIT.test(commit) ? commit : undefined;
}

/**
 * Returns the address at which anyone may find a repository: over https, where it was cloned with somebody's
 * key, and without a password. `undefined` for a folder of this machine.
 */
export function publicAddress(address: string): string | undefined {
  // What follows a host of ssh:// and a colon is a port, which https does not have.
  const [, host, path] =
    /^(?:ssh:\/\/git@(?=[\w.-]+\/)|git@)([\w.-]+)[:/]([^:]*)$/.exec(address.trim()) ?? [];
  try {
    const url = new URL(host === undefined ? address.trim() : `https://${host}/${path}`);
    if (url.protocol !== "https:" && url.protocol !== "http:") return undefined;
    const plain = `${url.protocol}//${url.host}${url.pathname}`;
    // It is written into a script of CI.
    return /^[\w.:/~-]+$/.test(plain) ? plain : undefined;
  } catch {
    return undefined;
  }
}

function readLine(path: string): string | undefined {
  return readIfThere(path)?.replace(/\n[^]*/, "").trim();
}

/** Returns the text of a file; `undefined` if there is none, or it may not be read. */
function readIfThere(path: string): string | undefined {
  return attempt(() => fs.readFileSync(path, "utf8"));
}
