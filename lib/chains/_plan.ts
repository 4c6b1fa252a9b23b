/**
 * Ways through a graph: which calls show ids and leaves, and how one leads to the next.
 * @module
 */

import type { Stream } from "../base/random.ts";
import { sample } from "@std/random";
import type { RecordPlace, Take, ToolGraph, ToolNode } from "./graph.ts";
import { isWithin, type Leaf, leavesOf } from "./_leaves.ts";
import { type Place, placesOf } from "./_places.ts";
import { wordsOf } from "./_words.ts";

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
  readonly #reach = new Map<string, readonly View[]>();
  readonly #goals = new Map<string, readonly View[]>();
  readonly #showing = new Map<string, ReadonlySet<ToolNode>>();
  readonly #distances = new Map<string, ReadonlyMap<string, number>>();

  constructor(readonly graph: ToolGraph, readonly selectors: boolean) {
    this.readers = [...graph.nodes.values()].filter((node) =>
      node.reads && node.result !== undefined
    );
    this.views = this.readers.filter(isUsable).flatMap((node) => this.#viewsOf(node));
  }

  /** Returns the leaves of a record in the result of a tool. */
  leaves(node: ToolNode, place: RecordPlace): readonly Leaf[] {
    return this.#leaves.getOrInsertComputed(place, () => {
      const inner = node.records.filter((one) => one !== place).map((one) => one.path);
      // Where an id stands alone, there is no record.
      const places = this.#places.getOrInsertComputed(node, () => placesOf(node.result!));
      return place.key === undefined ? [] : leavesOf(places, place.path, inner);
    });
  }

  /** Returns the views that may be the last of a chain of some calls. */
  goals(calls: number): readonly View[] {
    return this.#goals.getOrInsertComputed(
      `${calls}`,
      () =>
        this.views.filter((view) =>
          this.asked(view).length > 0 && this.#follows(view, calls, Number(this.selectors))
        ),
    );
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
    const last = fairly(this.goals(calls), stream);
    if (last === undefined) return undefined;
    const leaf = sample(this.asked(last), stream)!;
    const views = [last];
    for (let left = calls - 1; left > 0; left--) {
      const chosen = views.some((view) => view.label !== undefined);
      const before = this.#before(views[0]!.drive!.type!, left, Number(this.selectors && !chosen))
        .filter((view) =>
          views.every(({ node }) => node !== view.node) && !this.#saves(view, views[0]!, leaf)
        );
      const one = fairly(before, stream);
      if (one === undefined) return undefined;
      views.unshift(one);
    }
    return { views, leaf };
  }

  /** Whether a view shows already what the next one is for. */
  #saves({ node, places }: View, { label, places: [, next] }: View, leaf: Leaf): boolean {
    const last = places.at(-1)!;
    if (label !== undefined) return false;
    return next === undefined
      ? this.hasLeaf(node, last, leaf.path)
      : relatedTo(node, last).some((place) => relationOf(place) === relationOf(next));
  }

  /**
   * Returns how many calls it takes at least from an id of each type to a leaf; types that do not lead to it are
   * left out.
   */
  distances(type: string, path: readonly string[]): ReadonlyMap<string, number> {
    return this.#distances.getOrInsertComputed([type, ...path].join("\0"), () => {
      const found = new Map<string, number>();
      let next = [...this.showing(type, path)];
      for (let distance = 1; next.length > 0; distance++) {
        const before = new Set<string>();
        for (const { takes } of next) {
          for (const { role, type } of takes) {
            if (role !== "id" || found.has(type!)) continue;
            found.set(type!, distance);
            before.add(type!);
          }
        }
        next = this.readers.filter(({ records }) => records.some(({ type }) => before.has(type)));
      }
      return found;
    });
  }

  /** Returns the tools whose results may show a leaf of records of a type. */
  showing(type: string, path: readonly string[]): ReadonlySet<ToolNode> {
    return this.#showing.getOrInsertComputed(
      [type, ...path].join("\0"),
      () =>
        new Set(
          this.readers.filter((node) =>
            node.records.some((place) => place.type === type && this.hasLeaf(node, place, path))
          ),
        ),
    );
  }

  /** Whether a record in the result of a tool may have a leaf. */
  hasLeaf(node: ToolNode, place: RecordPlace, path: readonly string[]): boolean {
    const text = path.join("\0");
    return this.leaves(node, place).some((leaf) => leaf.path.join("\0") === text);
  }

  /** Returns the views that show an id of a type as the last of some calls. */
  #before(type: string, calls: number, selectors: number): readonly View[] {
    return this.#reach.getOrInsertComputed(
      [type, calls, selectors].join("\0"),
      () =>
        this.views.filter((view) =>
          view.to === type && (view.label !== undefined || view.places.length > 1) &&
          this.#follows(view, calls, selectors)
        ),
    );
  }

  /** Whether there are calls before a view that make up a number with it. */
  #follows({ drive, label }: View, calls: number, selectors: number): boolean {
    const left = selectors - Number(label !== undefined);
    if (left < 0) return false;
    if (drive === undefined || calls === 1) return calls === 1;
    return this.#before(drive.type!, calls - 1, left).length > 0;
  }

  #viewsOf(node: ToolNode): View[] {
    const ids = node.takes.filter(({ role }) => role === "id");
    return node.records.flatMap((root): View[] => {
      if ("relation" in root.of) return [];
      const stars = root.path.filter((key) => key === "*").length;
      if ("argument" in root.of) {
        const { argument } = root.of;
        const drive = ids.find(({ parameter }) => parameter === argument);
        return drive === undefined || stars > 0 ? [] : related(node, [root]).map((places) => ({
          node,
          drive,
          places,
          to: places.at(-1)!.type,
        }));
      }
      const label = this.leaves(node, root).find((leaf) => leaf.isLabel)?.path;
      if (!this.selectors || label === undefined || stars !== 1) return [];
      const drives = [...ids, ...(ids.some(({ required }) => required) ? [] : [undefined])];
      return related(node, [root]).flatMap((places) =>
        // An item of a list of what a record has leads back to that record.
        drives.filter((drive) => drive === undefined || drive.type !== places[1]?.type)
          .map((drive) => ({ node, drive, places, label, to: places.at(-1)!.type }))
      );
    });
  }
}

