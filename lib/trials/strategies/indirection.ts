/**
 * The strategy that hides values from the model behind names (Indirection, "Adding a Level of Indirection").
 * @module
 */

import type { LoopOptions } from "../agent/loop.ts";
import { escapePattern } from "../../base/escape_pattern.ts";
import { isJsonObject, type JsonValue, parseJson } from "../../base/json.ts";
import type { Message } from "../../tools/message.ts";
import { fillPrompt, PROMPTS } from "../../models/prompts.ts";
import type { Strategy, Texts } from "./_stages.ts";
import { dereferenceTool, resultParameter } from "../../tools/references/schema.ts";
import { Symbols } from "../../tools/references/symbol_table.ts";
import {
  type Answered,
  type Environment,
  type PreparedCall,
  type Refusal,
  type ToolSchema,
  wrapEnvironment,
} from "../../tools/tool.ts";

/**
 * The model works with names, and an environment holds the values: each call names its result, arguments are
 * names or values, and names in the final answer are replaced. Numbers and texts stated in messages as `name
 * = value` are hidden behind their names too. Errors of tools are passed on unchanged. With `dereference` the
 * model may look up a value, which counts as a call.
 */
export const indirection: Strategy<Texts<"indirection">> = async (options, next, settings) => {
  const { environment, messages, bound } = options;
  const hidden = hideValues(environment, settings.dereference, bound);
  const last = messages.findLastIndex(({ role }) => role === "user");
  const ending = await next({
    ...options,
    environment: hidden.environment,
    messages: messages.map((message, place): Message => {
      if (message.role !== "user") return message;
      const { content } = message;
      return {
        ...message,
        content: place === last
          ? explainNames(content, environment, settings.prompts.use)
          : hideGiven(content, environment.given),
      };
    }),
  });
  if (ending.kind !== "answer") return ending;
  const text = hidden.symbols.resolve(ending.text);
  const rendered = hidden.symbols.render(ending.text);
  return { ...ending, text, ...(rendered === text ? {} : { rendered }) };
};

/**
 * The prompt for a model that works with names: the question with its given values hidden, and an explanation
 * of names.
 */
export function explainNames(
  question: string,
  { tools, given }: Pick<Environment, "tools" | "given">,
  use: string = PROMPTS.indirection.use,
): string {
  const names = [...new Set(tools.map(resultParameter))];
  return fillPrompt(use, {
    question: hideGiven(question, given),
    parameters: `the parameter ${names.join(" or ") || "result"}`,
  });
}

/** Replaces given values stated as `name = value` by names: numbers, and texts plain or quoted. */
function hideGiven(text: string, given: ReadonlyMap<string, JsonValue>): string {
  const hidden = text.replaceAll(
    /\b([A-Za-z_]\w*) = (-?\d+(?:\.\d+)?)(?!\w|\.\d)/g,
    (whole, name, number) => given.get(name) === Number(number) ? `${name} = @${name}` : whole,
  );
  return [...given].reduce((result, [name, value]) => {
    if (typeof value !== "string" || value === "") return result;
    const stated = `${escapePattern(name)} = (?:"${escapePattern(value)}"|${
      escapePattern(value)
    }(?!\\w))`;
    return result.replaceAll(new RegExp(`(?<![\\w@])${stated}`, "g"), () => `${name} = @${name}`);
  }, hidden);
}

/** Adds how names may be used to the refusal of a tool, which knows nothing of names. */
export function explainRefusal(refusal: Refusal, tool: ToolSchema): Refusal {
  const result = resultParameter(tool);
  const error =
    `${refusal.error}. Each may be given by an @name, and ${result} must name the result`;
  return { ...refusal, error };
}

