// Simulated users under `deno test`: what suites, tests and variants have of one, and what baselines and seeds make of it.

import { assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { deno, folder, readLines, ROOT } from "../support/child.ts";

const FILE = `// @ts-nocheck: a user may write no types.
import { scripted, toolSuite } from "file://${ROOT}/mod.ts";
const model = ({ messages, scenario }, seed) => messages.length > 0
  ? { end: "done" }
  : \`\${scenario} \${seed}\`;
const { guidelines = "###STOP###", variants, seed, file } = JSON.parse(Deno.env.get("SETTING"));
const test = toolSuite("talk", {
  model: scripted("m", [{ text: "Hello." }]),
  tools: [],
  user: { model, guidelines },
  gate: file && { baseline: { file } },
  ...{ trials: 3, seed, variants },
});
test("one", { user: { scenario: "A" }, assert() {} });
`;

Deno.test("a simulated user is put together of suite, test and variant, and draws by the seed", async () => {
  await using place = await folder();
  place.write("talk_test.ts", FILE);
  const run = async (setting: object, out?: string) => {
    const flags = out === undefined ? [] : ["--", `--out=${out}`];
    const { all } = await deno([
      ...["test", "-A", "--no-check", "--no-lock", `--config=${ROOT}/deno.json`, "talk_test.ts"],
      ...flags,
    ], { cwd: place.path, env: { SETTING: JSON.stringify(setting) } });
    return all;
  };
  const said = (file: string) =>
    readLines(place.file(file)).slice(1).flatMap((trial) =>
      trial.kind === "trial" ? [`${trial.variant} ${trial.transcript.prompt.value}`] : []
    );

  await run(
    { seed: 1, variants: { a: { system: "Be brief." }, b: { user: { scenario: "B" } } } },
    "v.jsonl",
  );
  const [a, b] = ["a", "b"].map((name) => said("v.jsonl").filter((one) => one.startsWith(name)));
  assertEquals(a!.map((one) => one.replace("a A ", "b B ")), b);
  assertEquals(new Set(b).size, 3);

  await run({ seed: "fresh" }, "f.jsonl");
  await run({ seed: "fresh" }, "g.jsonl");
  assertNotEquals(said("f.jsonl"), said("g.jsonl"));

  const variants = (scenario: string) => ({ a: { user: {} }, b: { user: { scenario } } });
  await run({ seed: 1, variants: variants("B") }, "w.jsonl");
  assertMatch(
    await run({ seed: 1, variants: variants("C"), file: "w.jsonl" }),
    /Cannot compare with w\.jsonl as its simulated users must be the same/,
  );

  await run({ seed: 1 }, "base.jsonl");
  assertMatch(await run({ seed: 1, file: "base.jsonl" }), /m \(simulated\): UNDECIDED/);
  assertMatch(
    await run({ seed: 1, file: "base.jsonl", guidelines: "###STOP### Be kind." }),
    /Cannot compare with base\.jsonl as its simulated users must be the same .*: they differ in one$/m,
  );
});
