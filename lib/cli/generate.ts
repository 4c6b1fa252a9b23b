/**
 * `generate`: prints one task.
 * @module
 */

import { userPath } from "../base/command_line.ts";
import { InputError, reasonOf } from "../base/errors.ts";
import { printable, printableJson } from "../base/json.ts";
import { freshSeed } from "../base/random.ts";
import { toDot, toSvg } from "../reports/figures/graph_drawing.ts";
import { type Refuse, wholeFrom } from "../runs/flags.ts";
import { CUES, type GraphSpec, LINKINGS, NAMES, sizeFault } from "../tasks/graphs/graph.ts";
import { generateTask, GENERATOR_VERSION, type Task, taskToJson } from "../tasks/graphs/task.ts";
import { loadCallSet } from "../tasks/questions/load.ts";
import { type OpenAITool, toOpenAITool } from "../tools/tool.ts";
import type { Fixture } from "../trials/executors/fixture.ts";
import { ProbeExecutor } from "../trials/executors/probes.ts";
import { QuestionExecutor } from "../trials/executors/question.ts";
import {
  isCase,
  isGenerated,
  isProbe,
  type ProbeSpec,
  type QuestionSpec,
} from "../tasks/task_kind.ts";
import { parseTrialId } from "../trials/trial_id.ts";
import { command, type Rest } from "./command.ts";

const FORMATS = {
  json: (task: Task) => JSON.stringify(taskToJson(task), null, 2),
  tools: (task: Task) => JSON.stringify(task.tools.map(toOpenAITool), null, 2),
  dot: toDot,
  svg: toSvg,
};

/** The prompt and tools that a model gets. */
interface ModelInput {
  readonly prompt: string;
  readonly tools: readonly OpenAITool[];
}

/** Formats of tasks without a graph. */
const PLAIN_FORMATS: {
  [Format in keyof typeof FORMATS]?: (spec: object, input: ModelInput) => unknown;
} = {
  json: (spec, input) => ({ version: GENERATOR_VERSION, ...spec, ...input }),
  tools: (_, { tools }) => tools,
};

/** Reads the fewest and the most of something. */
function range(given: string, refuse: Refuse): [number, number] {
  const [, fewest, most] = /^(\d+)\.\.(\d+)$/.exec(given) ?? [];
  return most === undefined ? refuse("must be A..B, such as 1..2") : [Number(fewest), Number(most)];
}

/** Reads the task in a trial's id. */
function taskOf(id: string, refuse: Refuse): GraphSpec | ProbeSpec | QuestionSpec {
  const task = parseTrialId(id)?.task;
  if (task === undefined) return refuse("must be an id that journals have");
  return isCase(task) ? refuse("must be of a task that is not of a test of your own") : task;
}

const WHOLE = wholeFrom(0);

/** Prints a task to stdout. */
export const generate = command({
  usage: "--core N --depth N [OPTIONS]",
  options: {
    core: { value: "N", read: wholeFrom(1), help: "functions needed for the target, from 1" },
    depth: { value: "N", read: WHOLE, help: "edges on the longest core path, below core" },
    connected: { value: "N", read: WHOLE, help: "irrelevant functions fed by the core; default 0" },
    disconnected: { value: "N", read: WHOLE, help: "other irrelevant functions; default 0" },
    seed: { value: "N", read: WHOLE, help: "the same seed gives the same task; default a new one" },
    linking: { value: "L", choices: LINKINGS, help: "types (default), or names, which is easier" },
    names: {
      value: "N",
      choices: NAMES,
      help: "random (default), helpful, misleading or workflow",
    },
    cues: { value: "C", choices: CUES, help: "none (default), or names, which show types" },
    types: { value: "N", read: WHOLE, help: "size of the pool of types; default half of core" },
    inputs: { value: "A..B", read: range, help: "inputs of a source function; default 1..2" },
    outputs: { value: "A..B", read: range, help: "outputs of a function; default 1..1" },
    extraEdges: { value: "N", read: WHOLE, help: "attempts to add core edges; default twice core" },
    trial: { value: "ID", read: taskOf, help: "the id of a trial, in place of all these" },
    set: { value: "PATH", help: "the call set of a trial that asked a question" },
    format: {
      value: "F",
      choices: Object.keys(FORMATS) as (keyof typeof FORMATS)[],
      help: "json (default), tools, dot or svg; for probes and questions json or tools",
    },
  },
  needs: ["read"],
  rules: [
    [({ core, trial }) => core === undefined && trial === undefined, "--core is needed"],
    [({ depth, trial }) => depth === undefined && trial === undefined, "--depth is needed"],
    [["trial"], "goes without", [
      ...["core", "depth", "connected", "disconnected", "seed", "linking", "names", "cues"],
      ...["types", "inputs", "outputs", "extra-edges"],
    ]],
    [["set"], "goes with", ["trial"], "it names the call set of its question"],
  ],
  async run({ trial, set, format = "json", core = 1, depth = 0, ...more }, { error }) {
    const spec = trial ??
      { core, depth, connected: 0, disconnected: 0, seed: freshSeed(), ...more };
    if (!isGenerated(spec)) {
      const print = PLAIN_FORMATS[format];
      if (print === undefined) {
        throw error(`--format must be json or tools for a task without a graph: it is ${format}`);
      }
      using fixture = isProbe(spec) ? new ProbeExecutor(spec) : questionOf(spec, set, error);
      console.log(printableJson(print(spec, modelInput(fixture)), 2));
      return 0;
    }
    // Of the task of a trial it is known that it could be made.
    const fault = trial === undefined ? sizeFault(spec) : undefined;
    if (fault !== undefined) throw error(fault);
    try {
      console.log((await FORMATS[format](generateTask(spec))).trimEnd());
    } catch (fault) {
      throw fault instanceof RangeError ? new InputError(reasonOf(fault)) : fault;
    }
    return 0;
  },
});

/** Opens a question in its set. */
function questionOf(
  spec: QuestionSpec,
  path: string | undefined,
  error: Rest["error"],
): QuestionExecutor {
  if (path === undefined) throw error("--set is needed: it names the call set of the question");
  const set = loadCallSet(userPath(path));
  if (set.name === spec.set) return new QuestionExecutor(set, spec);
  throw error(
    `--set must be the set of the question: it is ${printable(set.name, 100)}, ` +
      `and the question is of ${printable(spec.set, 100)}`,
  );
}

/** Returns the prompt and tools that a model gets: the prompt lists functions that cannot be called. */
function modelInput({ prompt, tools, present }: Fixture): ModelInput {
  const question = [{ role: "user" as const, content: prompt }];
  const shown = present?.(question, tools) ?? { messages: question, tools };
  return { prompt: shown.messages[0]!.content, tools: shown.tools.map(toOpenAITool) };
}
