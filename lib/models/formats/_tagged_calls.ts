/**
 * Tagged calls: reads calls between tags, as in XML and Hermes: JSON objects, or elements for name and
 * arguments. Each format also reads the other's form, as a repair, since models fall back to their training.
 * @module
 */

import type { FormatReading } from "./format.ts";
import { type Mark, type ReadAttempt, readMarked, THINKING } from "./_read_reply.ts";
import {
  argumentsFromJson,
  type ArgumentsRead,
  beginsJson,
  callsFromJson,
  functionName,
  namedCall,
  NO_ARGUMENTS,
  type ReadCall,
  skipClosingBrackets,
  unreadableCall,
} from "./_json_calls.ts";
import { stickyEnd } from "../../base/json_slices.ts";
import { readTolerantJson } from "../../base/json_repair.ts";

/** The form of calls that a format asks for. */
export interface TagForm {
  /** The tag around a call. */
  readonly tag: string;
  /** The tag around a result. */
  readonly result: string;
  /** The content between the tags. */
  readonly body: "elements" | "json";
}

/** Reads a reply whose calls are between tags. */
export function readTagged(text: string, names: readonly string[], form: TagForm): FormatReading {
  const marks = tagsOf(text, form);
  return readMarked({
    text,
    marks,
    attempt: (index, to) => new CallReader(text, marks, names, { form, index, to }).read(),
  }, names);
}

/** A tag in the reply. */
interface Tag extends Mark {
  /** Its name, in lower case. */
  readonly name: string;
  readonly closes: boolean;
  /** The text after its name. */
  readonly attributes: string;
  /** Whether its name is written in lower case. */
  readonly isPlain: boolean;
}

/** Tags around calls, of these formats and others; a form adds its own. */
const CALLS: readonly string[] = ["tool_call", "tool_use", "function_call", "tool_calls"];
/** Tags with the name of the function in them, as Qwen Coder, Llama and others write them. */
const NAMED: readonly string[] = ["function", "invoke"];
/** Tags around results. */
const RESULTS: readonly string[] = ["tool_response", "tool_result"];
/** The pattern of all tags, by the tag of the form that is asked for. */
const patterns = new Map<string, RegExp>();

function patternOf({ tag, result }: TagForm): RegExp {
  const pattern = patterns.get(tag) ?? new RegExp(
    `<(/?)(${[...THINKING, ...new Set([...CALLS, tag, ...RESULTS, result])].join("|")}|` +
      "function(?==)|invoke(?=\\s))([\\s=][^<>]{0,200})?>",
    "gi",
  );
  patterns.set(tag, pattern);
  return pattern;
}

function isCall(name: string, { tag }: TagForm): boolean {
  return name === tag || CALLS.includes(name);
}

function tagsOf(text: string, form: TagForm): Tag[] {
  return [...text.matchAll(patternOf(form))].map((found) => {
    const [all, slash, written, attributes = ""] = found;
    const name = written!.toLowerCase();
    const closes = slash === "/";
    const kind = THINKING.includes(name)
      ? closes ? "unthink" : "think"
      : closes
      ? "other"
      : isCall(name, form) || NAMED.includes(name)
      ? "call"
      : "result";
    const [start, end] = [found.index, found.index + all.length];
    return { kind, start, end, name, closes, attributes, isPlain: written === name };
  });
}