/** Returns an environment whose values are hidden behind names, and these names. */
function hideValues(
  inner: Environment,
  isRevealing: boolean,
  bound: LoopOptions["bound"],
): { readonly symbols: Symbols; readonly environment: Environment } {
  const symbols = new Symbols(inner.given);
  const tools = new Map(inner.tools.map((tool) => [tool.name, tool]));
  // The tool that reveals values has a free name.
  const dereference = isRevealing ? dereferenceTool(inner.tools) : undefined;
  /** The name of each variable, as restating lists them. */
  const listed = new Map(symbols.names().map((name) => [name, `@${name}`]));

  /** A call with values in place of names, and the name of its result. */
  const prepare = (
    call: PreparedCall,
    taken: ReadonlySet<string>,
  ): { readonly call: PreparedCall; readonly name?: string } => {
    if (call.name === dereference?.name) {
      const input = parseJson(call.resolved ?? call.arguments);
      const requested = isJsonObject(input) ? input["name"] : undefined;
      return { call: { ...call, answer: symbols.reveal(requested) } };
    }
    const tool = tools.get(call.name);
    if (tool === undefined) return { call };
    const parsed = symbols.read(tool, call.resolved ?? call.arguments, taken);
    if ("error" in parsed) {
      const { meant, ...refusal } = parsed;
      return { call: { ...call, refusal, resolved: meant ?? call.resolved } };
    }
    const prepared = { ...call, resolved: parsed.resolved };
    const refusal = inner.refuse(prepared);
    if (refusal === undefined) return { call: prepared, name: parsed.name };
    return { call: { ...prepared, refusal: explainRefusal(refusal, tool) } };
  };

  /** Binds the result of a call, and returns its name in place of it. */
  const bind = (
    { call, content, value }: Answered,
    name: string | undefined,
    known: ReadonlyMap<string, JsonValue>,
  ): Answered => {
    // The model must read errors.
    if (value === undefined || name === undefined) return { call, content };
    symbols.bind(name, value);
    bound?.(name, value);
    const keys = isJsonObject(value) ? Object.keys(value) : [];
    if (keys.length > 0 && keys.every((key) => known.has(key) && !inner.given.has(key))) {
      for (const key of keys) listed.set(key, `@${name}.${key}`);
    } else {
      // A name that stands for an object stands for none of its variables.
      const label = isJsonObject(value) ? undefined : variableOf(content);
      listed.set(label ?? name, `@${name}`);
    }
    return { call, content: `@${name}`, value: `@${name}` };
  };

  const environment = wrapEnvironment(inner, {
    tools: [
      ...inner.tools.map((tool) => symbols.offer(tool)),
      ...(dereference === undefined ? [] : [dereference]),
    ],
    refuse: (call) => {
      const { call: prepared } = prepare(call, new Set());
      return prepared.answer === undefined ? inner.refuse(prepared) : undefined;
    },
    execute: async (calls, write, replace) => {
      const taken = new Set<string>();
      const names = new Map<PreparedCall, string>();
      const prepared = calls.map((original) => {
        const { call, name } = prepare(original, taken);
        if (name !== undefined) {
          taken.add(name);
          names.set(call, name);
        }
        return call;
      });
      return await inner.execute(
        prepared,
        (answered, known) => {
          const symbolic = answered.map((one) => bind(one, names.get(one.call), known));
          return write?.(symbolic, listed) ?? symbolic.map(({ content }) => content);
        },
        replace && (async (failed) => {
          const replacements = await replace(failed);
          return replacements.map((one, place) => {
            // A call that is made again is prepared already.
            if (one === undefined || one.by === "retry") return one;
            // The result of a call of the model's has the name that the call it replaces gave.
            const own = names.get(failed[place]!.original);
            const others = new Set([...taken].filter((name) => name !== own));
            return { ...one, call: prepare(one.call, others).call };
          });
        }),
      );
    },
  });
  return { symbols, environment };
}

/** The variable of a result, if it is an object with one key. */
function variableOf(content: string): string | undefined {
  const returned = parseJson(content);
  if (!isJsonObject(returned)) return undefined;
  const [key, ...others] = Object.keys(returned);
  return others.length === 0 ? key : undefined;
}
