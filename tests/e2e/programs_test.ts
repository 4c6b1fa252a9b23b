// What other programs make of what lib/ writes, and lib/ of what they write: shells, pipes and git.

import { assertEquals } from "@std/assert";
import { writeOutput } from "../../lib/base/output_file.ts";
import { shellQuote } from "../../lib/base/shell_quote.ts";
import { commitOf } from "../../lib/base/clone.ts";
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

Deno.test("commitOf() reads the commit of a branch, of packed branches, of none and of a worktree", async () => {
  await using place = await folder();
  const git = async (cwd: string, ...line: string[]) => {
    const own = ["-c", "user.name=me", "-c", "user.email=me@example.com", "-c", "gc.auto=0"];
    const { code, stdout, stderr } = await command("git", [...own, ...line], { cwd }).output();
    assertEquals(code, 0, new TextDecoder().decode(stderr));
    return new TextDecoder().decode(stdout).trim();
  };
  const one = place.file("one");
  Deno.mkdirSync(one);
  assertEquals(commitOf(one), undefined);
  await git(one, "init", "--quiet", "--initial-branch=topic/c++#1@é");
  assertEquals(commitOf(one), undefined);
  await git(one, "commit", "--quiet", "--allow-empty", "--message=1");
  const first = await git(one, "rev-parse", "HEAD");
  assertEquals(commitOf(one), first);
  await git(one, "pack-refs", "--all");
  assertEquals(commitOf(one), first);
  await git(one, "worktree", "add", "--quiet", "-b", "two", "../two");
  const two = place.file("two");
  await git(two, "commit", "--quiet", "--allow-empty", "--message=2");
  const second = await git(two, "rev-parse", "HEAD");
  assertEquals(commitOf(two), second);
  await git(one, "checkout", "--quiet", "--detach", second);
  assertEquals(commitOf(one), second);
});
