/**
 * `perturb`: shows how a method changes a tool document, a user's query or a tool's return.
 * @module
 */

import { FILE_HEADERS_ONLY, formatPatch, structuredPatch } from "diff";
import { z } from "zod";
import { userPath } from "../base/command_line.ts";
import { cannot, reasonOf } from "../base/errors.ts";
import { readJsonc, readText } from "../base/input.ts";
import { parseJson, printable, printableJson } from "../base/json.ts";
import { countText } from "../base/numbers.ts";
import { breakLines } from "../base/wrap.ts";
import { Connections } from "../models/connect.ts";
import { InfrastructureError, type Model } from "../models/model.ts";
import { perturbTools } from "../perturbations/documents/perturb.ts";
import { perturbationsIn } from "../perturbations/ids.ts";
import {
  type Change,
  type DocumentMethod,
  EFFECTS,
  IDLE_REASONS,
  isMethod,
  PERTURBATION_METHODS,
  type PerturbationMethod,
  PERTURBED,
  type Perturbed,
  type QueryMethod,
  type ReturnMethod,
} from "../perturbations/methods.ts";
import { parseQuery } from "../perturbations/queries/file.ts";
import { modelWriter } from "../perturbations/queries/model_writer.ts";
import type { Query } from "../perturbations/queries/literals.ts";
import { perturbQuery } from "../perturbations/queries/perturb.ts";
import { perturbReturn } from "../perturbations/returns.ts";
import { type Refuse, wholeFrom } from "../runs/flags.ts";
import { flagsAt } from "../runs/options.ts";
import { parseToolDocuments } from "../tools/documents.ts";
import { command } from "./command.ts";

/** The methods to apply, and their seed and writer. */
interface Work {
  readonly methods: readonly PerturbationMethod[];
  readonly seed: number;
  readonly model: Model | undefined;
}

/** What methods do with one kind of file. */
interface SourceParts<T> {
  /** What the file is. */
  readonly words: string;
  /** Reads the file; `name` names it in messages, with what is expected of it. */
  readonly read: (path: string, name: string) => T;
  readonly perturb: (
    method: PerturbationMethod,
    value: T,
    work: Work,
  ) => Perturbed<T> | Promise<Perturbed<T>>;
  readonly show: (before: T, after: T) => readonly [string, string];
  /** Returns why a method changed nothing; `undefined` for the reason in {@linkcode IDLE_REASONS}. */
  readonly lacking?: (method: PerturbationMethod, value: T) => string | undefined;
}

/** A kind of file, and what applies methods to one. */
function source<T>({ words, read, perturb, show, lacking }: SourceParts<T>) {
  return {
    words,
    /** Returns the values before and after, also as texts, the changes, and why methods changed nothing. */
    async apply(path: string, work: Work) {
      const { methods } = work;
      const what = methods.length === 1 ? "changes" : "change";
      const before = read(path, `${path} by ${methods.join("+")}, which ${what} ${words}`);
      const changes: Change[] = [];
      const idle: [PerturbationMethod, string][] = [];
      let after = before;
      for (const method of methods) {
        const result = await perturb(method, after, work);
        if (!result.changed) idle.push([method, lacking?.(method, after) ?? IDLE_REASONS[method]]);
        changes.push(...result.changes);
        after = result.value;
      }
      return { before, after, changes, idle, shown: show(before, after) } as const;
    },
  };
}

const readJson = (path: string): unknown => readJsonc(path, z.unknown());
const indented = (value: unknown): string => JSON.stringify(value, null, 2);

const SOURCES = {
  document: source({
    words: "a tool document",
    read: (path, name) => parseToolDocuments(readJson(path), name),
    perturb: (method, tools, { seed }) => perturbTools(method as DocumentMethod, tools, seed),
    show: (before, after) => [indented(before), indented(after)],
  }),
  query: source({
    words: "a user's query",
    read: (path, name) => parseQuery(readJson(path), name),
    async perturb(method, query, { seed, model }) {
      const writer = await writerFor(method, query, model);
      return perturbQuery(method as QueryMethod, query, { seed, writer });
    },
    show: (before, after) => [before.text, after.text],
  }),
  return: source({
    words: "a tool's return",
    read: (path) => readText(path),
    perturb: (method, text) => perturbReturn(method as ReturnMethod, text),
    show(before, after) {
      const [one, other] = [parseJson(before), parseJson(after)];
      return one === undefined || other === undefined
        ? [before, after]
        : [indented(one), indented(other)];
    },
    lacking: (method, text) =>
      method !== "CF" && parseJson(text) === undefined
        ? "the return is no JSON, which only CF can change"
        : undefined,
  }),
};

/** The model that writes for a method, once it has written all. */
async function writerFor(method: PerturbationMethod, query: Query, model: Model | undefined) {
  if (model === undefined || (method !== "CP" && method !== "AN")) return undefined;
  const writer = await modelWriter(model, query, method);
  for (const { name, reason } of writer.fallbacks) {
    console.error(
      `${method}: the built-in writer writes for ${printable(name)}, as the text of ` +
        `${printable(model.name)} cannot be used: ${reason}`,
    );
  }
  return writer;
}

