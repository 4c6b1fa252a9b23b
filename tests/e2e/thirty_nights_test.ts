// Thirty nights of a served model that gets worse after the eighteenth, asked over HTTP, recorded, watched and shown:
// what the commands say is computed anew by a small program of its own.

import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { startSimulatedServer } from "../../lib/simulated/server.ts";
import { folder } from "../support/child.ts";
import { toolgate } from "../support/command_line.ts";
import { dateAfter } from "../support/history.ts";
import { interval, recomputeNights } from "../support/recomputed_history.ts";

const SUITE = {
  name: "nights",
  seed: 1,
  tasks: [{ core: [2, 3], depth: 1 }],
  models: ["drifter"],
};
const POLICY = { tolerance: 0.01, drop: 0.05, confidence: 0.95 };
const WORSE_FROM = 18;

/** Serves a simulated model as one named `drifter-1`, which another one replaces at some time. */
function drifter() {
  const behind = startSimulatedServer();
  const state = { model: "sim:noisy?quit=0.02&seed=1" };
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    const body = { ...await request.json(), model: state.model };
    const reply = await fetch(`${behind.url}/chat/completions`, {
      method: "POST",
      body: JSON.stringify(body),
    });
    return Response.json({ ...await reply.json(), model: "drifter-1" }, { status: reply.status });
  });
  return {
    state,
    url: `http://127.0.0.1:${server.addr.port}/v1`,
    async [Symbol.asyncDispose]() {
      await server.shutdown();
      await behind.close();
    },
  };
}

Deno.test("thirty nights with a drop: recorded, watched and shown, as a stranger computes them", async () => {
  await using place = await folder();
  await using served = drifter();
  const at = async (line: string, code = 0) => {
    const ended = await toolgate(line.split(" "), {
      cwd: place.path,
      env: { OPENAI_API_KEY: "sk-none" },
    });
    assertEquals(ended.code, code, ended.all);
    return ended;
  };
  /** Runs the suite as if on another day, of which its journal tells. */
  const runOn = async (date: string, seed: number, graphs: number) => {
    place.write("suite.json", JSON.stringify({ ...SUITE, graphs }));
    const journal = `${date}.jsonl`;
    await at(`run suite.json --base-url ${served.url} --seed ${seed} --out ${journal}`);
    const text = Deno.readTextFileSync(place.file(journal));
    const today = /"startedAt":"(\d{4}-\d\d-\d\dT\d\d)/.exec(text)![1]!;
    place.write(journal, text.replaceAll(/("startedAt":")\d{4}-\d\d-\d\dT\d\d/g, `$1${date}T03`));
    assert(today !== "");
    return journal;
  };
  const release = await runOn(dateAfter(-1), 1, 150);
  await at(`accept ${release} --to history --name v1`);
  for (let night = 0; night < 30; night++) {
    if (night === WORSE_FROM) served.state.model = "sim:noisy?quit=0.12&seed=2";
    // As where CI was down.
    if (night === 7) continue;
    await at(`history add ${await runOn(dateAfter(night), 1_000 + night, 15)} --to history`);
  }
  const watched = await at("canary history", 1);
  assertMatch(watched.stdout, /^drifter, served as drifter-1: ALARM: since 2026-06-/);
  const { watched: [model] } = JSON.parse((await at("canary history --json", 1)).stdout);
  assert(
    model.since >= dateAfter(WORSE_FROM - 3) && model.since <= dateAfter(WORSE_FROM + 3),
    model.since,
  );
  assert(model.alarmed >= dateAfter(WORSE_FROM), model.alarmed);

  const { nullRate, nights } = recomputeNights(place.file("history"), POLICY);
  assertAlmostEquals(model.nullRate, nullRate, 1e-9);
  assertEquals(model.nights.length, 29);
  assertEquals(model.threshold, 365 / 0.05);
  for (const [index, { sum, ...night }] of nights.entries()) {
    const told = model.nights[index];
    assertEquals({ ...night, rate: night.solved / night.valid, sum: told.sum }, told);
    assertAlmostEquals(told.sum / sum, 1, 1e-9);
  }
  const first = nights.find(({ sum }) => sum >= 7_300)!;
  assertEquals(model.alarmed, first.date);

  await at("history show history --html page.html");
  const page = Deno.readTextFileSync(place.file("page.html"));
  const shown = await at("history show history");
  assertStringIncludes(shown.stdout, `drifter: ${model.text}`);
  assertStringIncludes(page, '<article class="verdict alarm">');
  for (const mark of [">lower since</text>", ">alarm</text>", ">v1 (anchor"]) {
    assertStringIncludes(page, mark);
  }
  const { streams: [stream] } = JSON.parse((await at("history show history --json")).stdout);
  const { kind, text, numbers: said, since, alarmed } = model;
  assertEquals(stream.canary, {
    kind,
    text,
    numbers: said,
    nullRate: model.nullRate,
    since,
    alarmed,
  });
  for (const [index, { solved, valid }] of nights.entries()) {
    const point = stream.points[index + 1];
    assertEquals([point.solved, point.valid], [solved, valid]);
    const [lower, upper] = interval(solved, valid);
    assertAlmostEquals(point.success.interval.lower, lower, 1e-9);
    assertAlmostEquals(point.success.interval.upper, upper, 1e-9);
  }
});
