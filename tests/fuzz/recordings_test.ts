// Recordings that a merge, an editor or a disk has spoiled: a replay goes as it was recorded, or says what is
// wrong. What a person writes into a reply is refused.

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { InputError } from "../../lib/base/errors.ts";
import { parseWith } from "../../lib/base/input.ts";
import { parseJson } from "../../lib/base/json.ts";
import { planSuite } from "../../lib/runs/plan.ts";
import { parseRecording, type Recording } from "../../lib/models/recordings/_file.ts";
import { Recordings } from "../../lib/models/recordings/recordings.ts";
import { Run } from "../../lib/runs/run.ts";
import { SUITE } from "../../lib/runs/suite.ts";
import type { Trial } from "../../lib/trials/trial.ts";
import fc from "../support/fast_check.ts";
import { Folder } from "../support/folders.ts";
import {
  assertReadable,
  type ByteChange,
  byteChanges,
  changed,
  changedBytes,
  changedText,
  fuzz,
  nested,
  type TextChange,
  textChanges,
  type ValueChange,
  valueChanges,
} from "../support/fuzzing.ts";
import { inProcess } from "../support/in_process.ts";

const PLAN = planSuite(parseWith(
  SUITE,
  {
    name: "s",
    seed: 7,
    graphs: 1,
    tasks: [{ core: 3, depth: 2 }],
    models: ["sim:noisy?early=0.3&seed=5"],
    strategies: ["plain", "restate", "plan_then_call", "indirection"],
    repetitions: 2,
    limits: { seconds: 60 },
  },
  "the suite",
));

/** Each trial as it was recorded, and the text and the place of its recording. */
const RECORDED = await recorded();

interface Recorded {
  readonly trial: Trial;
  readonly text: string;
  /** Below the folder of all recordings. */
  readonly path: string;
}

async function recorded(): Promise<readonly Recorded[]> {
  using folder = new Folder();
  const recordings = new Recordings({ folder: folder.path, mode: "record" });
  using run = new Run(PLAN, { connect: ({ model }) => inProcess(model), recordings });
  const trials = await run.all();
  const models = [...Deno.readDirSync(folder.path)].filter(({ isDirectory }) => isDirectory);
  const paths = models.flatMap(({ name }) =>
    [...Deno.readDirSync(folder.file(name))].map((file) => `${name}/${file.name}`)
  );
  return paths.map((path) => {
    const text = folder.read(path);
    const trial = trials.find(({ id }) => id === JSON.parse(text).trial)!;
    return { trial, text, path };
  });
}

/** A trial but for when it began, whether it was replayed, and what its recording says of its draw. */
function essence(
  { startedAt: _, replayed: __, draw: ___, origin: ____, ...trial }: Trial,
): unknown {
  return trial;
}

/** What a replay goes by: neither what requests show beside their hash, nor the order of fields. */
function deciding({ trial, seconds, requests }: Recording): unknown {
  return [
    trial,
    seconds,
    requests.map(({ request, stage, occurrence, hash, reply, error }) => ({
      ...{ request, stage, occurrence, hash, reply, error },
    })),
  ];
}

function recordingOf(bytes: Uint8Array): Recording | undefined {
  try {
    return parseRecording(new TextDecoder().decode(bytes), "it");
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
  }
}

/** Replays one trial from a spoiled file; `true` where it could be. */
async function replayed({ trial, text, path }: Recorded, spoiled: Uint8Array): Promise<boolean> {
  using folder = new Folder();
  Deno.mkdirSync(folder.file(path.slice(0, path.lastIndexOf("/"))));
  folder.write(path, spoiled);
  const recordings = new Recordings({ folder: folder.path, mode: "replay" });
  using run = new Run(PLAN, {
    connect: () => {
      throw new Error("nobody must be asked");
    },
    recordings,
    only: PLAN.trials.filter(({ id }) => id === trial.id),
  });
  try {
    const again = await run.trial(0);
    assert("events" in again && again.replayed, "nobody was asked, and it is told");
    const now = recordingOf(spoiled);
    assert(now !== undefined, "what is no recording was replayed");
    const before = parseRecording(text, path);
    if (JSON.stringify(deciding(now)) === JSON.stringify(deciding(before))) {
      assertEquals(essence(again), essence(trial), "the same recording is replayed otherwise");
    } else {
      // What was said stands in the file.
      const texts = now.requests.map(({ reply }) => reply?.text);
      for (const event of again.events) {
        if (event.kind === "reply") assert(texts.includes(event.text), "nobody has said so");
      }
    }
    return true;
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    assertReadable(error.message);
    assertStringIncludes(error.message, folder.path);
    return false;
  }
}

