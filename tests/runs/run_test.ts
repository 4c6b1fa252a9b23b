import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { InputError } from "../../lib/base/errors.ts";
import { decideTrials } from "../../lib/gate/decide_trials.ts";
import { completePolicy } from "../../lib/gate/policy.ts";
import {
  InfrastructureError,
  type Model,
  type ModelReply,
  type ModelRequest,
} from "../../lib/models/model.ts";
import { scripted } from "../../lib/models/scripted.ts";
import { planLine } from "../../lib/runs/journal/plan_line.ts";
import { readResults } from "../../lib/runs/journal/results.ts";
import { Run, type RunOptions, seedToResume } from "../../lib/runs/run.ts";
import { readBaseline } from "../../lib/runs/baseline.ts";
import { type Plan, planSuite } from "../../lib/runs/plan.ts";
import { valuesIn } from "../support/child.ts";
import { accept, linesOf, rechained } from "../support/journals.ts";
import { shardOf } from "../../lib/runs/_assign_shards.ts";
import type { Suite } from "../../lib/runs/suite.ts";
import { modelName } from "../../lib/models/entry.ts";
import type { Trial } from "../../lib/trials/trial.ts";
import { parseTrialId } from "../../lib/trials/trial_id.ts";
import { Folder } from "../support/folders.ts";
import { record } from "../support/records.ts";
import { type Habit, habitual } from "../support/probing.ts";

const SUITE: Suite = {
  name: "run",
  seed: 1,
  graphs: 4,
  tasks: [{ core: 2, depth: 1 }],
  models: ["shrug"],
};
const PLAN = planSuite(SUITE);

/** Connects every entry to a model that shrugs, and counts what it is asked. */
function shrugging() {
  const asked: string[] = [];
  const connected: string[] = [];
  const connect: RunOptions["connect"] = ({ model }) => {
    connected.push(model);
    return scripted(model, ({ context }) => {
      asked.push(context.trial);
      return { text: "I cannot tell." };
    });
  };
  return { asked, connected, connect };
}

/** A model of which the test decides what and when it replies. */
function model(reply: (request: ModelRequest) => Promise<ModelReply>): Model {
  return { name: "shrug", simulated: true, reply };
}

/** A trial that is needed. */
async function finishedTrial(run: Run, place: number): Promise<Trial> {
  const trial = await run.trial(place);
  assert(trial.kind === "trial");
  return trial;
}

/** Runs all of PLAN, and gives the journal's path. */
async function finishedJournal(folder: Folder, name = "a.jsonl"): Promise<string> {
  const journal = folder.file(name);
  using run = new Run(PLAN, { ...shrugging(), journal });
  await run.all();
  return journal;
}

/** Leaves the first `lines` lines of a journal. */
function cutAfter(path: string, lines: number): void {
  const kept = Deno.readTextFileSync(path).split("\n").slice(0, lines);
  Deno.writeTextFileSync(path, kept.map((line) => line + "\n").join(""));
}

Deno.test("Run.all() carries out every trial once, in plan order", async () => {
  const { asked, connect } = shrugging();
  using run = new Run(PLAN, { connect });
  const trials = await run.all();
  assertEquals(trials.map(({ id }) => id), PLAN.trials.map(({ id }) => id));
  assertEquals(asked.toSorted(), PLAN.trials.map(({ id }) => id).toSorted());
  assertEquals(trials[0]!.outcome, "no_answer");
  assertEquals(trials[2]!.suite, "run");
});

Deno.test("Run.scores() has all trials in plan order, also those that were let go of", async () => {
  const { asked, connect } = shrugging();
  using run = new Run(PLAN, { connect, slowStart: true });
  assertEquals(run.score(2), undefined);
  await run.trial(2);
  run.forget(2);
  assertEquals(run.score(2)?.id, PLAN.trials[2]!.id);
  const ids = PLAN.trials.map(({ id }) => id);
  assertEquals((await run.scores()).map(({ id }) => id), ids);
  assertEquals((await run.all()).map(({ id }) => id), ids.toSpliced(2, 1));
  assertEquals(asked.length, ids.length);
});

