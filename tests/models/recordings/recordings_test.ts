import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { InputError } from "../../../lib/base/errors.ts";
import type { JsonObject } from "../../../lib/base/json.ts";
import type { Message } from "../../../lib/tools/message.ts";
import {
  InfrastructureError,
  type Model,
  type ModelReply,
  type ModelRequest,
  TimeLimitError,
} from "../../../lib/models/model.ts";
import type { ModelEntry } from "../../../lib/models/entry.ts";
import { planSuite } from "../../../lib/runs/plan.ts";
import type { RecordingMode } from "../../../lib/models/recordings/options.ts";
import type { TrialRecording } from "../../../lib/models/recordings/_trial_recording.ts";
import {
  parseRecording,
  recordingPath,
  recordingText,
} from "../../../lib/models/recordings/_file.ts";
import { Recordings } from "../../../lib/models/recordings/recordings.ts";
import { Run, type RunOptions } from "../../../lib/runs/run.ts";
import type { Suite } from "../../../lib/runs/suite.ts";
import type { Trial } from "../../../lib/trials/trial.ts";
import { Folder } from "../../support/folders.ts";
import { assertLinear } from "../../support/growth.ts";
import { inProcess } from "../../support/in_process.ts";

/** Whatever a model of the user's own replies. */
function reply(text: string, more: Partial<ModelReply> = {}): ModelReply {
  return {
    text,
    calls: [],
    finish: "stop",
    usage: { inputTokens: 3, outputTokens: 1 },
    served: "m-1",
    duration: 12,
    repairs: [],
    ...more,
  };
}

const TOOL = {
  name: "weather",
  description: "Tells the weather.",
  parameters: { type: "object", properties: { city: { type: "string" } } },
};

interface Exchange {
  readonly mode: Exclude<RecordingMode, "live">;
  readonly trial?: string;
  readonly entry?: ModelEntry;
  /** The name of its model; default: as its server has it. */
  readonly name?: string;
  readonly seconds?: number;
  /** Whether it is scripted; default false. */
  readonly simulated?: boolean;
  /** What the model does; default it must not be asked. */
  readonly answer?: (request: ModelRequest) => Promise<ModelReply>;
  /** Ends as infrastructure ends it. */
  readonly invalid?: boolean;
  /** The trials of its plan; default: it has none. */
  readonly planned?: readonly string[];
}

const TRIAL = "core=2 depth=1 seed=1 model=m strategy=plain perturbation=none repetition=1";

/** One trial of which the test makes the requests. */
async function exchange(
  folder: Folder,
  {
    mode,
    trial = TRIAL,
    entry = { model: "m" },
    name = entry.model,
    seconds,
    simulated = false,
    answer,
    invalid = false,
    planned,
  }: Exchange,
  work: (
    ask: (request: Partial<ModelRequest>, number?: number, stage?: string) => Promise<ModelReply>,
  ) => Promise<unknown>,
): Promise<{ recordings: Recordings; recording: TrialRecording }> {
  const recordings = new Recordings({ folder: folder.path, mode });
  recordings.claim([], "own", planned?.map((id) => ({ id, model: name })));
  const model = recordings.model(entry, { name, simulated }, () => ({
    name,
    simulated,
    reply: answer ?? (() => Promise.reject(new Error("nobody must ask"))),
  }));
  const recording = recordings.begin({ id: trial, model: name }, { seconds });
  try {
    await work((request, number = 1, stage) =>
      model.reply({
        messages: [{ role: "user", content: "Rome?" }],
        tools: [],
        context: {
          ...{ trial, repetition: 1, request: number },
          ...(stage === undefined ? {} : { stage }),
        },
        ...request,
      })
    );
  } finally {
    recordings.end(recording);
  }
  if (recording.fault === undefined) await recordings.keep(recording, !invalid);
  return { recordings, recording };
}

function answering(...texts: string[]): (request: ModelRequest) => Promise<ModelReply> {
  return () => Promise.resolve(reply(texts.length > 1 ? texts.shift()! : texts[0]!));
}

/** What a replay that cannot go on says. */
async function missed(
  folder: Folder,
  options: Partial<Exchange>,
  request: Partial<ModelRequest> = {},
  number = 1,
  stage?: string,
): Promise<string> {
  let message = "";
  const { recording } = await exchange(folder, { mode: "replay", ...options }, async (ask) => {
    message = (await assertRejects(() => ask(request, number, stage), InputError)).message;
    // Whatever swallows an error, nothing goes on behind it.
    await assertRejects(() => ask({}, 1), InputError, message);
  });
  assertEquals(recording.fault?.message, message);
  return message;
}

function filesIn(folder: Folder): string[] {
  return [...Deno.readDirSync(folder.path)].filter(({ isDirectory }) => isDirectory)
    .flatMap(({ name }) =>
      [...Deno.readDirSync(folder.file(name))].map((file) => `${name}/${file.name}`)
    )
    .sort();
}

