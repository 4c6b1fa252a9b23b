import { assert, assertEquals, assertMatch, assertNotEquals, assertThrows } from "@std/assert";
import type { CallSet } from "../../../lib/tasks/questions/question_set.ts";
import { loadCallSet } from "../../../lib/tasks/questions/load.ts";
import { InputError } from "../../../lib/base/errors.ts";
import { isJsonObject, type JsonObject } from "../../../lib/base/json.ts";
import { argumentCheck } from "../../../lib/tools/schema/validate.ts";
import { Folder } from "../../support/folders.ts";
import { CALLNAVI, outsideTest } from "../../support/outside_data.ts";

const CITY = new URL("../../../fixtures/call_sets/city", import.meta.url).pathname;

/** The truths whose native calls would be refused, each with the reason. */
function refused({ domains, questions }: CallSet): string[] {
  return questions.flatMap(({ id, domain, truth: { API, parameters } }) =>
    API.flatMap((name, place) => {
      const found = domains.get(domain)!.find((one) => one.name === name);
      if (found === undefined) return [];
      const given = parameters[place] ?? {};
      const refusal = argumentCheck(found.tool)(given);
      return refusal === undefined ? [] : [`${id}: ${refusal.error}`];
    })
  );
}

/** Files in the published layout, of one domain, `town`. */
function write(place: Folder, functions: unknown, questions: unknown, domain = "town"): string {
  for (const name of ["APIs", "Questions"]) {
    Deno.mkdirSync(place.file(name), { recursive: true });
  }
  const text = (value: unknown) => typeof value === "string" ? value : JSON.stringify(value);
  place.write("APIs/town.json", text(functions));
  place.write(`Questions/${domain}.json`, text(questions));
  return place.path;
}

const FIND = { name: "find", parameters: { what: "string" }, description: "Finds." };
const ASKED = {
  id: "t1",
  question: [{ role: "user", content: "Where is it?" }],
  ground_truth: { API: ["find"], parameters: [{ what: "it" }] },
  difficulty: "easy",
};

/** The record with another truth. */
function asking(id: string, API: string[], parameters: unknown[]) {
  return { ...ASKED, id, ground_truth: { API, parameters } };
}

Deno.test("loadCallSet() reads CallNavi's layout", () => {
  const set = loadCallSet(CITY);
  assertEquals(set.name, "city");
  assertEquals([...set.domains.keys()], ["library", "transit"]);
  assertEquals(
    set.questions.map(({ id }) => id).join(" "),
    [
      "lib01 lib02 lib03 lib04 lib05",
      "tra01 tra02 tra03",
    ].join(" "),
  );
  assertEquals(set.questions[4], {
    id: "lib05",
    domain: "library",
    messages: [{
      role: "user",
      content: "Reserve Tides of Ink for me (M17) at the north branch.",
    }],
    truth: {
      API: ["findBook", "reserveBook"],
      parameters: [
        { title: "Tides of Ink" },
        { memberId: "M17", bookId: "$$$", branch: "north" },
      ],
    },
    difficulty: "hard",
  });
  const [, , reserve, hours] = set.domains.get("library")!;
  assertEquals(reserve, {
    name: "reserveBook",
    document: {
      name: "reserveBook",
      description: "Reserves a book at a branch.",
      parameters: { memberId: "string", bookId: "string", branch: "north/south" },
      returnParameter: "ReservationStatus",
    },
    tool: {
      name: "reserveBook",
      description: "Reserves a book at a branch.",
      parameters: {
        type: "object",
        properties: {
          memberId: { type: "string" },
          bookId: { type: "string" },
          branch: { type: "string", description: "north/south" },
        },
      },
      returns: { type: "string", description: "ReservationStatus" },
    },
  });
  assertEquals(hours!.tool.parameters, { type: "object", properties: {} });
  assertEquals(set.warnings, [
    `${CITY}/APIs/library.json: reserveBook.branch ("north/south"): words that name no type, ` +
    "read as descriptions",
    `${CITY}/APIs/transit.json: findStop, nextDepartures, buyTicket: parameters are names without ` +
    "types, read as strings",
    `${CITY}/Questions/library.json: lib02: the truth's parameters are [], though it has a call: ` +
    "read as a call without arguments",
  ]);
});

Deno.test("documents keep the order of their keys, and all that is in them", () => {
  using place = new Folder();
  const odd = '{"z":1,"parameters":{"b":"string","a":"string","__proto__":"int"},"name":"f",' +
    '"description":"F.","constructor":{"x":[1]}}';
  const set = loadCallSet(write(place, `{"api_ports":[${odd}]}`, [ASKED]));
  const { document, tool } = set.domains.get("town")![0]!;
  assertEquals(JSON.stringify(document), odd);
  assertEquals(Object.keys(tool.parameters["properties"]!), ["b", "a", "__proto__"]);
});