Deno.test("Run makes each model once, and only those that are used", async () => {
  const { connected, connect } = shrugging();
  const plan = planSuite({ ...SUITE, models: ["one", "two", "three"] });
  const only = plan.trials.filter((trial) => trial.model !== "three");
  using run = new Run(plan, { connect, only });
  await run.all();
  assertEquals(connected.toSorted(), ["one", "two"]);
});

Deno.test("Run hands the limits of the plan to its trials", async () => {
  const plan = planSuite({ ...SUITE, graphs: 1, limits: { steps: 2 } });
  const connect = () => scripted("shrug", () => ({ calls: [{ name: "no_such", arguments: {} }] }));
  using run = new Run(plan, { connect });
  const [trial] = await run.all();
  assertEquals([trial!.outcome, trial!.calls], ["step_limit", 2]);
});

Deno.test("Run.trial() resolves only when the trial stands in the journal", async () => {
  using folder = new Folder();
  const journal = folder.file("a.jsonl");
  using run = new Run(PLAN, { ...shrugging(), journal, concurrency: 1 });
  for (const place of PLAN.trials.keys()) {
    const { id } = await finishedTrial(run, place);
    assert(valuesIn(folder.read("a.jsonl")).some((line) => line["id"] === id), id);
  }
});

Deno.test("Run writes nothing before it is opened or asked", () => {
  using folder = new Folder();
  using run = new Run(PLAN, { ...shrugging(), journal: folder.file("a.jsonl") });
  assertEquals([...Deno.readDirSync(folder.path)], []);
  run.open();
  assertEquals(valuesIn(folder.read("a.jsonl")).length, 1);
});

Deno.test("Run.open() fails before anything is run when the journal cannot be written", async () => {
  using folder = new Folder();
  const { asked, connect } = shrugging();
  using run = new Run(PLAN, { connect, journal: folder.file("file/deep/a.jsonl") });
  folder.write("file", "");
  assertThrows(() => run.open(), InputError, "Cannot write the journal");
  await assertRejects(() => run.trial(0), InputError, "Cannot write the journal");
  assertEquals(asked, [], "no model is asked for what cannot be kept");
});

Deno.test("Run.connect() fails before anything is run or written when a model cannot be had", () => {
  using folder = new Folder();
  const plan = planSuite({ ...SUITE, models: ["one", "two"] });
  const { asked, connect } = shrugging();
  using run = new Run(plan, {
    journal: folder.file("a.jsonl"),
    connect: (entry, task) => {
      if (entry.model === "two") throw new InputError("Cannot use model two");
      return connect(entry, task);
    },
  });
  assertThrows(() => run.connect(), InputError, "Cannot use model two");
  assertEquals(asked, []);
  assertEquals([...Deno.readDirSync(folder.path)], []);
});

Deno.test("Run.trial() rejects when the disk of the journal is full", async () => {
  using folder = new Folder();
  const { connect } = shrugging();
  using run = new Run(PLAN, { connect, journal: folder.file("a.jsonl"), slowStart: true });
  run.open();
  const { writeSync } = Deno.FsFile.prototype;
  Deno.FsFile.prototype.writeSync = () => {
    throw new Error("No space left on device");
  };
  try {
    await assertRejects(() => run.trial(0), InputError, "No space left on device");
  } finally {
    Deno.FsFile.prototype.writeSync = writeSync;
  }
});

Deno.test("Run with resume carries out the missing trials, and none again", async () => {
  for (const kept of [1, 2, 4, 5]) {
    using folder = new Folder();
    const journal = await finishedJournal(folder);
    const before = readResults([journal]).trials;
    cutAfter(journal, kept);
    const present = new Set(readResults([journal]).trials.map(({ id }) => id));
    const { asked, connect } = shrugging();
    using run = new Run(PLAN, { connect, journal, resume: true });
    assertEquals(run.resumed, kept - 1);
    const trials = await run.all();
    assertEquals(
      asked.toSorted(),
      PLAN.trials.map(({ id }) => id).filter((id) => !present.has(id)).toSorted(),
    );
    assertEquals(trials.map(({ id }) => id), PLAN.trials.map(({ id }) => id));
    assertEquals(valuesIn(Deno.readTextFileSync(journal)).length, 5);
    assertEquals(readResults([journal]).problem, undefined);
    assertEquals(before.length, 4);
  }
});

