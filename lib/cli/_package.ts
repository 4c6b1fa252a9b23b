/**
 * The package of toolgate as a file: a gzipped tar archive, as `npm pack` makes it.
 * @module
 */

import * as paths from "node:path";
import defer * as zlib from "node:zlib";
import toolgate from "../../deno.json" with { type: "json" };
import { attempt, cannot } from "../base/errors.ts";
import { isFolder } from "../base/folder.ts";
import { readBytes } from "../base/input.ts";
import { parseJson } from "../base/json.ts";
import { isMissing } from "../base/output_file.ts";

/** A package. */
export interface Package {
  readonly version: string;
  /** Its tarball. */
  readonly packed: Uint8Array;
  /** What it holds, by path within its folder: plain file names, joined by `/`. The last one is `package.json`. */
  readonly files: ReadonlyMap<string, Uint8Array>;
}

/** The bytes of a package, packed or not, at most. */
const MOST = 200_000_000;

/** The bytes of a block: the header of each file is one, and its content is filled up to whole ones. */
const BLOCK = 512;

const FILE_NAME = /^(?!\.\.?$)[^\\:\p{Cc}]+$/u;

/**
 * Reads the package in a tarball, or in a folder that has the one of this version.
 *
 * @throws {InputError} If it cannot be read, or is no package of toolgate.
 */
export function readPackage(given: string): Package {
  const own = `toolgate-${toolgate.version}.tgz`;
  const path = isFolder(given) ? paths.join(given, own) : given;
  if (isMissing(path)) {
    const how = "deno task package in a clone of toolgate writes it to dist/";
    throw cannot(`use ${given}`, `it must be, or have, the package ${own}`, how);
  }
  const packed = readBytes(path, MOST);
  const fail = (state: string) =>
    cannot(`use ${path}`, "it must be a package of toolgate, made by npm pack", state);
  const bytes = attempt(() => zlib.gunzipSync(packed, { maxOutputLength: MOST }));
  if (bytes === undefined) throw fail(`it is not gzipped, or holds more than ${MOST} bytes`);
  const files = new Map<string, Uint8Array>();
  const decoder = new TextDecoder();
  // The last blocks are empty.
  for (let at = 0; at < bytes.length && bytes[at] !== 0;) {
    const header = bytes.subarray(at, at + BLOCK);
    const field = (start: number, length: number) =>
      decoder.decode(header.subarray(start, start + length)).replace(/\0[^]*/, "");
    const size = parseInt(field(124, 12), 8);
    const start = at + BLOCK;
    at = start + Math.ceil(size / BLOCK) * BLOCK;
    if (field(257, 5) !== "ustar" || !(size >= 0 && at <= bytes.length)) {
      throw fail("it is cut short, or is no tar archive");
    }
    const kind = field(156, 1);
    if (kind === "5") continue;
    const name = [field(345, 155), field(0, 100)].filter(Boolean).join("/");
    const parts = name.split("/");
    const isWithin = parts.length > 1 && parts.every((part) => FILE_NAME.test(part));
    if (!/^0?$/.test(kind) || !isWithin) {
      throw fail(`${name} is no file within its folder`);
    }
    files.set(parts.slice(1).join("/"), bytes.subarray(start, start + size));
  }
  const manifest = files.get("package.json") ?? new Uint8Array();
  files.delete("package.json");
  files.set("package.json", manifest);
  const { name, version } = Object(parseJson(decoder.decode(manifest)));
  if (name !== toolgate.name || !/^\d+\.\d+\.\d+[\w.+-]*$/.test(version)) {
    throw fail(`its package.json is not that of ${toolgate.name}`);
  }
  return { version, packed, files };
}
