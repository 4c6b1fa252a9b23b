/**
 * `generate`: one task.
 * @module
 */

import { z } from "zod";
import { toDot, toMermaid, toSvg } from "../drawing.ts";
import { type GraphSpec, LINKINGS } from "../graph.ts";
import { InputError, parseWith, reasonOf } from "../input.ts";
import { parseJson } from "../json.ts";
import { isProbe, ProbeFixture, PROBES, type ProbeSpec } from "../probes.ts";
import { freshSeed } from "../random.ts";
import { generateTask, GENERATOR_VERSION, type Task, taskToJson } from "../task.ts";
import type { TaskSpec } from "../tasks.ts";
import { toOpenAITool } from "../tool.ts";
import { Arguments } from "./arguments.ts";

export const GENERATE_HELP = `toolgate generate: prints one task

  --core N           functions needed for the target, from 1
  --depth N          edges on the longest core path: 1 to core - 1 (0 for core 1)
  --connected N      irrelevant functions fed by the core (default 0)
  --disconnected N   irrelevant functions of no relation (default 0)
  --seed N           seed; the same one gives the same task (default: a fresh one)
  --linking L        types, or names, which is easier (default types)
  --types N          size of the pool of types (default: half of core)
  --inputs A..B      input variables of a source function (default 1..2)
  --extra-edges N    tries at further core edges (default: twice core)
  --task JSON        in place of all these: the "task" of a journal line, which may be a probe such as
                     {"case":"oracle","seed":1}
  --format F         json (default), tools, dot, mermaid or svg; of probes json and tools`;

const VALUES = [
  "core",
  "depth",
  "connected",
  "disconnected",
  "seed",
  "linking",
  "types",
  "inputs",
  "extra-edges",
  "task",
  "format",
];

const FORMATS: Readonly<Record<string, (task: Task) => string | Promise<string>>> = {
  json: (task) => JSON.stringify(taskToJson(task), null, 2) + "\n",
  tools: (task) => JSON.stringify(task.tools.map(toOpenAITool), null, 2) + "\n",
  dot: toDot,
  mermaid: toMermaid,
  svg: toSvg,
};

/** Probes have no graph that could be drawn. */
const PROBE_FORMATS: Readonly<Record<string, (probe: ProbeFixture, spec: ProbeSpec) => unknown>> = {
  json: ({ prompt, tools }, spec) => ({
    version: GENERATOR_VERSION,
    ...spec,
    prompt,
    tools: tools.map(toOpenAITool),
  }),
  tools: ({ tools }) => tools.map(toOpenAITool),
};

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
});

const PROBE: z.ZodType<ProbeSpec> = z.strictObject({ case: z.enum(PROBES), seed: z.int() });

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
  if (isProbe(spec) && !Object.hasOwn(PROBE_FORMATS, format)) {
    throw options.error(
      `--format must be one of ${Object.keys(PROBE_FORMATS).join(", ")} for a probe, ` +
        `which has no graph: it is ${format}`,
    );
  }
  try {
    if (isProbe(spec)) {
      using probe = new ProbeFixture(spec);
      console.log(JSON.stringify(PROBE_FORMATS[format]!(probe, spec), null, 2));
    } else {
      console.log((await FORMATS[format]!(generateTask(spec))).trimEnd());
    }
  } catch (error) {
    throw error instanceof RangeError ? new InputError(reasonOf(error)) : error;
  }
  return 0;
}

function specOf(options: Arguments): TaskSpec {
  const written = options.text("task");
  if (written !== undefined) {
    const other = VALUES.find((name) =>
      name !== "task" && name !== "format" && options.text(name) !== undefined
    );
    if (other !== undefined) throw options.error(`--task goes without --${other}`);
    const value = parseJson(written);
    if (value === undefined) throw options.error(`--task must be JSON: it is ${written}`);
    return parseWith(z.union([GRAPH, PROBE]), value, "the JSON of --task");
  }
  const needed = (name: string, least: number) => {
    const value = options.integer(name, least);
    if (value === undefined) throw options.error(`--${name} is needed`);
    return value;
  };
  const inputs = options.text("inputs");
  const range = /^(\d+)\.\.(\d+)$/.exec(inputs ?? "1..2");
  if (range === null) throw options.error(`--inputs must be A..B, such as 1..2: it is ${inputs}`);
  const [types, extraEdges] = [options.integer("types"), options.integer("extra-edges")];
  const linking = options.text("linking");
  return {
    core: needed("core", 1),
    depth: needed("depth", 0),
    connected: options.integer("connected") ?? 0,
    disconnected: options.integer("disconnected") ?? 0,
    seed: options.integer("seed") ?? freshSeed(),
    inputs: [Number(range[1]), Number(range[2])],
    ...(types === undefined ? {} : { types }),
    ...(extraEdges === undefined ? {} : { extraEdges }),
    ...(linking === undefined ? {} : { linking: linking as typeof LINKINGS[number] }),
  };
}
