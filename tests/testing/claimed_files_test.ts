import { assertEquals, assertGreater, assertMatch, assertThrows } from "@std/assert";
import { InputError } from "../../lib/base/errors.ts";
import { claimFile, withFileNames } from "../../lib/testing/_claimed_files.ts";
import fc from "../support/fast_check.ts";

Deno.test("claimFile() leaves room for processes that tests start", () => {
  const before = Object.keys(Deno.env.toObject());
  for (let test = 0; test < 2_000; test++) {
    const file = `/results/of/a/project/with/long/names/of/tests/${test}_${"x".repeat(60)}.jsonl`;
    claimFile({ name: `${test}`, subject: `tool test ${test}` }, file, "trials");
  }
  const added = Object.keys(Deno.env.toObject()).filter((name) => !before.includes(name));
  try {
    // Linux gives a variable 128 KiB, and all of them together a few MiB.
    const sizes = added.map((name) => name.length + Deno.env.get(name)!.length);
    assertGreater(2 ** 17, Math.max(...sizes));
    assertGreater(2 ** 19, sizes.reduce((sum, size) => sum + size, 0));
  } finally {
    for (const name of added) Deno.env.delete(name);
  }
});

Deno.test("claimFile() tells suites of one name to take others: a folder would not tell them apart", () => {
  const claim = (name: string, file: string) => () =>
    claimFile({ name, subject: `tool suite ${name}` }, file, "trials");
  claim("own desk", "/results/own_desk.jsonl")();
  assertThrows(
    claim("Own-Desk", "/results/own_desk.jsonl"),
    InputError,
    "another one, own desk, has it, and files are named after them. Give one of them another name",
  );
  assertThrows(
    claim("support", "/results/own_desk.jsonl"),
    InputError,
    "own desk has it. Give a folder, such as /results/own_desk/, in which each has a file of its own",
  );
});

Deno.test("withFileNames() names the files in a folder after suite and test file", () => {
  const names = (file: string | undefined, folder = "results/") =>
    withFileNames(
      { journal: folder, report: [folder, "own.md"], verdict: folder },
      { name: "Support desk", file },
    );
  assertEquals(names("tests/refunds_test.ts"), {
    journal: "results/support_desk.tests.refunds_test.jsonl",
    folder: "results/",
    ofFiles: true,
    report: ["results/support_desk.tests.refunds_test.html", "own.md"],
    verdict: "results/support_desk.tests.refunds_test.json",
  });
  assertEquals(names(undefined), {
    journal: "results/support_desk.jsonl",
    folder: undefined,
    ofFiles: false,
    report: ["results/support_desk.html", "own.md"],
    verdict: "results/support_desk.json",
  });
  const own = { journal: "a.jsonl", report: "a.html" };
  assertEquals(withFileNames(own, { name: "s", file: "a_test.ts" }), {
    ...own,
    folder: undefined,
    ofFiles: true,
    report: ["a.html"],
    verdict: undefined,
  });
  assertMatch(
    names("/elsewhere/Ünï test.tsx").journal!,
    /^results\/support_desk\.elsewhere\._n_test_tsx\+[0-9a-f]{8}\.jsonl$/,
  );
});

Deno.test("withFileNames() gives each test file a name of its own that every file system takes", () => {
  // Of these many differ only in what a name cannot show.
  const word = fc.stringMatching(/^[aA._ -]{1,3}$|^[ä日*:"]$|^a{200}$/);
  const path = fc.array(word, { minLength: 1, maxLength: 3 })
    .map((words) => words.join("/"))
    .chain((path) => fc.constantFrom("", ".ts", ".tsx", ".js").map((ending) => path + ending));
  const nameOf = (file: string) =>
    withFileNames({ journal: "r/" }, { name: "s", file }).journal!.slice("r/".length);
  fc.assert(fc.property(fc.uniqueArray(path, { minLength: 2, maxLength: 20 }), (paths) => {
    const names = paths.map(nameOf);
    // Many file systems do not tell upper case from lower case.
    assertEquals(new Set(names.map((name) => name.toLowerCase())).size, paths.length);
    for (const name of names) assertMatch(name, /^[a-z0-9][a-z0-9._+-]{0,220}\.jsonl$/);
  }));
});
