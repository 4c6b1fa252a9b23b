/**
 * Folders for the tests that write files.
 */

/** A folder of its own, which is removed with all that is in it when it goes out of scope. */
export class Folder implements Disposable {
  /** Where it is. */
  readonly path = Deno.makeTempDirSync({ prefix: "toolgate_" });

  /** The path of a file in it. */
  file(name: string): string {
    return `${this.path}/${name}`;
  }

  /** Writes a file and gives its path. */
  write(name: string, content: string | Uint8Array): string {
    const path = this.file(name);
    Deno.writeFileSync(
      path,
      typeof content === "string" ? new TextEncoder().encode(content) : content,
    );
    return path;
  }

  /** The text of a file in it. */
  read(name: string): string {
    return Deno.readTextFileSync(this.file(name));
  }

  [Symbol.dispose](): void {
    Deno.removeSync(this.path, { recursive: true });
  }
}
