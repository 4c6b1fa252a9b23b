import { assert, assertEquals } from "@std/assert";
import type { JsonValue } from "../../lib/base/json.ts";
import {
  PERTURBATION_METHODS,
  PERTURBED,
  type ReturnMethod,
} from "../../lib/perturbations/methods.ts";
import { perturbReturn } from "../../lib/perturbations/returns.ts";
import { applyChanges, applyTextChanges } from "../support/changes.ts";
import fc from "../support/fast_check.ts";

const ON_RETURNS = PERTURBATION_METHODS.filter((id): id is ReturnMethod =>
  PERTURBED[id] === "return"
);
const ON_KEYS = ["FK", "CK", "UK"] as const;

Deno.test("there are the six methods on documents, four on questions and five on returns (Butterfly 4.1, 4.2, 4.3)", () => {
  const paper = "RD RE WD WT SD CO RP_F RP_L CP AN FK AP CK UK CF".split(" ");
  assertEquals([...PERTURBATION_METHODS].sort(), paper.sort());
});

/** What each method makes of a text; left out where it changes nothing. */
const CASES: readonly (readonly [
  what: string,
  text: string,
  after: Readonly<Partial<Record<ReturnMethod, string>>>,
])[] = [
  ["a flat object", '{"user_id":7,"fullName":"Ada"}', {
    FK: '{"Object_1":7,"Object_2":"Ada"}',
    AP: '{"user_id":"ID_7","fullName":"Ada"}',
    CK: '{"userId":7,"fullName":"Ada"}',
    UK: '{"user_id":7,"full_name":"Ada"}',
    CF: '{"user_id":7,"fullName":"Ada"...',
  }],
  ["words that hold id, and are no ids", '{"video":"a","width":3,"idle":1,"grid":2,"valid":4}', {
    FK: '{"Object_1":"a","Object_2":3,"Object_3":1,"Object_4":2,"Object_5":4}',
    CF: '{"video":"a","width":3,"idle":1,"grid":2,"valid":4...',
  }],
  [
    "ids of all spellings",
    '{"id":1,"ID":2,"userId":3,"orderID":4,"IDNumber":5,"id-card":6,"Id":"7"}',
    {
      FK:
        '{"Object_1":1,"Object_2":2,"Object_3":3,"Object_4":4,"Object_5":5,"Object_6":6,"Object_7":"7"}',
      AP: '{"id":"ID_1","ID":"ID_2","userId":"ID_3","orderID":"ID_4","IDNumber":"ID_5",' +
        '"id-card":"ID_6","Id":"ID_7"}',
      CK: '{"id":1,"id2":2,"userId":3,"orderID":4,"idNumber":5,"idCard":6,"id3":"7"}',
      UK: '{"id":1,"id_2":2,"user_id":3,"order_id":4,"id_number":5,"id_card":6,"id_3":"7"}',
      CF: '{"id":1,"ID":2,"userId":3,"orderID":4,"IDNumber":5,"id-card":6,"Id":"7"...',
    },
  ],
  ["lists of objects, whose like keys stay alike", '[{"a_b":1},{"a_b":2,"c":[{"a_b":3}]}]', {
    FK: '[{"Object_1":1},{"Object_1":2,"Object_2":[{"Object_1":3}]}]',
    CK: '[{"aB":1},{"aB":2,"c":[{"aB":3}]}]',
    CF: '[{"a_b":1},{"a_b":2,"c":[{"a_b":3}]}...',
  }],
  ["ids in lists, and what is no text and no number", '{"id":[1,"b",null,true,{"x":2,"id":3}]}', {
    FK: '{"Object_1":[1,"b",null,true,{"Object_2":2,"Object_1":3}]}',
    AP: '{"id":["ID_1","ID_b",null,true,{"x":2,"id":"ID_3"}]}',
    CF: '{"id":[1,"b",null,true,{"x":2,"id":3}]...',
  }],
  ["keys that would be one", '{"user_id":1,"userId":2,"user-id":3,"user id":4}', {
    FK: '{"Object_1":1,"Object_2":2,"Object_3":3,"Object_4":4}',
    AP: '{"user_id":"ID_1","userId":"ID_2","user-id":"ID_3","user id":"ID_4"}',
    CK: '{"userId2":1,"userId":2,"userId3":3,"userId4":4}',
    UK: '{"user_id":1,"user_id_2":2,"user_id_3":3,"user_id_4":4}',
    CF: '{"user_id":1,"userId":2,"user-id":3,"user id":4...',
  }],
  ["a number that is taken", '{"aB":1,"a_b":2,"aB2":3}', {
    FK: '{"Object_1":1,"Object_2":2,"Object_3":3}',
    CK: '{"aB":1,"aB3":2,"aB2":3}',
    UK: '{"a_b_2":1,"a_b":2,"a_b2":3}',
    CF: '{"aB":1,"a_b":2,"aB2":3...',
  }],
  [
    "long numbers, spaces and keys that occur twice",
    '{ "a_b" : 12345678901234567890,\n "a_b": 1e400 }',
    {
      FK: '{ "Object_1" : 12345678901234567890,\n "Object_1": 1e400 }',
      CK: '{ "aB" : 12345678901234567890,\n "aB": 1e400 }',
      CF: '{ "a_b" : 12345678901234567890,\n "a_b": 1e400 ...',
    },
  ],
  ["keys that objects have of themselves", '{"__proto__":{"user_id":1},"constructor":2}', {
    FK: '{"Object_1":{"Object_2":1},"Object_3":2}',
    AP: '{"__proto__":{"user_id":"ID_1"},"constructor":2}',
    CK: '{"__proto":{"userId":1},"constructor":2}',
    CF: '{"__proto__":{"user_id":1},"constructor":2...',
  }],
  ["other letters", '{"größe_maß":1,"ÉcoleId":"é","日本":2,"":3,"_":4}', {
    FK: '{"Object_1":1,"Object_2":"é","Object_3":2,"Object_4":3,"Object_5":4}',
    AP: '{"größe_maß":1,"ÉcoleId":"ID_é","日本":2,"":3,"_":4}',
    CK: '{"größeMaß":1,"écoleId":"é","日本":2,"":3,"_":4}',
    UK: '{"größe_maß":1,"école_id":"é","日本":2,"":3,"_":4}',
    CF: '{"größe_maß":1,"ÉcoleId":"é","日本":2,"":3,"_":4...',
  }],
  ["escapes in keys and values", String.raw`{"a\"_b":1,"i\u0064":"x\\"}`, {
    FK: String.raw`{"Object_1":1,"Object_2":"x\\"}`,
    AP: String.raw`{"a\"_b":1,"i\u0064":"ID_x\\"}`,
    CK: String.raw`{"aB":1,"i\u0064":"x\\"}`,
    UK: String.raw`{"a_b":1,"i\u0064":"x\\"}`,
    CF: String.raw`{"a\"_b":1,"i\u0064":"x\\"...`,
  }],
  ["an empty object", "{}", { CF: "{..." }],
  ["a number", "42", { CF: "4..." }],
  ["a text in quotes", '"user_id"', { CF: '"user_id...' }],
  ["what is no JSON", "It is {warm}", { CF: "It is {warm..." }],
  ["JSON that broke off before", '{"user_id":7...', { CF: '{"user_id":7.....' }],
  ["whitespace at the end", '{"a":1}\n', { FK: '{"Object_1":1}\n', CF: '{"a":1...\n' }],
  ["a character of two units at the end", "so 😀", { CF: "so ..." }],
  ["nothing", "", {}],
  ["whitespace", " \n", {}],
];

