/**
 * Ways through a graph: which calls show ids and leaves, and how one leads to the next.
 * @module
 */

import type { Stream } from "../base/random.ts";
import { sample } from "@std/random";
import type { RecordPlace, Take, ToolGraph, ToolNode } from "./graph.ts";
import { isWithin, type Leaf, leavesOf } from "./_leaves.ts";
import { type Place, placesOf } from "./_places.ts";
import { plainName, wordsOf } from "./_words.ts";
import { getOrInsertComputed } from "../base/get_or_insert.ts";

/** A record in a result as a chain uses it: how the call is made, and which record it is. */
export interface View {
  readonly node: ToolNode;
  /** The parameter that takes what the call before shows; omitted where the call takes no id. */
  readonly drive?: Take | undefined;
  /** The record by an argument or in a list, then those that are related to the one before. */
  readonly places: readonly RecordPlace[];
  /** Where the first is in a list: the name by which a question chooses it. */
  readonly label?: readonly string[] | undefined;
  /** The name of the type of the last one. */
  readonly to: string;
}

/** Relations from one record to the next within one result, at most. */
const MAX_RELATIONS = 2;

/** Words of a relation, at most: longer ones are ways through a record, and no nouns. */
const MAX_WORDS = 4;

/** What is known of a graph without any values. */
export class Plan {
  /** The tools that chains and the search for shorter ways may call. */
  readonly readers: readonly ToolNode[];
  readonly views: readonly View[];
  readonly #places = new Map<ToolNode, readonly Place[]>();
  readonly #leaves = new Map<RecordPlace, readonly Leaf[]>();
  readonly #endings = new Map<string, readonly View[]>();
  /** The plain names of the leaves of records, by type. */
  readonly #fields = new Map<string, ReadonlySet<string>>();

  constructor(readonly graph: ToolGraph) {
    this.readers = [...graph.nodes.values()].filter((node) =>
      node.reads && node.result !== undefined
    );
    this.views = this.readers.filter(isUsable).flatMap((node) => this.#viewsOf(node));
  }

  /** Returns the leaves of a record in the result of a tool. */
  leaves(node: ToolNode, place: RecordPlace): readonly Leaf[] {
    return getOrInsertComputed(this.#leaves, place, () => {
      const inner = node.records.filter((one) => one !== place).map((one) => one.path);
      // Where an id stands alone, there is no record.
      const places = getOrInsertComputed(this.#places, node, () => placesOf(node.result!));
      return place.key === undefined
        ? []
        : leavesOf(places, place.path, inner, this.graph.types.get(place.type)!.entity);
    });
  }

  /** Returns what a question may ask for of the last record of a view. */
  asked({ node, places, label }: View): readonly Leaf[] {
    return this.leaves(node, places.at(-1)!).filter((leaf) =>
      leaf.isAsked && (places.length > 1 || leaf.path.join() !== label?.join())
    );
  }

  /**
   * Draws the calls of a chain from the last one to the first, and what it asks for; `undefined` if it comes to an end
   * too early.
   */
  draw(
    calls: number,
    stream: Stream,
  ): { readonly views: readonly View[]; readonly leaf: Leaf } | undefined {
    const last = fairly(this.#ending(calls, 1), stream);
    if (last === undefined) return undefined;
    const leaf = sample(this.asked(last), stream)!;
    const views = [last];
    for (let left = calls - 1; left > 0; left--) {
      const chosen = views.some((view) => view.label !== undefined);
      const { type } = views[0]!.drive!;
      const before = this.#ending(left, Number(!chosen), type)
        .filter((view) =>
          views.every(({ node }) => node !== view.node) && !this.#saves(view, views[0]!, leaf)
        );
      const one = fairly(before, stream);
      if (one === undefined) return undefined;
      views.unshift(one);
    }
    return { views, leaf };
  }

  /** Whether a record shows a copy of a field of one that it refers to, such as `customer_name`. */
  hasCopy(
    { from, relation }: { readonly from: string; readonly relation: string },
    path: readonly string[],
  ): boolean {
    const fields = getOrInsertComputed(
      this.#fields,
      from,
      () =>
        new Set(this.readers.flatMap((node) =>
          node.records.filter(({ type }) => type === from)
            .flatMap((place) =>
              this.leaves(node, place).map((leaf) => plainName(leaf.path.join(" ")))
            )
        )),
    );
    return fields.has(plainName([relation, ...path].join(" ")));
  }

  /** Whether a view shows already what the next one is for. */
  #saves({ node, places }: View, { label, places: [, next] }: View, leaf: Leaf): boolean {
    const last = places.at(-1)!;
    if (label !== undefined) return false;
    return next === undefined
      ? this.hasLeaf(node, last, leaf.path)
      : relatedTo(node, last).some((place) => relationOf(place) === relationOf(next));
  }

  /** Whether a record in the result of a tool may have a leaf. */
  hasLeaf(node: ToolNode, place: RecordPlace, path: readonly string[]): boolean {
    const text = path.join("\0");
    return this.leaves(node, place).some((leaf) => leaf.path.join("\0") === text);
  }

  /** Returns the views that may be the last of some calls: those that show an id of a type, or what may be asked for. */
  #ending(calls: number, selectors: number, type?: string): readonly View[] {
    const isLast = (view: View) =>
      type === undefined
        ? this.asked(view).length > 0
        : view.to === type && (view.label !== undefined || view.places.length > 1);
    return getOrInsertComputed(
      this.#endings,
      [calls, selectors, type].join("\0"),
      () =>
        this.views.filter((view) => {
          const left = selectors - Number(view.label !== undefined);
          if (left < 0 || !isLast(view)) return false;
          if (view.drive === undefined || calls === 1) return calls === 1;
          return this.#ending(calls - 1, left, view.drive.type!).length > 0;
        }),
    );
  }

