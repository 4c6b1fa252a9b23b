// Log-probabilities from real servers, sound and faulty.

import { assertAlmostEquals, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { InputError } from "../../lib/base/errors.ts";
import type { JsonObject } from "../../lib/base/json.ts";
import { InfrastructureError } from "../../lib/models/model.ts";
import {
  type CompletionsOptions,
  completionsScorer,
} from "../../lib/toolkit/toolformer/completions_scorer.ts";
import { KNOWN, NEW, serveWords } from "../support/word_model.ts";
import { answering, breaking, type Faulty, KEY, serving, status } from "../support/wire_servers.ts";

function scorerAt(baseURL: string, options: Partial<CompletionsOptions> = {}) {
  return completionsScorer({ model: "words", baseURL, apiKey: KEY, backoff: 1, ...options });
}

function scorerOf({ host }: Faulty, options?: Partial<CompletionsOptions>) {
  return scorerAt(`http://${host}/v1`, options);
}

/** An answer that echoes tokens. */
function echo(
  tokens: readonly string[],
  values: readonly (number | null)[],
  more: JsonObject = {},
): JsonObject {
  return {
    choices: [{
      index: 0,
      text: tokens.join(""),
      logprobs: { tokens: [...tokens], token_logprobs: [...values] },
    }],
    ...more,
  };
}

Deno.test("completionsScorer() asks for an echo with log-probabilities, and for one token more", async () => {
  await using words = serveWords();
  await scorerAt(words.baseURL).score("a b");
  assertEquals(words.received, [{
    ...{ model: "words", prompt: "a b", max_tokens: 1, echo: true, logprobs: 1, temperature: 0 },
  }]);
});

Deno.test("completionsScorer() gives the tokens of the prompt alone, each with its probability", async () => {
  for (const opening of [undefined, "<s>"]) {
    await using words = serveWords(opening === undefined ? {} : { opening });
    const tokens = await scorerAt(words.baseURL).score("one two one");
    const own = opening === undefined ? tokens : tokens.slice(1);
    assertEquals(own.map(({ start, end }) => [start, end]), [[0, 3], [3, 7], [7, 11]]);
    assertEquals(own[0]!.logProbability === null, opening === undefined);
    assertAlmostEquals(own[1]!.logProbability!, Math.log(NEW));
    assertAlmostEquals(own[2]!.logProbability!, Math.log(KNOWN));
  }
});

Deno.test("completionsScorer() asks nobody about nothing", async () => {
  await using words = serveWords();
  assertEquals(await scorerAt(words.baseURL).score(""), []);
  assertEquals(words.received.length, 0);
});

Deno.test("completionsScorer() refuses texts with half a character", async () => {
  await assertRejects(
    () => scorerAt("http://127.0.0.1:1").score("\ud800"),
    InputError,
    "Cannot score a text with words as it must be well-formed Unicode",
  );
});

// What servers may do, and be understood all the same.

const SOUND: Readonly<Record<string, JsonObject>> = {
  "no token behind the prompt, as with max_tokens 0": echo(["a", " b"], [null, -1]),
  "one token behind it": echo(["a", " b", " c"], [null, -1, -2]),
  "more tokens than were asked for, as their number says": echo(
    ["a", " b", " c", " d"],
    [null, -1, -2, -3],
    { usage: { completion_tokens: 2 } },
  ),
  "a number of tokens that is made up": echo(["a", " b", " c"], [null, -1, -2], {
    usage: { completion_tokens: 99 },
  }),
  "offsets that count something else": {
    choices: [{
      text: "a b",
      logprobs: { tokens: ["a", " b"], token_logprobs: [null, -1], text_offset: [5, 6] },
    }],
  },
  "an empty token behind it, at the end of a text": echo(["a", " b", ""], [null, -1, -2], {
    usage: { completion_tokens: 1 },
  }),
};

for (const [name, answer] of Object.entries(SOUND)) {
  Deno.test(`completionsScorer() understands ${name}`, async () => {
    await using server = serving(answering(answer));
    assertEquals(await scorerOf(server).score("a b"), [
      { start: 0, end: 1, logProbability: null },
      { start: 1, end: 3, logProbability: -1 },
    ]);
  });
}

Deno.test("completionsScorer() takes a probability a little above 1 for 1", async () => {
  await using server = serving(answering(echo(["a", " b"], [null, 1e-7])));
  assertEquals((await scorerOf(server).score("a b"))[1]!.logProbability, 0);
});

// What cannot be used.

const UNUSABLE: readonly (readonly [name: string, answer: unknown, message: RegExp])[] = [
  ["nothing", null, /it is empty$/],
  ["no choices", { choices: [] }, /at choices: Invalid input: expected at least one$/],
  ["an error with status 200", { error: { message: "no" } }, /it is an error: \{"message":"no"\}$/],
  [
    "no log-probabilities",
    { choices: [{ text: "a b", logprobs: null }] },
    /at choices\[0\]\.logprobs: Invalid input: expected object, received null$/,
  ],
  [
    "those of chat completions",
    { choices: [{ text: "c", logprobs: { content: [{ token: "c", logprob: -1 }] } }] },
    /at choices\[0\]\.logprobs\.tokens: .*at choices\[0\]\.logprobs\.token_logprobs: /,
  ],
  [
    "those of what it wrote alone, as llama.cpp's own server",
    echo(["c"], [-1]),
    /its 1 tokens do not make up the prompt, and begin with "c"$/,
  ],
  ["those of another text", echo(["a", " x"], [null, -1]), /do not make up the prompt/],
  ["a part of the text", echo(["a"], [null]), /do not make up the prompt/],
  [
    "lists of two lengths",
    echo(["a", " b"], [null]),
    /there are 2 tokens and 1 log-probabilities$/,
  ],
  ["a token without one", echo(["a", " b"], [null, null]), /token 2 has no log-probability$/],
  [
    "a probability above 1",
    echo(["a", " b"], [null, 0.7]),
    /token 2 has the log-probability 0\.7$/,
  ],
  [
    "a text for a number",
    { choices: [{ logprobs: { tokens: ["a", " b"], token_logprobs: [null, "-1"] } }] },
    /token_logprobs\[1\]: Invalid input: expected number/,
  ],
];

for (const [name, answer, message] of UNUSABLE) {
  Deno.test(`completionsScorer() refuses ${name}, and asks again`, async () => {
    await using server = serving(answering(answer));
    const error = await assertRejects(
      () => scorerOf(server, { retries: 1 }).score("a b"),
      InfrastructureError,
    );
    assertMatch(
      error.message,
      /^Cannot use the reply of words at \S+ as it must echo the prompt with the log-probability of each of its tokens: /,
    );
    assertMatch(error.message.replace(/ \(2 attempts\)$/, ""), message);
    assertEquals(server.received.length, 2);
  });
}

const FAULTS:
  readonly (readonly [name: string, answer: () => Response, message: RegExp, attempts: number])[] =
    [
      ["status 500", status(500, { error: { message: "Ouch" } }), /500 Ouch/, 3],
      ["status 401", status(401, { error: { message: `no ${KEY}` } }), /401 no \[redacted\]/, 1],
      [
        "a prompt that is too long",
        status(400, { error: { message: "maximum context length" } }),
        /exceeds its context length/,
        1,
      ],

      [
        "plain text",
        () => new Response("Bad gateway"),
        /it is text that is no JSON object: Bad gateway/,
        3,
      ],
    ];

for (const [name, answer, message, attempts] of FAULTS) {
  Deno.test(`completionsScorer() tells of ${name}, after ${attempts} attempts`, async () => {
    await using server = serving(answer);
    const error = await assertRejects(
      () => scorerOf(server, { retries: 2 }).score("a b"),
      InfrastructureError,
    );
    assertMatch(error.message, message);
    assertEquals(server.received.length, attempts);
  });
}

Deno.test("completionsScorer() tells of a server that hangs", async () => {
  await using server = breaking({ bytes: "", stall: true });
  await assertRejects(
    () => scorerOf(server, { retries: 0, requestTimeout: 200 }).score("a b"),
    InfrastructureError,
    "its server is silent: no whole reply came within 0.2 seconds",
  );
});

Deno.test("completionsScorer() gets over faults that pass", async () => {
  await using server = serving(
    status(503),
    answering(null),
    answering(echo(["a", " b"], [null, -1])),
  );
  assertEquals((await scorerOf(server).score("a b")).length, 2);
  assertEquals(server.received.length, 3);
});

Deno.test("completionsScorer() stops as soon as its signal aborts", async () => {
  await using server = breaking({ bytes: "", stall: true });
  const controller = new AbortController();
  const scored = scorerOf(server).score("a b", { signal: controller.signal });
  controller.abort(new Error("enough"));
  await assertRejects(() => scored, Error, "enough");
});
