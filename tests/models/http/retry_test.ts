import {
  assertEquals,
  assertInstanceOf,
  assertLess,
  assertMatch,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { InputError } from "../../../lib/base/errors.ts";
import {
  InfrastructureError,
  type InfrastructureErrorOptions,
  type ModelReply,
  type ModelRequest,
  TimeLimitError,
} from "../../../lib/models/model.ts";
import { type Attempt, retrying, type RetryPolicy } from "../../../lib/models/http/retry.ts";
import { type Permit, RateLimiter } from "../../../lib/models/http/rate_limiter.ts";

const HELLO: Omit<ModelReply, "duration"> = {
  text: "hello",
  calls: [],
  finish: "stop",
  usage: { inputTokens: 1, outputTokens: 2 },
  served: "parrot",
  repairs: [],
};

function asked(more: Partial<ModelRequest> = {}): ModelRequest {
  return { messages: [], tools: [], context: { trial: "t", repetition: 1, request: 1 }, ...more };
}

function wait(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

function fault(message: string, options: InfrastructureErrorOptions = { retryable: true }) {
  return new InfrastructureError(message, options);
}

/** An attempt that plays its parts in turn, the last one over and over. */
function playing(parts: readonly Attempt[], policy: RetryPolicy = { backoff: 1 }) {
  const play = { attempts: 0 };
  const reply = retrying((request, signal) => {
    const part = parts[Math.min(play.attempts, parts.length - 1)];
    play.attempts++;
    return part!(request, signal);
  }, policy);
  return Object.assign(play, { reply });
}

const succeed: Attempt = () => Promise.resolve(HELLO);
const fail: Attempt = () => Promise.reject(fault("Too busy"));
/** Never settles, whatever its signal says. */
const hang: Attempt = () => new Promise(() => {});

Deno.test("retrying() gives the reply with its duration", async () => {
  const { duration, ...rest } = await playing([succeed]).reply(asked());
  assertEquals(rest, HELLO);
  assertLess(duration, 5_000);
});

Deno.test("retrying() retries three times unless told otherwise, and says so", async () => {
  const play = playing([fail]);
  const error = await assertRejects(() => play.reply(asked()), InfrastructureError);
  assertEquals(play.attempts, 4);
  assertEquals(error.message, "Too busy (4 attempts)");
  assertEquals(error.retryable, true);
  assertInstanceOf(error.cause, InfrastructureError);
});

Deno.test("retrying() throws a fault that is not retryable at once", async () => {
  const play = playing([() => Promise.reject(fault("No such model", {})), succeed]);
  const error = await assertRejects(() => play.reply(asked()), InfrastructureError);
  assertEquals([play.attempts, error.retryable], [1, false]);
  assertEquals(error.message, "No such model (1 attempt)");
});

Deno.test("retrying() throws what is no infrastructure fault as it is", async () => {
  const bug = new TypeError("a bug");
  const play = playing([() => Promise.reject(bug), succeed]);
  assertEquals(await assertRejects(() => play.reply(asked())), bug);
  assertEquals(play.attempts, 1);
});

Deno.test("retrying() treats an attempt that throws at once like one that rejects", async () => {
  const play = playing([() => {
    throw fault("at once");
  }, succeed]);
  assertEquals((await play.reply(asked())).text, "hello");
});

Deno.test("retrying() waits for the retryAfter of the fault", async () => {
  const play = playing([
    () => Promise.reject(fault("no", { retryable: true, retryAfter: 120 })),
    succeed,
  ]);
  const startedAt = performance.now();
  const { duration } = await play.reply(asked());
  const passed = performance.now() - startedAt;
  assertLess(110, passed);
  assertLess(duration, passed - 110, "waiting is no part of the duration");
});

Deno.test("retrying() does not wait for hours, but says what the server wishes", async () => {
  for (const retryAfter of [601_000, 86_400_000, Infinity]) {
    const play = playing([
      () => Promise.reject(fault("no", { retryable: true, retryAfter })),
      succeed,
    ]);
    const error = await assertRejects(() => play.reply(asked()), InfrastructureError);
    assertMatch(error.message, /^no; the server asks to wait \w+ seconds, too long \(1 attempt\)$/);
    assertEquals(play.attempts, 1);
  }
});

Deno.test("retrying() waits for the backoff when that is longer than the retryAfter", async () => {
  const play = playing(
    [() => Promise.reject(fault("no", { retryable: true, retryAfter: 1 })), succeed],
    { backoff: 200 },
  );
  const startedAt = performance.now();
  await play.reply(asked());
  assertLess(95, performance.now() - startedAt);
});

Deno.test("retrying() doubles the backoff", async () => {
  const at: number[] = [];
  const note: Attempt = () => {
    at.push(performance.now());
    return Promise.reject(fault("no"));
  };
  await assertRejects(() => playing([note], { retries: 3, backoff: 40 }).reply(asked()));
  const [first = 0, , , last = 0] = at;
  // 40 + 80 + 160, each at least half of that; without doubling it would be 120 at most.
  assertLess(135, last - first);
});

Deno.test("retrying() names the timeout when every attempt times out", async () => {
  const play = playing([hang], { requestTimeout: 20, retries: 1, backoff: 1 });
  const error = await assertRejects(() => play.reply(asked()), InfrastructureError);
  assertMatch(error.message, /0.02 seconds .*\(2 attempts\)/);
  assertEquals(error.retryable, true);
});

Deno.test("retrying() aborts the signal of an attempt that times out", async () => {
  const signals: AbortSignal[] = [];
  const note: Attempt = (request, signal) => {
    signals.push(signal);
    return hang(request, signal);
  };
  await assertRejects(() =>
    playing([note], { requestTimeout: 20, retries: 1, backoff: 1 }).reply(asked())
  );
  assertEquals(signals.map((signal) => signal.aborted), [true, true]);
  assertMatch(signals[0]?.reason.message, /0.02 seconds/);
});

Deno.test("retrying() reports the timeout, not what the attempt makes of its signal", async () => {
  const listen: Attempt = (_request, signal) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener("abort", () => reject(new TypeError("aborted")));
    });
  const play = playing([listen, succeed], { requestTimeout: 20, backoff: 1 });
  assertEquals((await play.reply(asked())).text, "hello");
});

