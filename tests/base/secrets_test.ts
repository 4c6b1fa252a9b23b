import { assertEquals, assertStringIncludes } from "@std/assert";
import { hideSecrets, MARK, registerSecrets, requestSecrets } from "../../lib/base/secrets.ts";
import fc from "../support/fast_check.ts";
import { assertAlike, assertLinear } from "../support/growth.ts";

Deno.test("hideSecrets() takes out every occurrence of a secret, and the longer of two whole", () => {
  registerSecrets(["nightjar-1", "nightjar-1-and-more"]);
  assertEquals(
    hideSecrets("a nightjar-1-and-more b nightjar-1"),
    `a ${MARK} b ${MARK}`,
  );
});

Deno.test("hideSecrets() takes a secret literally, not as a pattern", () => {
  registerSecrets(["(a|b).*c$&", "$&$1$&$1"]);
  assertEquals(hideSecrets("(a|b).*c$& axxxxxxc $&$1$&$1"), `${MARK} axxxxxxc ${MARK}`);
});

Deno.test("hideSecrets() leaves what is too short to be a secret", () => {
  registerSecrets(["", "true", "ollama", "1234567"]);
  assertEquals(hideSecrets("true, says ollama 1234567"), "true, says ollama 1234567");
});

Deno.test("hideSecrets() survives a secret with half a character", () => {
  registerSecrets(["\ud800abcdefgh"]);
  assertEquals(hideSecrets("x \ud800abcdefgh y"), `x ${MARK} y`);
});

const printed = fc.array(fc.constantFrom(...`abcXYZ019-_.~+/="\\<>&' %@é`), { minLength: 8 })
  .map((characters) => `swift${characters.join("")}`);

