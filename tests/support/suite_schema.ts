/**
 * The JSON schema of suite files, by which editors complete, check and explain them. Its rules come
 * from SUITE_FILE and its sentences from doc comments: neither is written twice.
 */

import { z } from "zod";
import { SUITE_FILE } from "../../lib/runs/suite.ts";
import { deno, ROOT } from "./child.ts";

/** Where the schema is kept, beside the suites that name it. */
export const SCHEMA_PATH = `${ROOT}/fixtures/suites/schema.json`;

/** A JSON schema, or a part of one. */
export type Schema = z.core.JSONSchema.BaseSchema;

/** The JSON schema of suite files. */
export async function suiteSchema(): Promise<Schema> {
  // Draft 7 is what editors know best. What suites hold is read as it is written.
  const rules = z.toJSONSchema(SUITE_FILE, { target: "draft-7", io: "input" });
  const sentences = new Sentences(await readDeclarations());
  return sentences.addTo(rules, ["Suite"], "", sentences.of("Suite"));
}

/** A declaration, as far as `deno doc --json` is read here. */
interface Declaration {
  readonly kind: string;
  readonly jsDoc?: { readonly doc?: string };
  readonly def: {
    readonly extends?: unknown;
    readonly tsType?: unknown;
    readonly properties?: readonly Property[];
  };
}

interface Property {
  readonly name: string;
  readonly jsDoc?: { readonly doc?: string };
  readonly tsType: unknown;
}

/** Everything public, and what suites are made of: by name. */
async function readDeclarations(): Promise<Map<string, Declaration>> {
  const entries: string[] = Object.values(
    JSON.parse(Deno.readTextFileSync(`${ROOT}/deno.json`)).exports,
  );
  const { code, stdout, all } = await deno([
    "doc",
    "--json",
    "lib/runs/suite.ts",
    "lib/runs/option_types.ts",
    ...entries,
  ]);
  if (code !== 0) throw new Error(`Cannot read the doc comments: ${all}`);
  const modules: { symbols: { name: string; declarations: Declaration[] }[] }[] = Object.values(
    JSON.parse(stdout).nodes,
  );
  return new Map(
    modules.flatMap(({ symbols }) =>
      symbols.map(({ name, declarations }) => [name, declarations[0]!] as const)
        .filter(([, { kind }]) => kind !== "reference")
    ),
  );
}

/** A field that no interface has, as no program needs it. */
const SCHEMA_FIELD: Property = {
  name: "$schema",
  jsDoc: { doc: "Where the JSON schema of suite files is; for editors only." },
  tsType: {},
};

/** The sentences that doc comments have on types and their properties. */
class Sentences {
  readonly #declarations: ReadonlyMap<string, Declaration>;

  constructor(declarations: ReadonlyMap<string, Declaration>) {
    this.#declarations = declarations;
  }

  /** The sentence of a type. */
  of(type: string): string {
    return textOf(this.#declarations.get(type)!)!;
  }

  /**
   * A copy of `schema` in which every property has its description, and so has an object that is an
   * item of a list or one of several kinds of values.
   *
   * @param types The names of the types that a value may be of.
   * @param path Where in a suite it is, for errors.
   */
  addTo(schema: Schema, types: readonly string[], path: string, description?: string): Schema {
    const declarations = this.#declarationsOf(types);
    const interfaces = declarations.filter(({ kind }) => kind === "interface");
    const members = [SCHEMA_FIELD, ...interfaces.flatMap(({ def }) => def.properties ?? [])];
    const [only, ...others] = schema.properties === undefined
      ? []
      : interfaces.filter((one) => hasAll(one, Object.keys(schema.properties!)));
    const own = description ??
      (only !== undefined && others.length === 0 ? textOf(only) : undefined);

    const property = ([name, part]: [string, unknown]): [string, Schema] => {
      const member = members.find((member) => member.name === name);
      // Keys of a record have a sentence each, or that of the record.
      const ofKey = interfaces.length === 0
        ? listedText(declarations, name) ?? description
        : undefined;
      const text = member === undefined ? ofKey : textOf(member);
      if (text === undefined) {
        throw new Error(
          `Cannot describe ${path}${name} as it must have a doc comment: ` +
            `${types.join(" or ")} has none for it`,
        );
      }
      return [name, this.addTo(part as Schema, namesIn(member?.tsType), `${path}${name}.`, text)];
    };
    const inner = (part: unknown): unknown => {
      if (Array.isArray(part)) return part.map(inner);
      return typeof part === "object" ? this.addTo(part as Schema, types, path) : part;
    };
    const parts = Object.entries(schema).map(([keyword, value]) => {
      if (keyword !== "properties") return [keyword, WITHIN.has(keyword) ? inner(value) : value];
      return [keyword, Object.fromEntries(Object.entries(value as Schema).map(property))];
    });
    return { ...(own === undefined ? {} : { description: own }), ...Object.fromEntries(parts) };
  }

  /** What `names` are declared as, and what that extends or stands for. */
  #declarationsOf(names: readonly string[]): Declaration[] {
    const reached = new Set(names);
    // What is added to a set while it is walked is walked too.
    for (const name of reached) {
      const { def } = this.#declarations.get(name) ?? {};
      for (const further of namesIn([def?.extends, def?.tsType])) reached.add(further);
    }
    return [...reached].flatMap((name) => this.#declarations.get(name) ?? []);
  }
}

/** Keywords that hold schemas of the same value, or of its items. */
const WITHIN: ReadonlySet<string> = new Set([
  "anyOf",
  "oneOf",
  "allOf",
  "items",
  "additionalProperties",
]);

/** The names of all types in a type. */
function namesIn(type: unknown): string[] {
  if (typeof type !== "object" || type === null) return [];
  return Object.entries(type).flatMap(([key, value]) =>
    key === "typeName" ? [value] : namesIn(value)
  );
}

/** Whether an interface has properties of these names. */
function hasAll({ def }: Declaration, names: readonly string[]): boolean {
  const own = [SCHEMA_FIELD, ...def.properties ?? []].map(({ name }) => name);
  return names.every((name) => own.includes(name));
}

/** The sentence of a name in a list such as that of {@linkcode Behaviour}. */
function listedText(declarations: readonly Declaration[], name: string): string | undefined {
  for (const { jsDoc } of declarations) {
    const items = (jsDoc?.doc ?? "").split(/^- /m).slice(1).map(plain);
    const item = items.find((item) => item.startsWith(`\`${name}\`: `));
    if (item !== undefined) return item;
  }
}

function textOf({ jsDoc }: Pick<Declaration, "jsDoc">): string | undefined {
  return jsDoc?.doc === undefined ? undefined : plain(jsDoc.doc);
}

/** A doc comment as a plain text: lines end where paragraphs do, and links are the names they have. */
function plain(doc: string): string {
  return doc.trim()
    .replace(
      /\{@link(?:code|plain)?\s+([^\s|}]+)[\s|]*([^}]*)\}/g,
      (_, target, label) => label === "" ? target : label,
    )
    .replace(/([^\n])\n(?!\n) */g, "$1 ");
}
