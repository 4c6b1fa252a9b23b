/**
 * `generate`: prints one task.
 * @module
 */

import { z } from "zod";
import { CALL_FORMATS, CALL_MODES, SCORING_RULES } from "../tasks/questions/scoring.ts";
import { DIFFICULTIES } from "../tasks/questions/question_set.ts";
import { loadCallSet } from "../tasks/questions/load.ts";
import { toDot, toMermaid, toSvg } from "../reports/figures/graph_drawing.ts";
import type { Fixture } from "../trials/executors/fixture.ts";
import {
  CUES,
  type GraphSpec,
  LINKINGS,
  NAMES,
  sizeFault,
  SURFACES,
} from "../tasks/generated/graph.ts";
import { parseWith } from "../base/input.ts";
import { InputError, reasonOf } from "../base/errors.ts";
import { defined, parseJson, printable, printableJson } from "../base/json.ts";
import { ProbeExecutor } from "../trials/executors/probes.ts";
import {
  isGenerated,
  isProbe,
  isQuestion,
  PROBES,
  type ProbeSpec,
  type QuestionSpec,
} from "../trials/executors/task_kind.ts";
import { QuestionExecutor } from "../trials/executors/question.ts";
import { freshSeed } from "../base/random.ts";
import { generateTask, GENERATOR_VERSION, type Task, taskToJson } from "../tasks/generated/task.ts";
import { type OpenAITool, toOpenAITool } from "../tools/tool.ts";
import { Arguments, userPath } from "./arguments.ts";

export const GENERATE_HELP = `  --core N           functions needed for the target, from 1
  --depth N          edges on the longest core path: 1 to core - 1 (0 for core 1)
  --connected N      irrelevant functions fed by the core (default 0)
  --disconnected N   irrelevant functions not fed by the core (default 0)
  --seed N           seed; the same seed gives the same task (default: a new one)
  --linking L        types, or names, which is easier (default types)
  --names N          random, helpful or misleading: the last two in everyday words (default random)
  --cues C           none, or names, which then hold the words of types (default none)
  --types N          size of the pool of types (default: half of core)
  --inputs A..B      input variables of a source function (default 1..2)
  --outputs A..B     variables that a function produces (default 1..1)
  --extra-edges N    attempts to add further core edges (default: twice core)
  --task JSON        in place of all these: the "task" of a journal line, which may be a probe such as
                     {"case":"oracle","seed":1}, or a question of a call set
  --set PATH         the call set of such a question
  --format F         json (default), tools, dot, mermaid or svg; for probes and questions json or tools`;

const VALUES = [
  "core",
  "depth",
  "connected",
  "disconnected",
  "seed",
  "linking",
  "names",
  "cues",
  "types",
  "inputs",
  "outputs",
  "extra-edges",
  "task",
  "set",
  "format",
];

const FORMATS: Readonly<Record<string, (task: Task) => string | Promise<string>>> = {
  json: (task) => JSON.stringify(taskToJson(task), null, 2) + "\n",
  tools: (task) => JSON.stringify(task.tools.map(toOpenAITool), null, 2) + "\n",
  dot: toDot,
  mermaid: toMermaid,
  svg: toSvg,
};

/** Formats of tasks without a graph. */
const PLAIN_FORMATS: Readonly<Record<string, (spec: object, input: ModelInput) => unknown>> = {
  json: (spec, input) => ({ version: GENERATOR_VERSION, ...spec, ...input }),
  tools: (_, { tools }) => tools,
};

/** The prompt and tools that a model gets. */
interface ModelInput {
  readonly prompt: string;
  readonly tools: readonly OpenAITool[];
}

const GRAPH: z.ZodType<GraphSpec> = z.strictObject({
  core: z.int(),
  depth: z.int(),
  connected: z.int(),
  disconnected: z.int(),
  seed: z.int(),
  types: z.int().exactOptional(),
  inputs: z.tuple([z.int(), z.int()]).exactOptional(),
  extraEdges: z.int().exactOptional(),
  linking: z.enum(LINKINGS).exactOptional(),
  surface: z.enum(SURFACES).exactOptional(),
  outputs: z.tuple([z.int(), z.int()]).exactOptional(),
  names: z.enum(NAMES).exactOptional(),
  cues: z.enum(CUES).exactOptional(),
});

const PROBE: z.ZodType<ProbeSpec> = z.strictObject({ case: z.enum(PROBES), seed: z.int() });

const QUESTION: z.ZodType<QuestionSpec> = z.strictObject({
  set: z.string(),
  question: z.string(),
  difficulty: z.enum(DIFFICULTIES),
  mode: z.enum(CALL_MODES),
  rule: z.enum(SCORING_RULES).exactOptional(),
  input: z.enum(CALL_FORMATS).exactOptional(),
  output: z.enum(CALL_FORMATS).exactOptional(),
});

