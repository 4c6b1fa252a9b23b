import { assertEquals, assertNotEquals, assertRejects, assertThrows } from "@std/assert";
import { InputError } from "../../lib/base/errors.ts";
import { Output, resolvePath, writeOutput } from "../../lib/base/output_file.ts";
import { Report } from "../../lib/reports/report.ts";
import { writeHtml } from "../../lib/reports/html.ts";
import { type Folder, folder, ROOT } from "../support/child.ts";
import { record } from "../support/records.ts";

const WHAT = "the report to";
const OLD = "an earlier report\n";

/** What is in a folder, and what its files hold. */
function contents(place: Folder): Record<string, string> {
  return Object.fromEntries(
    place.names().map((name) => [name, Deno.readTextFileSync(place.file(name))]),
  );
}

Deno.test("Output leaves the old file whole until the new one is", async () => {
  await using place = await folder();
  const path = place.write("r.html", OLD);
  {
    using output = new Output(path, WHAT);
    output.write("a new");
    assertEquals(Deno.readTextFileSync(path), OLD);
    output.write(" report: é\n");
    assertEquals(Deno.readTextFileSync(path), OLD);
    output.finish();
    assertEquals(Deno.readTextFileSync(path), "a new report: é\n");
  }
  assertEquals(contents(place), { "r.html": "a new report: é\n" });
});

Deno.test("Output that is not finished leaves all as it was", async () => {
  await using place = await folder();
  place.write("r.html", OLD);
  for (const name of ["r.html", "new.html"]) {
    assertThrows(
      () => {
        using output = new Output(place.file(name), WHAT);
        output.write("half");
        throw new Error("the journal is broken");
      },
      Error,
      "the journal is broken",
    );
    assertEquals(contents(place), { "r.html": OLD });
  }
});

Deno.test("writeHtml() leaves the old report where a trial cannot be read", async () => {
  await using place = await folder();
  const path = place.write("r.html", OLD);
  const trials = function* () {
    yield record();
    throw new InputError("line 3 is not JSON");
  };
  const report = new Report([record()], { suite: "s" });
  await assertRejects(
    () => writeHtml(path, report, trials(), { rerun: () => "again" }),
    InputError,
    "line 3 is not JSON",
  );
  assertEquals(contents(place), { "r.html": OLD });
});

Deno.test("Output takes the place of a longer file", async () => {
  await using place = await folder();
  place.write("r.html", OLD.repeat(100));
  writeOutput(place.file("r.html"), "short", WHAT);
  assertEquals(contents(place), { "r.html": "short" });
});

Deno.test("Output writes over no file but its own, whatever it calls the unfinished one", async () => {
  await using place = await folder();
  const path = place.file("r.html");
  /** What an unfinished file is called. */
  const beside = () => {
    using output = new Output(path, WHAT);
    output.write("half");
    return place.names().filter((name) => name !== "r.html");
  };
  assertNotEquals(beside(), beside(), "whoever could guess it could put a link there");
  const names = [...beside(), "r.html.part", "r.html.new", "r.html~"];
  for (const name of names) place.write(name, "a journal");
  writeOutput(path, "text", WHAT);
  assertEquals(contents(place), {
    "r.html": "text",
    ...Object.fromEntries(names.map((name) => [name, "a journal"])),
  });
});

Deno.test("writeOutput() makes the folders on the way", async () => {
  await using place = await folder();
  writeOutput(place.file("new/deep/r.html"), "text", WHAT);
  assertEquals(Deno.readTextFileSync(place.file("new/deep/r.html")), "text");
  assertEquals([...Deno.readDirSync(place.file("new/deep"))].map(({ name }) => name), ["r.html"]);
});

Deno.test("writeOutput() tells what stands in its way, and leaves nothing", async () => {
  await using place = await folder();
  place.write("text", OLD);
  Deno.mkdirSync(place.file("folder"));
  for (
    const [name, reason] of [
      ["folder", "it is a folder"],
      ["text/r.html", "a part of its path is no folder"],
      ["text/deep/r.html", "a part of its path is no folder"],
    ] as const
  ) {
    const path = place.file(name);
    const { message } = assertThrows(() => writeOutput(path, "text", WHAT), InputError);
    assertEquals(message, `Cannot write the report to ${path}: ${reason}`);
  }
  assertEquals(place.names(), ["folder", "text"]);
  assertEquals(Deno.readTextFileSync(place.file("text")), OLD);
});

// Nothing holds back root.
Deno.test({
  name: "writeOutput() writes to a file of a folder in which none can be made",
  ignore: Deno.uid() === 0,
  fn: async () => {
    await using place = await folder();
    Deno.mkdirSync(place.file("fixed"));
    place.write("fixed/r.html", OLD);
    Deno.chmodSync(place.file("fixed"), 0o555);
    try {
      writeOutput(place.file("fixed/r.html"), "text", WHAT);
      assertEquals(Deno.readTextFileSync(place.file("fixed/r.html")), "text");
      assertThrows(
        () => writeOutput(place.file("fixed/new.html"), "text", WHAT),
        InputError,
        "the system does not permit it",
      );
    } finally {
      Deno.chmodSync(place.file("fixed"), 0o755);
    }
  },
});

Deno.test("writeOutput() writes through a link, and leaves it a link", async () => {
  await using place = await folder();
  place.write("real.html", OLD);
  Deno.symlinkSync("real.html", place.file("link"));
  writeOutput(place.file("link"), "text", WHAT);
  assertEquals(Deno.readLinkSync(place.file("link")), "real.html");
  assertEquals(contents(place), { link: "text", "real.html": "text" });
});

Deno.test("resolvePath() is one for all names of a file, and another for another", async () => {
  await using place = await folder();
  place.write("a", "");
  Deno.mkdirSync(place.file("dir"));
  Deno.symlinkSync("a", place.file("link"));
  Deno.symlinkSync(place.file("dir"), place.file("door"));
  const groups = [
    ["a", "./a", "dir/../a", "dir/.././/a", "link", "door/../a"],
    ["new", "./new", "dir/../new"],
    ["dir/new", "door/new", "dir/./new", "dir/gone/../new"],
    // Its folder is yet to be made too.
    ["dir/gone/new", "door/gone/new", "door/gone/../gone/new"],
    ["dir/gone/far/new", "door/gone/far/new"],
    ["dir", "door", "dir/", "dir/gone/.."],
    ["gone/a"],
    ["dir/a"],
  ];
  const places = groups.map((names) =>
    new Set(names.map((name) => resolvePath(`${place.path}/${name}`)))
  );
  assertEquals(places.map(({ size }) => size), groups.map(() => 1));
  assertEquals(new Set(places.flatMap((own) => [...own])).size, groups.length);
  // However it is named, the message has its path from where the program stands.
  const own = ROOT.slice(ROOT.lastIndexOf("/") + 1);
  assertEquals(new Set(["x", "./x", `../${own}/x`, `${ROOT}/x`].map(resolvePath)).size, 1);
});
