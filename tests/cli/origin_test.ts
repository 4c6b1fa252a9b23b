import { assertEquals } from "@std/assert";
import { publicAddress, readClone } from "../../lib/cli/origin.ts";
import { command, folder } from "../support/child.ts";

Deno.test("publicAddress() names where anyone may clone from, and no credentials", () => {
  const table: readonly [address: string, found: string | undefined][] = [
    ["https://github.com/someone/toolgate.git", "https://github.com/someone/toolgate.git"],
    ["https://me:secret@example.com:8443/a/b", "https://example.com:8443/a/b"],
    ["https://example.com/a?token=secret", "https://example.com/a"],
    ["git@github.com:someone/toolgate.git", "https://github.com/someone/toolgate.git"],
    ["ssh://git@example.com/someone/toolgate", "https://example.com/someone/toolgate"],
    // Over https there is no such port, and 2222 is no folder.
    ["ssh://git@example.com:2222/someone/toolgate", undefined],
    ["/home/me/toolgate", undefined],
    ["../toolgate", undefined],
    ["file:///home/me/toolgate", undefined],
    ["https://example.com/a'; rm -rf $HOME; '", undefined],
  ];
  for (const [address, found] of table) assertEquals(publicAddress(address), found, address);
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
  await git(one, "init", "--quiet", "--initial-branch=topic/x");
  assertEquals(readClone(one), { folder: one });
  await git(one, "commit", "--quiet", "--allow-empty", "--message=1");
  const first = await git(one, "rev-parse", "HEAD");
  await git(one, "remote", "add", "other", "https://example.com/other");
  assertEquals(readClone(one), { folder: one, commit: first });
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
