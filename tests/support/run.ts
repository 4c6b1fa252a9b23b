/**
 * Runs `deno test` with what it is given, and prints of thousands of tests what is worth reading: how far it is, what
 * failed, which files took longest, and what was left out on this machine and why. Where a file is named, its tests
 * are printed one by one.
 */

/** Milliseconds between two lines of progress. */
const PAUSE = 10_000;
/** How many of the slowest files are named. */
const SLOWEST = 10;

/** A test of the JUnit report. */
interface Case {
  readonly file: string;
  readonly name: string;
  readonly seconds: number;
  readonly isSkipped: boolean;
}

/** Reads the report that the runner writes when all tests have ended. */
function readCases(xml: string): Case[] {
  const text = (escaped: string) =>
    escaped.replaceAll(
      /&(?:quot|apos|lt|gt|amp|#(\d+));/g,
      (entity, code) =>
        code === undefined
          ? { "&quot;": '"', "&apos;": "'", "&lt;": "<", "&gt;": ">", "&amp;": "&" }[entity]!
          : String.fromCodePoint(Number(code)),
    );
  const found = xml.matchAll(
    /<testcase name="([^"]*)" classname="([^"]*)" time="([^"]*)"[^>]*>(\s*<skipped)?/g,
  );
  return [...found].map(([, name, file, time, skipped]) => ({
    file: text(file!).replace(/^\.\//, ""),
    name: text(name!),
    seconds: Number(time),
    isSkipped: skipped !== undefined,
  }));
}

/** The files whose tests took longest, and why tests were left out. */
function summary(cases: readonly Case[]): string[] {
  const files = Map.groupBy(cases, ({ file }) => file);
  const seconds = [...files].map(([file, tests]) =>
    [
      file,
      tests.filter(({ name }) => !isStep(name, tests)).reduce((sum, one) => sum + one.seconds, 0),
    ] as const
  ).toSorted(([, one], [, other]) => other - one);
  const skipped = cases.filter(({ name, isSkipped, file }) =>
    isSkipped && !isStep(name, files.get(file)!)
  );
  const reasons = Map.groupBy(
    skipped,
    ({ name }) => /\(ignored: (.*)\)$/.exec(name)?.[1] ?? "not for this system",
  );
  return [
    ...(files.size > SLOWEST ? ["slowest files, in seconds of their tests:"] : []),
    ...(files.size > SLOWEST
      ? seconds.slice(0, SLOWEST).map(([file, sum]) => `${sum.toFixed(1).padStart(7)} ${file}`)
      : []),
    ...(skipped.length === 0 ? [] : [
      `left out: ${skipped.length} tests: ` +
      [...reasons].map(([reason, tests]) => `${tests.length} as ${reason}`).join("; "),
    ]),
  ];
}

/** Whether a case is a step: the runner names it after its test. */
function isStep(name: string, tests: readonly Case[]): boolean {
  return tests.some((test) => test.name !== name && name.startsWith(`${test.name} > `));
}

/** Prints what matters of the lines that the runner prints. */
async function follow(output: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<void> {
  const began = performance.now();
  let [ended, due, isEnd, rest] = [0, PAUSE, false, ""];
  for await (const chunk of output.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop()!;
    for (const line of lines) {
      // deno-lint-ignore no-control-regex -- colours
      const plain = line.replaceAll(/\x1b\[[\d;]*m/g, "");
      isEnd ||= /^ ERRORS |^(?:ok|FAILED) \| /.test(plain);
      if (/^\.\/tests\/\S+ => .* \.\.\. (?:ok|ignored) \(/.test(plain)) ended++;
      if (isEnd || /^\.\/tests\/\S+ => .* \.\.\. FAILED|^Uncaught error from/.test(plain)) {
        console.log(line);
      } else if (performance.now() - began >= due) {
        due += PAUSE;
        console.log(`${ended} tests, ${Math.round((performance.now() - began) / 1000)} s`);
      }
    }
  }
  if (rest !== "") console.log(rest);
}

/** How many files of tests are loaded together. */
const GROUP = 12;

/** Files that run by themselves, as they set hooks or replace what others use. */
const ALONE = /Deno\.test\.(?:before|after)|support\/collected\.ts/;

/** The files of tests below a path, but for those below an ignored one. */
function* testFiles(path: string, ignored: readonly string[]): Generator<string> {
  if (ignored.includes(path)) return;
  if (!Deno.statSync(path).isDirectory) return yield path;
  for (const { name, isDirectory } of [...Deno.readDirSync(path)]) {
    if (isDirectory || name.endsWith("_test.ts")) yield* testFiles(`${path}/${name}`, ignored);
  }
}

/** Writes modules that load files of a room together: each module that the runner loads compiles all of lib/ anew. */
function group(paths: readonly string[], ignored: readonly string[], folder: string): string[] {
  const files = paths.flatMap((path) => [...testFiles(path.replace(/\/$/, ""), ignored)])
    .toSorted();
  const [alone, together] = [true, false].map((isAlone) =>
    files.filter((file) => ALONE.test(Deno.readTextFileSync(file)) === isAlone)
  ) as [string[], string[]];
  const rooms = Map.groupBy(together, (file) => file.split("/")[1]!);
  const groups = [...rooms].flatMap(([room, own]) => {
    const count = Math.ceil(own.length / GROUP);
    return Array.from({ length: count }, (_, index) => {
      const path = `${folder}/${room}_${index + 1}_test.ts`;
      const imports = own.filter((_, at) => at % count === index)
        .map((file) => `import ${JSON.stringify(`../../${file}`)};\n`);
      Deno.writeTextFileSync(path, imports.join(""));
      return path;
    });
  });
  return [...groups, ...alone];
}

/** Runs the tests, and returns the exit code of the runner. */
async function run(arguments_: readonly string[]): Promise<number> {
  const flags = arguments_.filter((argument) =>
    argument.startsWith("-") && argument !== "--grouped"
  );
  let paths = arguments_.filter((argument) => !argument.startsWith("-"));
  const isOfFiles = paths.some((path) => path.endsWith(".ts"));
  const report = Deno.makeTempFileSync({ suffix: ".xml" });
  const folder = Deno.makeTempDirSync({ dir: "tests", prefix: ".group_" });
  try {
    if (arguments_.includes("--grouped") && !isOfFiles) {
      const ignored = flags.flatMap((flag) => /^--ignore=(.*)/.exec(flag)?.[1]?.split(",") ?? []);
      paths = group(paths.length === 0 ? ["tests"] : paths, ignored, folder);
    }
    const child = new Deno.Command(Deno.execPath(), {
      args: ["test", `--junit-path=${report}`, ...flags, ...paths],
      stdout: isOfFiles ? "inherit" : "piped",
    }).spawn();
    // An interruption reaches the runner too, which then says what was running.
    Deno.addSignalListener("SIGINT", () => {});
    if (!isOfFiles) await follow(child.stdout);
    const { code } = await child.status;
    for (const line of summary(readCases(Deno.readTextFileSync(report)))) console.log(line);
    return code;
  } finally {
    Deno.removeSync(report);
    Deno.removeSync(folder, { recursive: true });
  }
}

if (import.meta.main) Deno.exit(await run(Deno.args));
