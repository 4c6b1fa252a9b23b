/**
 * The shell of pages: one self-contained file that opens from a disk, without a network. A content security policy
 * allows the scripts and styles of the page by their hashes, and no other.
 * @module
 */

import { createHash } from "node:crypto";
import { html, Markup } from "./_markup.ts";

/** What a page is made of. */
export interface Shell {
  readonly title: string;
  readonly css: string;
  readonly script: string;
  /** Further sources of scripts that the policy allows; default none. */
  readonly scriptSources?: readonly string[];
  /** Whether the page fetches data from where it came from; default false. */
  readonly served?: boolean | undefined;
  readonly header: Markup;
  readonly main: readonly Markup[];
  readonly footer: Markup;
}

/** Returns a page up to the end of its footer; what follows is data, if it has any, and {@linkcode PAGE_END}. */
export function pageStart(shell: Shell): string {
  const { title, css, script, header, main, footer } = shell;
  return html`
    <!DOCTYPE html>
    <html lang="en">
      <head>
        <meta charset="utf-8">
        <meta http-equiv="Content-Security-Policy" content="${policyOf(shell)}">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="generator" content="toolgate">
        <title>${title}</title>
        <style>${new Markup(css)}</style>
        <script>${new Markup(script)}</script>
      </head>
      <body>
        <header>
        ${header}
        </header>
        <main>
        ${main}
        </main>
        <footer>${footer}</footer>
  `.text;
}

/** Returns the content security policy of a page. */
export function policyOf(
  { css, script, scriptSources = [], served = false }: Pick<
    Shell,
    "css" | "script" | "scriptSources" | "served"
  >,
): string {
  return [
    "default-src 'none'",
    ["script-src", hashOf(script), ...scriptSources].join(" "),
    `style-src ${hashOf(css)}`,
    ...(served ? ["connect-src 'self'"] : []),
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
}

/** The end of a page. */
export const PAGE_END = "</body>\n</html>\n";

/** Returns the source by which a policy allows a script or a style. */
export function hashOf(text: string): string {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}

/** Returns modules as one script, each behind those that it imports: a page opened from a disk cannot import any. */
export function oneScript(modules: readonly string[]): string {
  return modules.map((text) => text.replace(/^import [^;]*;\n|^export /gm, "")).join("\n");
}
