import { assertEquals, assertNotMatch, assertStringIncludes } from "@std/assert";
import { redact, redactRecord, redactRecordValue } from "../../lib/base/redact.ts";
import { MARK } from "../../lib/base/secrets.ts";
import fc from "../support/fast_check.ts";
import { assertLinear } from "../support/growth.ts";

for (
  const text of [
    "Incorrect API key provided: sk-proj-s3cr3t_s3cr3t.",
    "Incorrect API key provided: sk-pr***********s3cr3t.",
    "Incorrect API key provided: 0123s3cr3t456789abcdef.",
    "Incorrect API key provided: NODIGITSATALLBUTLONG*s3cr3t.",
    "authorization: Bearer s3cr3t",
    "the header bearer s3cr3t was refused",
    "Authorization: Basic czpzM3s3cr3tzdA==",
    '{"headers":{"x-api-key":"s3cr3t-0123456789"}}',
    '"{\\"api_key\\": \\"s3cr3t-0123456789\\"}"',
    "error sending request for url (https://me:s3cr3t@example.test/v1)",
    "access_token=s3cr3ts3cr3t&x=1",
  ]
) {
  Deno.test(`redact() takes out what looks like a key: ${text}`, () => {
    assertNotMatch(redact(text), /s3cr3t/);
  });
}

for (
  const text of [
    "429 Rate limit reached for gpt-4o in organization org-abc on tokens per min (TPM)",
    "This model's maximum context length is 8192 tokens, however you requested 9000 tokens",
    "You can find your API key at https://platform.openai.com/account/api-keys.",
    "Missing bearer or basic authentication in header",
    "ask-me task-list risk-free",
  ]
) {
  Deno.test(`redact() leaves ordinary text alone: ${text}`, () => {
    assertEquals(redact(text), text);
  });
}

Deno.test("redact() leaves what stands around a key, and its own mark", () => {
  const once = redact("Authorization: Bearer s3cr3t, key: sk-abcdef, x://a:b@c");
  assertEquals(once, `Authorization: Bearer ${MARK}, key: ${MARK}, x://${MARK}@c`);
  assertEquals(redact(once), once);
});

// Records.

/** Whether it is the very same value, which costs nothing to keep. */
function assertSame(actual: unknown, expected: unknown) {
  assertEquals(Object.is(actual, expected), true, "it is another value");
}

/** Keys of every kind that shows itself, with their middles drawn at random. */
const shapedKey = fc.tuple(
  fc.constantFrom<[prefix: string, length: number, suffix?: string]>(
    ["sk-proj-1", 24],
    ["sk-ant-api03-", 30],
    ["sk-or-v1-0", 40],
    ["sk_live_", 24],
    ["ghp_", 36],
    ["ghs_", 36],
    ["github_pat_", 40],
    ["glpat-", 20],
    ["xoxb-1234-", 24],
    ["AKIA", 16],
    ["AIza", 35],
    ["hf_", 34],
    ["eyJhbGciOiJIUzI1NiJ9.eyJzdWIi", 12, ".SflKxwRJSMeKKF2QT4"],
  ),
  fc.array(fc.constantFrom(..."ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"), { minLength: 40 }),
).map(([[prefix, length, suffix = ""], letters]) =>
  prefix + letters.slice(0, length).join("") + suffix
);

/** Tokens that show themselves by their label alone. */
const token = fc.array(fc.constantFrom(..."abcdefghijkXYZ0123456789-_.~+/="), {
  minLength: 16,
  maxLength: 80,
}).map((letters) => `a7${letters.join("")}`);

const label = fc.constantFrom(
  ...["api_key", "apiKey", "API-KEY", "x-api-key", "OPENAI_API_KEY", "token", "accessToken"],
  ...["refresh_token", "secret", "client_secret", "password", "Authorization", "private_key"],
);

