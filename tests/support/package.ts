/**
 * Builds the npm package: the library as JavaScript that Deno, Node and bun run, with its types, and with all packages
 * that it uses but zod, which has to be the user's own, and those that few users need.
 *
 * `deno task package` writes `dist/toolgate-VERSION.tgz`.
 */

import { Buffer } from "node:buffer";
import { posix } from "node:path";
import { gzipSync } from "node:zlib";
import * as esbuild from "esbuild";
import toolgate from "../../deno.json" with { type: "json" };
import { deno, type Folder, folder, ROOT } from "./child.ts";
import { declarations } from "./package_types.ts";

/** Packages that are not put into it, by the fields of package.json that name them. */
const EXTERNAL = {
  dependencies: ["zod"],
  peerDependencies: [
    "@modelcontextprotocol/client",
    "@modelcontextprotocol/server",
    "@scalar/openapi-upgrader",
    "@scalar/openapi-validator",
  ],
};

/** What is imported by its name, and is neither a package of it nor a part of every runtime. */
const RUNTIMES = ["#runtime", "bun:test", "vitest"];

/** What is written into the package as it is. */
const PLAIN = [
  ...["CHANGELOG.md", "LICENSE", "README.md"],
  ...["fixtures/suites/quick.jsonc", "fixtures/suites/schema.json"],
];

/** The npm packages of the import map: their names there, and `NAME@VERSION/PATH`. */
const PACKAGES = Object.entries(toolgate.imports).flatMap(([name, address]) =>
  address.startsWith("npm:") ? [[name, address.slice("npm:".length)] as const] : []
);

/** The files of the package by their names in `lib/`, all in this one folder: the package is always `../`. */
const ENTRIES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    Object.entries(toolgate.exports).map(([name, path]) => [moduleOf(name), posix.normalize(path)]),
  ),
  bridge: "lib/trials/tap/_mcp_bridge.ts",
  runtime_deno: "lib/base/runtime/deno.ts",
  runtime_node: "lib/base/runtime/node.ts",
};

function moduleOf(entry: string): string {
  return entry === "." ? "mod" : entry.slice("./".length).replaceAll("/", "_");
}

/** Modules that stand in for what bundlers and Node 22 do not know: `import defer` and `import.meta.main`. */
const HELPERS = `
import { realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
const require = createRequire(import.meta.url);
export const deferred = (load) => new Proxy({}, { get: (_, name) => load()[name] });
export const builtin = (name) => deferred(() => process.getBuiltinModule(name));
export const bundled = (file, name) => deferred(() => require(file)[name]);
export const isMain = ({ main, url }) =>
  main ?? (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(url));
`;

/** The files of the package, by their paths in it. */
export type PackageFiles = ReadonlyMap<string, string>;

/** Builds the package. */
export async function buildPackage(): Promise<PackageFiles> {
  await using work = await folder();
  const deferred = copySources(work);
  await installPackages(work);
  const licences = await bundle(work, deferred);
  const files = new Map<string, string>();
  for (const path of PLAIN) files.set(path, Deno.readTextFileSync(`${ROOT}/${path}`));
  for (const path of filesIn(work.file("lib_js"))) {
    files.set(`lib/${path}`, Deno.readTextFileSync(work.file(`lib_js/${path}`)));
  }
  for (const [path, text] of declarations(Object.values(toolgate.exports), toolgate.imports)) {
    files.set(`types/${path}`, text);
  }
  files.set("THIRD_PARTY_LICENSES", licences);
  files.set("package.json", `${JSON.stringify(manifest(), undefined, 2)}\n`);
  return new Map([...files].sort(([one], [other]) => one < other ? -1 : 1));
}

/** Copies the library to where its packages are, in words that bundlers know; returns the npm packages it defers. */
function copySources(work: Folder): ReadonlySet<string> {
  const deferred = new Set<string>();
  const paths = ["lib", "fixtures/project"].flatMap((at) =>
    filesIn(`${ROOT}/${at}`).map((path) => `${at}/${path}`)
  );
  for (const path of ["mod.ts", "deno.json", ...paths]) {
    const text = Deno.readTextFileSync(`${ROOT}/${path}`);
    work.write(path, path.endsWith(".ts") ? known(text, path, deferred) : text);
  }
  work.write("helpers.js", HELPERS);
  const bundles = Map.groupBy(deferred, bundleOf);
  for (const [name, specifiers] of bundles) {
    const getters = specifiers.map((one) => `get "${one}"() { return require("${one}"); }`);
    work.write(`deferred/${name}.js`, `module.exports = {\n  ${getters.join(",\n  ")}\n};\n`);
  }
  return deferred;
}