Deno.test("Recordings give back what a model said, and ask nobody", async () => {
  using folder = new Folder();
  const said = reply("It rains.\r\nTake \ud800", {
    calls: [{ id: "1", name: "weather", arguments: '{"__proto__": 1}' }],
    finish: "calls",
    parsed: "repaired",
    written: "as it was\nwritten",
    repairs: ["a quote"],
    failed: [
      { cause: "infrastructure", status: 429, message: "too many" },
      { cause: "unclear", message: "no reply" },
    ],
    carried: { by: "m at 10.0.0.7:8000", items: [JSON.parse('{"__proto__": {"a": 1}}')] },
  });
  const ask = { tools: [TOOL], toolChoice: "required" as const };
  await exchange(
    folder,
    { mode: "record", answer: () => Promise.resolve(said) },
    (asks) => asks(ask),
  );
  let replayed: ModelReply | undefined;
  const { recording } = await exchange(folder, { mode: "replay" }, async (asks) => {
    replayed = await asks(ask);
  });
  // Where it was asked is kept nowhere.
  assertEquals(JSON.stringify(replayed!.carried!.items), JSON.stringify(said.carried!.items));
  assertEquals({ ...replayed, carried: undefined }, { ...said, carried: undefined });
  assertEquals([recording.replayed, recording.live], [true, 0]);
  const [file] = filesIn(folder);
  assert(!folder.read(file!).includes("10.0.0.7"));
});

Deno.test("Recordings keep what was carried for the requests that follow", async () => {
  using folder = new Folder();
  const carried = { by: "m at 127.0.0.1:4444", items: [{ id: "r1" }] };
  const talk = async (
    ask: (request: Partial<ModelRequest>, number?: number) => Promise<ModelReply>,
  ) => {
    const messages: ModelRequest["messages"] = [{ role: "user", content: "Rome?" }];
    const first = await ask({ messages }, 1);
    const said = {
      role: "assistant" as const,
      content: first.text,
      calls: first.calls,
      carried: first.carried!,
    };
    await ask({ messages: [...messages, said, { role: "user", content: "And?" }] }, 2);
  };
  const answer = () => Promise.resolve(reply("Well.", { carried }));
  await exchange(folder, { mode: "record", answer }, talk);
  const { recording } = await exchange(folder, { mode: "replay" }, talk);
  assertEquals(recording.fault, undefined);
  // No message is written twice.
  const { messages, requests } = JSON.parse(folder.read(filesIn(folder)[0]!));
  assertEquals(requests.map(({ messages }: JsonObject) => messages), [[[1, 1]], [[1, 3]]]);
  assertEquals(messages.length, 3);
});

Deno.test("Recordings tell requests apart by stage, number and occurrence", async () => {
  using folder = new Folder();
  const places: [number, string?][] = [[1], [1], [1, "plan"], [2], [1, "plan"]];
  const talk = (texts: string[]) =>
  async (
    ask: (request: Partial<ModelRequest>, number?: number, stage?: string) => Promise<ModelReply>,
  ) => {
    for (const [number, stage] of places) texts.push((await ask({}, number, stage)).text);
  };
  const [live, again]: [string[], string[]] = [[], []];
  await exchange(
    folder,
    { mode: "record", answer: answering("a", "b", "c", "d", "e") },
    talk(live),
  );
  await exchange(folder, { mode: "replay" }, talk(again));
  assertEquals(live, ["a", "b", "c", "d", "e"]);
  assertEquals(again, live);
});

Deno.test("Recordings replay a model that ran out of time, or could not be reached, as that", async () => {
  using folder = new Folder();
  const errors = [
    new TimeLimitError("The time limit of 1000 ms was reached"),
    new InfrastructureError("503 from m: Authorization: Bearer abcdef123456"),
    new TypeError("of its own"),
  ];
  const talk = async (
    ask: (request: Partial<ModelRequest>, number: number) => Promise<ModelReply>,
  ) => {
    const told: string[] = [];
    for (const number of [1, 2, 3]) {
      await ask({}, number).catch((error) => {
        told.push(`${error.constructor.name}: ${error.message}`);
      });
    }
    assertEquals(told.map((one) => one.split(":")[0]!), [
      "TimeLimitError",
      "InfrastructureError",
      told[2]!.split(":")[0]!,
    ]);
    return told;
  };
  const queue = [...errors];
  await exchange(folder, {
    mode: "record",
    seconds: 1,
    answer: () => Promise.reject(queue.shift()),
  }, talk);
  let told: string[] = [];
  await exchange(folder, { mode: "replay", seconds: 1 }, async (ask) => {
    told = await talk(ask);
  });
  assertEquals(told[0], `TimeLimitError: ${errors[0]!.message}`);
  assert(!folder.read(filesIn(folder)[0]!).includes("abcdef123456"));
  assertEquals(told[2], "Error: of its own");
  // With more time it might have replied.
  const longer = await missed(folder, { seconds: 2 });
  assertStringIncludes(longer, "the model ran out of 1 seconds there, and has 2 now");
  assertStringIncludes(await missed(folder, {}), "and has no limit of now");
  // With less it would have run out as well.
  await exchange(folder, { mode: "replay", seconds: 0.5 }, talk);
});

