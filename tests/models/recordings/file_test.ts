import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { InputError } from "../../../lib/base/errors.ts";
import { canonicalJson, type JsonObject } from "../../../lib/base/json.ts";
import type { Message } from "../../../lib/tools/message.ts";
import type { ModelReply } from "../../../lib/models/model.ts";
import {
  parseRecording,
  readRecording,
  type RecordedRequest,
  type Recording,
  recordingPath,
  recordingText,
} from "../../../lib/models/recordings/_file.ts";
import type { ToolSchema } from "../../../lib/tools/tool.ts";
import fc from "../../support/fast_check.ts";
import { Folder } from "../../support/folders.ts";

/** Any text: half characters, line breaks of all kinds, empty ones. */
const TEXT = fc.oneof(
  fc.string({ unit: fc.character() }),
  fc.constantFrom("", "\n", "\r\n", "a\r\nb\n\n", "\ud800", "\udfff x", "__proto__", "a\u2028b"),
);
const OBJECT: fc.Arbitrary<JsonObject> = fc.dictionary(
  fc.oneof(fc.string(), fc.constantFrom("__proto__", "constructor", "1", "")),
  fc.jsonValue() as fc.Arbitrary<JsonObject[string]>,
).map((fields) => JSON.parse(JSON.stringify(fields)));
const CALL = fc.record({ id: TEXT, name: TEXT, arguments: TEXT });
const CARRIED = fc.record({ by: TEXT, items: fc.array(OBJECT, { maxLength: 2 }) });
const MESSAGE: fc.Arbitrary<Message> = fc.oneof(
  fc.record({ role: fc.constantFrom("system" as const, "user" as const), content: TEXT }),
  fc.record({
    role: fc.constant("assistant" as const),
    content: TEXT,
    calls: fc.array(CALL, { maxLength: 2 }),
  }),
  fc.record({
    role: fc.constant("assistant" as const),
    content: TEXT,
    calls: fc.array(CALL, { maxLength: 2 }),
    carried: CARRIED,
  }),
  fc.record({ role: fc.constant("tool" as const), callId: TEXT, name: TEXT, content: TEXT }),
);
const REPLY: fc.Arbitrary<ModelReply> = fc.record({
  text: TEXT,
  calls: fc.array(CALL, { maxLength: 2 }),
  finish: fc.constantFrom("stop", "calls", "length", "filter", "other"),
  usage: fc.record({ inputTokens: fc.nat(), outputTokens: fc.nat() }),
  served: TEXT,
  duration: fc.nat(),
  repairs: fc.array(TEXT, { maxLength: 2 }),
  parsed: fc.constantFrom("strict", "repaired", "unreadable"),
  written: TEXT,
  carried: CARRIED,
}, {
  requiredKeys: ["text", "calls", "finish", "usage", "served", "duration", "repairs"],
});
const TOOL: fc.Arbitrary<ToolSchema> = fc.record({
  name: TEXT,
  description: TEXT,
  parameters: OBJECT,
});
const HASH = fc.string({
  unit: fc.constantFrom(..."0123456789abcdef"),
  minLength: 64,
  maxLength: 64,
});
const REQUEST: fc.Arbitrary<RecordedRequest> = fc.record({
  request: fc.integer({ min: 1, max: 99 }),
  stage: TEXT,
  occurrence: fc.integer({ min: 2, max: 9 }),
  hash: HASH,
  model: fc.constant(1),
  tools: fc.constant(1),
  toolChoice: fc.oneof(fc.constant("auto" as const), fc.constant({ function: "f" })),
  messages: fc.array(fc.constant([1, 1] as [number, number]), { maxLength: 4 }),
  reply: REPLY,
}, { requiredKeys: ["request", "hash", "model", "messages", "reply"] });
const RECORDING: fc.Arbitrary<Recording> = fc.record({
  trial: TEXT,
  draw: HASH,
  origin: fc.constant({ runs: ["20260102T030405Z-01234567"], lost: [] }),
  models: fc.constant([{ model: "m", temperature: 0.5 }]),
  tools: fc.array(fc.array(TOOL, { minLength: 1, maxLength: 2 }), { minLength: 1, maxLength: 2 }),
  messages: fc.array(MESSAGE, { minLength: 1, maxLength: 4 }),
  requests: fc.array(REQUEST, { maxLength: 4 }),
});

const REQUEST_1: RecordedRequest = {
  request: 1,
  hash: "0".repeat(64),
  model: 1,
  messages: [[1, 1]],
  reply: {
    text: "2",
    calls: [],
    finish: "stop",
    usage: { inputTokens: 1, outputTokens: 1 },
    served: "m-1",
    duration: 3,
    repairs: [],
  },
};
const SMALL: Recording = {
  trial: "a=1",
  draw: "2".repeat(64),
  origin: { runs: ["20260102T030405Z-01234567"], lost: [] },
  models: [{ model: "m" }],
  tools: [],
  messages: [{ role: "user", content: "Add." }],
  requests: [REQUEST_1],
};

Deno.test("recordingText() and parseRecording() keep any recording as it is", () => {
  fc.assert(fc.property(RECORDING, (recording) => {
    const { v, kind, ...read } = parseRecording(recordingText(recording), "a.json") as Recording & {
      v: number;
      kind: string;
    };
    assertEquals([v, kind], [1, "recording"]);
    assertEquals(canonicalJson(read), canonicalJson(recording));
  }));
});

