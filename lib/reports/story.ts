/**
 * Trial stories: the calls of one trial and its errors, in words.
 * @module
 */

import {
  hasFailedFirst,
  isUnwatched,
  UNKNOWN_IF_UNWATCHED,
  unwatchedText,
  variantLabel,
} from "../gate/variant.ts";
import { describeFailure } from "../calls/failure_types.ts";
import { countText } from "../base/numbers.ts";
import { isJsonObject, type JsonObject, jsonText, parseJson } from "../base/json.ts";
import { canCall } from "./cells.ts";
import { lossText } from "../tools/fault.ts";
import { isCase, isQuestion } from "../tasks/task_kind.ts";
import {
  type CallEvent,
  callEventsOf,
  callsOf,
  MALFORMED_RETURN,
  type Omission,
  type ReplyEvent,
  returnedBy,
  type TraceEvent,
} from "../calls/trace.ts";
import type { AgentDeed } from "../tools/tool.ts";
import { questionLines } from "./_question_story.ts";
import { demandText } from "../tools/injection.ts";
import {
  distanceOf,
  showerOf,
  type ShowText,
  type Story,
  type StoryLine,
  tellStory,
} from "./story_lines.ts";
import {
  describeAssertion,
  isAnswerText,
  judgedTitle,
  stateLines,
  tokensText,
  userText,
} from "./_transcript_text.ts";
import type { Trial } from "../trials/trial.ts";
import { failedAssertion } from "../trials/why_unsolved.ts";

/** Returns why a trial is invalid, in words. */
export function describeInvalid(
  { task, reason = "unknown" }: Trial,
  show: ShowText = showerOf("brief"),
): string {
  // A case runs the user's code, whose errors are not infrastructure.
  return (isCase(task) ? "" : "infrastructure: ") + show(reason, 500);
}

/** Returns the first root failure, or the first one if all are cascades. */
export function firstFailure(failures: Trial["failures"]): Trial["failures"][number] | undefined {
  return failures.find((failure) => failure.root) ?? failures[0];
}

/** What keeps a model from the right answer, in words. */
export const OBSTACLE_WORDS: Readonly<Record<NonNullable<Trial["unsolvable"]>, string>> = {
  removed: "the question lacks a value that it needs",
  denied: "a function that it needs is denied",
  unlinked: "nothing shows which values its parameters take",
  misleading: "descriptions lead to another answer, which no model can see",
};

/**
 * Describes in one line how a trial ended; `reasons` adds why it is invalid, how its agent failed, and the
 * assertion's message.
 */
export function describeOutcome(
  trial: Trial,
  { reasons = true, show = showerOf("brief") }: { reasons?: boolean; show?: ShowText } = {},
): string {
  const { outcome, calls, minimumCalls, failures, changed, unsolvable, events, user } = trial;
  const fewest = minimumCalls === null ? "" : ` (fewest ${minimumCalls})`;
  const answer = events.findLast((event) => event.kind === "answer");
  const failed = failedAssertion(trial);
  const typeCounts = [...Map.groupBy(failures, ({ type }) => type)]
    .map(([type, own]) => `${own.length} ${type}`);
  const after = canCall(trial) ? `after ${countText(calls, "call")}${fewest}` : "";
  return [
    ...(outcome === "agent_error" && reasons
      ? [
        `${outcome}: ${show(trial.reason ?? "the agent threw", 500)}`,
        ...(after === "" ? [] : [after]),
      ]
      : [`${outcome} ${after}`.trimEnd()]),
    ...(outcome === "invalid" && reasons ? [describeInvalid(trial, show)] : []),
    ...(changed === false ? ["the perturbation found nothing to change"] : []),
    ...(unsolvable === undefined ? [] : [`unsolvable: ${OBSTACLE_WORDS[unsolvable]}`]),
    ...(failed !== undefined
      ? [reasons ? describeAssertion(failed, show) : "an assertion failed"]
      : outcome === "wrong_answer" && answer?.value !== null
      ? [`answered ${answer?.value}`]
      : []),
    ...(typeCounts.length === 0 ? [] : [`wrong calls: ${typeCounts.join(", ")}`]),
    ...(user === undefined ? [] : [`user ${show(userText(user))}`]),
  ].join("; ");
}

/** Options of {@linkcode describeTrial}. */
export interface StoryOptions {
  /**
   * `brief`: at most 11 lines, those that say most, and what was left out; `full`: every call, with whole texts.
   * Default: `brief`.
   */
  readonly story?: Story;
  /**
   * Whether to show why a trial is invalid, how its agent failed, and the message of a failed assertion.
   * Default: true.
   */
  readonly reasons?: boolean;
}