Deno.test("Recordings replay a request that ran out of its own time as that, however long a trial may be", async () => {
  using folder = new Folder();
  const late = () => Promise.reject(new TimeLimitError("no reply in 60 s", { ofRequest: true }));
  const talk = async (ask: (request: Partial<ModelRequest>) => Promise<ModelReply>) => {
    const error = await assertRejects(() => ask({}), TimeLimitError, "no reply in 60 s");
    assert(error.ofRequest);
  };
  await exchange(folder, { mode: "record", seconds: 100, answer: late }, talk);
  await exchange(folder, { mode: "replay", seconds: 200 }, talk);
});

Deno.test("a miss tells the first difference from what was recorded", async () => {
  using folder = new Folder();
  const long = `${"The same. ".repeat(30)}In Rome it rains.${" And so on.".repeat(30)}`;
  const messages: ModelRequest["messages"] = [
    { role: "system", content: "Be brief." },
    { role: "user", content: long },
  ];
  const asked = { messages, tools: [TOOL], toolChoice: "auto" as const };
  const entry = { model: "m", temperature: 0.5 };
  await exchange(folder, { mode: "record", entry, answer: answering("Yes.") }, (ask) => ask(asked));
  await exchange(folder, { mode: "replay", entry }, (ask) => ask(asked));

  const changed = async (more: Partial<ModelRequest>, other: ModelEntry = entry) => {
    const message = await missed(folder, { entry: other }, { ...asked, ...more });
    assertStringIncludes(
      message,
      "Cannot replay a trial as its recording must have every request",
    );
    assertStringIncludes(message, TRIAL);
    assertEquals(message.split("\n").length, 3);
    assertStringIncludes(message, `recording: ${folder.path}/m/core-2-depth-1-seed-1-`);
    assertStringIncludes(message, `--record=${folder.path}, or --auto=${folder.path}`);
    const [, path, recorded, now] =
      /first difference at (\S*): recorded (.*), asked (.*)\n/.exec(message) ?? [];
    return [path, recorded, now];
  };
  const other = { role: "user" as const, content: long.replace("Rome", "\u001b[31mOslo") };
  const [path, recorded, now] = await changed({ messages: [messages[0]!, other] });
  assertEquals(path, "messages[1].content");
  assertStringIncludes(recorded!, "In Rome it rains");
  assertStringIncludes(now!, "In \\u001b[31mOslo it rains");
  assert(recorded!.length < 200 && now!.length < 200);

  const shorter = { ...TOOL, description: "Tells." };
  assertEquals(await changed({ tools: [shorter] }), [
    "tools[0].description",
    '"Tells the weather."',
    '"Tells."',
  ]);
  assertEquals(await changed({}, { model: "m", temperature: 0.7 }), [
    "model.temperature",
    "0.5",
    "0.7",
  ]);
  assertEquals(await changed({ toolChoice: "required" }), ["toolChoice", '"auto"', '"required"']);
  assertEquals(await changed({ messages: [...messages, { role: "user", content: "And?" }] }), [
    "messages[2]",
    "nothing",
    '{"role":"user","content":"And?"}',
  ]);
  // Neither its address nor its key nor its name in results changes what is asked.
  const elsewhere = {
    ...entry,
    baseURL: "http://10.0.0.7/v1",
    apiKeyVariable: "KEY",
    name: "mine",
  };
  const { recording } = await exchange(folder, {
    mode: "replay",
    entry: { ...elsewhere, model: "m" },
  }, (ask) => ask(asked));
  assertEquals(recording.fault, undefined);
});

Deno.test("a miss tells that more is asked than was recorded", async () => {
  using folder = new Folder();
  await exchange(folder, { mode: "record", answer: answering("Yes.") }, (ask) => ask({}));
  assertStringIncludes(await missed(folder, {}, {}, 2), "it has no request 2");
  assertStringIncludes(
    await missed(folder, {}, {}, 2),
    "it ends with request 1, and this run makes more",
  );
  assertStringIncludes(
    await missed(folder, {}, {}, 1, "plan"),
    "it has no request 1 of stage plan: ",
  );
  const file = filesIn(folder)[0]!;
  const recording = parseRecording(folder.read(file), file);
  const requests = recording.requests.map((one) => ({ ...one, hash: "0".repeat(64) }));
  const other = recordingText({ ...recording, requests });
  folder.write(file, other.replace("Rome?", "Oslo?"));
  assertStringIncludes(await missed(folder, {}), "messages[0].content");
  folder.write(file, other);
  assertStringIncludes(await missed(folder, {}), "its hash does not match its request");
});

