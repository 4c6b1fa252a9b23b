/**
 * What calls say that refuse their options, for tests that have many of them: a process for each would take
 * longer than all else.
 */

import { deno, folder, ROOT } from "./child.ts";

/**
 * The name and message of what each call throws, or "" of one that throws nothing. All of them stand in one
 * file that `deno test` runs, with leave to nothing but the loopback network.
 *
 * @throws {Error} If a test of that file was run.
 */
export async function refusalsOf(calls: readonly string[]): Promise<string[]> {
  await using temporary = await folder();
  const file = temporary.write(
    "calls.ts",
    [
      `import { benchmark, grid } from ${JSON.stringify(`file://${ROOT}/mod.ts`)};`,
      "const told = [], tell = (error) => told.push(`${error.name}: ${error.message}`);",
      "void [benchmark, grid];",
      ...calls.map((call) => `try { ${call}; told.push(""); } catch (error) { tell(error); }`),
      'console.log("TOLD", JSON.stringify(told));',
    ].join("\n"),
  );
  const { stdout, all } = await deno([
    ...["test", "--no-check", "--no-prompt", `--config=${ROOT}/deno.json`],
    ...["--allow-net=127.0.0.1", file],
  ]);
  const told = /TOLD (.*)/.exec(stdout)?.[1];
  if (told === undefined || / \.\.\. /.test(all)) throw new Error(all);
  return JSON.parse(told);
}
