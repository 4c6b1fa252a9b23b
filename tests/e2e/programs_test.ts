// What other programs make of what lib/ writes, and lib/ of what they write: shells, pipes and git.

import { assertEquals } from "@std/assert";
import { writeOutput } from "../../lib/base/output_file.ts";
import { shellQuote } from "../../lib/base/shell_quote.ts";
import { readClone } from "../../lib/base/clone.ts";
import { command, folder, start } from "../support/child.ts";
import fc from "../support/fast_check.ts";
import { HOSTILE } from "../support/records.ts";

Deno.test("shellQuote() gives words that shells read back as they were", async () => {
  const odd = [
    ...["", "'", "''", "$(exit 9)", "`exit 9`", "a\nb", "\\", "!!", "~", "*", "-", "=", "é 日"],
    ...[HOSTILE, "a'\\''".repeat(60)],
  ];
  const any = fc.sample(fc.string({ unit: fc.character(), maxLength: 60 }), 500);
  // Arguments of programs hold everything but NUL.
  const words = [...odd, ...any].map((word) => word.replaceAll("\0", "").toWellFormed());
  for (const shell of ["sh", "bash"]) {
    const line = `printf '%s\\0' ${words.map(shellQuote).join(" ")}`;
    const { stdout, code, all } = await start(shell, ["-c", line]).finished;
    assertEquals(code, 0, all);
    assertEquals(stdout.split("\0").slice(0, -1), words, shell);
  }
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
      writeOutput(pipe, "text", "the report to");
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

Deno.test("readClone() reads the commit of a branch, of packed branches, of none and of a worktree", async () => {
  await using place = await folder();
  const git = async (cwd: string, ...line: string[]) => {
    const own = ["-c", "user.name=me", "-c", "user.email=me@example.com", "-c", "gc.auto=0"];
    const { code, stdout, stderr } = await command("git", [...own, ...line], { cwd }).output();
    assertEquals(code, 0, new TextDecoder().decode(stderr));
    return new TextDecoder().decode(stdout).trim();
  };
  const one = place.file("one");
  Deno.mkdirSync(one);
  assertEquals(readClone(one), { folder: one });
  await git(one, "init", "--quiet", "--initial-branch=topic/c++#1@é");
  const none = { folder: one, repository: undefined, commit: undefined };
  assertEquals(readClone(one), none);
  await git(one, "commit", "--quiet", "--allow-empty", "--message=1");
  const first = await git(one, "rev-parse", "HEAD");
  await git(one, "remote", "add", "other", "https://example.com/other");
  assertEquals(readClone(one), { ...none, commit: first });
  await git(one, "remote", "add", "origin", "https://me:secret@example.com/one.git");
  const repository = "https://example.com/one.git";
  assertEquals(readClone(one), { folder: one, repository, commit: first });
  await git(one, "pack-refs", "--all");
  assertEquals(readClone(one), { folder: one, repository, commit: first });
  await git(one, "worktree", "add", "--quiet", "-b", "two", "../two");
  const two = place.file("two");
  await git(two, "commit", "--quiet", "--allow-empty", "--message=2");
  const second = await git(two, "rev-parse", "HEAD");
  assertEquals(readClone(two), { folder: two, repository, commit: second });
  await git(one, "checkout", "--quiet", "--detach", second);
  assertEquals(readClone(one), { folder: one, repository, commit: second });
});
