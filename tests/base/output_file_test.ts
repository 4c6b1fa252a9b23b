import {
  assert,
  assertEquals,
  assertMatch,
  assertNotEquals,
  assertRejects,
  assertThrows,
} from "@std/assert";
import { InputError } from "../../lib/base/errors.ts";
import { Output, resolvePath, writeOutput } from "../../lib/base/output_file.ts";
import { makeReport } from "../../lib/reports/report.ts";
import { writeHtml } from "../../lib/reports/html.ts";
import { deno, type Finished, type Folder, folder, ROOT, start } from "../support/child.ts";
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
  const report = makeReport([record()], { suite: "s" });
  await assertRejects(
    () => writeHtml(path, report, trials(), { rerun: () => undefined }),
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

Deno.test({
  name: "writeOutput() writes to a pipe, and leaves it a pipe",
  ignore: Deno.build.os === "windows",
  fn: async () => {
    await using place = await folder();
    const pipe = place.file("pipe");
    assertEquals((await start("mkfifo", [pipe]).finished).code, 0);
    const reader = start("cat", [pipe]);
    try {
      writeOutput(pipe, "text", WHAT);
      assertEquals(Deno.lstatSync(pipe).isFifo, true, "no file may take its place");
      assertEquals((await reader.finished).stdout, "text");
    } finally {
      // It would wait for ever if nothing was written to the pipe.
      try {
        reader.process.kill();
      } catch {
        // It has ended.
      }
      await reader.finished;
    }
    assertEquals(place.names(), ["pipe"]);
  },
});

/** Runs a line of a program that has just these permissions; `FOLDER` stands for its folder. */
function withPermissions(
  place: Folder,
  line: string,
  permissions: readonly string[],
): Promise<Finished> {
  const module = JSON.stringify(`file://${ROOT}/lib/base/output_file.ts`);
  const path = place.write("program.ts", `import * as output from ${module};\n${line}\n`);
  return deno([
    ...["run", "--no-check", "--no-prompt", `--config=${ROOT}/deno.json`],
    ...permissions.map((one) => one.replace("FOLDER", place.path)),
    path,
  ], { cwd: place.path });
}

Deno.test("writeOutput() does with whatever permission lets a file be written", async (context) => {
  // Two names of one file tell whether it was written to or another has taken its place.
  const cases: [permissions: string[], written: "in place" | "beside"][] = [
    [["--allow-write=FOLDER"], "in place"],
    [["--allow-write=FOLDER/r.html"], "in place"],
    [["--allow-read=FOLDER", "--allow-write=FOLDER/r.html"], "in place"],
    [["--allow-read=FOLDER/r.html", "--allow-write=FOLDER"], "in place"],
    [["--allow-read=FOLDER/r.html", "--allow-write=FOLDER/r.html"], "in place"],
    [["--allow-read=FOLDER", "--allow-write=FOLDER"], "beside"],
  ];
  const line = `output.writeOutput("r.html", "text", "${WHAT}");`;
  for (const [permissions, written] of cases) {
    await context.step(permissions.join(" "), async () => {
      await using place = await folder();
      Deno.linkSync(place.write("r.html", OLD), place.file("twin"));
      const finished = await withPermissions(place, line, permissions);
      assertEquals([finished.code, finished.stderr], [0, ""], finished.all);
      const { "program.ts": _, ...files } = contents(place);
      assertEquals(files, { "r.html": "text", twin: written === "beside" ? OLD : "text" });
    });
  }
  await context.step("none", async () => {
    await using place = await folder();
    place.write("r.html", OLD);
    const finished = await withPermissions(place, line, ["--allow-read=FOLDER"]);
    assertEquals(finished.code, 1, finished.all);
    assertMatch(
      finished.stderr,
      /Cannot write the report to r\.html: Deno was not given the permission/,
    );
    assertEquals(contents(place)["r.html"], OLD);
    assertEquals(place.names(), ["program.ts", "r.html"]);
  });
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
  // However it is named, it is told from where the program stands.
  const own = ROOT.slice(ROOT.lastIndexOf("/") + 1);
  assertEquals(new Set(["x", "./x", `../${own}/x`, `${ROOT}/x`].map(resolvePath)).size, 1);
});

Deno.test("resolvePath() tells names apart as far as it may without permission to read", async () => {
  await using place = await folder();
  place.write("a", "");
  const line = `const names = ["a", "./a", "gone/../a", "b"];
console.log(JSON.stringify(names.map(output.resolvePath)));`;
  const finished = await withPermissions(place, line, []);
  assertEquals([finished.code, finished.stderr], [0, ""], finished.all);
  const [a, ...others]: string[] = JSON.parse(finished.stdout);
  assertEquals(others, [a, a, `${place.path}/b`]);
  assert(a !== others[2]);
});
