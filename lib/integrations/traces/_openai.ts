/**
 * Traces of OpenAI's APIs: the messages of chat completions, and the items of responses.
 * @module
 */

import { defined } from "../../base/json.ts";
import { countedUsage } from "../../models/openai/reading.ts";
import { assertNoOtherCalls, instructionsIn, saidIn } from "./_content.ts";
import { type Conversation, finishOf, type Item, type Reply } from "./_conversation.ts";
import { type Part, textOf } from "./_part.ts";

/** Reads chat completions: a list of messages, the body of a request with them, or that and its response. */
export function readChat(part: Part): Conversation {
  const { request, response } = exchange(part);
  const list = Array.isArray(request.value) ? request : request.need("messages");
  const choices = response?.need("choices");
  const all = choices?.items() ?? [];
  const output = request.get("output");
  if (typeof output?.value === "object") output.fail("it cannot stand beside messages");
  if (all.length > 1) choices!.fail("must be one choice", `there are ${all.length}`);
  const said = all.map((choice): Item => {
    const usage = response!.get("usage")?.value;
    return {
      ...chatItem(choice.need("message")) as Reply,
      ...defined({
        usage: countedUsage(usage, ["prompt_tokens", "completion_tokens"]),
        served: response!.textAt("model"),
        finish: finishOf(choice.textAt("finish_reason")) ?? failureIn(response!) ??
          failureIn(choice),
      }),
    };
  });
  return {
    items: [
      ...instructionsIn(request),
      ...list.items().map(chatItem),
      ...said,
    ],
    tools: request.first("tools", "functions"),
    model: request.textAt("model") ?? response?.textAt("model"),
  };
}

/** A request and its response, logged together; without a request they stand beside it, or there is none. */
function exchange(part: Part): { readonly request: Part; readonly response?: Part } {
  const request = part.get("request");
  if (request !== undefined) return { request, response: part.need("response") };
  const response = part.get("response") ?? (part.has("choices") ? part : undefined);
  return { request: part, response };
}

/** An error beside what was said, as servers send one that failed in mid-reply. */
function failureIn(at: Part | undefined): "other" | undefined {
  return at?.has("error") ? "other" : undefined;
}

function chatItem(at: Part): Item {
  const role = at.need("role").text();
  assertNoOtherCalls(at, ["tool_calls", "function_call"]);
  const { text: said, lost } = saidIn(at.get("content"));
  const text = said || at.textAt("refusal") || "";
  switch (role) {
    case "system":
    case "developer":
      return { kind: "system", text, at };
    case "user":
      return { kind: "user", text, at, lost };
    case "tool":
    case "function": {
      const id = at.textAt("tool_call_id");
      const isError = isErrorIn(at);
      return { kind: "result", text, at, id, isError, lost };
    }
    case "assistant": {
      const calls = at.get("tool_calls")?.items().map(chatCall) ?? [];
      const legacy = calls.length === 0 ? at.get("function_call") : undefined;
      return {
        ...{ kind: "reply", text, at },
        finish: finishOf(at.first("finish_reason", "stop_reason")?.value),
        calls: legacy === undefined ? calls : [{ ...calledIn(legacy) }],
        ...modelIn(at),
      };
    }
    default:
      return at.need("role").fail(
        "must be one of system, developer, user, assistant, tool and function",
      );
  }
}

function chatCall(at: Part): Reply["calls"][number] {
  const id = at.textAt("id");
  const custom = at.get("custom");
  return { id, ...(custom === undefined ? calledIn(at.need("function")) : customIn(custom)) };
}

/** A call of a custom tool, which takes a text: as the argument `input`, as calls have objects. */
function customIn(at: Part): ReturnType<typeof calledIn> {
  return {
    name: at.need("name").text(),
    arguments: JSON.stringify({ input: at.get("input")?.text() ?? "" }),
  };
}

/** The name and the arguments of a call, where the text that the model wrote is kept; else the JSON of the arguments. */
export function calledIn(at: Part): { readonly name: string; readonly arguments: string } {
  const written = at.get("arguments")?.value;
  return {
    name: at.need("name").text(),
    arguments: written === undefined ? "{}" : textOf(written),
  };
}

