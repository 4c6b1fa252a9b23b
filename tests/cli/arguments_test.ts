import { assertEquals } from "@std/assert";
import { userPath } from "../../lib/cli/arguments.ts";

Deno.test("userPath() leaves a path as the user wrote it where the command stands in his folder", () => {
  const { get } = Deno.env;
  const pathIn = (folder: string | undefined, path: string) => {
    Deno.env.get = (name) => name === "INIT_CWD" ? folder : get(name);
    try {
      return userPath(path);
    } finally {
      Deno.env.get = get;
    }
  };
  assertEquals(pathIn(undefined, "results/a.jsonl"), "results/a.jsonl");
  // `deno task` names the folder also where that is the project's: verdicts and reports show these paths.
  assertEquals(pathIn(Deno.cwd(), "results/a.jsonl"), "results/a.jsonl");
  assertEquals(pathIn("/home/me/mine", "results/a.jsonl"), "/home/me/mine/results/a.jsonl");
  assertEquals(pathIn("/home/me/mine", "/results/a.jsonl"), "/results/a.jsonl");
});
