/**
 * Chains in one trial: which ids the question and the results have shown, what is wrong with those of calls, and which
 * calls a wrong answer follows from.
 * @module
 */

import { AssertionError } from "@std/assert/assertion-error";
import { InputError, isErrorOf } from "../../base/errors.ts";
import { canonicalJson, fieldOf, type JsonObject, type JsonValue } from "../../base/json.ts";
import { countText } from "../../base/numbers.ts";
import { type FailureCause, isRoot, type WrongArgument } from "../../calls/failure_types.ts";
import { valueText } from "../../calls/values/text.ts";
import { isRight } from "../../chains/answer.ts";
import type { Chain, ChainTask, RecordId } from "../../chains/chains.ts";
import { rememberTask } from "../../chains/drawn.ts";
import { InfrastructureError } from "../../models/model.ts";
import { FRESH, type Tool } from "../../tools/tool.ts";
import type { CallOutcome, CallPlace } from "./made_call.ts";
import type { ToolCase } from "./tool_case.ts";

/** A case of a chain that was drawn: question, tools and calls are those of the drawn task. */
export interface ChainCase<State> extends ToolCase<State> {
  /** Judges the ids of its calls; omitted if no task could be drawn. */
  readonly ids?: ChainIds;
}

/** Draws the task of a case for one trial. If none is found, the set-up of the trial fails with the reason. */
export function chainCase<State>(
  toolCase: ToolCase<State>,
  chain: Chain,
  seed: number,
): ChainCase<State> {
  let task: ChainTask;
  try {
    task = chain.draw(seed);
  } catch (error) {
    const prompt = () => {
      throw error;
    };
    return { ...toolCase, tools: [], prompt };
  }
  const assert: ToolCase<State>["assert"] = ({ answer }) => {
    if (isRight(task, answer ?? "")) return;
    const [asked] = task.question.split(" Answer with ");
    throw new AssertionError(
      `The answer must be ${valueText(task.answer, 200)}, as asked: ${asked}`,
    );
  };
  const { question: prompt, calls: expected } = task;
  const tools = task.tools.map(asService);
  return { ...toolCase, prompt, tools, expected, assert, ids: new ChainIds(chain, task) };
}

/** Returns a tool that breaks the trial off where no value fits: no model can have caused that. */
function asService(tool: Tool): Tool {
  const own: Tool = {
    ...tool,
    [FRESH]: () => own,
    async execute(input) {
      try {
        return await tool.execute(input);
      } catch (error) {
        if (!isErrorOf(error, InputError)) throw error;
        throw new InfrastructureError(error.message, { cause: error });
      }
    },
  };
  return own;
}

/** An argument that is an id, and the right ones in its place. */
interface IdArgument extends RecordId {
  readonly parameter: string;
  readonly right: readonly JsonValue[];
}

/** A call that was carried out. */
interface JudgedCall {
  readonly place: CallPlace;
  readonly name: string;
  readonly input: JsonObject;
  /** The ids that are not the right ones. */
  readonly others: readonly IdArgument[];
  /** The type of its failure, if it is one. */
  type?: "unseen_id" | "wrong_id" | "detour";
  /** What its result shows beside its own arguments: ids, and all values. */
  shows: readonly RecordId[];
  values: ReadonlySet<JsonValue>;
}

/** A failure of a call by the ids in it. */
type IdFailure = NonNullable<CallOutcome["failure"]>;

/** The ids of one trial. */
export class ChainIds {
  readonly #chain: Pick<Chain, "graph" | "calls">;
  readonly #task: ChainTask;
  readonly #given: readonly RecordId[];
  readonly #calls: JudgedCall[] = [];

  constructor(chain: Pick<Chain, "graph" | "calls">, task: ChainTask) {
    this.#chain = chain;
    this.#task = task;
    const scopes = Object.entries(task.scopes).map(([type, id]) => ({ type, id }));
    this.#given = [...task.given, ...scopes];
  }