Deno.test("Run with resume begins a journal that is not there, is empty, or has a torn plan only", async () => {
  const torn = JSON.stringify(planLine(PLAN)).slice(0, 100);
  for (const text of [undefined, "", torn]) {
    using folder = new Folder();
    const journal = text === undefined ? folder.file("a.jsonl") : folder.write("a.jsonl", text);
    const { asked, connect } = shrugging();
    using run = new Run(PLAN, { connect, journal, resume: true });
    await run.all();
    assertEquals(asked.length, 4);
    assertEquals(valuesIn(Deno.readTextFileSync(journal)).length, 5);
    assertEquals(readResults([journal]).problem, undefined);
  }
});

Deno.test("Run with resume keeps invalid trials, unless told to run them again", async () => {
  for (const retryInvalid of [false, true]) {
    using folder = new Folder();
    const journal = folder.file("a.jsonl");
    const broken = PLAN.trials[1]!.id;
    {
      const connect = () =>
        model(({ context }) =>
          context.trial === broken
            ? Promise.reject(new InfrastructureError("502"))
            : scripted("shrug", [{ text: "?" }]).reply({ messages: [], tools: [], context })
        );
      using run = new Run(PLAN, { connect, journal });
      assertEquals((await run.all()).map(({ outcome }) => outcome === "invalid"), [
        false,
        true,
        false,
        false,
      ]);
    }
    const { asked, connect } = shrugging();
    using run = new Run(PLAN, { connect, journal, resume: true, retryInvalid });
    const trials = await run.all();
    assertEquals(asked, retryInvalid ? [broken] : []);
    assertEquals(trials[1]!.outcome, retryInvalid ? "no_answer" : "invalid");
    // The last line of an id counts.
    assertEquals(valuesIn(Deno.readTextFileSync(journal)).length, retryInvalid ? 6 : 5);
    const kept = readResults([journal]).trials;
    assertEquals(kept[1]!.outcome, trials[1]!.outcome);
    // A verdict must know which trials were run again, now and after a further run.
    const again = kept.map(({ replaced }) => replaced !== undefined);
    assertEquals(again, [false, retryInvalid, false, false]);
    assertEquals((await run.scores()).map(({ replaced }) => replaced !== undefined), again);
    run[Symbol.dispose]();
    using later = new Run(PLAN, { connect, journal, resume: true });
    assertEquals((await later.scores()).map(({ replaced }) => replaced !== undefined), again);
  }
});

Deno.test("Run with resume remembers a call that must not happen in a trial that is run again", async () => {
  using folder = new Folder();
  const journal = folder.file("a.jsonl");
  {
    using run = new Run(PLAN, {
      connect: () => model(() => Promise.reject(new InfrastructureError("502"))),
      journal,
    });
    await run.all();
  }
  const { id } = PLAN.trials[1]!;
  const lines = valuesIn(Deno.readTextFileSync(journal)).map((value) => {
    const events = [...value["events"] as unknown[] ?? [], {
      kind: "assertion",
      message: "paid",
      never: true,
    }];
    return value["id"] === id ? { ...value, events } : value;
  });
  Deno.writeTextFileSync(journal, linesOf(lines));
  const marked = [undefined, true, undefined, undefined];
  for (const retryInvalid of [true, false]) {
    using run = new Run(PLAN, { ...shrugging(), journal, resume: true, retryInvalid });
    const scores = await run.scores();
    assertEquals(scores.map(({ outcome }) => outcome), Array(4).fill("no_answer"));
    assertEquals(scores.map(({ never }) => never), marked);
    assertEquals(readResults([journal]).trials.map(({ never }) => never), marked);
  }
});

Deno.test("Run with resume does not ask an agent again that threw", async () => {
  using folder = new Folder();
  const journal = folder.file("a.jsonl");
  const connect = () => model(() => Promise.reject(new Error("an agent asks no model")));
  let asked = 0;
  const throwing = () => {
    asked++;
    return Promise.reject(new Error("a slip"));
  };
  {
    using run = new Run(PLAN, { connect, journal, agent: throwing });
    await run.all();
  }
  assertEquals(asked, 4);
  const agent = () => Promise.resolve("42");
  using run = new Run(PLAN, { connect, journal, agent, resume: true, retryInvalid: true });
  assertEquals((await run.all()).map(({ outcome }) => outcome), Array(4).fill("agent_error"));
  const { trials } = readResults([journal]);
  const policy = completePolicy({ successRate: 0.9, margin: 0.1 });
  const [decided] = decideTrials(trials, PLAN.trials, policy);
  assertEquals(decided!.verdict.kind, "fail");
});

