/**
 * The strategy that hides values from the model behind names (Indirection, "Adding a Level of Indirection").
 * @module
 */

import type { LoopOptions } from "../agent/loop.ts";
import { isJsonObject, type JsonValue, parseJson } from "../../base/json.ts";
import type { Message } from "../../tools/message.ts";
import { fillPrompt, PROMPTS } from "../../models/prompts.ts";
import type { Strategy, Texts } from "./_stages.ts";
import { dereferenceTool, resultParameter } from "../../tools/references/schema.ts";
import { Symbols } from "../../tools/references/symbol_table.ts";
import {
  type Answered,
  type CallReplacer,
  type Environment,
  type PreparedCall,
  type Refusal,
  type ResultWriter,
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
  const symbolic = new SymbolicEnvironment(environment, settings.dereference, bound);
  const last = messages.findLastIndex(({ role }) => role === "user");
  const ending = await next({
    ...options,
    environment: symbolic.environment,
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
  const text = symbolic.symbols.resolve(ending.text);
  const rendered = symbolic.symbols.render(ending.text);
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
    const stated = `${RegExp.escape(name)} = (?:"${RegExp.escape(value)}"|${
      RegExp.escape(value)
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

/** An environment whose values are hidden behind names. */
class SymbolicEnvironment {
  readonly symbols: Symbols;
  readonly environment: Environment;

  readonly #inner: Environment;
  readonly #tools: ReadonlyMap<string, ToolSchema>;
  /** The tool that reveals values, under a free name; `undefined` if there is none. */
  readonly #dereference: ToolSchema | undefined;
  /** The name of each variable, as restating lists them. */
  readonly #known: Map<string, string>;
  readonly #bound: LoopOptions["bound"];

  constructor(inner: Environment, dereference: boolean, bound: LoopOptions["bound"]) {
    this.#inner = inner;
    this.#bound = bound;
    this.symbols = new Symbols(inner.given);
    this.#tools = new Map(inner.tools.map((tool) => [tool.name, tool]));
    this.#dereference = dereference ? dereferenceTool(inner.tools) : undefined;
    this.#known = new Map(this.symbols.names().map((name) => [name, `@${name}`]));
    this.environment = wrapEnvironment(inner, {
      tools: [
        ...inner.tools.map((tool) => this.symbols.offer(tool)),
        ...(this.#dereference === undefined ? [] : [this.#dereference]),
      ],
      refuse: (call) => {
        const { call: prepared } = this.#prepare(call, new Set());
        return prepared.answer === undefined ? inner.refuse(prepared) : undefined;
      },
      execute: (calls, write, replace) => this.#execute(calls, write, replace),
    });
  }

  async #execute(
    calls: readonly PreparedCall[],
    write: ResultWriter | undefined,
    replace: CallReplacer | undefined,
  ) {
    const taken = new Set<string>();
    const names = new Map<PreparedCall, string>();
    const prepared = calls.map((original) => {
      const { call, name } = this.#prepare(original, taken);
      if (name !== undefined) {
        taken.add(name);
        names.set(call, name);
      }
      return call;
    });
    return await this.#inner.execute(
      prepared,
      (answered, known) => {
        const symbolic = answered.map((one) => this.#bind(one, names.get(one.call), known));
        return write?.(symbolic, this.#known) ?? symbolic.map(({ content }) => content);
      },
      replace && (async (failed) => {
        const replacements = await replace(failed);
        return replacements.map((one, place) => {
          // A call that is made again is prepared already.
          if (one === undefined || one.by === "retry") return one;
          // The result of a call of the model's has the name that the call it replaces gave.
          const own = names.get(failed[place]!.original);
          const others = new Set([...taken].filter((name) => name !== own));
          return { ...one, call: this.#prepare(one.call, others).call };
        });
      }),
    );
  }

  /** Binds the result of a call, and returns its name in place of it. */
  #bind(
    { call, content, value }: Answered,
    name: string | undefined,
    known: ReadonlyMap<string, JsonValue>,
  ): Answered {
    // The model must read errors.
    if (value === undefined || name === undefined) return { call, content };
    this.symbols.bind(name, value);
    this.#bound?.(name, value);
    const keys = isJsonObject(value) ? Object.keys(value) : [];
    if (keys.length > 0 && keys.every((key) => known.has(key) && !this.#inner.given.has(key))) {
      for (const key of keys) this.#known.set(key, `@${name}.${key}`);
    } else {
      // A name that stands for an object stands for none of its variables.
      const label = isJsonObject(value) ? undefined : variableOf(content);
      this.#known.set(label ?? name, `@${name}`);
    }
    return { call, content: `@${name}`, value: `@${name}` };
  }

  /** A call with values in place of names, and the name of its result. */
  #prepare(
    call: PreparedCall,
    taken: ReadonlySet<string>,
  ): { readonly call: PreparedCall; readonly name?: string } {
    if (call.name === this.#dereference?.name) {
      const input = parseJson(call.resolved ?? call.arguments);
      const requested = isJsonObject(input) ? input["name"] : undefined;
      return { call: { ...call, answer: this.symbols.reveal(requested) } };
    }
    const tool = this.#tools.get(call.name);
    if (tool === undefined) return { call };
    const parsed = this.symbols.read(tool, call.resolved ?? call.arguments, taken);
    if ("error" in parsed) {
      const { meant, ...refusal } = parsed;
      return { call: { ...call, refusal, resolved: meant ?? call.resolved } };
    }
    const prepared = { ...call, resolved: parsed.resolved };
    const refusal = this.#inner.refuse(prepared);
    if (refusal === undefined) return { call: prepared, name: parsed.name };
    return { call: { ...prepared, refusal: explainRefusal(refusal, tool) } };
  }
}

/** The variable of a result, if it is an object with one key. */
function variableOf(content: string): string | undefined {
  const returned = parseJson(content);
  if (!isJsonObject(returned)) return undefined;
  const [key, ...others] = Object.keys(returned);
  return others.length === 0 ? key : undefined;
}
