/**
 * Toolboxes: an environment of arbitrary tools, which checks, counts and records their calls.
 * @module
 */

import { type Clock, SYSTEM_CLOCK } from "../../base/clock.ts";
import { cannot, isErrorOf, reasonOf } from "../../base/errors.ts";
import {
  isJsonObject,
  type JsonObject,
  jsonText,
  type JsonValue,
  parseJson,
  printable,
} from "../../base/json.ts";
import { behavioursIn } from "../../calls/behaviour.ts";
import { type Dialogue, inputSigns } from "../../calls/inputs.ts";
import type { Behaviour, ParameterFailureType } from "../../calls/failure_types.ts";
import { impossibleFailures } from "../../calls/impossible_failures.ts";
import { withViews } from "../../calls/parameter_views.ts";
import { MALFORMED_RETURN, type TraceEvent } from "../../calls/trace.ts";
import { isChangedCase, type PerturbedCase } from "../../perturbations/perturbed_case.ts";
import type { MediaPart } from "../../tools/media.ts";
import type { ExpectedCall } from "../../tools/expected_call.ts";
import { InfrastructureError } from "../../models/model.ts";
import { currentRecording } from "../../models/recordings/scope.ts";
import type { ExecutorOptions } from "./executor_options.ts";
import { type CallOutcome, type CallPlace, notFound, refusedCall } from "./made_call.ts";
import { Executor } from "./executor.ts";
import { redact } from "../../base/redact.ts";
import { type ArgumentCheck, argumentCheck } from "../../tools/schema/validate.ts";
import { type ReturnCheck, returnCheck } from "../../tools/schema/returns.ts";
import { ToolError } from "../../tools/tool_error.ts";
import { offerReferences } from "../../tools/references/schema.ts";
import { mistakeText } from "../../base/user_code.ts";
import { errorOfResult, isPlain, valueOfResult } from "../../tools/references/symbol_table.ts";
import {
  freshTool,
  type PreparedCall,
  type RecordedResult,
  type Refusal,
  schemaOf,
  SERVED,
  type StoppableTool,
  TAKE_MEDIA,
  type Tool,
  type ToolCallOptions,
  type ToolChoice,
} from "../../tools/tool.ts";

/** Options of {@linkcode Toolbox}. */
export interface ToolboxOptions extends Partial<ExecutorOptions> {
  /** The values given in the first message, by name. */
  readonly given?: JsonObject;
  /** The number of calls that may be made; default: unlimited. */
  readonly callLimit?: number;
  /** What the model sees in place of the tools and their results; calls are still checked against the original ones. */
  readonly perturbed?: PerturbedCase | undefined;
  /** The correct calls; omitted if they are not known. */
  readonly expected?: readonly ExpectedCall[] | undefined;
  /** Whether the model may, must or must not call; default: as its options say. */
  readonly toolChoice?: ToolChoice | undefined;
  /** Whether a result that is not what its tool declares is an error of the tool; default `true`. */
  readonly checksReturns?: boolean;
  /** The clock by which tools are timed; default: that of the system. `null` for tools that take no time. */
  readonly clock?: Clock | null;
}

/**
 * An environment of plain tools, for strategies and the loop outside of benchmarks. Arguments are checked
 * against the tool's JSON Schema before it runs. If a tool throws, its error is returned; a result that is a
 * JSON object with the single key `error` is a failure as well.
 */
export class Toolbox extends Executor<{ readonly input: JsonObject }> {
  /** The values given in the first message, by name. */
  override readonly given: ReadonlyMap<string, JsonValue>;
  /** Whether the model may, must or must not call; `undefined` if its options say so. */
  readonly toolChoice: ToolChoice | undefined;

  /** What the model sees in place of the tools and their results. */
  protected readonly perturbed: PerturbedCase | undefined;
  readonly #expected: readonly ExpectedCall[] | undefined;
  readonly #tools: ReadonlyMap<string, Tool>;
  readonly #checks: ReadonlyMap<string, ArgumentCheck>;
  readonly #returns: ReadonlyMap<string, ReturnCheck>;
  readonly #clock: Clock | null;
  /** Checks for arguments that contain references, made when first needed. */
  readonly #shapes = new Map<string, ArgumentCheck>();

