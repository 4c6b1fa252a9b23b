/**
 * Hermes format: calls as JSON objects between tags, which Hermes, Qwen and other open models are trained on
 * (Pipeline, "Function Calling Format Comparison").
 * @module
 */

import { escapeClosingTags, type TextFormat, textFormat } from "./format.ts";
import { jsonText, parseJson } from "../../base/json.ts";
import { readTagged } from "./_tagged_calls.ts";
import { toOpenAITool } from "../../tools/tool.ts";

/** Its closing tags. */
const CLOSING = /<\/(tool_call|tool_response|tools)/gi;

/** The format of the Hermes models: `<tool_call>{"name": …, "arguments": …}</tool_call>`. */
export const hermes: TextFormat = textFormat({
  id: "hermes",
  parallel: true,
  stop: [],
  describe: (tools) =>
    `You can call functions. These are on offer, one JSON object a line, within <tools> tags:
<tools>
${tools.map((tool) => escapeClosingTags(jsonText(toOpenAITool(tool)), CLOSING)).join("\n")}
</tools>

To call one, write a JSON object with its name and its arguments within <tool_call> tags:
<tool_call>
{"name": "name of the function", "arguments": {"name of a parameter": "its value"}}
</tool_call>
Before it you may say what you do. One reply may have several calls, each within tags of its own. Write nothing behind the calls: what the functions return comes with the next message, within <tool_response> tags. Once you need no more calls, answer without such tags.`,
  writeCalls: (text, calls) =>
    [
      ...(text === "" ? [] : [text]),
      ...calls.map(({ name, arguments: given }) => {
        const call = `{"name": ${JSON.stringify(name)}, "arguments": ${given}}`;
        return `<tool_call>\n${escapeClosingTags(call, CLOSING)}\n</tool_call>`;
      }),
    ].join("\n"),
  writeResults: (results) =>
    results.map(({ call, name, content }) => {
      const value = parseJson(content) === undefined ? JSON.stringify(content) : content;
      const result = `{"name": ${JSON.stringify(name)}, "call": ${call}, "content": ${value}}`;
      return `<tool_response>\n${escapeClosingTags(result, CLOSING)}\n</tool_response>`;
    }).join("\n"),
  read: (text, names) =>
    readTagged(text, names, { tag: "tool_call", result: "tool_response", body: "json" }),
});