/**
 * Describes a trial in a few lines: how it ended, the first root failure, the calls around it, and the answer.
 */
export function describeTrial(trial: Trial, options: StoryOptions = {}): string {
  const { story = "brief", reasons = true } = options;
  return tellStory(trialLines(trial, { story, reasons }), story);
}

/** Returns the lines that tell of a trial, with its calls unless something else lists these. */
export function trialLines(
  trial: Trial,
  { story, reasons, calls = true }: Required<StoryOptions> & { readonly calls?: boolean },
): StoryLine[] {
  const { failures, events, model } = trial;
  const show = showerOf(story);
  const root = firstFailure(failures);
  const label = variantLabel({ ...trial, model: model.requested }, model.simulated);
  const others = failures.length - 1;
  const cascades = failures.filter((failure) => !failure.root).length;
  const scored = events.find((event) => event.kind === "scored");
  const last = events.findLast((event) => event.kind === "answer" || event.kind === "stop");
  return [
    { kind: "outcome", text: `${show(label)}: ${describeOutcome(trial, { reasons, show })}` },
    ...linesOf("root", root && [`first root failure: ${describeFailure(root)}`]),
    ...linesOf(
      "further",
      others > 0 && [`further wrong calls: ${others}, cascades among them: ${cascades}`],
    ),
    ...(story === "full" ? linesOf("text", shownLines(trial, story, show)) : []),
    ...eventLines(events, story, show, root?.call).filter(({ kind }) =>
      kind === "text" ? story === "full" : calls || kind !== "call"
    ),
    ...linesOf("state", !trial.solved && changeLines(trial, show)),
    ...(scored !== undefined && isQuestion(trial.task)
      ? questionLines(scored, trial.task, show)
      : []),
    ...linesOf("hint", !trial.solved && hintLines(events, show)),
    ...linesOf(
      "hint",
      isUnwatched(trial) && [
        `  not watched: ${unwatchedText(hasFailedFirst(trial))}, ${UNKNOWN_IF_UNWATCHED}`,
      ],
    ),
    ...linesOf("hint", trial.cleanUp !== undefined && [`  ${show(trial.cleanUp, 300)}`]),
    ...linesOf(
      "answer",
      last?.kind === "answer" && [`  said ${show(JSON.stringify(last.rendered ?? last.text))}`],
    ),
    ...linesOf(
      "answer",
      last?.kind === "stop" && last.message !== trial.reason &&
        [`  stopped: ${show(last.message, 300)}`],
    ),
  ];
}

/** Returns what the model was shown, as far as the transcript has it: tools by their names, or whole. */
export function shownLines({ transcript }: Trial, story: Story, show: ShowText): string[] {
  const { system, scenario, history, prompt, tools } = transcript ?? {};
  const quote = (text: string) => show(JSON.stringify(text));
  const names = tools?.value?.map(({ name }) => show(name, 60)).join(", ") || "none";
  const whole = tools?.value?.map(({ name, description, parameters }) =>
    `  tool ${show(name)}: ${show(description)}` +
    (parameters === undefined ? "" : `: ${show(jsonText(parameters))}`)
  );
  return [
    ...(system?.value === undefined ? [] : [`  system: ${quote(system.value)}`]),
    ...(scenario?.value === undefined || story !== "full"
      ? []
      : [`  the user, unseen by the model: ${quote(scenario.value)}`]),
    ...(history?.value ?? []).map(({ role, text }) => `  before, ${show(role)}: ${quote(text)}`),
    ...(prompt?.value === undefined ? [] : [`  asked: ${quote(prompt.value)}`]),
    ...(whole === undefined ? [] : story === "full" ? whole : [`  tools: ${names}`]),
  ];
}

/**
 * Returns the events in their order: steps of strategies, what was written beside calls, calls, and what judges said.
 *
 * @param focus The call that matters most.
 */
