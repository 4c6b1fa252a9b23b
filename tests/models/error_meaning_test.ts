// What servers say in place of replies: every row of the table, and reports of what real servers answer.

import {
  assert,
  assertEquals,
  assertMatch,
  assertRejects,
  assertStringIncludes,
} from "@std/assert";
import { isJsonObject } from "../../lib/base/json.ts";
import { errorMeaning, errorSaid, finishMeaning } from "../../lib/models/http/error_meaning.ts";
import {
  type Effect,
  MEANINGS,
  SERVER_WORDS,
  type WordsRow,
} from "../../lib/models/http/_server_words.ts";
import { InfrastructureError } from "../../lib/models/model.ts";
import { Connections } from "../../lib/models/connect.ts";
import { openai, type OpenAIOptions } from "../../lib/models/openai/openai.ts";
import { remarksOf } from "../../lib/runs/remarks.ts";
import { runTrial } from "../../lib/trials/run_trial.ts";
import { summarize, takenOver } from "../../lib/trials/summary.ts";
import fc from "../support/fast_check.ts";
import {
  ADD,
  answering,
  asked,
  completion,
  EVERY_OPTION,
  serving,
  status,
} from "../support/wire_servers.ts";

/** What a server answers in place of a reply. */
interface Report {
  readonly from: string;
  readonly status: number;
  readonly body: unknown;
  /** What it means: the name of a meaning, an option that is refused, or `unknown`. */
  readonly right: string;
  /** A part of what the model wrote. */
  readonly wrote?: string;
  /** What the message must show. */
  readonly words?: string;
  /** Whether the server has answered before. */
  readonly answered?: true;
  /** The wait that it asks for, in milliseconds. */
  readonly delay?: number;
  /** Whether a reply had begun. */
  readonly begun?: true;
}

const REPORTS: readonly Report[] = (await Deno.readTextFile("fixtures/servers/errors.jsonl"))
  .trim().split("\n").map((line) => JSON.parse(line));

const ALL: Partial<OpenAIOptions> = {
  ...EVERY_OPTION,
  ...{ topP: 1, seed: 7, body: { stop: ["x"], frequency_penalty: 1 } },
};

function answerOf({ status, body }: Report): Response {
  if (typeof body !== "string") return Response.json(body, { status });
  const type = body.startsWith("<") ? "text/html" : "text/plain";
  return new Response(body, { status, headers: { "content-type": type } });
}

for (const [right, reports] of Map.groupBy(REPORTS, (one) => one.right)) {
  Deno.test(`what servers say is read as: ${right}`, async (t) => {
    for (const report of reports) await t.step(report.from, () => checkReport(report));
  });
}

async function checkReport(report: Report) {
  const { right, status, wrote, words, answered, delay, begun } = report;
  const answer = () => answerOf(report);
  const hello = answering(completion({ content: "hello" }));
  await using server = serving(...answered ? [hello, answer, hello] : [answer, hello]);
  const model = server.model({ ...ALL, retries: 0 });
  const request = asked({ tools: [ADD] });
  if (answered) await model.reply(request);
  const before = server.received.length;
  if (right === "filtered" || right === "unreadable call") {
    const reply = await model.reply(request);
    const [finish, parsed] = right === "filtered" ? ["filter", undefined] : ["calls", "unreadable"];
    assertEquals([reply.finish, reply.parsed, reply.failed], [finish, parsed, undefined]);
    assertEquals([reply.text, reply.calls.length], ["", right === "filtered" ? 0 : 1]);
    assertStringIncludes(reply.written ?? "", wrote ?? "");
    assertEquals(server.received.length, before + 1);
    return;
  }
  const thrown = await assertRejects(() => model.reply(request), InfrastructureError);
  assertEquals(server.received.length, before + 1);
  assertStringIncludes(thrown.message, server.host);
  assertStringIncludes(thrown.message, words ?? (status === 200 ? "" : `${status}`));
  const { permanent, why, fault = "unclear" } = effectOf(right);
  const isRetryable = why === undefined && ![400, 403, 404, 405, 422, 451].includes(status);
  // Codes and statuses are no words of a model; of what words say the cause is unclear.
  const isCertain = fault === "infrastructure" || thrown.fault === "infrastructure" && permanent;
  assertEquals(thrown.permanent, permanent, thrown.message);
  assertEquals(
    [thrown.retryable, thrown.fault],
    [isRetryable, isCertain && !begun ? "infrastructure" : "unclear"],
  );
  assertEquals([thrown.rateLimited, thrown.retryAfter], [right === "rate limit", delay]);
  if (right.startsWith("option")) {
    assertStringIncludes(thrown.message, `refuses ${right.slice("option ".length)}: `);
  } else assertStringIncludes(thrown.message, why ?? "");
}