/** The file that a deferred npm package is in; those of ajv belong together. */
function bundleOf(specifier: string): string {
  return specifier.startsWith("ajv") ? "ajv" : specifier.replaceAll(/\W+/g, "_").replace(/^_/, "");
}

function known(text: string, path: string, deferred: Set<string>): string {
  const helped = text
    .replaceAll(/^import defer \* as (\w+) from "([^"]+)";/gm, (_, name, specifier) => {
      // What is in the library's own files is loaded soon after.
      if (specifier.startsWith(".")) return `import * as ${name} from "${specifier}";`;
      if (specifier.startsWith("node:")) return `const ${name} = helpers.builtin("${specifier}");`;
      deferred.add(specifier);
      return `const ${name} = helpers.bundled("./${bundleOf(specifier)}.cjs", "${specifier}");`;
    })
    .replaceAll(/^if \(import\.meta\.main\)/gm, "if (helpers.isMain(import.meta))")
    .replaceAll(
      /new URL\("(\.\.\/[^"]*)", import\.meta\.url\)/g,
      (_, to) => `new URL("../${posix.join(posix.dirname(path), to)}", import.meta.url)`,
    )
    .replaceAll('"./_mcp_bridge.ts"),', '"./bridge.js"),');
  const start = path === "lib/cli/main.ts" ? "#!/usr/bin/env node\n" : "";
  return start +
    (helped.includes("helpers.") ? 'import * as helpers from "toolgate:helpers";' : "") +
    helped;
}

/** Installs the packages of the import map, in the versions of the lock. */
async function installPackages(work: Folder): Promise<void> {
  const imports = Object.fromEntries(PACKAGES.map(([name, at]) => [name, `npm:${at}`]));
  work.write("npm/deno.json", JSON.stringify({ imports, nodeModulesDir: "auto" }));
  work.write("npm/deno.lock", Deno.readTextFileSync(`${ROOT}/tests/deno.lock`));
  const { code, all } = await deno(["install", "--quiet"], { cwd: work.file("npm") });
  if (code !== 0) throw new Error(`Cannot build the package as its packages must be there: ${all}`);
  Deno.renameSync(work.file("npm/node_modules"), work.file("node_modules"));
}

/** Writes the JavaScript, and returns the licences of all packages that are in it. */
async function bundle(work: Folder, deferred: ReadonlySet<string>): Promise<string> {
  const aliases = PACKAGES.map(([name, at]) => [name, at.replace(/^(@?[^@]+)@[^/]*/, "$1")]);
  const options = {
    absWorkingDir: work.path,
    // The packages' import map is one of their names alone.
    alias: {
      ...Object.fromEntries(aliases.filter(([name, plain]) => name !== plain)),
      "@std/random": work.file("lib/base/std/random.ts"),
      "toolgate:helpers": work.file("helpers.js"),
    },
    bundle: true,
    charset: "utf8",
    external: [...EXTERNAL.dependencies, ...EXTERNAL.peerDependencies, ...RUNTIMES, "canvas"],
    legalComments: "none",
    logLevel: "warning",
    metafile: true,
    outdir: "lib_js",
    platform: "node",
    target: "node22",
    tsconfigRaw: "{}",
  } satisfies esbuild.BuildOptions & { metafile: true };
  try {
    const outputs = await Promise.all([
      esbuild.build({
        ...options,
        chunkNames: "[name]-[hash]",
        conditions: ["import"],
        entryPoints: Object.entries(ENTRIES).map(([out, path]) => ({ in: path, out })),
        format: "esm",
        mainFields: ["module", "main"],
        plugins: [oneViz],
        splitting: true,
      }),
      // What is loaded at its first use is loaded at once, which only CommonJS can be in every runtime.
      esbuild.build({
        ...options,
        entryPoints: [...new Set([...deferred].map(bundleOf))].map((one) => `deferred/${one}.js`),
        format: "cjs",
        outExtension: { ".js": ".cjs" },
      }),
    ]);
    return licencesOf(work, outputs.flatMap(({ metafile }) => Object.keys(metafile.inputs)));
  } finally {
    await esbuild.stop();
  }
}