Deno.test("retrying() handles the late rejection of an attempt it left behind", async () => {
  const late: Attempt = async () => {
    await wait(60);
    throw new Error("too late");
  };
  const play = playing([late, succeed], { requestTimeout: 10, backoff: 1 });
  assertEquals((await play.reply(asked())).text, "hello");
  await wait(80);
});

Deno.test("retrying() ends with TimeLimitError when an attempt takes the time limit", async () => {
  const play = playing([hang, succeed], { requestTimeout: 120_000, backoff: 1 });
  const startedAt = performance.now();
  await assertRejects(() => play.reply(asked({ timeLimit: 20 })), TimeLimitError, "20 ms");
  assertLess(performance.now() - startedAt, 60_000);
  assertEquals(play.attempts, 1);
});

Deno.test("retrying() prefers TimeLimitError when both limits are equal", async () => {
  const play = playing([hang], { requestTimeout: 20 });
  await assertRejects(() => play.reply(asked({ timeLimit: 20 })), TimeLimitError);
});

Deno.test("retrying() retries a timeout that is shorter than the time limit", async () => {
  const play = playing([hang, succeed], { requestTimeout: 20, backoff: 1 });
  assertEquals((await play.reply(asked({ timeLimit: 5_000 }))).text, "hello");
});

Deno.test("retrying() does not count waiting and failed attempts against the time limit", async () => {
  const slowly: Attempt = async () => {
    await wait(60);
    throw fault("no", { retryable: true, retryAfter: 150 });
  };
  const play = playing([slowly, slowly, succeed]);
  assertEquals((await play.reply(asked({ timeLimit: 300 }))).text, "hello");
});

Deno.test("retrying() makes no attempt when no time is left", async () => {
  for (const timeLimit of [0, -5]) {
    const play = playing([succeed]);
    await assertRejects(() => play.reply(asked({ timeLimit })), TimeLimitError, "0 ms");
    assertEquals(play.attempts, 0);
  }
});

Deno.test("retrying() throws the signal's reason at once, before any attempt", async () => {
  const play = playing([succeed]);
  const signal = AbortSignal.abort(new RangeError("not now"));
  await assertRejects(() => play.reply(asked({ signal })), RangeError, "not now");
  assertEquals(play.attempts, 0);
});

