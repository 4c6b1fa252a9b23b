/**
 * What `deno task tables` writes: what the table of options comes to, which is types, the JSON schema of suite
 * files and tables in docs/; the tables of fields in docs/contracts.md, which come from doc comments; and the list of
 * what the names of tests say that holds.
 */

import { z } from "zod";
import { COMMANDS } from "../../lib/cli/commands.ts";
import { WORDS } from "../../lib/reports/_glossary.ts";
import type { NamedFlag } from "../../lib/runs/flags.ts";
import { flagsAt, type Option, OPTIONS } from "../../lib/runs/options.ts";
import { deno, ROOT } from "./child.ts";
import { contractTables } from "./contract_tables.ts";
import { whatHolds } from "./fidelity.ts";
import { SCHEMA_PATH, suiteSchema } from "./suite_schema.ts";

const TABLE = Object.entries(OPTIONS as Record<string, Option>);

/** Where the types of an option's value stand, besides those of the language. */
const TYPES: Readonly<Record<string, string>> = {
  GatePolicy: "../gate/policy.ts",
  Budget: "../models/prices.ts",
  Prices: "../models/prices.ts",
  RecordingOptions: "../models/recordings/options.ts",
  Limits: "../trials/agent/session.ts",
  Transcripts: "../trials/transcript.ts",
};

const TYPES_PATH = `${ROOT}/lib/runs/option_types.ts`;

/** The types of options in code and suites, with their doc comments. */
function typesFile(): string {
  const rows = TABLE.filter(([, { schema }]) => schema !== undefined);
  const [silent] = rows.find(([, { about }]) => about === undefined) ?? [];
  if (silent !== undefined) {
    throw new Error(`Cannot write the type of the option ${silent} as it must have an "about"`);
  }
  const byFile = Map.groupBy(
    Object.entries(TYPES).filter(([type]) => rows.some(([, row]) => row.type === type)),
    ([, file]) => file,
  );
  const imports = [...byFile].map(([file, types]) =>
    `import type { ${types.map(([type]) => type).join(", ")} } from "${file}";`
  );
  const fields = rows.map(([name, { about, type, schema }]) =>
    `${comment(about!)}\n  readonly ${name}?: ${type ?? plainType(schema!)};`
  );
  const place = (type: string, at: "benchmark" | "toolTest" | "suite", words: string) => {
    const others = rows.filter(([, { places }]) => !places.includes(at)).map(([name]) =>
      `"${name}"`
    );
    return `/** ${words} */\nexport type ${type} = Omit<RunSettings, ${others.join(" | ")}>;\n`;
  };
  return [
    "/**\n * The types of options, written by `deno task tables` from the table in `options.ts`.\n * @module\n */\n",
    ...imports,
    `\n/** The options of runs. */\nexport interface RunSettings {\n${fields.join("\n")}\n}\n`,
    place("BenchmarkSettings", "benchmark", "The options of runs that `benchmark()` takes."),
    place("ToolTestSettings", "toolTest", "The options of runs that `toolTest()` takes."),
    place("SuiteSettings", "suite", "The options of runs that suite files have."),
  ].join("\n");
}

/** The type of a number, a text or a boolean. */
function plainType(schema: z.ZodType): string {
  const { type } = z.toJSONSchema(schema);
  return type === "integer" ? "number" : `${type}`;
}

/** A doc comment. */
function comment(text: string): string {
  if (text.length <= 100) return `  /** ${text} */`;
  const lines = ["  /**", "   *"];
  for (const word of text.split(" ")) {
    if (lines.at(-1)!.length + word.length > 106) lines.push("   *");
    lines[lines.length - 1] += ` ${word}`;
  }
  return [...lines, "   */"].join("\n");
}

/** The table of flags. */
function flagTable(flags: readonly NamedFlag[], join: "=" | " "): string {
  const rows = flags.map(({ name, value, help }) =>
    `| \`--${name}${value === undefined ? "" : `${join}${value}`}\` | ${help} |`
      .replaceAll(/(?<=\S)\|(?=\S)/g, "\\|")
  );
  return ["| option | what it does |", "| --- | --- |", ...rows].join("\n");
}

/** The commands, loaded at once: some keep connections, which a test would be blamed for. */
const LOADED = new Map(
  await Promise.all(
    Object.entries(COMMANDS).map(async ([name, [, load]]) => [name, await load()] as const),
  ),
);

