import { assert, assertEquals, assertThrows } from "@std/assert";
import { run } from "../../lib/cli/run.ts";
import { type Flags, keptArguments, parseFlags } from "../../lib/testing/_flags.ts";
import { InputError } from "../../lib/base/errors.ts";
import { flagsAt } from "../../lib/runs/options.ts";
import { settingsOf } from "../../lib/runs/session.ts";

const parse = (flags: readonly string[]): Flags => parseFlags(flags, "benchmark b");

function faultOf(...flags: string[]): string {
  return assertThrows(() => parse(flags), InputError).message;
}

Deno.test("parseFlags() reads every flag, its value behind = or as the next word", () => {
  const values = {
    only: ["core=3 depth=2", { only: "core=3 depth=2" }],
    shard: ["2/5", { shard: { index: 2, of: 5 } }],
    seed: ["0", { seed: 0 }],
    out: ["a.jsonl", { journal: "a.jsonl" }],
    concurrency: ["8", { concurrency: 8 }],
    "max-tokens": ["100000", { maxTokens: 100_000 }],
    "max-usd": ["2.5", { maxUsd: 2.5 }],
    "requests-per-minute": ["60", { requestsPerMinute: 60 }],
    "tokens-per-minute": ["90000", { tokensPerMinute: 90_000 }],
    verdict: ["v.json", { verdict: "v.json" }],
    report: ["r.html", { report: ["r.html"] }],
  } as const;
  for (const [name, [value, flags]] of Object.entries(values)) {
    assertEquals(parse([`--${name}=${value}`]), flags as Flags);
    assertEquals(parse([`--${name}`, value]), flags as Flags);
  }
  assertEquals(parse(["--resume", "--retry-invalid", "--max-usd=1", "--max-tokens=2"]), {
    resume: true,
    retryInvalid: true,
    maxUsd: 1,
    maxTokens: 2,
  });
});

Deno.test("parseFlags() takes whole numbers in their range alone", () => {
  const names = ["concurrency", "max-tokens", "requests-per-minute", "tokens-per-minute"];
  for (const name of names) {
    for (const value of ["0", "1.5", "1e3", "x", "9007199254740993", "0x10", " 1"]) {
      assertEquals(
        faultOf(`--${name}=${value}`),
        `Cannot run benchmark b: --${name} must be a whole number from 1 on: it is ${value}`,
      );
    }
  }
});

Deno.test("parseFlags() takes dollars above 0, in plain decimals", () => {
  const amounts = [["5", 5], ["0.05", 0.05], [".5", 0.5], ["10.00", 10]] as const;
  for (const [text, usd] of amounts) {
    assertEquals(parse([`--max-usd=${text}`]).maxUsd, usd);
  }
  for (const value of ["0", "0.00", "-1", "1e3", "$5", "5,00", "x", "Infinity"]) {
    assertEquals(
      faultOf(`--max-usd=${value}`),
      `Cannot run benchmark b: --max-usd must be a number above 0: it is ${value}`,
    );
  }
});

Deno.test("parseFlags() refuses a flag whose value is missing", () => {
  for (const name of ["only", "shard", "seed", "out", "max-usd", "report"]) {
    for (const flags of [[`--${name}`], [`--${name}=`]]) {
      assertEquals(faultOf(...flags), `Cannot run benchmark b: --${name} needs a value`);
    }
  }
});

Deno.test("parseFlags() leaves alone what may well be the user's own", () => {
  for (const flag of ["--speed=2", "--send", "--self", "--share=1", "--reporter=x", "--verbose"]) {
    assertEquals(parse([flag, "--seed=7"]).seed, 7, flag);
  }
});

Deno.test("parseFlags() takes a flag that differs by a letter or two for a slip", () => {
  const slips = {
    "--concurency=4": ["concurency", "concurrency"],
    "--resum": ["resum", "resume"],
    "--retry_invalid": ["retry_invalid", "retry-invalid"],
    "--max-token=5": ["max-token", "max-tokens"],
    "--maxusd=5": ["maxusd", "max-usd"],
    "--verdicts=v.json": ["verdicts", "verdict"],
    "--reports=r.html": ["reports", "report"],
  };
  for (const [flag, [written, meant]] of Object.entries(slips)) {
    const message =
      `Cannot run benchmark b: there is no flag --${written}; did you mean --${meant}?`;
    assertEquals(faultOf(flag), message);
    assertEquals(faultOf("--seed=1", flag), message);
  }
});

