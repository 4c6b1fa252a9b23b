/**
 * State differences: what the tools of a case changed in the state that its `state` made. The state is the user's
 * own: reading it runs none of their code, and nothing in it can break a trial.
 * @module
 */

// Loaded on first use: most cases have no state.
import defer * as util from "node:util";
import { attempt } from "../../base/errors.ts";
import { cutText, defined, isObject } from "../../base/json.ts";
import { redactRecordValue } from "../../base/redact.ts";
import { MAX_KEPT_LENGTH } from "../trace.ts";

/** What changed in one place of a state. */
export interface StateChange {
  /** The place, such as `orders[0].status`; empty for the state as a whole. */
  readonly path: string;
  /** The value before, as JSON, cut to 500 characters; omitted if it was added. */
  readonly before?: string;
  /** The value after, likewise; omitted if it was removed. */
  readonly after?: string;
}

/** What changed in the state of a case. */
export interface StateDifference {
  /** The changes, in the order of their places; at most 100. */
  readonly changes: readonly StateChange[];
  /** Number of further changes; omitted without any. */
  readonly more?: number;
  /**
   * What was not compared, as a place and what stands there, such as `db: DatabaseSync`; at most 20; omitted without
   * any.
   */
  readonly hidden?: readonly string[];
  /** `true` if the state is too large, or nests too deep, to be compared as a whole; otherwise omitted. */
  readonly partial?: true;
}

/** A state as it was at one time. */
export interface StateSnapshot {
  readonly root: Node;
  readonly hidden: ReadonlyMap<string, string>;
  readonly partial: boolean;
  /** What hides data that may differ, as a place and what stands there; omitted if nothing does. */
  readonly unseen?: string;
}

/** A value of a snapshot: the text of one without parts, or its parts by name. */
type Node =
  | { readonly kind: "text"; readonly value: string }
  | { readonly kind: "word"; readonly text: string }
  | { readonly kind: "list"; readonly items: readonly Node[] }
  | { readonly kind: "fields"; readonly fields: ReadonlyMap<string, Node> };

/** At most this many values of a state are compared. */
const MAX_VALUES = 10_000;
/** At most this many levels of a state are compared. */
const MAX_LEVELS = 20;
/** At most this many changes are kept. */
const MAX_CHANGES = 100;
/** At most this many places that were not compared are named. */
const MAX_HIDDEN = 20;
/** At most this many characters of a value are kept. */
const MAX_VALUE_LENGTH = 500;
/** At most this many characters of a place are kept. */
const MAX_PATH_LENGTH = 300;

/**
 * Takes a snapshot of a state. Getters are not called and proxies not asked; what is neither data nor a list, a `Map`,
 * a `Set` or a `Date` is hidden, and of an object of a class only its own fields are seen.
 */