Deno.test("each method changes the keys and values that it is about, and nothing else (Butterfly 4.3, A.3.3)", () => {
  for (const [what, text, after] of CASES) {
    for (const method of ON_RETURNS) {
      const { value, changed } = perturbReturn(method, text);
      assertEquals([what, method, value], [what, method, after[method] ?? text]);
      assertEquals(changed, after[method] !== undefined);
    }
  }
});

Deno.test("changes are told by where things were", () => {
  const text = '{"user_id":7,"list":[{"a/b_c":1,"~_d":"x"}]}';
  assertEquals(perturbReturn("CK", text).changes, [
    { kind: "key", path: "", before: "user_id", after: "userId" },
    { kind: "key", path: "/list/0", before: "a/b_c", after: "aBC" },
    { kind: "key", path: "/list/0", before: "~_d", after: "d" },
  ]);
  assertEquals(perturbReturn("AP", '{"a/b":{"id":[1,"x"]}}').changes, [
    { kind: "value", path: "/a~1b/id/0", before: 1, after: "ID_1" },
    { kind: "value", path: "/a~1b/id/1", before: "x", after: "ID_x" },
  ]);
  assertEquals(perturbReturn("CF", "[1] ").changes, [
    { kind: "text", start: 2, end: 3, before: "]", after: "..." },
  ]);
});