  /**
   * Offers tools.
   *
   * @throws {InputError} If two tools share a name, a schema is invalid, or `given` is no JSON object.
   */
  constructor(tools: readonly Tool[], options: ToolboxOptions = {}) {
    const { given = {}, callLimit = Infinity, perturbed, expected, toolChoice } = options;
    super(perturbed?.tools ?? tools, { ...options, ...perturbed, callLimit });
    this.given = givenValues(given);
    this.perturbed = perturbed;
    this.#expected = expected;
    this.toolChoice = toolChoice;
    this.#clock = options.clock === undefined ? SYSTEM_CLOCK : options.clock;
    this.#tools = new Map(tools.map((tool) => [tool.name, freshTool(tool)]));
    const names = new Set<string>();
    const duplicate = tools.find(({ name }) => names.size === names.add(name).size);
    if (duplicate !== undefined) {
      throw cannot(
        "offer tools",
        "their names must be distinct",
        `${duplicate.name} is there twice`,
      );
    }
    this.#checks = new Map(tools.map((tool) => [tool.name, argumentCheck(tool)]));
    this.#returns = new Map(
      options.checksReturns === false ? [] : tools.flatMap((tool) => {
        const check = returnCheck(tool);
        return check === undefined ? [] : [[tool.name, check] as const];
      }),
    );
  }

  /** Whether the perturbation found something to change; `true` without one. */
  get changed(): boolean {
    return this.perturbed === undefined || isChangedCase(this.perturbed);
  }

  /** The tools of the correct calls, one for each call; omitted when these are not known. */
  get needed(): readonly string[] | undefined {
    return this.#expected?.map(({ tool }) => tool);
  }

  /** The events with each call compared to the correct ones, if these are known. */
  async viewed(): Promise<readonly TraceEvent[] | undefined> {
    return this.#expected &&
      await withViews(this.events, this.#expected, [...this.#tools.values()]);
  }

  /** The parameter failures that no call of it can show, by the schemas of its tools. */
  get impossible(): readonly ParameterFailureType[] {
    return impossibleFailures(this.#expected ?? [], [...this.#tools.values()]);
  }

  /** The behaviours that a trace of it shows; default: its own. */
  behaviours(
    events: readonly TraceEvent[] = this.events,
    toolChoice: ToolChoice | undefined = this.toolChoice,
  ): Behaviour[] {
    return behavioursIn(events, {
      needed: this.#expected?.map(({ tool }) => tool) ?? [],
      answerOf: () => undefined,
      wordsCount: true,
      toolChoice,
      inputs: this.dialogue && inputSigns(this.dialogue, [...this.#tools.values()].map(schemaOf)),
    });
  }

  /** What was said in the conversation with a simulated user; `undefined` without one. */
  protected get dialogue(): Dialogue | undefined {
    return undefined;
  }

  /** Checks that arguments conform to their tool's schema, and to its `check`. */
  protected override check(
    name: string,
    written: string,
  ): { readonly input: JsonObject } | Refusal | undefined {
    const input = parseJson(written);
    const refusal = this.#checks.get(name)?.(input);
    const tool = this.#tools.get(name);
    if (refusal !== undefined || tool === undefined || !isJsonObject(input)) return refusal;
    const refused: unknown = tool.check?.(input);
    if (refused === undefined) return { input };
    return isRefusal(refused) ? refused : NO_REFUSAL;
  }

  /** Returns why partly unknown arguments do not conform. */
  protected override checkShape(name: string, shape: JsonObject): Refusal | undefined {
    const tool = this.#tools.get(name);
    if (tool === undefined) return undefined;
    const check = this.#shapes.get(name) ?? argumentCheck(offerReferences(tool));
    this.#shapes.set(name, check);
    return check(shape);
  }

  /** What is wrong with a call: there is no such tool, or its arguments are refused. */
  protected override judge(call: PreparedCall): CallOutcome | undefined {
    // Whatever its arguments refer to.
    if (!this.#tools.has(call.name)) return notFound(call.name, this.#tools.keys());
    const checked = this.checked(call);
    return checked !== undefined && "error" in checked ? refusedCall(checked) : undefined;
  }

  /** Carries out a call that conforms to the schema. */
  protected override async carryOut(call: PreparedCall, _: CallPlace): Promise<CallOutcome> {
    const tool = this.#tools.get(call.name)!;
    const wrong = this.judge(call);
    const checked = this.take(call);
    const { recorded } = call;
    if (wrong !== undefined) return recorded === undefined ? wrong : withReason(wrong, recorded);
    // Whatever is wrong with a text that a model got, it got it.
    if (recorded !== undefined) {
      return { ...this.#returned(tool, recorded), content: recorded.text };
    }
    const { input } = checked as { readonly input: JsonObject };
    const clock = this.#clock;
    const started = clock?.now() ?? 0;
    const timed = () =>
      clock === null ? {} : { durationMs: Math.max(0, Math.round(clock.now() - started)) };
    let text: string;
    const media: MediaPart[] = [];
    const run = async () => {
      // Tools written without types may return anything; the reply must be text.
      const returned = await this.run(tool, input, { [TAKE_MEDIA]: (more) => media.push(...more) });
      return typeof returned === "string" ? returned : jsonText(returned) ?? "null";
    };
    try {
      const recording = tool.replay || tool[SERVED] ? currentRecording() : undefined;
      text = await (recording?.result({ tool: tool.name, arguments: input }, run, media) ?? run());
    } catch (error) {
      if (isErrorOf(error, InfrastructureError)) this.breakOff(error);
      return failed(error, timed());
    }
    return { ...this.#returned(tool, { text, ...timed() }), media };
  }

  /** Runs a tool. */
  protected run(
    tool: StoppableTool,
    input: JsonObject,
    options: ToolCallOptions,
  ): Promise<unknown> {
    return tool.execute(input, options);
  }

  /** What a call came to by the text that its tool returned, now or in a run that was recorded. */
  #returned(tool: Tool, { text: content, isError, durationMs }: RecordedResult): CallOutcome {
    const event = { durationMs };
    const error = errorOfResult(content) ?? (isError ? content : undefined);
    if (error !== undefined) {
      return { content, event: { ...event, error: printable(redact(error), 1000) } };
    }
    const fault = this.#returns.get(tool.name)?.(content);
    if (fault === undefined) return { content, value: valueOfResult(content), event };
    return failed(new ToolError("malformed_return", fault), event);
  }

  /** The JSON value of a result, else the text itself. */
  protected override valueOf(text: string): JsonValue {
    return valueOfResult(text);
  }

  /** The variables that a result makes known. */
  protected override namesIn(
    text: string,
    { name }: PreparedCall,
    { call }: CallPlace,
  ): [name: string, value: JsonValue][] {
    return namedReturns(name, call, valueOfResult(text));
  }
}

/** The outcome of a wrong call that was carried out in a run that was recorded: its result does not say what is wrong. */
function withReason(wrong: CallOutcome, { text, isError }: RecordedResult): CallOutcome {
  const error = errorOfResult(wrong.content);
  if (error === undefined || isError || errorOfResult(text) !== undefined) return wrong;
  return { ...wrong, event: { ...wrong.event, error } };
}

/** The outcome of a call whose tool failed, maybe by a mistake of its own. */
function failed(error: unknown, event: CallOutcome["event"]): CallOutcome {
  const reason = printable(redact(reasonOf(error)), 1000);
  const mistake = isErrorOf(error, ToolError) && error.category === "malformed_return"
    ? MALFORMED_RETURN
    : mistakeText(error);
  return {
    content: JSON.stringify({ error: reason }),
    event: { ...event, error: reason, mistake },
    thrown: { error },
  };
}

/** Checks written without types may give anything; none of it lets a call pass. */
function isRefusal(value: unknown): value is Refusal {
  return isJsonObject(value) && typeof value["error"] === "string" && isJsonObject(value["fault"]);
}

const NO_REFUSAL: Refusal = {
  error: "The check of the tool gave neither undefined nor a refusal",
  fault: { missing: [], unexpected: [], wrongType: [], malformed: false },
};

/**
 * Returns the given values by name.
 *
 * @throws {InputError} If `given` is no plain JSON object.
 */
export function givenValues(given: JsonObject): ReadonlyMap<string, JsonValue> {
  const fail = (state: string): never => {
    throw cannot("use what is given", "it must be a plain JSON object", state);
  };
  const values = isJsonObject(given) ? Object.entries(given) : [];
  const wrong = values.find(([, value]) => !isPlain(value));
  if (wrong !== undefined) return fail(`${printable(wrong[0], 100)} is not JSON`);
  // A Map has no enumerable entries, and is an object.
  if (isJsonObject(given) && isPlain(given, Infinity)) return new Map(values);
  return fail(`it is of type ${Object.prototype.toString.call(given).slice(8, -1)}`);
}

/** A tool's result by name: keys of an object as `tool.key`, anything else as `tool#n`. */
export function namedReturns(
  tool: string,
  number: number,
  value: JsonValue,
): [name: string, value: JsonValue][] {
  if (!isJsonObject(value)) return [[`${tool}#${number}`, value]];
  return Object.entries(value).map(([key, field]) => [`${tool}.${key}`, field]);
}
