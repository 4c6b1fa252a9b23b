// How trials are run again, from the journals and reports that tell how to the servers that are asked:
// through real shells, and in child processes.

import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { planSuite } from "../../lib/runs/plan.ts";
import type { Suite } from "../../lib/runs/suite.ts";
import { planLine } from "../../lib/runs/journal/plan_line.ts";
import { countingServer, type Folder, folder, readLines, start } from "../support/child.ts";
import { benchmark } from "../../lib/testing/benchmark.ts";
import { CollectedTests } from "../support/collected.ts";
import { toolgate } from "../support/command_line.ts";
import { linesOf } from "../support/journals.ts";
import { finish, HOSTILE } from "../support/records.ts";
import { reportedTrials } from "../support/report_data.ts";
import { writeReport } from "../support/report_page.ts";
import { sayingServer } from "../support/saying_server.ts";

const SUITE = {
  name: "small",
  seed: 1,
  graphs: 2,
  tasks: [{ core: 2, depth: 1 }],
  models: ["mine"],
};

// Servers

Deno.test("toolgate run keeps the server of its models, and a rerun asks there", async () => {
  await using place = await folder();
  await using server = countingServer();
  await using other = countingServer();
  const suite = place.write("suite.jsonc", JSON.stringify(SUITE));
  const out = place.file("out.jsonl");
  const run = await toolgate(["run", suite, "--out", out, "--base-url", server.url]);
  assertEquals(run.code, 0, run.all);
  const [plan, trial] = readLines(out);
  assertEquals([plan.baseURL, plan.resolved.models], [server.url, [{ model: "mine" }]]);
  const asked = async (...more: string[]) => {
    const before = [server.trials, other.trials] as const;
    const again = await toolgate(["run", out, "--only", trial.id, ...more], {
      // What the client of OpenAI would ask of its own accord.
      env: { OPENAI_BASE_URL: other.url, OPENAI_API_KEY: "a-key" },
    });
    assertEquals(again.code, 0, again.all);
    assertMatch(again.stdout, /^mine: solved /);
    return [server.trials - before[0], other.trials - before[1]];
  };
  assertEquals(await asked(), [1, 0]);
  assertEquals(await asked("--base-url", other.url), [0, 1]);
});

Deno.test("toolgate run --only tells a dozen lines of a trial, and every call with --story full", async () => {
  await using place = await folder();
  const id = "core=30 depth=3 connected=0 disconnected=0 seed=5 model=sim:planner strategy=plain " +
    "perturbation=none repetition=1";
  const suite = place.write(
    "suite.jsonc",
    JSON.stringify({ ...SUITE, tasks: [{ core: 30, depth: 3 }], models: ["sim:planner"] }),
  );
  const only = ["run", suite, "--only", id];
  const [brief, full, whole] = await Promise.all(
    [only, [...only, "--story", "full"], ["run", suite, "--story", "full"]].map((one) =>
      toolgate(one)
    ),
  );
  const calls = (text: string) => text.match(/^ {2}\d+\. step /gm)?.length;
  assertEquals(brief!.stdout.trimEnd().split("\n").length, 11, brief!.all);
  assertMatch(brief!.stdout, /\n {2}\.\.\. 22 more calls: --story=full\n$/);
  assertEquals([full!.code, calls(full!.stdout)], [0, 30], full!.all);
  assertEquals(whole!.code, 2);
  assertStringIncludes(whole!.stderr, "--story needs --only");
});

Deno.test("toolgate run asks a model's own server again, unless another is named", async () => {
  await using place = await folder();
  await using own = countingServer();
  await using usual = countingServer();
  await using other = countingServer();
  const entry = { model: "mine", baseURL: own.url };
  const suite = place.write("suite.jsonc", JSON.stringify({ ...SUITE, models: [entry] }));
  const out = place.file("out.jsonl");
  const run = await toolgate(["run", suite, "--out", out]);
  assertEquals(run.code, 0, run.all);
  const [plan, trial] = readLines(out);
  assertEquals([plan.baseURL, plan.resolved.models], [undefined, [entry]]);
  // A server for all models does not take the place of a model's own.
  const changed = place.write(
    "both.jsonl",
    linesOf([{ ...plan, baseURL: usual.url }]),
  );
  for (const [journal, more] of [[changed, []], [out, ["--base-url", other.url]]] as const) {
    const again = await toolgate(["run", journal, "--only", trial.id, ...more]);
    assertEquals(again.code, 0, again.all);
  }
  assertEquals([own.trials, usual.trials, other.trials], [2 + 1, 0, 1]);
});