/** What stands around a value in the texts of models and servers. */
const around = fc.constantFrom<(text: string) => string>(
  (text) => text,
  (text) => `Use ${text} please`,
  (text) => JSON.stringify(text),
  (text) => JSON.stringify({ a: [`line\n${text}\tend`] }),
  (text) => JSON.stringify({ body: JSON.stringify({ error: { message: text } }) }),
  (text) => JSON.stringify(JSON.stringify(JSON.stringify([text]))),
  (text) => `<parameter name="x">${text}</parameter>`,
);

Deno.test("redactRecord() takes out every key that shows itself, wherever it stands", () => {
  fc.assert(fc.property(shapedKey, around, (key, within) => {
    const clean = redactRecord(within(key));
    assertEquals(clean.includes(key), false, clean);
    assertEquals(clean, within(MARK));
  }));
});

Deno.test("redactRecord() takes out tokens behind a label, in JSON within JSON too", () => {
  const written = fc.constantFrom<(name: string, value: string) => string>(
    (name, value) => `${name}=${value}`,
    (name, value) => `${name}: ${value}`,
    (name, value) => `${name} = "${value}"`,
    (name, value) => `{'${name}': '${value}'}`,
    (name, value) => `'${name}' => '${value}'`,
    (name, value) => JSON.stringify({ [name]: value }),
    (name, value) => `<${name}>${value}</${name}>`,
    (name, value) => `https://host.test/path?${name}=${value}&page=2`,
  );
  fc.assert(fc.property(label, token, written, around, (name, value, write, within) => {
    const clean = redactRecord(within(write(name, value)));
    assertEquals(clean, within(write(name, MARK)));
  }));
});

Deno.test("redactRecord() takes out a token after its scheme, and any after Authorization", () => {
  fc.assert(fc.property(fc.constantFrom("Bearer", "bearer", "Basic"), token, around, (
    scheme,
    value,
    within,
  ) => assertEquals(redactRecord(within(`${scheme} ${value}`)), within(`${scheme} ${MARK}`))));
  for (const text of ["Authorization: Bearer s3cr3tly", '{"authorization":"Basic s3cr3tly"}']) {
    assertEquals(redactRecord(text), text.replace("s3cr3tly", MARK));
  }
});

Deno.test("redactRecord() takes out the password of a URL, and a private key", () => {
  assertEquals(redactRecord("http://me:s3cr3t@host/v1"), `http://me:${MARK}@host/v1`);
  const key =
    "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0F\n\n" +
    "MIIE+s3cr3t/==\ns3cr3t\n-----END RSA PRIVATE KEY-----";
  for (const text of [key, JSON.stringify({ key }), key.slice(0, 100)]) {
    assertNotMatch(redactRecord(text), /s3cr3t/);
    assertStringIncludes(redactRecord(text), MARK);
  }
  assertEquals(JSON.parse(redactRecord(JSON.stringify({ key, more: 1 }))).more, 1);
});

for (
  const text of [
    '{"token_type": "bearer", "expires_in": 3600}',
    '{"next_page_token": "CAUQAA1234567890123"}',
    '{"id": "550e8400-e29b-41d4-a716-446655440000"}',
    '{"commit": "d7cc522f3c1b2a4958677685940312fedcba9876"}',
    '{"key": "user:1234567890123456"}',
    '{"secret": "/run/secrets/db_password_2024"}',
    '{"token": "https://example.test/reset/1234567890"}',
    "The password must have at least 12 characters",
    "Basic understanding of bearer bonds",
    "Authorization: required",
    "https://example.test/@user and ssh://git@host/x",
    "task-list-0123456789abcdef, risk-0123456789abcdef",
    "hf_model, AKIA, eyJ, AIza, sk-learn-is-a-library",
    "max_tokens: 8192, inputTokens: 1234567890123456789",
  ]
) {
  Deno.test(`redactRecord() leaves a record alone: ${text}`, () => {
    assertEquals(redactRecord(text), text);
  });
}

/** What models really write in arguments: words, numbers, ids, hashes, dates, addresses. */
const ordinary = fc.oneof(
  fc.lorem(),
  fc.integer().map(String),
  fc.double().map(String),
  fc.uuid(),
  fc.webUrl(),
  fc.emailAddress(),
  fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
  fc.array(fc.constantFrom(..."0123456789abcdef"), { minLength: 40, maxLength: 64 }).map((digits) =>
    digits.join("")
  ),
  fc.base64String({ minLength: 16 }),
);

