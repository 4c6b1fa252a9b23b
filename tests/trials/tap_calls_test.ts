// Whatever a model says and whatever its framework does with it: every call is recorded once, as it was written, and
// judged as without an agent.

import { assertEquals } from "@std/assert";
import type { JsonObject } from "../../lib/base/json.ts";
import { callsOf } from "../../lib/calls/trace.ts";
import { InfrastructureError } from "../../lib/models/model.ts";
import { generateTask } from "../../lib/tasks/graphs/task.ts";
import { toOpenAITool } from "../../lib/tools/tool.ts";
import { deriveAgain } from "../../lib/trials/derive.ts";
import { openTask } from "../../lib/trials/executors/tasks.ts";
import type { Agent, AgentTask } from "../../lib/trials/own_agent.ts";
import { runTrial } from "../../lib/trials/run_trial.ts";
import { ofOtherModel } from "../../lib/trials/tap/_requests.ts";
import { type Trial, TRIAL_LINE } from "../../lib/trials/trial.ts";
import fc, { runsOf } from "../support/fast_check.ts";
import { coreInOrder, rightArguments } from "../support/generated.ts";
import { type SaidCall, type Saying, sayingServer } from "../support/saying_server.ts";

const SPEC = { core: 4, depth: 2, connected: 1, disconnected: 0, seed: 7 };
const TASK = generateTask(SPEC);
const CORE = coreInOrder(TASK).map((made) => ({
  name: made.name,
  input: rightArguments(TASK, made) as JsonObject,
}));
const LIMITS = { calls: 100 };
/** A tool of the agent's own. */
const OWN = "transfer_to_clerk";

const KINDS = ["right", "stale", "missing", "invented", "unreadable", "own"] as const;

/** Writes a call of a kind, of the function at a place. */
function written(kind: typeof KINDS[number], place: number): SaidCall {
  const { name, input } = CORE[place]!;
  const text = JSON.stringify(input);
  switch (kind) {
    case "right":
      return { name, arguments: text };
    case "stale":
      return { name, arguments: text.replaceAll(/\d+/g, "7") };
    case "missing":
      return { name, arguments: "{}" };
    case "unreadable":
      return { name, arguments: text.slice(0, -1) };
    case "invented":
      return { name: `${name}_x`, arguments: text };
    case "own":
      return { name: OWN, arguments: text };
  }
}

const DEEDS = ["order", "reversed", "parallel", "skip", "repair", "hide", "again"] as const;
type Deed = typeof DEEDS[number];

const turn = fc.record({
  calls: fc.array(
    fc.record({
      kind: fc.constantFrom(...KINDS),
      place: fc.nat(CORE.length - 1),
      twice: fc.boolean(),
    }).map(({ kind, place, twice }) => {
      const call = written(kind, place);
      return twice ? [call, { ...call }] : [call];
    }),
    { minLength: 1, maxLength: 3 },
  ).map((calls) => calls.flat()),
  deed: fc.constantFrom(...DEEDS),
});

interface Call {
  readonly id: string;
  readonly function: { readonly name: string; readonly arguments: string };
}

function inputOf({ function: { arguments: text } }: Call): JsonObject | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A framework that does with each reply what is asked of it; `own` gets what it calls by itself. */
function framework(deeds: readonly Deed[], own: string[]): Agent {
  return async (task: AgentTask, { fetch, baseURL, model }) => {
    const tools = [
      ...task.tools.map(toOpenAITool),
      { type: "function", function: { name: OWN, parameters: {} } },
    ];
    const messages: unknown[] = [{ role: "user", content: task.prompt }];
    for (let asked = 0;; asked++) {
      const response = await fetch(`${baseURL}/chat/completions`, {
        method: "POST",
        body: JSON.stringify({ model, messages, tools }),
      });
      const { choices: [{ message }] } = await response.json();
      if (message.tool_calls === undefined) return message.content;
      const deed = deeds[asked]!;
      if (deed === "again") continue;
      const calls: Call[] = message.tool_calls;
      const toolOf = (call: Call) => task.tools.find(({ name }) => name === call.function.name);
      const run = async (call: Call) => {
        const tool = toolOf(call);
        const input = inputOf(call);
        return tool === undefined || input === undefined ? "wrong" : await tool.execute(input);
      };
      const isSound = (call: Call) => toolOf(call) !== undefined && inputOf(call) !== undefined;
      const results = new Map<Call, string>();
      const carryOut = async (call: Call) => void results.set(call, await run(call));
      const kept = deed === "hide" ? calls.filter(isSound) : calls;
      if (deed === "parallel") await Promise.all(calls.map(carryOut));
      else if (deed === "order" || deed === "hide") {
        for (const call of kept) await carryOut(call);
      } else if (deed === "reversed") {
        for (const call of calls.toReversed()) await carryOut(call);
      } else if (deed === "repair") {
        for (const call of calls) {
          const tool = toolOf(call);
          const right = CORE.find(({ name }) => name === tool?.name);
          if (tool === undefined || right === undefined) continue;
          const isRight = JSON.stringify(inputOf(call)) === JSON.stringify(right.input);
          if (!isRight) own.push(`${tool.name} ${JSON.stringify(right.input)}`);
          results.set(call, await tool.execute(right.input));
        }
      }
      messages.push({ ...message, tool_calls: kept.length === 0 ? undefined : kept });
      for (const call of kept) {
        messages.push({ role: "tool", tool_call_id: call.id, content: results.get(call) ?? "no" });
      }
    }
  };
}