Deno.test("tools take every truth, whatever type words say, and placeholders with or without one", () => {
  using place = new Folder();
  const words = {
    text: "string",
    amount: "number",
    more: { deep: "int", list: "array" },
    kind: "a/b",
  };
  const set = loadCallSet(
    write(place, { api_ports: [{ ...FIND, parameters: words }] }, [
      asking("a", ["find"], [{ text: 5, amount: "$$$", unknown: [1] }]),
      asking("b", ["find"], [{ more: { deep: 2.5, list: "$$$", new: 1 } }]),
      asking("c", ["find"], [{}]),
      asking("d", ["find"], [{ kind: { x: null } }]),
    ]),
  );
  assertEquals(refused(set), []);
  const { tool } = set.domains.get("town")![0]!;
  assertEquals(tool.parameters["properties"], {
    text: { type: ["string", "number"] },
    amount: { type: ["number", "string"] },
    more: {
      type: ["object", "string"],
      properties: {
        deep: { type: ["integer", "string", "number"] },
        list: { type: ["array", "string"] },
      },
    },
    kind: { type: ["string", "object"], description: "a/b" },
  });
  const inherited = loadCallSet(
    write(place, { api_ports: [{ ...FIND, parameters: { constructor: "string" } }] }, [ASKED]),
  );
  assertEquals(inherited.domains.get("town")![0]!.tool.parameters["properties"], {
    constructor: { type: "string" },
  } as unknown as JsonObject);
  // Whether a truth has a placeholder must not show.
  const without = loadCallSet(
    write(place, { api_ports: [{ ...FIND, parameters: { n: "number" } }] }, [
      asking("a", ["find"], [{ n: 1 }]),
    ]),
  );
  assertEquals(without.domains.get("town")![0]!.tool.parameters["properties"], {
    n: { type: ["number", "string"] },
  });
});

Deno.test("odd names of functions load with a warning, and their tools with names that providers take", () => {
  using place = new Folder();
  const named = (name: string) => ({ ...FIND, name });
  const long = "x".repeat(70);
  const functions = ["a b", "a_b", "a.b", long, "find", "find", "caf\u00e9 \u{1f600}"].map(named);
  const set = loadCallSet(write(place, { api_ports: functions }, [ASKED]));
  const own = set.domains.get("town")!;
  assertEquals(own.map(({ name }) => name), [
    "a b",
    "a_b",
    "a.b",
    long,
    "find",
    functions[6]!.name,
  ]);
  assertEquals(
    own.map(({ tool }) => tool.name),
    ["a_b_2", "a_b", "a_b_3", "x".repeat(64), "find", "caf___"],
  );
  assertEquals(set.warnings.length, 5);
  const source = `${place.path}/APIs/town.json`;
  assertEquals(set.warnings[0], `${source}: find: there are 2 of this name; the first counts`);
  assertEquals(
    set.warnings[1],
    `${source}: a b: no provider takes this name; its tool is called a_b_2`,
  );
});

Deno.test("truths of unlisted functions load with a warning", () => {
  using place = new Folder();
  const set = loadCallSet(
    write(place, { api_ports: [FIND] }, [
      ASKED,
      asking("t2", ["lose", "find", "hide"], [{}, {}, {}]),
    ]),
  );
  assertEquals(set.questions[1]!.truth.API, ["lose", "find", "hide"]);
  assertEquals(set.warnings, [
    `${place.path}/Questions/town.json: t2: the truth calls lose, hide, which is not on offer`,
  ]);
});

Deno.test("the hash changes with whatever changes a prompt or a truth, and with nothing else", () => {
  const hash = (functions: unknown, questions: unknown) => {
    using place = new Folder();
    return loadCallSet(write(place, functions, questions)).hash;
  };
  const own = hash({ api_ports: [FIND] }, [ASKED]);
  assertMatch(own, /^[0-9a-f]{64}$/);
  assertEquals(own, hash({ more: 1, api_ports: [FIND] }, JSON.stringify([ASKED], null, 4)));
  const { name, ...rest } = FIND;
  const others = [
    hash({ api_ports: [{ ...rest, name }] }, [ASKED]),
    hash({ api_ports: [{ ...FIND, description: "Finds!" }] }, [ASKED]),
    hash({ api_ports: [FIND, { ...FIND, name: "lose" }] }, [ASKED]),
    hash({ api_ports: [FIND] }, [{ ...ASKED, difficulty: "hard" }]),
    hash({ api_ports: [FIND] }, [asking("t1", ["find"], [{ what: "that" }])]),
    hash({ api_ports: [FIND] }, [ASKED, { ...ASKED, id: "t2" }]),
  ];
  assertEquals(new Set([own, ...others]).size, others.length + 1);
});

