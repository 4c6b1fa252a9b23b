/**
 * The first suite of fresh tasks over a user's own tools, which `init` writes.
 * @module
 */

import * as paths from "node:path";
import template from "../../fixtures/project/chains_test.txt" with { type: "text" };
import { chains } from "../chains/chains.ts";
import { toolGraph } from "../chains/graph.ts";
import { readExactly } from "../base/input.ts";
import { userPath } from "../base/command_line.ts";
import { cannot } from "../base/errors.ts";
import { defined, printable, printableJson } from "../base/json.ts";
import { RESULT, type Tool } from "../tools/tool.ts";
import { readToolSource, type SourceOptions } from "./_tool_source.ts";

/** A file of the project: its name and its text. */
export type NewFile = readonly [name: string, text: string];

const FOLDER = "tool_tests";

/**
 * Returns the files of a first suite over the tools of a document or of an MCP server.
 *
 * @param folder The folder of the project.
 * @param options How tools are read, and the name of the test file.
 * @throws {InputError} If the tools cannot be read, or allow no chain.
 */
export async function firstChains(
  folder: string,
  operands: readonly string[],
  { file, ...options }: SourceOptions & { readonly file: string },
): Promise<readonly NewFile[]> {
  const { kind, tools, close } = await readToolSource(operands, options);
  try {
    // Refused where no chain is possible, before anything is written.
    chains(toolGraph(tools));
    if (kind === "module") {
      throw cannot(
        "write a suite",
        "--openapi must be a document, or a list of tools in JSON",
        `${printable(operands[0]!, 200)} is a module`,
      );
    }
    const [imports, made, ...files] = kind === "list"
      ? listFiles(tools)
      : documentFiles(folder, operands[0]!);
    const text = template.replace("IMPORTS", () => imports).replace("TOOLS", () => made);
    return [...files, [`${FOLDER}/tool_graph.json`, "{}\n"], [`${FOLDER}/${file}`, text]];
  } finally {
    await close();
  }
}

/** How a test file gets its tools: lines that import, an expression, and the files that it needs for that. */
type Source = readonly [imports: string, made: string, ...files: readonly NewFile[]];

/** Of a server its list of tools is kept, as a task needs no more of it. */
function listFiles(tools: readonly Tool[]): Source {
  const listed = tools.map((tool) =>
    defined({
      ...{ name: tool.name, description: tool.description, inputSchema: tool.parameters },
      outputSchema: tool[RESULT]?.(),
      annotations: tool.annotations,
    })
  );
  return [
    'import { listedTools } from "@toolgate/toolgate/integrations/mcp";\n' +
    'import listed from "./tools.json" with { type: "json" };',
    "listedTools(listed)",
    [`${FOLDER}/tools.json`, `${printableJson({ tools: listed }, 2)}\n`],
  ];
}

/** A document outside of the project is copied into it, as its tests may read nothing else. */
function documentFiles(folder: string, operand: string): Source {
  const within = paths.relative(folder, paths.resolve(userPath(operand))).replaceAll("\\", "/");
  const isInside = !/^(?:\.\.(?:\/|$)|[A-Za-z]:|\/)/.test(within);
  const name = `openapi${paths.extname(operand) || ".json"}`;
  const reference = JSON.stringify(isInside ? `../${within}` : `./${name}`);
  return [
    'import { openApiTools } from "@toolgate/toolgate/integrations/openapi";',
    `openApiTools(new URL(${reference}, import.meta.url), {\n  operations: "all",\n})`,
    ...isInside ? [] : [[`${FOLDER}/${name}`, readExactly(userPath(operand))] as const],
  ];
}
