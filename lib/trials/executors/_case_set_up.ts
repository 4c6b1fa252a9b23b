/**
 * The set-up of cases: what the user's functions make for one trial, and how it goes again.
 * @module
 */

import { inTime } from "../../base/deadline.ts";
import { isErrorOf } from "../../base/errors.ts";
import { printable } from "../../base/json.ts";
import { countText } from "../../base/numbers.ts";
import { thrownText } from "../../base/user_code.ts";
import { currentRecording } from "../../models/recordings/scope.ts";
import type { Tool } from "../../tools/tool.ts";
import type { ReferenceState } from "./_reference.ts";
import type { SetUpOptions } from "./tasks.ts";
import type { ToolCase } from "./tool_case.ts";
import { getOrInsert } from "../../base/get_or_insert.ts";

/** At most this many seconds for the set-up of a trial, and for the disposal of each value. */
const MAX_SET_UP = 60;
/** At least this many seconds for the disposal: `limits.seconds` is for the model, and servers take a few to end. */
const MIN_CLEAN_UP = 10;
/** An interrupted trial waits at most this many seconds for a value that is being made, to dispose of it, too. */
const MAX_GRACE = 5;
/** At most this many faults of one clean-up are named. */
const MAX_FAULTS = 3;

/** What a trial of a case works on. */
export interface CaseSetUp<State> {
  /** What `state` made. */
  readonly state: State;
  /** The tools. */
  readonly tools: readonly Tool[];
  /** The question. */
  readonly prompt: string;
  /** The tools of its user. */
  readonly userTools?: readonly Tool[];
  /** Why not all of it could be made, so that the trial cannot begin; omitted if it was. */
  readonly fault?: string;
  /** Set if functions of the case were not asked for its tools or its prompt. */
  readonly unmade?: true;
  /** What the state must be in the end; omitted where the case has no reference. */
  readonly reference?: ReferenceState | undefined;
  /** Disposes of all that was made, once; the result says what went wrong, if anything did. */
  readonly release?: () => Promise<string | undefined>;
}

/**
 * Makes state, tools and prompt of a trial, one after another. What the user's functions throw is no error here,
 * but the fault of the set-up.
 *
 * @throws The reason of `signal`, once what was made is disposed of.
 */
export async function setUpCase<State>(
  { state: makeState, tools: offered, prompt: asked = "", user }: ToolCase<State>,
  { seconds, signal }: SetUpOptions,
): Promise<CaseSetUp<State>> {
  const recording = currentRecording();
  // What tools do to a state is what assertions look at.
  if (makeState !== undefined && recording !== undefined) recording.runsTools = true;
  const limit = limitOf(seconds);
  const cleanUp = limitOf(seconds, MIN_CLEAN_UP);
  const made = madeValues(cleanUp);
  const { release } = made;
  const end = performance.now() + limit.milliseconds;
  const left = () => Math.max(1, end - performance.now());
  let fault: string;
  const make = async <Value>(
    what: "state" | "tools" | "prompt" | "user.tools",
    work: () => Value | Promise<Value>,
  ): Promise<Value> => {
    signal?.throwIfAborted();
    const making = (async () => await work())();
    try {
      const outOfTime = () => new LateError(limit);
      const value = await inTime(() => making, { timeout: left(), outOfTime, signal });
      made.add(what, value);
      return value;
    } catch (error) {
      // What nobody waits for any more must go as well, should it ever be made.
      const late = making.then((value) => {
        const own = madeValues(cleanUp);
        own.add(what, value);
        return own.release();
      });
      late.catch(() => {});
      if (signal?.aborted) {
        const timeout = Math.min(left(), 1000 * MAX_GRACE);
        await inTime(() => late, { timeout, outOfTime: () => error }).catch(() => {});
      }
      fault = faultText(what, error);
      throw error;
    }
  };
  try {
    const state = await make("state", () => makeState?.() as State);
    const tools = typeof offered === "function"
      ? await make("tools", () => offered(state))
      : offered;
    const prompt = typeof asked === "function" ? await make("prompt", () => asked(state)) : asked;
    const { tools: own } = user ?? {};
    const userTools = typeof own === "function" ? await make("user.tools", () => own(state)) : own;
    return { state, tools, prompt, userTools, release };
  } catch (error) {
    if (signal?.aborted) {
      await release();
      throw signal.reason ?? error;
    }
    const none = { state: undefined as State, tools: [], prompt: "" };
    return { ...none, fault: `set-up failed: ${fault!}`, release };
  }
}

/** What did not end in time. */
class LateError extends Error {
  constructor(limit: Limit) {
    super(`did not end within ${limit.text}`);
  }
}

/** How long a set-up or a disposal may take. */
interface Limit {
  readonly text: string;
  readonly milliseconds: number;
}

function limitOf(seconds = MAX_SET_UP, least = 0): Limit {
  const most = Math.min(Math.max(seconds, least), MAX_SET_UP);
  const isOwn = most === seconds && seconds < MAX_SET_UP;
  const text = `${countText(most, "second")}${isOwn ? " (limits.seconds)" : ""}`;
  return { text, milliseconds: 1000 * most };
}

function faultText(what: string, error: unknown): string {
  return `${what} ${isErrorOf(error, LateError) ? error.message : thrownText(error)}`;
}

/** Keeps what is made for a trial, in its order. */
function madeValues(limit: Limit) {
  const values = new Map<unknown, string>();
  let releasing: Promise<string | undefined> | undefined;
  const releaseAll = async () => {
    const faults: string[] = [];
    for (const [value, what] of [...values].reverse()) {
      try {
        // Each has its own time: what hangs must not keep the others from going.
        const timeout = limit.milliseconds;
        const outOfTime = () => new LateError(limit);
        await inTime(async () => void await dispose(value), { timeout, outOfTime });
      } catch (error) {
        faults.push(faultText(`disposing of ${what}`, error));
      }
    }
    if (faults.length === 0) return undefined;
    const more = faults.length - MAX_FAULTS;
    return `clean-up failed: ${faults.slice(0, MAX_FAULTS).join("; ")}` +
      (more > 0 ? `; and ${more} more` : "");
  };
  return {
    /** Adds a value; of tools also each of them, as the list may own what they use. */
    add(what: string, value: unknown): void {
      const tools: readonly Partial<Tool>[] = what.endsWith("tools") && Array.isArray(value)
        ? value
        : [];
      for (const tool of tools) {
        getOrInsert(values, tool, `the tool ${printable(String(tool?.name), 80)}`);
      }
      getOrInsert(values, value, what);
    },
    /** Disposes of everything once, the last first, as `await using` does; returns what went wrong. */
    release: () => releasing ??= releaseAll(),
  };
}

function dispose(made: unknown): unknown {
  const value: Partial<AsyncDisposable & Disposable> = Object(made);
  return typeof value[Symbol.asyncDispose] === "function"
    ? value[Symbol.asyncDispose]!()
    : value[Symbol.dispose]?.();
}

/** What is known of a case before anything is made: planning must not start a user's servers. */
export function looseParts<State>({ tools, prompt = "" }: ToolCase<State>): CaseSetUp<State> {
  return {
    state: undefined as State,
    tools: typeof tools === "function" ? [] : tools,
    prompt: typeof prompt === "function" ? "" : prompt,
    unmade: typeof tools === "function" || typeof prompt === "function" || undefined,
  };
}
