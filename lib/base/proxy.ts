/**
 * Proxies: which one the environment names for an address, and connections that need none to this machine.
 * @module
 */

import process from "node:process";
import * as runtime from "#runtime";
import { environmentVariable } from "./environment.ts";

/** This machine, as `NO_PROXY` names it. */
const THIS_MACHINE = "127.0.0.0/8,::1,localhost";

/** Returns the hosts that are asked without a proxy, as the environment lists them. */
function unproxied(): string {
  return environmentVariable("NO_PROXY") ?? environmentVariable("no_proxy") ?? "";
}

/**
 * Returns options of `fetch` by which requests share connections, to this machine without a proxy, as long as
 * `NO_PROXY` may be set: Deno reads it only while it creates a client.
 */
export function httpClient(options?: { readonly isKept?: boolean }): RequestInit {
  if (!runtime.isGranted({ name: "env", variable: "NO_PROXY" })) return runtime.httpClient(options);
  const { env } = process;
  const before = env["NO_PROXY"];
  env["NO_PROXY"] = `${unproxied()},${THIS_MACHINE}`;
  try {
    return runtime.httpClient(options);
  } finally {
    if (before === undefined) delete env["NO_PROXY"];
    else env["NO_PROXY"] = before;
  }
}

/** Whether an address of four numbers is in a range, such as `10.0.0.0/8`. */
function isInRange(address: string, range: string): boolean {
  const [from = "", length = ""] = range.split("/");
  const [bits, other] = [address, from].map((one) =>
    /^\d+(?:\.\d+){3}$/.test(one)
      ? one.split(".").map((part) => Number(part).toString(2).padStart(8, "0")).join("")
      : undefined
  );
  return length !== "" && bits !== undefined && other !== undefined &&
    bits.slice(0, Number(length)) === other.slice(0, Number(length));
}

/** The variables that name the proxy for an address. */
function variablesFor({ protocol }: URL): string[] {
  return [`${protocol.slice(0, -1)}_proxy`, "all_proxy"]
    .flatMap((name) => [name.toUpperCase(), name]);
}

/** Whether an address is this machine's, which is asked without a proxy. */
function isThisMachine({ hostname }: URL): boolean {
  return hostname === "localhost" || /^(127(\.\d+){3}|\[::1\])$/.test(hostname);
}

/**
 * Returns the host of the proxy for an address and the variable that names it, such as `10.0.0.1:3128 (HTTPS_PROXY)`;
 * `undefined` without one.
 */
export function proxyOf(url: URL): string | undefined {
  const { hostname } = url;
  const isUnproxied = unproxied().split(",").some((one) => {
    const name = one.trim().replace(/^\./, "");
    return name === "*" || (name !== "" && `.${hostname}`.endsWith(`.${name}`)) ||
      isInRange(hostname, name);
  });
  if (isUnproxied || isThisMachine(url)) return undefined;
  const variable = variablesFor(url).find((name) => environmentVariable(name) !== undefined);
  if (variable === undefined) return undefined;
  const given = environmentVariable(variable)!;
  const address = given.includes("://") ? given : `http://${given}`;
  // It may hold a password.
  return `${URL.canParse(address) ? `${new URL(address).host} ` : ""}(${variable})`;
}
