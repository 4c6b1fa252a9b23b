/**
 * Call set loader: loads a folder or a file.
 * @module
 */

import defer * as fs from "node:fs";
import type { CallSet } from "./question_set.ts";
import { bfclKind, readBfcl } from "./bfcl.ts";
import { loadCallNavi } from "./_load_callnavi.ts";
import { loadJsonc } from "./_load_jsonc.ts";
import { cannot, orCannot } from "../../base/errors.ts";
import { readText } from "../../base/input.ts";
import { parseJson } from "../../base/json.ts";

/**
 * Loads a call set: a folder in CallNavi's published layout, with `APIs/DOMAIN.json` and
 * `Questions/DOMAIN.json`; or a file in toolgate's format, `.json` or `.jsonc`: an object with `name`,
 * `functions` and `questions`, which `fixtures/call_sets/README.md` explains; or files of BFCL v4, a folder or one
 * file, with `possible_answer/` beside it. Oddities, such as a truth that calls a function that is not available, or
 * that its own rules refuse, are loaded unchanged and reported in `warnings`.
 *
 * @throws {InputError} If it is none of these, or a file is invalid; the message names the file, the path in it and
 * the rule.
 * @see CallNavi, section 4 and appendix A.
 */
export function loadCallSet(path: string): CallSet {
  if (orCannot(`read ${path}`, () => fs.statSync(path).isDirectory())) {
    const isBfcl = fs.readdirSync(path).some((name) => name.startsWith("BFCL_v"));
    return isBfcl ? readBfcl([path]).set : loadCallNavi(path);
  }
  if (bfclKind(parseJson(readText(path).split("\n", 1)[0]!)) !== "other") {
    return readBfcl([path]).set;
  }
  if (/\.jsonc?$/.test(path)) return loadJsonc(path);
  throw cannot(
    `load a call set from ${path}`,
    "it must be a folder, or a .json or .jsonc file",
    "it is neither",
  );
}