Deno.test("recordingText() has a line for each line of a text", () => {
  const text = recordingText({
    ...SMALL,
    messages: [{ role: "user", content: `${"first ".repeat(20)}\nsecond` }],
  });
  const lines = text.split("\n").map((line) => line.trim());
  assert(lines.includes('"second"'));
});

Deno.test("readRecording() gives nothing where there is no file", () => {
  assertEquals(readRecording("/tmp/toolgate/no/such/file.json"), undefined);
});

Deno.test("readRecording() names the file, the path and the rule of what it cannot use", () => {
  using folder = new Folder();
  const whole = JSON.parse(recordingText(SMALL));
  const [request] = whole.requests;
  const bad: [what: unknown, told: string][] = [
    ["", "must be JSON: it is none, or was cut short"],
    [recordingText(SMALL).slice(0, -20), "must be JSON: it is none, or was cut short"],
    [[], "at the top"],
    [{ ...whole, v: 2 }, "it is of version 2 of the format, and this toolgate reads 1"],
    [{ ...whole, kind: "plan" }, 'at kind: expected "recording"'],
    [{ ...whole, draw: undefined }, "at draw"],
    [{ ...whole, trial: 7 }, "at trial"],
    [{ ...whole, more: 1 }, "more"],
    [
      { ...whole, requests: [{ ...request, model: 2 }] },
      "at requests[0].model: must be of what the file has",
    ],
    [
      { ...whole, requests: [{ ...request, tools: 1 }] },
      "at requests[0].tools: must be of what the file has",
    ],
    [
      { ...whole, requests: [{ ...request, messages: [[1, 2]] }] },
      "at requests[0].messages: must be of what the file has",
    ],
    [{ ...whole, requests: [{ ...request, reply: undefined }] }, "either a reply or an error"],
    [{ ...whole, requests: [{ ...request, hash: "x" }] }, "at requests[0].hash"],
    [{ ...whole, messages: [{ role: "user", content: 7 }] }, "at messages[0].content"],
    [
      {
        ...whole,
        requests: [{ ...request, reply: { ...request.reply, usage: { inputTokens: -1 } } }],
      },
      "usage",
    ],
    [{ ...whole, requests: [null] }, "at requests[0]: expected object"],
    [
      { ...whole, requests: [{ ...request, messages: [[0, 1]] }] },
      "at requests[0].messages[0][0]: must be at least 1: it is 0",
    ],
  ];
  for (const [what, told] of bad) {
    const path = folder.write("a.json", typeof what === "string" ? what : JSON.stringify(what));
    const error = assertThrows(() => readRecording(path), InputError);
    assertStringIncludes(error.message, path);
    assertStringIncludes(error.message, told);
  }
  const error = assertThrows(() => readRecording(folder.path), InputError);
  assertStringIncludes(error.message, "it is a folder");
});

Deno.test("readRecording() refuses what was changed after it was recorded", () => {
  using folder = new Folder();
  const failed = [{ cause: "unclear" as const, status: 500, message: "no JSON" }];
  const error = { kind: "infrastructure" as const, message: "no network" };
  const { reply, ...asked } = REQUEST_1;
  const kept: Recording = {
    ...SMALL,
    requests: [
      { ...asked, reply: { ...reply!, failed } },
      { ...asked, request: 2, hash: "1".repeat(64), reply: reply! },
      { ...asked, request: 3, error },
    ],
  };
  const text = recordingText(kept);
  const read = (changed: string) => readRecording(folder.write("a.json", changed));
  assertEquals(read(text)?.requests, kept.requests);
  const whole = JSON.parse(text);
  // Its layout is free.
  assertEquals(read(JSON.stringify(whole))?.requests, kept.requests);
  const changes: [at: string, change: (requests: Record<string, unknown>[]) => void][] = [
    ["requests[0].reply", ([one]) => Object.assign(one!["reply"] as object, { text: "3" })],
    ["requests[0].reply", ([one]) => Object.assign(one!["reply"] as object, { failed: [] })],
    [
      "requests[2].error",
      (all) => Object.assign(all[2]!["error"] as object, { kind: "time_limit" }),
    ],
    ["requests[1].checksum", (all) => delete all[1]!["checksum"]],
    ["requests[1].reply", ([one, two]) => {
      const { reply, checksum } = one!;
      Object.assign(two!, { reply, checksum });
    }],
  ];
  for (const [at, change] of changes) {
    const changed = structuredClone(whole);
    change(changed.requests);
    const { message } = assertThrows(() => read(JSON.stringify(changed)), InputError);
    assertStringIncludes(message, `${folder.file("a.json")}:\n  at ${at}: must `);
  }
});

Deno.test("recordingPath() gives each trial and model a name that every file system takes", () => {
  fc.assert(fc.property(TEXT, TEXT, TEXT, (one, other, model) => {
    const path = recordingPath("folder/", one, model);
    const parts = path.split("/");
    assertEquals([parts.length, parts[0]], [3, "folder"]);
    for (const part of parts.slice(1)) {
      assert(/^[a-z0-9][a-z0-9.-]{0,180}$/.test(part), part);
      assert(!/^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/.test(part), part);
    }
    assertEquals(path === recordingPath("folder", other, model), one === other);
  }));
  // Ids that differ in nothing that a name can show.
  assert(recordingPath("f", "case=A", "m") !== recordingPath("f", "case=a", "m"));
});
