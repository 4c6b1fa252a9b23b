/**
 * Tasks, an executor and conversations for the tests of simulated models, made here from scratch,
 * so that these tests do not lean on the generator and the executor that they serve.
 * @module
 */

import { assert } from "@std/assert";
import { randomIntegerBetween, sample, shuffle } from "@std/random";
import type {
  ChatAnswer,
  ChatMessage,
  ChatRequest,
  ChatTool,
  SimulatedModel,
} from "../../lib/simulated/_wire.ts";
import { fork, hash64 } from "../../lib/base/random.ts";

/** A function of a world. */
export interface WorldFunction {
  readonly name: string;
  /** The variable that each parameter takes, by parameter. */
  readonly parameters: ReadonlyMap<string, string>;
  readonly output: string;
  readonly role: "core" | "connected" | "disconnected";
}

export interface World {
  readonly prompt: string;
  readonly target: string;
  readonly inputs: ReadonlyMap<string, number>;
  readonly functions: ReadonlyMap<string, WorldFunction>;
  readonly values: ReadonlyMap<string, number>;
  /** Edges on the longest path to the target. */
  readonly depth: number;
  readonly tools: readonly ChatTool[];
}

export interface WorldSpec {
  readonly core: number;
  readonly shape?: "random" | "path";
  readonly connected?: number;
  readonly disconnected?: number;
  readonly linking?: "types" | "names";
  readonly seed: number;
}

/** A task whose last core function is the target, with every core function an ancestor of it. */
export function makeWorld(spec: WorldSpec): World {
  const { core, shape = "random", connected = 0, disconnected = 0, linking = "types" } = spec;
  const { prng } = fork(spec.seed, "world");
  const between = (least: number, most: number) => randomIntegerBetween(least, most, { prng });
  // Names and values differ from seed to seed, as what the models draw depends on the prompt.
  const words = new Set<string>();
  const word = (): string => {
    const text = String.fromCharCode(...Array.from({ length: 6 }, () => between(97, 122)));
    return words.has(text) ? word() : (words.add(text), text);
  };
  const start = between(100, 300);

  const parents = Array.from({ length: core }, () => new Set<number>());
  for (let node = 0; node < core - 1; node++) {
    parents[shape === "path" ? node + 1 : between(node + 1, core - 1)]!.add(node);
  }
  if (shape === "random") {
    for (let left = core; left > 0; left--) {
      const node = between(0, core - 1);
      if (node > 0) parents[node]!.add(between(0, node - 1));
    }
  }
  const depths: number[] = [];
  for (const above of parents) {
    depths.push(Math.max(0, ...Array.from(above, (parent) => depths[parent]! + 1)));
  }
  for (let left = connected; left > 0; left--) parents.push(new Set([between(0, core - 1)]));
  for (let left = disconnected; left > 0; left--) parents.push(new Set());

  const values = new Map<string, number>();
  const inputs = new Map<string, number>();
  const types = new Map<string, string>();
  const outputs = parents.map(() => {
    const name = word();
    values.set(name, start + values.size);
    types.set(name, `type_${sample(["uxe", "beo"], { prng })} with subtype_${name}`);
    return name;
  });
  const functions = new Map<string, WorldFunction>();
  const tools: ChatTool[] = [];
  for (const [node, above] of parents.entries()) {
    const role = node < core ? "core" : node < core + connected ? "connected" : "disconnected";
    const parameters = new Map<string, string>();
    for (const parent of shuffle([...above], { prng })) {
      parameters.set(linking === "names" ? outputs[parent]! : word(), outputs[parent]!);
    }
    if (above.size === 0) {
      for (let left = between(1, 2); left > 0; left--) {
        const name = word();
        parameters.set(name, name);
        types.set(name, `type_uxe with subtype_${name}`);
        values.set(name, start + values.size);
        if (role === "core") inputs.set(name, values.get(name)!);
      }
    }
    const clause = (name: string, variable: string) =>
      `variable ${name}${linking === "names" ? "" : ` (${types.get(variable)})`}`;
    const name = `func_${word()}`;
    const output = outputs[node]!;
    functions.set(name, { name, parameters, output, role });
    tools.push(makeTool(
      name,
      `Processes ${
        Array.from(parameters, ([own, variable]) => clause(own, variable)).join(", ")
      } ` +
        `to produce ${clause(output, output)}`,
      [...parameters.keys()],
    ));
  }
  const target = outputs[core - 1]!;
  return {
    prompt: makePrompt(target, inputs),
    target,
    inputs,
    functions,
    values,
    depth: depths[core - 1]!,
    tools: shuffle(tools, { prng }),
  };
}