/** A change of whatever kind, of a recording. */
type Change =
  | { readonly of: "value"; readonly changes: readonly ValueChange[] }
  | { readonly of: "text"; readonly changes: readonly TextChange[] }
  | { readonly of: "bytes"; readonly changes: readonly ByteChange[] }
  | { readonly of: "lines"; readonly at: number; readonly to: number; readonly cut: boolean };

function anyChange(): fc.Arbitrary<Change> {
  return fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({ of: fc.constant("value" as const), changes: valueChanges(2) }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ of: fc.constant("text" as const), changes: textChanges(2) }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ of: fc.constant("bytes" as const), changes: byteChanges(2) }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        of: fc.constant("lines" as const),
        at: fc.nat(),
        to: fc.nat(),
        cut: fc.boolean(),
      }),
    },
  );
}

function spoil(text: string, change: Change): Uint8Array {
  if (change.of === "bytes") return changedBytes(new TextEncoder().encode(text), change.changes);
  const spoiled = change.of === "value"
    ? JSON.stringify(changed(parseJson(text)!, change.changes))
    : change.of === "text"
    ? changedText(text, change.changes)
    : withLine(text, change);
  return new TextEncoder().encode(spoiled);
}

/** The text without a line, or with a line in the place of another. */
function withLine(text: string, { at, to, cut }: Extract<Change, { of: "lines" }>): string {
  const lines = text.split("\n");
  const place = at % lines.length;
  if (cut) lines.splice(place, 1);
  else lines[place] = lines[to % lines.length]!;
  return lines.join("\n");
}

/** Of seed 826799052: it sets the number of a reply, from 1, to 0. */
const REPLY_0: [number, Change] = [
  0,
  {
    of: "value",
    changes: [{ kind: "set", place: 1_593_202_588, other: 0, value: 0, name: "" }],
  },
];

fuzz(
  "Recordings replay a spoiled file as it was recorded, or say what is wrong with it",
  fc.tuple(fc.nat(RECORDED.length - 1), anyChange()),
  async ([place, change]) => {
    const one = RECORDED[place]!;
    await replayed(one, spoil(one.text, change));
  },
  { runs: 80, examples: [REPLY_0] },
);

Deno.test("Recordings replay what was not spoiled, and not the file of another trial", async () => {
  assertEquals(RECORDED.length, PLAN.trials.length);
  for (const one of RECORDED) {
    for (const other of RECORDED) {
      assertEquals(await replayed(one, new TextEncoder().encode(other.text)), one === other);
    }
  }
});

Deno.test("Recordings survive files that nest without end, wherever they do", async () => {
  const [one] = RECORDED as [Recorded];
  const deep = nested(20_000, "a");
  for (let place = 0; place < 60; place++) {
    const change = { kind: "set", place, other: 0, value: "deep", name: "" } as const;
    const spoiled = JSON.stringify(changed(parseJson(one.text)!, [change])).replace('"deep"', deep);
    // What a request shows beside its hash is not looked at where that is right.
    await replayed(one, new TextEncoder().encode(spoiled));
  }
  const value = JSON.parse(one.text);
  value.requests[0].reply.carried = { by: "m", items: [{ a: "deep" }] };
  const carrying = JSON.stringify(value).replace('"deep"', deep);
  assert(!await replayed(one, new TextEncoder().encode(carrying)));
  value.models[0].body = { a: "deep" };
  value.requests[1].hash = "0".repeat(64);
  const asking = JSON.stringify(value).replaceAll('"deep"', deep);
  assert(!await replayed(one, new TextEncoder().encode(asking)));
});