Deno.test("Run refuses to resume the journal of another plan, and names what differs", async () => {
  const others: [Suite, string][] = [
    [{ ...SUITE, seed: 2 }, "seed"],
    [{ ...SUITE, name: "other" }, "suite"],
    [{ ...SUITE, graphs: 5, repetitions: 2 }, "graphs, repetitions"],
    [{ ...SUITE, models: ["other"] }, "models"],
    [{ ...SUITE, tasks: [{ core: 3, depth: 1 }] }, "cells"],
    [{ ...SUITE, limits: { calls: 1 } }, "limits"],
    [{ ...SUITE, strategies: [{ strategy: "repair", attempts: 2, name: "plain" }] }, "strategies"],
  ];
  using folder = new Folder();
  const journal = await finishedJournal(folder);
  const before = Deno.readTextFileSync(journal);
  for (const [suite, fields] of others) {
    const error = assertThrows(
      () => new Run(planSuite(suite), { ...shrugging(), journal, resume: true }),
      InputError,
    );
    assertEquals(
      error.message,
      `Cannot resume ${journal} as it must be of the same plan: it differs in ${fields}`,
    );
  }
  assertEquals(Deno.readTextFileSync(journal), before);
});

Deno.test("Run refuses to resume at another server, where another model may have the name", async () => {
  const at = (baseURL: string | undefined) => ({ ...PLAN, ...(baseURL && { baseURL }) });
  const resume = (plan: Plan, journal: string) =>
    new Run(plan, { ...shrugging(), journal, resume: true })[Symbol.dispose]();
  const [a, b] = ["http://a.example/v1", "http://b.example/v1"];
  const cases = [
    [a, b, `it is of ${a}, and this run would ask ${b}`],
    [a, undefined, `it is of ${a}, and this run would ask OpenAI's server`],
    [undefined, b, `it is of OpenAI's server, and this run would ask ${b}`],
  ] as const;
  using folder = new Folder();
  for (const [place, [before, now, told]] of cases.entries()) {
    const journal = folder.file(`${place}.jsonl`);
    {
      using run = new Run(at(before), { ...shrugging(), journal });
      await run.trial(0);
    }
    const { message } = assertThrows(() => resume(at(now), journal), InputError);
    assertStringIncludes(
      message,
      `Cannot resume ${journal} as all of its trials must ask the same server`,
    );
    assertStringIncludes(message, told);
    resume(at(before && `${before}/`), journal);
  }
});

Deno.test("Run refuses to resume under another gate: the old one would decide", async () => {
  for (const records of [undefined, "kept/baseline.json"]) {
    using folder = new Folder();
    const journal = folder.file("a.jsonl");
    const gated = (successRate: number): Plan => ({
      ...planSuite({ ...SUITE, gate: { successRate } }),
      records,
    });
    {
      using run = new Run(gated(0.5), { ...shrugging(), journal });
      await run.trial(0);
    }
    assertThrows(
      () => new Run(gated(0.9), { ...shrugging(), journal, resume: true }),
      InputError,
      "it must declare the same gate: its gate differs",
    );
  }
});

Deno.test("Run refuses to resume a journal that is not of trials of its plan, and leaves it", async () => {
  using folder = new Folder();
  const path = await finishedJournal(folder);
  const whole = folder.read("a.jsonl");
  const lines = valuesIn(whole);
  const baseline = readBaseline(accept(folder, path));
  const cases: [text: string, told: string, options?: Partial<RunOptions>][] = [
    ["my only copy of something dear", ""],
    [linesOf([record()]), "the first line of a journal must be its plan"],
    [
      rechained(whole.replace('"repetition":1', '"repetition":7')),
      "it has a trial that is not in its plan",
    ],
    [linesOf([...lines, lines.at(-1)]), "it must have each trial once"],
    [
      whole.split("\n").slice(0, 2).join("\n") + "\n",
      "the candidate must be another run: these are the trials of the baseline itself",
      { baseline },
    ],
  ];
  for (const [text, told, options] of cases) {
    const journal = folder.write("b.jsonl", text);
    const resume = () => new Run(PLAN, { ...shrugging(), journal, resume: true, ...options });
    assertThrows(resume, InputError, told);
    assertEquals(folder.read("b.jsonl"), text);
  }
});

