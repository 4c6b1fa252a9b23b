import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { InputError } from "../../../lib/base/errors.ts";
import {
  type JournalEnd,
  type JournalLine,
  journalLines,
  JournalWriter,
  readLineAgain,
  tornNotice,
} from "../../../lib/runs/journal/lines.ts";
import { Folder } from "../../support/folders.ts";
import { linesOf } from "../../support/journals.ts";
import { record } from "../../support/records.ts";

interface JournalContent extends JournalEnd {
  readonly lines: readonly JournalLine[];
}

/** All of a journal, with or without checksums. */
function readJournal(path: string): JournalContent {
  const lines: JournalLine[] = [];
  const read = journalLines(path, { unchecked: true });
  let next = read.next();
  for (; !next.done; next = read.next()) lines.push(next.value);
  return { ...next.value, lines };
}

function valuesOf({ lines }: JournalContent): unknown[] {
  return lines.map(({ value }) => value);
}

/** The bytes of a journal as runs write it; its last line has the given words. */
function realJournal(
  folder: Folder,
  words = "words",
): { bytes: Uint8Array; values: unknown[] } {
  const values = [
    { v: 1, kind: "plan", suite: "s" },
    record({ seed: 1 }),
    { text: 'quotes " and \\ and \n breaks', words },
  ];
  using journal = JournalWriter.create(folder.file("real.jsonl"));
  for (const value of values) journal.write(value);
  return { bytes: Deno.readFileSync(folder.file("real.jsonl")), values };
}

Deno.test("JournalWriter.create() begins a file that readJournal() gives back", () => {
  using folder = new Folder();
  const { bytes, values } = realJournal(folder);
  const content = readJournal(folder.file("real.jsonl"));
  assertEquals(valuesOf(content), JSON.parse(JSON.stringify(values)));
  assertEquals(content.lines.map(({ line }) => line), [1, 2, 3]);
  assertEquals(
    [content.tornBytes, content.wholeBytes, content.unended],
    [0, bytes.length, false],
  );
});

Deno.test("JournalWriter.write() has left the process when it returns", () => {
  using folder = new Folder();
  using journal = JournalWriter.create(folder.file("a.jsonl"));
  journal.write({ a: 1 });
  assertEquals(folder.read("a.jsonl"), linesOf([{ a: 1 }]));
  journal.write({ b: "x\ny" });
  assertEquals(folder.read("a.jsonl"), linesOf([{ a: 1 }, { b: "x\ny" }]));
});

Deno.test("JournalWriter.create() makes the folders on the way", () => {
  using folder = new Folder();
  using journal = JournalWriter.create(folder.file("deep/er/a.jsonl"));
  journal.write({ a: 1 });
  assertEquals(folder.read("deep/er/a.jsonl"), linesOf([{ a: 1 }]));
});

Deno.test("JournalWriter.create() never overwrites a file", () => {
  using folder = new Folder();
  const path = folder.write("a.jsonl", '{"a":1}\n');
  const error = assertThrows(() => JournalWriter.create(path), InputError);
  assertStringIncludes(error.message, `Cannot begin the journal ${path}`);
  assertStringIncludes(error.message, "--resume");
  assertEquals(folder.read("a.jsonl"), '{"a":1}\n');
});

Deno.test("JournalWriter.create() tells a link to nowhere from a journal that could be resumed", () => {
  using folder = new Folder();
  const path = folder.file("a.jsonl");
  Deno.symlinkSync("nowhere/a.jsonl", path);
  const error = assertThrows(() => JournalWriter.create(path), InputError);
  assertStringIncludes(error.message, "as it must be a file: it is a link to nowhere");
});

Deno.test("JournalWriter.create() names a path that cannot be written", () => {
  using folder = new Folder();
  folder.write("file", "");
  for (const path of [folder.file("file/a.jsonl"), folder.file("file/deep/a.jsonl")]) {
    const error = assertThrows(() => JournalWriter.create(path), InputError);
    assertStringIncludes(error.message, `Cannot write the journal ${path}: `);
  }
});

