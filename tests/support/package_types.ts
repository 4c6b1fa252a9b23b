/**
 * The types of the package: of each file, the declarations that the entries lead to.
 */

import { posix } from "node:path";
import typescript from "typescript";
import { ROOT } from "./child.ts";

type Statement = typescript.Statement;

interface Imported {
  readonly from: string;
  readonly name: string;
  readonly isPassedOn: boolean;
}

/** A file's declarations. */
interface Declared {
  readonly path: string;
  readonly source: typescript.SourceFile;
  /** Its statements by what they declare. */
  readonly statements: ReadonlyMap<string, readonly Statement[]>;
  /** What it imports or passes on, by the name here: the module, and the name there. */
  readonly imported: ReadonlyMap<string, Imported>;
  /** What has no types without a look at other files. */
  readonly unknown: ReadonlySet<string>;
  readonly kept: Set<Statement>;
  /** The names of imports that are needed. */
  readonly used: Set<string>;
}

/**
 * Returns the declarations of modules by the path of their file.
 *
 * @throws {Error} If a type that users see is not written where it is declared.
 */
export function declarations(
  entries: readonly string[],
  importMap: Readonly<Record<string, string>>,
): ReadonlyMap<string, string> {
  const files = new Map<string, Declared>();
  const open = (path: string) => files.getOrInsertComputed(path, () => declared(path));
  /** The file that a specifier names; `undefined` for a package. */
  const fileOf = (specifier: string, from: string) => {
    const mapped = importMap[specifier];
    if (mapped?.startsWith("./")) return posix.normalize(mapped);
    return specifier.startsWith(".") ? posix.join(posix.dirname(from), specifier) : undefined;
  };

  function needName(file: Declared, name: string): void {
    for (const statement of file.statements.get(name) ?? []) {
      if (file.unknown.has(name)) {
        throw new Error(`Cannot write types as ${name} in ${file.path} must have its type written`);
      }
      need(file, statement);
    }
    const { from, name: there } = file.imported.get(name) ?? {};
    if (from === undefined || file.used.has(name)) return;
    file.used.add(name);
    const path = fileOf(from, file.path);
    if (path !== undefined) needName(open(path), there!);
  }

  function need(file: Declared, statement: Statement): void {
    if (file.kept.has(statement)) return;
    file.kept.add(statement);
    const visit = (node: typescript.Node): void => {
      if (typescript.isIdentifier(node)) needName(file, node.text);
      node.forEachChild(visit);
    };
    visit(statement);
  }

  for (const path of entries.map((entry) => posix.normalize(entry))) {
    const file = open(path);
    for (const statement of file.source.statements) {
      if (isExported(statement)) need(file, statement);
    }
  }
  return new Map([...files.values()].map((file) => [
    file.path.replace(/[.]ts$/, ".d.ts"),
    textOf(file, (specifier) => {
      const path = fileOf(specifier, file.path);
      if (path === undefined) return specifier;
      const relative = posix.relative(posix.dirname(file.path), path).replace(/[.]ts$/, ".js");
      return relative.startsWith(".") ? relative : `./${relative}`;
    }),
  ]));
}

function isExported(statement: Statement): boolean {
  return typescript.isExportDeclaration(statement) ||
    typescript.canHaveModifiers(statement) &&
      (statement.modifiers ?? []).some(({ kind }) => kind === typescript.SyntaxKind.ExportKeyword);
}

/** Reads the declarations of a file. */
function declared(path: string): Declared {
  const text = Deno.readTextFileSync(`${ROOT}/${path}`);
  const { outputText, diagnostics = [] } = typescript.transpileDeclaration(text, {
    fileName: path,
    reportDiagnostics: true,
    compilerOptions: { strict: true, target: typescript.ScriptTarget.ESNext },
  });
  const parse = (text: string) =>
    typescript.createSourceFile(path, text, typescript.ScriptTarget.ESNext, true);
  // A method whose name is computed is declared as a property, too.
  const source = parse(outputText.replaceAll(/^ *\[Symbol\.\w+\]: \(\) => .*;\n/gm, ""));
  const statements = new Map<string, Statement[]>();
  const imported = new Map<string, Imported>();
  for (const statement of source.statements) {
    const isPassedOn = typescript.isExportDeclaration(statement);
    if (isPassedOn || typescript.isImportDeclaration(statement)) {
      const names = isPassedOn ? statement.exportClause : statement.importClause?.namedBindings;
      if (names === undefined || !("elements" in names)) {
        throw new Error(
          `Cannot write types as ${path} must name all it imports: ${statement.getText()}`,
        );
      }
      const from = statement.moduleSpecifier;
      for (const { name: { text: name }, propertyName } of names.elements) {
        if (isPassedOn) statements.getOrInsert(name, []).push(statement);
        if (from === undefined || !typescript.isStringLiteral(from)) continue;
        // What is passed on may be imported, too.
        if (isPassedOn && imported.has(name)) continue;
        imported.set(name, {
          from: from.text,
          name: (propertyName ?? { text: name }).text,
          isPassedOn,
        });
      }
    }
    for (const name of namesOf(statement)) statements.getOrInsert(name, []).push(statement);
  }
  const whole = parse(text);
  const unknown = new Set(
    diagnostics.flatMap(({ start = 0 }) =>
      whole.statements.filter((one) => one.pos <= start && start < one.end).flatMap(namesOf)
    ),
  );
  return { path, source, statements, imported, unknown, kept: new Set(), used: new Set() };
}

/** The names that a statement declares. */
function namesOf(statement: Statement): string[] {
  if (typescript.isVariableStatement(statement)) {
    return statement.declarationList.declarations.map(({ name }) => name.getText());
  }
  const { name } = statement as typescript.DeclarationStatement;
  return name === undefined ? [] : [name.getText()];
}

/** Writes what is kept of a file. */
function textOf({ source, imported, kept, used }: Declared, moved: (specifier: string) => string) {
  const imports = [...used].filter((name) => !imported.get(name)!.isPassedOn).sort().map((name) => {
    const { from, name: there } = imported.get(name)!;
    const names = name === there ? name : `${there} as ${name}`;
    return `import type { ${names} } from "${moved(from)}";\n`;
  });
  const statements = source.statements.filter((statement) => kept.has(statement)).map(
    (statement) => {
      const module = (statement as typescript.ExportDeclaration).moduleSpecifier;
      if (module === undefined) return statement.getFullText();
      const text = statement.getFullText();
      return text.replace(
        module.getText(),
        `"${moved((module as typescript.StringLiteral).text)}"`,
      );
    },
  );
  return `/// <reference lib="esnext.disposable" />\n${imports.join("")}${
    statements.join("").trim()
  }\n`;
}
