// Files of histories that a disk, an editor or a person has spoiled, with checksums that fit or not: a reader
// of them says so, or returns the same as before. No spoiled release changes which one is the anchor unseen.

import { assert, assertEquals } from "@std/assert";
import { canonicalJson, isJsonObject, type JsonValue, parseJson } from "../../lib/base/json.ts";
import { InputError } from "../../lib/base/errors.ts";
import { makeHistoryReport } from "../../lib/reports/history.ts";
import { renderHistory } from "../../lib/reports/history_text.ts";
import { partOf, readHistory } from "../../lib/runs/history/history.ts";
import { watchHistory } from "../../lib/runs/history/watch.ts";
import { recordText, sealed } from "../../lib/runs/record.ts";
import fc from "../support/fast_check.ts";
import { Folder } from "../support/folders.ts";
import {
  assertReadable,
  byteChanges,
  changed,
  changedBytes,
  fuzz,
  valueChanges,
} from "../support/fuzzing.ts";
import { changed as withFields, dateAfter, recordFile } from "../support/history.ts";

const NOW = new Date("2026-07-15T12:00:00.000Z");
const RELEASES = [-20, -10].map((day, place) =>
  withFields(recordFile({ date: dateAfter(day), graphs: 60 }), {
    release: { name: `v${place}`, at: dateAfter(day + 1) + "T00:00:00.000Z" },
  })
);
const RUNS = [0, 1].map((day) => recordFile({ date: dateAfter(day), graphs: 5 }));
/** The texts of all files, the releases first. */
const FILES: readonly string[] = [...RELEASES, ...RUNS].map(recordText);

/** Writes the files, and returns the report on them, or the error of bad input. */
function told(folder: Folder, texts: readonly (string | Uint8Array)[]) {
  for (const [place, text] of texts.entries()) folder.write(`${place}.json`, text);
  try {
    const history = readHistory([{ path: folder.path, shown: "history" }], NOW);
    for (const line of history.leftOut) assertReadable(line);
    const part = partOf(history);
    assertReadable(renderHistory(makeHistoryReport(part)));
    return { part, canary: watchHistory(part, { drop: 0.2 }) };
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    assertReadable(error.message);
    return error.message;
  }
}

const PLAIN = (() => {
  using folder = new Folder();
  const plain = told(folder, FILES);
  assert(typeof plain === "object");
  return plain;
})();

fuzz(
  "histories with spoiled files tell what they told before, or leave them out by name",
  fc.record({
    place: fc.nat(FILES.length - 1),
    change: fc.oneof(
      fc.record({ bytes: byteChanges() }),
      fc.record({ values: valueChanges(), isSealed: fc.boolean() }),
    ),
  }),
  ({ place, change }) => {
    using folder = new Folder();
    const text = FILES[place]!;
    const spoiled = "bytes" in change
      ? changedBytes(new TextEncoder().encode(text), change.bytes)
      : JSON.stringify(resealed(changed(parseJson(text)!, change.values), change.isSealed));
    const found = told(folder, FILES.map((one, at) => at === place ? spoiled : one));
    const left = typeof spoiled === "string" ? spoiled : new TextDecoder().decode(spoiled);
    const isSame = canonicalJson(parseJson(left) ?? null) === canonicalJson(parseJson(text)!);
    if (!isSame && "isSealed" in change && change.isSealed) return;
    const file = `history/${place}.`;
    if (typeof found === "string") {
      // Without a release nothing is decided.
      assert(!isSame && place < 2 && found.includes(file), found);
    } else if (isSame || place >= 2) {
      assertEquals(found.canary.watched[0]!.reference, PLAIN.canary.watched[0]!.reference);
    }
    if (typeof found === "object" && !isSame) {
      assert(found.part.leftOut.some((line) => line.includes(file)), `${place}`);
    }
  },
  { runs: 150 },
);

/** A value with the checksum of its content, where it has one. */
function resealed(value: JsonValue, isSealed: boolean): JsonValue {
  if (!isSealed || !isJsonObject(value)) return value;
  const { checksum: _, ...content } = value;
  return sealed(content) as unknown as JsonValue;
}

Deno.test("the history that is spoiled has two releases, and is quiet", () => {
  assertEquals([PLAIN.part.releases.length, PLAIN.canary.verdict], [2, "quiet"]);
});