Deno.test("hideSecrets() finds a secret however it is escaped", () => {
  const forms: Record<string, (text: string) => string> = {
    plain: (text) => text,
    json: (text) => JSON.stringify({ text }),
    jsonInJson: (text) => JSON.stringify({ body: JSON.stringify([text]) }),
    url: (text) => `https://host.test/?a=${encodeURIComponent(text)}&b=1`,
    form: (text) => new URLSearchParams({ text: text.replaceAll(/[~]/g, "-") }).toString(),
    html: (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;"),
  };
  fc.assert(fc.property(printed, fc.constantFrom(...Object.keys(forms)), (secret, name) => {
    registerSecrets([name === "form" ? secret.replaceAll(/[~!'()*]/g, "-") : secret]);
    if (name === "form") secret = secret.replaceAll(/[~!'()*]/g, "-");
    const text = forms[name]!(secret);
    const clean = hideSecrets(text);
    assertStringIncludes(clean, MARK, `${name}: ${text}`);
    assertEquals(clean.includes(secret), false);
  }));
});

Deno.test("hideSecrets() finds a secret in small or in capital letters", () => {
  const secret = "Gold=Finch/Key+One é";
  registerSecrets([secret]);
  for (const one of [secret.toLowerCase(), secret.toUpperCase()]) {
    for (const text of [one, encodeURIComponent(one), new TextEncoder().encode(one).toBase64()]) {
      assertStringIncludes(hideSecrets(`It was ${text}.`), MARK, text);
    }
  }
});

Deno.test("hideSecrets() finds a secret in base64, whatever stands around it", () => {
  const secret = "grasshopper-warbler-1";
  registerSecrets([secret]);
  const bytes = fc.uint8Array({ maxLength: 20 });
  fc.assert(fc.property(bytes, bytes, (before, after) => {
    const whole = new Uint8Array([...before, ...new TextEncoder().encode(secret), ...after]);
    const clean = hideSecrets(whole.toBase64());
    assertStringIncludes(clean, MARK);
    // What may be left of it are the bits that share a character with their neighbours.
    assertEquals(
      clean.length <= whole.toBase64().length - secret.length * 8 / 6 + 4 + MARK.length,
      true,
    );
  }));
});

Deno.test("hideSecrets() finds a key that a server echoes in base64url, with its padding or without", () => {
  // Bytes that base64 and base64url write differently.
  const key = "wood>>>???pecker~~~0123";
  registerSecrets([key]);
  for (const whole of [key, `Bearer ${key}`, `user:${key}`, `{"key":"${key}"}`]) {
    const bytes = new TextEncoder().encode(whole);
    for (const omitPadding of [true, false]) {
      const text = bytes.toBase64({ alphabet: "base64url", omitPadding });
      for (const written of [text, encodeURIComponent(text), JSON.stringify(text)]) {
        const clean = hideSecrets(`It was ${written}.`);
        assertStringIncludes(clean, MARK, written);
        // What may be left of it are the bits that share a character with their neighbours.
        const left = clean.length - MARK.length - "It was .".length;
        assertEquals(left <= written.length - key.length * 8 / 6 + 4, true, clean);
      }
    }
  }
});

Deno.test("hideSecrets() finds a secret of which any characters are escaped", () => {
  const hex = (character: string) => character.charCodeAt(0).toString(16);
  const escapes: ((character: string) => string)[] = [
    (character) => character,
    (character) => `%${hex(character)}`,
    (character) => `%${hex(character).toUpperCase()}`,
    (character) => `\\u00${hex(character)}`,
    (character) => `&#x${hex(character)};`,
    (character) => `&#${character.charCodeAt(0)};`,
  ];
  const secret = "fire/crest-0123=x";
  registerSecrets([secret]);
  const escaped = fc.array(fc.nat(escapes.length - 1), { minLength: 17, maxLength: 17 })
    .map((kinds) => [...secret].map((character, at) => escapes[kinds[at]!]!(character)).join(""));
  const around = fc.string({ unit: fc.constantFrom(..."a %2\\u00&#;é/"), maxLength: 12 });
  fc.assert(fc.property(around, escaped, around, (before, written, after) => {
    const text = `${before} ${written} ${after}`;
    assertEquals(hideSecrets(text), `${before} ${MARK} ${after}`, text);
  }));
});

Deno.test("hideSecrets() takes time in proportion to a text, however it is escaped", () => {
  registerSecrets(["goldcrest-0123"]);
  for (
    const unit of ["%", "%67", "%67%6f", "%25", "\\u0067", "\\", "&#", "&#x67;", "goldcrest%2d"]
  ) {
    assertLinear(hideSecrets, "", unit, 5_000);
  }
});

Deno.test("hideSecrets() takes out the beginning of a secret where a long text was cut", () => {
  const secret = "capercaillie-0123456789";
  registerSecrets([secret]);
  const long = "so ".repeat(400);
  for (let length = 8; length < secret.length; length++) {
    assertEquals(hideSecrets(long + secret.slice(0, length)), long + MARK);
    assertEquals(hideSecrets(`${long}${secret.slice(0, length)}…`), `${long}${MARK}…`);
  }
  assertEquals(hideSecrets(`${long}caperca`), `${long}caperca`);
  // What looks like the beginning of one may end in the beginning of another, or of itself.
  registerSecrets(["redshankredshankRED-0001", "shankredwing-0002"]);
  assertEquals(hideSecrets(`${long}redshankredshankredshank`), `${long}redshank${MARK}`);
  assertEquals(hideSecrets(`${long}redshankredwing`), `${long}red${MARK}`);
});

Deno.test("hideSecrets() knows secrets of any length, whatever stands in them", () => {
  // Such as what lets one into a cluster, as a variable of the environment holds it.
  const secret = 'curlew: "\\\n/"'.repeat(8_000);
  registerSecrets([secret]);
  const told = `so ${secret} it is ${JSON.stringify(secret)}`;
  assertEquals(hideSecrets(told), `so ${MARK} it is "${MARK}"`);
  assertEquals(hideSecrets(`so ${secret.slice(0, 9_000)}`), `so ${MARK}`);
});

Deno.test("hideSecrets() takes no longer for a text that may have been cut", () => {
  const secrets = Array.from({ length: 10 }, (_, place) => `whimbrel-${place}-`.padEnd(4_000, "+"));
  registerSecrets(secrets);
  const hiding = (text: string) => () => {
    for (let time = 0; time < 200; time++) hideSecrets(text);
  };
  assertAlike(hiding("so ".repeat(330)), hiding("so ".repeat(340)), "a text of 1,020 characters");
});

Deno.test("hideSecrets() leaves texts without secrets as they are", () => {
  fc.assert(fc.property(fc.string({ maxLength: 3_000 }), (text) => {
    assertEquals(hideSecrets(text), text);
  }));
});

Deno.test("requestSecrets() takes the values of headers, and what may be quoted of them alone", () => {
  const headers = new Headers({
    "accept": "application/json",
    "content-type": "application/json; charset=utf-8",
    "user-agent": "toolgate-tests",
    "x-title": "My benchmarks",
    "openai-beta": "assistants=v2",
    "anthropic-version": "2023-06-01",
    "authorization": "Bearer token-of-a-bearer",
    "proxy-authorization": `Basic ${btoa("me:password-of-mine")}`,
    "cookie": "session=crumb-of-a-cookie; theme=darkest-of-all",
    "x-team": "one two",
  });
  const url = new URL("http://name:pass%20word@host.test/v1?sig=signature&api-version=2024-10-21");
  const secrets = new Set(requestSecrets(headers, url));
  for (
    const value of [
      ...[
        "Bearer token-of-a-bearer",
        "token-of-a-bearer",
        "me:password-of-mine",
        "password-of-mine",
      ],
      ...["crumb-of-a-cookie", "darkest-of-all", "one two", "signature", "name", "pass word"],
    ]
  ) assertEquals(secrets.has(value), true, value);
  for (const value of ["2024-10-21", "2023-06-01", "toolgate-tests", "My benchmarks", "one"]) {
    assertEquals(secrets.has(value), false, value);
  }
  assertEquals([...secrets].some((value) => /json|assistants/.test(value)), false);
});