/** Returns the ways from a record to itself and to those that are related to it, one and not many. */
function related(node: ToolNode, places: readonly RecordPlace[]): (readonly RecordPlace[])[] {
  const around = places.at(-1)!;
  if (places.length > MAX_RELATIONS) return [places];
  return [
    places,
    ...relatedTo(node, around).flatMap((place) => related(node, [...places, place])),
  ];
}

/** Returns the records in the result of a tool that one of them refers to, one and not many. */
function relatedTo(node: ToolNode, around: RecordPlace): readonly RecordPlace[] {
  return node.records.filter((place) =>
    recordAround(node, place) === around &&
    !place.path.slice(around.path.length).includes("*") &&
    wordsOf(relationOf(place) ?? "").length <= MAX_WORDS
  );
}

/** Returns how a record is related to the one around it. */
export function relationOf({ of }: RecordPlace): string | undefined {
  return "relation" in of ? of.relation : undefined;
}

/** Returns the record that another one stands in; `undefined` at the top. */
function recordAround(node: ToolNode, place: RecordPlace): RecordPlace | undefined {
  return node.records.findLast((one) =>
    one.path.length < place.path.length && isWithin(place.path, one.path)
  );
}

/** Whether a chain may call a tool: whether everything that it must be given is known. */
function isUsable({ takes }: ToolNode): boolean {
  return takes.every(({ required, role, schema }) =>
    !required || role !== "free" || Object.hasOwn(schema, "default")
  );
}

/** Draws the type that is shown, and then one of the views that show it: many tools may show the same. */
function fairly(views: readonly View[], stream: Stream): View | undefined {
  const type = sample([...new Set(views.map((view) => view.to))], stream);
  return sample(views.filter((view) => view.to === type), stream);
}