Deno.test("texts that are long or nest deep are no trouble", () => {
  const deep = 500;
  const nested = `${'{"a_b":['.repeat(deep)}1${"]}".repeat(deep)}`;
  assertEquals(perturbReturn("CK", nested).value, nested.replaceAll("a_b", "aB"));
  const long = JSON.stringify({ a_b: '\\"'.repeat(1e6) });
  assertEquals(perturbReturn("CK", long).value, long.replace("a_b", "aB"));
});

/** JSON values whose keys are likely to be ids, alike or of several words. */
const KEY = fc.oneof(
  fc.constantFrom(
    "id",
    "ID",
    "user_id",
    "userId",
    "video",
    "a_b",
    "aB",
    "a-b",
    "__proto__",
    "1",
    "",
  ),
  fc.string({ unit: "grapheme", maxLength: 6 }),
);
const { value: VALUE } = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.oneof(
      fc.string(),
      fc.integer(),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.boolean(),
    ),
    fc.constant(null),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(KEY, tie("value"), { maxKeys: 5 }),
  ),
}));
const METHOD = fc.constantFrom(...ON_RETURNS);
const WRITTEN = fc.tuple(VALUE, fc.nat({ max: 3 })).map(([value, indent]) =>
  JSON.stringify(value, null, indent)
);

/** How many keys each object of a value has, in order. */
function keyCounts(value: JsonValue): number[] {
  if (typeof value !== "object" || value === null) return [];
  const own = Array.isArray(value) ? [] : [Object.keys(value).length];
  return [...own, ...Object.values(value).flatMap((inner) => keyCounts(inner as JsonValue))];
}

Deno.test("any return: the changes told are those made, and nothing else differs", () => {
  fc.assert(fc.property(METHOD, WRITTEN, (method, text) => {
    const { value, changed, changes } = perturbReturn(method, text);
    assertEquals(changed, changes.length > 0);
    assertEquals(changed, value !== text);
    if (method === "CF") return assertEquals(applyTextChanges(text, changes), value);
    // Keys that look like numbers stand first wherever they are read: the text itself keeps its order.
    assertEquals(JSON.parse(value), applyChanges(JSON.parse(text), changes));
  }));
});

Deno.test("any return: no key is lost, and only names of keys change, or values of ids", () => {
  const scalars = (text: string) => text.replaceAll(/"(?:[^"\\]|\\.)*"(?=\s*:)/g, '"key"');
  fc.assert(fc.property(fc.constantFrom(...ON_KEYS), WRITTEN, (method, text) => {
    const { value } = perturbReturn(method, text);
    assertEquals(
      keyCounts(JSON.parse(value)).toSorted(),
      keyCounts(JSON.parse(text)).toSorted(),
    );
    assertEquals(scalars(value), scalars(text));
  }));
});

Deno.test("any return: other keys come once, and stay when it is done again", () => {
  fc.assert(fc.property(fc.constantFrom(...ON_KEYS), WRITTEN, (method, text) => {
    const { value } = perturbReturn(method, text);
    const again = perturbReturn(method, value);
    assertEquals(again.changed, false);
    assertEquals(again.value, value);
  }));
});

Deno.test("any text: nothing throws, and what is no JSON is changed by CF alone", () => {
  fc.assert(fc.property(METHOD, fc.string({ unit: fc.character() }), (method, text) => {
    const { value, changed } = perturbReturn(method, text);
    assertEquals(perturbReturn(method, text).value, value);
    if (method === "CF") return assertEquals(changed, text.trim() !== "");
    try {
      JSON.parse(text);
    } catch {
      assert(!changed);
    }
  }));
});
