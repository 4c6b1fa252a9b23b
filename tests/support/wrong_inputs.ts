/**
 * Wrong inputs as users make them, in a project of their own: the message for each, and its exit code.
 */

import { z } from "zod";
import * as toolgateModule from "../../mod.ts";
import { deno, type Folder, folder, ROOT } from "./child.ts";
import { rechained } from "./journals.ts";
import { CollectedTests } from "./collected.ts";
import { toolgate, toolgates } from "./command_line.ts";

/** A wrong input. */
export interface Wrong {
  /** What is wrong. */
  readonly what: string;
  /** The arguments of toolgate, or the text of a test file behind its opening. */
  readonly line?: string;
  readonly test?: string;
  /** The flags behind `--` of `deno test`. */
  readonly flags?: readonly string[];
  /** The permissions; default: all. */
  readonly permissions?: readonly string[];
  /** The variables of the environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** The essential words of the message. */
  readonly says: RegExp;
  /** Lines that a run begins with, before it learns that it cannot go on; default: 0. */
  readonly notes?: number;
  /** The exit code; default: 2 of commands, 1 of `deno test`. */
  readonly code?: number;
}

/** What a wrong input came to. */
export interface Told {
  /** The message, without the lines that Deno puts around it. */
  readonly message: string;
  /** The frames of a stack. */
  readonly frames: readonly string[];
  readonly code: number;
  /** How often it is said. */
  readonly times: number;
  /** All that was printed. */
  readonly all: string;
}

/** How test files begin, behind their imports. */
const OPENING = `
const { assertCalled, benchmark, grid, openai, scripted, tool, toolTest } = toolgate;
const parameters = z.object({ a: z.number() });
const add = { name: "add", description: "Adds", parameters, returns: 3 };
const ask = (more) =>
  toolTest("mine", { model: "sim:planner", tools: [tool(add)], prompt: "Add 1 to 2", assert() {}, ...more });
const bench = (more) =>
  benchmark("mine", { model: "sim:planner", tasks: grid({ core: 3, depth: 1 }), seed: 1, graphs: 2, ...more });
const asking = (baseURL) =>
  bench({ requestTimeout: 20_000, retries: 0, graphs: 1, model: { model: "m", baseURL } });
`;
const PRELUDE = `// @ts-nocheck: a user may write no types.
import * as toolgate from "@toolgate/toolgate";
import { z } from "zod";
${OPENING}`;

const command = (what: string, line: string, says: RegExp, more: Partial<Wrong> = {}): Wrong => ({
  ...{ what, line, says },
  ...more,
});
const file = (what: string, test: string, says: RegExp, more: Partial<Wrong> = {}): Wrong => ({
  ...{ what, test, says },
  ...more,
});
const flag = (what: string, given: string, says: RegExp): Wrong =>
  file(what, "bench();", says, { flags: given.split(" ") });

const KEY = { OPENAI_API_KEY: "k" };
const READ = ["--allow-read"];
const READ_NET = ["--allow-read", "--allow-net"];

