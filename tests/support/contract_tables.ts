/** The tables of fields in docs/contracts.md, made of the doc comments of exported types, which `deno doc` reads. */

import { globSync } from "node:fs";
import { deno, ROOT } from "./child.ts";

/** What `deno doc --json` has of a type, a field or a declaration; its shape follows from its kind. */
// deno-lint-ignore no-explicit-any
type Doc = any;

/** Where names are known: a file, with the types that stand for the parameters of an interface. */
type Scope = readonly [file: string, given: ReadonlyMap<string, Typed>];
type Typed = readonly [type: Doc, scope: Scope];
type Field = { readonly types: readonly Typed[]; readonly optional: boolean; readonly doc: string };
type Fields = Readonly<Record<string, Field>>;
/** A type in words, and the fields within it with the path to them. */
type Shape = readonly [word: string, inner: readonly (readonly [path: string, fields: Fields])[]];

/** A mark in the page, below a heading: `fields of TYPE, ... in FILE`. */
const MARKS = /^##+ (.+)$|^<!-- (fields of (.+) in (lib\/.+)): deno task tables -->$/gm;

/** What users wrote themselves, or what is described elsewhere. */
const OPEN =
  /^(z\.infer|Json.*|(Model|Strategy|Judge)Entry|CommandAgent|Partial|TestSettings|CallTruth)$/;

