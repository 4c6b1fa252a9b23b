/**
 * `graph`: shows which ids a set of tools takes and returns, and sample questions over them.
 * @module
 */

import { applyEdits, modify } from "jsonc-parser";
import defer * as fs from "node:fs";
import { userPath } from "../base/command_line.ts";
import { cannot, InputError, isErrorOf, reasonOf } from "../base/errors.ts";
import { readExactly, readJsonc } from "../base/input.ts";
import {
  isJsonObject,
  isWithin,
  type JsonObject,
  jsonText,
  listText,
  parseJson,
  printable,
  printableJson,
} from "../base/json.ts";
import { nearestOrAll } from "../base/nearest_name.ts";
import { countText } from "../base/numbers.ts";
import { redact } from "../base/redact.ts";
import { isMissing, orUnwritable } from "../base/output_file.ts";
import { freshSeed } from "../base/random.ts";
import { chains, sample } from "../chains/chains.ts";
import {
  schemaOfExamples,
  TOOL_GRAPH_OPTIONS,
  type ToolGraph,
  toolGraph,
} from "../chains/graph.ts";
import { toolGraphToDot, toolGraphToSvg } from "../reports/figures/tool_graph_drawing.ts";
import { alignedTable } from "../reports/text_table.ts";
import { type Refuse, wholeFrom } from "../runs/flags.ts";
import { argumentCheck } from "../tools/schema/validate.ts";
import { ROUTE, type Tool } from "../tools/tool.ts";
import { readToolSource } from "./_tool_source.ts";
import { command } from "./command.ts";

/** Rows of a table, and names in a cell, at most. */
const [MAX_ROWS, MAX_NAMES] = [30, 2];

const FORMATS = {
  text: asText,
  json: asJson,
  dot: toolGraphToDot,
  svg: toolGraphToSvg,
};

function lengths(given: string, refuse: Refuse): readonly number[] {
  const all = given.split(",").map(Number);
  return all.every((one) => one >= 1 && Number.isInteger(one))
    ? all
    : refuse("must be whole numbers from 1 on, such as 2,3");
}

function object(given: string, refuse: Refuse): JsonObject {
  const value = parseJson(given);
  return isJsonObject(value) ? value : refuse("must be a JSON object");
}

/** Shows the graph of a set of tools. */
export const graph = command({
  usage: "TOOLS [OPTIONS], or --mcp [OPTIONS] -- COMMAND ARGS",
  takes: ["one source of tools", 0, 1],
  takesProgram: true,
  about:
    `TOOLS is a document of OpenAPI (a file or an address), a list of tools as MCP servers send it (.json), or a
module (.ts, .js) that exports tools. It shows which ids the tools take and return, and which links between them
are sure; a person decides on the others, in the file of --options.`,
  options: {
    mcp: { help: "the tools of an MCP server: its program and arguments stand after --" },
    options: {
      value: "F.json",
      help: "what a person has decided, as toolGraph() takes it: links, scope, returns, words",
    },
    format: {
      value: "F",
      choices: Object.keys(FORMATS) as (keyof typeof FORMATS)[],
      help: "text (default), json, dot or svg",
    },
    sample: {
      value: "N",
      read: wholeFrom(1, 1000),
      help: "prints N questions with their answers, and the hash that says they were read",
    },
    calls: {
      value: "A,B",
      read: lengths,
      help: "calls of the questions; default: what is possible",
    },
    seed: { value: "N", read: wholeFrom(0), help: "of the sample; default a new one" },
    record: {
      value: "NAME",
      help: "calls this tool, and keeps the schema of its result in the file of --options",
    },
    arguments: { value: "JSON", read: object, help: "the arguments of that call; default: none" },
    yes: { help: "makes the call that --record shows" },
  },
  needs: ({ mcp, record }, { operands: [operand = ""] }) => [
    "read",
    ...(mcp || record !== undefined || /^https?:/.test(operand) ? ["net" as const] : []),
    ...(mcp ? ["run" as const] : []),
    ...(record === undefined ? [] : ["write" as const]),
  ],
  rules: [
    [
      ({ mcp }, { operands, program }) =>
        (mcp ? operands : program).length > 0 || (mcp ? program : operands).length === 0,
      "it takes one source of tools, or with --mcp a program after --, as in --mcp -- npx -y my-server",
    ],
    [["record"], "goes with", ["options"], "the schema is kept in that file"],
    [["arguments", "yes"], "goes with", ["record"]],
    [["record"], "goes without", ["sample", "format"]],
    [["calls", "seed"], "goes with", ["sample"]],
  ],
  async run(given, { operands, program }) {
    const { mcp, options: file, format = "text", record } = given;
    const { kind, tools, close } = await readToolSource(mcp ? program : operands, {
      mcp,
    });
    try {
      if (record !== undefined) {
        if (kind === "document") {
          const state = "a document has none: name a module of openApiTools() with a baseURL";
          throw cannot(`record ${printable(record, 80)}`, "a service must answer it", state);
        }
        return await recordResult(tools, record, { ...given, file: file! });
      }
      const options = file === undefined ? {} : readJsonc(userPath(file), TOOL_GRAPH_OPTIONS);
      const found = toolGraph(tools, options);
      if (given.sample !== undefined) {
        console.log(sampleText(found, given.sample, given));
        return 0;
      }
      console.log((await FORMATS[format](found)).trimEnd());
      return 0;
    } finally {
      await close();
    }
  },
});