Deno.test("Run tells of each trial that it replaces, as readers of the journal do", async () => {
  using folder = new Folder();
  const journal = folder.file("a.jsonl");
  const usage = { inputTokens: 5, outputTokens: 2 };
  {
    let asked = 0;
    const connect = () =>
      model((request) => {
        if (++asked > 1) return Promise.reject(new InfrastructureError("502"));
        const call = { name: "none", arguments: {} };
        return scripted("shrug", [{ calls: [call], usage }]).reply(request);
      });
    using run = new Run(PLAN, { connect, journal, concurrency: 1 });
    await run.all();
  }
  using run = new Run(PLAN, { ...shrugging(), journal, resume: true, retryInvalid: true });
  const scores = await run.scores();
  const replaced = scores.map((score) => score.replaced);
  const nothing = { inputTokens: 0, outputTokens: 0 };
  assertEquals(replaced, [usage, nothing, nothing, nothing]);
  assertEquals(readResults([journal]).trials.map((trial) => trial.replaced), replaced);
});

Deno.test("Run refuses to resume the journal of another shard", () => {
  using folder = new Folder();
  const journal = folder.file("a.jsonl");
  {
    using run = new Run(PLAN, { ...shrugging(), journal, shard: { index: 1, of: 2 } });
    run.open();
  }
  for (const shard of [{ index: 2, of: 2 }, { index: 1, of: 3 }]) {
    assertThrows(
      () => new Run(PLAN, { ...shrugging(), journal, resume: true, shard }),
      InputError,
      `it is of shard 1/2: this is shard ${shard.index}/${shard.of}`,
    );
  }
  assertThrows(
    () => new Run(PLAN, { ...shrugging(), journal, resume: true }),
    InputError,
    "it is of shard 1/2: this is the whole run",
  );
});

Deno.test("Run of a shard carries out that part, and shards together the whole plan", async () => {
  using folder = new Folder();
  const paths: string[] = [];
  for (const index of [1, 2, 3]) {
    const shard = { index, of: 3 };
    const journal = folder.file(`${index}.jsonl`);
    paths.push(journal);
    using run = new Run(PLAN, { ...shrugging(), journal, shard });
    assertEquals(run.trials, shardOf(PLAN, shard));
    await run.all();
  }
  const { problem, trials } = readResults(paths);
  assertEquals(problem, undefined);
  assertEquals(trials.map(({ id }) => id), PLAN.trials.map(({ id }) => id));
});

Deno.test("Run holds its journal alone: another run cannot resume it meanwhile", async () => {
  using folder = new Folder();
  const journal = folder.file("a.jsonl");
  using run = new Run(PLAN, { ...shrugging(), journal });
  run.open();
  using other = new Run(PLAN, { ...shrugging(), journal, resume: true });
  assertThrows(() => other.open(), InputError, "another run is writing to it");
  await run.all();
});

Deno.test("Run with an aborted signal leaves no line, and rejects with the signal's reason", async () => {
  using folder = new Folder();
  const journal = folder.file("a.jsonl");
  const controller = new AbortController();
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  const connect = () =>
    model(({ context, signal }) => {
      if (context.trial === PLAN.trials[0]!.id) {
        return scripted("shrug", [{ text: "?" }]).reply({ messages: [], tools: [], context });
      }
      begin();
      return new Promise((_resolve, reject) => {
        signal!.addEventListener("abort", () => reject(signal!.reason));
      });
    });
  using run = new Run(PLAN, { connect, journal, signal: controller.signal, concurrency: 2 });
  await run.trial(0);
  const stopped = assertRejects(() => run.trial(1), RangeError, "enough");
  await begun;
  controller.abort(new RangeError("enough"));
  await stopped;
  await assertRejects(() => run.trial(3), RangeError, "enough");
  assertEquals(valuesIn(Deno.readTextFileSync(journal)).map((line) => line["kind"]), [
    "plan",
    "trial",
  ]);
  const { asked, connect: again } = shrugging();
  run[Symbol.dispose]();
  using resumed = new Run(PLAN, { connect: again, journal, resume: true });
  await resumed.all();
  assertEquals(asked.length, 3);
});

