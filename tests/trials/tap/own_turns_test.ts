import { assertEquals } from "@std/assert";
import type { Message } from "../../../lib/tools/message.ts";
import { OwnTurns } from "../../../lib/trials/tap/_own_turns.ts";

/** The messages of a text: of the model, of a function, else of the user. */
function messagesOf(text: string): Message[] {
  return text.split(" ").map((one): Message => {
    if (one === "result") return { role: "tool", callId: "1", name: "f", content: "" };
    if (!/answer|example|call|stored/.test(one)) return { role: "user", content: one };
    const calls = one === "call" ? [{ id: "1", name: "f", arguments: "{}" }] : [];
    return { role: "assistant", content: one === "stored" ? "" : one, calls };
  });
}

Deno.test("OwnTurns finds each message of the user once, and no prompt, example or what stands beside results", () => {
  const own = new OwnTurns("P");
  const find = (text: string, previous?: string) =>
    own.find({ messages: messagesOf(text), ...(previous && { previous }) }).join(" ");
  assertEquals(find("P answer early"), "");
  own.answered({ text: " answer" }, "r");
  const requests = [
    ["P answer 1", "1"],
    ["P answer 1", ""],
    ["P answer 1 answer 2 2 3", "2 3"],
    ["answer 2", ""],
    ["P answer 1 answer 1", "1"],
    ["P answer P", ""],
    ["x example y P", ""],
    ["P call result on", ""],
    ["Yes", "Yes", "r"],
    ["Yes", "", "r"],
    ["result on", "", "r"],
    ["Yes", "", "of another"],
    ["stored Now", "Now"],
  ];
  for (const [text, found, previous] of requests) assertEquals(find(text!, previous), found, text);
});