/** An element within the tags of a call. */
const ELEMENT = /\s*<(name|tool_name|function|arguments|parameters|args|input)>/iy;
const NAME_ELEMENTS: readonly string[] = ["name", "tool_name", "function"];
/** The name of a function in the attributes of a tag. */
export const NAME_ATTRIBUTE = /\bname\s{0,9}=\s{0,9}["']([^"']{1,200})["']/i;
const ENTITY = /&(?:quot|apos|lt|gt|amp|#39|#34);/g;
const ENTITIES: ReadonlyMap<string, string> = new Map([
  ["&quot;", '"'],
  ["&#34;", '"'],
  ["&apos;", "'"],
  ["&#39;", "'"],
  ["&lt;", "<"],
  ["&gt;", ">"],
  ["&amp;", "&"],
]);

/** The tag to read, how far to read, and the form that is asked for. */
interface TaggedPlace {
  readonly form: TagForm;
  readonly index: number;
  readonly to: number;
}

/** Reads the calls after one opening tag. */
class CallReader {
  readonly #text: string;
  readonly #tags: readonly Tag[];
  readonly #names: readonly string[];
  readonly #form: TagForm;
  readonly #open: Tag;
  readonly #to: number;
  readonly #repairs: string[] = [];
  /** Index of the first tag not yet passed. */
  #next: number;
  #at: number;

  constructor(text: string, tags: readonly Tag[], names: readonly string[], place: TaggedPlace) {
    this.#text = text;
    this.#tags = tags;
    this.#names = names;
    this.#form = place.form;
    this.#to = place.to;
    this.#open = tags[place.index]!;
    this.#next = place.index + 1;
    this.#at = this.#open.end;
  }

  read(): ReadAttempt | undefined {
    const calls = this.#body();
    if (calls === undefined || calls.length === 0) return undefined;
    const { name, attributes, isPlain } = this.#open;
    if (name !== this.#form.tag) this.#repairs.push(`the tag ${name}`);
    if (!isPlain) this.#repairs.push("capital letters in its tag");
    if (attributes.trim() !== "" && !NAMED.includes(name)) {
      this.#repairs.push("attributes in its tag");
    }
    this.#close();
    const [first, ...rest] = calls;
    return {
      calls: [{ ...first!, repairs: [...first!.repairs, ...this.#repairs] }, ...rest],
      end: this.#at,
    };
  }

  /** Returns where the next tag begins: repairs do not extend past it. */
  #limit(): number {
    while ((this.#tags[this.#next]?.start ?? Infinity) < this.#at) this.#next++;
    return Math.min(this.#tags[this.#next]?.start ?? this.#to, this.#to);
  }

  /** Reads the calls between the tags; `undefined` if the tags are only mentioned. */
  #body(): readonly ReadCall[] | undefined {
    if (NAMED.includes(this.#open.name)) return this.#named(this.#open);
    if (stickyEnd(PLACEHOLDER, this.#text, this.#at) !== undefined) return undefined;
    if (beginsJson(this.#text, this.#at)) return this.#json();
    this.#limit();
    const inner = this.#tags[this.#next];
    if (
      inner !== undefined && NAMED.includes(inner.name) &&
      this.#text.slice(this.#at, Math.min(inner.start, this.#to)).trim() === ""
    ) return this.#namedWithin();
    if (elementAt(this.#text, this.#at) !== undefined) return this.#elements();
    return this.#words();
  }

  #json(): readonly ReadCall[] {
    const calls: ReadCall[] = [];
    const attribute = NAME_ATTRIBUTE.exec(this.#open.attributes)?.[1];
    if (this.#form.body !== "json") this.#repairs.push("JSON in the place of elements");
    while (beginsJson(this.#text, this.#at)) {
      if (calls.length === 1) this.#repairs.push("further calls within its tags");
      const limit = this.#limit();
      const read = readTolerantJson(this.#text, this.#at, { to: limit });
      if (read === undefined) {
        calls.push(unreadableCall(this.#text.slice(this.#at, limit)));
        this.#at = limit;
        break;
      }
      const found = callsFromJson(read);
      // A key that looks like the name of a call may be an argument.
      if (attribute === undefined || found.some(({ name }) => this.#names.includes(name))) {
        calls.push(...found);
      } else {
        const given = argumentsFromJson(read.json);
        calls.push({ ...given, name: attribute, repairs: [...read.repairs, ...given.repairs] });
      }
      const { end, any } = skipClosingBrackets(this.#text, read.end);
      if (any) this.#repairs.push("a closing bracket too many");
      this.#at = end;
    }
    return calls;
  }

  /** Reads consecutive tags that contain function names. */
  #namedWithin(): readonly ReadCall[] | undefined {
    const calls: ReadCall[] = [];
    for (let limit = this.#limit(); limit < this.#to; limit = this.#limit()) {
      const tag = this.#tags[this.#next]!;
      const between = this.#text.slice(this.#at, limit).trim();
      if (!NAMED.includes(tag.name) || tag.end > this.#to || between !== "") break;
      this.#at = tag.end;
      const call = this.#named(tag);
      if (call === undefined) break;
      calls.push(...call);
    }
    if (calls.length > 0) this.#repairs.push("a tag with its name in it");
    if (calls.length > 1) this.#repairs.push("further calls within its tags");
    return calls;
  }

  /** Reads the arguments after a tag that contains a name; `undefined` if the tag is only mentioned. */
  #named({ attributes }: Tag): readonly ReadCall[] | undefined {
    const written = /["'=]\s{0,9}["']?([^"']{1,200})/.exec(attributes)?.[1] ?? "";
    const { name } = functionName(written, this.#names);
    const isMeant = beginsJson(this.#text, this.#at) ||
      stickyEnd(SINGLE, this.#text, this.#at) !== undefined;
    if (name === "" || !isMeant) return undefined;
    return [{ ...this.#arguments(NAMED_ENDS), name }];
  }

  #elements(): readonly ReadCall[] {
    if (this.#form.body !== "elements") this.#repairs.push("elements in the place of JSON");
    const calls = [this.#elementCall()];
    while (this.#isName(elementAt(this.#text, this.#at))) calls.push(this.#elementCall());
    if (calls.length > 1) this.#repairs.push("further calls within its tags");
    return calls;
  }

  #isName(element: Element | undefined): boolean {
    return element !== undefined && NAME_ELEMENTS.includes(element.name);
  }

  /** Reads a name and arguments, in either order. */
  #elementCall(): ReadCall {
    let name: string | undefined;
    let given: ArgumentsRead | undefined;
    let element = elementAt(this.#text, this.#at);
    while (element !== undefined) {
      const isName = this.#isName(element);
      if ((isName ? name : given) !== undefined) break;
      if (element.name !== (isName ? "name" : "arguments")) {
        this.#repairs.push(`the tag ${element.name}`);
      }
      this.#at = element.end;
      if (isName) name = this.#name();
      else given = this.#arguments();
      element = elementAt(this.#text, this.#at);
    }
    name ??= NAME_ATTRIBUTE.exec(this.#open.attributes)?.[1] ?? "";
    const read = given ?? NO_ARGUMENTS;
    return { ...read, name, isReadable: read.isReadable && name !== "" };
  }

  #name(): string {
    const limit = this.#limit();
    const length = this.#text.slice(this.#at, limit).indexOf("<");
    const end = length === -1 ? limit : this.#at + length;
    const { name, repairs } = functionName(this.#text.slice(this.#at, end), this.#names);
    this.#repairs.push(...repairs);
    this.#at = end;
    this.#closeElement(NAME_END);
    return name;
  }

  #arguments({ any, here } = ARGUMENTS_ENDS): ArgumentsRead {
    const start = this.#at;
    const limit = this.#limit();
    const length = this.#text.slice(start, limit).search(any);
    const to = length === -1 ? limit : start + length;
    const written = this.#text.slice(start, to);
    const read = readTolerantJson(this.#text, start, { to });
    let given = read === undefined ? undefined : argumentsFromJson(read.json);
    if (read !== undefined && given?.isReadable) {
      given = { ...given, repairs: [...read.repairs, ...given.repairs] };
      const behind = skipClosingBrackets(this.#text, read.end);
      if (behind.any) this.#repairs.push("a closing bracket too many");
      this.#at = behind.end;
    } else {
      given = written.trim() === "" ? NO_ARGUMENTS : withoutEntities(written) ?? {
        arguments: written.trim(),
        isReadable: false,
        repairs: [],
      };
      this.#at = to;
    }
    this.#closeElement(here);
    return given;
  }

  /** Passes the closing tag of an element. */
  #closeElement(closing: RegExp): void {
    const end = stickyEnd(closing, this.#text, this.#at);
    if (end === undefined) this.#repairs.push("an element without its closing tag");
    else this.#at = end;
  }

  /** Reads a name and more, if a closing tag shows that it is a call. */
  #words(): readonly ReadCall[] | undefined {
    const limit = this.#limit();
    const tag = this.#tags[this.#next];
    if (tag?.start !== limit || !tag.closes || !isCall(tag.name, this.#form)) return undefined;
    const call = namedCall(this.#text.slice(this.#at, limit), this.#names);
    if (call === undefined) return undefined;
    this.#at = limit;
    return [call];
  }

  /** Passes the tag that closes the call. */
  #close(): void {
    const limit = this.#limit();
    const tag = this.#tags[this.#next];
    const isCalls = tag?.start === limit && isCall(tag.name, this.#form);
    const between = this.#text.slice(this.#at, limit).trim();
    if (!isCalls || !(tag.closes || (between === "" && this.#isMentioned(this.#next)))) {
      if (!NAMED.includes(this.#open.name)) this.#repairs.push("no closing tag");
      return;
    }
    if (between !== "") this.#repairs.push("words behind it within its tags");
    if (!tag.closes) this.#repairs.push("an opening tag in the place of a closing one");
    else if (tag.name !== this.#open.name) this.#repairs.push("another closing tag");
    this.#at = tag.end;
  }

  /** Returns whether no call begins at an opening tag. */
  #isMentioned(index: number): boolean {
    const { end } = this.#tags[index]!;
    return !beginsJson(this.#text, end) && elementAt(this.#text, end) === undefined;
  }
}

const NAME_END = /\s*<\/(?:name|tool_name|function)>/iy;

/** Patterns of the closing tag after arguments: anywhere, and at the current position. */
interface Ends {
  readonly any: RegExp;
  readonly here: RegExp;
}

const ARGUMENTS_ENDS: Ends = {
  any: /<\/(?:arguments|parameters|args|input)>/i,
  here: /\s*<\/(?:arguments|parameters|args|input)>/iy,
};
const NAMED_ENDS: Ends = { any: /<\/(?:function|invoke)>/i, here: /\s*<\/(?:function|invoke)>/iy };
/** Shows that a tag with a name in it is a call: an element for one argument, or its closing tag. */
const SINGLE = /\s*<(?:parameter\b|\/(?:function|invoke)>)/iy;

/** Placeholders with which texts about calls quote the form. */
export const PLACEHOLDER = /\s*\{\s*(?:["']?name["']?\s{0,9}:\s{0,9}["']?)?(?:\.\.\.|…|<)/y;

/** The begin of an element. */
interface Element {
  /** Its name, in lower case. */
  readonly name: string;
  readonly end: number;
}

/** Returns the element that begins here. */
function elementAt(text: string, at: number): Element | undefined {
  ELEMENT.lastIndex = at;
  const found = ELEMENT.exec(text);
  return found === null ? undefined : { name: found[1]!.toLowerCase(), end: ELEMENT.lastIndex };
}

/** Reads arguments that contain entities or CDATA sections of XML. */
function withoutEntities(written: string): ArgumentsRead | undefined {
  const plain = written.replace(/<!\[CDATA\[|\]\]>/g, "")
    .replace(ENTITY, (entity) => ENTITIES.get(entity)!);
  const read = plain === written ? undefined : readTolerantJson(plain, 0);
  const given = read === undefined ? undefined : argumentsFromJson(read.json);
  if (read === undefined || !given?.isReadable) return undefined;
  return { ...given, repairs: ["entities of XML", ...read.repairs, ...given.repairs] };
}