Deno.test("Run ends where its agent cannot begin, and keeps nothing", async () => {
  using folder = new Folder();
  const journal = folder.file("a.jsonl");
  const { connect } = shrugging();
  let begun = 0;
  const agent = () => {
    begun++;
    return Promise.reject(new InfrastructureError("there is no agent", { permanent: "command" }));
  };
  using run = new Run(PLAN, { connect, journal, agent });
  await run.all();
  assertEquals(begun, 1);
  assertEquals(run.fault, {
    ...{ permanent: "command", reason: "there is no agent", atFirst: true },
  });
  run[Symbol.dispose]();
  assertThrows(() => Deno.statSync(journal), Deno.errors.NotFound);
});

Deno.test("Run goes on with an agent that began once, and ends only once it fails again and again", async () => {
  using folder = new Folder();
  const journal = folder.file("a.jsonl");
  const { connect } = shrugging();
  const plan = planSuite({ ...SUITE, graphs: 12 });
  let begun = 0;
  const agent = () => {
    const isBroken = ++begun === 3 || begun > 5;
    const error = new InfrastructureError("no more credit", { permanent: "credit" });
    return isBroken ? Promise.reject(error) : Promise.resolve("It is 1.");
  };
  using run = new Run(plan, { connect, journal, agent, concurrency: 1 });
  const trials = await run.all();
  assertEquals(run.fault, { permanent: "credit", reason: "no more credit", atFirst: false });
  assertEquals(
    trials.map(({ outcome }) => outcome === "invalid"),
    [false, false, true, false, false, true, true, true, true],
  );
  assertEquals(readResults([journal]).trials.length, 9);
});

Deno.test("Run lets an agent's trials begin once its model has replied, and no earlier", async () => {
  const first = Promise.withResolvers<void>();
  const told: string[] = [];
  const server: NonNullable<Model["server"]> = {
    ...{ model: "shrug", who: "shrug", hide: (text) => text, quote: (text) => text },
    forward: async () => {
      await first.promise;
      told.push("replied");
      const choices = [{ index: 0, message: { role: "assistant", content: "No." } }];
      return { response: Response.json({ choices }), duration: 0 };
    },
  };
  const connect = () => ({ ...model(() => Promise.reject(new Error())), server });
  const others = Promise.withResolvers<string>();
  using run = new Run(PLAN, {
    connect,
    agent: async (_, { fetch, baseURL }) => {
      told.push("begun");
      const body = JSON.stringify({ messages: [] });
      await fetch(`${baseURL}/chat/completions`, { method: "POST", body });
      // The first one is not over when the others begin.
      if (told.filter((one) => one === "begun").length === 4) others.resolve("No.");
      return await others.promise;
    },
  });
  const all = run.all();
  await new Promise((resolve) => setTimeout(resolve, 20));
  assertEquals(told, ["begun"]);
  first.resolve();
  assertEquals((await all).length, 4);
  assertEquals(told.slice(0, 2), ["begun", "replied"]);
});

Deno.test("Run.forget() lets go of a trial that the journal has", async () => {
  using folder = new Folder();
  const journal = folder.file("a.jsonl");
  using run = new Run(PLAN, { ...shrugging(), journal });
  await run.trial(0);
  run.forget(0);
  assertThrows(() => run.trial(0), Error, "forgotten");
  for (const place of [1, 2, 3]) await run.trial(place);
  assertEquals(readResults([journal]).trials.length, 4);
});

Deno.test("seedToResume() gives the seed of a journal, and none where there is no journal", async () => {
  using folder = new Folder();
  const fresh = planSuite({ ...SUITE, seed: "fresh" });
  const journal = folder.file("a.jsonl");
  assertEquals(seedToResume(journal), undefined);
  {
    using run = new Run(fresh, { ...shrugging(), journal });
    await run.all();
  }
  const seed = seedToResume(journal);
  assertEquals(seed, fresh.resolved.seed);
  const { asked, connect } = shrugging();
  using run = new Run(planSuite({ ...SUITE, seed: seed! }), { connect, journal, resume: true });
  await run.all();
  assertEquals(asked, []);
  assert(parseTrialId(run.trials[0]!.id) !== undefined);
});

