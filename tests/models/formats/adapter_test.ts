import { assertEquals, assertRejects } from "@std/assert";
import type { Message } from "../../../lib/tools/message.ts";
import {
  InfrastructureError,
  type ModelReply,
  type ModelRequest,
} from "../../../lib/models/model.ts";
import { inTextFormat } from "../../../lib/models/formats/adapter.ts";
import type { ToolCall } from "../../../lib/tools/tool.ts";
import { ADD, ALL_FORMATS, FIND } from "../../support/formats.ts";
import { parrot } from "../../support/models.ts";

const USER: Message = { role: "user", content: "What is 20 + 22?" };
const CONTEXT = { trial: "one", repetition: 1, request: 1 };
const ASKED: ModelRequest = { messages: [USER], tools: [ADD, FIND], context: CONTEXT };
const CALL = { name: "add", arguments: '{"a": 20, "b": 22}' };

for (const format of ALL_FORMATS) {
  const { id, parallel } = format;
  const reply = async (said: Partial<ModelReply>, request: Partial<ModelRequest> = {}) => {
    const inner = parrot([said]);
    const given = await inTextFormat(inner, id).reply({ ...ASKED, ...request });
    return { given, sent: inner.requests[0]! };
  };
  const written = format.writeCalls("I add.", [CALL]);

  Deno.test(`inTextFormat() makes a model that is spoken to in ${id}, and else the same`, () => {
    const model = inTextFormat({ ...parrot([{}], "small"), simulated: false }, id);
    assertEquals([model.name, model.simulated, model.api], ["small", false, id]);
  });

  Deno.test(`inTextFormat() sends ${id} texts, and neither tools nor a choice of them`, async () => {
    const signal = new AbortController().signal;
    const more = { timeLimit: 5, signal, toolChoice: "required" } as const;
    const { sent } = await reply({ text: "42" }, more);
    assertEquals(sent, {
      messages: format.present([USER], [ADD, FIND], "required"),
      tools: [],
      context: CONTEXT,
      timeLimit: 5,
      signal,
    });
  });

  Deno.test(`inTextFormat() reads calls in ${id}, and keeps all that is not the text's`, async () => {
    const said = {
      text: written,
      finish: "stop",
      usage: { inputTokens: 7, outputTokens: 8 },
      served: "small-1",
      duration: 9,
      repairs: ["it had a fault"],
    } as const;
    const { given } = await reply(said);
    assertEquals(given, {
      ...said,
      text: "I add.",
      calls: [{ id: "call_1", ...CALL }],
      finish: "calls",
      parsed: "strict",
    });
  });

  Deno.test(`inTextFormat() gives every call in ${id} an id of its own`, async () => {
    const calls = parallel ? [CALL, CALL, CALL] : [CALL];
    const { given } = await reply({ text: format.writeCalls("", calls) });
    assertEquals(given.calls.map((call) => call.id), calls.map((_, index) => `call_${index + 1}`));
  });

  Deno.test(`inTextFormat() takes an answer in ${id} for the answer`, async () => {
    const { given } = await reply({ text: format.writeCalls("x = 42", []) });
    assertEquals([given.text, given.calls, given.finish], ["x = 42", [], "stop"]);
    assertEquals(Object.hasOwn(given, "parsed"), false);
  });

  Deno.test(`inTextFormat() tells how calls in ${id} could be read`, async () => {
    const repaired = await reply({ text: written.replaceAll('"', "'") });
    assertEquals(repaired.given.parsed, "repaired");
    assertEquals(repaired.given.repairs, ["call 1 had single quotes"]);
    assertEquals(repaired.given.written, written.replaceAll('"', "'"));
    const unreadable = await reply({ text: written.replace("22", "f(22)") });
    assertEquals(unreadable.given.parsed, "unreadable");
    assertEquals(unreadable.given.written, written.replace("22", "f(22)"));
    assertEquals(unreadable.given.calls[0]?.arguments, CALL.arguments.replace("22", "f(22)"));
  });

  Deno.test(`inTextFormat() does not hide that a reply in ${id} ran out of tokens`, async () => {
    const { given } = await reply({ text: written, finish: "length" });
    assertEquals([given.finish, given.calls.length], ["length", 1]);
  });

  Deno.test(`inTextFormat() takes calls that the server sends beside those in ${id}`, async () => {
    const native: ToolCall = { id: "call_1", name: "add", arguments: "{}" };
    const { given } = await reply({ text: written, calls: [native] });
    assertEquals(given.calls, [{ id: "call_1", ...CALL }, { ...native, id: "call_2" }]);
    assertEquals([given.parsed, given.finish], ["repaired", "calls"]);
    assertEquals(given.repairs, ["calls came in the form of the server"]);
    const broken = await reply({ text: "", calls: [{ ...native, arguments: "[" }] });
    assertEquals(broken.given.parsed, "unreadable");
    const both = await reply({ text: written.replace("22", "f(22)"), calls: [native] });
    assertEquals(both.given.parsed, "unreadable");
  });

  Deno.test(`inTextFormat() leaves a reply as it is where nothing could be called in ${id}`, async () => {
    for (const request of [{ tools: [] }, { toolChoice: "none" }] as const) {
      const { given } = await reply({ text: written }, request);
      assertEquals([given.text, given.calls, given.finish], [written, [], "stop"]);
    }
    const { sent } = await reply({ text: "1. Add." }, { tools: [] });
    assertEquals(sent.messages, [USER]);
  });

  Deno.test(`inTextFormat() makes the usual choice where a request in ${id} makes none`, async () => {
    const inner = parrot([{ text: written }]);
    const model = inTextFormat(inner, id, { toolChoice: "required" });
    await model.reply(ASKED);
    await model.reply({ ...ASKED, toolChoice: "auto" });
    assertEquals(inner.requests.map(({ messages }) => messages), [
      format.present([USER], ASKED.tools, "required"),
      format.present([USER], ASKED.tools),
    ]);
  });

  Deno.test(`inTextFormat() passes on that no reply in ${id} could be had`, async () => {
    const inner = { ...parrot([{}]), reply: () => Promise.reject(new InfrastructureError("down")) };
    await assertRejects(() => inTextFormat(inner, id).reply(ASKED), InfrastructureError, "down");
  });
}