Deno.test("a miss of a whole trial tells which recording is nearest, and in what it differs", async () => {
  using folder = new Folder();
  const empty = () => new Recordings({ folder: folder.path, mode: "replay" });
  assertThrows(empty, InputError, `from ${folder.path} as it must have recordings: it is empty`);
  folder.write("README.md", "none yet");
  assertStringIncludes(await missed(folder, {}), `${folder.path} has no recording at all`);
  const others = [
    TRIAL.replace("seed=1", "seed=2").replace("repetition=1", "repetition=2"),
    TRIAL.replace("model=m", "model=n%20n"),
    TRIAL.replace("strategy=plain", "strategy=restate").replace("seed=1", "seed=3"),
  ];
  for (const trial of others) {
    await exchange(folder, { mode: "record", trial, answer: answering("Yes.") }, (ask) => ask({}));
  }
  folder.write("m/broken.json", "{");
  const error = await missed(folder, {});
  assertStringIncludes(error, "there is no recording of it (request 1)");
  assertStringIncludes(error, TRIAL);
  assertStringIncludes(error, "of model n%20n in place of m\n");
  assertEquals(error.split("\n").length, 3);
});

Deno.test("auto replays what matches, asks for the rest, and keeps both", async () => {
  using folder = new Folder();
  const talk =
    (second: string, texts: string[] = []) =>
    async (ask: (request: Partial<ModelRequest>, number?: number) => Promise<ModelReply>) => {
      texts.push((await ask({}, 1)).text);
      texts.push((await ask({ messages: [{ role: "user", content: second }] }, 2)).text);
    };
  const auto = { mode: "auto" as const };
  const first = await exchange(folder, { ...auto, answer: answering("a", "b") }, talk("x"));
  assertEquals([first.recording.replayed, first.recording.live], [false, 2]);
  const same = await exchange(folder, auto, talk("x"));
  assertEquals([same.recording.replayed, same.recording.live], [true, 0]);
  const texts: string[] = [];
  const changed = await exchange(folder, { ...auto, answer: answering("c") }, talk("y", texts));
  assertEquals([texts, changed.recording.replayed, changed.recording.live], [["a", "c"], false, 1]);
  texts.length = 0;
  await exchange(folder, { mode: "replay" }, talk("y", texts));
  assertEquals(texts, ["a", "c"]);
  assertEquals(filesIn(folder).length, 1);
});

Deno.test("auto takes no reply for two trials, for another model, or from a copy", async () => {
  const other = TRIAL.replace("strategy=plain", "strategy=restate");
  const named = { entry: { model: "x" }, name: "m" };
  const answer = answering("a");
  using made = new Folder();
  await exchange(made, { mode: "record", ...named, answer }, (ask) => ask({}));
  const [own] = filesIn(made);
  const text = made.read(own!);
  /** How many replies a trial asks for in a folder with these files. */
  const asked = async (files: Record<string, string>, trial: string, name = "m") => {
    using folder = new Folder();
    Deno.mkdirSync(folder.file("m"));
    for (const [file, content] of Object.entries(files)) folder.write(file, content);
    const { recording } = await exchange(folder, {
      ...{ mode: "auto", trial, answer },
      ...{ ...named, name },
    }, (ask) => ask({}));
    return recording.live;
  };
  assertEquals(await asked({ [own!]: text }, other), 0);
  assertEquals(await asked({ "m/copy.json": text }, other), 1);
  // Its folder has the same name, and its server may be another one.
  assertEquals(await asked({ [own!]: text }, other.replace("model=m", "model=M"), "M"), 1);

  // Two that share a reply, as another process may have left them.
  using folder = new Folder();
  Deno.mkdirSync(folder.file("m"));
  const recording = parseRecording(text, "it");
  folder.write(own!, text);
  Deno.writeTextFileSync(
    recordingPath(folder.path, other, "m"),
    recordingText({ ...recording, trial: other }),
  );
  const first = await exchange(folder, { mode: "replay", ...named }, (ask) => ask({}));
  assertEquals(first.recording.live, 0);
  const told = await missed(folder, { trial: other, ...named });
  assertStringIncludes(told, "each trial of a run needs a conversation of its own");
  const again = await exchange(
    folder,
    { mode: "auto", ...named, trial: other, answer },
    (ask) => ask({}),
  );
  assertEquals(again.recording.live, 1);
});

Deno.test("auto takes no reply of another server or of a script, and a replay does", async () => {
  using folder = new Folder();
  const at = (baseURL: string) => ({ entry: { model: "m", baseURL } });
  const live = async (options: Exchange) =>
    (await exchange(folder, { answer: answering("a"), ...options }, (ask) => ask({}))).recording
      .live;
  const [here, there] = [at("http://key:x@one.test/v1?key=y"), at("http://two.test/v1")];
  assertEquals(await live({ mode: "auto", ...here }), 1);
  const [file] = filesIn(folder);
  const text = folder.read(file!);
  assert(!text.includes("one.test"), text);
  assertEquals(await live({ mode: "auto", ...at("http://one.test/v1/") }), 0);
  assertEquals(await live({ mode: "replay", ...there }), 0);
  const other = TRIAL.replace("strategy=plain", "strategy=restate");
  assertEquals(await live({ mode: "auto", ...there, trial: other }), 1);
  assertEquals(await live({ mode: "auto", ...there }), 1);
  assertEquals(await live({ mode: "auto", ...here, simulated: true }), 1);
  assertEquals(await live({ mode: "replay", ...here, simulated: true }), 0);
});