/** Reads methods of one source, in the order in which they are applied. */
function methodsOf(ids: string, refuse: Refuse): readonly PerturbationMethod[] {
  const unknown = ids.split("+").find((id) => !isMethod(id));
  if (unknown !== undefined) {
    return refuse(`must be one of ${PERTURBATION_METHODS.join(", ")}`, `is ${unknown}`);
  }
  const methods = perturbationsIn(ids).filter(isMethod);
  const [first, other] = new Set(methods.map((method) => SOURCES[PERTURBED[method]].words));
  if (other === undefined) return methods;
  return refuse("must name methods of one source", `has one of ${first}, and one of ${other}`);
}

/** The methods in the order in which they are applied. */
const IN_ORDER = perturbationsIn(PERTURBATION_METHODS.join("+")).filter(isMethod);

/** Prints how the methods change a file. */
export const perturb = command({
  usage: "--method ID[+ID...] FILE [OPTIONS]",
  takes: ["one file", 1, 1],
  options: {
    method: {
      value: "ID",
      read: methodsOf,
      help:
        "the method; several of one source, joined by +, are applied in the order of the list " +
        "below, however they are joined",
    },
    seed: { value: "N", read: wholeFrom(0), help: "seed of all random choices; default 1" },
    writer: {
      value: "MODEL",
      help: "a model that writes for CP and AN, such as gpt-5; default the built-in writer. The " +
        "options below are for it",
    },
    json: {
      help: "prints one JSON line with method, seed, changed, changes, before and after; with " +
        "several methods, each changes the result of the one before",
    },
  },
  flags: flagsAt("perturb"),
  notes: `${
    Object.entries(SOURCES).map(([name, { words }]) =>
      `Of ${words}:\n${
        IN_ORDER.filter((method) => PERTURBED[method] === name)
          .map((method) =>
            `  ${method.padEnd(16)} ${EFFECTS[method]}`
          ).join("\n")
      }`
    ).join("\n\n")
  }

A tool document is a JSON file of a tool or a list of tools, in toolgate's form, OpenAI's or MCP's, also as
tools/list answers; a return is any text. A query is a JSON file:
  {"query": "Weather in Paris?", "parameters": [{"name": "city", "value": "Paris"}]}
where "start" and "end" mark a value that the query has in other words. With "calls": [{"arguments": {...}}]
the query is searched for the arguments. Long lines are wrapped; --json has them unchanged.

Exit code 0; 3 when the model gave no reply.`,
  needs: ({ writer }) => writer === undefined ? ["read"] : ["net", "read"],
  rules: [
    [({ method }) => method === undefined, "--method is needed"],
    [
      ({ method = [], writer }) =>
        writer !== undefined && !method.includes("CP") && !method.includes("AN"),
      "--writer needs the method CP or AN",
    ],
  ],
  async run({ method: methods = [], seed = 1, writer, json, ...connection }, { operands: [file] }) {
    const path = userPath(file!);
    const model = writer === undefined
      ? undefined
      : new Connections(connection).model({ model: writer });
    try {
      const result = await SOURCES[PERTURBED[methods[0]!]].apply(path, { methods, seed, model });
      const { before, after, changes, shown } = result;
      const [method, changed] = [methods.join("+"), changes.length > 0];
      console.log(
        json ? printableJson({ method, seed, changed, changes, before, after }) : [
          `${method}: ${methods.map((method) => EFFECTS[method]).join(", then ")}; seed ${seed}; ` +
          `changed: ${changed}${changed ? `, ${countText(changes.length, "change")}` : ""}`,
          ...result.idle.map(([method, why]) => `${method} changed nothing: ${why}.`),
          ...changed ? [differenceOf(printable(path), shown)] : [],
        ].join("\n"),
      );
      return 0;
    } catch (error) {
      if (error instanceof RangeError) {
        throw cannot(`perturb ${path}`, "it is too large or nested too deep", reasonOf(error));
      }
      if (!(error instanceof InfrastructureError)) throw error;
      console.error(printable(`Cannot ask the writer: ${error.message}`, 2_000));
      return 3;
    }
  },
});

/** The search for a difference gives up at more differing lines than this, as it would take too long. */
const MAX_LINES = 4_000;

/** Returns the difference between two texts of a file, in lines that fit a screen and cannot steer a terminal. */
function differenceOf(path: string, texts: readonly [string, string]): string {
  const [before, after] = texts.map((text) =>
    `${text.split(/\r?\n/).flatMap(displayed).join("\n")}\n`
  );
  const patch = structuredPatch(`before ${path}`, `after ${path}`, before!, after!, "", "", {
    context: 3,
    maxEditLength: MAX_LINES,
  });
  if (patch === undefined) return "The difference is too large to show: use --json";
  return formatPatch(patch, FILE_HEADERS_ONLY).trimEnd();
}

const WIDTH = 98;

/** Breaks a long line at each sentence too, so that text after a change is broken in the same places. */
function displayed(line: string): string[] {
  const text = printable(line, Infinity);
  if (text.length <= WIDTH) return [text];
  const [indent] = /^ {0,40}/.exec(text)!;
  return text.slice(indent.length).split(/(?<=[.!?]) /)
    .flatMap((sentence) => breakLines(sentence, WIDTH - indent.length))
    .map((part) => indent + part);
}
