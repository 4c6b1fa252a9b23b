import { assertEquals, assertRejects } from "@std/assert";
import { openai } from "../../../lib/models/openai/openai.ts";
import { InfrastructureError } from "../../../lib/models/model.ts";
import { replacing } from "../../../lib/trials/summary.ts";

const QUOTES = `Unexpected token in the arguments of set_oven: {"temperature": 20,, "room": "x"}`;
const REPLY = {
  choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: "ok" } }],
};

Deno.test("openai() does not take what a model wrote for an option that its server refuses", async () => {
  let count = 0;
  const ask = () => {
    const baseURL = `http://127.0.0.1:${server.addr.port}/v1`;
    return openai({ model: "m", apiKey: "any", temperature: 0, retries: 0, baseURL });
  };
  await using server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    () =>
      count++ === 0
        ? Response.json(REPLY)
        : Response.json({ error: { message: QUOTES } }, { status: 400 }),
  );
  const model = ask();
  const request = {
    messages: [{ role: "user", content: "hi" } as const],
    tools: [],
    context: { trial: "1", repetition: 1, request: 1 },
  };
  await model.reply(request);
  const { permanent } = await assertRejects(() => model.reply(request), InfrastructureError);
  assertEquals(permanent, undefined);
  // Nor where the first reply of all is one that its server could not read.
  const first = await assertRejects(() => ask().reply(request), InfrastructureError);
  assertEquals(first.permanent, undefined);
});

Deno.test("replacing() excuses no trial for a refusal that may quote its model", () => {
  const usage = { inputTokens: 0, outputTokens: 0 };
  assertEquals(replacing({ usage, permanent: "option" }), { replaced: usage });
});