Deno.test("a reply that auto draws at another server is in place of the first one", async () => {
  using folder = new Folder();
  const origins = [];
  for (const host of ["one", "two", "two"]) {
    const entry = { model: "m", baseURL: `http://${host}.test/v1` };
    const options = { mode: "auto", entry, answer: answering("a") } as const;
    origins.push((await exchange(folder, options, (ask) => ask({}))).recording.origin!);
  }
  // Both are drawn in one process.
  const { runs } = origins[0]!;
  assertEquals(origins, [{ runs, lost: [] }, { runs, lost: runs }, { runs, lost: runs }]);
});

Deno.test("auto takes no recording of another trial for a part of a plan, as the other parts would, too", async () => {
  using folder = new Folder();
  await exchange(folder, { mode: "record", answer: answering("old") }, (ask) => ask({}));
  const ids = [1, 2].map((number) => TRIAL.replace("repetition=1", `repetition=${number + 1}`));
  const planned = ids.map((id) => ({ id, model: "m" }));
  const live = planned.map(async (own) => {
    // Each shard is a process of its own, with a copy of the folder.
    using copy = new Folder();
    Deno.mkdirSync(copy.file("m"));
    for (const file of filesIn(folder)) copy.write(file, folder.read(file));
    const recordings = new Recordings({ folder: copy.path, mode: "auto" });
    recordings.claim([own], "a shard", planned);
    const model = recordings.model(
      { model: "m" },
      { name: "m", simulated: false },
      () => ({ name: "m", simulated: false, reply: answering("new") }),
    );
    const recording = recordings.begin(own);
    const { text } = await model.reply({
      messages: [{ role: "user", content: "Rome?" }],
      tools: [],
      context: { trial: own.id, repetition: 1, request: 1 },
    });
    return [text, recording.live];
  });
  assertEquals(await Promise.all(live), [["new", 1], ["new", 1]]);
});

Deno.test("a trial that infrastructure spoiled leaves its older recording, and is told", async () => {
  using folder = new Folder();
  const record = { mode: "record" as const };
  const none = await exchange(
    folder,
    { ...record, invalid: true, answer: answering("a") },
    (ask) => ask({}),
  );
  assertEquals(filesIn(folder), []);
  assertStringIncludes(
    none.recordings.summary.join(),
    "1 trial was not recorded, as infrastructure",
  );
  await exchange(folder, { ...record, answer: answering("a") }, (ask) => ask({}));
  const before = folder.read(filesIn(folder)[0]!);
  const again = await exchange(
    folder,
    { ...record, invalid: true, answer: answering("b") },
    (ask) => ask({}),
  );
  assertEquals(folder.read(filesIn(folder)[0]!), before);
  assertStringIncludes(
    again.recordings.summary.join(),
    "1 of these have an older recording, which stays",
  );
});

Deno.test("a part of a plan that is recorded anew is told, as no gate decides over it and the rest", async () => {
  using folder = new Folder();
  const planned = [TRIAL, TRIAL.replace("seed=1", "seed=2")];
  const told = async (trial: string) => {
    const answer = answering("a");
    const { recordings } = await exchange(
      folder,
      { mode: "record", trial, planned, answer },
      (ask) => ask({}),
    );
    return recordings.doubts.filter((line) => line.includes("INVALID"));
  };
  assertEquals([await told(planned[0]!), await told(planned[1]!)], [[], []]);
  assertStringIncludes(
    (await told(planned[1]!)).join(),
    "recordings of 1 trial of an earlier run stay: a gate over these",
  );
});

Deno.test("what looks like a secret is not recorded, and the replay goes on all the same", async () => {
  using folder = new Folder();
  const key = `sk-${"a1b2c3d4".repeat(4)}`;
  const talk = async (
    ask: (request: Partial<ModelRequest>, number?: number) => Promise<ModelReply>,
  ) => {
    const messages: ModelRequest["messages"] = [{ role: "user", content: `My key is ${key}` }];
    const said = await ask({ messages }, 1);
    await ask({ messages: [...messages, { role: "assistant", content: said.text, calls: [] }] }, 2);
  };
  const answer = answering(`I see ${key}`, "Fine.");
  const { recordings } = await exchange(folder, { mode: "record", answer }, talk);
  assertStringIncludes(recordings.summary.join(), "1 reply has [redacted] in the recording");
  const text = folder.read(filesIn(folder)[0]!);
  assert(!text.includes(key));
  assertStringIncludes(text, '"redacted": true');
  const { recording } = await exchange(folder, { mode: "replay" }, talk);
  assertEquals(recording.fault, undefined);
});

