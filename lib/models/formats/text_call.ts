/**
 * Calls as text: calls that a model wrote into its text although it could have made them as such.
 *
 * The marks of calls of all families of models are rewritten as those that the reader of Hermes takes; behind a mark
 * that it leaves, a name is searched for. Without marks, only what is nothing but calls of available functions counts:
 * prose, code and JSON about functions are no calls.
 * @module
 */

import { fieldOf, isJsonObject, isObject, jsonText, parseJson } from "../../base/json.ts";
import { readTolerantJson } from "../../base/json_repair.ts";
import { stickyEnd } from "../../base/json_slices.ts";
import { bareCalls } from "./_json_calls.ts";
import { NAME_ATTRIBUTE, PLACEHOLDER } from "./_tagged_calls.ts";
import { thinkingOf } from "./_read_reply.ts";
import { formatOf } from "./registry.ts";

export { thinkingOf };

/** A call in a text. */
export interface TextCall {
  /** The name of the function; empty where a call begins and no name can be read. */
  readonly name: string;
  /** The arguments, as JSON of an object; omitted where they cannot be read. */
  readonly arguments?: string;
}

/**
 * Returns the calls in a text outside of its thinking, in any of the usual forms, those in tags first. Of a long text
 * only the beginning and the end are searched.
 *
 * @param names Names of the available functions. Others count only in calls with marks.
 */
