// Servers and databases that are new for each trial of a tool test: as users have them, in files of a folder of
// their own.

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { existsSync } from "node:fs";
import { deno, type Finished, folder, readLines, ROOT, start } from "../support/child.ts";

const MOD = JSON.stringify(`file://${ROOT}/mod.ts`);

/** What the files share: a shop that is a server with a database of its own, and writes down what becomes of it. */
const SHOP = `import { DatabaseSync } from "node:sqlite";
import { tool } from ${MOD};

export const seen = { open: 0, most: 0, opened: 0, finished: 0 };
const LOG = Deno.env.get("SHOP_LOG");
export function log(line: string) {
  if (LOG !== undefined) Deno.writeTextFileSync(LOG, line + "\\n", { append: true });
}

export class Shop implements AsyncDisposable {
  readonly #database = new DatabaseSync(":memory:");
  readonly #server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    const { order } = await request.json();
    this.#database.prepare("INSERT INTO refunds VALUES (?)").run(order);
    return Response.json({ refunded: order });
  });
  readonly url: string;
  readonly order: string;

  constructor() {
    const { port } = this.#server.addr as Deno.NetAddr;
    this.url = "http://127.0.0.1:" + port;
    this.order = "A" + ++seen.opened;
    this.#server.finished.then(() => seen.finished++);
    seen.most = Math.max(seen.most, ++seen.open);
    this.#database.exec("CREATE TABLE refunds (id TEXT)");
    log("open " + this.order);
  }

  static async open(): Promise<Shop> {
    await new Promise((resolve) => setTimeout(resolve, 5));
    return new Shop();
  }

  refunds() {
    return this.#database.prepare("SELECT id FROM refunds").all().map(({ id }) => id);
  }

  async [Symbol.asyncDispose]() {
    await this.#server.shutdown();
    await new Promise((resolve) => setTimeout(resolve, 20));
    this.#database.close();
    seen.open--;
    log("close " + this.order);
  }
}

export class Client implements Disposable {
  readonly http = Deno.createHttpClient({});
  [Symbol.dispose]() {
    this.http.close();
  }
}

export async function tools(shop: Shop) {
  await Promise.resolve();
  const client = new Client();
  const refund = tool({
    name: "refund",
    description: "Refunds an order",
    parameters: { type: "object", properties: { order: { type: "string" } }, required: ["order"] },
    async execute({ order }) {
      const body = JSON.stringify({ order });
      const reply = await fetch(shop.url, { method: "POST", body, client: client.http });
      return await reply.json();
    },
  });
  return [Object.assign(refund, { [Symbol.dispose]: () => client[Symbol.dispose]() })];
}
`;

const HEAD = `import { assertAnswer, scripted, tool, toolTest } from ${MOD};
import { Shop, log, seen, tools } from "./shop.ts";
import { assertEquals } from "@std/assert";
`;

/** A model that refunds the order of the question; slowly, so that trials meet. */
const REFUNDER = `scripted("refunder", async ({ messages, tools }) => {
  const [, order] = /order (\\w+)/.exec(messages.find(({ role }) => role === "user").content);
  if (messages.at(-1).role === "tool") return { text: "Refunded " + order };
  await new Promise((resolve) => setTimeout(resolve, 60));
  return { calls: [{ name: tools[0].name, arguments: { order } }] };
})`;

const SHOPPING = `state: Shop.open,
  tools,
  prompt: async (shop) => await "Refund my order " + shop.order,`;

async function testing(
  files: Readonly<Record<string, string>>,
  { env = {}, own = [], flags = [] }: {
    readonly env?: Record<string, string>;
    readonly own?: readonly string[];
    readonly flags?: readonly string[];
  } = {},
) {
  const temporary = await folder();
  temporary.write("shop.ts", SHOP);
  for (const [name, text] of Object.entries(files)) temporary.write(name, HEAD + text);
  const log = temporary.file("shop.log");
  const arguments_ = [
    ...["test", "-A", "--no-check", "--no-prompt", `--config=${ROOT}/deno.json`, ...flags],
    ...[...Object.keys(files), "--", ...own],
  ];
  const options = { cwd: temporary.path, env: { SHOP_LOG: log, ...env } };
  return {
    arguments_,
    options,
    file: temporary.file,
    /** The shops that were opened, and those that were closed. */
    shops() {
      const lines = existsSync(log) ? Deno.readTextFileSync(log).trim().split("\n") : [];
      const of = (word: string) =>
        lines.flatMap((line) => line.startsWith(word) ? [line.slice(word.length)] : []).sort();
      return { opened: of("open "), closed: of("close "), lines };
    },
    [Symbol.asyncDispose]: () => temporary[Symbol.asyncDispose](),
  };
}