function isErrorIn(at: Part): true | undefined {
  return at.get("is_error")?.value === true || at.textAt("status") === "error" ? true : undefined;
}

function modelIn(at: Part): Pick<Reply, "served" | "usage"> {
  const usage = at.get("usage")?.value;
  const read = countedUsage(usage, ["prompt_tokens", "completion_tokens"]) ??
    countedUsage(usage, ["input_tokens", "output_tokens"]);
  return { served: at.textAt("model"), usage: read };
}

/**
 * Reads responses: a list of items, the body of a request with them as its `input`, that and its `response`, or a
 * response with its `input`.
 */
export function readResponses(part: Part): Conversation {
  const { request: asked, response } = exchange(part);
  const answer = response ?? (part.has("output") ? part : undefined);
  const input = Array.isArray(asked.value) ? asked : asked.need("input");
  const said: Item[] = typeof input.value === "string"
    ? [{ kind: "user", text: input.value, at: input }]
    : input.items().flatMap(responseItem);
  const output = answer?.need("output").items().flatMap(responseItem) ?? [];
  const usage = answer?.get("usage")?.value;
  const earlier = asked.first(...EARLIER) ?? answer?.first(...EARLIER);
  if (earlier !== undefined && !said.some(({ kind }) => kind === "reply")) {
    earlier.fail("must stand beside an input with the items of the earlier responses");
  }
  const finish = finishOf(answer?.get("incomplete_details")?.textAt("reason")) ??
    finishOf(answer?.textAt("status")) ?? failureIn(answer);
  const last = output.findLastIndex(({ kind }) => kind === "reply");
  const told = defined({
    usage: countedUsage(usage, ["input_tokens", "output_tokens"]),
    served: answer?.textAt("model"),
    finish,
  });
  return {
    items: [
      ...instructionsIn(asked),
      ...said,
      ...output.map((item, place) => place === last ? { ...item, ...told } as Item : item),
    ],
    tools: asked.get("tools") ?? answer?.get("tools"),
    model: asked.textAt("model") ?? answer?.textAt("model"),
  };
}

/** Fields that stand for items which are kept by the provider. */
const EARLIER: readonly string[] = ["previous_response_id", "conversation"];

/** Items that are neither said nor called. */
const SILENT_ITEMS: readonly string[] = [
  ...["reasoning", "item_reference", "compaction"],
  ...["mcp_list_tools", "mcp_approval_request", "mcp_approval_response"],
];

/** The items that call tools of the provider's own, which are no tools of the user's. */
const OWN_CALL = /_call$/;

/** Items of one reply stand one after the other: each goes on with the one before it. */
function responseItem(at: Part): Item[] {
  const type = at.textAt("type") ?? "message";
  const reply = { kind: "reply", text: "", calls: [], continues: true, at } as const;
  const finish = { finish: finishOf(at.textAt("status")) };
  if (type === "function_call" || type === "custom_tool_call") {
    const id = at.textAt("call_id");
    const called = type === "function_call" ? calledIn(at) : customIn(at);
    return [{ ...reply, calls: [{ id, ...called }], ...finish }];
  }
  if (type === "function_call_output" || type === "custom_tool_call_output") {
    const output = at.need("output");
    const { text, lost } = Array.isArray(output.value)
      ? saidIn(output)
      : { text: textOf(output.value), lost: 0 };
    const id = at.textAt("call_id");
    return [{ ...{ kind: "result", text, at, lost }, id, isError: isErrorIn(at) }];
  }
  if (SILENT_ITEMS.includes(type)) return [];
  if (OWN_CALL.test(type)) {
    return [{ ...reply, ownCalls: [{ function: type, arguments: textOf(at.value) }] }];
  }
  if (/_call_output$/.test(type)) return [];
  if (type !== "message") {
    return at.need("type").fail("must be the type of an item of a response");
  }
  const role = at.need("role").text();
  assertNoOtherCalls(at);
  const { text, lost } = saidIn(at.get("content"));
  if (role === "assistant") return [{ ...reply, text, ...finish }];
  if (role === "user") return [{ kind: "user", text, at, lost }];
  if (role === "system" || role === "developer") return [{ kind: "system", text, at }];
  return at.need("role").fail("must be one of system, developer, user and assistant");
}
