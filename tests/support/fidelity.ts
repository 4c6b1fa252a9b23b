/**
 * The five sources that the project follows, and what of them the names of its tests say that holds: a test
 * that shows a statement of a source ends its name with source and section in brackets.
 */

import { ROOT } from "./child.ts";
import { TEST_FILES, testNames } from "./test_names.ts";

/** The sections of each source, in order. Names of tests have their numbers, or their titles if they have none. */
export const SOURCES: Readonly<Record<string, readonly string[]>> = {
  FuncBenchGen: [
    "1 Introduction",
    "3 The evaluation framework",
    "3.1 Task definition",
    "3.2 Benchmark generation process",
    "3.3 Real-world applicability",
    "3.4 Implementation details",
    "4 Experiments",
    "4.1 Setup",
    "4.2 Main results",
    "4.3 Effect of irrelevant functions",
    "4.4 Effect of function dependency depth",
    "4.5 Discussion",
    "4.6 Failure analysis and mitigation strategy",
    "4.6.1 Mitigation strategy",
    "4.7 Case study of function calling failure",
    "5 Conclusion",
    "A.1 Graph generation process detail",
    "A.2 Example generated graphs",
    "B.1 Model details",
    "B.2 Types and subtypes",
    "B.3 Example model input",
    "C.1 Results of no extra setting",
    "C.2 Results of dependency depth with error bars",
    "C.3 Results of other dependency depths",
    "C.4 Function calling sequence example",
  ],
  Indirection: [
    "The Basics of LLMs and Function Calls",
    "How Function Calls Work",
    "Issues with OpenAI Function Calls",
    "Thinking silently",
    "Inflexible",
    "Tool aversion",
    "Computational overconfidence",
    "Alignment-based resistance",
    "Ignoring function results",
    "Adding a Level of Indirection",
    "And Another Indirection",
    "Concluding Thoughts",
  ],
  Butterfly: [
    "1 Introduction",
    "3 Failure taxonomy construction",
    "4 Methodology",
    "4.1 Tool document perturbation",
    "4.2 User query perturbation",
    "4.3 Tool return perturbation",
    "5 Experiment",
    "5.1 Data preprocessing",
    "5.2 Setting",
    "6 Results",
    "6.1 Result on tool document perturbation",
    "6.2 Result on user query perturbation",
    "6.3 Result on tool return perturbation",
    "7 Conclusion",
    "Limitations",
    "A.1 Transfer effect between parameter failure",
    "A.2 Ineffective perturbation analysis",
    "A.3 Perturbation methods details",
    "A.3.1 Details of tool document perturbation methods",
    "A.3.2 Details of user query perturbation methods",
    "A.3.3 Details of tool return perturbation methods",
    "A.4 Parameter failure cases",
  ],
  CallNavi: [
    "1 Introduction",
    "4 CallNavi dataset",
    "4.1 Dataset",
    "5 Metrics and evaluation",
    "5.1 API parameters AST match",
    "5.2 LLM-as-a-judge evaluation",
    "5.3 Stability score",
    "6 Experiments and benchmark",
    "6.1 Models",
    "6.2 Environment",
    "6.3 Pipeline",
    "6.4 Benchmarks results",
    "6.4.1 Stability test",
    "7 Zero shot improvement",
    "7.1 Calling + parameters asynchronous generation",
    "7.2 Backward inference thinking",
    "8 Discussion and conclusion",
    "Limitations",
    "B.1 Model prediction",
    "B.2 LLM-as-judge",
    "B.3 Backward thinking",
    "C.1 Hallucination",
    "C.2 JSON generation",
    "D Stability research",
    "E.1 Hard question example",
    "E.2 Medium question example",
    "E.3 Analysis of model challenges",
    "E.4 Impact of JSON and YAML on model performance",
    "F.1 Hallucination",
    "F.2 Unexpected formatting",
    "F.3 Logical errors in hard questions",
    "F.4 Summary of error types",
  ],
  Pipeline: [
    "Function Calling Architecture",
    "Structured Output for Tool Invocation",
    "Function Calling Format Comparison",
    "Training Data for Tool Use",
    "Constructing Tool Call Datasets",
    "Parallel and Nested Tool Calls",
    "Advanced Call Patterns",
    "Error Handling and Retry Logic",
    "Robust Tool Execution",
    "Tool Call Success Rate by Error Handling Strategy",
    "Benchmarking Tool Use",
    "Evaluation Framework",
    "Tool Use Benchmark Results",
    "Key Takeaways",
  ],
};