Deno.test("Run tells of each trial as soon as it has ended and is kept, and how many are in flight", async () => {
  using folder = new Folder();
  const journal = folder.file("a.jsonl");
  const replies = new Map<string, () => void>();
  const connect = () =>
    model(async (request) => {
      await new Promise<void>((resolve) => replies.set(request.context.trial, resolve));
      return await scripted("shrug", [{ text: "?" }]).reply(request);
    });
  const seen: [string, boolean][] = [];
  const onTrial: RunOptions["onTrial"] = (trial, resumed) => {
    assert(trial.kind === "trial");
    assertStringIncludes(folder.read("a.jsonl"), JSON.stringify(trial.id));
    seen.push([trial.id, resumed]);
  };
  using run = new Run(PLAN, { connect, journal, concurrency: 3, onTrial });
  const ids = PLAN.trials.map(({ id }) => id);
  const settled = () => new Promise((resolve) => setTimeout(resolve, 20));
  assertEquals(run.inFlight, 0);
  const all = run.all();
  // They need not end in plan order, but the first trial alone must show that the model replies.
  for (const [ended, inFlight] of [[-1, 1], [0, 3], [2, 2], [1, 1], [3, 0]] as const) {
    replies.get(ids[ended] ?? "")?.();
    await settled();
    assertEquals(run.inFlight, inFlight);
  }
  await all;
  assertEquals(seen, [0, 2, 1, 3].map((place) => [ids[place]!, false]));
});

Deno.test("Run with resume tells of the journal's trials at once, and of no invalid one that is run again", async () => {
  using folder = new Folder();
  const journal = await finishedJournal(folder);
  const [plan, first, second] = valuesIn(folder.read("a.jsonl"));
  folder.write("a.jsonl", linesOf([plan, { ...first, outcome: "invalid" }, second]));
  const seen: [string, boolean][] = [];
  const onTrial: RunOptions["onTrial"] = (trial, resumed) => {
    assert(trial.kind === "trial");
    seen.push([trial.id, resumed]);
  };
  const options = { ...shrugging(), journal, resume: true, retryInvalid: true, onTrial };
  using run = new Run(PLAN, options);
  assertEquals(seen, [[second.id, true]]);
  await run.all();
  assertEquals(seen.map(([, resumed]) => resumed), [true, false, false, false]);
  assert(seen.some(([id, resumed]) => id === first.id && !resumed));
});

Deno.test("Run with resume gives whole trials, with everything that the journal has of them", async () => {
  using folder = new Folder();
  const journal = folder.file("a.jsonl");
  let before: readonly Trial[] = [];
  {
    using run = new Run(PLAN, { ...shrugging(), journal });
    before = await run.all();
  }
  using run = new Run(PLAN, { ...shrugging(), journal, resume: true });
  const after = await run.all();
  assertEquals(after, JSON.parse(JSON.stringify(before)));
  assert(after.every(({ events }) => events.length > 0));
});

// Strategies with options

/** A model that gets its calls wrong, mends none of them, and then gives up. */
function clumsy(name: string, asked: Asked[]): Model {
  return scripted(name, ({ messages, tools, context }) => {
    const { trial, stage } = context;
    asked.push({ model: name, stage, strategy: parseTrialId(trial)!.strategy });
    const usage = { inputTokens: 10, outputTokens: 1 };
    const isFirst = stage === undefined && messages.every(({ role }) => role !== "tool");
    return isFirst && tools.length > 0
      ? { calls: [{ name: tools[0]!.name, arguments: {} }], usage }
      : { text: "I cannot tell.", usage };
  });
}

interface Asked {
  readonly model: string;
  readonly stage: string | undefined;
  readonly strategy: string;
}

const MENDING: Suite = {
  ...SUITE,
  graphs: 2,
  models: ["own"],
  strategies: [
    "plain",
    { strategy: "repair", attempts: 1, name: "once" },
    {
      strategy: "repair",
      attempts: 3,
      name: "thrice, by another",
      models: { repair: { model: "m", temperature: 0, name: "mender" } },
      prompts: { repair: { fix: "MEND {arguments}" } },
    },
  ],
};
const MENDING_PLAN = planSuite(MENDING);