Deno.test("JournalWriter.create() locks the file: nobody else can append to it", () => {
  using folder = new Folder();
  const path = folder.file("a.jsonl");
  const journal = JournalWriter.create(path);
  const content = readJournal(path);
  assertThrows(
    () => JournalWriter.append(path, content),
    InputError,
    "another run is writing to it",
  );
  journal[Symbol.dispose]();
  JournalWriter.append(path, content)[Symbol.dispose]();
});

Deno.test("JournalWriter.append() locks the file: nobody else can append to it", () => {
  using folder = new Folder();
  const path = folder.write("a.jsonl", '{"a":1}\n');
  const content = readJournal(path);
  using _journal = JournalWriter.append(path, content);
  assertThrows(
    () => JournalWriter.append(path, content),
    InputError,
    "another run is writing to it",
  );
});

Deno.test("JournalWriter.append() refuses a file that has changed since it was read", () => {
  using folder = new Folder();
  const path = folder.write("a.jsonl", '{"a":1}\n');
  const content = readJournal(path);
  folder.write("a.jsonl", '{"a":1}\n{"b":2}\n');
  assertThrows(
    () => JournalWriter.append(path, content),
    InputError,
    "another run has just written",
  );
  assertEquals(folder.read("a.jsonl"), '{"a":1}\n{"b":2}\n');
});

Deno.test("JournalWriter.append() names a file that is gone or cannot be written", () => {
  using folder = new Folder();
  const path = folder.write("a.jsonl", "");
  const content = readJournal(path);
  Deno.removeSync(path);
  const error = assertThrows(() => JournalWriter.append(path, content), InputError);
  assertEquals(
    error.message,
    `Cannot write the journal ${path}: there is no such file or folder`,
  );
});

Deno.test("JournalWriter.write() names the file when it cannot be written any more", () => {
  using folder = new Folder();
  const path = folder.file("a.jsonl");
  const journal = JournalWriter.create(path);
  journal[Symbol.dispose]();
  assertThrows(() => journal.write({ a: 1 }), InputError, `Cannot write the journal ${path}: `);
});

/** Characters of two, three and four bytes. */
const WIDE = "é 日本 🜁";

/** Places in a journal: some of its beginning, and each byte of its last line. */
function cutsOf(bytes: Uint8Array): number[] {
  const last = bytes.lastIndexOf(10, bytes.length - 2);
  return Array.from({ length: bytes.length + 1 }, (_, cut) => cut)
    .filter((cut) => cut >= last - 2 || cut % 20 === 0);
}

Deno.test("readJournal() loses nothing but the torn line, wherever a journal or a character is cut in two", () => {
  using folder = new Folder();
  const { bytes, values } = realJournal(folder, WIDE);
  const expected = JSON.parse(JSON.stringify(values)) as unknown[];
  const ends = [...bytes.entries()].flatMap(([index, byte]) => byte === 10 ? [index] : []);
  for (const cut of cutsOf(bytes)) {
    const path = folder.write("cut.jsonl", bytes.subarray(0, cut));
    const content = readJournal(path);
    // A line counts as whole when nothing but its line break is missing.
    const whole = ends.filter((end) => end <= cut).length;
    const begun = cut === 0 ? 0 : whole === 0 ? 0 : Math.min(cut, ends[whole - 1]! + 1);
    assertEquals(valuesOf(content), expected.slice(0, whole), `cut at ${cut}`);
    assertEquals(content.tornBytes, cut - begun, `torn bytes, cut at ${cut}`);
    assertEquals(content.wholeBytes, begun, `whole bytes, cut at ${cut}`);
    assertEquals(content.unended, ends.includes(cut), `unended, cut at ${cut}`);
  }
});