export function makePrompt(target: string, inputs: ReadonlyMap<string, number>): string {
  const lines = Array.from(inputs, ([name, value]) => `Variable ${name} = ${value}`);
  return "Using the tools at your disposal, use functions until you are able to give me the " +
    `correct value of variable ${target}.\n\n${lines.join("\n")}\n\n` +
    "You have all the information you need to get the correct result.";
}

export function makeTool(name: string, description: string, names: readonly string[]): ChatTool {
  const properties = Object.fromEntries(names.map((own) => [own, { type: "integer" }]));
  const parameters = {
    type: "object",
    properties,
    required: [...names],
    additionalProperties: false,
  };
  return { type: "function", function: { name, description, parameters } };
}

/** What a model replies. */
export interface Reply {
  readonly message: ChatAnswer["choices"][0]["message"];
  readonly text: string;
  /** The name and the arguments of each call. */
  readonly calls: readonly (readonly [name: string, given: Record<string, unknown>])[];
  readonly finish: string;
}

/** What a model replies to what a user says, or to a whole conversation. */
export function replyTo(
  model: SimulatedModel,
  said: string | readonly ChatMessage[],
  tools: readonly ChatTool[] = [],
  more: Partial<ChatRequest> = {},
): Reply {
  const messages = typeof said === "string" ? [{ role: "user", content: said } as const] : said;
  const request = { model: model.name, messages, ...(tools.length > 0 ? { tools } : {}), ...more };
  const [{ message, finish_reason: finish }] = model.reply(request).choices;
  const calls = (message.tool_calls ?? []).map(({ function: { name, arguments: given } }) =>
    [name, JSON.parse(given)] as const
  );
  return { message, text: message.content, calls, finish };
}

/** A reply that calls. */
export function calling(...calls: [id: string, name: string, given?: string][]): ChatMessage {
  const tool_calls = calls.map(([id, name, given = "{}"]) => ({
    id,
    type: "function" as const,
    function: { name, arguments: given },
  }));
  return { role: "assistant", content: "I call.", tool_calls };
}

/** What a call returns. */
export function returning(id: string, content: string): ChatMessage {
  return { role: "tool", tool_call_id: id, content };
}

/** A call as it went out, with what this side knows about it. */
export interface Call {
  readonly name: string;
  readonly arguments: ReadonlyMap<string, number>;
  readonly function: WorldFunction | undefined;
  readonly result: number | undefined;
}

export interface Step {
  /** What was given or returned before this step. */
  readonly known: ReadonlyMap<string, number>;
  readonly calls: readonly Call[];
  /** The calls of the steps before. */
  readonly before: readonly Call[];
}

export interface Talk {
  readonly steps: readonly Step[];
  readonly calls: readonly Call[];
  /** The last text. */
  readonly text: string;
  readonly answers: readonly ChatAnswer[];
  readonly requests: readonly ChatRequest[];
}

export interface TalkOptions {
  readonly restate?: boolean;
  readonly seed?: number;
  /** Refuses calls of these functions. */
  readonly broken?: (name: string) => boolean;
  /** What a wrong call gets. */
  readonly refusal?: string;
  /** What a right call gets in place of its result, if anything: of this function, the nth time. */
  readonly inject?: (name: string, time: number) => string | undefined;
}