const name = fc.constantFrom(
  ...["id", "city", "query", "key", "hash", "user_id", "tokens", "cursor", "email", "url", "name"],
);

Deno.test("redactRecordValue() gives back ordinary arguments as they are", () => {
  fc.assert(fc.property(fc.dictionary(name, fc.oneof(ordinary, fc.array(ordinary))), (value) => {
    assertSame(redactRecordValue(value), value);
    const text = JSON.stringify({ call: JSON.stringify(value) });
    assertEquals(redactRecord(text), text);
  }));
});

Deno.test("redactRecordValue() takes keys out of values and names, and leaves all else", () => {
  fc.assert(fc.property(fc.jsonValue(), shapedKey, (rest, key) => {
    const value = { rest, [key]: [{ text: `it is ${key}` }] };
    const clean = redactRecordValue<Record<string, unknown>>(value);
    assertEquals(clean, { rest, [MARK]: [{ text: `it is ${MARK}` }] });
    assertSame(clean["rest"], rest);
    assertEquals(clean === (value as unknown), false);
  }));
});

Deno.test("redactRecordValue() takes out a token under a name that says so", () => {
  fc.assert(fc.property(label, token, (name, value) => {
    const record = { [name]: value, texts: [`it is ${value}`] };
    // What was found in one place is known in all others.
    assertEquals(redactRecordValue({ ...record, id: "b7aaaaaaaaaaaaaaaa" }), {
      [name]: MARK,
      id: "b7aaaaaaaaaaaaaaaa",
      texts: [`it is ${MARK}`],
    });
    assertEquals(redactRecordValue({ id: value }), { id: value });
    assertEquals(redactRecordValue({ [name]: 12345678901234567890 })[name], 12345678901234567890);
  }));
});

Deno.test("redactRecordValue() survives names and depths that a model may choose", () => {
  const hostile = JSON.parse('{"__proto__": {"token": "a1b2c3d4e5f6a7b8c9"}, "constructor": 1}');
  const clean = redactRecordValue(hostile);
  assertEquals(JSON.stringify(clean), `{"__proto__":{"token":"${MARK}"},"constructor":1}`);
  assertSame(Object.getPrototypeOf(clean), Object.prototype);
  let deep: unknown = "sk-proj-0123456789abcdef";
  for (let level = 0; level < 100_000; level++) deep = [deep];
  const text = JSON.stringify(redactRecordValue(deep));
  assertStringIncludes(text, MARK);
});

Deno.test("redactRecord() is idempotent", () => {
  fc.assert(fc.property(label, token, shapedKey, around, (name, value, key, within) => {
    const once = redactRecord(within(`${name}: ${value}; x://a:${value}@c ${key} Bearer ${value}`));
    assertEquals(redactRecord(once), once);
  }));
});

/** Beginnings of everything that the patterns look for. */
const UNITS = [
  ...["key/", "key ", "key:", "Bearer ", "a://", "sk-", "key 1", "aaaa", "key", "token=", "token"],
  ...["eyJ", "-eyJ", ".eyJa", "eyJaaaaaaaaaaaa.", "-----BEGIN PRIVATE KEY-----", "-", "\\", "\\n"],
  ...["sk-a", "_sk-", "authorization:Bearer ", "http://a:", "http://a:a", 'api key="', "token:::"],
  ...["ghp_a", "A", "AKIA", "0", " ", "token = ", "token=0123456789abcdef&", '"token":"'],
];

for (const [name, clean] of Object.entries({ redact, redactRecord })) {
  Deno.test(`${name}() takes time in proportion to a text, however hostile`, () => {
    for (const unit of UNITS) assertLinear(clean, "", unit, 2_000);
    for (const unit of UNITS.filter((_, at) => at % 3 === 0)) {
      assertLinear(clean, "api_key=", unit, 2_000);
    }
  });
}
