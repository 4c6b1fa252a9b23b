/**
 * Builds the npm package: the library as JavaScript for Deno, Node and bun, with its types, and with all packages that
 * it uses but zod, which has to be the user's own, and those that few users need.
 *
 * `deno task package` writes `dist/toolgate-VERSION.tgz`, or the file that it is given.
 */

import { Buffer } from "node:buffer";
import { posix } from "node:path";
import { gzipSync } from "node:zlib";
import * as esbuild from "esbuild";
import { rollup } from "rollup";
import { dts } from "rollup-plugin-dts";
import typescript from "typescript";
import toolgate from "../../deno.json" with { type: "json" };
import { PROVIDER_NAMES } from "../../lib/models/providers.ts";
import { deno, type Folder, folder, ROOT } from "./child.ts";

/** Packages that users install: with this one, or where they use what needs them. */
const DEPENDENCIES = ["zod"];
const PEERS = [
  ...["@modelcontextprotocol/client", "@modelcontextprotocol/server"],
  ...["@scalar/openapi-upgrader", "@scalar/openapi-validator"],
  ...PROVIDER_NAMES.map((name) => `@ai-sdk/${name}`),
  "vitest",
];

/** The npm packages of the import map: their names there, and `NAME@VERSION/PATH`. */
const PACKAGES = Object.entries(toolgate.imports).flatMap(([name, address]) =>
  address.startsWith("npm:") ? [[name, address.slice("npm:".length)] as const] : []
);
const INLINED = PACKAGES.filter(([name]) => ![...DEPENDENCIES, ...PEERS].includes(name));

/** The entries of users. All files are in `lib/`, so that the package is `../` for each. */
const ENTRIES = Object.entries(toolgate.exports).map(([name, path]) => ({
  name,
  in: posix.normalize(path),
  out: name === "." ? "mod" : name.slice("./".length).replaceAll("/", "_"),
}));

/** Stand in for `import defer`, which bundlers do not know, and for one of two copies of a large package. */
const HELPERS = `
import { createRequire } from "node:module";
const require = createRequire(import.meta.url);
export const deferred = (file, name) =>
  new Proxy({}, { get: (_, key) => (file ? require(file)[name] : process.getBuiltinModule(name))[key] });
// Pages hold Viz as a text; it is a module, too.
export const viz = async () => {
  const { default: text } = await import("@viz-js/viz", { with: { type: "text" } });
  const { Buffer } = process.getBuiltinModule("node:buffer");
  // Bun takes no other form of a text as long as this.
  return await import("data:text/javascript;base64," + Buffer.from(text).toString("base64"));
};
`;

/** Builds the package; returns its files by their paths in it. */
async function buildPackage(): Promise<ReadonlyMap<string, string>> {
  await using work = await folder();
  const deferred = copySources(work);
  await installPackages(work);
  const inputs = await bundle(work, deferred);
  await bundleTypes(work);
  const plain = ["CHANGELOG.md", "LICENSE", "README.md", "quick.jsonc", "schema.json"].map((name) =>
    /[.]json/.test(name) ? `fixtures/suites/${name}` : name
  );
  return new Map([
    ...filesIn(ROOT, "docs").map((path) =>
      [path, Deno.readTextFileSync(`${ROOT}/${path}`)] as const
    ),
    ...plain.map((path) => [path, Deno.readTextFileSync(`${ROOT}/${path}`)] as const),
    ...filesIn(work.file("out")).map((path) =>
      [`lib/${path}`, Deno.readTextFileSync(work.file(`out/${path}`))] as const
    ),
    ["package.json", `${JSON.stringify(manifest(), undefined, 2)}\n`],
    ["THIRD_PARTY_LICENSES", licencesOf(work, inputs)],
  ]);
}

