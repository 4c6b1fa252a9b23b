/**
 * Where tests run: the folder of the project, and what processes and commands get to know of the environment.
 */

/** The project's folder. */
export const ROOT = new URL("../..", import.meta.url).pathname.replace(/\/$/, "");

/** By these a child finds programs and packages. */
const PLACES = ["PATH", "HOME", "DENO_DIR"];
/** By these it reaches the registry of packages, as a new project has to, where that takes more than a network. */
const NETWORK = [
  ...["SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "DENO_CERT", "DENO_TLS_CA_STORE"],
  ...["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "NPM_CONFIG_REGISTRY", "npm_config_registry"],
  "npm_config_cache",
];

/** The few variables of the environment that every child and every command gets. */
export function keptVariables(): Record<string, string> {
  return Object.fromEntries([...PLACES, ...NETWORK].flatMap((variable) => {
    const { state } = Deno.permissions.querySync({ name: "env", variable });
    const value = state === "granted" ? Deno.env.get(variable) : undefined;
    return value === undefined ? [] : [[variable, value]];
  }));
}

/**
 * Gives a variable another value, or none, until it is disposed of: for this file of tests alone, as others run in the
 * same process at the same time.
 */
export function withVariable(name: string, value: string | undefined): Disposable {
  const { get } = Deno.env;
  Deno.env.get = (key) => key === name ? value : get.call(Deno.env, key);
  return { [Symbol.dispose]: () => void (Deno.env.get = get) };
}