/** The message of a failed test. */
function errorOf({ stdout }: Finished, name: string): string {
  const start = stdout.indexOf(`\n${name} => `);
  return stdout.slice(start, stdout.indexOf("\n    at ", start));
}

Deno.test("a tool test has a server and a database of its own for each of eight trials at once, and all are closed", async () => {
  await using project = await testing({
    "shop_test.ts": `
toolTest("refunds", {
  model: ${REFUNDER},
  trials: 24,
  concurrency: 8,
  ${SHOPPING}
  assert(run) {
    // It is still open.
    assertEquals(run.state.refunds(), [run.state.order]);
    assertAnswer(run, run.state.order);
    log("judge " + run.state.order);
  },
});
Deno.test.afterAll(() => {
  // All servers have stopped. Their ports do not tell: a freed one may be given out again.
  assertEquals(seen, { open: 0, most: 8, opened: 24, finished: 24 });
});
`,
  });
  const finished = await deno(project.arguments_, project.options);
  assertEquals(finished.code, 0, finished.all);
  const { opened, closed, lines } = project.shops();
  assertEquals([opened.length, closed], [24, opened]);
  for (const one of closed) {
    assertEquals(lines.filter((line) => line.endsWith(` ${one}`)), [
      `open ${one}`,
      `judge ${one}`,
      `close ${one}`,
    ]);
  }
});

/** Tests that end badly, each in its own way. */
const BAD = `
const own = {
  model: ${REFUNDER},
  ${SHOPPING}
  assert: (run) => assertAnswer(run, run.state.order),
};
let [opened, asked] = [0, 0];
toolTest("database away", {
  ...own,
  trials: 3,
  concurrency: 1,
  async state() {
    if (++opened === 2) {
      await Promise.resolve();
      throw new Error("no database today");
    }
    return await Shop.open();
  },
});
toolTest("set-up hangs", {
  ...own,
  prompt: () => new Promise(() => {}),
  limits: { seconds: 0.2 },
});
toolTest("half made", {
  ...own,
  tools() {
    throw new TypeError("no tools");
  },
});
class Sticky extends Shop {
  async [Symbol.asyncDispose]() {
    await super[Symbol.asyncDispose]();
    throw new Error("still in use");
  }
}
toolTest("stays", { ...own, state: () => new Sticky() });
toolTest("wrong and stays", { ...own, state: () => new Sticky(), assert: (run) => assertAnswer(run, "B2") });
toolTest("broken tool", {
  ...own,
  tools: (shop) => [tool({
    name: "refund",
    description: "Refunds",
    parameters: { type: "object" },
    async execute() {
      await undefined;
      /*mistake*/ return shop.nothing.refund();
    },
  })],
  assert: (run) => assertEquals(run.state.refunds(), [run.state.order]),
});
toolTest("broken test", { ...own, assert: (run) => /*test*/ assertEquals(run.state.order, ordr) });
toolTest("gated", {
  ...own,
  trials: 8,
  gate: { successRate: 0.9 },
  state: () => {
    if (++asked % 2 === 0) throw new Error("no database today");
    return new Sticky();
  },
});
`;

