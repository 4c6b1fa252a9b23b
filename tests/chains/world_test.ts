// All tools of a world agree, whatever is asked first, and their results fit their schemas.

import { assert, assertEquals, assertNotEquals, assertThrows } from "@std/assert";
import {
  canonicalJson,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "../../lib/base/json.ts";
import { InputError } from "../../lib/base/errors.ts";
import { type ToolGraph, toolGraph, type ToolGraphOptions } from "../../lib/chains/graph.ts";
import { World } from "../../lib/chains/world.ts";
import { openApiTools } from "../../lib/integrations/openapi.ts";
import { schemaErrors } from "../../lib/tools/schema/validate.ts";
import fc from "../support/fast_check.ts";

const TEXT = { type: "string" };
const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const object = (properties: JsonObject, required = Object.keys(properties)) => ({
  ...{ type: "object", properties, required, additionalProperties: false },
});
const list = (items: JsonObject) => ({ type: "array", items });

/** Projects have an owner and tasks, which are said in several ways, whole and short, at the top and in envelopes. */
const SCHEMAS: JsonObject = {
  User: object({
    ...{ id: TEXT, name: TEXT, age: { type: "integer" }, projects: list(ref("ShortProject")) },
  }, ["id", "name"]),
  ShortUser: object({ id: TEXT, name: { type: "string", maxLength: 9 } }),
  Project: object({
    ...{ id: TEXT, name: TEXT, owner_id: TEXT, note: { type: ["string", "null"] }, color: TEXT },
    size: { oneOf: [object({ meters: { type: "number" } }), object({ feet: { type: "number" } })] },
    tags: list(object({ word: TEXT, weight: { type: "integer" } })),
  }, ["id", "owner_id"]),
  ShortProject: object({ id: TEXT, owner: ref("ShortUser"), name: TEXT, size: true }, ["id"]),
  Task: object({
    ...{ id: TEXT, title: TEXT, project: ref("ShortProject"), parent: { ...ref("ShortTask") } },
    due: { anyOf: [{ type: "string", format: "date" }, { type: "null" }] },
    subtasks: list(ref("Task")),
  }, ["id", "title"]),
  ShortTask: object({ id: TEXT, title: TEXT, project_id: TEXT }),
};

function documentOf(paths: Readonly<Record<string, JsonObject>>, schemas = SCHEMAS): JsonObject {
  const operation = (path: string, schema: JsonObject) => ({
    operationId: `get${path.replaceAll(/\W+/g, "_").replace(/_$/, "")}`,
    parameters: [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
      ...{ name, in: "path", required: true, schema: TEXT },
    })),
    responses: { 200: { description: "", content: { "application/json": { schema } } } },
  });
  return {
    ...{ openapi: "3.1.0", info: { title: "", version: "" }, components: { schemas } },
    paths: Object.fromEntries(
      Object.entries(paths).map(([path, schema]) => [path, { get: operation(path, schema) }]),
    ),
  } as JsonObject;
}

const PATHS = {
  "/users": list(ref("ShortUser")),
  "/users/{user_id}": ref("User"),
  "/users/{user_id}/projects": object({ data: list(ref("ShortProject")) }),
  "/projects": object({ data: list(ref("Project")) }),
  "/projects/{project_id}": object({ data: ref("Project") }),
  "/projects/{project_id}/tasks": object({
    items: list(object({ at: TEXT, task: ref("ShortTask") })),
  }),
  "/tasks/{task_id}": ref("Task"),
};

async function graphOf(
  paths: Readonly<Record<string, JsonObject>>,
  schemas?: JsonObject,
  options?: ToolGraphOptions,
): Promise<ToolGraph> {
  return toolGraph(await openApiTools(documentOf(paths, schemas)), options);
}

const OPTIONS = { links: { "get_projects_project_id:data.owner_id": "user.id" } };
const GRAPH = await graphOf(PATHS, SCHEMAS, OPTIONS);

interface Call {
  readonly tool: string;
  readonly args: JsonObject;
}

/** Each call of each tool with an id of the world. */
function callsOf(world: World, { nodes }: ToolGraph): Call[] {
  return [...nodes.values()].flatMap(({ tool, takes }) => {
    const [take] = takes;
    const ids = take === undefined ? [undefined] : world.ids(take.type!);
    return ids.map((id) => ({ tool: tool.name, args: take ? { [take.parameter]: id! } : {} }));
  });
}

function valueOf(world: World, { tool, args }: Call): JsonValue {
  const result = world.call(tool, args);
  assert("value" in result);
  return result.value;
}