/** Copies the library, in words that bundlers know; returns which npm packages it defers, by their file. */
function copySources(work: Folder): ReadonlyMap<string, ReadonlySet<string>> {
  const deferred = new Map<string, Set<string>>();
  const defer = (_: string, name: string, specifier: string) => {
    // The library's own modules are needed soon after, by most.
    if (specifier.startsWith(".")) return `import * as ${name} from "${specifier}";`;
    if (specifier.startsWith("node:")) {
      return `const ${name} = helpers.deferred("", "${specifier}");`;
    }
    // The modules of ajv know each other.
    const [file] = /ajv|[\w-]+$/.exec(specifier)!;
    deferred.getOrInsertComputed(file, () => new Set()).add(specifier);
    return `const ${name} = helpers.deferred("./${file}.cjs", "${specifier}");`;
  };
  const folders = ["lib", "fixtures/project"].flatMap((path) => filesIn(ROOT, path));
  for (const path of ["mod.ts", "deno.json", ...folders]) {
    const text = Deno.readTextFileSync(`${ROOT}/${path}`);
    const known = text.replaceAll(/^import defer \* as (\w+) from "([^"]+)";/gm, defer)
      .replaceAll('import("@viz-js/viz")', "helpers.viz()")
      .replaceAll(
        /new URL\("(\.\.\/[^"]*)", import\.meta\.url\)/g,
        (_, to) => `new URL("../${posix.join(posix.dirname(path), to)}", import.meta.url)`,
      );
    const start = path === "lib/cli/main.ts" ? "#!/usr/bin/env node\n" : "";
    const helpers = / helpers\.(?:deferred|viz)\(/.test(known)
      ? 'import * as helpers from "toolgate:helpers";'
      : "";
    work.write(path, path.endsWith(".ts") ? `${start}${helpers}${known}` : text);
  }
  work.write("helpers.js", HELPERS);
  for (const [file, specifiers] of deferred) {
    const getters = specifiers.values().map((one) =>
      `get "${one}"() { return require("${one}"); }`
    );
    work.write(`deferred/${file}.js`, `module.exports = { ${getters.toArray().join(", ")} };`);
  }
  return deferred;
}

/** Installs the packages of the import map, in the versions of the lock. */
async function installPackages(work: Folder): Promise<void> {
  const imports = Object.fromEntries(PACKAGES.map(([name, at]) => [name, `npm:${at}`]));
  work.write("npm/deno.json", JSON.stringify({ imports, nodeModulesDir: "auto" }));
  work.write("npm/deno.lock", Deno.readTextFileSync(`${ROOT}/deno.lock`));
  const { code, all } = await deno(["install", "--quiet"], { cwd: work.file("npm") });
  if (code !== 0) throw new Error(`Cannot build the package as its packages must be there: ${all}`);
  Deno.renameSync(work.file("npm/node_modules"), work.file("node_modules"));
}

/** Writes the JavaScript; returns the paths of all files that are in it. */
async function bundle(
  work: Folder,
  deferred: ReadonlyMap<string, ReadonlySet<string>>,
): Promise<string[]> {
  const options = {
    absWorkingDir: work.path,
    alias: {
      ...Object.fromEntries(INLINED.flatMap(([name, at]) => {
        const plain = at.replace(/^(@?[^@]+)@[^/]*/, "$1");
        return plain === name ? [] : [[name, plain]];
      })),
      "@std/random": work.file("lib/base/std/random.ts"),
      "toolgate:helpers": work.file("helpers.js"),
    },
    bundle: true,
    charset: "utf8",
    external: [...DEPENDENCIES, ...PEERS, "#runtime", "canvas"],
    legalComments: "none",
    logLevel: "warning",
    metafile: true,
    outdir: "out",
    platform: "node",
    target: "node22",
    tsconfigRaw: "{}",
  } satisfies esbuild.BuildOptions;
  const entries = [
    { in: "lib/trials/tap/_mcp_bridge.ts", out: "bridge" },
    { in: "lib/base/runtime/deno.ts", out: "runtime_deno" },
    { in: "lib/base/runtime/node.ts", out: "runtime_node" },
    ...ENTRIES.map(({ in: path, out }) => ({ in: path, out })),
  ];
  try {
    const outputs = await Promise.all([
      esbuild.build({
        ...options,
        conditions: ["import"],
        entryPoints: entries,
        format: "esm",
        mainFields: ["module", "main"],
        splitting: true,
      }),
      // What is deferred is loaded at once when it is used: in every runtime, only CommonJS can be.
      esbuild.build({
        ...options,
        entryPoints: deferred.keys().map((file) => `deferred/${file}.js`).toArray(),
        format: "cjs",
        outExtension: { ".js": ".cjs" },
      }),
    ]);
    return outputs.flatMap(({ metafile }) => Object.keys(metafile!.inputs));
  } finally {
    await esbuild.stop();
  }
}