  /** Makes the task known by the question that the model gets. */
  ask(question: string): void {
    rememberTask(this.#task, question);
  }

  /** Takes a call that conforms to the schema before it is carried out, and returns what is wrong with its ids. */
  begin(name: string, input: JsonObject, place: CallPlace): IdFailure | undefined {
    const others = this.#idsIn(name, input).filter(({ id, right }) => !right.includes(id));
    const call: JudgedCall = { place, name, input, others, shows: [], values: new Set() };
    this.#calls.push(call);
    const shown = this.#shownBefore(place);
    const wrong = others.filter((one) => !shown.some((known) => isSame(known, one)));
    if (wrong.length === 0) return undefined;
    // What a result has shown without a link is no invention.
    const values = this.#before(place).map((one) => one.values);
    const isUnseen = wrong.some(({ type, id, right }) =>
      !shown.some((known) => known.type === type && right.includes(known.id)) &&
      !values.some((own) => own.has(id))
    );
    call.type = isUnseen ? "unseen_id" : "wrong_id";
    return this.#failureOf(call);
  }

  /** Takes the result of such a call. */
  end({ call: number }: CallPlace, result: JsonValue): void {
    const call = this.#calls.find(({ place }) => place.call === number);
    if (call === undefined) return;
    const own = Object.values(call.input);
    const values = leavesOf(result).filter((value) => !own.includes(value));
    call.values = new Set(values);
    call.shows = this.#task.world.records(call.name, call.input)
      .filter(({ id }) => call.values.has(id));
  }

  /**
   * Finds the detours that a wrong answer follows from, the last first, and returns what is wrong with each call that
   * fails, by its number: what follows from a detour is no root.
   */
  detours(answer: string): Map<number, IdFailure> {
    const values = new Set(this.#calls.flatMap((call) => [...call.values]));
    const sought = new Set(
      values.values().filter((value) => isRight({ answer: value, others: [] }, answer)),
    );
    for (const call of this.#calls.toReversed()) {
      const isAlone = (value: JsonValue) =>
        call.values.has(value) &&
        this.#calls.every((other) => !other.values.has(value) || isSameCall(other, call));
      if (call.others.length === 0 || ![...sought].some(isAlone)) continue;
      call.type ??= "detour";
      for (const { id } of call.others) sought.add(id);
    }
    const failed = this.#calls.filter(({ type }) => type !== undefined);
    return new Map(failed.map((call) => [call.place.call, this.#failureOf(call)]));
  }

  /**
   * The steps of the chain, such as `task.gid -> get_task -> assignee.gid -> get_user -> email`, and how many another
   * version has.
   */
  get steps(): string {
    const { given: [first], calls: { length }, steps, target } = this.#task;
    const links = steps.flatMap(({ tool, at }, place) => {
      const isLast = place === steps.length - 1;
      return [tool, [...at, ...isLast ? target.path : []].join(".")];
    });
    const before = this.#chain.calls;
    const change = `; the shortest way is ${
      countText(length, "call")
    } with these tools, and was ${before}`;
    return [...(first === undefined ? [] : [first.type]), ...links].join(" -> ") +
      (length === before ? "" : change);
  }

  /** Whether some call of the chain was never made, so that a right answer was found in another way. */
  get isLeft(): boolean {
    // Further arguments make it no other call.
    const isMade = ({ tool, arguments: right }: ChainTask["calls"][number]) =>
      this.#calls.some(({ name, input }) =>
        name === tool &&
        Object.entries(right).every(([key, value]) =>
          canonicalJson(fieldOf(input, key) ?? null) === canonicalJson(value)
        )
      );
    return !this.#task.calls.every(isMade);
  }

  /** The ids in a call, each with those that the chain has in its place: of this tool or, if it has none, of its type. */
  #idsIn(name: string, input: JsonObject): IdArgument[] {
    const { calls, steps } = this.#task;
    const takes = this.#chain.graph.nodes.get(name)?.takes ?? [];
    const own = calls.find(({ tool }) => tool === name)?.arguments ?? {};
    return takes.flatMap(({ parameter, type = "" }): IdArgument[] => {
      const id = fieldOf(input, parameter);
      if (type === "" || id === undefined) return [];
      const right = fieldOf(own, parameter);
      const records = [...this.#given, ...steps.map(({ shows }) => shows)];
      const ofType = records.flatMap((one) => one.type === type ? [one.id] : []);
      return [{ parameter, type, id, right: right === undefined ? ofType : [right] }];
    });
  }

  #shownBefore(place: CallPlace): readonly RecordId[] {
    return [...this.#given, ...this.#before(place).flatMap(({ shows }) => shows)];
  }

  /** The calls whose results were known when this one was made. */
  #before({ step, level }: CallPlace): readonly JudgedCall[] {
    return this.#calls.filter(({ place }) =>
      place.step < step || place.step === step && place.level < level
    );
  }

  #failureOf({ type = "detour", place, others }: JudgedCall): IdFailure {
    const before = this.#before(place);
    const shown = this.#shownBefore(place);
    const isDetour = (one: IdArgument) => shown.some((known) => isSame(known, one));
    const wrong = others.filter((one) => type === "detour" || !isDetour(one));
    const cause: FailureCause = {
      type,
      detail: {
        arguments: wrong.map((one): WrongArgument => {
          const { parameter, type: variable, id } = one;
          const given = typeof id === "number" ? id : String(id).slice(0, 100);
          const source = before.find((call) =>
            call.type !== undefined && call.shows.some((known) => known.id === id)
          );
          const other = shown.find((known) => known.id === id)?.type ??
            before.find((call) => call.values.has(id))?.name;
          const origin = source !== undefined
            ? { origin: "wrong_return" as const, originCall: source.place.call }
            : isDetour(one)
            ? { origin: "other_record" as const }
            : other !== undefined
            ? { origin: "other_variable" as const, originVariable: other }
            : { origin: "fabricated" as const };
          return { parameter, variable, given, ...origin };
        }),
      },
    };
    return { ...cause, root: isRoot(cause) };
  }
}

function isSame(one: RecordId, { type, id }: RecordId): boolean {
  return one.type === type && one.id === id;
}

function isSameCall(one: JudgedCall, { name, input }: JudgedCall): boolean {
  return one.name === name && canonicalJson(one.input) === canonicalJson(input);
}

/** All values in a value that are neither objects nor lists. */
function leavesOf(value: JsonValue): readonly JsonValue[] {
  return typeof value === "object" && value !== null
    ? Object.values(value).flatMap(leavesOf)
    : [value];
}
