import { assertEquals, assertThrows } from "@std/assert";
import * as deno from "../../lib/base/runtime/deno.ts";
import * as node from "../../lib/base/runtime/node.ts";
import { Folder } from "../support/folders.ts";

Deno.test("both runtimes export the same names", () => {
  assertEquals(Object.keys(node).sort(), Object.keys(deno).sort());
});

for (const [name, { openLocked }] of Object.entries({ deno, node })) {
  Deno.test(`a locked file is written at its end, and by one at a time (${name})`, () => {
    using folder = new Folder();
    const path = `${folder.path}/a.jsonl`;
    const file = openLocked(path, { create: true });
    const refused = assertThrows(() => openLocked(path, { create: false }), Error, "another run");
    assertEquals((refused as NodeJS.ErrnoException).code, "EBUSY");
    file.write("one\n");
    file.close();
    assertThrows(() => openLocked(path, { create: true }));
    const again = openLocked(path, { create: false });
    assertEquals(again.size, 4);
    again.truncate(2);
    again.write("é\n");
    again.close();
    assertEquals(Deno.readTextFileSync(path), "oné\n");
    assertEquals([...Deno.readDirSync(folder.path)].length, 1);
  });
}

Deno.test("the lock of an ended process is replaced, any other is not", async () => {
  using folder = new Folder();
  const path = folder.write("a.jsonl", "");
  const open = () => node.openLocked(path, { create: false });
  const file = open();
  const own = Deno.readTextFileSync(`${path}.lock`);
  file.close();
  const child = new Deno.Command(Deno.execPath(), { args: ["--version"], stdout: "null" }).spawn();
  await child.status;
  const ended = own.replace(/^\d+/, `${child.pid}`);
  // The other one with this number began earlier.
  for (const text of [ended, own.replace(/^(\d+) \d+/, "$1 1")]) {
    folder.write("a.jsonl.lock", text);
    open().close();
  }
  for (const text of [own, `${ended} another`, ""]) {
    folder.write("a.jsonl.lock", text);
    assertThrows(open, Error, `delete ${path}.lock`);
  }
});