/** Lets `model` work on `world` until it makes no more calls; it must come to an end. */
export function talk(model: SimulatedModel, world: World, options: TalkOptions = {}): Talk {
  const { refusal = JSON.stringify({ error: "This call is not possible" }) } = options;
  const messages: ChatMessage[] = [{ role: "user", content: world.prompt }];
  const known = new Map(world.inputs);
  const steps: Step[] = [];
  const answers: ChatAnswer[] = [];
  const requests: ChatRequest[] = [];
  for (let left = 4 * world.functions.size + 4; left > 0; left--) {
    const seed = options.seed === undefined ? {} : { seed: options.seed };
    const request = { model: model.name, messages: [...messages], tools: world.tools, ...seed };
    const answer = model.reply(request);
    requests.push(request);
    answers.push(answer);
    const { message } = answer.choices[0];
    messages.push(message);
    if (message.tool_calls === undefined) {
      const calls = steps.flatMap((step) => step.calls);
      return { steps, calls, text: message.content, answers, requests };
    }
    const before = new Map(known);
    const made = steps.flatMap((step) => step.calls);
    const calls = message.tool_calls.map(({ id, function: { name, arguments: given } }) => {
      const call = execute(world, name, given, options);
      const time = made.filter((other) => other.name === name).length + 1;
      const fault = call.result === undefined ? undefined : options.inject?.(name, time);
      return { id, ...call, ...(fault === undefined ? {} : { result: undefined, fault }) };
    });
    for (const { function: called, result } of calls) {
      if (called !== undefined && result !== undefined) known.set(called.output, result);
    }
    const list = Array.from(known, ([name, value]) => `${name} = ${value}`).join("\n");
    for (const { id, function: called, result, fault } of calls) {
      const text = fault !== undefined
        ? fault
        : called === undefined || result === undefined
        ? refusal
        : JSON.stringify({ [called.output]: result });
      const restated = options.restate ? `\n\nAll variables known so far:\n${list}` : "";
      messages.push({ role: "tool", tool_call_id: id, content: text + restated });
    }
    steps.push({ known: before, calls, before: made });
  }
  throw new Error("The conversation did not come to an end");
}

/** Carries out a call, as far as its arguments fit. */
export function execute(
  world: World,
  name: string,
  text: string,
  options: TalkOptions = {},
): Call {
  const arguments_ = new Map<string, number>(Object.entries(JSON.parse(text)));
  const called = world.functions.get(name);
  const names = [...called?.parameters.keys() ?? []];
  const wellFormed = arguments_.size === names.length && names.every((own) => arguments_.has(own));
  const call = { name, arguments: arguments_, function: called };
  if (called === undefined || !wellFormed || options.broken?.(name)) {
    return { ...call, result: undefined };
  }
  const right = [...called.parameters].every(([own, variable]) =>
    arguments_.get(own) === world.values.get(variable)
  );
  const value = world.values.get(called.output)!;
  // Wrong values lie apart from true ones, so that a test can tell them.
  return { ...call, result: right ? value : 100_000 + Number(hash64(name + text) % 900n) };
}

/** Whether every argument of `call` is what had been given or returned for its variable. */
export function isFaithful(call: Call, known: Step["known"]): boolean {
  return call.function !== undefined &&
    [...call.function.parameters].every(([own, variable]) =>
      known.has(variable) && call.arguments.get(own) === known.get(variable)
    );
}

/** Asserts that `hits` of `trials` are what `rate` gives, within four standard errors. */
export function assertRate(hits: number, trials: number, rate: number): void {
  assert(trials >= 200, `too few opportunities to tell: ${trials}`);
  const slack = 4 * Math.sqrt(trials * rate * (1 - rate)) + 1;
  assert(
    Math.abs(hits - trials * rate) <= slack,
    `${hits} of ${trials} is not about ${rate}: expected ${trials * rate} ± ${slack}`,
  );
}