Deno.test("broken files are told by file, path and rule", () => {
  const deep = `${"[".repeat(200)}1${"]".repeat(200)}`;
  const cases: [unknown, unknown, RegExp][] = [
    ["{", [ASKED], /^Cannot use \S+\/APIs\/town\.json: it is not JSON with comments: /],
    [{ api_ports: [FIND] }, "", /^Cannot use \S+\/Questions\/town\.json: it is not JSON/],
    [[FIND], [ASKED], /APIs\/town\.json:\n {2}at the top: .*expected object, received array/],
    [{ api_ports: [] }, [ASKED], /APIs\/town\.json:\n {2}at api_ports: /],
    [{ api_ports: [FIND, 5] }, [ASKED], /\n {2}at api_ports\[1\]: must be an object/],
    [{ api_ports: [{ ...FIND, name: "" }] }, [ASKED], /\n {2}at api_ports\[0\]\.name: /],
    [{ api_ports: [{ name: "f" }] }, [ASKED], /\[0\]\.description: .*\n {2}at .*\.parameters: /],
    [
      { api_ports: [{ ...FIND, parameters: 5 }] },
      [ASKED],
      /\n {2}at api_ports\[0\]\.parameters: /,
    ],
    [
      { api_ports: [{ ...FIND, parameters: ["a", 5] }] },
      [ASKED],
      /\n {2}at api_ports\[0\]\.parameters\[1\]: .*expected string/,
    ],
    [
      `{"api_ports":[{"name":"f","description":"","parameters":{"a":${deep}}}]}`,
      [ASKED],
      /\n {2}at api_ports\[0\]: must nest at most 100 levels deep: it nests deeper/,
    ],
    [{ api_ports: [FIND] }, [], /Questions\/town\.json:\n {2}at the top: /],
    [{ api_ports: [FIND] }, [{ ...ASKED, id: 5 }], /\n {2}at \[0\]\.id: .*expected string/],
    [{ api_ports: [FIND] }, [{ ...ASKED, question: [] }], /\n {2}at \[0\]\.question: /],
    [
      { api_ports: [FIND] },
      [{ ...ASKED, question: [{ role: "tool", content: "" }] }],
      /\n {2}at \[0\]\.question\[0\]\.role: .*"system"\|"user"/,
    ],
    [
      { api_ports: [FIND] },
      [{ ...ASKED, question: [{ role: "system", content: "Be brief." }] }],
      /\n {2}at \[0\]\.question: must have a message of the user: nothing would be asked$/,
    ],
    [
      { api_ports: [FIND] },
      [ASKED, { ...ASKED, id: "t2", difficulty: "tough" }],
      /\n {2}at \[1\]\.difficulty: /,
    ],
    [
      { api_ports: [FIND] },
      [asking("t", ["find"], ["what"])],
      /\n {2}at \[0\]\.ground_truth\.parameters\[0\]: must be an object/,
    ],
    [
      { api_ports: [FIND] },
      [asking("t", ["find", "find"], [{}])],
      /\n {2}at \[0\]\.ground_truth\.parameters: must be as many as the names of API, 2, or none: there are 1/,
    ],
    [{ api_ports: [FIND] }, [asking("t", [], [])], /\n {2}at \[0\]\.ground_truth\.API: /],
    [
      { api_ports: [FIND] },
      [ASKED, { ...ASKED, id: "t2" }, ASKED],
      /Questions\/town\.json as \[2\]\.id must be another than those before: "t1" is at \[0\] of \S+\/Questions\/town\.json, too$/,
    ],
  ];
  for (const [functions, questions, message] of cases) {
    using place = new Folder();
    const path = write(place, functions, questions);
    const error = assertThrows(() => loadCallSet(path), InputError);
    assertMatch(error.message, message);
  }
});

Deno.test("folders that are no call set are told", () => {
  using place = new Folder();
  const message = () => assertThrows(() => loadCallSet(place.path), InputError).message;
  assertMatch(message(), /^Cannot read \S+\/APIs: there is no such file or folder$/);
  Deno.mkdirSync(place.file("APIs"));
  assertMatch(message(), /^Cannot read \S+\/Questions: there is no such file or folder$/);
  Deno.mkdirSync(place.file("Questions"));
  assertMatch(message(), /^Cannot use \S+ as there must be questions: there is no \.json file in /);
  write(place, { api_ports: [FIND] }, [ASKED], "city");
  assertMatch(
    message(),
    /^Cannot read \S+\/APIs\/city\.json: there is no such file or folder$/,
  );
});