/** The wrong inputs, by what they are. `$name` is the address of a server, `$dir` the folder of the project. */
// deno-fmt-ignore: one line for each.
export const WRONG_INPUTS: Readonly<Record<string, readonly Wrong[]>> = {
  options: [
    file("an option misspelt", "bench({ graph: 2 });", /benchmark mine:\n {2}at the top: Unrecognized key: "graph"; did you mean graphs\?/),
    file("an option of tool tests", "bench({ trials: 2 });", /Unrecognized key: "trials"/),
    file("an option of models", "bench({ temperature: 1 });", /it belongs to the model, as in model: \{/),
    file("no model", "bench({ model: undefined });", /at model: it is missing: results have its name, and sim:planner needs no key/),
    file("no models", "bench({ model: [] });", /at model: must not be empty/),
    file("a number for a model", "bench({ model: 5 });", /at model: expected string or object or array, received number/),
    file("nothing for a model", "bench({ model: [null] });", /at model\[0\]: expected string or object, received null/),
    file("a function for a model", "bench({ model: () => 1 });", /at model: expected string or object or array, received function$/),
    file("a model that cannot reply", 'bench({ model: { name: "m", simulated: true, reply: 5 } });', /at model\.reply: must be a function: it is 5/),
    file("openai() of nothing", "bench({ model: openai() });", /the options of openai\(\):\s+at the top: it is missing: expected object/),
    file("a number for an address", 'bench({ model: openai({ model: "m", baseURL: 5 }) });', /at baseURL: expected string, received number/),
    file("no name for a model", 'bench({ model: "" });', /at model: must not be empty/),
    file("no such simulated model", 'bench({ model: "sim:plannr" });', /must be sim:planner.*it is sim:plannr/),
    file("no such rate of one", 'bench({ model: "sim:noisy?stal=1" });', /options of sim:noisy are .*it is sim:noisy\?stal=1/),
    file("graphs that are no number", "bench({ graphs: NaN });", /at graphs: .*expected number/),
    file("far too many graphs", "bench({ graphs: 1e9 });", /at most \d+ trials: it has 1000000000/),
    file("no tasks", "bench({ tasks: undefined });", /at tasks: it is missing: expected object or array/),
    file("a task that is none", 'bench({ tasks: ["x"] });', /at tasks\[0\]: expected object, received string/),
    file("a depth that no core has", "bench({ tasks: grid({ core: 3, depth: 5 }) });", /core must be at least 1 and depth from 1 to core - 1/),
    file("a grid of nothing", "bench({ tasks: grid() });", /make a grid as it must have sizes, such as/),
    file("a core of a trillion", "bench({ tasks: grid({ core: 1e12, depth: 5 }) });", /core must be at most 5000: it is 1000000000000/),
    file("a misspelt seed", 'bench({ seed: "fresch" });', /at seed: must be a whole number from 0 on, or "fresh"/),
    file("a sequential gate with graphs", "bench({ gate: { successRate: 0.8, sequential: true } });", /sets the number of graphs itself: graphs is 2; leave it out/),
    file("a baseline that is not there", 'bench({ gate: { baseline: { file: "no.json" } } });', /there is no baseline \/\S+no\.json: keep a run of what is in use now with --out/),
    file("a baseline of other graphs", 'bench({ gate: { baseline: { file: "$dir/other.jsonl" } } });', /both must be of the same graphs: they differ in seed/),
    file("a strategy that is no list", 'bench({ strategies: "restate" });', /at strategies: .*expected array, received string/),
    file("null for the models of a strategy", 'bench({ strategies: [{ strategy: "plan_then_call", models: null }] });', /at strategies\[0\]\.models: .*expected record, received null/),
    file("a budget without prices", "bench({ budget: { usd: 1 } });", /cost of model sim:planner as the price table must have it/),
    file("no concurrency", "bench({ concurrency: 0 });", /at concurrency: must be a whole number from 1 on: it is 0/),
    file("many wrong values", 'bench({ graphs: -1, repetitions: 0, limits: { calls: 0 }, perturbations: ["A", "B"] });', /at perturbations\[0\][^]*; and 3 more$/),
    file("a journal without a name", 'bench({ journal: "" });', /at journal: must not be empty/),
    file("a journal that is a folder", 'bench({ journal: "$dir/folder" });', /journal folder: it is a folder/),
    file("a report in place of a journal", 'bench({ report: "a.jsonl" });', /to a\.jsonl as that is a name for journals/),
    file("a report named twice", 'bench({ report: ["a.html", "./a.html"] });', /each file can be written only once: it is named twice/),
    file("requireGate without a gate", "bench({ requireGate: true });", /requireGate needs a gate/),
    file("an agent that is no function", 'bench({ agent: "me" });', /at agent: must be a function or a program such as .*: it is "me"/),
    file("nothing for the limits of an agent", "bench({ agent() {}, limits: null });", /at limits: .*expected object, received null/),
    file("a benchmark within a test", 'Deno.test("t", () => bench());', /register benchmark\("mine"\) as it must be called while its file is loaded: a test is running/),
    file("no options", 'benchmark("mine");', /benchmark mine:\n {2}at the top: it is missing: expected object/),
    file("no name", "benchmark({ seed: 1 });", /name of a benchmark:\n {2}at the top: must be a text of 1 to 200 characters/),
    file("a journal for two", 'benchmark("one", { model: "sim:planner", tasks: grid({ core: 2, depth: 1 }), seed: 1, graphs: 1, journal: "$dir/both.jsonl" });\nbench({ journal: "$dir/both.jsonl" });', /a file belongs to one suite or benchmark: one has it/),
  ],
  tools: [
    file("a test without a model", "ask({ model: undefined });", /tool test mine:\n {2}at model: it is missing/),
    file("a test without tools", "ask({ tools: undefined });", /at tools: it is missing: it must be a list of tools, or a function that makes it/),
    file("a tool in place of a list", "ask({ tools: tool(add) });", /at tools: must be a list of tools/),
    file("a tool that was not made", 'ask({ tools: [{ name: "add" }] });', /each must have a description: number 1, add, has none/),
    file("two tools of one name", "ask({ tools: [tool(add), tool(add)] });", /names must be distinct: add is there twice/),
    file("a test without assert", "ask({ assert: undefined });", /at assert: it is missing: a test must have assert, reference or communicate/),
    file("a reference without state", "ask({ reference: { calls: [] } });", /at reference: must have state beside it, on which its calls are carried out: there is none/),
    file("a reference call of another tool", 'ask({ state: () => [], reference: { calls: [{ tool: "sub" }] } });', /Cannot use reference as it must name existing tools: there is no tool sub, but add/),
    file("a reference call without JSON", 'ask({ state: () => [], reference: { calls: [{ tool: "add", arguments: { x: new Map() } }] } });', /at reference.calls\[0\].arguments: must be a JSON object/),
    file("nothing to communicate", 'ask({ communicate: ["3", ["**"]] });', /at communicate: must be a list of texts with a word or a number, or lists of them/),
    file("a prompt that is empty", 'ask({ prompt: "" });', /at prompt: must be a text that is not empty, or a function that makes it: it is ""/),
    file("an option of benchmarks", 'ask({ models: ["m"] });', /here it is called model/),
    file("no trials", "ask({ trials: 0 });", /at trials: must be a whole number from 1 on: it is 0/),
    file("an expected call of another tool", 'ask({ expected: [{ tool: "sub" }] });', /must name existing tools: there is no tool sub, but add/),
    file("no such tool choice", 'ask({ toolChoice: "all" });', /at toolChoice: must be auto, none, required/),
    file("no such fault", 'ask({ perturbation: "timeot" });', /at perturbation: .*timeot/),
    file("a test without options", 'toolTest("mine");', /tool test mine:\n {2}at model: it is missing/),
    file("a tool without options", "tool();", /make a tool as it must have options/),
    file("a tool without a name", "tool({ ...add, name: undefined });", /at name: it is missing: it must be 1 to 64 letters, digits, _ and -/),
    file("a name with spaces", 'tool({ ...add, name: "add two" });', /at name: must be .*it is "add two"/),
    file("a tool without parameters", "tool({ ...add, parameters: undefined });", /or JSON Schemas: parameters are missing/),
    file("properties in place of an object", "tool({ ...add, parameters: { a: z.number() } });", /they are single schemas; put z\.object\(\{ \.\.\. \}\) around them/),
    file("a zod schema without JSON", "tool({ ...add, parameters: z.object({ a: z.date() }) });", /must be one that JSON Schema can express: Date cannot/),
    file("no JSON Schema", 'tool({ ...add, parameters: { properties: { a: { type: "int" } } } });', /its parameters must be a JSON Schema: .*properties\/a\/type/),
    file("a tool that does nothing", "tool({ ...add, returns: undefined, execute: 3 });", /at execute: expected function, received number/),
    file("an option of tools misspelt", "tool({ ...add, excute() {} });", /Unrecognized key: "excute"; did you mean execute\?/),
    file("a script that is missing", 'scripted("script");', /script of a model: at the top: it is missing: expected function or array/),
    file("a script of other things", 'scripted("script", [{ tool: "add" }]);', /at \[0\]: Unrecognized key: "tool"/),
    file("a number for a judge", "toolgate.judge({ model: 5 });", /at model: expected string or object, received number/),
  ],
  flags: [
    flag("a seed that is no number", "--seed=abc", /--seed must be a whole number from 0 on, or fresh: it is abc/),
    flag("a journal that exists", "--out=$dir/good.jsonl", /there is such a file already: continue it with --resume/),
    flag("a journal of another plan", "--resume --out=$dir/other.jsonl", /Cannot resume other\.jsonl as it must/),
    flag("a baseline as a journal", "--resume --out=$dir/baseline.json", /line 1 is not JSON: it is the record of a run, and no journal/),
    flag("two modes of recordings", "--record=$dir/recs --replay=$dir/recs", /models are either recorded or replayed: give one/),
    file("a verdict over a suite", "bench({ gate: { successRate: 0.1 } });", /write the verdicts to suite\.jsonc as only a file of verdicts may be replaced: another file is there/, { flags: ["--verdict=$dir/suite.jsonc"] }),
    flag("a story of no length", "--story=long", /--story must be one of brief, full: it is long/),
    file("an id of a strategy that there is not", "bench();", /^Cannot run --only=core=3 .* as nothing in this file has its task/, { flags: ["--only=core=3 depth=1 connected=0 disconnected=0 seed=1 model=sim:planner strategy=wishful perturbation=none repetition=1"] }),
    flag("a verdict without a gate", "--verdict=$dir/v.json", /--verdict needs a gate/),
  ],
  commands: [
    command("no such command", "rum suite.jsonc", /there is no command rum; did you mean run\?/),
    command("an option misspelt", "run suite.jsonc --ouut a.jsonl", /there is no option --ouut; did you mean --out\?/),
    command("a value of a switch", "run suite.jsonc --serve=8080", /--serve takes no value: it is given 8080/),
    command("no value", "run suite.jsonc --out", /--out needs a value/),
    command("a negative seed", "run suite.jsonc --seed -1", /--seed must be a whole number from 0 on, or fresh: it is -1/),
    command("prices that are not there", "run suite.jsonc --prices no.jsonc", /Cannot read no\.jsonc: there is no such file/),
    command("prices of another form", "run suite.jsonc --prices prices.jsonc", /prices\.jsonc:\n.*Unrecognized key: "in"/),
    command("a temperature that none takes", "run suite.jsonc --temperature 5", /--temperature must be a number from 0 to 2/),
    command("no such simulated model", "run suite.jsonc --model sim:nope", /^Cannot use the simulated model .*it is sim:nope/),
    command("a rate in percent", "gate good.jsonl --success-rate 80", /at successRate: must be at most 1: it is 80/),
    command("two gates", "gate good.jsonl --success-rate 0.8 --baseline baseline.json", /--success-rate cannot be used with --baseline: they are two gates/),
    command("a gate that nobody declared", "gate other.jsonl", /the plan declares no gate, so --success-rate, --baseline or --history is needed/),
    command("a page over a journal", "report good.jsonl --html good.jsonl", /--html must not be named like a journal, a suite or a baseline/),
    command("a page over a suite", "report good.jsonl --html suite.jsonc", /--html must not be named like a journal, a suite or a baseline: it is suite\.jsonc/),
    command("data over a baseline", "report good.jsonl --json baseline.json", /write the report to baseline\.json as only another such report may be replaced: another file is there/),
    command("a page over a folder", "report good.jsonl --html folder", /folder: it is a folder/),
    command("a baseline over a suite", "accept good.jsonl --out suite.jsonc", /only a baseline may be replaced: another file is there/),
    command("no such gate", "selfcheck good.jsonl --gate foo", /--gate must be one of rate, upgrade: it is foo/),
    command("a fault without a number", "run suite.jsonc --perturbation timeout:none", /a whole number from 1 to 99, such as timeout:2: timeout:none/),
    command("a fault, which is of no file", "perturb --method timeout tool.json", /--method must be one of RD, /),
    command("no such method", "perturb --method XX tool.json", /--method must be one of RD, .*it is XX/),
    command("a query in place of a tool", "perturb --method RD query.json", /which changes a tool document:[^]*Unrecognized key: "query"/),
    command("no such score", "score callnav", /there is no command score callnav; did you mean score callnavi\?/),
    command("no form of an export", "export good.jsonl", /--format openai-chat or hermes is needed/),
    command("an export over a file", "export good.jsonl --format hermes --out suite.jsonc", /there must be no such file yet/),
    command("a depth that no core has", "generate --core 3 --depth 5", /depth must be below core: depth is 5, core is 3/),
    command("a core that takes minutes", "generate --core 50000 --depth 3", /core must be at most 5000: it is 50000/),
    command("an id of no trial", "generate --trial core=1", /--trial must be an id that journals have: it is core=1/),
    command("a project without a name", "init ", /no argument may be empty: one is/),
    command("a port that none is", "simulate --port 70000", /--port must be a whole number from 0 to 65535: it is 70000/),
    command("a port in use", "simulate --port $port", /Cannot serve on port \d+: Address already in use/),
    command("a name that objects have", "constructor", /there is no command constructor \(see /),
    command("help for no such command", "help repotr", /there is no command repotr; did you mean report\?/),
    command("an option in front", "--out=x run", /a command must come before the option --out/),
    command("an option like no other", "accept --zzz x", /there is no option --zzz; there are --out, --to, --name, --anchor, --prices, --unchecked \(see/),
    command("an option twice", "generate --core 3 --core 4 --depth 1", /--core is given twice/),
    command("no sizes of a task", "generate", /--core is needed/),
    command("inputs that are no range", "generate --core 3 --depth 1 --inputs 3", /--inputs must be A\.\.B.*: it is 3/),
    command("a file that nobody reads", "generate file --core 3 --depth 1", /it takes no file: file is given/),
    command("two suites", "run suite.jsonc other.jsonc", /it takes one suite file: 2 are given/),
    command("no time for a request", "run suite.jsonc --request-timeout 0", /--request-timeout must be a number above 0: it is 0/),
    command("no such strategy", "run suite.jsonc --strategy wishful", /strateg.*must be one of plain, .*: it is wishful/),
    command("no such API", "run suite.jsonc --api smoke", /--api must be one of chat, responses, react, xml, hermes: it is smoke/),
    command("no such effort", "run suite.jsonc --reasoning-effort hard", /--reasoning-effort must be one of none, minimal, low, medium, high, xhigh, max: it is hard/),
    command("no such shard", "run suite.jsonc --shard 4/3", /Cannot use shard 4\/3 as it must be I\/N/),
    command("a shard of fresh tasks", "run fresh.jsonc --shard 1/2", /add --seed/),
    command("nothing to resume", "run suite.jsonc --resume", /--resume needs --out/),
    command("nothing to retry", "run suite.jsonc --out new.jsonl --retry-invalid", /--retry-invalid needs --resume/),
    command("one trial into a journal", "run suite.jsonc --only core=1 --out new.jsonl", /--only cannot be used with --out/),
    command("one trial to go on with", "run suite.jsonc --only core=1 --resume", /--only cannot be used with --resume/),
    command("one trial of a shard", "run suite.jsonc --only core=1 --shard 1/2", /--only cannot be used with --shard/),
    command("one trial of a wave", "run suite.jsonc --only core=1 --wave 1", /--only cannot be used with --wave/),
    command("a journal's trial of another model", "run good.jsonl --only core=1 --model m", /a journal cannot be used with --model, /),
    command("a wave of a gate of fixed size", "run suite.jsonc --wave 1 --out new.jsonl", /--wave needs a sequential gate: it has none/),
    command("a wave without a journal", "run fresh.jsonc --seed 1 --wave 1", /--wave needs --out=FILE, in the folder that has the journals of all waves/),
    command("a wave of fresh tasks", "run fresh.jsonc --wave 1 --out new.jsonl", /all waves need the same seed and it is "fresh": add --seed=N/),
    command("no journal", "gate", /it takes a journal, or a folder with those of one run: none is given/),
    command("three gates", "gate good.jsonl --history x --success-rate 0.5", /--success-rate cannot be used with --history: they are two gates/),
    command("a history and a baseline", "gate good.jsonl --history x --baseline y", /--history cannot be used with --baseline: they are two gates/),
    command("a history that is not there", "gate good.jsonl --history nowhere", /Cannot read the folder nowhere: there is no such file or folder/),
    command("nothing to accept", "accept", /it takes a journal or a folder, or --anchor: none is given/),
    command("a release without a name", "accept good.jsonl --to x", /--to needs --name: the name of the release/),
    command("a name without a history", "accept good.jsonl --name v1", /--name needs --to: the history's folder/),
    command("a release in a file", "accept good.jsonl --to x --name v1 --out b.json", /--out cannot be used with --to/),
    command("an anchor that is no release", "accept --to x --name v1 --anchor", /a release in the folder x: there is no v1/),
    command("a record for no history", "history add good.jsonl", /--to is needed: the folder of the history/),
    command("a file for a history", "history add good.jsonl --to other.jsonc", /other\.jsonc/),
    command("nothing of a history", "history", /the command must be history add or history show: it is history /),
    command("no history to show", "history show", /it takes the folder of a history, or several: none is given/),
    command("a history of nothing", "history show folder", /Cannot use the history folder as it must have a record: there is none/),
    command("no history to watch", "canary", /it takes the folder of a history, or several: none is given/),
    command("a drop above all", "canary folder --drop 2", /at drop/),
    command("a plan for a rate in percent", "plan --rate 80", /at successRate: must be at most 1: it is 80/),
    command("a plan without a margin", "plan --margin 0", /at margin: a sequential gate needs a margin above 0/),
    command("a margin that takes too long", "plan --margin 0.0001", /Cannot run toolgate plan: .* at most 10000000 trials/),
    command("a block beside a suite", "plan suite.jsonc --block 5", /--block cannot be used with a file: the suite file says what its gate is/),
    command("nothing to check a gate with", "selfcheck", /it takes a suite file, or one journal or more: none is given/),
    command("a check of replays", "selfcheck suite.jsonc --replay kept", /selfcheck: .*--replay/),
    command("a margin above all", "selfcheck good.jsonl --margin 2", /at margin: must be below 1: it is 2/),
    command("no journal to report on", "report", /it takes one journal or more: none is given/),
    command("data over what is read", "report journal.txt --json ./journal.txt", /--json must not be a file that is read/),
    command("no such form of an export", "export good.jsonl --format alpaca", /--format must be one of openai-chat, hermes: it is alpaca/),
    command("an export of failures", "export good.jsonl --format hermes --only failed", /--only must be one of solved: it is failed/),
    command("an export of no such set", "export good.jsonl --format hermes --set no.jsonc", /there is no such file or folder/),
    command("no method", "perturb query.json", /--method is needed/),
    command("a method that changes nothing", "perturb --method none query.json", /--method must be one of RD, .*: it is none/),
    command("a method twice", "perturb --method CP+CP query.json", /must not name a perturbation twice: CP/),
    command("methods of two sources", "perturb --method CP+FK query.json", /methods of one source: it has one of a user's query, and one of a tool's/),
    command("a tool in place of a query", "perturb --method CP tool.json", /tool\.json by CP, which changes a user's query:\n {2}at the top: /),
    command("two documents", "perturb --method CP query.json tool.json", /it takes one file: 2 are given/),
    command("a writer of nothing", "perturb --method RP_F query.json --writer m", /--writer needs the method CP or AN/),
    command("a score of nothing", "score", /the command must be score callnavi or score bfcl or score stability or score traces: it is s/),
    command("a score like no other", "score tau", /there is no command score tau; there are score callnavi, score bfcl/),
    command("no predictions", "score callnavi set.jsonc", /it takes a call set and a file of predictions: 1 are given/),
    command("no such rule", "score callnavi set.jsonc predictions.jsonl --rule lax", /--rule must be one of published, strict: it is lax/),
    command("no such mode", "score callnavi set.jsonc predictions.jsonl --mode tools", /--mode must be one of parameters, routing: it is tools/),
    command("no outputs", "score stability", /it takes one file: none is given/),
    command("predictions in place of outputs", "score stability predictions.jsonl", /predictions\.jsonl, line 1:\n {2}at outputs: .*expected array/),
  ],
  suites: [
    command("no such file", "run no.jsonc", /Cannot read no\.jsonc: there is no such file or folder/),
    command("a folder", "run folder", /Cannot read folder: it is a folder/),
    command("an empty file", "run empty.jsonc", /empty\.jsonc: it is not JSON with comments: .*unexpected end/),
    command("no JSON", "run words.jsonc", /words\.jsonc: it is not JSON with comments: .*line 2, column 3/),
    command("keys of code", "run keys.jsonc", /Unrecognized keys: "graph", "perturbation"; did you mean graphs and perturbations\?/),
    command("no such simulated model", "run model.jsonc", /^Cannot use the simulated model .*it is sim:plannr/),
    command("tasks of another form", "run tasks.jsonc", /Unrecognized key: "deep".*\n.*expected number or array, received string; and 1 more/),
    command("a call set that is not there", "run set_missing.jsonc", /Cannot read no_set\.jsonc: there is no such file/),
    command("a call set of another form", "run set_wrong.jsonc", /wrong_set\.jsonc:\n.*at functions: must have a domain[^]*at questions: must not be empty/),
    command("another version", "run version.jsonc", /it is of version 2 of the format, and this toolgate reads 1/),
    command("functions without end", "run large.jsonc", /at tasks\[0\]: connected must be at most 5000: it is 6000/),
    command("too many functions together", "run many.jsonc", /core, connected and disconnected together must be at most 5000: they are 8000/),
    command("outputs without end", "run outputs.jsonc", /inputs and outputs of all functions must be at most 20000: they are 900018/),
    command("UTF-16", "run utf16.jsonc", /utf16\.jsonc as its text must be UTF-8: it is UTF-16/),
    command("a journal", "run good.jsonl", /a journal is run with --only ID, and a suite as a whole/),
    command("a page", "run page.html", /page\.html: it is not JSON with comments/),
    command("a baseline", "run baseline.json", /baseline\.json: it is a record, and another kind of file is needed/),
  ],
  keys: [
    command("an empty one", "run suite.jsonc --model gpt-5", /OPENAI_API_KEY is not set/, { env: { OPENAI_API_KEY: " " } }),
    command("none", "run suite.jsonc --model gpt-5", /^Cannot ask gpt-5 as OpenAI requires a key: OPENAI_API_KEY is not set/),
    command("with a line break", "run suite.jsonc --model gpt-5", /API key of OPENAI_API_KEY to gpt-5 as HTTP does not allow .*line breaks/, { env: { OPENAI_API_KEY: "sk-a\nb" } }),
    file("in the code", 'bench({ apiKey: "sk-a" });', /keys are not written here; apiKeyVariable of a model names/),
    command("in a suite that is none", "run broken_key.jsonc", /JSON with comments: Cannot parse JSONC: unexpected token in JSONC at line 1, column 13$/),
    command("in the suite", "run key.jsonc", /keys are not written here; apiKeyVariable of a model names/),
    command("on the command line", "run suite.jsonc --api-key sk-a", /keys are never given on a command line/),
    command("in the address", "run suite.jsonc --base-url http://127.0.0.1/v1?key=k", /must have no user name, password or query/),
  ],
  servers: [
    file("nothing listens", 'asking("$gone");', /nothing listens at 127\.0\.0\.1:\d+: start the server/),
    file("a key that it refuses", 'asking("$unauthorized");', /the server refuses the key.*401/),
    file("a page for 404", 'asking("$page404");', /the server knows no such address: check http:\/\/127/),
    file("no /v1 in its address", 'asking("$root");', /most end with \/v1, which is missing from/),
    file("nothing but 500", 'asking("$fails");', /Cannot get a reply of m at 127\.0\.0\.1:\d+: 500 oops/),
    file("a page in place of JSON", 'asking("$page");', /it is a page \(HTML\): is this the address of the API/),
    file("another place", 'asking("$redirects");', /redirects, and questions and keys go nowhere else/),
    file("no TLS", 'asking("$tls");', /does not speak TLS: is it http:\/\/ there/),
    file("silence", 'bench({ requestTimeout: 300, graphs: 1, model: { model: "m", baseURL: "$hangs" } });', /no whole reply came within 0\.3 seconds/),
    file("no address", 'asking("localhost:8000");', /at model\.baseURL: must be an http or https URL/),
    command("nothing listens", "run other.jsonc --model m --retries 0 --base-url $gone", /nothing listens at/, { code: 3, notes: 2 }),
    command("a page in place of JSON", "run other.jsonc --model m --retries 0 --base-url $page", /it is a page \(HTML\)/, { env: KEY, notes: 2 }),
    command("another place", "run other.jsonc --model m --retries 0 --base-url $redirects", /redirects, and/, { env: KEY, notes: 2 }),
    command("no TLS", "run other.jsonc --model m --retries 0 --base-url $tls", /does not speak TLS/, { env: KEY, notes: 2 }),
    command("no address", "run suite.jsonc --model m --base-url localhost:8000", /--base-url must be an http or https URL/),
  ],
  journals: [
    command("no such file", "gate no.jsonl", /Cannot read no\.jsonl: there is no such file or folder/),
    command("an empty file", "gate empty.jsonl", /empty\.jsonl/, { code: 3 }),
    command("an empty one to accept", "accept empty.jsonl", /Cannot use .*empty\.jsonl as the first line of a journal must be its plan: there is none, as its run died/),
    command("a folder without any", "gate folder --success-rate 0.5", /the folder .*folder has no journals, whose names end/),
    command("nothing but a plan", "gate plan.jsonl", /INVALID: there are no trials in plan\.jsonl/, { code: 3 }),
    command("two in one file", "gate mixed.jsonl", /INVALID: .*mixed\.jsonl, line 5 as the checksum of a line must follow/, { code: 3 }),
    command("two of them", "accept good.jsonl other.jsonl", /it takes a journal, or a folder with those of one run: 2 are given/),
    command("a shard alone", "gate shard.jsonl", /shards are missing: 2\/2\.[^]*Give the folder with the journals of all/, { code: 3 }),
    command("an outcome changed", "gate edited.jsonl", /INVALID: .*edited\.jsonl, line 2 as the checksum of a line must follow/, { code: 3 }),
    command("an outcome changed with its checksums", "gate unlike.jsonl", /unlike\.jsonl, line 2:\n.*solved must be true exactly when/),
    command("of another version", "gate other_version.jsonl", /other_version\.jsonl, line 1: it is of version 9 of the format, and this toolgate reads 1$/m),
    command("a broken line", "gate broken.jsonl", /^INVALID: Cannot use broken\.jsonl: line 2 is not JSON\.$/, { code: 3 }),
    command("no name", "gate ", /toolgate gate: no argument may be empty: one is/),
    command("no plan", "gate no_plan.jsonl", /no_plan\.jsonl, line 1 as the first line of a journal must be its plan: it is none/),
    command("bytes", "gate bytes.jsonl", /bytes\.jsonl: line 1 is not JSON: it is no text/),
    command("UTF-16", "gate utf16.jsonl", /line 1 is not JSON: it is UTF-16, and a journal is UTF-8/),
    command("a baseline", "gate baseline.json", /line 1 is not JSON: it is the record of a run, and no journal/),
    command("a page", "report page.html", /line 2 is not JSON: it is a page \(HTML\), and no journal/),
    command("a suite", "gate suite.jsonc", /line 1 is not JSON: it is a suite, and no journal/),
    command("a file in place of a folder", "run suite.jsonc --out good.jsonl/a.jsonl", /a part of its path is no folder/),
    command("an existing one", "run suite.jsonc --out good.jsonl", /^Cannot begin the journal good\.jsonl as there is such a file already/),
    command("another plan", "run other.jsonc --out good.jsonl --resume", /must be of the same plan: it differs in suite, seed/),
    command("a page to go on with", "run suite.jsonc --out page.html --resume", /it is a page \(HTML\), and no journal/),
    command("a baseline that is not there", "gate other.jsonl --baseline no.json", /Cannot read no\.json|there is no baseline \S+no\.json/),
  ],
  recordings: [
    command("no such folder", "run suite.jsonc --replay no", /^Cannot replay from no as it must be a folder of recordings: there is no such/),
    command("a file to go on with", "run suite.jsonc --auto suite.jsonc", /^Cannot replay from suite\.jsonc as it must be a folder of recordings: it is a file$/),
    command("an empty folder", "run suite.jsonc --replay folder", /^Cannot replay from folder as it must have recordings: it is empty/),
    command("a file", "run suite.jsonc --record good.jsonl", /record in good\.jsonl as a folder must be writable/),
    command("two modes", "run suite.jsonc --replay recs --record recs", /Cannot use --record and --replay together/),
    command("fresh tasks", "run fresh.jsonc --replay recs", /its seed is "fresh": add --seed=NUMBER/),
    command("fresh tasks to go on with", "run fresh.jsonc --auto recs", /its seed is "fresh": add --seed=NUMBER/),
    command("of another model", "run other.jsonc --replay recs --model sim:noisy?quit=0.5", /there is no recording of it \(request 1\): [^]*nearest: recs\//, { notes: 3 }),
    command("cut short", "run other.jsonc --replay cut", /recording cut\/\S+ as it must be JSON: it is none, or was cut short/, { notes: 3 }),
  ],
};

/** What permissions leave out, which takes a process for each set of them. */
// deno-fmt-ignore: one line for each.
export const WITHOUT_PERMISSIONS: readonly Wrong[] = [
  file("no permission to read it", 'bench({ model: "gpt-5" });', /OPENAI_API_KEY may not be read; add --allow-env=OPENAI_API_KEY/, { permissions: READ_NET }),
  file("no network", 'asking("$gone");', /was not given the permission: add --allow-net=127/, { permissions: READ }),
  file("no reading of journals", 'bench({ journal: "results/a.jsonl" });', /allow it with --allow-read=results\/a\.jsonl/, { permissions: ["--allow-net"] }),
  file("no writing of journals", 'bench({ journal: "results/a.jsonl" });', /allow it with --allow-write=results/, { permissions: READ_NET }),
  file("no writing of reports", 'bench({ report: "results/a.html" });', /allow it with --allow-write=results/, { permissions: READ_NET }),
  file("no reading of recordings", 'bench({ recordings: { mode: "replay", folder: "recs" } });', /allow it with --allow-read=recs/, { permissions: ["--allow-net"] }),
  file("no reading of recordings to add to", 'bench({ recordings: { mode: "auto", folder: "recs" } });', /allow it with --allow-read=recs/, { permissions: ["--allow-net"] }),
  command("no environment", "run suite.jsonc --model gpt-5", /OPENAI_API_KEY may not be read/, { permissions: READ_NET }),
];

const SUITE = {
  ...{ name: "mine", seed: 1, graphs: 2, tasks: [{ core: [3], depth: [1] }] },
  ...{ models: ["sim:planner"], gate: { successRate: 0.5 } },
};

const utf16 = (text: string) =>
  new Uint8Array(
    new Uint16Array([0xfeff, ...text.split("").map((one) => one.charCodeAt(0))]).buffer,
  );

/** A project of a user, with the files that the wrong inputs name. */
export async function wrongProject(): Promise<Folder> {
  const project = await folder();
  const json = (name: string, value: unknown) =>
    project.write(name, JSON.stringify(value, null, 2));
  json("deno.json", {
    links: [ROOT],
    imports: { "@toolgate/toolgate": "jsr:@toolgate/toolgate@^0.2.0", "zod": "npm:zod@^4.6.7" },
  });
  json("suite.jsonc", SUITE);
  json("other.jsonc", { ...SUITE, name: "other", seed: 7, gate: undefined });
  for (const name of ["folder", "results"]) Deno.mkdirSync(project.file(name));
  const made = [
    "run suite.jsonc --out good.jsonl",
    "run other.jsonc --out other.jsonl --record recs",
    "run suite.jsonc --shard 1/2 --out shard.jsonl",
    "accept good.jsonl --out baseline.json",
    "report good.jsonl --html page.html",
  ].map((line) => line.split(" "));
  for (const { code, all } of await toolgates(made, { cwd: project.path })) {
    if (code !== 0) throw new Error(all);
  }

  project.write("empty.jsonc", "");
  project.write("empty.jsonl", "");
  project.write("words.jsonc", "{\n  name: mine\n}\n");
  json("keys.jsonc", { ...SUITE, graph: 3, perturbation: ["RD"] });
  json("model.jsonc", { ...SUITE, models: ["sim:plannr"] });
  json("key.jsonc", { ...SUITE, models: [{ model: "gpt-5", apiKey: "sk-a" }] });
  json("version.jsonc", { ...SUITE, v: 2 });
  const sized = (name: string, task: object) => json(name, { ...SUITE, tasks: [task] });
  sized("large.jsonc", { core: 9, depth: "all", irrelevant: [3, 6_000], connection: "half" });
  sized("many.jsonc", { core: 4_000, depth: 9, disconnected: 4_000 });
  sized("outputs.jsonc", { core: 9, depth: 3, outputs: [1, 100_000] });
  json("fresh.jsonc", {
    ...{ ...SUITE, seed: "fresh", graphs: undefined },
    gate: { successRate: 0.9, margin: 0.2, sequential: true },
  });
  project.write("broken_key.jsonc", '{ "apiKey": hunter2hunter2 }');
  json("tasks.jsonc", { ...SUITE, tasks: [{ core: "3", deep: 1 }] });
  json("set_missing.jsonc", { ...SUITE, tasks: [{ set: "no_set.jsonc" }] });
  json("set_wrong.jsonc", { ...SUITE, tasks: [{ set: "wrong_set.jsonc" }] });
  json("wrong_set.jsonc", { name: "x", functions: {}, questions: [] });
  json("prices.jsonc", { "sim:planner": { in: 1 } });
  for (
    const name of ["documents/query.json", "documents/tool.json", "call_sets/predictions.jsonl"]
  ) {
    Deno.copyFileSync(`${ROOT}/fixtures/${name}`, project.file(name.replace(/.*\//, "")));
  }
  Deno.copyFileSync(`${ROOT}/fixtures/call_sets/parcels.jsonc`, project.file("set.jsonc"));

  const good = Deno.readTextFileSync(project.file("good.jsonl"));
  const [plan, ...trials] = good.trimEnd().split("\n");
  const other = Deno.readTextFileSync(project.file("other.jsonl"));
  project.write("plan.jsonl", `${plan}\n`);
  project.write("journal.txt", good);
  project.write("broken.jsonl", [plan, '{"v":1,"kind":', ...trials, ""].join("\n"));
  project.write("no_plan.jsonl", rechained(`${trials.join("\n")}\n`));
  project.write("mixed.jsonl", good + other);
  project.write("other_version.jsonl", good.replaceAll('"v":1', '"v":9'));
  const edited = good.replace('"outcome":"solved"', '"outcome":"wrong_answer"');
  project.write("edited.jsonl", edited);
  project.write("unlike.jsonl", rechained(edited));
  Deno.writeFileSync(project.file("bytes.jsonl"), new Uint8Array([7, 0, 200, 10, 0, 255, 10]));
  Deno.writeFileSync(project.file("utf16.jsonl"), utf16(good));
  Deno.writeFileSync(project.file("utf16.jsonc"), utf16(JSON.stringify(SUITE)));
  Deno.mkdirSync(project.file("cut/sim-planner"), { recursive: true });
  for (const { name } of Deno.readDirSync(project.file("recs/sim-planner"))) {
    const recording = Deno.readTextFileSync(project.file(`recs/sim-planner/${name}`));
    project.write(`cut/sim-planner/${name}`, recording.slice(0, 100));
  }
  return project;
}

/** The bytes of all files of a project as text, by their paths: to see that none was changed. */
export function contentOf({ path }: Folder): Record<string, string> {
  const files: Record<string, string> = {};
  const read = (folder: string) => {
    for (const { name, isDirectory } of Deno.readDirSync(folder)) {
      const inner = `${folder}/${name}`;
      if (isDirectory) read(inner);
      else if (!/_test\.ts$|deno\.lock$/.test(name)) {
        files[inner.slice(path.length + 1)] = `${Deno.readFileSync(inner)}`;
      }
    }
  };
  read(path);
  return files;
}

/** Servers that are not what a user wants, by name; `port` is a port that one of them has. */
export interface WrongServers extends AsyncDisposable {
  readonly addresses: Readonly<Record<string, string>>;
}

/** Starts the servers that wrong inputs name. */
export async function wrongServers(): Promise<WrongServers> {
  const html = { headers: { "content-type": "text/html" } };
  const page = "<!doctype html><html><head><title>Welcome</title></head><body></body></html>";
  const hung: ((response: Response) => void)[] = [];
  const handlers: Readonly<Record<string, () => Response | Promise<Response>>> = {
    gone: () => new Response(),
    unauthorized: () => Response.json({ error: { message: "Incorrect key" } }, { status: 401 }),
    page404: () => new Response(page, { status: 404, ...html }),
    page: () => new Response(page, html),
    fails: () => new Response("oops", { status: 500 }),
    redirects: () => Response.redirect("http://127.0.0.1:1/login"),
    hangs: () => new Promise((resolve) => hung.push(resolve)),
  };
  const servers = Object.entries(handlers).map(([name, handler]) =>
    [name, Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, handler)] as const
  );
  const hosts = Object.fromEntries(
    servers.map(([name, { addr }]) => [name, `127.0.0.1:${addr.port}`]),
  );
  const shutdown = (names: (name: string) => boolean) =>
    Promise.all(servers.map(([name, server]) => names(name) ? server.shutdown() : undefined));
  await shutdown((name) => name === "gone");
  return {
    addresses: {
      ...Object.fromEntries(
        Object.entries(hosts).map(([name, host]) => [name, `http://${host}/v1`]),
      ),
      root: `http://${hosts["page404"]}`,
      tls: `https://${hosts["page"]}/v1`,
      port: hosts["page"]!.split(":")[1]!,
    },
    async [Symbol.asyncDispose]() {
      for (const resolve of hung) resolve(new Response());
      await shutdown((name) => name !== "gone");
    },
  };
}

/** Says what an input came to in this process. */
export async function toldOf(
  { test, line, flags = [], env = {} }: Wrong,
  { project, addresses }: {
    readonly project: Folder;
    readonly addresses: WrongServers["addresses"];
  },
): Promise<Told> {
  const { path } = project;
  const at = (text: string) =>
    text.replace(/\$(\w+)/g, (whole, name) => name === "dir" ? path : addresses[name] ?? whole);
  const plain = (text: string) => text.replaceAll(`${path}/`, "");
  if (line !== undefined) {
    const { code, stdout, stderr, all } = await toolgate(at(line).split(" "), { cwd: path, env });
    return { ...messageIn(plain(stdout + stderr)), code, times: 1, all };
  }
  const body = new Function("toolgate", "z", `${OPENING}${at(test!)}\n//# sourceURL=mine_test.ts`);
  const errors: string[] = [];
  const collected = CollectedTests.of(() => {
    try {
      body(toolgateModule, z);
    } catch (error) {
      errors.push((error as Error).stack!);
    }
  }, flags.map(at));
  const { tests } = await collected.run();
  // All tests of tools come too late here, which is not what is wrong with them.
  const late = "as it must be called while its file is loaded: it is loaded already";
  errors.push(
    ...tests.map(({ error }) => error).filter((one) => one !== "" && !one.includes(late)),
  );
  const all = errors.join("\n");
  return { ...messageIn(plain(all)), code: errors.length > 0 ? 1 : 0, times: errors.length, all };
}

/** Says what test files without a permission came to, which share a process of `deno test`, or a command. */
export async function toldWithout(
  permissions: readonly string[],
  inputs: readonly Wrong[],
  project: Folder,
): Promise<Told[]> {
  const begin = ["--no-check", "--no-prompt", ...permissions];
  const [{ line }] = inputs as [Wrong];
  if (line !== undefined) {
    const command = ["@toolgate/toolgate/cli", ...line.split(" ")];
    const ended = await deno(["run", ...begin, ...command], { cwd: project.path });
    return [{ ...ended, ...messageIn(ended.stdout + ended.stderr), times: 1 }];
  }
  const names = inputs.map((_, place) => `${place}_test.ts`);
  for (const [place, { test }] of inputs.entries()) {
    project.write(names[place]!, `${PRELUDE}${test!.replace("$gone", "http://127.0.0.1:4/v1")}\n`);
  }
  const { code, all } = await deno(["test", ...begin, ...names], { cwd: project.path });
  const errors = all.split("\n ERRORS \n")[1]?.split("\n FAILURES \n")[0] ?? "";
  const parts = errors.split(/^(?:.* => )?\.\/(\d+_test\.ts)(?::\d+:\d+| \(uncaught error\))$/m);
  return names.map((name) => {
    const texts = parts.filter((text, index) =>
      // Others that do not run say where to look.
      parts[index - 1] === name && !text.includes('error: "not run: see ')
    );
    return { ...messageIn(texts.join("\n")), code, times: texts.length, all };
  });
}

/** Takes a message out of what was printed: without frames, what Deno says of any error, and the line to rerun. */
function messageIn(text: string): Pick<Told, "message" | "frames"> {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const isFrame = (line: string) => /^ {4}at /.test(line);
  // The line of the test file that the first frame is in, and where in it.
  const isSource = (place: number) =>
    [place, place + 1].some((at) => /^ *\^$/.test(lines[at] ?? ""));
  return {
    message: lines.filter((line, place) =>
      !isFrame(line) && !isSource(place) &&
      !/^This error was not caught|^It most likely originated|^rerun: /.test(line)
    ).join("\n").replace(/^(?:error: )?(?:\(in promise\) )?\w*Error: /gm, ""),
    frames: lines.filter(isFrame),
  };
}
