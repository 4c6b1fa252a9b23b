/** The tables of fields in docs/contracts.md, made of the doc comments of exported types, which `deno doc` reads. */

import { globSync } from "node:fs";
import { deno, ROOT } from "./child.ts";

/** What `deno doc --json` has of a type, a field or a declaration; its shape follows from its kind. */
// deno-lint-ignore no-explicit-any
type Doc = any;

/** Where names are known: a file, with the types that stand for the parameters of an interface. */
type Scope = readonly [file: string, given: ReadonlyMap<string, Typed>];
type Typed = readonly [type: Doc, scope: Scope];

interface Field {
  readonly types: readonly Typed[];
  readonly optional: boolean;
  readonly doc: string;
}

type Fields = Readonly<Record<string, Field>>;

interface Shape {
  readonly word: string;
  readonly inner: readonly (readonly [path: string, fields: Fields])[];
}

/** The types of each table, by the anchor of its heading: a file of lib/, and names that it knows. */
const TABLES: Readonly<Record<string, readonly [file: string, ...types: string[]]>> = {
  "plan-line": ["runs/journal/plan_line.ts", "PlanLine"],
  "resolved-suite": ["runs/resolved_suite.ts", "ResolvedSuite"],
  "gate": ["gate/policy.ts", "CompletePolicy"],
  "trial-line": ["trials/trial.ts", "Trial"],
  "transcript": ["trials/transcript.ts", "Transcript"],
  "use": ["trials/trial.ts", "StageUse", "Judging", "TrialUser"],
  "task": ["tasks/task_kind.ts", "TaskSpec"],
  "events": ["calls/trace.ts", "TraceEvent"],
  "canary": ["runs/history/watch.ts", "CanaryReport"],
  "watched-model": ["runs/history/watch.ts", "WatchedModel"],
  "history": ["reports/history.ts", "HistoryReport"],
  "verdicts": ["gate/gate_report.ts", "GateReport"],
  "verdict": ["gate/gate_report.ts", "ReportedVerdict"],
};

/** The tables of types within others. */
const LINKS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    Object.entries(TABLES).flatMap(([anchor, [, ...types]]) => types.map((type) => [type, anchor])),
  ),
  ...{ Cell: "task", Failure: "failures", FailureCause: "failures" },
};

/** What users wrote themselves, or what is described elsewhere. */
const OPEN =
  /^(z\.infer|Json.*|(Model|Strategy|Judge)Entry|CommandAgent|Partial|TestSettings|CallTruth)$/;

/** Names of types in the page. */
const WORDS: Readonly<Record<string, string>> = { string: "text", JsonValue: "any" };

/** Returns each table, by the anchor of its heading. */
export async function contractTables(): Promise<ReadonlyMap<string, string>> {
  const { stdout } = await deno(["doc", "--json", ...globSync(`${ROOT}/lib/*/**/*.ts`)]);
  const nodes: Record<string, Doc> = JSON.parse(stdout).nodes;
  return new Map(
    Object.entries(TABLES).map(([anchor, [file, ...types]]) => {
      const scope: Scope = [`file://${ROOT}/lib/${file}`, new Map()];
      const roots = types.flatMap((typeName) =>
        alternatives(followed([{ kind: "typeRef", value: { typeName } }, scope]))
      ).map((root) => fieldsOf(root)!);
      const rows = anchor === "events"
        ? roots.flatMap(({ kind, ...fields }) => rowsOf(fields, `${kind!.types[0]![0].repr}.`))
        : rowsOf(either(roots));
      return [anchor, ["| field | type | meaning |", "| --- | --- | --- |", ...rows].join("\n")];
    }),
  );

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
    if (kind !== "intersection") return LINKS[value?.typeName];
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
    return alternatives([bare([constant.def.tsType, place])[0].value, place]);
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
      const { word, inner } = shapeOf(types, ", ");
      return [
        `| \`${path}${name}${optional ? "?" : ""}\` | ${word} | ${doc} |`,
        ...[...Map.groupBy(inner, ([place]) => place)].flatMap(([place, all]) =>
          rowsOf(either(all.map(([, one]) => one)), path + name + place)
        ),
      ];
    });
  }

  /** Types in words, and the fields within them with the path to these. */
  function shapeOf(types: readonly Typed[], separator: string): Shape {
    const shapes = types.map((type) => {
      const [{ kind, repr, value }, scope] = type;
      const link = linkOf(type);
      if (link !== undefined) return of(`object: [${link.replaceAll("-", " ")}](#${link})`);
      const items = kind === "array" ? value : value?.typeName === "Record" && value.typeParams[1];
      if (items) {
        const { word, inner } = shapeOf(alternatives([items, scope]), " or ");
        const all = word.replaceAll(/(text|number|object|list)(?![\w\]])/g, "$1s");
        const below = inner.map(([at, one]) =>
          [(kind === "array" ? "[]" : ".*") + at, one] as const
        );
        if (kind === "array") return of(`list of ${all}`, below);
        return below.length > 0 ? of("object", below) : of(`open object of ${all}`);
      }
      if (kind === "tuple") return of("list");
      if (kind === "literal") return of(`\`${value.kind === "string" ? `"${repr}"` : repr}\``);
      if (Object.hasOwn(WORDS, repr) || kind === "keyword") return of(WORDS[repr] ?? repr);
      const fields = fieldsOf(type);
      return fields === undefined ? of("open object") : of("object", [[".", fields]]);
    });
    const words = new Set(shapes.map(({ word }) => word));
    return of([...words].join(separator), shapes.flatMap(({ inner }) => inner));
  }
}

const of = (word: string, inner: Shape["inner"] = []): Shape => ({ word, inner });

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
