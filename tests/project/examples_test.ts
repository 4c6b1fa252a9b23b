// The examples of the public documentation, each a module of its own in this process: `deno test --doc` loads the library
// anew for each of them. Their types are checked by `deno task checks`.

import { assertGreater } from "@std/assert";
import { ROOT } from "../support/surroundings.ts";

/** An example, and the line in the documentation that it begins at. */
interface Example {
  readonly file: string;
  readonly line: number;
  readonly text: string;
}

/** The code modules below a folder. */
function* modulesBelow(path: string): Generator<string> {
  for (const { name, isDirectory } of Deno.readDirSync(`${ROOT}/${path}`)) {
    if (isDirectory) yield* modulesBelow(`${path}/${name}`);
    else if (name.endsWith(".ts")) yield `${path}/${name}`;
  }
}

function examplesOf(file: string): Example[] {
  const text = Deno.readTextFileSync(`${ROOT}/${file}`);
  return [...text.matchAll(/^ *\* ```ts\n([^]*?)^ *\* ```$/gm)].map((
    { 1: code, index },
  ) => ({
    file,
    line: text.slice(0, index).split("\n").length + 1,
    text: code!.replaceAll(/^ *\* ?/gm, ""),
  }));
}

const EXAMPLES = ["mod.ts", ...modulesBelow("lib")].flatMap(examplesOf);

Deno.test("the examples are found", () => assertGreater(EXAMPLES.length, 50));

for (const { file, line, text } of EXAMPLES) {
  Deno.test({
    name: `the example of ${file}, line ${line}, runs`,
    // Packages that an example imports keep timers and listeners, as they do at the top of a test file.
    sanitizeOps: false,
    sanitizeResources: false,
    fn: async () => {
      await import(`data:application/typescript,${encodeURIComponent(text)}`);
    },
  });
}