Deno.test("deno test tells what was not set up or cleaned up, and whose mistake it was, and never excuses or blames the model", async (context) => {
  await using project = await testing({ "bad_test.ts": BAD }, { own: ["--out=results/"] });
  const finished = await deno(project.arguments_, project.options);
  assertEquals(finished.code, 1, finished.all);
  const { stdout } = finished;
  const error = (name: string) => errorOf(finished, name);
  const place = (mark: string) => {
    const before = (HEAD + BAD).split(mark)[0]!.split("\n");
    return `bad_test.ts:${before.length}:`;
  };

  await context.step("one trial without a database is invalid, and the others go on", () => {
    const [first, second, third] = [1, 2, 3].map((number) =>
      new RegExp(`^database away > trial ${number} \\.\\.\\. (\\w+)`, "m").exec(stdout)?.[1]
    );
    assertEquals([first, second, third], ["ok", "FAILED", "ok"], finished.all);
    assertMatch(
      error("database away > trial 2"),
      /error: AssertionError: The trial is invalid: set-up failed: state threw Error at bad_test\.ts:\d+:\d+: no database today\nrefunder \(simulated\): invalid after 0 calls\nrerun: /,
    );
  });
  await context.step("what hangs is told by its name, and what was made before goes", () => {
    assertStringIncludes(
      error("set-up hangs"),
      "The trial is invalid: set-up failed: prompt did not end within 0.2 seconds (limits.seconds)\n",
    );
    assertMatch(
      error("half made"),
      /set-up failed: tools threw TypeError at bad_test\.ts:\d+:\d+: no/,
    );
    const { opened, closed } = project.shops();
    assertEquals(closed, opened);
  });
  await context.step(
    "a clean-up that fails turns no failure into a pass, and is none of the model's",
    () => {
      assertMatch(
        error("stays"),
        /error: AssertionError: The model passed, but clean-up failed: disposing of state threw Error at bad_test\.ts:\d+:\d+: still in use\nrerun: /,
      );
      const both = error("wrong and stays");
      assertStringIncludes(both, "AssertionError: The answer is not ");
      assertMatch(both, /\n {2}clean-up failed: disposing of state threw Error at bad_test\.ts/);
      const trials = [...Deno.readDirSync(project.file("results"))]
        .flatMap(({ name }) => readLines(project.file(`results/${name}`)).slice(1));
      assertEquals(
        ["stays", "wrong and stays"].map((name) =>
          trials.find(({ task }) => task.case === name).outcome
        ),
        ["solved", "wrong_answer"],
      );
    },
  );
  await context.step("a mistake in a tool or in the test is told as such, with its place", () => {
    assertMatch(
      error("broken tool"),
      new RegExp(
        `\\n  the tool refund itself threw TypeError at ${place("/*mistake*/")}\\d+ in call 1: ` +
          "Cannot read properties of undefined",
      ),
    );
    assertMatch(
      error("broken test"),
      new RegExp(
        `error: AssertionError: assert itself threw ReferenceError at ${place("/*test*/")}\\d+: ` +
          "ordr is not defined \\(no AssertionError: look at the test first\\)\n",
      ),
    );
  });
  await context.step(
    "a gate counts a trial without a set-up as the worst case, and tells of clean-ups",
    () => {
      assertMatch(stdout, /^ {2}clean-up failed: disposing of state threw Error at .* ignored/m);
      assertMatch(stdout, /^ {2}invalid: set-up failed: state threw Error at .* ignored/m);
      assertMatch(error("gated > gate"), /: INVALID: /);
    },
  );
});

Deno.test("a run that is told to end, or needs no more trials, closes the servers of those under way", async () => {
  const slow = (assertion: string) => `
toolTest("refunds", {
  model: scripted("slow", async ({ context }) => {
    if (context.repetition > 3) await new Promise(() => {});
    return { text: "No." };
  }),
  trials: 20,
  concurrency: 8,
  ${SHOPPING}
  assert: (run) => ${assertion},
});
`;
  await using told = await testing({ "slow_test.ts": slow("undefined") });
  const child = start(Deno.execPath(), told.arguments_, told.options);
  // The first three have ended, and eight are under way.
  let isOver = false;
  child.finished.then(() => isOver = true);
  while (!isOver && told.shops().opened.length < 11) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  child.process.kill("SIGTERM");
  const ended = await child.finished;
  assertEquals(ended.code, 3, ended.all);
  assertStringIncludes(ended.all, "slow: interrupted: 3 of 20 trials");
  assertEquals(told.shops().closed, told.shops().opened);

  const third = 'assertEquals(run.state.order === "A3", false)';
  await using failed = await testing({ "fast_test.ts": slow(third) }, { flags: ["--fail-fast"] });
  const finished = await deno(failed.arguments_, failed.options);
  assertEquals(finished.code, 1, finished.all);
  assert(failed.shops().opened.length > 3, finished.all);
  assertEquals(failed.shops().closed, failed.shops().opened);
});
