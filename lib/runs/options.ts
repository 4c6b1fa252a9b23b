/**
 * The table of options: each option of runs, declared once with its schema, its flag and the places where it
 * holds. The types in `option_types.ts`, the schema of suites, the flags of commands and of `deno test`,
 * `--help` and the tables in `docs/` come from it; `deno task tables` writes those that are files.
 * @module
 */

import { z } from "zod";
import { GATE_POLICY } from "../gate/policy.ts";
import { whole } from "../base/input.ts";
import { APIS } from "../models/formats/registry.ts";
import { REASONING_EFFORTS } from "../models/entry.ts";
import { BUDGET, PRICES } from "../models/prices.ts";
import { RECORDINGS } from "../models/recordings/options.ts";
import { FAULT_PATTERN, FAULTS, isFault } from "../tools/fault.ts";
import { perturbationFault, PERTURBATIONS } from "../perturbations/ids.ts";
import { LIMITS } from "../trials/agent/session.ts";
import { STRATEGIES } from "../trials/strategies/registry.ts";
import { TRANSCRIPTS } from "../trials/transcript.ts";
import {
  type Flag,
  type FlagsGiving,
  type FlagValues,
  namedFlags,
  type Refuse,
  wholeFrom,
} from "./flags.ts";
import type { RunSettings } from "./option_types.ts";
import { parseShard, parseWave } from "./shard_text.ts";
import { getOrInsertComputed } from "../base/get_or_insert.ts";

/** A place where options hold: a function, suite files, a command, or `deno test` behind `--`. */
export type Place = "benchmark" | "toolTest" | "suite" | FlagPlace;

/** A command line that takes flags. */
export type FlagPlace = "run" | "plan" | "selfcheck" | "perturb" | "deno test";

/** One option. */
export interface Option {
  /** What it sets, its unit and its default: the doc comment of its type, and its sentence in `docs/`. */
  readonly about?: string;
  /** The type of its value in code, if that is no plain number, text or boolean. */
  readonly type?: string;
  /** Where it holds. */
  readonly places: readonly Place[];
  /** The schema of its value in code and suites; omitted if only command lines have it. */
  readonly schema?: z.ZodType;
  /** Its flag; omitted without one. */
  readonly flag?: Flag;
}

/** The value of `--record` that stands for no folder. */
export const AUTO = "auto";

/** Reads a number above 0. */
const above0 = (given: string, refuse: Refuse): number => {
  const value = Number(given);
  if (/^(\d+\.?\d*|\.\d+)$/.test(given) && value > 0) return value;
  return refuse("must be a number above 0");
};

/** Reads how to sample; `null` leaves it to the server. */
const sampling = (most: number) => (given: string, refuse: Refuse): number | null => {
  if (given === "default") return null;
  const value = Number(given);
  if (/^(\d+\.?\d*|\.\d+)$/.test(given) && value <= most) return value;
  return refuse(`must be a number from 0 to ${most}, or default`);
};

/** Reads a seed. */
const seed = (given: string, refuse: Refuse): number | "fresh" =>
  given === "fresh"
    ? given
    : wholeFrom(0)(given, () => refuse("must be a whole number from 0 on, or fresh"));

/** Reads seconds. */
const milliseconds = (given: string, refuse: Refuse): number => 1000 * above0(given, refuse);

