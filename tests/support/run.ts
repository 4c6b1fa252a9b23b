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
      `left out: ${skipped.length} test${skipped.length === 1 ? "" : "s"}: ` +
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
      if (/^\S+_test\.ts => .* \.\.\. (?:ok|ignored) \(/.test(plain)) ended++;
      if (isEnd || /^\S+_test\.ts => .* \.\.\. FAILED|^Uncaught error from/.test(plain)) {
        console.log(line);
      } else if (performance.now() - began >= due) {
        due += PAUSE;
        console.log(`${ended} tests, ${Math.round((performance.now() - began) / 1000)} s`);
      }
    }
  }
  if (rest !== "") console.log(rest);
}

/**
 * Files that run by themselves: they act before all tests, take what others register, leave something running, or are
 * many files already.
 */
const ALONE =
  /Deno\.test\.before|CollectedTests\.ofFile|support\/refusals\.ts|sanitizeOps: false|^import "\.\//m;

/**
 * What stands at the top of files of the part `loops`: they simulate or draw so much that counters of lines would slow
 * them to a third, and reach next to nothing that others do not. All other files are the part `lines`.
 */
const LOOPS = /^\/\/ Runs without counters of lines\.$/m;

/** The files of tests below a path, but for those below an ignored one. */
function* testFiles(path: string, ignored: readonly string[]): Generator<string> {
  if (ignored.includes(path)) return;
  if (!Deno.statSync(path).isDirectory) return yield path;
  for (const { name, isDirectory } of [...Deno.readDirSync(path)]) {
    // As the runner finds them.
    if (isDirectory || /(?:^|[._])test\.(?:[cm]?[jt]s|[jt]sx)$/.test(name)) {
      yield* testFiles(`${path}/${name}`, ignored);
    }
  }
}

/** The last test of each written module: where a file ends the process while it loads, those behind it are not there. */
const WHOLE = "all files of this module were loaded";

/**
 * Writes modules that load up to `size` files of a room together: each module that the runner loads compiles all of
 * lib/ anew.
 */
function group(
  paths: readonly string[],
  ignored: readonly string[],
  { most, part, folder }: {
    readonly most: number;
    readonly part: string | undefined;
    readonly folder: string;
  },
): string[] {
  const files = paths.flatMap((path) => [...testFiles(path.replace(/\/$/, ""), ignored)])
    .filter((file) =>
      part === undefined ||
      LOOPS.test(Deno.readTextFileSync(file)) === (part === "loops")
    )
    .toSorted();
  const write = (name: string, own: readonly string[]) => {
    const path = `${folder}/${name}_test.ts`;
    const imports = own.map((file) =>
      `import ${JSON.stringify(new URL(`../../${file}`, import.meta.url))};\n`
    );
    Deno.writeTextFileSync(
      path,
      `${imports.join("")}Deno.test(${JSON.stringify(WHOLE)}, () => {});\n`,
    );
    return path;
  };
  const [alone, together] = [true, false].map((isAlone) =>
    files.filter((file) => ALONE.test(Deno.readTextFileSync(file)) === isAlone)
  ) as [string[], string[]];
  const rooms = Map.groupBy(together, (file) => file.split("/")[1]!);
  return [
    // They take longest, and the runner goes by names.
    ...alone.map((file, index) => write(`0_${index + 1}`, [file])),
    ...[...rooms].flatMap(([room, own]) => {
      const count = Math.ceil(own.length / most);
      const parts = Array.from(
        { length: count },
        (_, part) => own.filter((_, at) => at % count === part),
      );
      return parts.map((part, index) => write(`${room}_${index + 1}`, part));
    }),
  ];
}

/** Runs the tests, and returns the exit code of the runner. */
async function run(given: readonly string[]): Promise<number> {
  // Only what is behind this flag may look like a path.
  const arguments_ = given.join("\0").replace(/(?<=^|\0)--filter\0/, "--filter=").split("\0");
  const own = /^--(?:grouped=(\d+)|part=(lines|loops))$/;
  const [most, part] = [1, 2].map((place) =>
    arguments_.map((argument) => own.exec(argument)?.[place]).find(Boolean)
  );
  const flags = arguments_.filter((argument) => argument.startsWith("-") && !own.test(argument));
  let paths = arguments_.filter((argument) => !argument.startsWith("-"));
  const isOfFiles = paths.some((path) => path.endsWith(".ts"));
  const report = Deno.makeTempFileSync({ suffix: ".xml" });
  // Outside of the project, where no other task finds them.
  const folder = Deno.makeTempDirSync();
  try {
    if (most !== undefined && !isOfFiles) {
      const ignored = flags.flatMap((flag) => /^--ignore=(.*)/.exec(flag)?.[1]?.split(",") ?? []);
      const below = paths.length === 0 ? ["tests"] : paths;
      paths = group(below, ignored, { most: Number(most), part, folder });
    }
    const child = new Deno.Command(Deno.execPath(), {
      args: ["test", `--junit-path=${report}`, ...flags, ...paths],
      stdout: isOfFiles ? "inherit" : "piped",
    }).spawn();
    // An interruption reaches the runner too, which then says what was running.
    Deno.addSignalListener("SIGINT", () => {});
    if (!isOfFiles) await follow(child.stdout);
    const { code } = await child.status;
    const cases = readCases(Deno.readTextFileSync(report));
    const all = cases.filter(({ name }) => name !== WHOLE);
    for (const line of summary(all)) console.log(line);
    // A filter leaves out that test too.
    const isCounted = most !== undefined && !isOfFiles &&
      !flags.some((flag) => /^--filter/.test(flag));
    if (isCounted && code === 0 && paths.length > cases.length - all.length) {
      console.log("FAILED: a file of tests has ended the process while it was loaded");
      return 1;
    }
    return code;
  } finally {
    Deno.removeSync(report);
    Deno.removeSync(folder, { recursive: true });
  }
}

if (import.meta.main) Deno.exit(await run(Deno.args));
