import { assertEquals } from "@std/assert";
import { textCall } from "../../../lib/models/formats/text_call.ts";

Deno.test("textCall() finds a call of an available function in the forms that models write", () => {
  const call = '{"name": "add", "arguments": {"left": 1}}';
  const table: [text: string, found: string | undefined][] = [
    [`<tool_call>\n${call}\n</tool_call>`, "add"],
    [`I add.\n<tool_call>\n${call}`, "add"],
    ["<function=add>\n<parameter=left>1</parameter>\n</function>", "add"],
    ['<function=add>{"left": 1}</function>', "add"],
    [`[TOOL_CALLS] [${call}]`, "add"],
    ['[TOOL_CALLS]add[ARGS]{"left": 1}', "add"],
    [`I call it:\n\`\`\`json\n${call}\n\`\`\`\nNow I wait.`, "add"],
    [call, "add"],
    ['{"function": "add", "parameters": {"left": 1}}', "add"],
    ['Thought: I add.\nAction: add\nAction Input: {"left": 1}', "add"],
    [call.replaceAll("add", "other"), undefined],
    ["[TOOL_CALLS]other[ARGS]{}", undefined],
    ['The answer is {"name": "Ann", "arguments": 2}.', undefined],
    ["I would call add, but I cannot.", undefined],
    ["The answer is 3.", undefined],
    ["", undefined],
  ];
  for (const [text, found] of table) assertEquals(textCall(text, ["sum", "add"]), found, text);
});