/** Connects to clumsy models, and returns what they are asked. */
function mending() {
  const asked: Asked[] = [];
  const connected: string[] = [];
  const connect: RunOptions["connect"] = (entry) => {
    connected.push(modelName(entry));
    return clumsy(modelName(entry), asked);
  };
  return { asked, connected, connect };
}

/** How often each model was asked at each stage of each strategy. */
function countsOf(asked: readonly Asked[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { strategy, stage, model } of asked) {
    const key = `${strategy}: ${model}${stage === undefined ? "" : ` for ${stage}`}`;
    counts[key] = (counts[key] ?? 0) + 1;
  }
  return counts;
}

const MENDING_COUNTS = {
  "plain: own": 4,
  "once: own": 4,
  "once: own for repair": 2,
  "thrice, by another: own": 4,
  "thrice, by another: mender for repair": 6,
};

Deno.test("Run works by the strategy of each trial, with what is set of it, whatever its name", async () => {
  const { asked, connected, connect } = mending();
  using run = new Run(MENDING_PLAN, { connect });
  const trials = await run.all();
  assertEquals(countsOf(asked), MENDING_COUNTS);
  assertEquals(connected.toSorted(), ["mender", "own"], "each model once");
  for (const { strategy, stages, usage, events, model } of trials) {
    const repairs = events.filter((event) => event.kind === "reply" && event.stage === "repair");
    const tries = { "plain": 0, "once": 1, "thrice, by another": 3 }[strategy]!;
    assertEquals([repairs.length, usage.inputTokens], [tries, 10 * (2 + tries)], strategy);
    assertEquals(
      stages,
      strategy !== "thrice, by another" ? undefined : [{
        stage: "repair",
        model: { requested: "mender", served: ["mender"], simulated: true },
        usage: { inputTokens: 30, outputTokens: 3 },
      }],
    );
    assertEquals([model.requested, model.served], ["own", "own"]);
  }
});

Deno.test("Run asks with the texts that are set of a strategy", async () => {
  const prompts: string[] = [];
  using run = new Run(MENDING_PLAN, {
    connect: (entry) => {
      const model = clumsy(modelName(entry), []);
      return {
        ...model,
        reply: (request) => {
          if (request.context.stage === "repair") prompts.push(request.messages.at(-1)!.content);
          return model.reply(request);
        },
      };
    },
  });
  await run.all();
  assertEquals(prompts.filter((prompt) => prompt.startsWith("MEND {")).length, 6);
  assertEquals(prompts.filter((prompt) => prompt.includes("has invalid arguments")).length, 2);
});

// Probes

const PROBING = planSuite({
  ...SUITE,
  graphs: 2,
  tasks: [{ case: "all" }],
  models: ["follows", "never calls"],
});

Deno.test("Run carries out probes, keeps them, and goes on where it ended", async () => {
  using folder = new Folder();
  const journal = folder.file("a.jsonl");
  const connect: RunOptions["connect"] = (entry) => habitual(entry.model as Habit);
  {
    using run = new Run(PROBING, { connect, journal });
    await run.all();
  }
  const outcomes = (model: string) =>
    readResults([journal]).trials.filter((trial) => trial.model.requested === model)
      .map(({ outcome }) => outcome);
  const followed = ["solved", "solved", "solved", "call_limit"];
  const averse = ["wrong_answer", "solved", "wrong_answer", "solved"];
  const whole = Deno.readTextFileSync(journal);
  assertEquals(outcomes("follows"), [...followed, ...followed]);
  assertEquals(outcomes("never calls"), [...averse, ...averse]);
  for (const kept of [6]) {
    Deno.writeTextFileSync(journal, whole);
    cutAfter(journal, kept);
    using run = new Run(PROBING, { connect, journal, resume: true });
    assertEquals(run.resumed, kept - 1);
    assertEquals((await run.all()).length, 16);
    assertEquals(readResults([journal]).problem, undefined);
    assertEquals(outcomes("follows"), [...followed, ...followed]);
  }
});

Deno.test("Run.connect() fails before anything is run when the model of a stage cannot be had", () => {
  const { asked, connect } = mending();
  using run = new Run(MENDING_PLAN, {
    connect: (entry, task) => {
      if (entry.model === "m") throw new InputError("Cannot use model m");
      return connect(entry, task);
    },
  });
  assertThrows(() => run.connect(), InputError, "Cannot use model m");
  assertEquals(asked, []);
});