/** Writes the types that entries lead to. */
async function bundleTypes(work: Folder): Promise<void> {
  const known = new Set<string>();
  const declare = (path: string) => {
    if (known.has(path)) return path;
    known.add(path);
    const { outputText } = typescript.transpileDeclaration(
      Deno.readTextFileSync(`${ROOT}/${path}`),
      {
        fileName: path,
        compilerOptions: { strict: true, target: typescript.ScriptTarget.ESNext },
      },
    );
    const declared = outputText.replaceAll(/(from |import\()"(\.[^"]+)[.]ts"/g, (_, before, to) => {
      declare(`${posix.join(posix.dirname(path), to)}.ts`);
      return `${before}"${to}.js"`;
    });
    // A method whose name is computed is declared as a property, too.
    const plain = declared.replaceAll(/^ *\[Symbol\.\w+\]: \(\) => .*;\n/gm, "");
    work.write(`types/${path.replace(/[.]ts$/, ".d.ts")}`, plain);
    return path;
  };
  const input = Object.fromEntries(
    ENTRIES.map((
      { in: path, out },
    ) => [out, work.file(`types/${declare(path).replace(/[.]ts$/, ".d.ts")}`)]),
  );
  const bundle = await rollup({ input, external: /^(?![./])/, plugins: [dts()], onwarn: () => {} });
  const { output } = await bundle.write({
    // Node 22's types may lack it.
    banner: '/// <reference lib="esnext.disposable" />',
    chunkFileNames: "[name]-[hash].d.ts",
    dir: work.file("out"),
    entryFileNames: "[name].d.ts",
    footer: "export {};",
  });
  for (const file of output) {
    const unknown = /^.*[:<([|] ?any\b.*/m.exec("code" in file ? file.code : "")?.[0];
    if (unknown !== undefined && !/^ *[/*]/.test(unknown)) {
      throw new Error(
        `Cannot build the package as types must be written where they are exported: ${unknown}`,
      );
    }
  }
}

/** Returns the licences of the packages that files are of. */
function licencesOf(work: Folder, inputs: readonly string[]): string {
  const folders = inputs.flatMap((path) =>
    /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(path) ?? []
  );
  return [...new Set(folders)].sort().map((at) => {
    const read = (name: string) => Deno.readTextFileSync(work.file(`${at}/${name}`));
    const { name, version, license } = JSON.parse(read("package.json"));
    const texts = [...Deno.readDirSync(work.file(at))].map(({ name }) => name).sort()
      .filter((file) => /^(?:licen[cs]e|copying|notice)/i.test(file)).map((file) =>
        read(file).trim()
      );
    return [`${name} ${version}: ${license}`, ...texts].join("\n\n");
  }).join(`\n\n${"-".repeat(80)}\n\n`);
}

/** The package.json. */
function manifest() {
  const ranges = (names: readonly string[]) =>
    Object.fromEntries(names.map((name) => {
      const [, at] = PACKAGES.find(([one]) => one === name) ?? [];
      return [name, at?.slice(at.lastIndexOf("@") + 1) ?? "*"];
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
      ENTRIES.map((
        { name, out },
      ) => [name, { types: `./lib/${out}.d.ts`, default: `./lib/${out}.js` }]),
    ),
    imports: { "#runtime": { deno: "./lib/runtime_deno.js", default: "./lib/runtime_node.js" } },
    dependencies: ranges(DEPENDENCIES),
    peerDependencies: ranges(PEERS),
    peerDependenciesMeta: Object.fromEntries(PEERS.map((name) => [name, { optional: true }])),
    publishConfig: { access: "public" },
  };
}

/** The paths of all files in a folder, or in one within it. */
function filesIn(top: string, within = ""): string[] {
  return [...Deno.readDirSync(`${top}/${within}`)].flatMap(({ name, isDirectory }) => {
    const path = posix.join(within, name);
    return isDirectory ? filesIn(top, path) : [path];
  }).sort();
}

/** Returns the tarball of a package: the same bytes for the same files. */
function tarball(files: ReadonlyMap<string, string>): Uint8Array {
  const blocks = [...files].flatMap(([path, text]) => {
    const bytes = Buffer.from(text);
    const header = Buffer.alloc(512);
    const octal = (value: number, digits: number) => value.toString(8).padStart(digits, "0");
    header.write(`package/${path}`);
    // Mode, owner, group, size, and the time that npm gives all files.
    header.write(`${octal(0o644, 7)}\0${octal(0, 7)}\0${octal(0, 7)}\0`, 100);
    header.write(`${octal(bytes.length, 11)}\0${octal(499_162_500, 11)}\0        0`, 124);
    header.write("ustar\x0000", 257);
    header.write(`${octal(header.reduce((sum, byte) => sum + byte), 6)}\0 `, 148);
    return [header, bytes, Buffer.alloc(-bytes.length & 511)];
  });
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(1024)]), { level: 9 });
}

if (import.meta.main) {
  const [path = `${ROOT}/dist/toolgate-${toolgate.version}.tgz`] = Deno.args;
  const files = await buildPackage();
  const bytes = tarball(files);
  Deno.mkdirSync(posix.dirname(path), { recursive: true });
  Deno.writeFileSync(path, bytes);
  const size = files.values().reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  const [packed, unpacked] = [bytes.length, size].map((one) => `${(one / 1e6).toFixed(1)} MB`);
  console.log(`${path}: ${packed}, with ${files.size} files of ${unpacked}`);
}