/** A conversation of calls; a tool's result stands behind each. */
function calling(result: (call: string) => string, requests = 3) {
  return async (
    ask: (request: Partial<ModelRequest>, number?: number) => Promise<ModelReply>,
  ): Promise<void> => {
    const messages: Message[] = [{ role: "user", content: "Log in" }];
    for (let number = 1; number <= requests; number++) {
      const { text, calls } = await ask({ messages: [...messages] }, number);
      messages.push({ role: "assistant", content: text, calls });
      for (const { id, name, arguments: given } of calls) {
        messages.push({ role: "tool", callId: id, name, content: result(given) });
      }
    }
  };
}

function calls(given: JsonObject): Pick<ModelReply, "calls"> {
  return { calls: [{ id: "c", name: "f", arguments: JSON.stringify(given) }] };
}

Deno.test("what once gave itself away as a key stands nowhere in a recording, and is replayed", async () => {
  const key = "Zq8x7w6v5u4t3s2r1aa";
  const conversations: [said: ModelReply[], result: string][] = [
    // A tool's result gives it, and the model then uses it under another name.
    [[reply("", calls({})), reply("", calls({ use: key })), reply(key)], `{"api_key":"${key}"}`],
    // The text of a reply shows it, and the call in it does not.
    [[reply("", { ...calls({ use: key }), written: `api_key: ${key}` }), reply("a")], "fine"],
  ];
  for (const [said, result] of conversations) {
    using folder = new Folder();
    const queue = [...said];
    const answer = () => Promise.resolve(queue.shift()!);
    const talk = calling(() => result, said.length);
    const { recordings } = await exchange(folder, { mode: "record", answer }, talk);
    assertStringIncludes(recordings.summary.join(), "[redacted] in the recording");
    assert(!folder.read(filesIn(folder)[0]!).includes(key));
    const replay = await exchange(folder, { mode: "replay" }, talk);
    assertEquals(replay.recording.fault, undefined);
    // Anyone who reads only the replay must know it, too.
    assertStringIncludes(replay.recordings.doubts.join(), "a replay may go another way");
  }
});

Deno.test("what gives itself away late is taken out of what stands above it", async () => {
  using folder = new Folder();
  const key = "Zq8x7w6v5u4t3s2r1aa";
  const queue = [reply("", calls({ use: key })), reply("", calls({ token: key }))];
  const answer = () => Promise.resolve(queue.shift()!);
  const { recordings } = await exchange(
    folder,
    { mode: "record", answer },
    calling((given) => `${given} is ${key}`, 2),
  );
  assert(!folder.read(filesIn(folder)[0]!).includes(key));
  assertStringIncludes(recordings.summary.join(), "2 replies have [redacted] in the recording");
});

Deno.test("a miss tells what differs, and not what was only taken out", async () => {
  using folder = new Folder();
  const key = "Zq8x7w6v5u4t3s2r1aa";
  const queue = [reply("", calls({})), reply("", calls({ token: key })), reply("done")];
  const answer = () => Promise.resolve(queue.shift()!);
  const talk = calling((given) =>
    given === "{}" ? `{"session":"${key}"}` : given.includes(key) ? "ok" : "no such session"
  );
  await exchange(folder, { mode: "record", answer }, talk);
  let message = "";
  await exchange(folder, { mode: "replay" }, async (ask) => {
    ({ message } = await assertRejects(() => talk(ask), InputError));
  });
  assertStringIncludes(message, "first difference at messages[4].content");
  assertStringIncludes(message, 'asked "no such session"');
  assertStringIncludes(message, "a reply has [redacted] in place of what looks like a secret");
});

Deno.test("auto asks anew where infrastructure had failed, or a reply is not whole", async () => {
  using folder = new Folder();
  const key = `sk-${"a1b2c3d4".repeat(4)}`;
  const talk = (texts: string[]) => async (ask: (request: object, number: number) => unknown) => {
    for (const number of [1, 2, 3]) {
      await Promise.resolve(ask({}, number)).then(
        (said) => texts.push((said as ModelReply).text),
        ({ message }) => texts.push(message),
      );
    }
  };
  const told = (...answers: (string | Error)[]) => () => {
    const next = answers.shift()!;
    return next instanceof Error ? Promise.reject(next) : Promise.resolve(reply(next));
  };
  const first: string[] = [];
  const answer = told("a", new InfrastructureError("503"), key);
  await exchange(folder, { mode: "record", answer }, talk(first));
  assertEquals(first, ["a", "503", key]);
  const again: string[] = [];
  const { recordings } = await exchange(
    folder,
    { mode: "auto", answer: told("b", "c") },
    talk(again),
  );
  assertEquals(again, ["a", "b", "c"]);
  assertEquals(
    recordings.summary,
    [`1 trial: 0 from recordings, 1 in part and recorded in ${folder.path}/`],
  );
});

