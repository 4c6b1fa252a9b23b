/**
 * What models say on the wire to agents, against what their trials record: the replies of models that err, and what
 * must hold of a trial with them.
 */

import { assert, assertEquals } from "@std/assert";
import { callsOf } from "../../lib/calls/trace.ts";
import { generateTask, type Task } from "../../lib/tasks/graphs/task.ts";
import type { Agent } from "../../lib/trials/own_agent.ts";
import { runTrial } from "../../lib/trials/run_trial.ts";
import type { Trial } from "../../lib/trials/trial.ts";
import type { AgentForm } from "./agents/agent.ts";
import { coreInOrder, rightArguments } from "./generated.ts";
import { type SaidCall, type Saying, sayingServer } from "./saying_server.ts";

export const SPEC = { core: 4, depth: 2, connected: 1, disconnected: 0, seed: 7 };
export const TASK = generateTask(SPEC);
export const LIMITS = { calls: 50 };

/** An agent that speaks to its model in one form. */
export interface SpeakingAgent extends AgentForm {
  readonly agent: Agent;
}

export const right = (task: Task, place: number): SaidCall => {
  const made = coreInOrder(task).at(place)!;
  return { name: made.name, arguments: JSON.stringify(rightArguments(task, made)) };
};

/** A call with another value for each of its arguments. */
function withOthers(call: SaidCall): SaidCall {
  const given = Object.entries(JSON.parse(call.arguments)).map(([name, value]) =>
    [name, Number(value) + 1] as const
  );
  return { ...call, arguments: JSON.stringify(Object.fromEntries(given)) };
}

/** A wrong call, and the number of right ones that are made before it. */
export const MISTAKES: Readonly<
  Record<string, (task: Task) => readonly [before: number, SaidCall?]>
> = {
  "none": () => [0],
  "invented name": () => [0, { name: "look_up_everything", arguments: '{"of": 7}' }],
  "missing argument": (task) => [1, { ...right(task, 0), arguments: "{}" }],
  "unreadable arguments": (task) => [0, { ...right(task, 1), arguments: '{"first": 12, ' }],
  "stale value": (task) => [3, withOthers(right(task, -1))],
  "early call": (task) => [0, withOthers(right(task, -1))],
};

/** The replies of a model that errs twice: beside a right call, and with a call alone. */
export function repliesWith(mistake: string, task = TASK): Saying[] {
  const [before, wrong] = MISTAKES[mistake]!(task);
  const replies = coreInOrder(task).map((_, place): Saying => ({ calls: [right(task, place)] }));
  const answer = { text: `${task.target.variable} = ${task.target.value}` };
  if (wrong === undefined) return [...replies, answer];
  const beside = replies[before]!.calls!;
  return [
    ...replies.slice(0, before),
    { calls: before === 3 ? [wrong] : [...beside, wrong] },
    { calls: [wrong] },
    ...replies.slice(before === 3 ? before : before + 1),
    answer,
  ];
}

/** The calls of each reply, in the same order whatever the order in which they were carried out. */
const wordsOf = (calls: readonly SaidCall[]) =>
  calls.map(({ name, arguments: written }) => `${name} ${written}`).toSorted();

function recordedIn({ events }: Trial): string[][] {
  const replies = events.filter((event) => event.kind === "reply");
  return replies.map((_, place) =>
    wordsOf(
      callsOf(events).filter(({ step, by }) => step === place + 1 && by === undefined)
        .map((call) => ({ ...call, name: call.function })),
    )
  );
}

const failuresOf = ({ failures }: Trial) =>
  failures.map(({ call: _, ...failure }) => failure)
    .toSorted((one, other) =>
      one.step - other.step || (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1)
    );

/** Asserts that all that a model with a mistake says to an agent is recorded, and judged as if the built-in loop had got it. */
export async function assertSaidIsRecorded(
  { api, streamed, agent }: SpeakingAgent,
  mistake: string,
): Promise<void> {
  const script = repliesWith(mistake);
  await using server = sayingServer(script);
  const trial = await runTrial(SPEC, server.model({ api }), { agent, limits: LIMITS });
  const said = server.replies.map(({ calls = [] }) => wordsOf(calls));
  const recorded = recordedIn(trial);
  // What the built-in loop makes of the same replies.
  await using again = sayingServer([...server.replies, { text: "that is all" }]);
  const built = await runTrial(SPEC, again.model({ api }), { limits: LIMITS });
  const types = trial.failures.map(({ type }) => type);
  assertEquals(recorded, said, `${trial.reason}`);
  assertEquals(failuresOf(trial), failuresOf(built));
  assertEquals(trial.agent, "watched");
  const isCounted = server.asked.every(({ body }) =>
    api === "responses" || body["stream"] !== true ||
    Object(body["stream_options"]).include_usage === true
  );
  const replies = trial.events.filter((event) => event.kind === "reply");
  assertEquals(replies.length, server.replies.length);
  assertEquals(
    replies.map(({ estimated }) => estimated === true),
    replies.map(() => !isCounted),
  );
  if (isCounted) assertEquals(trial.usage, server.usage);
  assertEquals(server.asked.every(({ body }) => (body["stream"] ?? false) === streamed), true);
  assertEquals(
    server.asked.every(({ path }) =>
      path.endsWith(api === "chat" ? "/chat/completions" : "/responses")
    ),
    true,
  );
  if (mistake === "none") assertEquals([trial.outcome, types], ["solved", []]);
  else assert(types.length > 0);
}
