import { assertEquals } from "@std/assert";
import { proxyOf } from "../../lib/base/proxy.ts";

Deno.test("proxyOf() heeds what NO_PROXY lists: hosts, domains, ranges and all", () => {
  const before = Deno.env.toObject();
  Deno.env.set("HTTPS_PROXY", "http://me:secret@proxy.example:3128");
  const proxied = (host: string, without: string) => {
    Deno.env.set("NO_PROXY", without);
    return proxyOf(new URL(`https://${host}/v1`));
  };
  try {
    const proxy = "proxy.example:3128 (HTTPS_PROXY)";
    assertEquals(proxied("a.example", ""), proxy);
    assertEquals(proxied("a.example", "b.example, .c.example,10.0.0.0/8"), proxy);
    assertEquals(proxied("11.1.2.3", "10.0.0.0/8"), proxy);
    for (
      const [host, without] of [
        ["a.example", "*"],
        ["a.example", "example"],
        ["a.example", "x, .a.example"],
        ["10.1.2.3", "10.0.0.0/8"],
        ["127.0.0.1", ""],
        ["localhost", ""],
      ] as const
    ) assertEquals(proxied(host, without), undefined, `${host} ${without}`);
  } finally {
    for (const name of ["HTTPS_PROXY", "NO_PROXY"]) {
      if (before[name] === undefined) Deno.env.delete(name);
      else Deno.env.set(name, before[name]);
    }
  }
});