const wordsOf = (calls: readonly SaidCall[]) =>
  calls.map(({ name, arguments: text }) => `${name} ${text}`).toSorted();

const failuresOf = ({ failures }: Trial) =>
  failures.map(({ step, function: name, type }) => `${step} ${name} ${type}`).toSorted();

const isOfSchema = (failure: string) =>
  /function_not_found|wrong_number_of_inputs|type_error$/.test(failure);

Deno.test("a tap records every call once, whatever a framework does with it", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(turn, { minLength: 1, maxLength: 4 }), async (turns) => {
      const answer: Saying = { text: `${TASK.target.variable} = ${TASK.target.value}` };
      const replies = turns.map(({ calls }): Saying => ({ calls }));
      await using server = sayingServer([...replies, answer]);
      const own: string[] = [];
      const deeds = turns.map(({ deed }) => deed);
      const trial = await runTrial(SPEC, server.model(), {
        agent: framework(deeds, own),
        limits: LIMITS,
      });
      const ofTask = replies.map(({ calls = [] }) => calls.filter(({ name }) => name !== OWN));
      const calls = callsOf(trial.events);
      assertEquals(
        ofTask.map((_, place) =>
          wordsOf(
            calls.filter(({ step, by }) => step === place + 1 && by === undefined)
              .map((call) => ({ ...call, name: call.function })),
          )
        ),
        ofTask.map(wordsOf),
        trial.reason,
      );
      // All others are the agent's, and marked.
      assertEquals(
        calls.filter(({ by }) => by === "agent").map((call) => `${call.function} ${call.arguments}`)
          .toSorted(),
        own.toSorted(),
      );
      assertEquals(
        trial.events.filter((event) => event.kind === "reply").map(({ ownCalls = [] }) =>
          ownCalls.map((call) => `${call.function} ${call.arguments}`)
        ),
        [...replies, answer].map(({ calls = [] }) =>
          calls.filter(({ name }) => name === OWN).map((call) => `${call.name} ${call.arguments}`)
        ),
      );
      assertEquals(trial.agent, "watched");

      // The built-in loop on the same replies, in which all sound calls are carried out.
      await using again = sayingServer([
        ...ofTask.map((calls): Saying => calls.length === 0 ? { calls: [MARK] } : { calls }),
        answer,
      ]);
      const built = await runTrial(SPEC, again.model(), { limits: LIMITS });
      const expected = failuresOf(built).filter((failure) => !failure.includes(MARK.name));
      const found = failuresOf({ ...trial, failures: modelFailures(trial) });
      const isFaithful = deeds.every((deed) =>
        ["order", "reversed", "parallel", "hide"].includes(deed)
      );
      if (isFaithful) assertEquals(found, expected);
      else assertEquals(found.filter(isOfSchema), expected.filter(isOfSchema));

      const line = TRIAL_LINE.parse(JSON.parse(JSON.stringify(trial)));
      assertEquals(
        await deriveAgain(line, {
          ...{ limits: LIMITS, references: false, open: openTask },
          strategy: { strategy: "plain" },
        }),
        { kind: "agrees" },
      );
    }),
    { numRuns: runsOf(30) },
  );
});

/** Keeps a reply of the built-in loop from being the answer. */
const MARK: SaidCall = { name: "nothing_to_call", arguments: "{}" };

/** The failures of the model's own calls. */
function modelFailures({ failures, events }: Trial): Trial["failures"] {
  const own = new Set(
    callsOf(events).filter(({ by }) => by !== undefined).map(({ call }) => call),
  );
  return failures.filter(({ call }) => !own.has(call));
}

Deno.test("ofOtherModel() takes a missing model for the agent's doing, and leaves all other faults", () => {
  const missing = new InfrastructureError("no such model", { permanent: "model", status: 404 });
  const told = ofOtherModel(missing) as InfrastructureError;
  assertEquals([told.message, told.status, told.fault], ["no such model", 404, "unclear"]);
  assertEquals(told.permanent, undefined);
  for (
    const other of [
      new InfrastructureError("refused", { permanent: "refused" }),
      new InfrastructureError("busy", { retryable: true }),
      new RangeError("far"),
    ]
  ) assertEquals(ofOtherModel(other) === other, true);
});