/** The table of the options of a command, of which those of the table of options are named alone for `selfcheck`. */
function commandTable(name: string): string {
  const { flags } = LOADED.get(name)!;
  const shared = name === "selfcheck" ? flagsAt(name).map(({ name }) => name) : [];
  const table = flagTable(flags.filter(({ name }) => !shared.includes(name)), " ");
  const names = shared.map((name) => `\`--${name}\``).join(", ");
  return names === "" ? table : `${table}\n\nFor a suite also these options of \`run\`: ${names}.`;
}

/** The table of commands. */
function commandList(): string {
  const rows = Object.entries(COMMANDS).map(([name, [summary]]) =>
    `| [\`${name}\`](#${name.split(" ")[0]}) | ${summary} |`
  );
  return ["| command | what it does |", "| --- | --- |", ...rows].join("\n");
}

/** The glossary: one sentence a word. */
function glossary(): string {
  return WORDS.map(([word, meaning]) => `- **${word}**: ${meaning}.`).join("\n");
}

/** The table of the options of `benchmark()` that the table of options has. */
function optionTable(): string {
  const rows = TABLE.filter(([, { schema, places }]) =>
    schema !== undefined && places.includes("benchmark")
  ).map(([name, { about }]) => `| \`${name}\` | ${about} |`);
  return ["| option | what it sets |", "| --- | --- |", ...rows].join("\n");
}

/** What is written into docs/, by file and the name between its marks. */
const TABLES: readonly (readonly [
  file: string,
  mark: string,
  table: () => string | Promise<string>,
])[] = [
  ["docs/commands.md", "commands", commandList],
  ["docs/commands.md", "flags of deno test", () => flagTable(flagsAt("deno test"), "=")],
  ...Object.keys(COMMANDS).map((name) =>
    ["docs/commands.md", `options of ${name}`, () => commandTable(name)] as const
  ),
  ["docs/words.md", "words", glossary],
  ["docs/benchmarks.md", "options", optionTable],
  ["docs/what_holds.md", "what holds", whatHolds],
];

/** The text of each file that is written, by its path. */
export async function writtenFiles(): Promise<Map<string, string>> {
  const types = await formatted(new Map([[TYPES_PATH, typesFile()]]));
  // The schema has its sentences from the doc comments of the types, which come first.
  if (Deno.readTextFileSync(TYPES_PATH) !== types.get(TYPES_PATH)) return types;
  const files = new Map([
    [TYPES_PATH, typesFile()],
    [SCHEMA_PATH, JSON.stringify(await suiteSchema(), null, 2)],
  ]);
  const contracts = "docs/contracts.md";
  const fields = [...await contractTables(Deno.readTextFileSync(`${ROOT}/${contracts}`))]
    .map(([mark, table]) => [contracts, mark, () => table] as const);
  for (const [file, mark, table] of [...TABLES, ...fields]) {
    const path = `${ROOT}/${file}`;
    const text = files.get(path) ?? Deno.readTextFileSync(path);
    const [start, end] = [`<!-- ${mark}: deno task tables -->`, `<!-- end of ${mark} -->`];
    const [before, after] = [text.indexOf(start), text.indexOf(end)];
    if (before < 0 || after < before) {
      throw new Error(`Cannot find the marks of ${mark} in ${file}`);
    }
    files.set(path, `${text.slice(0, before)}${start}\n\n${await table()}\n\n${text.slice(after)}`);
  }
  return await formatted(files);
}

/** Returns the texts as `deno fmt` would have them. */
async function formatted(files: ReadonlyMap<string, string>): Promise<Map<string, string>> {
  const folder = Deno.makeTempDirSync();
  try {
    const paths = [...files.keys()];
    const temporary = paths.map((path, place) => `${folder}/${place}${/\.\w+$/.exec(path)![0]}`);
    temporary.forEach((path, place) => Deno.writeTextFileSync(path, files.get(paths[place]!)!));
    const { code, all } = await deno(["fmt", "--no-config", "--line-width=100", ...temporary]);
    if (code !== 0) throw new Error(`Cannot format what is written: ${all}`);
    return new Map(paths.map((path, place) => [path, Deno.readTextFileSync(temporary[place]!)]));
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

if (import.meta.main) {
  for (const _ of ["types", "the rest"]) {
    for (const [path, text] of await writtenFiles()) Deno.writeTextFileSync(path, text);
  }
}