/** The leaves of records in a result by type, id and path. */
function leavesOf(value: JsonValue, { tool }: Call, graph: ToolGraph): [string, JsonValue][] {
  const { records } = graph.nodes.get(tool)!;
  const leaves: [string, JsonValue][] = [];
  const walk = (inner: JsonValue, path: readonly string[], own: readonly string[] | undefined) => {
    const place = records.find((one) => one.key && one.path.join() === path.join());
    if (place && isJsonObject(inner)) own = [place.type, String(inner[place.key!])];
    if (typeof inner !== "object" || inner === null) {
      if (own !== undefined) leaves.push([own.join("\t"), inner]);
    } else {
      for (const [name, part] of Object.entries(inner)) {
        walk(part, [...path, Array.isArray(inner) ? "*" : name], own && [...own, name]);
      }
    }
  };
  walk(value, [], undefined);
  return leaves;
}

const seeds = (check: (seed: number) => void, numRuns = 30) =>
  fc.assert(fc.property(fc.nat(), check), { numRuns });

Deno.test("World is the same for a seed whatever is asked before, and another for others", () => {
  fc.assert(
    fc.property(fc.nat(), fc.infiniteStream(fc.nat()), (seed, order) => {
      const world = new World(GRAPH, seed);
      const calls = callsOf(world, GRAPH);
      const values = new Map(calls.map((call) => [call, canonicalJson(valueOf(world, call))]));
      const other = new World(GRAPH, seed);
      for (const call of calls.toSorted(() => order.next().value! % 3 - 1)) {
        assertEquals(canonicalJson(valueOf(other, call)), values.get(call));
      }
      assertNotEquals(new World(GRAPH, seed + 1).ids("user.id"), world.ids("user.id"));
    }),
    { numRuns: 20 },
  );
});

Deno.test("World has one value for a type, an id and a path, whichever tool shows it", () => {
  seeds((seed) => {
    const world = new World(GRAPH, seed);
    const known = new Map<string, JsonValue>();
    for (const call of callsOf(world, GRAPH)) {
      for (const [leaf, value] of leavesOf(valueOf(world, call), call, GRAPH)) {
        assertEquals(known.getOrInsert(leaf, value), value, `${leaf} in ${call.tool}`);
      }
    }
    for (const [leaf, value] of known) {
      const [type, id, ...path] = leaf.split("\t");
      // What is of another record is related, and no field.
      if (path.every((part) => !/^\d+$|_ids?$/.test(part))) {
        assertEquals(world.field(type!, id!, path), value, leaf);
      }
    }
    for (const id of world.ids("project.id")) {
      const owner = world.related("project.id", id, "owner")!;
      assertEquals(known.getOrInsert(`project.id\t${id}\towner_id`, owner), owner);
    }
  });
});

Deno.test("World makes results that fit their schemas, with the records that it says, and every branch at times", () => {
  const shown = new Set<string>();
  seeds((seed) => {
    const world = new World(GRAPH, seed);
    for (const call of callsOf(world, GRAPH)) {
      const value = valueOf(world, call);
      assertEquals(schemaErrors(GRAPH.nodes.get(call.tool)!.result!, value).errors, []);
      const leaves = leavesOf(value, call, GRAPH);
      const records = world.records(call.tool, call.args).filter(({ place }) => place.key);
      assertEquals(
        new Set(leaves.filter(([leaf]) => /^\S+\t[^\t]+\tid$/.test(leaf)).map(([, id]) => id)),
        new Set(records.map(({ id }) => id)),
      );
      for (const [leaf, inner] of leaves) {
        const [type, , ...path] = leaf.split("\t");
        shown.add(`${type} ${path.join(".")} ${inner === null}`);
      }
    }
    for (const id of world.ids("project.id")) {
      shown.add(`color ${world.field("project.id", id, ["color"]) === undefined}`);
    }
  });
  for (
    const one of [
      ...["size.meters false", "size.feet false", "note false", "note true", "tags.0.word false"]
        .map((leaf) => `project.id ${leaf}`),
      ...["task.id due true", "task.id due false", "color true", "color false"],
    ]
  ) assert(shown.has(one), one);
});

Deno.test("World lists under a record those that refer to it", () => {
  seeds((seed) => {
    const world = new World(GRAPH, seed);
    const listed = (parent: string, type: string, tool: string, relation: string) => {
      for (const id of world.ids(parent)) {
        const args = { [parent.replace(".", "_")]: id };
        const own = world.ids(type).filter((one) => world.related(type, one, relation) === id);
        const records = world.records(tool, args).filter(({ place }) => place.type === type);
        assertEquals(records.map(({ id }) => id).toSorted(), own.toSorted());
      }
    };
    listed("user.id", "project.id", "get_users_user_id_projects", "owner");
    listed("user.id", "project.id", "get_users_user_id", "owner");
    listed("project.id", "task.id", "get_projects_project_id_tasks", "project");
    const all = world.records("get_projects", {}).filter(({ place: { of } }) => "list" in of);
    assert(all.length >= 2 && all.length <= 4);
    assert(new Set(world.ids("task.id")).isDisjointFrom(new Set(world.ids("project.id"))));
  });
});

