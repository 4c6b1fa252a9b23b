import { assertEquals } from "@std/assert";
import { PROMPTS } from "../../../lib/models/prompts.ts";
import type { Message } from "../../../lib/tools/message.ts";
import { said, work } from "../../support/strategy_runs.ts";

Deno.test("instruct tells in the system message how to use tools, and changes nothing else (Indirection, Thinking silently, Computational overconfidence, Ignoring function results)", async () => {
  const user: Message = { role: "user", content: "What is omega?" };
  const told = async (strategy: string, messages: readonly Message[], set = {}) => {
    const { requests: [request] } = await work(strategy, [{ text: "Well." }], { messages, set });
    return said(request!.messages);
  };
  const { use } = PROMPTS.instruct;
  const asked = ["user", "What is omega?"] as const;
  assertEquals(await told("instruct", [user]), [["system", use], [...asked]]);
  const own = { prompts: { instruct: { use: "Call what you must." } } };
  const system: Message = { role: "system", content: "Be brief." };
  assertEquals(await told("instruct", [system, user], own), [
    ["system", "Be brief.\n\nCall what you must."],
    [...asked],
  ]);
  assertEquals((await told("instruct+restate", [user]))[0], ["system", use]);
});