/** What follows from what is right. */
function effectOf(right: string): Effect {
  if (right.startsWith("option")) return { permanent: "option", why: "" };
  return right === "unknown" ? {} : MEANINGS[right as keyof typeof MEANINGS];
}

// Each row of the table.

Deno.test("every code and finish reason of the table means what its row says", () => {
  const rows = SERVER_WORDS.filter(({ code, finish }) => (code ?? finish) !== undefined);
  assertEquals(rows.length >= 20, true);
  for (const row of rows) {
    for (const code of row.code?.split(" ") ?? []) {
      if (row.says !== undefined) continue;
      const [, number] = /^base_resp_(\d+)$/.exec(code) ?? [];
      const error = number === undefined
        ? { error: { code: code.toUpperCase(), message: "no" } }
        : { base_resp: { status_code: Number(number), status_msg: "no" } };
      assertEquals(errorMeaning(errorSaid(error, 400)).means, row.means, code);
    }
    for (const reason of row.finish?.split(" ") ?? []) {
      const forms = [reason, reason.toUpperCase(), reason.replaceAll("_", "-"), `${reason}: more`];
      assertEquals(forms.map(finishMeaning), forms.map(() => row.means), reason);
    }
  }
});

Deno.test("every sentence of the table is in a report, and every row has a source", () => {
  for (const { from, means, says = [] } of SERVER_WORDS) {
    assertMatch(from, /^.+: https:\/\/\S+$/);
    for (const pattern of says) {
      const known = REPORTS.some(({ right, body }) =>
        right === means && pattern.test(JSON.stringify(body).replace(/["'`\\]/g, ""))
      ) || REPORTS.some(({ right, body }) =>
        right === means && pattern.test(textOf(body))
      );
      assert(known, `${from}: ${pattern}`);
    }
  }
});

/** The words of an error, without quotes. */
function textOf(body: unknown): string {
  return errorSaid(body, 400).text.replace(/["'`\\]/g, "");
}

Deno.test("words alone never make an error the service's, so that asking again would go unseen", () => {
  const isOfWords = ({ code, finish, says }: WordsRow) => says && code === undefined && !finish;
  const rows = SERVER_WORDS.filter(isOfWords);
  const faults = rows.map(({ means }): Effect => MEANINGS[means]).map(({ fault }) => fault);
  assertEquals(new Set(faults), new Set([undefined]));
  // Codes come first: no row of words stands before one of them that leaves a trial out.
  const first = SERVER_WORDS.findIndex(isOfWords);
  const late = SERVER_WORDS.slice(first).filter(({ code }) => code !== undefined);
  assertEquals(late.map(({ means }) => means), ["rate limit"]);
});

Deno.test("words that a model chose and a server quotes mean nothing", () => {
  const chosen = REPORTS.filter(({ body }) => isJsonObject(body)).map(({ body }) => textOf(body))
    .filter((text) => text.length > 9);
  fc.assert(
    fc.property(
      fc.constantFrom(...chosen),
      fc.constantFrom("Cannot handle the value %", "% cannot be used", "Bad input: %, sorry"),
      fc.constantFrom("content", "arguments", "result"),
      fc.constantFrom(400, 403, 500),
      (words, template, where, status) => {
        const told = [
          { role: "user", content: "Add" },
          where === "content" ? { role: "assistant", content: `I say: ${words}` } : {
            role: where === "result" ? "tool" : "assistant",
            content: "",
            arguments: JSON.stringify({ note: words }),
          },
        ];
        const body = { error: { message: template.replace("%", () => words) } };
        const { means } = errorMeaning(errorSaid(body, status), { told, hasAnswered: true });
        assertEquals(means, undefined);
      },
    ),
  );
});

Deno.test("a fault that only words tell of does not excuse a trial that is run again", async () => {
  const task = { core: 3, depth: 2, connected: 0, disconnected: 0, seed: 7 };
  const kinds = [
    [422, { error: "Failed generation: the model was not found" }, "model", true],
    [402, { error: { message: "no" } }, "credit", undefined],
    [404, { error: { message: "no", code: "model_not_found" } }, "model", undefined],
  ] as const;
  for (const [code, body, permanent, byWords] of kinds) {
    await using server = serving(status(code, body));
    const trial = await runTrial(task, server.model());
    assertEquals([trial.outcome, trial.permanent, trial.byWords], ["invalid", permanent, byWords]);
    assertEquals(takenOver(summarize(trial)).replacedIdle, byWords ? undefined : true);
  }
});

Deno.test("an error is read soon, however it repeats itself or nests, and whatever it quotes", () => {
  const deep = "[".repeat(4_000) + "]".repeat(4_000);
  const message = "error parsing tool call: raw='".repeat(20_000);
  const details = Array(300_000).fill({ code: "x" });
  const said = errorSaid({ error: { message, details } }, 500);
  const { reply } = errorMeaning(said, { told: [{ content: deep }, { content: message }] });
  assertEquals(reply, undefined);
  assertEquals(errorMeaning(said, { told: [{ content: deep }] }).reply, "unreadable");
});

Deno.test("a server that fails alike each time may be unable to read the calls of a model", async () => {
  const failing = status(500, { error: { message: "panic: nil map" } });
  await using server = serving(failing);
  const ask = (tools: (typeof ADD)[]) =>
    assertRejects(() => server.model({ retries: 2 }).reply(asked({ tools })), InfrastructureError);
  const note = /the same error came each time: the server may be unable to read calls/;
  assertMatch((await ask([ADD])).message, note);
  assertEquals(note.test((await ask([])).message), false);
});

Deno.test("a reply with an unknown finish reason counts, and says so", async () => {
  const choices = [{ finish_reason: "Moon\nPhase", message: { content: "x = 1" } }];
  await using server = serving(answering(completion({}, { choices })));
  const task = { core: 3, depth: 2, connected: 0, disconnected: 0, seed: 7 };
  const trial = await runTrial(task, server.model());
  const { unknownFinish } = summarize(trial);
  assertEquals([trial.outcome, unknownFinish], ["wrong_answer", "Moon\nPhase"]);
  const [remark] = remarksOf({ plan: {}, trials: [summarize(trial)], resumed: 0 });
  assertEquals(
    [remark!.about, remark!.text.split(": ")[1]],
    ["finish", "Moon\\nPhase"],
  );
});

Deno.test("a verdict says that a server seems to read no calls, or to take answers for reasoning", async () => {
  const task = { core: 3, depth: 2, connected: 0, disconnected: 0, seed: 7 };
  const kinds = [
    [
      { content: '<tool_call>{"name": "add", "arguments": {}}</tool_call>' },
      "calls written as text",
    ],
    [{ content: null, reasoning_content: "It is 1." }, "nothing but reasoning"],
  ] as const;
  for (const [message, said] of kinds) {
    await using server = serving(answering(completion(message)));
    const trials = [summarize(await runTrial(task, server.model()))];
    assertEquals(
      remarksOf({ plan: {}, trials, resumed: 0 }).map(({ about, text }) => [about, text]),
      [[
        "calls",
        `1 trial with ${said}: does the server have the parsers of this model? (docs/troubleshooting.md)`,
      ]],
    );
  }
});

Deno.test("the finish reason of the model's own server counts behind a gateway", async () => {
  const kinds = [
    ["stop", "MAX_TOKENS", "length"],
    ["error", "SAFETY", "filter"],
    ["stop", "STOP", "stop"],
    ["length", "error", "length"],
  ] as const;
  for (const [reason, native, finish] of kinds) {
    const choice = {
      finish_reason: reason,
      native_finish_reason: native,
      message: { content: "x" },
    };
    await using server = serving(answering(completion({}, { choices: [choice] })));
    assertEquals((await server.model().reply(asked())).finish, finish);
  }
});

Deno.test("an unreadable call goes back as servers take it, and the trial goes on", async () => {
  const written = '{"left": 1, "right": }';
  const message = `error parsing tool call: raw='${written}', err=invalid character '}'`;
  const task = { core: 3, depth: 2, connected: 0, disconnected: 0, seed: 7 };
  await using server = serving(
    status(500, { error: { message } }),
    answering(completion({ content: "hello" })),
  );
  const trial = await runTrial(task, server.model());
  assertEquals([trial.outcome, trial.failures.length], ["no_answer", 1]);
  assertEquals([summarize(trial).parses?.unreadable, server.received.length], [1, 2]);
  const sent = JSON.stringify(server.received[1]!.body["messages"]);
  const [, argumentsSent] = /"arguments":("(?:[^"\\]|\\.)*")/.exec(sent)!;
  assertEquals(JSON.parse(JSON.parse(argumentsSent!)), { unreadable: written });
});

Deno.test("a request whose connection closes while the model writes is not sent again unseen", async () => {
  const body = JSON.stringify(completion({ content: "hello" }));
  const reply =
    `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
  const listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  let requests = 0;
  const connections: Deno.TcpConn[] = [];
  const serve = async (connection: Deno.TcpConn) => {
    connections.push(connection);
    const buffer = new Uint8Array(65_536);
    for (let text = ""; await connection.read(buffer).catch(() => null) !== null;) {
      text += "x";
      requests++;
      // The second request on a connection that was kept gets no answer.
      if (text.length > 1) return connection.close();
      await connection.write(new TextEncoder().encode(reply));
    }
  };
  const serving = (async () => {
    for await (const connection of listener) serve(connection);
  })();
  const model = openai({
    ...{
      model: "m",
      baseURL: `http://127.0.0.1:${listener.addr.port}/v1`,
      apiKey: "any",
      backoff: 1,
    },
  });
  const first = await model.reply(asked());
  const second = await model.reply(asked());
  assertEquals([first.failed, second.failed?.length, requests], [undefined, 1, 3]);
  listener.close();
  connections.at(-1)!.close();
  await serving;
});

Deno.test("a trial tells of attempts that may have drawn another reply, and of no others", async () => {
  const kinds = [
    [status(500, { error: { message: "panic" } }), [{ status: 500, message: /panic/ }]],
    [answering("busy"), [{ status: undefined, message: /text/ }]],
    [() => new Response('{"choices": [', { headers: { "content-type": "application/json" } }), [
      { status: undefined, message: /no JSON/ },
    ]],
    [status(503), []],
    [status(429, {}, { "retry-after-ms": "1" }), []],
  ] as const;
  for (const [bad, expected] of kinds) {
    await using server = serving(bad, answering(completion({ content: "x = 1" })));
    const connections = new Connections({ backoff: 1 });
    const model = connections.model({ model: "m", baseURL: `http://${server.host}/v1` });
    const task = { core: 3, depth: 2, connected: 0, disconnected: 0, seed: 7 };
    const trial = await runTrial(task, model);
    const { unclear = [] } = summarize(trial);
    assertEquals(unclear.length, expected.length);
    for (const [place, { status, message }] of expected.entries()) {
      assertEquals(unclear[place]!.status, status);
      assertMatch(unclear[place]!.message, message);
    }
  }
});