Deno.test("ids must differ between files, and files of other kinds do not count", () => {
  using place = new Folder();
  const path = write(place, { api_ports: [FIND] }, [ASKED]);
  place.write("APIs/city.json", JSON.stringify({ api_ports: [FIND] }));
  place.write("Questions/notes.txt", "none");
  assertEquals(loadCallSet(`${path}/`).questions.length, 1);
  place.write("Questions/city.json", JSON.stringify([{ ...ASKED, id: "c1" }, ASKED]));
  const { message } = assertThrows(() => loadCallSet(path), InputError);
  assertMatch(
    message,
    /Questions\/town\.json as \[0\]\.id must be another than .* is at \[1\] of \S+city\.json, too$/,
  );
});

outsideTest("loadCallSet() loads CallNavi as it was published (CallNavi 4.1)", CALLNAVI, (path) => {
  const set = loadCallSet(path);
  const counted = Object.fromEntries(
    [...Map.groupBy(set.questions, ({ difficulty }) => difficulty)]
      .map(([difficulty, { length }]) => [difficulty, length]),
  );
  assertEquals(counted, { easy: 456, medium: 187, hard: 86 });
  assertEquals([...set.domains.values()].flat().length, 587);
  assertEquals(set.domains.size, 10);
  const warned = (text: string) =>
    set.warnings.filter((warning) => warning.includes(text))
      .map((warning) => /(\w+\/\w+\.json): (\w+)/.exec(warning)!.slice(1).join(" "));
  assertEquals(warned("parameters are []"), [
    "Questions/shopping.json sho005",
    "Questions/shopping.json sho029",
    "Questions/shopping.json sho030",
    "Questions/shopping.json sho031",
    "Questions/shopping.json sho036",
    "Questions/shopping.json sho038",
  ]);
  assertEquals(warned("not on offer"), [
    "Questions/aviation.json avi07",
    "Questions/aviation.json avi08",
    "Questions/aviation.json avi059",
    "Questions/aviation.json avi066",
    "Questions/hr.json hr035",
  ]);
  assertEquals(warned("names without types").length, 1);
  assertEquals(warned("name no type").length, 5);
  assertEquals(set.warnings.length, 17);
  assert(set.warnings.some((text) => text.includes("telecommunications.json: getAccountIdFrom")));
});

outsideTest("tools of CallNavi take all of its truths (CallNavi 4.1)", CALLNAVI, (path) => {
  const set = loadCallSet(path);
  assertEquals(refused(set), []);
  // They are no more open than that: a tool whose truths obey its words refuses what does not.
  const balance = set.domains.get("bank")!.find(({ name }) => name === "getAccountBalance")!;
  assertNotEquals(argumentCheck(balance.tool)({ accountID: 5 }), undefined);
  for (const { tool } of [...set.domains.values()].flat()) {
    assertMatch(tool.name, /^[a-zA-Z0-9_-]{1,64}$/);
    assert(isJsonObject(tool.parameters["properties"]));
  }
});

Deno.test("a file in Results declares what the calls of a domain return, or is refused with its place", () => {
  const questions = [ASKED, asking("t2", ["find", "find"], [{ what: "it" }, { what: "$$$" }])];
  const loadWith = (results: unknown, domain = "town") => {
    using place = new Folder();
    const path = write(place, { api_ports: [FIND] }, questions);
    const plain = loadCallSet(path);
    Deno.mkdirSync(place.file("Results"));
    place.write(`Results/${domain}.json`, JSON.stringify(results));
    return { plain, set: loadCallSet(path) };
  };
  const calls = [{ result: { at: "Ulm" } }, { result: [], values: { what: "Ulm" } }];
  const { plain, set } = loadWith([{ id: "t2", calls }]);
  assertEquals(set.questions.map(({ results }) => results), [undefined, calls]);
  assertNotEquals(set.hash, plain.hash);
  const broken: readonly (readonly [results: unknown, rule: RegExp])[] = [
    [[{ id: "t9", calls }], /\[0\]\.id: there is no question "t9"/],
    [[{ id: "t2", calls }, { id: "t2", calls }], /\[1\]\.id: there is no question "t2"/],
    [[{ id: "t1", calls }], /\[0\]\.calls: must be as many as the right calls, 1: there are 2/],
    [[{ id: "t2", calls: [{}, calls[1]] }], /calls\[0\]\.result/],
    [
      [{ id: "t2", calls: [{ ...calls[0], values: { what: "Ulm" } }, calls[1]] }],
      /\[0\]\.calls\[0\]\.values\.what: must stand for "\$\$\$"/,
    ],
  ];
  for (const [results, rule] of broken) {
    assertMatch(assertThrows(() => loadWith(results), InputError).message, rule);
  }
  const { message } = assertThrows(() => loadWith([], "moon"), InputError);
  assertMatch(message, /^Cannot read \S+\/Questions\/moon\.json: there is no such file or folder$/);
});