Deno.test("toolgate run --only sends a journal's servers no key, and reads no variable that it names", async () => {
  await using place = await folder();
  await using server = sayingServer([{ text: "no" }]);
  let seen = 0;
  /** The keys that came since it was last asked for them. */
  const keys = () => {
    const last = server.asked.slice(seen).map(({ headers }) => headers.get("authorization"));
    seen += last.length;
    return last;
  };
  const env = { OPENAI_API_KEY: "key-of-openai-12345", AWS_SECRET: "secret-of-another-67890" };
  const elsewhere = "https://models.example/v1";
  const bare = { model: "mine" };
  const stage = (entry: object) => ({
    models: [bare],
    strategies: [{ strategy: "plan_then_call", models: { plan: entry } }],
  });
  const journal = (plan: Record<string, unknown>, baseURL?: string) => {
    const planned = planSuite({ ...SUITE, graphs: 1, ...plan } as Suite);
    // What an attacker writes is hashed as well as what we write.
    const line = planLine({ ...planned, ...(baseURL === undefined ? {} : { baseURL }) });
    return { path: place.write("a.jsonl", linesOf([line])), id: planned.trials[0]!.id };
  };
  const only = ({ path, id }: { path: string; id: string }, ...more: string[]) =>
    toolgate(["run", path, "--only", id, "--retries", "0", ...more], { env });

  // A server on this machine is asked, without a key, unless the user names it too.
  for (const at of [{ models: [{ ...bare, baseURL: server.url }] }, { baseURL: server.url }]) {
    const { models = [bare], baseURL } = at as { models?: object[]; baseURL?: string };
    const asked = await only(journal({ models }, baseURL));
    assertEquals(asked.code, 0, asked.all);
    assertStringIncludes(asked.stderr, `No key is sent to ${new URL(server.url).host}`);
    assertEquals(keys(), ["Bearer none"]);
  }
  const variable = { ...bare, apiKeyVariable: "AWS_SECRET", baseURL: server.url };
  assertEquals((await only(journal({ models: [variable] }))).code, 0);
  assertEquals(keys(), ["Bearer none"]);
  const named = await only(journal({ models: [bare] }, elsewhere), "--base-url", server.url);
  assertEquals(named.code, 0, named.all);
  assertEquals(keys(), [`Bearer ${env.OPENAI_API_KEY}`]);

  const unnamed = await only(journal({ models: [bare] }, elsewhere));
  assertEquals(unnamed.code, 2, unnamed.all);
  assertMatch(unnamed.stderr, /models\.example .*--base-url='?https:\/\/models\.example\/v1/);
  const plans: [Record<string, unknown>, string[], RegExp][] = [
    [{ models: [{ ...bare, baseURL: elsewhere }] }, [], /it names models\.example for mine/],
    [{ models: [{ ...bare, baseURL: "http://0.0.0.0:9/v1" }] }, [], /it names 0\.0\.0\.0:9/],
    [{ models: [{ ...bare, baseURL: "http://api.openai.com/v1" }] }, [], /names api\.openai\.com/],
    [{ models: [{ ...bare, baseURL: "https://127.0.0.1.evil.example/v1" }] }, [], /evil\.example/],
    [stage({ model: "planner", baseURL: elsewhere }), [], /it names models\.example for planner/],
    [{ models: [variable] }, ["--base-url", server.url], /it names AWS_SECRET for mine/],
    [{ models: [{ ...bare, apiKeyVariable: "AWS_SECRET" }] }, [], /it names AWS_SECRET for mine/],
    [
      { models: [{ ...bare, provider: "xai", baseURL: "https://api.openai.com/v1" }] },
      [],
      /names api\.openai\.com/,
    ],
    [
      { models: [{ ...bare, provider: "xai", apiKeyVariable: "OPENAI_API_KEY" }] },
      [],
      /it names OPENAI_API_KEY for mine/,
    ],
    [{ models: [{ ...bare, headers: { "x-key": "$AWS_SECRET" } }] }, [], /headers/],
  ];
  for (const [plan, more, rule] of plans) {
    const { code, stderr, all } = await only(journal(plan), ...more);
    assertEquals(code, 2, all);
    assertMatch(stderr, rule);
    assertEquals(/key-of-openai|secret-of-another/.test(all), false, all);
  }
  assertEquals(keys(), []);
});

Deno.test("benchmark() keeps its server in its journal, unless the address holds a secret", async () => {
  await using place = await folder();
  await using server = countingServer();
  const addresses = {
    plain: server.url,
    key: `${server.url}?key=secret`,
    hash: `${server.url}#secret`,
  };
  const finished = await CollectedTests.of(() => {
    for (const [name, baseURL] of Object.entries(addresses)) {
      benchmark(name, {
        ...{ model: "mine", tasks: { core: 2, depth: 1 }, seed: 1, graphs: 1 },
        ...{ baseURL, journal: place.file(`${name}.jsonl`) },
      });
    }
  }).run();
  assertEquals(finished.code, 0, finished.all);
  const journals = ["plain", "key", "hash"].map((name) => place.file(`${name}.jsonl`));
  assertEquals(journals.map((path) => readLines(path)[0].baseURL), [
    server.url,
    undefined,
    undefined,
  ]);
  for (const path of journals) {
    assertEquals(Deno.readTextFileSync(path).includes("secret"), false, path);
  }
  const before = server.trials;
  const [, trial] = readLines(journals[0]!);
  const again = await toolgate(["run", journals[0]!, "--only", trial.id]);
  assertEquals([again.code, server.trials - before], [0, 1], again.all);
});

// Lines

/** Names that a shell would take apart, or take for commands. */
const ODD = [
  "it's",
  `"quoted" 'twice'`,
  "back\\slash\\",
  "$(exit 9) `exit 9` ${HOME} $HOME",
  "a; exit 9 & b | c > d < e ( f ) # g",
  "* ? [a] {b,c} ~ ! !!",
  " two  spaces ",
  "é 日本",
  "long ".repeat(60),
  "$(exit 9)'\\''".repeat(30),
];

/** The words that a line hands to `deno`, by way of a shell. */
async function wordsOf(place: Folder, line: string, shell: string): Promise<string[]> {
  const bin = place.file("bin");
  Deno.mkdirSync(bin, { recursive: true });
  place.write("bin/deno", `#!/bin/sh\nprintf '%s\\0' "$@"\n`);
  Deno.chmodSync(`${bin}/deno`, 0o755);
  const { stdout, code, all } = await start(shell, ["-c", line], {
    env: { PATH: `${bin}:${Deno.env.get("PATH")}` },
  }).finished;
  assertEquals(code, 0, all);
  return stdout.split("\0").slice(0, -1);
}

/** The lines that the report of a journal shows for its trials. */
async function linesIn(journal: string): Promise<(string | undefined)[]> {
  return reportedTrials(await writeReport(journal)).map(({ rerun }) => rerun);
}

Deno.test("a report's rerun lines hand any path and any id to any shell", async () => {
  await using place = await folder();
  const names = [...ODD, "a\nb", HOSTILE];
  const plan = planSuite({ ...SUITE, graphs: 1, models: names });
  const lines = [planLine(plan), ...plan.trials.map((one) => finish(one, { suite: "small" }))];
  // No name of a file is longer than 255 bytes; paths are.
  const folders = [...ODD.map((name) => name.slice(0, 80).replaceAll("/", "")), "deep/".repeat(60)];
  for (const [at, name] of folders.entries()) {
    const path = `${place.path}/${at}/${name}`;
    Deno.mkdirSync(path, { recursive: true });
    const journal = `${path}/${name.slice(0, 60).replaceAll("/", "")}.jsonl`;
    Deno.writeTextFileSync(journal, linesOf(lines));
    const shown = await linesIn(journal);
    assertEquals(shown.length, names.length);
    // With one path all ids are looked at; one id is enough for the others.
    for (const [trial, line] of shown.entries()) {
      if (at > 0 && trial > 0) continue;
      for (const shell of ["bash", "sh"]) {
        assertEquals(await wordsOf(place, line!, shell), [
          ...["task", "toolgate", "run", journal, "--only", plan.trials[trial]!.id],
        ]);
      }
    }
  }
});
