import {
  assert,
  assertEquals,
  assertGreaterOrEqual,
  assertLess,
  assertLessOrEqual,
  assertMatch,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { mapConcurrent } from "../../../lib/base/concurrent.ts";
import { InputError } from "../../../lib/base/errors.ts";
import { defined } from "../../../lib/base/json.ts";
import { Connections } from "../../../lib/models/connect.ts";
import {
  type Permit,
  RateLimiter,
  RateLimiters,
  type Wait,
} from "../../../lib/models/http/rate_limiter.ts";
import { type Asked, retrying, type RetryPolicy } from "../../../lib/models/http/retry.ts";
import { InfrastructureError, TimeLimitError } from "../../../lib/models/model.ts";
import fc from "../../support/fast_check.ts";
import { VirtualClock } from "../../support/virtual_clock.ts";
import { asked, completion } from "../../support/wire_servers.ts";

const MINUTE = 60_000;

/** How a server refuses what is too much for it. */
interface Limits {
  /** Requests at the same time. */
  readonly atOnce?: number;
  /** Requests that it takes within any 60 seconds. */
  readonly perMinute?: number;
  /** Tokens within any 60 seconds. */
  readonly tokens?: number;
  /** Milliseconds that it asks to wait; left out, it says nothing. */
  readonly retryAfter?: number;
}

interface Question extends Asked {
  /** Milliseconds that the answer takes. */
  readonly takes: number;
  /** Tokens that it takes. */
  readonly tokens?: number;
}

interface Answer {
  readonly usage: { readonly inputTokens: number; readonly outputTokens: number };
}

/** A server in virtual time. */
class Server {
  readonly begun: number[] = [];
  readonly read: { readonly at: number; readonly tokens: number }[] = [];
  refused = 0;
  underWay = 0;
  mostUnderWay = 0;
  readonly #clock: VirtualClock;
  readonly #limits: Limits;

  constructor(clock: VirtualClock, limits: Limits = {}) {
    this.#clock = clock;
    this.#limits = limits;
  }

  async answer({ takes, tokens = 10 }: Question, signal: AbortSignal): Promise<Answer> {
    const { atOnce = Infinity, perMinute = Infinity, retryAfter } = this.#limits;
    const now = this.#clock.now();
    const recent = this.begun.filter((at) => at > now - MINUTE).length;
    const recentTokens = this.read.filter(({ at }) => at > now - MINUTE)
      .reduce((sum, one) => sum + one.tokens, 0);
    const { tokens: mostTokens = Infinity } = this.#limits;
    if (this.underWay >= atOnce || recent >= perMinute || recentTokens > mostTokens) {
      this.refused++;
      throw new InfrastructureError("429 Slow down", {
        ...{ retryable: true, rateLimited: true },
        ...(retryAfter === undefined ? {} : { retryAfter }),
      });
    }
    this.begun.push(now);
    this.mostUnderWay = Math.max(this.mostUnderWay, ++this.underWay);
    try {
      await this.#clock.pause(takes, signal);
    } finally {
      this.underWay--;
    }
    this.read.push({ at: this.#clock.now(), tokens });
    return { usage: { inputTokens: tokens, outputTokens: 0 } };
  }
}

/** Asks a server through a limiter, all questions at the same time. */
async function askAll(
  questions: readonly Question[],
  ask: (question: Question) => Promise<object>,
  most = 32,
): Promise<void> {
  await mapConcurrent(questions.length, (place) => ask(questions[place]!), { most });
}

function asking(server: Server, limiter: RateLimiter, policy: RetryPolicy = {}) {
  return retrying<Question, Answer>(
    (question, signal) => server.answer(question, signal),
    { ...policy, limiter },
  );
}

/** The most of all sums over any 60 seconds. */
function mostInAMinute(
  events: readonly { readonly at: number; readonly amount: number }[],
): number {
  return Math.max(
    0,
    ...events.map(({ at: start }) =>
      events.filter(({ at }) => at >= start && at < start + MINUTE)
        .reduce((sum, { amount }) => sum + amount, 0)
    ),
  );
}

/** A place that is there at once. */
function placeIn(limiter: RateLimiter): Permit {
  const place = limiter.enter({});
  assert(!(place instanceof Promise));
  return place;
}

function assertIdle(limiter: RateLimiter, clock: VirtualClock): void {
  assertEquals([limiter.underWay, limiter.waiting, clock.waiting], [0, 0, 0]);
}

const times = (count: number, takes = 100) => Array.from({ length: count }, () => ({ takes }));

// How many at a time

Deno.test("RateLimiter.refused() halves those under way, once for all that were", () => {
  const limiter = new RateLimiter();
  const places = times(32).map(() => placeIn(limiter));
  assertEquals(limiter.most, Infinity);
  assertEquals(limiter.refused(places[0]!, undefined).vainSince, undefined);
  assertEquals(limiter.most, 16);
  for (const place of places.slice(1, 31)) {
    assertEquals(limiter.refused(place, undefined).vainSince, undefined);
  }
  assertEquals([limiter.most, limiter.underWay, limiter.refusals], [16, 1, 31]);
  // The last one began with the others: that it is alone now says nothing.
  assertEquals(limiter.refused(places[31]!, undefined).vainSince, undefined);
  assertEquals(limiter.most, 16);
});

Deno.test("RateLimiter.refused() never goes below one, and tells how long single ones were refused", async () => {
  using clock = new VirtualClock();
  const limiter = new RateLimiter({ clock });
  const since = clock.now();
  for (let count = 0; count < 3; count++) {
    assertEquals(limiter.refused(placeIn(limiter), undefined).vainSince, since);
    await clock.pause(5_000);
  }
  limiter.succeeded(placeIn(limiter), undefined);
  assertEquals(limiter.refused(placeIn(limiter), undefined).vainSince, clock.now());
});

Deno.test("RateLimiter.succeeded() allows no more than is asked for", () => {
  const limiter = new RateLimiter();
  const [one, other] = [placeIn(limiter), placeIn(limiter)];
  limiter.refused(one, undefined);
  limiter.failed(other);
  const asked = () => times(2).map(() => placeIn(limiter));
  limiter.succeeded(placeIn(limiter), undefined);
  for (let count = 0; count < 100; count++) {
    if (limiter.most < 2) limiter.succeeded(placeIn(limiter), undefined);
    else for (const place of asked()) limiter.succeeded(place, undefined);
  }
  assertEquals(limiter.most, 3);
});

Deno.test("retrying() with a limiter asks again before what is new is asked", async () => {
  using clock = new VirtualClock();
  const limiter = new RateLimiter({ clock });
  const order: number[] = [];
  const ask = retrying(async ({ place }: Asked & { place: number }, signal) => {
    order.push(place);
    await clock.pause(1_000, signal);
    // Alone, without a word on how long to wait: everybody waits.
    if (order.length === 1) {
      throw new InfrastructureError("429", { retryable: true, rateLimited: true });
    }
    return {};
  }, { limiter });
  const [one, other] = [placeIn(limiter), placeIn(limiter)];
  limiter.refused(one, undefined);
  limiter.failed(other);
  const all = [0, 1, 2].map((place) => ask({ place }));
  await clock.pause(1_100);
  assertEquals([clock.now(), limiter.underWay, limiter.waiting], [1_100, 0, 3]);
  await Promise.all(all);
  assertEquals(order, [0, 0, 1, 2]);
});

Deno.test("retrying() with a limiter converges to what a server allows at a time", async () => {
  for (const retryAfter of [undefined, 1_000, 90_000]) {
    for (const atOnce of [1, 4, 20]) {
      using clock = new VirtualClock();
      const server = new Server(clock, {
        atOnce,
        ...(retryAfter === undefined ? {} : { retryAfter }),
      });
      const limiter = new RateLimiter({ clock });
      await askAll(times(1_200, 1_000), asking(server, limiter));
      const seconds = clock.now() / 1_000;
      const shown = `${atOnce} at once, retry-after ${retryAfter}: ${server.refused} refused, ` +
        `${seconds} s`;
      assertEquals([server.begun.length, server.mostUnderWay], [1_200, atOnce], shown);
      assertLessOrEqual(server.refused, 150, shown);
      assertEquals(limiter.refusals, server.refused);
      // Where a server asks to wait for longer than its replies take, waiting is what takes the time.
      if (retryAfter !== 90_000) assertLess(seconds, 1.25 * 1_200 / atOnce, shown);
      assertIdle(limiter, clock);
    }
  }
});

Deno.test("retrying() with a limiter asks for more again when a server allows more", async () => {
  using clock = new VirtualClock();
  const limits = { atOnce: 2 };
  const server = new Server(clock, limits);
  const limiter = new RateLimiter({ clock });
  const ask = asking(server, limiter);
  await askAll(times(200), ask);
  assertLessOrEqual(limiter.most, 3);
  limits.atOnce = 1_000;
  await askAll(times(2_000), ask);
  assertEquals(server.mostUnderWay, 32);
});

Deno.test("retrying() counts no refusal that slowing down can cure", async () => {
  using clock = new VirtualClock();
  const server = new Server(clock, { atOnce: 1 });
  await askAll(times(64, 5_000), asking(server, new RateLimiter({ clock }), { retries: 1 }));
  assertEquals(server.begun.length, 64);
});

Deno.test("retrying() outwaits limits by the minute, whether or not the server says how long", async () => {
  for (const limits of [{ perMinute: 10 }, { perMinute: 10, retryAfter: 5_000 }, { tokens: 100 }]) {
    for (const most of [1, 2, 32]) {
      using clock = new VirtualClock();
      const server = new Server(clock, limits);
      const limiter = new RateLimiter({ clock });
      await askAll(times(60), asking(server, limiter), most);
      assertEquals(server.begun.length, 60);
      assertLess(clock.now(), 8 * MINUTE, JSON.stringify({ limits, most }));
      assertIdle(limiter, clock);
    }
  }
});

Deno.test("retrying() stops asking what is refused over and over, alone, and says how often", async () => {
  using clock = new VirtualClock();
  const limiter = new RateLimiter({ clock });
  const server = new Server(clock, { atOnce: 0 });
  const error = await assertRejects(
    () => asking(server, limiter)({ takes: 1 }),
    InfrastructureError,
    "429 Slow down",
  );
  assertMatch(error.message, /\(\d+ attempts\)$/);
  assertEquals([error.retryable, error.rateLimited], [true, true]);
  assertGreaterOrEqual(clock.now(), 1.5 * MINUTE);
  assertLess(clock.now(), 2 * MINUTE);
  const impatient = asking(server, limiter, { retries: 0 });
  const once = await assertRejects(() => impatient({ takes: 1 }), InfrastructureError);
  assertStringIncludes(once.message, "(1 attempt)");
  assertIdle(limiter, clock);
});

Deno.test("retrying() lets nobody wait for long where there is nothing but refusals, however many wait", async () => {
  for (const retryAfter of [undefined, 20_000, 60_000]) {
    using clock = new VirtualClock();
    const limiter = new RateLimiter({ clock });
    const server = new Server(clock, {
      atOnce: 0,
      ...(retryAfter === undefined ? {} : { retryAfter }),
    });
    const ask = asking(server, limiter);
    const failed: number[] = [];
    await mapConcurrent(40, async () => {
      await assertRejects(() => ask({ takes: 1 }), InfrastructureError);
      failed.push(clock.now());
    }, { most: 8 });
    // None before a minute and a half, as limits by the minute pass by themselves.
    assertGreaterOrEqual(failed[0]!, 1.5 * MINUTE);
    // Ten minutes of it, after those that it takes to slow down to one at a time.
    assertLessOrEqual(failed[0]!, 14 * MINUTE);
    // One more refusal each, once it is known to be in vain.
    if (retryAfter === 60_000) assertLessOrEqual(failed.at(-1)!, (14 + 40) * MINUTE);
    assertIdle(limiter, clock);
  }
});

Deno.test("retrying() does not wait for rate limits for ever", async () => {
  using clock = new VirtualClock();
  const limiter = new RateLimiter({ clock });
  const ask = retrying(async ({ isUnlucky }: Asked & { isUnlucky: boolean }, signal) => {
    await clock.pause(isUnlucky ? 0 : 1_000, signal);
    if (!isUnlucky) return {};
    const more = { retryable: true, rateLimited: true, retryAfter: 250_000 };
    throw new InfrastructureError("429", more);
  }, { limiter, retries: 10 });
  let why = "";
  await mapConcurrent(100, async (place) => {
    await ask({ isUnlucky: place === 1 }).catch((error) => why += error.message);
  }, { most: 4 });
  assertEquals(
    why,
    "429; rate limits ask to wait for more than ten minutes, too long (3 attempts)",
  );
  assertIdle(limiter, clock);
});

Deno.test("retrying() lets a server's wish for hours hold up nobody else", async () => {
  using clock = new VirtualClock();
  const limiter = new RateLimiter({ clock });
  const server = new Server(clock, { atOnce: 0, retryAfter: 3_600_000 });
  const error = await assertRejects(
    () => asking(server, limiter)({ takes: 1 }),
    InfrastructureError,
  );
  assertStringIncludes(error.message, "asks to wait 3600 seconds, too long (1 attempt)");
  assertEquals(clock.now(), 0);
  placeIn(limiter);
});

Deno.test("retrying() lets others go on while one request alone is refused for ever", async () => {
  for (const retryAfter of [undefined, 5_000]) {
    using clock = new VirtualClock();
    const limiter = new RateLimiter({ clock });
    const ended = new Map<number, number>();
    let poisoned = 0;
    const ask = retrying(async ({ place }: Asked & { place: number }, signal) => {
      await clock.pause(1_000, signal);
      if (place === 8) {
        poisoned++;
        const more = { retryable: true, rateLimited: true, ...defined({ retryAfter }) };
        throw new InfrastructureError("429 TPM", more);
      }
      return {};
    }, { limiter });
    await mapConcurrent(120, async (place) => {
      await ask({ place }).catch(() => undefined);
      ended.set(place, clock.now());
    }, { most: 8 });
    const others = Math.max(...[...ended].flatMap(([place, at]) => place === 8 ? [] : [at]));
    // Eight at a time take 15 seconds; the pauses of a refusal that may be of all requests come on top.
    assertLess(others, 45_000);
    assertGreaterOrEqual(ended.get(8)!, 90_000);
    assertLess(ended.get(8)!, 3 * MINUTE);
    assertLess(poisoned, 40);
    assertIdle(limiter, clock);
  }
});

// Pauses

Deno.test("RateLimiter.refused() pauses all requests for as long as the server asks", async () => {
  using clock = new VirtualClock();
  const limiter = new RateLimiter({ clock });
  const begun: number[] = [];
  let refused = false;
  const ask = retrying(async (_: Asked, signal) => {
    begun.push(clock.now());
    if (begun.length === 10) {
      refused = true;
      const more = { retryable: true, rateLimited: true, retryAfter: 90_000 };
      throw new InfrastructureError("429", more);
    }
    await clock.pause(1_000, signal);
    return {};
  }, { limiter });
  await mapConcurrent(40, () => ask({}), { most: 8 });
  assert(refused);
  const at = begun[9]!;
  assertEquals(begun.filter((time) => time > at && time < at + 90_000), []);
  assertEquals(begun.length, 41);
  assertEquals(clock.now(), at + 90_000 + 1_000 * Math.ceil((clock.now() - at - 90_000) / 1_000));
});

Deno.test("retrying() charges waiting for a place to nobody's time", async () => {
  using clock = new VirtualClock();
  const limiter = new RateLimiter({ clock, requestsPerMinute: 1 });
  const ask = retrying((_: Asked) => Promise.resolve({}), { limiter });
  const replies = await Promise.all(times(5).map(() => ask({ timeLimit: 1_000 })));
  assertEquals(clock.now(), 4 * MINUTE);
  for (const { duration } of replies) assertLess(duration, 1_000);
  await assertRejects(() => ask({ timeLimit: 0 }), TimeLimitError);
  assertEquals([limiter.underWay, limiter.waited], [0, (1 + 2 + 3 + 4 + 1) * MINUTE]);
});

Deno.test("RateLimiter.enter() ends at once with the reason of the signal", async () => {
  using clock = new VirtualClock();
  const limiter = new RateLimiter({ clock, requestsPerMinute: 1 });
  const place = placeIn(limiter);
  const [one, other] = [new AbortController(), new AbortController()];
  const waiting = [one, other].map(({ signal }) => {
    const entering = Promise.resolve(limiter.enter({ signal }));
    entering.catch(() => {});
    return entering;
  });
  assertEquals([limiter.waiting, clock.waiting], [2, 1]);
  one.abort(new RangeError("enough"));
  await assertRejects(() => waiting[0]!, RangeError, "enough");
  assertEquals([limiter.waiting, clock.waiting], [1, 1]);
  other.abort(new RangeError("enough"));
  await assertRejects(() => waiting[1]!, RangeError, "enough");
  limiter.failed(place);
  assertIdle(limiter, clock);
  const gone = AbortSignal.abort(new RangeError("never"));
  await assertRejects(async () => await limiter.enter({ signal: gone }), RangeError, "never");
  assertIdle(limiter, clock);
});

// Limits that the user sets

Deno.test("RateLimiter lets no more requests begin within any 60 seconds than it may", async () => {
  await fc.assert(fc.asyncProperty(
    fc.integer({ min: 1, max: 12 }),
    fc.integer({ min: 1, max: 20 }),
    fc.array(fc.integer({ min: 0, max: 90_000 }), { minLength: 1, maxLength: 60 }),
    async (requestsPerMinute, most, durations) => {
      using clock = new VirtualClock();
      const server = new Server(clock);
      const limiter = new RateLimiter({ clock, requestsPerMinute });
      await askAll(durations.map((takes) => ({ takes })), asking(server, limiter), most);
      const events = server.begun.map((at) => ({ at, amount: 1 }));
      assertLessOrEqual(mostInAMinute(events), requestsPerMinute);
      assertEquals(server.begun.length, durations.length);
      assertIdle(limiter, clock);
    },
  ));
});

Deno.test("RateLimiter lets requests begin as soon as it may", async () => {
  using clock = new VirtualClock();
  const server = new Server(clock);
  const limiter = new RateLimiter({ clock, requestsPerMinute: 4 });
  await askAll(times(11, 10), asking(server, limiter));
  assertEquals(server.begun, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2].map((minute) => minute * MINUTE));
});

Deno.test("RateLimiter lets no more tokens be taken within any 60 seconds than it may", async () => {
  await fc.assert(fc.asyncProperty(
    fc.integer({ min: 1, max: 50 }),
    fc.integer({ min: 50, max: 400 }),
    fc.integer({ min: 1, max: 20 }),
    fc.array(fc.integer({ min: 0, max: 90_000 }), { minLength: 1, maxLength: 40 }),
    async (tokens, tokensPerMinute, most, durations) => {
      using clock = new VirtualClock();
      const server = new Server(clock);
      const limiter = new RateLimiter({ clock, tokensPerMinute });
      const ask = asking(server, limiter);
      // From the first reply on it knows what they take.
      await ask({ takes: 1, tokens });
      await askAll(durations.map((takes) => ({ takes, tokens })), ask, most);
      const events = server.read.map(({ at, tokens }) => ({ at, amount: tokens }));
      assertLessOrEqual(mostInAMinute(events), tokensPerMinute);
      assertEquals(events.length, durations.length + 1);
      assertIdle(limiter, clock);
    },
  ));
});

Deno.test("RateLimiter corrects what it expects of requests by what they take", async () => {
  using clock = new VirtualClock();
  const server = new Server(clock);
  const limiter = new RateLimiter({ clock, tokensPerMinute: 1_000 });
  const ask = asking(server, limiter);
  // Its size alone would let dozens begin.
  await ask({ takes: 0, tokens: 400 });
  await askAll(Array.from({ length: 9 }, () => ({ takes: 10, tokens: 400 })), ask);
  assertEquals(
    server.begun.map((at) => Math.floor(at / MINUTE)),
    [0, 0, 1, 1, 2, 2, 3, 3, 4, 4],
  );
});

Deno.test("RateLimiter lets a request of more than the limit go alone", async () => {
  using clock = new VirtualClock();
  const server = new Server(clock);
  const limiter = new RateLimiter({ clock, tokensPerMinute: 5 });
  const ask = asking(server, limiter);
  await askAll(Array.from({ length: 4 }, () => ({ takes: 1_000, tokens: 40 })), ask);
  assertEquals([server.begun.length, server.mostUnderWay], [4, 1]);
  assertEquals(server.begun, [0, 1, 2, 3].map((place) => place * (MINUTE + 1_000)));
});

Deno.test("RateLimiter waits for nobody's claims for ever", async () => {
  for (const claimed of [NaN, -5, Infinity, 1e300]) {
    using clock = new VirtualClock();
    const limiter = new RateLimiter({ clock, tokensPerMinute: 100 });
    const usage = { inputTokens: claimed, outputTokens: 0 };
    const ask = retrying((_: Asked) => Promise.resolve({ usage }), { limiter });
    await mapConcurrent(5, () => ask({}), { most: 1 });
    assertLessOrEqual(clock.now(), 5 * MINUTE);
    assertIdle(limiter, clock);
  }
});

Deno.test("RateLimiter takes parts of tokens for whole ones, which add up to what was added", async () => {
  for (const claims of [[0.1], [0.1, 0.2, 0.3], [0.7, 2.9]]) {
    using clock = new VirtualClock();
    const limiter = new RateLimiter({ clock, tokensPerMinute: 1 });
    for (let minute = 0; minute < 9; minute++) {
      const place = await limiter.enter({});
      assertEquals(clock.now(), minute * MINUTE);
      limiter.succeeded(place, claims[minute % claims.length]!);
    }
    assertIdle(limiter, clock);
  }
});

Deno.test("RateLimiter gives back every place, whatever becomes of requests", async () => {
  const fate = fc.record({
    takes: fc.integer({ min: 0, max: 5_000 }),
    ends: fc.constantFrom("reply", "reply", "refusal", "fault", "error", "abort"),
    retryAfter: fc.option(fc.integer({ min: 0, max: 100_000 }), { nil: undefined }),
  });
  await fc.assert(fc.asyncProperty(
    fc.array(fate, { minLength: 1, maxLength: 40 }),
    fc.integer({ min: 1, max: 16 }),
    fc.option(fc.integer({ min: 1, max: 20 }), { nil: undefined }),
    fc.option(fc.integer({ min: 1, max: 200 }), { nil: undefined }),
    async (fates, most, requestsPerMinute, tokensPerMinute) => {
      using clock = new VirtualClock();
      const limiter = new RateLimiter({
        clock,
        ...(requestsPerMinute === undefined ? {} : { requestsPerMinute }),
        ...(tokensPerMinute === undefined ? {} : { tokensPerMinute }),
      });
      const asked = fates.map(() => 0);
      let ended = 0;
      const work = mapConcurrent(fates.length, async (place) => {
        const { takes, ends, retryAfter } = fates[place]!;
        const controller = new AbortController();
        const ask = retrying(async (_: Asked, signal) => {
          if (ends === "abort") controller.abort(new Error("given up"));
          await clock.pause(takes, signal);
          // Whatever is wrong is wrong once.
          if (asked[place]!++ === 0 && ends === "refusal") {
            throw new InfrastructureError("429", {
              ...{ retryable: true, rateLimited: true },
              ...(retryAfter === undefined ? {} : { retryAfter }),
            });
          }
          if (ends === "fault") throw new InfrastructureError("500", { retryable: true });
          if (ends === "error") throw new TypeError("ours");
          return { usage: { inputTokens: 5, outputTokens: 5 } };
        }, { limiter });
        const end = await ask({ signal: controller.signal }).then(
          () => "reply",
          (error) => error.message as string,
        );
        ended++;
        const expected = {
          reply: /^reply$/,
          refusal: /^reply$/,
          fault: /^500 \(4 attempts\)$/,
          error: /^ours$/,
          abort: /^given up$/,
        };
        assertMatch(end, expected[ends]);
      }, { most });
      await work;
      assertEquals(ended, fates.length);
      assertIdle(limiter, clock);
    },
  ));
});

Deno.test("new RateLimiter() refuses limits that make no sense", () => {
  for (const limit of [0, -1, 1.5, NaN, Infinity, "3" as unknown as number]) {
    for (const name of ["requestsPerMinute", "tokensPerMinute"]) {
      const error = assertThrows(() => new RateLimiter({ [name]: limit }), InputError);
      assertStringIncludes(
        error.message,
        `${name} must be a whole number from 1 on: it is ${limit}`,
      );
      assertThrows(() => retrying(() => Promise.resolve({}), { [name]: limit }), InputError);
    }
  }
});

Deno.test("retrying() keeps limits of its own without a limiter", async () => {
  const ask = retrying((_: Asked) => Promise.resolve({}), { requestsPerMinute: 2 });
  await ask({});
  await ask({});
  const controller = new AbortController();
  const third = ask({ signal: controller.signal });
  controller.abort(new RangeError("it waits"));
  await assertRejects(() => third, RangeError, "it waits");
});

function place(limiter: RateLimiter): Permit {
  return limiter.enter({}) as Permit;
}

Deno.test("RateLimiters.of() gives one limiter for each model of a server", () => {
  const limiters = new RateLimiters();
  const one = limiters.of("http://127.0.0.1:8000/v1", "m", {});
  assert(limiters.of("http://127.0.0.1:8000/other", "m", {}) === one);
  assert(limiters.of("http://127.0.0.1:8000/v1", "n", {}) !== one);
  assert(limiters.of("http://127.0.0.1:8001/v1", "m", {}) !== one);
  assert(limiters.of("http://127.0.0.1:8000/v1", "m", { requestsPerMinute: 1 }) !== one);
  for (const odd of ["__proto__", "no URL"]) {
    assert(limiters.of(odd, odd, {}) === limiters.of(odd, odd, {}));
  }
});

Deno.test("RateLimiters tell once that a model is slowed down, and in the end how often", () => {
  const lines: string[] = [];
  const limiters = new RateLimiters((line) => lines.push(line));
  const limiter = limiters.of("http://127.0.0.1:8000/v1", "m\n", {});
  limiters.of("http://127.0.0.1:8000/v1", "never asked", {});
  limiter.refused(place(limiter), 90_000);
  assertEquals(lines, [
    "m\\n at 127.0.0.1:8000 refuses requests as they are too many (429), and asks to wait 90 seconds: " +
    "slowing down",
  ]);
  const controller = new AbortController();
  for (let count = 0; count < 3; count++) {
    Promise.resolve(limiter.enter(controller)).catch(() => {});
  }
  controller.abort();
  assertEquals(lines.length, 1);
  limiters.tellWaiting();
  assertEquals(lines.slice(1).map((line) => line.replace(/\d+(\.\d)? seconds?/, "S")), [
    "m\\n at 127.0.0.1:8000 refused 1 request; requests waited S in total",
  ]);
});

Deno.test("RateLimiters tell of long waits for a server, but not while one goes on", async () => {
  const lines: string[] = [];
  const limiter = new RateLimiters((line) => lines.push(line)).of("http://h/v1", "m", {});
  for (const wait of [4_000, 120_000, 60_000]) limiter.tellAsked(wait);
  limiter.tellSilent(30_000);
  assertEquals(lines, [
    "m at h asks to wait 120 seconds before a request is sent again",
    // Tests have an option, and no such flag.
    "m at h has not replied yet, after 30 seconds (requestTimeout, or --request-timeout, limits the wait)",
  ]);

  using clock = new VirtualClock();
  const told: [number, Wait][] = [];
  const own = new RateLimiter({ clock, onWait: (wait, what) => told.push([wait, what]) });
  let busy = true;
  const ask = retrying(async (_: Asked, signal) => {
    await clock.pause(40_000, signal);
    if (!busy) return {};
    busy = false;
    throw new InfrastructureError("503", { retryable: true, retryAfter: 90_000 });
  }, { limiter: own });
  await ask({});
  await ask({});
  // It is silent for long only until it has replied for the first time.
  assertEquals(told, [[30_000, "silent"], [90_000, "asked"]]);
});

Deno.test("RateLimiters tell once that the limits given hold requests back", () => {
  for (const limit of [{ requestsPerMinute: 1 }, { tokensPerMinute: 1 }]) {
    const lines: string[] = [];
    const limiter = new RateLimiters((line) => lines.push(line)).of("http://h/v1", "m", limit);
    limiter.succeeded(place(limiter), 1);
    assertEquals(lines, []);
    const controller = new AbortController();
    for (let count = 0; count < 3; count++) {
      Promise.resolve(limiter.enter(controller)).catch(() => {});
    }
    controller.abort();
    assertEquals(lines.map((line) => line.replace(/\d+(\.\d)?/, "N")), [
      "Requests to m at h are delayed by the given rate limits: the next one begins in N seconds",
    ]);
  }
});

Deno.test("Connections ask a model of a server through one limiter, by whatever name and format", async () => {
  let underWay = 0;
  let refused = 0;
  let most = 0;
  await using server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    async (request) => {
      const { model } = await request.json();
      if (underWay >= 1 && model === "limited") {
        refused++;
        const headers = { "retry-after-ms": "30" };
        return Response.json({ error: { message: "Slow down" } }, { status: 429, headers });
      }
      most = Math.max(most, ++underWay);
      await new Promise((resolve) => setTimeout(resolve, 10));
      underWay--;
      return Response.json(completion({ content: "hello" }));
    },
  );
  const baseURL = `http://127.0.0.1:${server.addr.port}/v1`;
  const lines: string[] = [];
  const limiters = new RateLimiters((line) => lines.push(line));
  const connections = new Connections({ baseURL, limiters, retries: 1 });
  const models = [
    connections.model({ model: "limited" }),
    connections.model({ model: "limited", name: "other" }),
    connections.model({ model: "limited", api: "hermes" }),
    connections.model({ model: "limited", baseURL: `${baseURL}/`, temperature: 0 }),
  ];
  const replies = await Promise.all(
    Array.from({ length: 24 }, (_, place) => models[place % 4]!.reply(asked())),
  );
  assertEquals(replies.map(({ text }) => text), replies.map(() => "hello"));
  assertEquals(most, 1);
  const limiter = limiters.of(baseURL, "limited", {});
  assertEquals([limiter.refusals, limiter.underWay, limiter.waiting], [refused, 0, 0]);
  assertEquals(lines.length, 1);
});