Deno.test("World knows no ids but its own, and makes up a record of one if it is to", () => {
  const call = ["get_users_user_id", { user_id: "other" }] as const;
  assertEquals(new World(GRAPH, 1).call(...call), {
    unknown: { parameter: "user_id", type: "user.id", value: "other" },
  });
  const made = new World(GRAPH, 1, { unknown: "values" }).call(...call);
  assert("value" in made && isJsonObject(made.value));
  assertEquals(made.value["id"], "other");
  assertEquals(new World(GRAPH, 1, { unknown: "values" }).call(...call), made);
});

Deno.test("World finds a record below another one only if it refers to that", async () => {
  const world = new World(
    await graphOf({
      "/projects/{project_id}": ref("Project"),
      "/projects/{project_id}/tasks/{task_id}": ref("ShortTask"),
    }),
    1,
  );
  for (const task_id of world.ids("task.id")) {
    const own = world.related("task.id", task_id, "project");
    const found = world.ids("project.id").filter((project_id) =>
      "value" in world.call("get_projects_project_id_tasks_task_id", { project_id, task_id })
    );
    assertEquals(found, [own]);
  }
});

Deno.test("World has two parts, and lists of all show one of them alone", () => {
  seeds((seed) => {
    const world = new World(GRAPH, seed);
    for (const type of ["project.id", "task.id"]) {
      const [front, others] = [true, false].map((isFront) => new Set(world.ids(type, isFront)));
      assertEquals([front!.size, others!.size], [4, 8]);
    }
    for (const { tool, args } of callsOf(world, GRAPH)) {
      const ids = [...Object.values(args), ...world.records(tool, args).map(({ id }) => id)];
      const isFront = [...GRAPH.types.keys()].flatMap((type) => {
        const known = new Set(world.ids(type, true));
        return ids.filter((id) => world.ids(type).includes(id)).map((id) => known.has(id));
      });
      assertEquals(new Set(isFront).size, 1, tool);
      if (Object.keys(args).length === 0) assert(isFront[0], tool);
    }
  });
});

Deno.test("World takes the value of a scope alone", async () => {
  const graph = await graphOf({
    "/{account}/users": list(ref("User")),
    "/{account}/users/{user_id}": ref("User"),
  });
  const world = new World(graph, 1);
  const call = (account: JsonValue) => world.call("get_account_users", { account });
  assert("value" in call(world.scope("account")));
  assertEquals(call("other"), {
    unknown: { parameter: "account", type: "account", value: "other" },
  });
});

Deno.test("World of two versions has values that fit both, the same from either side", async () => {
  const User = object({
    id: TEXT,
    name: { type: "string", minLength: 7 },
    age: { type: "integer", maximum: 9 },
  });
  const next = await graphOf(PATHS, { ...SCHEMAS, ShortUser: object({ id: TEXT }), User }, OPTIONS);
  const versions = [GRAPH, next];
  seeds((seed) => {
    const one = new World(GRAPH, seed, { versions });
    const other = one.inVersion(next);
    for (const id of one.ids("user.id")) {
      const call = { tool: "get_users_user_id", args: { user_id: id } };
      const [before, after] = [one, other].map((world) => valueOf(world, call) as JsonObject);
      assertEquals([after!["name"], after!["age"]], [before!["name"], before!["age"]]);
      assertEquals(schemaErrors(next.nodes.get(call.tool)!.result!, after!).errors, []);
    }
    const [ids, same] = [one, other].map((world) =>
      world.records("get_projects", {}).map(({ id }) => id)
    );
    assertEquals(ids, same);
  }, 5);
});

Deno.test("World refuses what it cannot make, and names the tool", async () => {
  const users = { "/users/{user_id}": ref("User") };
  const unfit = (schema: JsonObject) => graphOf({ ...users, "/odd": schema });
  const world = new World(await unfit({ type: "string", minLength: 5, maxLength: 4 }), 1);
  assertThrows(
    () => world.call("get_odd", {}),
    InputError,
    "Cannot make up a result of get_odd as it must fit its schema: no value was found that does",
  );
  assertThrows(() => world.call("none", {}), InputError, "Cannot call none as it must be a tool");
  assertThrows(() => world.ids("none"), InputError, "Cannot draw ids of none as it must be a type");
  const odd = { ...SCHEMAS, User: object({ id: { type: "string", minLength: 5, maxLength: 4 } }) };
  const none = new World(await graphOf(users, odd), 1);
  assertThrows(
    () => none.ids("user.id"),
    InputError,
    "Cannot draw ids of user as a value must fit the schemas of all tools that have it: none does",
  );
});