  #viewsOf(node: ToolNode): View[] {
    const ids = node.takes.filter(({ role }) => role === "id");
    return node.records.flatMap((root): View[] => {
      if ("relation" in root.of) return [];
      const stars = root.path.filter((key) => key === "*").length;
      if ("argument" in root.of) {
        const { argument } = root.of;
        const drive = ids.find(({ parameter }) => parameter === argument);
        if (drive === undefined || stars > 0) return [];
        return related(node, [root]).map((places) => viewOf({ node, drive, places }));
      }
      const labels = this.leaves(node, root).filter((leaf) => leaf.isLabel).map(({ path }) => path);
      const label = labels.find(([name]) => name === "name") ?? labels[0];
      if (label === undefined || stars !== 1) return [];
      const drives = [...ids, ...(ids.some(({ required }) => required) ? [] : [undefined])];
      return related(node, [root]).flatMap((places) =>
        // An item of a list of what a record has leads back to that record.
        drives.filter((drive) => drive === undefined || drive.type !== places[1]?.type)
          .map((drive) => viewOf({ node, drive, places, label }))
      );
    });
  }
}

function viewOf(view: Omit<View, "to">): View {
  return { ...view, to: view.places.at(-1)!.type };
}

/** Returns the ways from a record to itself and to those that are related to it, one and not many. */
function related(node: ToolNode, places: readonly RecordPlace[]): (readonly RecordPlace[])[] {
  const next = places.length > MAX_RELATIONS ? [] : relatedTo(node, places.at(-1)!);
  return [places, ...next.flatMap((place) => related(node, [...places, place]))];
}

/** Returns the records in the result of a tool that one of them refers to, one and not many. */
function relatedTo(node: ToolNode, around: RecordPlace): readonly RecordPlace[] {
  return node.records.filter((place) =>
    recordAround(node.records, place) === around &&
    !place.path.slice(around.path.length).includes("*") &&
    wordsOf(relationOf(place) ?? "").length <= MAX_WORDS
  );
}

/** Returns how a record is related to the one around it. */
export function relationOf({ of }: RecordPlace): string | undefined {
  return "relation" in of ? of.relation : undefined;
}

/** Returns the record that another one stands in; `undefined` at the top. */
export function recordAround(records: readonly RecordPlace[], { path }: RecordPlace) {
  return records.findLast((one) => one.path.length < path.length && isWithin(path, one.path));
}

/** Whether a chain may call a tool: whether everything that it must be given is known. */
export function isUsable({ takes }: ToolNode): boolean {
  return takes.every(({ required, role, schema }) =>
    !required || role !== "free" || Object.hasOwn(schema, "default")
  );
}

/** Draws the type that is shown, and then one of the views that show it: many tools may show the same. */
function fairly(views: readonly View[], stream: Stream): View | undefined {
  const type = sample([...new Set(views.map((view) => view.to))], stream);
  return sample(views.filter((view) => view.to === type), stream);
}