/** What a section is called by: its number, else its title. */
function idOf(section: string): string {
  return /^[0-9A-F](\.\d)*(?= )/.exec(section)?.[0] ?? section;
}

/** A section of a source. */
export interface Section {
  readonly source: string;
  readonly section: string;
}

/** What a test shows. */
export interface Shown {
  /** Its name without the brackets. */
  readonly statement: string;
  readonly of: readonly Section[];
}

/** Tests of data that are not there say so behind their names. */
const IGNORED = / \(ignored: [^()]*\)$/;
/** Brackets that name a source, whether or not there is such a one: a word, and what is a section. */
const NAMED =
  /\((?<word>[A-Z]\w+),? (?:[0-9A-F](?:\.\d)*|[A-Z][\w-]+(?: [\w-]+)*)(?:[,;][^()]*)?\)/;

/**
 * Reads source and section from the name of a test: `... (FuncBenchGen 3.2, B.2; Indirection, Inflexible)`.
 * Returns `undefined` for a name without them; throws where they cannot be read.
 */
export function shownBy(name: string): Shown | undefined {
  const whole = name.replace(IGNORED, "");
  const wrong = (what: string) =>
    new Error(
      `Cannot list the test ${JSON.stringify(whole)} as ${what}; ` +
        "tests/support/fidelity.ts has the sources with their sections",
    );
  const at = /\((?=(\w+))[^()]*\)$/.exec(whole);
  const sources = Object.keys(SOURCES);
  if (at === null || !sources.includes(at[1]!)) {
    const elsewhere = sources.find((source) => whole.includes(`(${source}`));
    if (elsewhere !== undefined) throw wrong(`the brackets with ${elsewhere} must end its name`);
    const unknown = at === null ? null : NAMED.exec(at[0]);
    if (unknown !== null) throw wrong(`there is no source ${unknown.groups!["word"]}`);
    return undefined;
  }
  const of: Section[] = [];
  let source = "";
  for (const part of at[0].slice(1, -1).split(/[,;] */)) {
    const named = sources.find((one) => part === one || part.startsWith(`${one} `));
    source = named ?? source;
    const section = named === undefined ? part : part.slice(named.length + 1);
    // "Indirection, Inflexible": the section is the next part.
    if (section === "" && named !== undefined) continue;
    const id = SOURCES[source]!.map(idOf)
      .find((one) => one.toLowerCase() === section.toLowerCase());
    if (id === undefined) throw wrong(`${source} has no section "${section}"`);
    of.push({ source, section: id });
  }
  if (sources.some((one) => at[0].includes(one) && !of.some((each) => each.source === one))) {
    throw wrong("each source must have a section");
  }
  return { statement: whole.slice(0, at.index).trimEnd(), of };
}

/** The list of what holds: by source and section, then by file. Throws where a name cannot be read. */
export function listShown(names: ReadonlyMap<string, readonly string[]>): string {
  const shown = [...names].flatMap(([file, all]) =>
    [...new Set(all)].flatMap((name) => {
      const read = shownBy(name);
      return read === undefined ? [] : [{ file, ...read }];
    })
  );
  const lines: string[] = [];
  for (const [source, sections] of Object.entries(SOURCES)) {
    const inSource = shown.filter(({ of }) => of.some((one) => one.source === source));
    if (inSource.length === 0) continue;
    lines.push(`## ${source}`, "");
    for (const section of sections) {
      const here = inSource.filter(({ of }) =>
        of.some((one) => one.source === source && one.section === idOf(section))
      );
      if (here.length === 0) continue;
      lines.push(`**${section}**`, "");
      for (const [file, tests] of Map.groupBy(here, (one) => one.file)) {
        lines.push(`- \`${file}\``);
        lines.push(...tests.map(({ statement }) => `  - ${escaped(statement)}`));
      }
      lines.push("");
    }
  }
  return lines.join("\n").trimEnd();
}

/** A text that Markdown shows as it is. */
function escaped(text: string): string {
  return text.replaceAll(/[\\`*[\]<]/g, "\\$&");
}

/** The files of tests in which a name may name a source. */
export function filesNamingSources(): string[] {
  const quoted = new RegExp(`${NAMED.source}["\`]`);
  return TEST_FILES.filter((path) => quoted.test(Deno.readTextFileSync(`${ROOT}/${path}`)));
}

/** What the names of all tests say that holds, as Markdown. */
export async function whatHolds(): Promise<string> {
  return listShown(await testNames(filesNamingSources()));
}
