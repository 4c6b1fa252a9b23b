/**
 * What calls say that refuse their options or flags, for tests that have many of them: a process for each
 * would take longer than all else.
 */

import { deno, folder, ROOT } from "./child.ts";

/** A call as source text, and the flags behind `--` that it is to find. */
export interface Refused {
  readonly call: string;
  readonly flags: readonly string[];
}

const PRELUDE = `import { benchmark, grid } from ${JSON.stringify(`file://${ROOT}/mod.ts`)};
void [benchmark, grid];`;

/**
 * The name and message of what each call throws, or of the test that fails in its place, or "" for one that refuses
 * nothing. All of them stand in one file of `deno test`, which begins with `prelude` and may use the loopback network
 * and nothing else beside `permissions`. Of the tests that are registered none runs.
 */
export async function refusalsOf(
  calls: readonly (string | Refused)[],
  permissions: readonly string[] = [],
  prelude = PRELUDE,
): Promise<string[]> {
  await using temporary = await folder();
  const file = temporary.write(
    "calls.ts",
    [
      prelude,
      "let refused;",
      "Deno.test = new Proxy(Deno.test, { apply(test, self, [definition, ...more]) {",
      '  if (definition.fn?.name === "refused") refused = definition.fn;',
      "  else test(definition, ...more);",
      "} });",
      "const errorOf = (flags, call) => {",
      '  Object.defineProperty(Deno, "args", { value: flags, configurable: true });',
      '  try { refused = undefined; call(); refused?.(); return ""; }',
      "  catch (error) { return `${error.name}: ${error.message}`; }",
      "};",
      'console.log("TOLD", JSON.stringify([',
      ...calls.map((one) => typeof one === "string" ? { call: one, flags: [] } : one)
        .map(({ call, flags }) => `errorOf(${JSON.stringify(flags)}, () => void ${call}),`),
      "]));",
    ].join("\n"),
  );
  const { stdout, all } = await deno([
    ...["test", "--no-check", "--no-prompt", `--config=${ROOT}/deno.json`],
    ...["--allow-net=127.0.0.1", ...permissions, "--filter=/no test has such a name/", file],
  ]);
  const told = /TOLD (.*)/.exec(stdout)?.[1];
  if (told === undefined) throw new Error(all);
  return JSON.parse(told);
}
