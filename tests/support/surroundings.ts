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