export function eventLines(
  events: readonly TraceEvent[],
  story: Story,
  show: ShowText,
  focus = Infinity,
): StoryLine[] {
  // Calls of one reply may have ended in another order.
  const inOrder = callEventsOf(events).values();
  return events.flatMap((event, place): StoryLine[] => {
    switch (event.kind) {
      case "call": {
        const call = inOrder.next().value!;
        const distance = distanceOf(call.call, focus);
        return [{ kind: "call", text: `  ${describeCall(call, show)}`, distance }];
      }
      case "stage":
        return linesOf("stage", [`stage ${show(event.stage, 60)}: ${show(event.message, 300)}`]);
      case "repair": {
        const { function: name, error, attempts, repaired } = event;
        const end = `${repaired === undefined ? "not repaired" : "repaired"} after`;
        return linesOf("stage", [
          `repair of ${show(name, 60)}: ${show(error)}: ${end} ${countText(attempts, "attempt")}`,
        ]);
      }
      case "judged": {
        const { reason, question, reply } = event;
        // A rubric has a line for each criterion.
        const why = reason === undefined ? "" : `: ${show(reason.replaceAll("\n", "; "))}`;
        return linesOf("judge", [
          `  ${judgedTitle(event, show)}${why}`,
          ...(story === "full"
            ? [
              `    asked: ${show(question)}`,
              `    replied: ${show(reply)} (${tokensText(event)})`,
            ]
            : []),
        ]);
      }
      case "turn":
        return linesOf("text", [
          `  next ${event.by ?? "user"} message: ${show(jsonText(event.text))}`,
        ]);
      case "user": {
        const { text, reasoning, calls = [], fault } = event;
        const did = calls.map(({ function: name, arguments: given, result }) =>
          `called ${show(name, 60)}(${show(given, 120)}) -> ${show(result, 80)}`
        );
        const lost = `wrote what was thrown away (${fault}): ${show(JSON.stringify(text))}`;
        return [
          ...linesOf(
            "text",
            reasoning && [`  the user thought ${show(JSON.stringify(reasoning))}`],
          ),
          ...linesOf("stage", did.concat(fault ? lost : []).map((line) => `  the user ${line}`)),
        ];
      }
      case "reply":
        return [
          ...(event.text === "" || isAnswerText(events, place) ? [] : linesOf("text", [
            `  reply ${event.request} said ${show(JSON.stringify(event.text))}`,
          ])),
          ...linesOf("stage", agentNotes(event, show).map((note) => `  ${note}`)),
        ];
      default:
        return [];
    }
  });
}

/** What an agent did in place of carrying out a call. */
const DEED_WORDS: Readonly<Record<AgentDeed, string>> = {
  hid: "hidden from the model by the agent",
  repaired: "the agent carried out another call in its place",
  not_run: "not carried out by the agent",
  held: "held by the agent",
};

/** Says who made a call if not the model, and what an agent did with it; nothing where it was carried out as written. */
export function callNotes(
  { by, agentDid, held }: Pick<CallEvent, "by" | "agentDid" | "held">,
): string[] {
  return [
    ...(held === undefined ? [] : [`held before as call ${held}`]),
    ...(by === undefined ? [] : [`made by ${by === "agent" ? "the agent" : by}`]),
    ...(agentDid === undefined ? [] : [DEED_WORDS[agentDid]]),
  ];
}

/** Says what an agent did with a reply, and which of its own functions the reply calls. */
export function agentNotes(
  { replaces, ownCalls = [] }: Pick<ReplyEvent, "request" | "replaces" | "ownCalls">,
  show: ShowText,
): string[] {
  const own = ownCalls.map((call) => `${show(call.function, 60)}(${show(call.arguments, 120)})`);
  return [
    ...(replaces === undefined ? [] : [`the agent threw away reply ${replaces} and asked again`]),
    ...(own.length === 0 ? [] : [`the agent's own tools, not judged: ${own.join(", ")}`]),
  ];
}

/** Returns what changed in the state of a trial. */
export function changeLines({ transcript }: Trial, show: ShowText): string[] {
  return transcript?.state === undefined
    ? []
    : stateLines(transcript.state, show).map((line) => `  state: ${line}`);
}

function linesOf(
  kind: StoryLine["kind"],
  texts: readonly string[] | false | "" | undefined,
): StoryLine[] {
  return (texts || []).map((text) => ({ kind, text }));
}

/** At most this many mistakes of tools are in a story. */
const MAX_MISTAKES = 3;

/** What an agent left out, in words. */
const OMITTED: Readonly<Record<Omission, string>> = {
  system: "the instructions",
  history: "the messages",
};

/**
 * Says what no model can help: tools that failed by a mistake of their own, each once, and a server that cannot read
 * calls. Of replies that could not be read, the calls show only parts.
 */