/** Viz is needed as a module and, for pages, as a text: the module is made of the text. */
const oneViz: esbuild.Plugin = {
  name: "one viz",
  setup(build) {
    const namespace = "viz";
    build.onResolve(
      { filter: /^@viz-js\/viz$/ },
      ({ with: { type }, namespace: from }) =>
        type === "text" || from === namespace ? undefined : { path: "viz", namespace },
    );
    build.onLoad({ filter: /^/, namespace }, () => ({
      contents: `import source from "@viz-js/viz" with { type: "text" };
export const { instance } = await import("data:text/javascript," + encodeURIComponent(source));`,
      resolveDir: build.initialOptions.absWorkingDir!,
    }));
  },
};

/** Returns the licences of the packages that files are of. */
function licencesOf(work: Folder, inputs: readonly string[]): string {
  const folders = inputs.flatMap((path) =>
    /^(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? []
  );
  return [...new Set(folders)].sort().map((at) => {
    const place = work.file(at);
    const { name, version, license } = JSON.parse(Deno.readTextFileSync(`${place}/package.json`));
    const texts = [...Deno.readDirSync(place)].map(({ name }) => name).sort()
      .filter((file) => /^(?:licen[cs]e|copying|notice)/i.test(file))
      .map((file) => Deno.readTextFileSync(`${place}/${file}`).trim());
    return `${name} ${version}: ${license}\n\n${texts.join("\n\n")}\n`;
  }).join(`\n${"-".repeat(80)}\n\n`);
}

/** The package.json. */
function manifest() {
  const ranges = (names: readonly string[]) =>
    Object.fromEntries(names.map((name) => {
      const [, at] = PACKAGES.find(([one]) => one === name)!;
      return [name, at.slice(at.lastIndexOf("@") + 1)];
    }));
  return {
    name: toolgate.name,
    version: toolgate.version,
    description: "Tests of how well language models call tools",
    license: toolgate.license,
    type: "module",
    engines: { node: ">=22.12" },
    bin: { toolgate: "lib/cli.js" },
    exports: Object.fromEntries(
      Object.entries(toolgate.exports).map(([name, path]) => [name, {
        types: `./types/${posix.normalize(path).replace(/[.]ts$/, ".d.ts")}`,
        default: `./lib/${moduleOf(name)}.js`,
      }]),
    ),
    imports: { "#runtime": { deno: "./lib/runtime_deno.js", default: "./lib/runtime_node.js" } },
    dependencies: ranges(EXTERNAL.dependencies),
    peerDependencies: ranges(EXTERNAL.peerDependencies),
    peerDependenciesMeta: Object.fromEntries(
      EXTERNAL.peerDependencies.map((name) => [name, { optional: true }]),
    ),
    publishConfig: { access: "public" },
  };
}

/** The paths of all files in a folder, in order. */
function filesIn(at: string): string[] {
  return [...Deno.readDirSync(at)].flatMap(({ name, isDirectory }) =>
    isDirectory ? filesIn(`${at}/${name}`).map((path) => `${name}/${path}`) : [name]
  ).sort();
}

/** Returns the tarball of a package, which is the same for the same files. */
export function tarball(files: PackageFiles): Uint8Array {
  const blocks = [...files].flatMap(([path, text]) => {
    const bytes = Buffer.from(text);
    const header = Buffer.alloc(512);
    const octal = (value: number, digits: number) => value.toString(8).padStart(digits, "0");
    header.write(`package/${path}`);
    // Mode, owner, group, size and time: the hour that npm gives all files, as zip has no earlier one than 1980.
    header.write(`${octal(0o644, 7)}\0${octal(0, 7)}\0${octal(0, 7)}\0`, 100);
    header.write(`${octal(bytes.length, 11)}\0${octal(499_162_500, 11)}\0        0`, 124);
    header.write("ustar\x0000", 257);
    header.write(`${octal(header.reduce((sum, byte) => sum + byte, 0), 6)}\0 `, 148);
    return [header, bytes, Buffer.alloc(-bytes.length & 511)];
  });
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(1024)]), { level: 9 });
}

if (import.meta.main) {
  const path = `dist/toolgate-${toolgate.version}.tgz`;
  const files = await buildPackage();
  const bytes = tarball(files);
  Deno.mkdirSync(`${ROOT}/dist`, { recursive: true });
  Deno.writeFileSync(`${ROOT}/${path}`, bytes);
  const unpacked = files.values().reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  const megabytes = (size: number) => `${(size / 1e6).toFixed(1)} MB`;
  console.log(`${path}: ${megabytes(bytes.length)}, ${files.size} files of ${megabytes(unpacked)}`);
}