/** Calls a tool once, if it only reads, and keeps the schema of its result. */
async function recordResult(
  tools: readonly Tool[],
  name: string,
  { file, arguments: input = {}, yes }: {
    readonly file: string;
    readonly arguments?: JsonObject;
    readonly yes?: true;
  },
): Promise<number> {
  const action = `record a result of ${printable(name, 80)}`;
  const tool = tools.find((one) => one.name === name);
  if (tool === undefined) {
    const names = tools.map((one) => one.name);
    const state = `there is no such tool${nearestOrAll(name, names)}`;
    throw cannot(action, "it must be one of the tools", state);
  }
  const route = tool[ROUTE];
  const isReading = route === undefined
    ? tool.annotations?.readOnlyHint === true
    : /^(get|head)$/.test(route.method);
  if (!isReading) {
    throw cannot(
      action,
      "it must be a GET, or marked read-only by its server",
      route === undefined ? "its server does not say so" : `it is a ${route.method.toUpperCase()}`,
    );
  }
  const path = userPath(file);
  if (!isMissing(path)) readJsonc(path, TOOL_GRAPH_OPTIONS);
  const refusal = argumentCheck(tool)(input)?.error;
  if (refusal !== undefined) {
    throw cannot(action, "--arguments must fit its schema", printable(refusal, 500));
  }
  const where = route === undefined ? "" : ` (GET ${printable(route.path, 200)})`;
  console.log(`Calls ${printable(name, 80)}${where} with ${printableJson(input)}`);
  if (!yes) {
    console.log("Nothing was called: add --yes to make this call.");
    return 0;
  }
  const text = await tool.execute(input).catch((error) => {
    throw cannot(action, "the call must succeed", printable(redact(reasonOf(error)), 300));
  });
  const value = parseJson(text);
  if (value === undefined || value === null || !isWithin(value, { levels: 50, values: 100_000 })) {
    const state = `it begins with ${printable(text, 80)}`;
    throw cannot(action, "its result must be JSON of at most 50 levels, and not null", state);
  }
  const before = isMissing(path) ? "{}\n" : readExactly(path);
  const schema = schemaOfExamples([value]);
  const edits = modify(before, ["returns", name], { schema }, {
    formattingOptions: { insertSpaces: true, tabSize: 2 },
  });
  orUnwritable(path, "the options", () => fs.writeFileSync(path, applyEdits(before, edits)));
  console.log(`Wrote the schema of its result to ${printable(file, 200)}`);
  return 0;
}

