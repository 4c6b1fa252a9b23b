/**
 * XML format: calls as elements, with arguments in JSON (Pipeline, "Structured Output for Tool Invocation").
 * @module
 */

import { jsonText } from "../../base/json.ts";
import { escapeClosingTags, type TextFormat, textFormat } from "./format.ts";
import { readTagged } from "./_tagged_calls.ts";
import { describeTool } from "../../tools/tool.ts";

/** Its closing tags. */
const CLOSING =
  /<\/(tool_definition|tool_use|tool_result|name|description|parameters|arguments|call|content)/gi;

/** The format with XML tags: `<tool_use><name>…</name><arguments>{…}</arguments></tool_use>`. */
export const xml: TextFormat = textFormat({
  id: "xml",
  parallel: true,
  stop: [],
  describe: (tools) =>
    `You can call functions. These are on offer:
${
      tools.map((tool) =>
        element("tool_definition", [
          element("name", tool.name),
          element("description", describeTool(tool)),
          element("parameters", jsonText(tool.parameters)),
        ])
      ).join("\n")
    }

To call one, write its name and its arguments, which are a JSON object, in this form:
<tool_use>
<name>name of the function</name>
<arguments>{"name of a parameter": "its value"}</arguments>
</tool_use>
Before it you may say what you do. One reply may have several calls, each in a <tool_use> of its own. Write nothing behind the calls: what the functions return comes with the next message, as <tool_result>. Once you need no more calls, answer without such tags.`,
  writeCalls: (text, calls) =>
    [
      ...(text === "" ? [] : [text]),
      ...calls.map(({ name, arguments: given }) =>
        element("tool_use", [element("name", name), element("arguments", given)])
      ),
    ].join("\n"),
  writeResults: (results) =>
    results.map(({ call, name, content }) =>
      element("tool_result", [
        element("call", `${call}`),
        element("name", name),
        element("content", content),
      ])
    ).join("\n"),
  read: (text, names) =>
    readTagged(text, names, { tag: "tool_use", result: "tool_result", body: "elements" }),
});

/** Writes an element around a text, or around other elements. */
function element(name: string, content: string | readonly string[]): string {
  return typeof content === "string"
    ? `<${name}>${escapeClosingTags(content, CLOSING)}</${name}>`
    : `<${name}>\n${content.join("\n")}\n</${name}>`;
}
