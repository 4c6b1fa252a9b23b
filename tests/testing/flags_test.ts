import { assertEquals, assertThrows } from "@std/assert";
import { type Flags, parseFlags } from "../../lib/testing/_flags.ts";
import { InputError } from "../../lib/base/errors.ts";

const NONE: Flags = {
  only: undefined,
  shard: undefined,
  seed: undefined,
  out: undefined,
  concurrency: undefined,
  resume: false,
  retryInvalid: false,
  budget: {},
  rates: {},
  recordings: undefined,
  verdict: undefined,
  report: undefined,
};

function faultOf(...flags: string[]): string {
  return assertThrows(() => parseFlags(flags), InputError).message;
}

Deno.test("parseFlags() of nothing sets nothing", () => {
  assertEquals(parseFlags([]), NONE);
});

Deno.test("parseFlags() reads every flag, its value behind = or as the next word", () => {
  const values = {
    only: ["core=3 depth=2", { only: "core=3 depth=2" }],
    shard: ["2/5", { shard: { index: 2, of: 5 } }],
    seed: ["0", { seed: 0 }],
    out: ["a.jsonl", { out: "a.jsonl" }],
    concurrency: ["8", { concurrency: 8 }],
    "max-tokens": ["100000", { budget: { tokens: 100_000 } }],
    "max-usd": ["2.5", { budget: { usd: 2.5 } }],
    "requests-per-minute": ["60", { rates: { requestsPerMinute: 60 } }],
    "tokens-per-minute": ["90000", { rates: { tokensPerMinute: 90_000 } }],
    verdict: ["v.json", { verdict: "v.json" }],
    report: ["r.html", { report: "r.html" }],
  } as const;
  for (const [name, [value, flags]] of Object.entries(values)) {
    assertEquals(parseFlags([`--${name}=${value}`]), { ...NONE, ...flags } as Flags);
    assertEquals(parseFlags([`--${name}`, value]), { ...NONE, ...flags } as Flags);
  }
  assertEquals(parseFlags(["--resume", "--retry-invalid", "--max-usd=1", "--max-tokens=2"]), {
    ...NONE,
    resume: true,
    retryInvalid: true,
    budget: { usd: 1, tokens: 2 },
  });
});

Deno.test("parseFlags() takes whole numbers in their range alone", () => {
  const names = ["concurrency", "max-tokens", "requests-per-minute", "tokens-per-minute"];
  for (const [name, least] of [["seed", 0], ...names.map((name) => [name, 1] as const)] as const) {
    for (const value of [`${least - 1}`, "1.5", "1e3", "x", "9007199254740993", "0x10", " 1"]) {
      assertEquals(
        faultOf(`--${name}=${value}`),
        `Cannot use --${name} as it must be a whole number from ${least} on: it is ${value}`,
      );
    }
  }
});

Deno.test("parseFlags() takes dollars above 0, in plain decimals", () => {
  const amounts = [["5", 5], ["0.05", 0.05], [".5", 0.5], ["10.00", 10]] as const;
  for (const [text, usd] of amounts) {
    assertEquals(parseFlags([`--max-usd=${text}`]).budget, { usd });
  }
  for (const value of ["0", "0.00", "-1", "1e3", "$5", "5,00", "x", "Infinity"]) {
    assertEquals(
      faultOf(`--max-usd=${value}`),
      `Cannot use --max-usd as it must be a number of US dollars above 0: it is ${value}`,
    );
  }
});

Deno.test("parseFlags() refuses a flag whose value is missing", () => {
  for (
    const name of [
      "only",
      "shard",
      "seed",
      "out",
      "concurrency",
      "max-tokens",
      "max-usd",
      "verdict",
      "report",
    ]
  ) {
    for (const flags of [[`--${name}`], [`--${name}=`]]) {
      assertEquals(faultOf(...flags), `Cannot use --${name} as it needs a value: it has none`);
    }
  }
});

Deno.test("parseFlags() refuses what is no shard", () => {
  assertEquals(
    faultOf("--shard=6/5"),
    "Cannot use shard 6/5 as it must be I/N with 1 <= I <= N, such as 2/5",
  );
});

Deno.test("parseFlags() leaves alone what may well be the user's own", () => {
  for (const flag of ["--speed=2", "--send", "--self", "--share=1", "--reporter=x", "--verbose"]) {
    assertEquals(parseFlags([flag, "--seed=7"]).seed, 7, flag);
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
    const message = `Cannot use --${written} as there is no such flag: did you mean --${meant}?`;
    assertEquals(faultOf(flag), message);
    assertEquals(faultOf("--seed=1", flag), message);
  }
});

Deno.test("parseFlags() leaves alone what belongs to the user's own tests, and says so", () => {
  const own = ["--update", "--env=staging", "-o", "file.ts", "only"];
  const told: string[] = [];
  const { error } = console;
  console.error = (words: string) => void told.push(words);
  try {
    assertEquals(parseFlags([...own, "--seed=7"]), { ...NONE, seed: 7 });
  } finally {
    console.error = error;
  }
  const ours = "--only, --shard, --seed, --out, --concurrency, --max-tokens, --max-usd, " +
    "--requests-per-minute, --tokens-per-minute, --verdict, --report, --record, --replay, --auto, " +
    "--resume, --retry-invalid";
  assertEquals(
    told,
    ["update", "env"].map((name) =>
      `toolgate has no flag --${name} and leaves it alone; it has ${ours}`
    ),
  );
});

Deno.test("parseFlags() takes one of the flags of recordings", () => {
  for (const mode of ["record", "replay", "auto"] as const) {
    assertEquals(parseFlags([`--${mode}=kept`]).recordings, { folder: "kept", mode });
  }
  assertThrows(
    () => parseFlags(["--auto=kept", "--record=kept"]),
    InputError,
    "Cannot use --record and --auto together",
  );
  assertThrows(
    () => parseFlags(["--replay"]),
    InputError,
    "Cannot use --replay as it needs a value",
  );
});
