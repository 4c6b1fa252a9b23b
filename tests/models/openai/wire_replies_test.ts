// Replies of real servers, as the tests of other projects recorded them: each is read as its expectation says.

import { assert, assertEquals, assertMatch } from "@std/assert";
import type { JsonObject } from "../../../lib/base/json.ts";
import type { InfrastructureError, ModelReply } from "../../../lib/models/model.ts";
import { openai, type WireApi } from "../../../lib/models/openai/openai.ts";
import { outsideTest, WIRE_REPLIES } from "../../support/outside_data.ts";
import { asked } from "../../support/wire_servers.ts";

/** One line of the file. */
interface Recorded {
  readonly source: string;
  readonly api: WireApi;
  readonly status: number;
  readonly body: JsonObject;
  readonly expected: { readonly error: true } | {
    readonly text: string;
    readonly calls: readonly [name: string, arguments: string][];
    readonly finish: string;
  };
}

/** What their reasons to stop are called here; all others are `other`. */
const FINISH: Readonly<Record<string, ModelReply["finish"]>> = {
  stop: "stop",
  length: "length",
  tool_calls: "calls",
};

/** Errors that are a model's own: its server could not read the call. */
const OWN_FAULT = /tool_use_failed/;

outsideTest(
  "openai() reads recorded replies of real servers as they were meant",
  WIRE_REPLIES,
  async (path) => {
    const lines = Deno.readTextFileSync(`${path}/replies.jsonl`).trimEnd().split("\n");
    assert(lines.length > 100);
    let answer = () => new Response();
    await using server = Deno.serve(
      { port: 0, hostname: "127.0.0.1", onListen() {} },
      async (request) => {
        await request.body?.cancel();
        return answer();
      },
    );
    const baseURL = `http://127.0.0.1:${server.addr.port}/v1`;
    for (const [place, line] of lines.entries()) {
      const { source, api, status, body, expected }: Recorded = JSON.parse(line);
      const where = `line ${place + 1}, ${source}`;
      answer = () => Response.json(body, { status });
      const model = openai({ model: "m", api, baseURL, apiKey: "none", retries: 0 });
      const reply: ModelReply | InfrastructureError = await model.reply(asked())
        .catch((error) => error);
      if ("error" in expected) {
        const isOwn = OWN_FAULT.test(JSON.stringify(body));
        if (reply instanceof Error || !isOwn) {
          assertEquals(
            `${reply}`.split(":")[0],
            "InfrastructureError",
            where,
          );
        } else assertEquals([reply.parsed, reply.calls.length], ["unreadable", 1], where);
        continue;
      }
      if (expected.finish === "queued") {
        // It has only been begun: a reply of nothing would blame the model.
        assertMatch(`${reply}`, /its status is queued/, where);
        continue;
      }
      assert(!(reply instanceof Error), `${where}: ${reply}`);
      const { text, calls, finish } = reply;
      assertEquals(
        [text, calls.map(({ name, arguments: written }) => [name, written])],
        [expected.text, expected.calls],
        where,
      );
      if (api === "chat") assertEquals(finish, FINISH[expected.finish] ?? "other", where);
      // Responses say no more than whether they are complete.
      else if (expected.finish === "completed") {
        assertEquals(finish, calls.length > 0 ? "calls" : "stop", where);
      }
    }
  },
);
