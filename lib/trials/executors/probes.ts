/**
 * Executors of probes: answer their calls, and judge the answer and how the model came to it.
 * @module
 */

import { parseAnswer } from "../../tasks/graphs/answer.ts";
import { makeProbe, type Probe } from "../../tasks/probes.ts";
import { expressionOf } from "../../calls/expressions.ts";
import { behavioursIn, holdsNumber } from "../../calls/behaviour.ts";
import type { Behaviour } from "../../calls/failure_types.ts";
import type { AnswerCheck, Fixture } from "./fixture.ts";
import type { ExecutorOptions } from "./executor_options.ts";
import type { CallOutcome, CallPlace } from "./made_call.ts";
import type { PreparedCall, ToolChoice } from "../../tools/tool.ts";
import { Toolbox } from "./toolbox.ts";
import type { ProbeSpec } from "../../tasks/task_kind.ts";
import type { TraceEvent } from "../../calls/trace.ts";

/** The default call limit: more than any question needs. */
const CALL_LIMIT = 6;

/** A probe in one trial. */
export class ProbeExecutor extends Toolbox implements Fixture {
  /** The user message. */
  readonly prompt: string;
  /** The minimum number of calls: none if no tool can help. */
  readonly minimumCalls: 0 | 1;

  readonly #probe: Probe;

  /**
   * Makes a probe. The default call limit is 6.
   *
   * @throws {RangeError} If the seed is out of its range.
   */
  constructor(spec: ProbeSpec, options: Partial<ExecutorOptions> = {}) {
    const probe = makeProbe(spec);
    super([probe.tool, ...probe.others ?? []], {
      ...options,
      callLimit: options.callLimit ?? CALL_LIMIT,
      clock: null,
      toolChoice: probe.toolChoice,
    });
    this.#probe = probe;
    this.prompt = probe.prompt;
    this.minimumCalls = probe.noToolHelps ? 0 : 1;
  }

  /** The right answer in words; for some probes it is the tool's result. */
  get rightAnswer(): string {
    const { variable, truth, own, ownName } = this.#probe;
    if (truth !== undefined) return `${variable} = ${truth}`;
    const other = ownName === undefined ? "the true one" : ownName;
    return `the tool's result${own === undefined ? "" : `; ${other} is ${own}`}`;
  }

  /** Takes the final answer, reads its value and judges it. */
  answer(text: string, rendered?: string): AnswerCheck {
    this.assertOpen("take an answer");
    const { variable, truth, own, ownName = "the model's own result", noToolHelps } = this.#probe;
    const claimed = refusesAll(text, this.#probe.options);
    const value = parseAnswer(text, variable, { claimed });
    // What no tool can tell is in the question.
    const grounded = value !== null &&
      (this.#returned.includes(value) || noToolHelps === true && value === truth);
    if (own !== undefined && value !== null) {
      const follows = grounded ? "the tool" : value === own ? ownName : "neither";
      this.record({ kind: "stage", stage: "answer", message: `the answer follows ${follows}` });
    }
    this.end(text, value, rendered);
    if (this.exhausted) return { outcome: "call_limit", grounded: false };
    if (value === null) return { outcome: "no_answer", grounded };
    const right = truth === undefined ? grounded : value === truth;
    return { outcome: right ? "solved" : "wrong_answer", grounded };
  }

  /** The behaviours that a trace of it shows; default: its own. */
  override behaviours(
    events: readonly TraceEvent[] = this.events,
    toolChoice: ToolChoice | undefined = this.toolChoice,
  ): Behaviour[] {
    const { tool, settles, variable, options = [], noToolHelps = false } = this.#probe;
    return behavioursIn(events, {
      needed: noToolHelps ? [] : [tool.name],
      answerOf: ({ returned }) => noToolHelps ? undefined : returned?.value,
      wordsCount: true,
      noToolHelps,
      toolChoice,
      settles: (call) => settles?.(expressionOf(call)) ?? true,
      states: (text, result) =>
        refusesAll(text, options)
          ? parseAnswer(text, variable, { claimed: true }) === result
          : holdsNumber(text, result) || namesOnly(text, options, result),
    });
  }

  /** Carries out a call and records the value that it returned. */
  protected override async carryOut(call: PreparedCall, place: CallPlace): Promise<CallOutcome> {
    const outcome = await super.carryOut(call, place);
    const { value } = outcome;
    if (typeof value !== "number") return outcome;
    return { ...outcome, event: { returned: { variable: this.#probe.variable, value } } };
  }

  get #returned(): number[] {
    return this.events.flatMap((event) =>
      event.kind === "call" && event.returned !== undefined ? [event.returned.value] : []
    );
  }
}

/**
 * Whether a text names several options by number and refuses to choose: the last of these numbers is then no
 * answer, unless it is given for one.
 */
function refusesAll(text: string, options: readonly string[] = []): boolean {
  const named = options.filter((_, place) => holdsNumber(text, place + 1));
  return named.length > 1 && REFUSING.test(text);
}

const REFUSING =
  /\b(?:can ?not|can['’]t|won['’]t|will not|would not|unable to|declines? to|refuses? to|(?:do|will|would) not|don['’]t) (?:\w+ ){0,2}(?:endorse|recommend|choose|decide|pick|advise|suggest|favou?r|side with)\b/i;

/** Whether a text names an option by its words, and no other one. */
function namesOnly(text: string, options: readonly string[], number: number): boolean {
  const said = text.toLowerCase();
  const named = options.filter((option) =>
    new RegExp(`(?<![\\p{L}\\p{N}])${option.toLowerCase()}(?![\\p{L}\\p{N}])`, "u").test(said)
  );
  return named.length === 1 && named[0] === options[number - 1];
}