/** Returns questions for a person to read, and the hash that says that somebody did. */
function sampleText(
  found: ToolGraph,
  count: number,
  { calls, seed = freshSeed() }: {
    readonly calls?: readonly number[];
    readonly seed?: number;
  },
): string {
  const { tasks, hash } = sample(chains(found, { calls, tasks: count }), count, seed);
  return [
    ...tasks.flatMap(({ question, answer, steps }, place) => [
      `${place + 1}. ${printable(question, 2000)}`,
      `   ${printable(jsonText(answer), 200)}, by ${steps.map(({ tool }) => tool).join(", ")}`,
      "",
    ]),
    `Seed ${seed}. Are the questions clear, and their answers right? Then give chains() this hash, which is of the`,
    "graph and its options, and of --calls where that is given:",
    `  confirmed: "${hash}"`,
  ].join("\n");
}

/** Returns a table of texts. */
function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const shown = rows.slice(0, MAX_ROWS);
  const left = rows.length - shown.length;
  return [
    alignedTable({
      heads: heads.map((text) => ({ text, isNext: false, isText: true })),
      rows: shown.map((row) => row.map((text) => ({ text: printable(text, 200) }))),
      names: 1,
    }),
    ...(left === 0 ? [] : [`and ${left} more: --format=json has all`]),
  ].join("\n");
}

/** Says how many calls chains over a graph can have, or why there are none. */
function chainsText(found: ToolGraph): string {
  try {
    const calls = new Set(chains(found, { tasks: 10 }).map((chain) => chain.calls));
    return `Chains: of ${[...calls].join(", ")} calls.`;
  } catch (error) {
    if (!isErrorOf(error, InputError)) throw error;
    return `No chains: ${error.message}`;
  }
}

function asText(found: ToolGraph): string {
  const { nodes, types, scopes, suggestions, gaps } = found;
  const all = [...nodes];
  const rows = [...types.keys()].map((type) => {
    const taken = all.flatMap(([name, { takes }]) =>
      takes.flatMap((take) => take.type === type ? `${name} ${take.parameter}` : [])
    );
    const given = all.flatMap(([name, { records }]) =>
      records.flatMap((place) =>
        place.type === type && !("argument" in place.of)
          ? `${name} ${[...place.path, ...(place.key === undefined ? [] : [place.key])].join(".")}`
          : []
      )
    );
    const text = (names: readonly string[]) =>
      names.length === 0 ? "-" : listText(names, MAX_NAMES);
    return [type, text(taken), text(given)];
  });
  const fixed = all.flatMap(([name, { takes }]) =>
    takes.flatMap(({ role, parameter }) => role === "fixed" ? `${name} ${parameter}` : [])
  );
  const reading = all.filter(([, { reads }]) => reads).length;
  const section = (title: string, text: string, isShown: boolean) =>
    isShown ? ["", title, text] : [];
  return [
    `${countText(nodes.size, "tool")}, of which ${reading} only read. ${chainsText(found)}`,
    ...section("Types of ids", table(["type", "taken by", "returned by"], rows), rows.length > 0),
    ...section("Given by each question", [...scopes.keys()].join(", "), scopes.size > 0),
    ...section("Hidden from models", listText(fixed, MAX_ROWS), fixed.length > 0),
    ...section(
      "Maybe links: to take one, write it under links in the file of --options",
      table(
        ["key", "type", "why"],
        suggestions.map(({ tool, at, type, reason }) => {
          const isTaken = nodes.get(tool)!.takes.some(({ parameter }) => parameter === at);
          return [`${tool}${isTaken ? "." : ":"}${at}`, type, reason];
        }),
      ),
      suggestions.length > 0,
    ),
    ...section(
      "Of no use yet",
      table(["tool", "what is missing"], gaps.map(({ tool, reason }) => [tool, reason])),
      gaps.length > 0,
    ),
  ].join("\n");
}

function asJson(found: ToolGraph): string {
  const { nodes, types, scopes, suggestions, gaps, digest } = found;
  const tools = [...nodes].map(([name, { takes, records, reads }]) => ({
    name,
    reads,
    takes,
    records,
  }));
  return printableJson(
    {
      types: [...types.values()],
      scopes: [...scopes.keys()],
      ...{ tools, suggestions, gaps, digest },
    },
    2,
  );
}