export function snapshotOf(state: unknown): StateSnapshot {
  const hidden = new Map<string, string>();
  const open = new Set<object>();
  let left = MAX_VALUES;
  let partial = false;
  let unseen: string | undefined;
  const hide = (path: string, what: string, isData = true): Node => {
    if (isData) unseen ??= placeText(path, what);
    if (hidden.size < MAX_HIDDEN) hidden.set(path, what);
    return word(`[${what}]`);
  };
  const cut = (): Node => {
    partial = true;
    return word("[...]");
  };
  const visit = (value: unknown, path: string, level: number): Node => {
    if (left-- <= 0) return cut();
    if (typeof value === "string") return { kind: "text", value };
    if (typeof value === "function") return hide(path, "a function", false);
    if (!isObject(value)) return word(typeof value === "bigint" ? `${value}n` : String(value));
    if (isProxy(value)) return hide(path, "a Proxy");
    if (open.has(value)) return word("[a circle]");
    if (level >= MAX_LEVELS) return cut();
    open.add(value);
    try {
      return parts(value, path, level + 1);
    } finally {
      open.delete(value);
    }
  };
  const parts = (value: object, path: string, level: number): Node => {
    if (Array.isArray(value)) {
      const items: Node[] = [];
      for (let index = 0; index < value.length && left > 0; index++) {
        items.push(field(value, String(index), `${path}[${index}]`, level));
      }
      if (items.length < value.length) partial = true;
      return { kind: "list", items };
    }
    if (ArrayBuffer.isView(value)) return hide(path, `${value.byteLength} bytes`);
    const known = builtIn(value);
    if (known?.kind === "word") return known;
    if (known !== undefined) {
      const list: Node[] = [];
      const fields = new Map<string, Node>();
      for (const [key, inner] of known.entries) {
        if (left <= 0) {
          partial = true;
          break;
        }
        if (known.kind === "set") {
          list.push(visit(inner, `${path}[${list.length}]`, level));
          continue;
        }
        const name = typeof key === "string" ? key : textOf(visit(key, path, level));
        fields.set(name, visit(inner, pathTo(path, name), level));
      }
      if (known.kind === "map") return { kind: "fields", fields };
      // The order in which its members were added is no part of a set.
      const items = list.map((item) => ({ item, text: textOf(item) }))
        .sort(({ text: one }, { text: other }) => Number(one > other) - Number(one < other))
        .map(({ item }) => item);
      return { kind: "list", items };
    }
    const names = Object.keys(value);
    const className = classOf(value);
    if (className !== undefined) {
      if (names.length === 0) return hide(path, className);
      hide(path, `${className}, of which only its own fields are seen`, false);
    }
    const fields = new Map<string, Node>();
    for (const name of names) {
      if (left <= 0) {
        partial = true;
        break;
      }
      fields.set(name, field(value, name, pathTo(path, name), level));
    }
    return { kind: "fields", fields };
  };
  const field = (value: object, name: string, path: string, level: number): Node => {
    const descriptor = Object.getOwnPropertyDescriptor(value, name);
    if (descriptor !== undefined && "value" in descriptor) {
      return visit(descriptor.value, path, level);
    }
    left--;
    // A getter is the user's code, which may count how often it is called.
    return descriptor === undefined ? word("undefined") : hide(path, "a getter");
  };
  // Few objects of the platform throw where they are looked at, such as a module that is being loaded.
  const root = attempt(() => visit(state, "", 0)) ?? hide("", "it cannot be read");
  return { root, hidden, partial, ...defined({ unseen }) };
}

/**
 * Returns what differs between two snapshots of a state, without secrets.
 *
 * @param keys Keys found elsewhere, which are removed too; keys found here are added.
 */
export function stateDifference(
  before: StateSnapshot,
  after: StateSnapshot,
  keys: Set<string> = new Set(),
): StateDifference {
  const changes: StateChange[] = [];
  let count = 0;
  const add = (path: string, name: string, one: Node | undefined, other: Node | undefined) => {
    count++;
    if (changes.length === MAX_CHANGES) return;
    const show = (node: Node | undefined) =>
      node === undefined ? undefined : shownText(node, name, keys);
    changes.push({
      path: cutText(redactRecordValue(path, keys), MAX_PATH_LENGTH),
      ...defined({ before: show(one), after: show(other) }),
    });
  };
  const compare = (path: string, name: string, one: Node, other: Node): void => {
    if (one.kind === "list" && other.kind === "list") {
      compareLists(path, name, one.items, other.items);
    } else if (one.kind === "fields" && other.kind === "fields") {
      for (const name of new Set([...one.fields.keys(), ...other.fields.keys()])) {
        const [own, next] = [one.fields.get(name), other.fields.get(name)];
        const inner = pathTo(path, name);
        if (own !== undefined && next !== undefined) compare(inner, name, own, next);
        else add(inner, name, own, next);
      }
    } else if (!util.isDeepStrictEqual(one, other)) {
      add(path, name, one, other);
    }
  };
  const compareLists = (
    path: string,
    name: string,
    one: readonly Node[],
    other: readonly Node[],
  ): void => {
    // What stands before and behind the changes is the same: an item that is taken out moves all that follow.
    const most = Math.min(one.length, other.length);
    let start = 0;
    while (start < most && util.isDeepStrictEqual(one[start]!, other[start]!)) start++;
    let end = 0;
    while (end < most - start && util.isDeepStrictEqual(one.at(-1 - end)!, other.at(-1 - end)!)) {
      end++;
    }
    const [left, right] = [
      one.slice(start, one.length - end),
      other.slice(start, other.length - end),
    ];
    for (let index = 0; index < Math.max(left.length, right.length); index++) {
      const inner = `${path}[${start + index}]`;
      const [own, next] = [left[index], right[index]];
      if (own !== undefined && next !== undefined) compare(inner, name, own, next);
      else add(inner, name, own, next);
    }
  };
  compare("", "", before.root, after.root);
  const hidden = [...new Map([...before.hidden, ...after.hidden])].slice(0, MAX_HIDDEN)
    .map(([path, what]) => placeText(path, what));
  return {
    changes,
    ...(count > changes.length ? { more: count - changes.length } : {}),
    ...(hidden.length === 0 ? {} : { hidden: redactRecordValue(hidden, keys) }),
    ...(before.partial || after.partial ? { partial: true as const } : {}),
  };
}