/** Reads the address of a server. */
function address(given: string, refuse: Refuse): string {
  if (/[?#@]/.test(given)) {
    return refuse("must have no user name, password or query, as journals keep plans", "has one");
  }
  return /^https?:\/\/./.test(given) ? given : refuse("must be an http or https URL");
}

const ANY_PERTURBATION = [...PERTURBATIONS.filter((id) => !isFault(id)), FAULT_PATTERN].join("|");

/** The schema of perturbation ids. Errors are one sentence; editors get a pattern. */
export const PERTURBATION_ID: z.ZodType<string> = z.string().check(({ value, issues }) => {
  const fault = perturbationFault(value);
  if (fault === undefined) return;
  issues.push({ code: "custom", message: fault, input: value });
}).meta({
  anyOf: [
    { enum: ["none", ...PERTURBATIONS] },
    { pattern: `^(${ANY_PERTURBATION})(\\+(${ANY_PERTURBATION}))*$` },
  ],
});

const PERTURBATION_LIST: z.ZodType<readonly string[]> = z.array(PERTURBATION_ID);

/** Lists words to type. */
const quoted = (words: readonly string[]): string =>
  words.map((word) => `\`${word}\``).join(", ").replace(/, ([^,]+)$/, " or $1");

/** Where options hold that both functions have, that suites have as well, and whose flags commands have. */
const TESTS = ["benchmark", "toolTest"] as const;
const CODE = [...TESTS, "suite"] as const;
const COMMANDS = ["run", "selfcheck"] as const;
const RUNNERS = [...COMMANDS, "deno test"] as const;

/** What cells that share their core graphs differ in. */
const PAIRS = ["distractors", "none"] as const;

/** All options, in the order of `--help`. */
export const OPTIONS = {
  models: {
    places: [...COMMANDS, "plan"],
    flag: {
      name: "model",
      value: "M",
      several: true,
      help: "this model in place of the suite's; may be given several times",
    },
  },
  sets: {
    places: [...COMMANDS, "plan"],
    flag: {
      name: "set",
      value: "F",
      help: "the call set at F, a folder or a file, in place of those of the suite",
    },
  },
  judge: {
    places: [...COMMANDS, "plan"],
    flag: {
      value: "M",
      help:
        "the judge, in place of the suite's, with its prompt; default: the suite's, or the model of `--model` " +
        "where only the suite's is simulated",
    },
  },
  router: {
    places: [...COMMANDS, "plan"],
    flag: {
      value: "M",
      help:
        "the model of the stage `route`, in place of those of the suite's strategies; default as for `--judge`, " +
        "for every stage",
    },
  },
  reasoningEffort: {
    places: COMMANDS,
    flag: {
      value: "E",
      several: true,
      choices: REASONING_EFFORTS,
      help: `how much the models think: ${quoted(REASONING_EFFORTS)}; given several times, each ` +
        'model is run with each, under the name "MODEL E"',
    },
  },
  temperature: {
    places: COMMANDS,
    flag: {
      ...{ value: "T", read: sampling(2) },
      help:
        "the sampling temperature of all models, from 0 to 2; `default` leaves it out, as some " +
        "models refuse it",
    },
  },
  topP: {
    places: COMMANDS,
    flag: {
      ...{ value: "P", read: sampling(1) },
      help: "nucleus sampling of all models, from 0 to 1; `default` leaves it out",
    },
  },
  api: {
    places: COMMANDS,
    flag: {
      value: "A",
      several: true,
      choices: APIS,
      help: `API or text format of the models: ${quoted(APIS)}; given several times, each model ` +
        'is run in each, under the name "MODEL (A)" unless it is chat',
    },
  },
  baseURL: {
    about: "The server of models that name none; default OpenAI's.",
    places: [...TESTS, ...COMMANDS, "perturb"],
    schema: z.string(),
    flag: {
      ...{ name: "base-url", value: "U", read: address },
      help:
        "the server of all models, also of those that name one, except `sim:...` and those of a provider; " +
        "default OpenAI's",
    },
  },
  strategies: {
    places: COMMANDS,
    flag: {
      name: "strategy",
      value: "S",
      several: true,
      help: "this strategy in place of the suite's, by its name in the suite or by its id: " +
        `${quoted(STRATEGIES)}, or several joined by +; may be given several times`,
    },
  },
  perturbations: {
    about: "Perturbations of what each model sees, by id or several ids joined by `+`; default " +
      "`none`. Faults of functions are among them, such as `timeout`, `timeout:3` or `flaky:0.35`.",
    type: "readonly string[]",
    places: ["benchmark", "suite", ...COMMANDS],
    schema: PERTURBATION_LIST,
    flag: {
      name: "perturbation",
      value: "P",
      several: true,
      help: "this perturbation in place of the suite's: `none`, one of " +
        `${quoted(PERTURBATIONS.filter((id) => !isFault(id)))}, or a fault of a function: ` +
        `${quoted(FAULTS)} (\`timeout:3\` hits three calls, \`flaky:0.35\` a share of 0.35 of ` +
        "all calls); or several joined by +; may be given several times",
    },
  },
  seed: {
    about:
      "The seed of all tasks: a number always gives the same tasks; `fresh` draws one at the " +
      "start and prints it, for contamination-free runs.",
    type: 'number | "fresh"',
    places: [...CODE, ...RUNNERS],
    schema: z.union([z.int().min(0), z.literal("fresh")], {
      error: 'must be a whole number from 0 on, or "fresh"',
    }),
    flag: {
      value: "N",
      read: seed,
      help: "this seed in place of the one in the file; `fresh` draws one and prints it",
    },
  },
  graphs: {
    about: "Graphs per cell; default 5. A sequential gate sets it itself.",
    places: ["benchmark", "suite"],
    schema: z.int().min(1),
  },
  pair: {
    about: "`distractors`: cells that differ only in their irrelevant functions (`connected`, " +
      "`disconnected`, `irrelevant`, `connection`) share their core graphs, so that reports can compare " +
      "these cells core by core. Gates then count core graphs, each with its trials in all cells as one. " +
      "`none`, the default: each cell has graphs of its own.",
    type: '"distractors" | "none"',
    places: ["benchmark", "suite", ...RUNNERS, "plan"],
    schema: z.enum(PAIRS, { error: 'must be "distractors" or "none"' }),
    flag: {
      value: "P",
      choices: PAIRS,
      help:
        "which cells share their core graphs: `distractors`, those that differ only in their irrelevant " +
        "functions, or `none`",
    },
  },
  repetitions: {
    about: "Trials of each graph; default 1.",
    places: ["benchmark", "suite"],
    schema: z.int().min(1),
  },
  limits: {
    about:
      "The limits of each trial: `calls` (default: twice as many as its task needs, and what " +
      "faults are expected to take), `steps` (replies), `seconds`, `tokens`, `observation`, " +
      "`parallel` and `depth`.",
    type: "Limits",
    places: CODE,
    schema: LIMITS,
  },
  references: {
    about: "Whether arguments may refer to results of other calls of the same reply, such as " +
      "`$1.field` for call 1 or `$call_id.field`; default `false`. Calls are then carried out in " +
      "the order of their references.",
    places: CODE,
    schema: z.boolean(),
  },
  gate: {
    about:
      "The gate of each model, strategy and perturbation: against a success rate, or against " +
      "a baseline on the same graphs. With it, only the gate's own test can fail; " +
      "without it, each unsolved case does.",
    type: "GatePolicy",
    places: CODE,
    schema: GATE_POLICY,
  },
  requireGate: {
    about: "Whether the test file fails if the gate does not decide, as `deno test --filter` can " +
      "leave its test out; default `false`: a line says so. Not for parts of a run, by `--only` or " +
      "`--shard` or `--wave`, whose gate is decided elsewhere.",
    places: [...TESTS, "deno test"],
    schema: z.boolean(),
    flag: { help: "fails if a gate of the file does not decide, as with `--filter`" },
  },
  journal: {
    about: "A journal: a file to which finished trials are appended.",
    places: [...TESTS, ...RUNNERS],
    schema: z.string().min(1),
    flag: { name: "out", value: "F.jsonl" },
  },
  resume: {
    places: ["run", "deno test"],
    flag: { help: "continues the journal: its trials are not run again" },
  },
  retryInvalid: {
    places: ["run", "deno test"],
    flag: { help: "with `--resume`: runs invalid trials again" },
  },
  concurrency: {
    about: "Trials that run at the same time; default 8.",
    places: [...TESTS, ...RUNNERS],
    schema: whole(1),
    flag: { value: "N", read: wholeFrom(1) },
  },
  shard: {
    places: ["run", "deno test"],
    flag: {
      ...{ value: "I/N", read: parseShard },
      help:
        "only this part of the plan; `auto` has I and N, and `auto/N` has I, from the variables of GitLab, Slurm, " +
        "AWS Batch, Kubernetes or GitHub",
    },
  },
  wave: {
    places: ["run", "deno test"],
    flag: {
      ...{ value: "K", read: parseWave },
      help:
        "with a sequential gate: only wave K of the plan, or its shard; `K/N` makes it one of N waves, " +
        "default 6. The journals of earlier waves must be in the folder of `--out`: what they have decided is " +
        "not run again. `gate` says after each wave whether another one is needed",
    },
  },
  only: {
    places: ["run", "deno test"],
    flag: {
      value: "ID",
      help: "runs this one trial again and describes it; a journal may take the place of a suite",
    },
  },
  story: {
    places: ["run", "deno test"],
    flag: {
      value: "S",
      choices: ["brief", "full"],
      help:
        "how much of a failed trial is shown: `brief`, the default, at most a dozen lines; or `full`, every " +
        "call with whole texts",
    },
  },
  recordings: {
    about: "Where replies are recorded, or replayed from without a key or a network.",
    type: "RecordingOptions",
    places: TESTS,
    schema: RECORDINGS,
  },
  record: {
    places: ["run", "deno test"],
    flag: {
      value: "D",
      help: "records the replies of models in the folder D, one file for each trial; with " +
        `\`${AUTO}\` the recordings of the file, or in \`recordings/\`, answer the requests that they have, ` +
        "also of renamed tests, and only the others are sent and recorded",
    },
  },
  replay: {
    places: ["run", "deno test"],
    flag: {
      value: "D",
      help: "replays the recordings in D without any model: no key and no network is needed. A " +
        "request that is not recorded ends the run, and the most similar one is shown; a run " +
        "whose seed is fresh needs the `--seed` that was recorded",
    },
  },
  auto: {
    places: ["run", "deno test"],
    flag: {
      value: "D",
      help: "the same as `--record=auto` with recordings in D",
    },
  },
  serve: {
    places: ["run", "deno test"],
    flag: {
      help:
        "serves the report to a browser on this machine while trials come in, at an address that is " +
        "printed; it ends with the run",
    },
  },
  traces: {
    places: ["deno test"],
    flag: {
      value: "F",
      help:
        "judges the recorded conversations in F, a file of JSON, JSON lines or a journal, in place of " +
        "models: none is asked, and no tool is run; `score traces` does the same, with exit codes",
    },
  },
  budget: {
    about: "The budget of the run: once it is spent, nothing more is started.",
    type: "Budget",
    places: CODE,
    schema: BUDGET,
  },
  maxTokens: {
    places: RUNNERS,
    flag: {
      ...{ value: "N", read: wholeFrom(1) },
      help:
        "starts no more trials once N tokens were read and written; each of n shards may use an nth of them",
    },
  },
  maxUsd: {
    places: RUNNERS,
    flag: {
      ...{ value: "X", read: above0 },
      help: "starts no more trials once X US dollars were spent; each of n shards may spend an nth",
    },
  },
  prices: {
    about:
      "The prices of models in US dollars per million tokens; required for budgets and limits " +
      "in dollars.",
    type: "Prices",
    places: [...CODE, ...COMMANDS],
    schema: PRICES,
    flag: {
      value: "F.jsonc",
      help:
        'prices of models: `{ "MODEL": { "input": 1.25, "output": 10 } }` in dollars a million ' +
        "tokens",
    },
  },
  requestTimeout: {
    about:
      "Milliseconds that one attempt of a request may take; default 300,000. A request without " +
      "a whole reply in time is not sent again.",
    places: [...TESTS, ...COMMANDS, "perturb"],
    type: "number",
    schema: z.union([z.number().gt(0), z.literal(Infinity)], {
      error: "must be a number above 0",
    }) as z.ZodType<number>,
    flag: {
      ...{ value: "S", read: milliseconds },
      help: "seconds that one attempt of a request may take; default 300",
    },
  },
  retries: {
    about: "Further attempts of a failed request; default 3. Attempts that a rate limit refuses " +
      "while other requests are in flight do not count, as the run then slows down.",
    places: [...TESTS, ...COMMANDS, "perturb"],
    schema: whole(0),
    flag: { value: "N", read: wholeFrom(0) },
  },
  requestsPerMinute: {
    about: "Requests to each model that may begin within any 60 seconds; default unlimited.",
    places: [...TESTS, ...RUNNERS],
    schema: whole(1),
    flag: { value: "N", read: wholeFrom(1) },
  },
  tokensPerMinute: {
    about: "Tokens that each model may read and write within any 60 seconds; default unlimited.",
    places: [...TESTS, ...RUNNERS],
    schema: whole(1),
    flag: { value: "N", read: wholeFrom(1) },
  },
  transcripts: {
    about:
      "Which trials of tool tests keep a transcript in journals and reports, with the system text, the " +
      "question, the tools on offer, what the model wrote between its calls, and the changes of the state: " +
      "`all` (default), `unsolved`, or `none`.",
    type: "Transcripts",
    places: ["toolTest", "deno test"],
    schema: z.enum(TRANSCRIPTS),
    flag: {
      value: "T",
      choices: TRANSCRIPTS,
      help: `which trials of tool tests keep a transcript: ${quoted(TRANSCRIPTS)}; default \`all\``,
    },
  },
  verdict: {
    places: ["deno test"],
    flag: { value: "F", help: "writes the verdicts as JSON" },
  },
  report: {
    about:
      "One or several files for the report at the end of the run, by their endings: `.html` a page, " +
      "`.md` Markdown, `.txt` what a terminal shows. Their folders are created if needed.",
    type: "string | readonly string[]",
    places: [...TESTS, "deno test"],
    schema: z.union([z.string(), z.array(z.string())], {
      error: "must be a path or a list of paths",
    }),
    flag: {
      value: "F",
      several: true,
      help:
        "a file for the report at the end of the run: `.html` a page, `.md` Markdown, `.txt` what a " +
        "terminal shows; may be given several times",
    },
  },
} as const satisfies
  & Record<string, Option>
  & {
    readonly [Name in keyof RunSettings]-?: Option & {
      readonly schema: z.ZodType<Exclude<RunSettings[Name], undefined>>;
    };
  };

/** Returns the flags of a place, in the order of the table of options. */
export function flagsAt<P extends FlagPlace>(place: P): FlagsGiving<FlagsOf<P>> {
  const rows = Object.entries(OPTIONS as Record<string, Option>);
  return namedFlags(Object.fromEntries(rows.flatMap(([option, { places, flag, about = "" }]) => {
    if (flag === undefined || !places.includes(place)) return [];
    // An acronym keeps its capitals.
    const words = /^[A-Z]{2}/.test(about) ? about : about.charAt(0).toLowerCase() + about.slice(1);
    return [[option, { help: words.replace(/\.$/, ""), ...flag }]];
  })));
}

/** The schemas of a place; a file of hundreds of tests asks for them for each. */
const schemasAt = new Map<Place, Readonly<Record<string, z.ZodType>>>();

/** Returns the schemas of the options that code or suites may have in a place, by name. */
export function optionSchemas(place: Place): Readonly<Record<string, z.ZodType>> {
  return getOrInsertComputed(schemasAt, place, () =>
    Object.fromEntries(
      Object.entries(OPTIONS as Record<string, Option>).flatMap(
        ([name, { schema, places }]) =>
          schema === undefined || !places.includes(place) ? [] : [[name, schema.optional()]],
      ),
    ));
}

type Table = typeof OPTIONS;

/** Names of the options that hold in a place. */
type NamesAt<P extends Place> = {
  [Name in keyof Table]: P extends Table[Name]["places"][number] ? Name : never;
}[keyof Table];

/** The flags that were given on a command line. */
export type FlagsOf<P extends FlagPlace> = FlagValues<
  { readonly [Name in NamesAt<P>]: Table[Name] extends { readonly flag: infer F } ? F : never }
>;
