// Files of histories that a disk, an editor or a person has spoiled, with checksums that fit or not: whoever reads
// them says so, or tells the same as before. No spoiled acceptance changes which release is the anchor unseen.

import { assert, assertEquals } from "@std/assert";
import { canonicalJson, isJsonObject, type JsonValue, parseJson } from "../../lib/base/json.ts";
import { InputError } from "../../lib/base/errors.ts";
import { makeHistoryReport } from "../../lib/reports/history.ts";
import { renderHistory } from "../../lib/reports/history_text.ts";
import { resultsText, sealed } from "../../lib/runs/accept.ts";
import { acceptanceOf } from "../../lib/runs/history/_acceptance.ts";
import { partOf, readHistory } from "../../lib/runs/history/history.ts";
import { watchHistory } from "../../lib/runs/history/watch.ts";
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
import { dateAfter, recordFile } from "../support/history.ts";

const NOW = new Date("2026-07-15T12:00:00.000Z");
const RELEASES = [-20, -10].map((day) => recordFile({ date: dateAfter(day), graphs: 60 }));
const NIGHTS = [0, 1].map((day) => recordFile({ date: dateAfter(day), graphs: 5 }));
const FIRST = acceptanceOf(RELEASES[0]!, { name: "v1", anchor: true }, new Date(NOW));
const SECOND = acceptanceOf(
  RELEASES[1]!,
  { name: "v2", anchor: false, after: FIRST.checksum },
  new Date(NOW.getTime() + 1_000),
);
/** The texts of all files, the acceptances first. */
const FILES: readonly string[] = [
  ...[FIRST, SECOND].map((one) => JSON.stringify(one)),
  ...[...RELEASES, ...NIGHTS].map(resultsText),
];

/** Writes the files, and returns what is told of them; an error of bad input in its place. */
function told(folder: Folder, texts: readonly (string | Uint8Array)[]) {
  for (const [place, text] of texts.entries()) {
    folder.write(place < 2 ? `${place}.accepted.json` : `${place}.record.json`, text);
  }
  const history = readHistory([{ path: folder.path, shown: "history" }], NOW);
  for (const line of [...history.leftOut, history.fault ?? "none"]) assertReadable(line);
  try {
    const part = partOf(history);
    assertReadable(renderHistory(makeHistoryReport(part)));
    return { history, canary: watchHistory(part, { drop: 0.2 }) };
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    assertReadable(error.message);
    return { history, canary: undefined };
  }
}

const PLAIN = (() => {
  using folder = new Folder();
  return told(folder, FILES);
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
    const { history, canary } = told(
      folder,
      FILES.map((one, at) => at === place ? spoiled : one),
    );
    const isSealed = "isSealed" in change && change.isSealed;
    const left = typeof spoiled === "string" ? spoiled : new TextDecoder().decode(spoiled);
    const isSame = canonicalJson(parseJson(left) ?? null) === canonicalJson(parseJson(text)!);
    if (isSame) return assertEquals(history.releases.length, 2);
    if (isSealed) return;
    assert(history.leftOut.some((line) => line.includes(`history/${place}.`)), `${place}`);
    // Of four records two are released, without which nothing is decided.
    if (place < 4) assertEquals([history.releases, canary], [[], undefined]);
    else assertEquals(canary!.watched[0]!.reference, PLAIN.canary!.watched[0]!.reference);
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
  assertEquals([PLAIN.history.releases.length, PLAIN.canary?.verdict], [2, "quiet"]);
});
