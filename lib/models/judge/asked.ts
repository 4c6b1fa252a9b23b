/**
 * Asked judges: what the judges of a trial's assertions were asked, for its trace and its costs.
 * @module
 */

import defer * as hooks from "node:async_hooks";
import { cutText } from "../../base/json.ts";
import { redactRecord } from "../../base/redact.ts";
import { type JudgedEvent, MAX_KEPT_LENGTH } from "../../calls/trace.ts";
import { sumUsage, type Usage } from "../../tools/message.ts";
import type { StageUse } from "../model.ts";

/** A question that a judge was asked, and what came of it. */
export interface AskedQuestion extends Omit<JudgedEvent, "kind" | "simulated"> {
  /** The name of the model that answered, according to the server; empty if it does not say. */
  readonly served: string;
  /** Whether the judge is a program that simulates a model. */
  readonly simulated: boolean;
}

/** Questions kept by a trace, at most; the tokens of all of them count. */
const MAX_KEPT = 100;

/** Collects what is asked within the assertions of one trial. */
export class AskedJudges {
  readonly #events: JudgedEvent[] = [];
  readonly #uses = new Map<
    string,
    { readonly served: Set<string>; readonly simulated: boolean; usage: Usage }
  >();

  /** The number of questions that are under way. */
  open = 0;

  /** The questions so far, in the order in which they were answered. */
  get events(): readonly JudgedEvent[] {
    return this.#events;
  }

  /** The tokens of each judge so far. */
  get uses(): readonly Omit<StageUse, "stage">[] {
    return [...this.#uses].map(([requested, { served, simulated, usage }]) => ({
      model: { requested, served: [...served], simulated },
      usage,
    }));
  }

  /** Adds a question. */
  add({ served, simulated, ...question }: AskedQuestion): void {
    const use = this.#uses.get(question.model) ??
      { served: new Set<string>(), simulated, usage: { inputTokens: 0, outputTokens: 0 } };
    use.usage = sumUsage([use.usage, question.usage]);
    if (served !== "") use.served.add(served);
    this.#uses.set(question.model, use);
    if (this.#events.length === MAX_KEPT) return;
    this.#events.push({
      kind: "judged",
      ...question,
      simulated: simulated || undefined,
      // Before it is cut, as that of the reply is: half a key is no longer recognized.
      question: cutText(redactRecord(question.question), MAX_KEPT_LENGTH),
    });
  }
}

// Made with the first trial that has assertions.
let scope: hooks.AsyncLocalStorage<AskedJudges> | undefined;

/** Runs assertions so that what their judges are asked is collected. */
export function collectAsked<T>(asked: AskedJudges, work: () => T): T {
  scope ??= new hooks.AsyncLocalStorage();
  return scope.run(asked, work);
}

/** Returns where the assertions that are running collect what they ask; `undefined` outside of any. */
export function currentAsked(): AskedJudges | undefined {
  return scope?.getStore();
}
