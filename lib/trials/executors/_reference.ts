/**
 * References: the right calls of a case, carried out on a state of their own, and the state that they leave.
 * @module
 */

import { cannot, orCannot, reasonOf } from "../../base/errors.ts";
import { countText } from "../../base/numbers.ts";
import { inTime } from "../../base/deadline.ts";
import { jsonText, printable } from "../../base/json.ts";
import { thrownText } from "../../base/user_code.ts";
import { recordedCalls } from "../../calls/record.ts";
import { says } from "../../calls/values/says.ts";
import {
  snapshotOf,
  type StateChange,
  stateDifference,
  type StateSnapshot,
} from "../../calls/values/state_difference.ts";
import { valueText } from "../../calls/values/text.ts";
import type { Tool } from "../../tools/tool.ts";
import { Toolbox } from "./toolbox.ts";
import { assertCaseTools, assertUserTools, type ToolCase } from "./tool_case.ts";

/** At most this many seconds for each call, and for each snapshot. */
const MAX_SECONDS = 60;
/** At most this many differences are shown. */
const MAX_SHOWN = 10;

/** What a state must be after a trial, by the right calls. */
export interface ReferenceState {
  /**
   * Checks that a trial begins as the reference did: of another beginning its end would be wrong whatever a model does.
   *
   * @throws {InputError} If it does not.
   */
  assertStart(state: unknown): Promise<void>;
  /** Returns how the state after a trial differs from that of the reference; `undefined` if it does not. */
  failure(state: unknown): Promise<string | undefined>;
}

/**
 * Carries out the right calls, and keeps a copy of the state that they leave.
 *
 * @param made What `state`, `tools` and `user.tools` of the case made for it alone, or why they did not.
 * @throws {InputError} If that failed, a call fails, or the state cannot be compared as a whole.
 */
export async function runReference(
  toolCase: ToolCase<unknown>,
  { state, tools, userTools = [], fault }: {
    readonly state: unknown;
    readonly tools: readonly Tool[];
    readonly userTools?: readonly Tool[] | undefined;
    readonly fault?: string;
  },
): Promise<ReferenceState> {
  const { calls, snapshot = (own) => own } = toolCase.reference!;
  const action = `run the reference of tool test ${printable(toolCase.name, 100)}`;
  if (fault !== undefined) throw cannot(action, "its state and its tools must be made", fault);
  orCannot(action, () => {
    assertCaseTools(toolCase, tools);
    assertUserTools(toolCase, userTools);
  });
  const look = async (own: unknown) => snapshotOf(await soon(() => snapshot(own)));
  const copy = async () => {
    const copied = await look(state).catch((error) => {
      throw cannot(action, "its snapshot must return what is compared", thrownText(error));
    });
    const hidden = hiddenIn(copied);
    if (hidden === undefined) return copied;
    throw cannot(
      action,
      "its state must be data that can be compared, or snapshot return such data of it",
      hidden,
    );
  };
  const before = await copy();
  using own = new Toolbox(tools);
  using ofUser = new Toolbox(userTools);
  for (const [place, { tool, arguments: given = {}, by }] of calls.entries()) {
    const toolbox = by === "user" ? ofUser : own;
    const call = { id: "", name: tool, arguments: jsonText(given) ?? "" };
    const refusal = await soon(() => toolbox.execute([call])).then(
      () => recordedCalls(toolbox.events, toolbox.uncut).at(-1)!.error,
      reasonOf,
    );
    if (refusal === undefined) continue;
    const name = `call ${place + 1}, ${printable(tool, 80)}(${valueText(given, 200)})`;
    throw cannot(action, "each of its calls must succeed", `${name}: ${printable(refusal, 500)}`);
  }
  const after = await copy();
  return {
    async assertStart(own) {
      const { changes: [first] } = stateDifference(before, await look(own));
      if (first === undefined) return;
      throw cannot(
        `compare tool test ${printable(toolCase.name, 100)} with its reference`,
        "state must make the same state each time, with nothing left of a trial before (what differs by chance, such as " +
          "a time, can be left out by reference.snapshot)",
        changeText(first, "trial"),
      );
    },
    async failure(own) {
      let now: StateSnapshot;
      try {
        now = await look(own);
      } catch (error) {
        return `reference.snapshot of the state after the trial ${thrownText(error)}`;
      }
      const { changes, more = 0 } = stateDifference(after, now);
      const count = changes.length + more;
      const hidden = hiddenIn(now);
      if (count === 0) {
        return hidden && `The state cannot be compared with that of the reference: ${hidden}.`;
      }
      const lines = changes.slice(0, MAX_SHOWN).map((one) => `  ${changeText(one, "after")}`);
      if (count > MAX_SHOWN) lines.push(`  ... ${count - MAX_SHOWN} more`);
      // The first line is all that a table shows.
      const where = count === 1 ? "" : ` in ${countText(count, "place")}`;
      return [`The state differs${where}: ${lines.shift()!.trim()}`, ...lines].join("\n");
    },
  };
}

/** Describes how a state, of a trial or after one, differs from that of the reference in one place. */
function changeText({ path, before, after }: StateChange, of: string): string {
  return `${path || "state"}: reference ${before ?? "none"}, ${of} ${after ?? "none"}`;
}

/** Why states cannot be compared as a whole; `undefined` if they can. */
function hiddenIn({ root, partial, unseen }: StateSnapshot): string | undefined {
  const isNothing = root.kind === "word" && root.text === "undefined";
  return isNothing ? "there is none" : partial ? "it is too large" : unseen;
}

/** Returns what work of the user's gives in time. */
function soon<Value>(work: () => Value | Promise<Value>): Promise<Value> {
  const outOfTime = () => new Error(`did not end within ${MAX_SECONDS} seconds`);
  return inTime(async () => await work(), { timeout: 1000 * MAX_SECONDS, outOfTime });
}

/** Says which of the wanted texts no text of the model says; `undefined` if all are said. */
export function unsaidText(
  wanted: NonNullable<ToolCase["communicate"]>,
  texts: readonly string[],
): string | undefined {
  const lines = wanted.filter((one) => !texts.some((text) => says(text, one)))
    .map((one) => `  ${[one].flat().map((text) => valueText(text)).join(" or ")}`);
  if (lines.length === 0) return undefined;
  const last = texts.length === 0 ? "there is none" : `the last is ${valueText(texts.at(-1), 500)}`;
  return ["No text of the model says what it must:", ...lines, `  ${last}`].join("\n");
}
