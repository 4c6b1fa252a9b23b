import { assertEquals, assertNotMatch } from "@std/assert";
import { redact } from "../lib/redact.ts";

const SECRET = "hunter22-and-more";

Deno.test("redact() takes out every occurrence of a secret", () => {
  assertEquals(redact(`a ${SECRET} b ${SECRET}`, [SECRET]), "a [redacted] b [redacted]");
});

Deno.test("redact() takes out the longer of two secrets whole", () => {
  assertEquals(redact("abcdefgh", ["abcd", "abcdefgh"]), "[redacted]");
});

Deno.test("redact() finds a secret that is escaped for JSON or for a URL", () => {
  const secret = 'pass"word/1';
  assertEquals(redact(JSON.stringify(secret), [secret]), '"[redacted]"');
  assertEquals(redact(`?k=${encodeURIComponent(secret)}`, [secret]), "?k=[redacted]");
});

Deno.test("redact() takes a secret literally, not as a pattern", () => {
  assertEquals(redact("a.*b axxb $&", ["a.*b"]), "[redacted] axxb $&");
  assertEquals(redact("wxyz $&$1", ["$&$1"]), "wxyz [redacted]");
});

Deno.test("redact() leaves out secrets that are too short to be secrets", () => {
  assertEquals(redact("a bad day", ["", "a", "bad"]), "a bad day");
});

Deno.test("redact() survives a secret with half a character", () => {
  assertEquals(redact("x \ud800abc y", ["\ud800abc"]), "x [redacted] y");
});

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

Deno.test("redact() is idempotent", () => {
  const once = redact("Authorization: Bearer s3cr3t, key: sk-abcdef, x://a:b@c");
  assertEquals(redact(once), once);
});

Deno.test("redact() stays quick on long hostile text", () => {
  const startedAt = performance.now();
  for (const unit of ["key/", "key ", "key:", "Bearer ", "a://", "sk-", "key 1", "aaaa", "key"]) {
    redact(unit.repeat(20_000 / unit.length));
  }
  assertEquals(performance.now() - startedAt < 5_000, true);
});