export function textCalls(written: string, names: readonly string[]): TextCall[] {
  const text = thinkingOf(written).said;
  const isLong = text.length > 2 * REACH;
  const whole = (isLong ? `${text.slice(0, REACH)}\n${text.slice(-REACH)}` : text)
    .replace(INVISIBLE, "");
  // What is quoted is not called, unless nothing else is said.
  const said = whole.replace(QUOTED, " ");
  const ends = /\S/.test(said) ? said : whole;
  if (!/[<[({✿]|action|to=/i.test(ends)) return [];
  const available = new Set(names);
  const tags = asTags(ends).replace(V3, (all, name) => available.has(name) ? `>>>${name}` : all);
  const marked = MARKS.reduce((all, [mark, tag]) => all.replace(mark, tag), tags);
  const tagged = formatOf("hermes").read(marked, []);
  const react = ACTION.test(tagged.text) ? formatOf("react").read(tagged.text, names) : undefined;
  return [
    ...tagged.calls.flatMap(({ name, arguments: given }) =>
      name === "none" && !available.has(name)
        ? []
        : name !== "" && given.startsWith("{")
        ? [{ name, arguments: given }]
        : named(namesIn(name + given, available, name))
    ),
    ...named(namesLeft(tagged.text, available)),
    // Reports have actions, too.
    ...(react?.calls ?? []).filter(({ name, arguments: given }) =>
      available.has(name) || /^\S*\n\{\s*"/.test(`${name}\n${given}`)
    ),
    ...withoutTypes(plainCalls(react?.text ?? tagged.text, available)),
  ].map(({ name, arguments: given = "" }: TextCall) => ({
    // A name at which the text ends may be cut off itself.
    name: !available.has(name) && ends.trimEnd().endsWith(name) ? "" : name,
    ...(isJsonObject(parseJson(given)) ? { arguments: given } : {}),
  }));
}

function named(names: readonly string[]): TextCall[] {
  return names.map((name) => ({ name }));
}

/** Characters at either end that are searched, at most. */
const REACH = 100_000;
const INVISIBLE = /[\u200b-\u200d\u2060\ufeff]/g;
/** Code within a line, tags in quotes, and lines that quote others. */
const QUOTED = /(?<![`\\])`[^`\n]{1,2000}`(?!`)|["“]<[^\n]{1,2000}?>["”]|^ {0,3}>(?!>>\S).*$/gm;
/** A label of ReAct with more than a sentence behind it: an input, a bracket, or one word at the end. */
const ACTION =
  /^[^\w\n]{0,9}Action\b(?:[^\n]*\n[^\w\n]{0,9}Action[ _]Input|[^\n]*[{(`]|\W{1,9}\S{1,300}\s{0,9}(?![^]))/im;

/** The marks of Mistral, LM Studio and MiniMax M2.5. */
const BRACKETS = /\[((?:\/|END_)?TOOL_?(?:CALLS?|REQUEST))\]/gi;
/** Tags and special tokens: bars and slash, namespace, name, attributes, bar. The last character may be missing. */
const TOKEN =
  /<([|｜/]{0,2})(?:(?!tool_call:)[\w.-]{1,30}[:｜])?([\w▁:-]{2,40})((?:[\s=(][^<>]*)?)([|｜]?)(?:>|(?=<|(?![^])))/g;
const CALL_TAG = /(?:tool|function)s?[_▁-]?(?:calls?|use|request|code)$|^use_(?:mcp_)?tool$/i;
const CALL_TOKEN =
  /^(?!.*(?:sep|arg|:begin|output|respon|result)).*(?:tool|function_|python|action)/i;

/** Rewrites all tags and special tokens around calls as tags of Hermes; other special tokens become a space. */
function asTags(text: string): string {
  return text.replace(BRACKETS, "<$1>").replace(
    TOKEN,
    (all, open, word, attributes, shut, at, own) => {
      const [before, after] = [
        own.slice(at - 1, at),
        own.slice(at + all.length, at + all.length + 9),
      ];
      const key = `${open}_${word}_${shut}`;
      const slash = /\/|^_.*[|｜]$|[_▁:]end|suffix/i.test(key) ? "/" : "";
      const isSpecial = /[|｜]/.test(key);
      const isCall = (isSpecial ? CALL_TOKEN : CALL_TAG).test(word);
      // As in a type, such as List<tool_call>.
      const isWithin = !isSpecial && slash === "" && /\w$/.test(before) && !/^\s*[{[<]/.test(after);
      if (isCall) return isWithin ? " " : `<${slash}tool_call${attributes}>`;
      if (/^(?:invoke|function|parameter)$/i.test(word)) return `<${slash}${word}${attributes}>`;
      return isSpecial ? " " : all;
    },
  );
}

/** A call of DeepSeek V3 without its special tokens. */
const V3 = /^function\s?(\S{1,300})(?=\s{1,9}```json)/gm;

/** Other marks by families of models, and the tags in their place; the order matters. */
const MARKS: readonly (readonly [mark: RegExp, tag: string])[] = [
  // Mistral
  [/\[CALL_ID\]\w{0,40}|\[ARGS\]/g, " "],
  // GLM, LongCat, MiniCPM
  [/<\w{0,20}(?:arg_key|param)(?=[\s=>])/gi, "<parameter"],
  [/<function(?=\s[^<>]*>\s*(?:<param|\{))/gi, "<invoke"],
  // Step
  [/<tool_call>\s{0,9}function\s{1,9}(?=<invoke\s)/g, ""],
  // Llama, Phi-4-mini, Qwen 2
  [/<function>(?=\s*\{)|\bfunctools(?=\s?\[\s?\{)|✿FUNCTION✿:\s?/gi, "\n<tool_call>"],
  // gpt-oss that is cut off
  [/\w\s?to=functions\.(?=[\w$/-]{1,300}\s{0,9}(?:\w{4,10}\s{0,9}){0,2}(?![^]))/g, "\n<tool_call>"],
  // Calls whose opening tag is missing: a line of JSON or with a name, before the closing tag, behind no opening one
  [
    /^(?=(?:call:|[\w.-]{1,99} ?)?[{[(][^<]{0,2000}[}\])]\s{0,9}<\/tool_call>|[\w.-]{1,99}(?:>?\s{0,3}<parameter(?:[\s=]|>\w{1,99}<\/\w{0,20}arg_key)))(?<!(?:[[{]|[}\]],|<(?:tool_call|invoke|function)[^]{0,2000})\s{0,9})/gm,
    "<tool_call>",
  ],
  // Llama, Qwen Coder
  [
    /<function\s{0,9}[=(]\s{0,9}["']?([^"'(){}<>\n]{1,300}?)["')]{0,2}\s{0,9}(?:>|(?=[{(<\n])|(?![^]))/gi,
    '<invoke name="$1">',
  ],
  // DeepSeek, GLM, Gemma, Kimi K2, gpt-oss, Functionary, Solar: what marks a name, the name, perhaps a number, a type or
  // a fence, and then JSON or elements
  [
    /(?:<tool_call>\s{0,9}(?:(?:function\s|call:|functions\.)\s{0,9}){0,3}|\bto=(?!assistant)(?:functions\.)?|\bfunctions\.|(?<!>)>>>)([^\s"'`{}()<>[\],]{1,300}?)(?::\d{1,4}|[:>])?\s{0,9}(?:(?:json|code|commentary)\s{0,9}){0,2}(?:```\w{0,9}\s{0,9})?(?=\{\s{0,9}(?:["'}]|\w{1,50}:)|<parameter)/gm,
    '\n<invoke name="$1">',
  ],
  // Tags around nothing
  [/<tool_call>\s{0,9}(?:\W?(?:none|null)\W?|\[\]|\{\})\s{0,9}(?:<\/tool_call>|(?![^]))/gi, " "],
  // Results that a model made up, behind which it may go on to call; ends of texts; marks of Qwen Coder and Pangu
  [/<\/?(?:tool_(?:response|result)s?|tools|s|eos|end_of_turn)>|\[unused1[12]\]/gi, "\n"],
  [/^(\W{0,9})Observation/gim, "$1Thought"],
];

/** Names of the available functions. */
type Offered = ReadonlySet<string>;

/** A tag that the reader of Hermes leaves, its attributes, and the text up to the next one. */
const LEFT =
  /<(?:tool_call|invoke(?=\s))((?:\s[^<>]*)?)(?:>|(?=<|(?![^])))((?:(?!<\/?(?:tool_call|invoke\s))[^])*)/gi;

/** Returns the names that are called behind tags which the reader of Hermes leaves. */
function namesLeft(text: string, available: Offered): string[] {
  return [...text.matchAll(LEFT)].flatMap(({ 0: all, 1: attributes = "", 2: body = "", index }) => {
    const isOuter = /^\s*(?:function\s*)?$/.test(attributes + body) &&
      index + all.length < text.length;
    if (isOuter || isMentioned(text.slice(Math.max(0, index - 3), index), body)) return [];
    const name = NAME_ATTRIBUTE.exec(attributes)?.[1];
    return name === undefined ? namesIn(`${attributes} ${body}`, available, "") : [name];
  });
}

/** Returns whether a tag is in quotes or within a sentence, so that no call begins there. */
function isMentioned(before: string, body: string): boolean {
  if (stickyEnd(PLACEHOLDER, body, 0) !== undefined) return true;
  if (/(?:^|[^`])`{1,2}$|["“'‘]$/.test(before)) return true;
  if (/^\s*(?:[{[(]|<(?!\/)|```|[\w.:-]{1,300}\()/.test(body)) return false;
  return /^[ \t]+[\p{L}\p{N}]|^[.,;:!?)…]/u.test(body) || /[\p{L},] $/u.test(before);
}

/** Returns the names that a text behind a mark calls; failing that, the first available name, or another. */
function namesIn(text: string, available: Offered, otherwise: string): string[] {
  const calls = pythonCalls(text, available, "marked");
  if (calls.length > 0) return calls;
  const words = text.match(/[\p{L}\p{N}_$./:@-]+/gu) ?? [];
  const parts = words.flatMap((word) => [word, ...word.split(/[./:]/)]);
  return [parts.find((word) => available.has(word)) ?? otherwise];
}

/** Strings, names before arguments (literals or with names, as those of a call are), and single characters. */
const PYTHON =
  /"(?:[^"\\]|\\[^])*"?|'(?:[^'\\]|\\[^])*'?|print\(|([^\s"'()[\]{},;][^"'()[\]{},;\n]{0,299}?)\s{0,3}(?:\((?=\s{0,9}(?:[)"'{[\d-]|[TFN]\w{3,4}\b|\w{1,50}\s?=))|\{(?=\s{0,9}["'}]))|[^]/gu;
const NAMESPACE =
  /^(?:(?:(?:const|let|var)\s{1,9})?\w{1,50}\s{0,9}=\s{0,9})?(?:await\s{1,9})?(?:(?:default_api|functions|tools)\.)?/;

/** Names that count behind a mark, though they are not available. */
const ANY = /^(?!print$)[\p{L}\p{N}_$.:/@-]+$/u;

/** Returns the names of the calls in Python, or the like, where a text has nothing else, or among other code. */
function pythonCalls(
  text: string,
  available: Offered,
  kind: "marked" | "plain" | "code",
): string[] {
  const names: string[] = [];
  let depth = 0;
  for (const [token, written = ""] of text.matchAll(PYTHON)) {
    const name = written.trim().replace(NAMESPACE, "");
    if (depth > 0) depth += /[([{]$/.test(token) ? 1 : /^[)\]}]/.test(token) ? -1 : 0;
    else if (available.has(name) || (kind === "marked" && ANY.test(name))) {
      const method = /^(.{1,300})\.call$/.exec(name)?.[1] ?? "";
      depth = names.push(available.has(method) ? method : name) && 1;
    } else if (kind !== "code" && !/^(?:print\(|[\s[\]),;])$/.test(token)) return [];
  }
  return names;
}

/** Code fences, and lines with a list of calls. */
const BLOCKS =
  /```(\w{0,20})([^]*?)(?:```|(?![^]))|^[ \t]{0,9}(\[.*\)\]|(?:await )?[\w.]{1,100}\(.*\);?)[ \t]*$/gm;
/** The definition of a function, which is no call. */
const SCHEMA =
  /"(?:parameters|arguments|input_schema)"\s*:\s*\{\s*"(?:type"\s*:\s*"object|properties)"/;
const CUT_OFF =
  /^\s*\[?\s*\{\s*["']?(?:name|function|function_name|tool|tool_name|action)["']?\s*:\s*["']([^"'\n]{1,300})["']\s*(?:,\s*)?["']?(?:arg|par|inp|tool_i|action_i|\w{0,2}$)/;

/** Lines and sentences with which JSON begins. */
const JSON_LINE = /(?:^[ \t]{0,9}|[.!?] )(?=\[?\s{0,9}\{)/gm;
/** Keys of an answer, beside which calls are those that were made. */
const ANSWERS = ["answer", "final_answer", "result", "response", "output", "summary", "text"];
/** Keys of a list of calls, or of one, in the messages of APIs. */
const CALLS = ["tool_calls", "tool_call", "function_call", "functionCall"];

/** Returns the calls of a text without marks: as a whole, in code fences and lines, or as JSON that a line begins with. */
function plainCalls(text: string, available: Offered): TextCall[] {
  const fromJson = (json: string) => {
    const value = parseJson(json);
    const inner = CALLS.map((key) => fieldOf(value, key)).find(isObject);
    const calls = inner === undefined ? json : jsonText(inner);
    // A name without arguments may be an answer.
    const isDone = inner !== undefined && ANSWERS.some((key) => (fieldOf(value, key) ?? "") !== "");
    const isCall = !isDone && calls !== "[]" && /arg|par|input/i.test(calls) && !SCHEMA.test(json);
    return isCall ? bareCalls(calls, available) : [];
  };
  const read = (written: string, language = "") => {
    const part = written.trim().replace(/^(?:[\s,;]|tool_code\b|json\b)*/, "");
    const calls = fromJson(part);
    if (calls.length > 0) return calls;
    const cut = CUT_OFF.exec(part)?.[1] ?? "";
    if (available.has(cut) && readTolerantJson(part, 0) === undefined) return named([cut]);
    const kind = language === "tool_code" ? "code" : "plain";
    return /^(?:json|py\w*|tool\w*|)$/i.test(language)
      ? named(pythonCalls(part, available, kind))
      : [];
  };
  const whole = read(text);
  if (whole.length > 0) return whole;
  const blocks = [...text.matchAll(BLOCKS)].map(([, language, block, line]) => ({
    calls: read(block ?? line!, language),
    name: line?.split("(", 1)[0],
  }));
  // A list of functions has names of parameters in the place of values.
  const isList = blocks.some(({ calls, name = "" }) => calls.length === 0 && available.has(name));
  const called = blocks.flatMap(({ calls, name }) => isList && name !== undefined ? [] : calls);
  if (called.length > 0) return called;
  let end = 0;
  return [...text.matchAll(JSON_LINE)].slice(0, MAX_LINES).flatMap(({ 0: before, index }) => {
    if (index < end) return [];
    const json = readTolerantJson(text, index + before.length);
    end = json?.end ?? end;
    // JSON within a sentence is spoken about; behind one with which the text begins, another sentence may begin.
    const behind = text.slice(end, end + 100);
    const isAlone = /^[ \t\]}]*(?:\n|(?![^]))/.test(behind) ||
      (text.slice(0, index).trim() === "" && /^[ \t]*[\p{Lu}\p{Lo}\p{So}]/u.test(behind));
    return json === undefined || !isAlone ? [] : fromJson(json.json);
  });
}

/** JSON of names of types, in the place of the values of arguments. */
const TYPE =
  /^"(?:str(?:ing)?|number|int(?:eger)?|float|bool(?:ean)?|object|array|any|null|list|dict)(?:[^\w"]{1,3}| \(\w+\))?"$/i;

/** Returns calls, or none where all of their arguments are types: such a list says which functions there are. */
function withoutTypes(calls: TextCall[]): TextCall[] {
  const given = calls.flatMap((call) => Object.values(Object(parseJson(call.arguments ?? ""))));
  const isTyped = given.every((one) => TYPE.test(JSON.stringify(fieldOf(one, "type") ?? one)));
  // As an argument, "list" is a command, too.
  return isTyped && given.some((one) => one !== "list") ? [] : calls;
}

/** Lines that begin JSON and are read, at most. */
const MAX_LINES = 50;
