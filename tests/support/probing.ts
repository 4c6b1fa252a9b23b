/**
 * Models made by hand that have one habit towards tools, for the tests of probes: in process, and as a
 * server that speaks the OpenAI wire format.
 */

import type { Model } from "../../lib/models/model.ts";
import { scripted, type ScriptedReply } from "../../lib/models/scripted.ts";
import type { ChatRequest } from "../../lib/simulated/_wire.ts";
import { type SayingServer, sayingServer } from "./saying_server.ts";

/** What a model does with a probe. */
export const HABITS = [
  "follows",
  "trusts itself",
  "never calls",
  "calls for ever",
  "calls anew for ever",
  "gives no number",
  "gives up after a call",
  "answers neither",
] as const;

/** What a model does with a probe. */
export type Habit = typeof HABITS[number];

/** A model that has a habit; where it must call, a follower does nothing else. */
export function habitual(habit: Habit, name: string = habit, silent = false): Model {
  return scripted(name, ({ messages, tools, toolChoice }) => {
    const results = messages.flatMap(({ role, content }) => role === "tool" ? [content] : []);
    const forced = toolChoice !== undefined;
    const reply = behave(habit, messages[0]!.content, tools[0]!.name, results, forced);
    return silent && reply.calls !== undefined ? { ...reply, text: "" } : reply;
  });
}

/** Serves models that are called as their habits are, with `-` for each space. */
export function habitServer(): SayingServer {
  return sayingServer(({ body }) => {
    const { messages, tools, model, tool_choice } = body as unknown as Required<ChatRequest>;
    const { text, calls = [] } = behave(
      model.replaceAll("-", " ") as Habit,
      String(messages[0]!.content),
      tools?.[0]?.function.name ?? "",
      messages.flatMap(({ role, content }) => role === "tool" ? [String(content)] : []),
      tool_choice !== undefined && tool_choice !== "auto",
    );
    const made = calls.map(({ name, arguments: given }) => ({
      name,
      arguments: JSON.stringify(given),
    }));
    return { text, calls: made, model };
  });
}

function behave(
  habit: Habit,
  prompt: string,
  tool: string,
  results: readonly string[],
  forced: boolean,
): ScriptedReply {
  const again = `${forced || habit === "calls anew for ever" ? results.length : ""}`;
  const calling: ScriptedReply = {
    text: "I ask the tool.",
    calls: [{
      name: tool,
      arguments: tool === "oracle"
        ? { conundrum: `What shall I do? ${again}` }
        : { expression: sumIn(prompt) + (again === "" ? "" : ` + 0 * ${again}`) },
    }],
  };
  const variable = prompt.includes("option = number") ? "option" : "result";
  const stating = (value: number): ScriptedReply => ({ text: `So ${variable} = ${value}.` });
  const last = Number(results.at(-1));
  if (habit === "gives no number") return { text: "I would rather not say." };
  if (habit === "never calls") return stating(ownAnswer(prompt));
  if (results.length === 0 || habit.endsWith("for ever")) return calling;
  switch (habit) {
    case "gives up after a call":
      return { text: "I cannot tell." };
    case "answers neither":
      return stating(last + 1000);
    case "trusts itself":
      return stating(
        variable === "option" && !prompt.includes("advise") ? last % 2 + 1 : ownAnswer(prompt),
      );
    default:
      return forced ? calling : stating(last);
  }
}

/** The expression that a question is about; any where it is about none. */
function sumIn(prompt: string): string {
  const [, most, least] = /from (\d+) down to (\d+)\?/.exec(prompt) ?? [];
  if (most !== undefined) return `(${most} + ${least}) * (${most} - ${least} + 1) / 2`;
  return /What is (\d+ [+*] \d+)\?/.exec(prompt)?.[1] ?? "700 + 7";
}

/** What a model finds by itself. */
export function ownAnswer(prompt: string): number {
  const [, advised] = /would advise me to ([^,]+),/.exec(prompt) ?? [];
  if (advised !== undefined) return Number(new RegExp(`(\\d)\\. ${advised}[;.]`).exec(prompt)![1]);
  if (prompt.includes("option = number")) return 1;
  const [, word] = /How many letters does the word (\w+) have\?/.exec(prompt) ?? [];
  if (word !== undefined) return word.length;
  const [, stated] = /(\d+) (\w+)\b.* How many \2 does it have\?/.exec(prompt) ?? [];
  if (stated !== undefined) return Number(stated);
  const [, one, sign, other] = /What is (\d+) ([+*]) (\d+)\?/.exec(prompt) ?? [];
  if (sign !== undefined) {
    return sign === "+" ? Number(one) + Number(other) : Number(one) * Number(other);
  }
  const [, most, least] = /from (\d+) down to (\d+)\?/.exec(prompt)!;
  let sum = 0;
  for (let number = Number(least); number <= Number(most); number++) sum += number;
  return sum;
}