/** Describes what stands at a place that was not compared. */
function placeText(path: string, what: string): string {
  return cutText(path === "" ? what : `${path}: ${what}`, MAX_PATH_LENGTH);
}

function word(text: string): Node {
  return { kind: "word", text };
}

/** Returns the entries of a map or a set, or the text of a date; `undefined` for all others. */
function builtIn(value: object):
  | { readonly kind: "map" | "set"; readonly entries: Iterable<[unknown, unknown]> }
  | { readonly kind: "word"; readonly text: string }
  | undefined {
  // Methods of the prototypes, as a class of the user's may have others.
  if (util.types.isMap(value)) return { kind: "map", entries: Map.prototype.entries.call(value) };
  if (util.types.isSet(value)) return { kind: "set", entries: Set.prototype.entries.call(value) };
  if (!util.types.isDate(value)) return undefined;
  const time = Date.prototype.getTime.call(value);
  return { kind: "word", text: Number.isNaN(time) ? "[no date]" : new Date(time).toISOString() };
}

/** Returns the name of the class of an object; `undefined` if it is plain. No code of the class is run. */
function classOf(value: object): string | undefined {
  const prototype = Object.getPrototypeOf(value);
  if (prototype === null || prototype === Object.prototype) return undefined;
  if (isProxy(prototype)) return "an object of a class";
  const made = Object.getOwnPropertyDescriptor(prototype, "constructor")?.value;
  if (typeof made !== "function" || isProxy(made)) return "an object of a class";
  const name = Object.getOwnPropertyDescriptor(made, "name")?.value;
  return typeof name === "string" && name !== "" ? cutText(name, 60) : "an object of a class";
}

function isProxy(value: object): boolean {
  return util.types.isProxy(value);
}

/** Returns the path of a field, as JavaScript writes it. */
function pathTo(path: string, name: string): string {
  if (!/^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(name)) {
    return `${path}[${JSON.stringify(cutText(name, MAX_PATH_LENGTH))}]`;
  }
  return path === "" ? name : `${path}.${name}`;
}

/** Returns the text of a value, as JSON where it is. */
function textOf(node: Node): string {
  return write(node, { text: (value) => value, room: Infinity });
}

/** Returns the text of a value without secrets, cut. What does not fit is not looked at. */
function shownText(node: Node, name: string, keys: Set<string>): string {
  const text = (value: string, name: string) => {
    // Before the text is cut: half a key is no longer recognized.
    const field = redactRecordValue({ [name]: cutText(value, MAX_KEPT_LENGTH) }, keys);
    return Object.values(field)[0]!;
  };
  return cutText(write(node, { text, room: 2 * MAX_VALUE_LENGTH }, name), MAX_VALUE_LENGTH);
}

/** How a value is written. */
interface Writing {
  /** Returns a text within it, of a field or the items of one. */
  readonly text: (value: string, name: string) => string;
  /** Characters that are left. */
  room: number;
}

function write(node: Node, writing: Writing, name = ""): string {
  if (writing.room <= 0) return "";
  const part = (text: string) => {
    writing.room -= text.length;
    return text;
  };
  switch (node.kind) {
    case "text":
      return part(JSON.stringify(writing.text(node.value, name)));
    case "word":
      return part(node.text);
    case "list":
      return part(`[${node.items.map((item) => write(item, writing, name)).join(",")}]`);
    case "fields":
      return part(
        `{${
          [...node.fields].map(([name, inner]) =>
            writing.room <= 0
              ? ""
              : `${JSON.stringify(writing.text(name, ""))}:${write(inner, writing, name)}`
          ).join(",")
        }}`,
      );
  }
}
