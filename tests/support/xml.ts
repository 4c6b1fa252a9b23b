/**
 * A strict reader of XML, such as SVG is, so that tests see whether an image is well-formed and what
 * stands in it.
 */

/** An element with its attributes and everything in it. */
export interface Element {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: readonly Element[];
  /** The text that stands in it, without that of its elements. */
  readonly text: string;
}

const NAME = "[A-Za-z_:][\\w:.-]*";
const VALUE = `"[^"<]*"|'[^'<]*'`;
const TOKEN = new RegExp(
  `<!--(?:(?!--)[^])*-->|<\\?xml[^?]*\\?>|<!DOCTYPE[^>[]*>|` +
    `<(?<name>${NAME})(?<attributes>(?:\\s+${NAME}\\s*=\\s*(?:${VALUE}))*)\\s*(?<alone>/?)>|` +
    `</(?<end>${NAME})\\s*>|(?<text>[^<]+)`,
  "y",
);
/** What XML cannot hold, not even as a reference. */
// deno-lint-ignore no-control-regex
const FORBIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|\p{Cs}/u;
const REFERENCES: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
};

/** The one element of `xml`; throws where it is not well-formed. */
export function parseXml(xml: string): Element {
  const top: Element[] = [];
  const open: { name: string; element: { children: Element[]; text: string } }[] = [];
  const into = () => open.at(-1)?.element ?? { children: top, text: "" };
  for (TOKEN.lastIndex = 0; TOKEN.lastIndex < xml.length;) {
    const at = TOKEN.lastIndex;
    const { name, attributes, alone, end, text } = TOKEN.exec(xml)?.groups ??
      fail("nothing of XML begins", xml.slice(at, at + 60));
    if (name !== undefined) {
      const element = { name, attributes: attributesOf(attributes!), children: [], text: "" };
      into().children.push(element);
      if (alone === "") open.push({ name, element });
    } else if (end !== undefined) {
      if (open.pop()?.name !== end) fail("an element ends that is not open", end);
    } else if (text !== undefined) {
      if (open.length === 0 && text.trim() !== "") fail("text stands outside", text);
      into().text += unescaped(text);
    }
  }
  if (open.length > 0) fail("an element does not end", open.at(-1)!.name);
  if (top.length !== 1) fail("there must be one element", `${top.length}`);
  return top[0]!;
}

/** An element and all that are in it. */
export function elementsOf(element: Element): Element[] {
  return [element, ...element.children.flatMap(elementsOf)];
}

/** The tests in a JUnit report, and those that failed: without steps, which say how a case ended. */
export function junit(path: string): { cases: string[]; failed: string[] } {
  const tests = elementsOf(parseXml(Deno.readTextFileSync(path))).filter((one) =>
    one.name === "testcase" && !/ > (not solved|invalid): /.test(one.attributes["name"]!)
  );
  const named = (all: Element[]) => all.map(({ attributes }) => attributes["name"]!);
  const hasFailed = ({ children }: Element) => children.some(({ name }) => name === "failure");
  return { cases: named(tests), failed: named(tests.filter(hasFailed)) };
}

function attributesOf(written: string): Record<string, string> {
  const attributes: Record<string, string> = {};
  for (const [, name, value] of written.matchAll(new RegExp(`(${NAME})\\s*=\\s*(${VALUE})`, "g"))) {
    if (Object.hasOwn(attributes, name!)) fail("an attribute is there twice", name!);
    attributes[name!] = unescaped(value!.slice(1, -1));
  }
  return attributes;
}

function unescaped(text: string): string {
  const shown = text.replace(/&([^;&]*;?)/g, (written, reference: string) => {
    const name = reference.slice(0, -1);
    const code = /^#(?:x([\da-f]+)|(\d+));$/i.exec(reference);
    if (code !== null) {
      return String.fromCodePoint(parseInt(code[1] ?? code[2]!, code[1] === undefined ? 10 : 16));
    }
    if (reference.endsWith(";") && Object.hasOwn(REFERENCES, name)) return REFERENCES[name]!;
    return fail("a reference is none", written);
  });
  if (FORBIDDEN.test(shown)) fail("a character cannot stand in XML", JSON.stringify(text));
  return shown;
}

function fail(rule: string, state: string): never {
  throw new Error(`Cannot read XML as ${rule}: ${state}`);
}