/** Returns the tables that the page asks for, by their marks. */
export async function contractTables(page: string): Promise<ReadonlyMap<string, string>> {
  const { stdout } = await deno(["doc", "--json", ...globSync(`${ROOT}/lib/*/**/*.ts`)]);
  const nodes: Record<string, Doc> = JSON.parse(stdout).nodes;
  /** The headings of the tables of types. */
  const links = new Map([["Cell", "Task"], ["Failure", "Failures"], ["FailureCause", "Failures"]]);
  const tables: [mark: string, types: Typed[]][] = [];
  let last = "";
  for (const [, heading, mark, types, file] of page.matchAll(MARKS)) {
    last = heading ?? last;
    if (mark === undefined) continue;
    const names = types!.split(", ");
    names.forEach((name) => links.set(name, last));
    const scope: Scope = [`file://${ROOT}/${file}`, new Map()];
    tables.push([mark, names.map((typeName) => [{ kind: "typeRef", value: { typeName } }, scope])]);
  }
  return new Map(tables.map(([mark, types]) => {
    const roots = types.flatMap((type) =>
      alternatives(followed(type)).map((one) => fieldsOf(one)!)
    );
    // Of several with a kind, each is an event, and its fields stand below its kind.
    const rows = roots.length > 1 && roots.every(({ kind }) => kind !== undefined)
      ? roots.flatMap(({ kind, ...fields }) => rowsOf(fields, `${kind!.types[0]![0].repr}.`))
      : rowsOf(either(roots));
    return [mark, ["| field | type | meaning |", "| --- | --- | --- |", ...rows].join("\n")];
  }));

  /** What a name stands for; `undefined` if it is of no file of lib/. */
  function declared(name: string, [file]: Scope): Typed | undefined {
    const found = nodes[file]?.symbols.find((symbol: Doc) => symbol.name === name);
    if (found !== undefined) return [found.declarations[0], [file, new Map()]];
    const at = nodes[file]?.imports?.find((one: Doc) => one.importedName === name);
    return at && declared(at.originalName, [at.src, new Map()]);
  }

  /** Leaves out what changes no field, and puts types in place of their parameters. */
  function bare([type, scope]: Typed): Typed {
    const { kind, value } = type;
    if (kind === "parenthesized") return bare([value, scope]);
    if (value?.operator === "readonly") return bare([value.tsType, scope]);
    if (value?.typeName === "Readonly") return bare([value.typeParams[0], scope]);
    const given = scope[1].get(value?.typeName);
    return given === undefined ? [type, scope] : bare(given);
  }

  /** Follows names of types to what they stand for. */
  function followed(typed: Typed): Typed {
    const [{ kind, value }, scope] = bare(typed);
    const [alias, place] = kind === "typeRef" && !OPEN.test(value.typeName) &&
        declared(value.typeName, scope) || [];
    return alias?.kind === "typeAlias" ? followed([alias.def.tsType, place!]) : bare(typed);
  }

  /** The table of a type, if it has one. */
  function linkOf([{ kind, value }, scope]: Typed): string | undefined {
    if (kind !== "intersection") return links.get(value?.typeName);
    return value.map((one: Doc) => linkOf([one, scope])).find(Boolean);
  }

  /** The members of a union, and of the unions within it; of what has a table that alone. */
  function alternatives(typed: Typed): readonly Typed[] {
    if (linkOf(bare(typed)) !== undefined) return [bare(typed)];
    const [type, scope] = followed(typed);
    const { kind, value } = type;
    if (kind === "union") return value.flatMap((one: Doc) => alternatives([one, scope]));
    if (kind === "typeOperator") {
      const names = Object.keys(fieldsOf([value.tsType, scope])!);
      return names.map((repr) => [{ kind: "literal", repr, value: { kind: "string" } }, scope]);
    }
    if (kind !== "indexedAccess") return [[type, scope]];
    const { objType, indexType } = value;
    if (objType.kind !== "typeQuery") return fieldsOf([objType, scope])![indexType.repr]!.types;
    const [constant, place] = declared(objType.value, scope)!;
    return itemsOf([constant.def.tsType, place]);
  }

  /** The types of the items of a list. */
  function itemsOf(typed: Typed): readonly Typed[] {
    const [{ kind, value }, scope] = bare(typed);
    if (kind === "typeQuery") return itemsOf([declared(value, scope)![0].def.tsType, scope]);
    return [value].flat().flatMap((item: Doc) =>
      item.kind === "rest" ? itemsOf([item.value, scope]) : alternatives([item, scope])
    );
  }

  /** The fields of an object; `undefined` for any other type. */
  function fieldsOf(typed: Typed): Fields | undefined {
    const [type, scope] = followed(typed);
    const { kind, value } = type;
    if (kind === "typeLiteral") return propertiesOf(value.properties, scope);
    if (kind === "intersection") {
      return Object.assign({}, ...value.map((one: Doc) => fieldsOf([one, scope])));
    }
    if (kind === "union") {
      const all = alternatives([type, scope]).map(fieldsOf).filter((one) => one !== undefined);
      return all.length === 0 ? undefined : either(all);
    }
    if (kind !== "typeRef" || OPEN.test(value.typeName)) return undefined;
    const { typeName, typeParams = [] } = value;
    if (/^(Omit|Pick|Required)$/.test(typeName)) {
      const [of, names] = typeParams;
      const chosen = names && alternatives([names, scope]).map(([{ repr }]) => repr);
      const all = Object.entries(fieldsOf([of, scope])!);
      return Object.fromEntries(
        chosen === undefined
          ? all.map(([name, field]) => [name, { ...field, optional: false }])
          : all.filter(([name]) => chosen.includes(name) === (typeName === "Pick")),
      );
    }
    const [declaration, place] = declared(typeName, scope) ?? [];
    if (declaration?.kind !== "interface") return undefined;
    const { extends: parents = [], typeParams: parameters = [], properties = [] } = declaration.def;
    const given = parameters.map(({ name }: Doc, at: number) => [name, [typeParams[at], scope]]);
    const inside: Scope = [place![0], new Map(given)];
    const own = propertiesOf(properties, inside);
    return Object.assign({}, own, ...parents.map((one: Doc) => fieldsOf([one, inside])), own);
  }

  function propertiesOf(properties: readonly Doc[], scope: Scope): Fields {
    return Object.fromEntries(properties.map(({ name, tsType, optional = false, jsDoc }) => {
      const types = alternatives([tsType, scope]);
      const kept = types.filter(([{ repr }]) => repr !== "undefined");
      const doc = (jsDoc?.doc ?? "").split("\n\n")[0].replaceAll(/\s+/g, " ")
        .replaceAll(/\{@linkcode ([^}]+)\}/g, "`$1`").replaceAll("|", "\\|");
      return [name, { types: kept, optional: optional || kept.length < types.length, doc }];
    }));
  }

  /** The rows of fields, and of the fields within them. */
  function rowsOf(fields: Fields, path = ""): string[] {
    return Object.entries(fields).flatMap(([name, { types, optional, doc }]) => {
      const [word, inner] = shapeOf(types, ", ");
      return [
        `| \`${path}${name}${optional ? "?" : ""}\` | ${word} | ${doc} |`,
        ...[...Map.groupBy(inner, ([place]) => place)].flatMap(([place, all]) =>
          rowsOf(either(all.map(([, one]) => one)), path + name + place)
        ),
      ];
    });
  }

  function shapeOf(types: readonly Typed[], separator: string): Shape {
    const shapes = types.map((type): Shape => {
      const [{ kind, repr, value }, scope] = type;
      const link = linkOf(type);
      if (link !== undefined) {
        return [`object: [${link.toLowerCase()}](#${link.toLowerCase().replaceAll(" ", "-")})`, []];
      }
      const items = kind === "array" ? value : value?.typeName === "Record" && value.typeParams[1];
      if (items) {
        const [word, inner] = shapeOf(alternatives([items, scope]), " or ");
        const all = word.replaceAll(/(text|number|object|list)(?![\w\]])/g, "$1s");
        if (kind === "array") return [`list of ${all}`, inner.map(([at, one]) => [`[]${at}`, one])];
        if (inner.length === 0) return [`open object of ${all}`, []];
        return ["object", inner.map(([at, one]) => [`.*${at}`, one])];
      }
      if (kind === "tuple") return ["list", []];
      if (kind === "literal") return [`\`${value.kind === "string" ? `"${repr}"` : repr}\``, []];
      if (kind === "keyword") return [repr === "string" ? "text" : repr, []];
      const fields = fieldsOf(type);
      if (fields !== undefined) return ["object", [[".", fields]]];
      return [repr === "JsonValue" ? "any" : "open object", []];
    });
    const words = new Set(shapes.map(([word]) => word));
    return [[...words].join(separator), shapes.flatMap(([, inner]) => inner)];
  }
}

/** The fields of an object that is of one of several types. */
function either(all: readonly Fields[]): Fields {
  const names = new Set(all.flatMap((fields) => Object.keys(fields)));
  return Object.fromEntries([...names].map((name) => {
    const own = all.flatMap((fields) => fields[name] ?? []);
    const optional = own.length < all.length || own.some((field) => field.optional);
    const { doc = "" } = own.find((field) => field.doc !== "") ?? {};
    return [name, { types: own.flatMap(({ types }) => types), optional, doc }];
  }));
}