Deno.test("TrialRecording.text() takes time in proportion to the requests of a trial", async () => {
  using folder = new Folder();
  const recorded = new Map<number, TrialRecording>();
  for (const requests of [15, 240]) {
    const answer = () => Promise.resolve(reply("", calls({})));
    const { recording } = await exchange(
      folder,
      { mode: "record", answer },
      calling(() => "fine", requests),
    );
    recorded.set(requests, recording);
  }
  assertLinear(({ length }) => recorded.get(length)!.text(), "", "x", 15);
});

Deno.test("a reply that cannot be kept is told, and leaves no recording", async () => {
  using folder = new Folder();
  const answer = () => Promise.resolve(reply("a", { finish: "whenever" as "stop" }));
  const { recordings } = await exchange(folder, { mode: "record", answer }, (ask) => ask({}));
  assertEquals(filesIn(folder), []);
  assertStringIncludes(recordings.summary.join(), "a reply cannot be saved");
  assertStringIncludes(recordings.summary.join(), "requests[0].reply.finish");
});

Deno.test("Recordings of other trials, and files that are none, are refused", async () => {
  using folder = new Folder();
  await exchange(folder, { mode: "record", answer: answering("a") }, (ask) => ask({}));
  const [file] = filesIn(folder);
  const text = folder.read(file!);
  folder.write(file!, text.replace("repetition=1", "repetition=2"));
  assertStringIncludes(await missed(folder, {}), "must be of the trial core=2");
  folder.write(file!, text.slice(0, 300));
  assertStringIncludes(await missed(folder, {}), `${file} as it must be JSON`);
  assertThrows(
    () => new Recordings({ folder: folder.file("none"), mode: "replay" }),
    InputError,
    "as it must be a folder of recordings: there is no such file or folder",
  );
  assertThrows(
    () => new Recordings({ folder: folder.file(file!), mode: "replay" }),
    InputError,
    "it is a file",
  );
  const record = new Recordings({ folder: folder.file(`${file}/x`), mode: "record" });
  assertThrows(() => record.prepare(), InputError, "Cannot record in");
});

Deno.test("Recordings.prepare() refuses a folder that the system keeps closed", {
  ignore: Deno.uid() === 0,
}, () => {
  using folder = new Folder();
  Deno.chmodSync(folder.path, 0o500);
  const recordings = new Recordings({ folder: folder.path, mode: "record" });
  try {
    assertThrows(() => recordings.prepare(), InputError, "the system does not permit it");
  } finally {
    Deno.chmodSync(folder.path, 0o700);
  }
});

Deno.test("Recordings.claim() lets one benchmark of a process record a trial", () => {
  using folder = new Folder();
  const trials = [{ id: TRIAL, model: "m" }];
  const open = (mode: "record" | "replay" | "auto") =>
    new Recordings({ folder: folder.path, mode });
  open("record").claim(trials, "benchmark one");
  open("record").claim(trials, "benchmark one");
  assertThrows(
    () => open("record").claim(trials, "benchmark two"),
    InputError,
    `Cannot record benchmark two in ${folder.path} as benchmark one records the same trials there`,
  );
  // Nothing is written over where nothing is recorded anew.
  folder.write("README.md", "none yet");
  open("replay").claim(trials, "benchmark two");
  open("auto").claim(trials, "benchmark two");
});

// Runs

const SUITE: Suite = {
  name: "recorded",
  seed: 1,
  graphs: 1,
  tasks: [{ core: 3, depth: 2, connected: 1 }],
  models: ["sim:planner", "sim:noisy?stale=0.3&early=0.2&seed=1"],
  strategies: [
    "plain",
    { strategy: "plan_then_call", models: { plan: "sim:noisy?seed=2" } },
    "repair+restate",
  ],
  perturbations: ["none", "timeout"],
  repetitions: 2,
};

const IN_PROCESS: RunOptions["connect"] = ({ model }) => inProcess(model);
const NOBODY: RunOptions["connect"] = ({ model }) => {
  throw new Error(`${model} must not be connected`);
};

async function runIn(
  folder: Folder,
  mode: Exclude<RecordingMode, "live">,
  options: Partial<RunOptions> = {},
  suite: Suite = SUITE,
): Promise<Trial[]> {
  const recordings = new Recordings({ folder: folder.file("r"), mode });
  using run = new Run(planSuite(suite), {
    connect: mode === "replay" ? NOBODY : IN_PROCESS,
    recordings,
    ...options,
  });
  run.connect();
  return await run.all();
}

/** A trial but for when it began and whether it was replayed. */
function essence({ startedAt: _, replayed: __, ...trial }: Trial): unknown {
  return trial;
}