function hintLines(events: readonly TraceEvent[], show: ShowText): string[] {
  const mistaken = Map.groupBy(
    callsOf(events).filter(({ mistake }) => mistake !== undefined),
    ({ function: name, mistake }) => `${name} ${mistake}`,
  );
  const replies = events.filter((event) => event.kind === "reply");
  const made = new Set(callsOf(events).map((call) => call.function));
  const written = replies.find(({ textCalls = [], calls, parsed }) =>
    // An agent may read calls from texts by itself.
    textCalls.some(({ name }) => !made.has(name)) && calls === 0 && parsed === undefined
  );
  const drafted = replies.find(({ drafts, calls }) => drafts !== undefined && calls === 0);
  const alone = replies.find(({ reasoned }) => reasoned);
  const nameText = ([name = ""]: readonly string[]) =>
    name === "" ? "some function" : show(name, 60);
  const { omits = [] } = replies.at(-1) ?? {};
  return [
    ...[...mistaken.values()].slice(0, MAX_MISTAKES).map(([first]) => {
      const { call, function: name, mistake, error = "" } = first!;
      const what = mistake === MALFORMED_RETURN ? `gave a ${mistake}` : `threw ${show(mistake!)}`;
      return `  the tool ${show(name, 60)} itself ${what} in call ${call}: ${show(error, 200)}`;
    }),
    ...omits.map((part) =>
      `  no request of the agent has ${
        OMITTED[part]
      } that the task begins with: task.${part} (docs/agents.md)`
    ),
    ...(written === undefined ? [] : [
      `  wrote a call of ${
        nameText(written.textCalls!.map(({ name }) => name))
      } as text in reply ${written.request}, ` +
      "which is no call: does the server have a parser for the calls of this model? If not, set api " +
      "to the text format that it writes, such as hermes",
    ]),
    ...(drafted === undefined ? [] : [
      `  wrote a call of ${
        nameText(drafted.drafts!)
      } in the reasoning of reply ${drafted.request}, and made none`,
    ]),
    ...replies.filter(({ unknownFinish }) => unknownFinish !== undefined).slice(0, MAX_MISTAKES)
      .map(({ request, unknownFinish }) =>
        `  reply ${request} ended for a reason that is not known: ${show(unknownFinish!, 60)}`
      ),
    ...(alone === undefined ? [] : [
      `  reply ${alone.request} has nothing but reasoning: does the server's reasoning parser fit this ` +
      "model? It may have taken the answer for it; calls in it are carried out with a text format, such as api hermes",
    ]),
    ...replies.filter(({ parsed, written }) => parsed === "unreadable" && written !== undefined)
      .map(({ request, written }) =>
        `  reply ${request} has a call that could not be read; it was written as ` +
        show(written!, 160)
      ),
  ];
}

/** Returns arguments that have no nested values; all others are shown as written, with perhaps thousands of brackets. */
export function plainArguments(event: CallEvent): JsonObject | undefined {
  const parsed = parseJson(event.arguments);
  const isPlain = isJsonObject(parsed) &&
    Object.values(parsed).every((value) => typeof value !== "object");
  return isPlain ? parsed : undefined;
}

function describeCall(event: CallEvent, show: ShowText): string {
  const { call, step, function: name, result } = event;
  const plain = plainArguments(event);
  const shownArguments = plain !== undefined
    ? Object.entries(plain).map(([key, value]) => `${key}=${jsonText(value)}`).join(", ")
    : event.arguments;
  const original = event.returned === undefined
    ? result
    : returnedBy(event).map(({ variable, value }) => `${variable} = ${value}`).join(", ");
  const shownResult = event.unperturbed === undefined
    ? original
    : `${original}, perturbed to ${result}`;
  const mark = event.failure !== undefined
    ? `  <- ${event.failure.type}${event.failure.root ? "" : " (cascade)"}`
    : event.blockedBy !== undefined
    ? `  (${lossText(event)})`
    : event.fault !== undefined
    ? `  (fault: ${event.fault})`
    : event.role === "connected" || event.role === "disconnected"
    ? `  (irrelevant, ${event.role})`
    : event.guessed
    ? "  (guessed)"
    : "";
  const by = callNotes(event).map((note) => `  (${note})`).join("");
  const injected = event.injected === undefined
    ? ""
    : `  (injected: ${show(demandText(event.injected), 160)})`;
  return `${call}. step ${step} ${show(name, 60)}(${show(shownArguments, 120)}) -> ` +
    `${show(shownResult, 80)}${injected}${by}${mark}`;
}
