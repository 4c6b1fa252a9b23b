import { assertEquals, assertInstanceOf, assertStringIncludes, assertThrows } from "@std/assert";
import { z } from "zod";
import { parseWith, readJsonc, readText } from "../../lib/base/input.ts";
import { fileReason, InputError, reasonOf } from "../../lib/base/errors.ts";
import { Folder } from "../support/folders.ts";

const SCHEMA = z.strictObject({
  name: z.string(),
  sizes: z.array(z.strictObject({ core: z.int().min(1) })),
});

Deno.test("parseWith() gives the value that the schema makes of it", () => {
  const schema = z.object({ count: z.int().default(5) });
  assertEquals(parseWith(schema, {}, "it"), { count: 5 });
});

Deno.test("parseWith() names the source, and path and rule of the first faults, unknown names before others", () => {
  const value = { name: 1, sizes: [{ core: 2 }, { core: 0 }], more: true };
  const error = assertThrows(() => parseWith(SCHEMA, value, "the suite"), InputError);
  assertEquals(error.message.split("\n"), [
    "Cannot use the suite:",
    '  at the top: Unrecognized key: "more"; there are name, sizes',
    "  at name: expected string, received number; and 1 more",
  ]);
  assertThrows(
    () => parseWith(SCHEMA, { ...value, name: "n", more: undefined }, "it"),
    InputError,
    "  at sizes[1].core: must be at least 1: it is 0",
  );
});

Deno.test("parseWith() tells what is missing, and of an unknown name what it is and which is near", () => {
  const mode = z.enum(["parameters", "routing", "tools"]);
  const schema = z.strictObject({
    core: z.union([z.int(), z.array(z.int())]),
    mode: z.union([mode, z.array(mode)]),
  });
  const faultsOf = (value: object) =>
    assertThrows(() => parseWith(schema, value, "it"), InputError).message.split("\n").slice(1);
  assertEquals(faultsOf({ mode: "tools" }), ["  at core: it is missing: expected number or array"]);
  assertEquals(faultsOf({ mode: "tools", core: "3" }), [
    "  at core: expected number or array, received string",
  ]);
  const known = 'expected one of "parameters"|"routing"|"tools": it is';
  assertEquals(faultsOf({ core: 3, mode: "paramters" }), [
    `  at mode: ${known} "paramters"; did you mean parameters?`,
  ]);
  assertEquals(faultsOf({ core: 3, mode: ["x"] }), [`  at mode[0]: ${known} "x"`]);
});

Deno.test("parseWith() calls the whole value the top", () => {
  for (const value of [null, 7, "text", []]) {
    assertThrows(() => parseWith(SCHEMA, value, "it"), InputError, "at the top: ");
  }
});

Deno.test("InputError is an error with a name of its own", () => {
  const error = new InputError("no");
  assertInstanceOf(error, Error);
  assertEquals(`${error}`, "InputError: no");
});

Deno.test("reasonOf() gives the message alone", () => {
  assertEquals(reasonOf(new TypeError("it broke")), "it broke");
  assertEquals(reasonOf("it broke"), "it broke");
  assertEquals(reasonOf(undefined), "undefined");
});

Deno.test("fileReason() puts the usual causes into words", () => {
  const reasonFor = (code: string) => fileReason(Object.assign(new Error("x"), { code }));
  assertEquals(reasonFor("ENOENT"), "there is no such file or folder");
  assertEquals(reasonFor("EACCES"), "the system does not permit it");
  assertEquals(reasonFor("EISDIR"), "it is a folder");
  const refused = new Deno.errors.NotCapable(
    'Requires read access to "a.txt", run again with the --allow-read flag',
  );
  assertEquals(
    fileReason(refused),
    'Deno was not given the permission: Requires read access to "a.txt"; ' +
      "allow it with --allow-read=a.txt",
  );
  assertEquals(
    fileReason(
      new Deno.errors.NotCapable(
        'Requires write access to "/a/b.txt", run again with the --allow-write flag',
      ),
    ),
    'Deno was not given the permission: Requires write access to "/a/b.txt"; ' +
      "allow it with --allow-write=/a",
  );
  const other = 'Requires net access to "h:1", run again with the --allow-net flag';
  assertEquals(
    fileReason(new Deno.errors.NotCapable(other)),
    'Deno was not given the permission: Requires net access to "h:1"',
  );
  assertEquals(fileReason(new Error("odd")), "odd");
});

Deno.test("readText() gives a file's text", () => {
  using folder = new Folder();
  assertEquals(readText(folder.write("a.txt", "é\n日本")), "é\n日本");
});

Deno.test("readText() names a file that cannot be read, and why", () => {
  using folder = new Folder();
  const path = folder.file("none.txt");
  const error = assertThrows(() => readText(path), InputError);
  assertEquals(error.message, `Cannot read ${path}: there is no such file or folder`);
  assertThrows(
    () => readText(folder.path),
    InputError,
    `Cannot read ${folder.path}: it is a folder`,
  );
});

Deno.test("readJsonc() reads JSON with comments and trailing commas", () => {
  using folder = new Folder();
  const path = folder.write(
    "a.jsonc",
    '// a comment\n{ "name": "n", /* another */ "sizes": [{ "core": 1 },], }\n',
  );
  assertEquals(readJsonc(path, SCHEMA), { name: "n", sizes: [{ core: 1 }] });
});

Deno.test("readJsonc() names a file that is no JSON", () => {
  using folder = new Folder();
  for (const text of ["", "{", '{ "name": }', "name: n"]) {
    const path = folder.write("a.jsonc", text);
    const error = assertThrows(() => readJsonc(path, SCHEMA), InputError);
    assertStringIncludes(error.message, `Cannot use ${path}: it is not JSON with comments: `);
  }
});

Deno.test("readJsonc() names file, path and rule of a wrong value", () => {
  using folder = new Folder();
  const path = folder.write("a.jsonc", '{ "name": "n", "sizes": [{ "core": 0 }] }');
  const error = assertThrows(() => readJsonc(path, SCHEMA), InputError);
  assertStringIncludes(
    error.message,
    `Cannot use ${path}:\n  at sizes[0].core: must be at least 1`,
  );
});

Deno.test("parseWith() tells of many faults the first ones, and how many more there are", () => {
  const value = { name: "s", sizes: new Array(1_000).fill({ core: 0 }) };
  const { message } = assertThrows(() => parseWith(SCHEMA, value, "it"), InputError);
  const lines = message.split("\n");
  assertEquals(lines.length, 3);
  assertStringIncludes(lines.at(-2)!, "at sizes[0].core");
  assertEquals(lines.at(-1), "  at sizes[1].core: must be at least 1: it is 0; and 998 more");
});

Deno.test("readJsonc() refuses what nests deeper than others could follow", () => {
  using folder = new Folder();
  const nested = (levels: number) => `{"a":`.repeat(levels) + "1" + "}".repeat(levels);
  const rules = z.looseObject({});
  readJsonc(folder.write("a.json", nested(500)), rules);
  const path = folder.write("b.json", nested(501));
  const { message } = assertThrows(() => readJsonc(path, rules), InputError);
  assertEquals(
    message,
    `Cannot use ${path}: it must nest at most 500 levels deep, and nests deeper`,
  );
});