Deno.test("parseFlags() leaves alone what belongs to the user's own tests, and says so", () => {
  const own = ["--update", "--env=staging", "--onyl=x", "-o", "file.ts", "only"];
  const told: string[] = [];
  const { error } = console;
  console.error = (words: string) => void told.push(words);
  try {
    assertEquals(parse([...own, "--seed=7"]), { seed: 7 });
  } finally {
    console.error = error;
  }
  assertEquals(told, [
    "toolgate has no flag --update and leaves it alone",
    "toolgate has no flag --env and leaves it alone",
    "toolgate has no flag --onyl and leaves it alone; did you mean --only?",
  ]);
});

Deno.test("settingsOf() takes one of the flags of recordings, in place of the option", () => {
  const recordings = { folder: "own", mode: "live" } as const;
  for (const mode of ["record", "replay", "auto"] as const) {
    const settings = settingsOf({ recordings }, parse([`--${mode}=kept`]));
    assertEquals(settings.recordings, { folder: "kept", mode });
  }
  assertEquals(settingsOf({ recordings }, {}).recordings, recordings);
  const auto = parse(["--record=auto"]);
  assertEquals(settingsOf({ recordings }, auto).recordings, { folder: "own", mode: "auto" });
  assertEquals(settingsOf({}, auto, () => "beside").recordings?.folder, "beside");
  assertEquals(settingsOf({}, parse(["--record=./auto"])).recordings, {
    ...{ folder: "./auto", mode: "record" },
  });
  assertThrows(
    () => settingsOf({}, parse(["--auto=kept", "--record=kept"])),
    InputError,
    "Cannot use --record and --auto together",
  );
});

Deno.test("settingsOf() adds limits of the budget to those of the option", () => {
  const budget = { tokens: 5, usd: 1 };
  assertEquals(settingsOf({ budget }, parse(["--max-tokens=9"])).budget, { tokens: 9, usd: 1 });
  assertEquals(settingsOf({ budget }, parse(["--max-usd=2"])).budget, { tokens: 5, usd: 2 });
  assertEquals(Object.values(settingsOf({}, parse([]))).filter((one) => one !== undefined), []);
});

Deno.test("parseFlags() takes no flag twice, as one of the two would be lost", () => {
  assertEquals(faultOf("--seed=1", "--seed=2"), "Cannot run benchmark b: --seed is given twice");
});

Deno.test("commands and tests read flags alike, and say the same of wrong ones", () => {
  const shared = flagsAt("deno test").filter(({ name }) =>
    flagsAt("run").some((flag) => flag.name === name)
  );
  assert(shared.length > 12);
  for (const { name, value } of shared) {
    const texts = value === undefined ? [`--${name}`] : ["7", "2/5", "0", "-1", "1.5", "x", ""]
      .map((text) => `--${name}=${text}`);
    for (const text of texts) {
      const [ofTest, ofRun] = [
        () => parse([text]),
        () => run.read("run", [text]),
      ].map((read) => {
        try {
          read();
          return "read";
        } catch (error) {
          const { message } = error as InputError;
          return message.replace(
            /^Cannot run [\w ]+: | \(see deno task toolgate run --help\)$/g,
            "",
          );
        }
      });
      assertEquals(ofTest, ofRun, text);
    }
  }
});

Deno.test("keptArguments() are what answers a trial or chooses its model, and never a secret", () => {
  const kept = (...given: string[]) => keptArguments(given, new Set(["gpt-5"]));
  assertEquals(kept("--seed=1", "--out", "a.jsonl", "--resume", "gpt-5", "--shard=1/2"), ["gpt-5"]);
  assertEquals(kept("--model", "gpt-5", "-m=gpt-5", "x", "--fast", "--record", "auto", "x y"), [
    ...["--model", "gpt-5", "-m=gpt-5", "--fast", "--record=auto"],
  ]);
  assertEquals(kept("--replay=a", "--record=b", "--auto", "c"), ["--replay=a", "--auto=c"]);
  const secrets = [
    ...[["--auth", "hunter2"], ["--pwd=hunter2"], ["-u", "bob:hunter2"], ["hunter2"]],
    ...[["--api-key=gpt-5"], ["sk-0123456789abcdef0123"], ["--", "--a\u001b[2J"]],
  ];
  for (const words of secrets) {
    assertEquals(kept(...words, "--replay=a"), ["--replay=a"], words.join(" "));
  }
});