Deno.test("JournalWriter.append() continues a journal wherever it, or a character, was cut in two", () => {
  using folder = new Folder();
  const { bytes, values } = realJournal(folder, WIDE);
  const expected = JSON.parse(JSON.stringify(values)) as unknown[];
  for (const cut of cutsOf(bytes)) {
    const path = folder.write("cut.jsonl", bytes.subarray(0, cut));
    const content = readJournal(path);
    {
      using journal = JournalWriter.append(path, content);
      journal.write({ more: cut });
    }
    const after = readJournal(path);
    assertEquals(after.tornBytes, 0);
    assertEquals(
      valuesOf(after),
      [...expected.slice(0, content.lines.length), { more: cut }],
      `cut at ${cut}`,
    );
  }
});

Deno.test("tornNotice() is what the design says", () => {
  assertEquals(tornNotice("run.jsonl", 17), "Dropped a torn last line of run.jsonl (17 bytes)");
});

Deno.test("readJournal() of an empty file, or of line breaks alone, has no lines", () => {
  using folder = new Folder();
  for (const text of ["", "\n", "\n\n", "\r\n"]) {
    const { lines, tornBytes, wholeBytes } = readJournal(folder.write("a.jsonl", text));
    assertEquals([lines.length, tornBytes, wholeBytes], [0, 0, text.length]);
  }
});

Deno.test("journalLines() refuses a journal that is not as it was written, and names the first wrong line", () => {
  using folder = new Folder();
  const values = [{ kind: "plan" }, { a: 1 }, { b: 2 }, { c: 3 }];
  const lines = linesOf(values).trimEnd().split("\n");
  const [plan, first, second, last] = lines as [string, string, string, string];
  const other = linesOf([{ kind: "other" }, ...values.slice(1)]).trimEnd().split("\n");
  const bare = JSON.stringify(values[2]);
  const cases: readonly (readonly [name: string, lines: readonly string[], line: number])[] = [
    ["edited", [plan, first, second.replace('"b":2', '"b":3'), last], 3],
    ["doubled", [plan, first, first, second, last], 3],
    ["taken out of the middle", [plan, first, last], 3],
    ["in another order", [plan, second, first, last], 2],
    ["moved to another journal", [other[0]!, first, second, last], 2],
    ["put into another journal", [plan, other[1]!, second, last], 2],
    ["without its checksum", [plan, first, bare, last], 3],
    ["without a first line", [first, second, last], 1],
  ];
  for (const [name, given, line] of cases) {
    const path = folder.write("a.jsonl", given.join("\n") + "\n");
    for (const unchecked of [false, true]) {
      const error = assertThrows(() => [...journalLines(path, { unchecked })], InputError);
      assertEquals(
        error.message,
        `Cannot use ${path}, line ${line} as the checksum of a line must follow from it and the ` +
          "line before: it was changed, or is not where its run wrote it",
        name,
      );
    }
  }
  const trial = JSON.stringify({ kind: "trial" });
  const none = folder.write("none.jsonl", `${trial}\n${trial}\n`);
  const error = assertThrows(() => [...journalLines(none)], InputError);
  assertEquals(
    error.message,
    `Cannot use ${none}, line 1 as each line of a journal must have a checksum: it has none; ` +
      "gate, check, accept, report, export and history add take a journal of another tool with --unchecked",
  );
  assertEquals([...journalLines(none, { unchecked: true })].length, 2);
  const mixed = folder.write("mixed.jsonl", `${trial}\n${first}\n`);
  assertThrows(() => readJournal(mixed), InputError, `${mixed}, line 2 as the checksum`);
  // A cut end looks like that of a run that was killed.
  const cut = folder.write("cut.jsonl", [plan, first].join("\n") + "\n");
  assertEquals([...journalLines(cut)].length, 2);
});

Deno.test("readJournal() takes CRLF line ends, and counts lines with empty ones between", () => {
  using folder = new Folder();
  const content = readJournal(folder.write("a.jsonl", '{"a":1}\r\n\r\n{"b":2}\r\n'));
  assertEquals(content.lines, [
    { value: { a: 1 }, line: 1, start: 0, bytes: 8 },
    { value: { b: 2 }, line: 3, start: 11, bytes: 8 },
  ]);
  assertEquals(content.tornBytes, 0);
});