Deno.test("retrying() throws the signal's reason at once, during an attempt", async () => {
  const controller = new AbortController();
  const play = playing([hang, succeed]);
  setTimeout(() => controller.abort(new RangeError("stop")), 20);
  const request = asked({ signal: controller.signal, timeLimit: 60_000 });
  await assertRejects(() => play.reply(request), RangeError, "stop");
  assertEquals(play.attempts, 1);
});

Deno.test("retrying() aborts the signal of an attempt along with that of the request", async () => {
  const controller = new AbortController();
  const signals: AbortSignal[] = [];
  const note: Attempt = (request, signal) => {
    signals.push(signal);
    return hang(request, signal);
  };
  const replying = playing([note]).reply(asked({ signal: controller.signal, timeLimit: 2_000 }));
  controller.abort(new RangeError("stop"));
  assertEquals(signals.map(({ reason }) => reason.message), ["stop"]);
  await assertRejects(() => replying, RangeError, "stop");
});

Deno.test("retrying() throws the signal's reason at once, between two attempts", async () => {
  const controller = new AbortController();
  const play = playing([fail, succeed], { backoff: 120_000 });
  setTimeout(() => controller.abort(new RangeError("stop")), 20);
  const startedAt = performance.now();
  await assertRejects(() => play.reply(asked({ signal: controller.signal })), RangeError, "stop");
  assertLess(performance.now() - startedAt, 60_000);
  assertEquals(play.attempts, 1);
});

Deno.test("retrying() throws the reason also when the attempt answers it with its own fault", async () => {
  const controller = new AbortController();
  const selfish: Attempt = () => {
    controller.abort(new RangeError("stop"));
    return Promise.reject(fault("aborted"));
  };
  const play = playing([selfish, succeed]);
  await assertRejects(() => play.reply(asked({ signal: controller.signal })), RangeError, "stop");
});

Deno.test("retrying() never repeats silence, whoever is at fault", async () => {
  const told = async (limit: { timeLimit?: number }, isAlive: boolean, hasReplied = true) => {
    let attempts = 0;
    const limiter = new RateLimiter();
    if (hasReplied) limiter.succeeded(limiter.enter({}) as Permit, 1);
    const error = await assertRejects(
      () =>
        retrying(
          (request: ModelRequest, signal) => {
            attempts++;
            return hang(request, signal);
          },
          { requestTimeout: 30, backoff: 1, limiter },
          {
            who: "m at h",
            isAlive: () => Promise.resolve(isAlive),
          },
        )(asked(limit)),
      Error,
    );
    assertEquals(attempts, 1);
    return error;
  };
  for (const limit of [{ timeLimit: 20 }, {}]) {
    assertInstanceOf(await told(limit, true), TimeLimitError);
    const dead = await told(limit, false);
    assertInstanceOf(dead, InfrastructureError);
    assertMatch(
      dead.message,
      /^Cannot get a reply of m at h as its server is silent: .* was answered/,
    );
    assertEquals(dead.permanent, "refused");
  }
  // A trial's own time is the model's, also for its first reply; that of a request may be too short for it.
  assertInstanceOf(await told({ timeLimit: 20 }, true, false), TimeLimitError);
  const first = await told({}, true, false);
  assertInstanceOf(first, InfrastructureError);
  assertMatch(first.message, /has never replied: .* raise requestTimeout/);
});

Deno.test("retrying() gives the failed attempts with the reply, all of unclear cause", async () => {
  const { failed } = await playing([
    () => Promise.reject(fault("gateway", { retryable: true, status: 502 })),
    () => Promise.reject(fault("odd", { retryable: true, status: 500, fault: "unclear" })),
    succeed,
  ]).reply(asked());
  assertEquals(failed, [
    { cause: "infrastructure", status: 502, message: "gateway" },
    { cause: "unclear", status: 500, message: "odd" },
  ]);
  assertEquals((await playing([succeed]).reply(asked())).failed, undefined);
});

Deno.test("retrying() refuses a policy that makes no sense", () => {
  const policies: RetryPolicy[] = [
    { retries: -1 },
    { retries: 1.5 },
    { retries: NaN },
    { requestTimeout: 0 },
    { requestTimeout: NaN },
    { backoff: -1 },
  ];
  for (const policy of policies) {
    const [name = "", value] = Object.entries(policy)[0] ?? [];
    const error = assertThrows(() => retrying(succeed, policy), InputError);
    assertStringIncludes(error.message, `${name} must be`);
    assertStringIncludes(error.message, String(value));
  }
});
