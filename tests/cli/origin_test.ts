import { assertEquals } from "@std/assert";
import { publicAddress } from "../../lib/base/clone.ts";

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