Deno.test("readJournal() names file and line of a malformed line that is not the last", () => {
  using folder = new Folder();
  const path = folder.write("a.jsonl", '{"a":1}\n{"b":\n{"c":3}\n');
  const error = assertThrows(() => readJournal(path), InputError);
  assertEquals(error.message, `Cannot use ${path}: line 2 is not JSON`);
});

Deno.test("readJournal() takes a malformed last line with a line break for damage, not for torn", () => {
  using folder = new Folder();
  const path = folder.write("a.jsonl", '{"a":1}\n{"b":\n');
  assertThrows(() => readJournal(path), InputError, `Cannot use ${path}: line 2 is not JSON`);
});

Deno.test("readJournal() names a file that is not there, or is a folder", () => {
  using folder = new Folder();
  const path = folder.file("none.jsonl");
  const error = assertThrows(() => readJournal(path), InputError);
  assertEquals(error.message, `Cannot read ${path}: there is no such file or folder`);
  assertThrows(
    () => readJournal(folder.path),
    InputError,
    `Cannot read ${folder.path}: it is a folder`,
  );
});

/** Lines around the size of what is read at once, with characters of several bytes at its ends. */
function longJournal(folder: Folder, ends: string): { path: string; values: unknown[] } {
  const values = [-2, -1, 0, 1, 2].flatMap((shift) => [
    { words: WIDE.repeat(2 ** 16) + "x".repeat(2 + shift) },
    { short: shift },
  ]);
  const text = values.map((value) => JSON.stringify(value)).join("\n");
  return { path: folder.write("long.jsonl", text + ends), values };
}

Deno.test("readJournal() reads lines that are longer than what is read at once", () => {
  using folder = new Folder();
  for (const [ends, torn] of [["\n", 0], ["", 0], ['\n{"half', 6]] as const) {
    const { path, values } = longJournal(folder, ends);
    const content = readJournal(path);
    assertEquals(valuesOf(content), values);
    assertEquals([content.count, content.tornBytes], [values.length, torn]);
    assertEquals(content.unended, ends === "");
    assertEquals(content.wholeBytes + torn, Deno.statSync(path).size);
  }
});

Deno.test("journalLines() may be left before the end, and leaves no file open", () => {
  using folder = new Folder();
  const { path } = longJournal(folder, "\n");
  for (const { line } of journalLines(path, { unchecked: true })) if (line === 2) break;
  assertThrows(
    () => {
      for (const { line } of journalLines(path, { unchecked: true })) {
        throw new RangeError(`line ${line} is enough`);
      }
    },
    RangeError,
    "line 1 is enough",
  );
});

Deno.test("readLineAgain() gives the value of each line", () => {
  using folder = new Folder();
  const { path } = longJournal(folder, "\n");
  for (const { value, ...place } of journalLines(path, { unchecked: true })) {
    assertEquals(readLineAgain(path, place), value);
  }
});

Deno.test("readLineAgain() tells when the line is not there any more", () => {
  using folder = new Folder();
  const path = folder.write("a.jsonl", '{"a":1}\n{"b":2}\n');
  const { lines } = readJournal(path);
  folder.write("a.jsonl", '{"longer":1}\n');
  assertThrows(
    () => readLineAgain(path, lines[1]!),
    InputError,
    `Cannot use ${path}: line 2 was changed while it was in use`,
  );
});

Deno.test("readJournal() gives up on what is no journal before it fills the memory", () => {
  using folder = new Folder();
  const path = folder.file("zeros");
  using file = Deno.openSync(path, { write: true, create: true });
  file.truncateSync(2 ** 31);
  const error = assertThrows(() => readJournal(path), InputError);
  assertEquals(
    error.message,
    `Cannot use ${path}: line 1 is longer than any line of a journal`,
  );
});