Deno.test("a run is replayed as it was, without a model", async () => {
  using folder = new Folder();
  const recorded = await runIn(folder, "record", { concurrency: 16 });
  assertEquals(recorded.map(({ replayed }) => replayed ?? false), recorded.map(() => false));
  const replayed = await runIn(folder, "replay", { concurrency: 3 });
  assertEquals(replayed.map(essence), recorded.map(essence));
  assertEquals(new Set(replayed.map((trial) => trial.replayed)), new Set<true | undefined>([true]));
  // One file for each trial, a repetition too.
  using files = new Folder();
  const own = { path: folder.file("r") } as Folder;
  assertEquals(
    filesIn({ ...files, file: (name: string) => `${own.path}/${name}`, path: own.path } as Folder)
      .length,
    recorded.length,
  );
});

Deno.test("a miss ends its trial alone, and nothing of it is in the journal", async () => {
  using folder = new Folder();
  await runIn(folder, "record");
  const journal = folder.file("a.jsonl");
  const suite: Suite = { ...SUITE, repetitions: 3 };
  const recordings = new Recordings({ folder: folder.file("r"), mode: "replay" });
  using run = new Run(planSuite(suite), { connect: NOBODY, recordings, journal });
  const settled = await Promise.allSettled(run.trials.map((_, place) => run.trial(place)));
  const lacking = run.trials.filter(({ repetition }) => repetition === 3);
  const failed = settled.flatMap((one) => one.status === "rejected" ? [one.reason] : []);
  assertEquals(failed.length, lacking.length);
  for (const error of failed) {
    assert(error instanceof InputError);
    assertStringIncludes(error.message, "of repetition 1 in place of 3");
  }
  const lines = Deno.readTextFileSync(journal).trimEnd().split("\n");
  assertEquals(lines.length, 1 + run.trials.length - lacking.length);
});

Deno.test("a model that cannot be had ends an auto run that needs it, and no other", async () => {
  using folder = new Folder();
  await runIn(folder, "auto");
  const connect: RunOptions["connect"] = () => {
    throw new InputError("Cannot ask OpenAI as it needs a key: there is none");
  };
  const again = await runIn(folder, "auto", { connect });
  assertEquals(new Set(again.map(({ replayed }) => replayed)), new Set<true | undefined>([true]));
  const more: Suite = { ...SUITE, repetitions: 3 };
  await assertRejects(() => runIn(folder, "auto", { connect }, more), InputError, "needs a key");
  assertThrows(
    () => {
      const recordings = new Recordings({ folder: folder.file("r"), mode: "record" });
      using run = new Run(planSuite(SUITE), { connect, recordings });
      run.connect();
    },
    InputError,
    "needs a key",
  );
});

Deno.test("a resumed run has a recording of every trial in its journal", async () => {
  using folder = new Folder();
  const journal = folder.file("a.jsonl");
  // Each run has its own: what the first leaves in flight is none of the second.
  const record = () => new Recordings({ folder: folder.file("r"), mode: "record" });
  {
    using run = new Run(planSuite(SUITE), {
      connect: IN_PROCESS,
      recordings: record(),
      journal,
      concurrency: 2,
    });
    for (let place = 0; place < 5; place++) await run.trial(place);
  }
  {
    using run = new Run(planSuite(SUITE), {
      connect: IN_PROCESS,
      recordings: record(),
      journal,
      resume: true,
    });
    await run.all();
  }
  const replayed = await runIn(folder, "replay");
  assertEquals(replayed.length, planSuite(SUITE).trials.length);
});

Deno.test("a trial that was given up leaves no recording", async () => {
  using folder = new Folder();
  const controller = new AbortController();
  const connect: RunOptions["connect"] = ({ model }): Model => ({
    name: model,
    simulated: true,
    reply: () => {
      controller.abort(new Error("stop"));
      return new Promise(() => {});
    },
  });
  await assertRejects(
    () => runIn(folder, "record", { connect, signal: controller.signal }),
    Error,
    "stop",
  );
  assertEquals([...Deno.readDirSync(folder.file("r"))], []);
});

Deno.test("a run keeps no recording of a trial that is invalid", async () => {
  using folder = new Folder();
  const connect: RunOptions["connect"] = ({ model }): Model => ({
    name: model,
    simulated: true,
    reply: () => Promise.reject(new InfrastructureError("503")),
  });
  const trials = await runIn(folder, "record", { connect });
  assertEquals(new Set(trials.map(({ outcome }) => outcome)), new Set<string>(["invalid"]));
  // The manifest says so.
  const [manifest, ...others] = [...Deno.readDirSync(folder.file("r"))];
  assertEquals(others, []);
  const lines = Deno.readTextFileSync(folder.file(`r/${manifest!.name}`)).trimEnd().split("\n");
  assertEquals(
    lines.map((line) => JSON.parse(line)).map(({ trial, recording, invalid }) => [
      ...[trial, recording, invalid.replaced.inputTokens],
    ]).sort(),
    trials.map(({ id }) => [id, undefined, 0]).sort(),
  );
});