/** Prints a task to stdout. */
export async function generate(arguments_: readonly string[]): Promise<number> {
  const options = new Arguments("generate", arguments_, { values: VALUES });
  if (options.operands.length > 0) {
    throw options.error(`it takes no file: ${options.operands[0]} is given`);
  }
  const format = options.text("format") ?? "json";
  if (!Object.hasOwn(FORMATS, format)) {
    throw options.error(
      `--format must be one of ${Object.keys(FORMATS).join(", ")}: it is ${format}`,
    );
  }
  const spec = specOf(options);
  const kind = isProbe(spec) ? "probe" : "question";
  if (!isGenerated(spec) && !Object.hasOwn(PLAIN_FORMATS, format)) {
    throw options.error(
      `--format must be one of ${Object.keys(PLAIN_FORMATS).join(", ")} for a ${kind}, ` +
        `which has no graph: it is ${format}`,
    );
  }
  if (options.text("set") !== undefined && !isQuestion(spec)) {
    throw options.error("--set goes with a question of a call set: there is none");
  }
  // Of the task of a journal line it is known that it could be made.
  const fault = isGenerated(spec) && options.text("task") === undefined
    ? sizeFault(spec)
    : undefined;
  if (fault !== undefined) throw options.error(fault);
  try {
    if (isGenerated(spec)) {
      console.log((await FORMATS[format]!(generateTask(spec))).trimEnd());
    } else {
      using fixture = isProbe(spec) ? new ProbeExecutor(spec) : questionOf(spec, options);
      console.log(printableJson(PLAIN_FORMATS[format]!(spec, modelInput(fixture)), 2));
    }
  } catch (error) {
    throw error instanceof RangeError ? new InputError(reasonOf(error)) : error;
  }
  return 0;
}

/** Opens the question of a journal line in its set. */
function questionOf(spec: QuestionSpec, options: Arguments): QuestionExecutor {
  const path = options.text("set");
  if (path === undefined) {
    throw options.error("--set is needed: it names the call set of the question");
  }
  const set = loadCallSet(userPath(path));
  if (set.name === spec.set) return new QuestionExecutor(set, spec);
  throw options.error(
    `--set must be the set of the question: it is ${printable(set.name, 100)}, ` +
      `and the question is of ${printable(spec.set, 100)}`,
  );
}

/** Returns the prompt and tools that a model gets: the prompt lists functions that cannot be called. */
function modelInput({ prompt, tools, present }: Fixture): ModelInput {
  const question = [{ role: "user" as const, content: prompt }];
  const { messages, tools: shownTools } = present?.(question, tools) ??
    { messages: question, tools };
  return { prompt: messages[0]!.content, tools: shownTools.map(toOpenAITool) };
}

function specOf(options: Arguments): GraphSpec | ProbeSpec | QuestionSpec {
  const taskText = options.text("task");
  if (taskText !== undefined) {
    const other = VALUES.find((name) =>
      !["task", "set", "format"].includes(name) && options.text(name) !== undefined
    );
    if (other !== undefined) throw options.error(`--task goes without --${other}`);
    const value = parseJson(taskText);
    if (value === undefined) throw options.error(`--task must be JSON: it is ${taskText}`);
    return parseWith(z.union([GRAPH, PROBE, QUESTION]), value, "the JSON of --task");
  }
  const needed = (name: string, least: number) => {
    const value = options.integer(name, least);
    if (value === undefined) throw options.error(`--${name} is needed`);
    return value;
  };
  const range = (name: string, usual: string): [number, number] => {
    const text = options.text(name) ?? usual;
    const [, fewest, most] = /^(\d+)\.\.(\d+)$/.exec(text) ?? [];
    if (most === undefined) {
      throw options.error(`--${name} must be A..B, such as 1..2: it is ${text}`);
    }
    return [Number(fewest), Number(most)];
  };
  const [types, extraEdges] = [options.integer("types"), options.integer("extra-edges")];
  const [linking, names, cues] = ["linking", "names", "cues"].map((name) => options.text(name));
  return {
    core: needed("core", 1),
    depth: needed("depth", 0),
    connected: options.integer("connected") ?? 0,
    disconnected: options.integer("disconnected") ?? 0,
    seed: options.integer("seed") ?? freshSeed(),
    inputs: range("inputs", "1..2"),
    outputs: range("outputs", "1..1"),
    ...defined({ types, extraEdges }),
    ...(linking === undefined ? {} : { linking: linking as typeof LINKINGS[number] }),
    ...(names === undefined ? {} : { names: names as typeof NAMES[number] }),
    ...(cues === undefined ? {} : { cues: cues as typeof CUES[number] }),
  };
}
