// The npm copy of the standard library has no types. What is used of it is declared here, as the
// library itself documents it; without these declarations its imports would silently be `any`.

declare module "@std/assert/assertion-error" {
  export class AssertionError extends Error {
    constructor(message: string, options?: ErrorOptions);
  }
}

declare module "@std/assert" {
  export { AssertionError } from "@std/assert/assertion-error";
  export function assert(condition: unknown, message?: string): asserts condition;
  export function assertAlmostEquals(
    actual: number,
    expected: number,
    tolerance?: number,
    message?: string,
  ): void;
  export function assertEquals<T>(actual: T, expected: T, message?: string): void;
  export function assertNotEquals<T>(actual: T, expected: T, message?: string): void;
  export function assertExists<T>(actual: T, message?: string): asserts actual is NonNullable<T>;
  export function assertGreater<T>(actual: T, expected: T, message?: string): void;
  export function assertGreaterOrEqual<T>(actual: T, expected: T, message?: string): void;
  export function assertLess<T>(actual: T, expected: T, message?: string): void;
  export function assertLessOrEqual<T>(actual: T, expected: T, message?: string): void;
  // deno-lint-ignore no-explicit-any
  export function assertInstanceOf<T extends abstract new (...arguments_: any[]) => any>(
    actual: unknown,
    expected: T,
    message?: string,
  ): asserts actual is InstanceType<T>;
  export function assertMatch(actual: string, expected: RegExp, message?: string): void;
  export function assertNotMatch(actual: string, expected: RegExp, message?: string): void;
  export function assertStringIncludes(actual: string, expected: string, message?: string): void;
  export function assertThrows<E extends Error = Error>(
    callback: () => unknown,
    // deno-lint-ignore no-explicit-any
    errorClass?: abstract new (...arguments_: any[]) => E,
    messageIncludes?: string,
    message?: string,
  ): E;
  export function assertRejects<E extends Error = Error>(
    callback: () => PromiseLike<unknown>,
    // deno-lint-ignore no-explicit-any
    errorClass?: abstract new (...arguments_: any[]) => E,
    messageIncludes?: string,
    message?: string,
  ): Promise<E>;
}

declare module "@std/async/abortable" {
  export function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T>;
}

declare module "@std/cli/parse-args" {
  export interface ParseOptions {
    "--"?: boolean;
    boolean?: readonly string[] | boolean;
    string?: readonly string[];
    collect?: readonly string[];
    unknown?: (argument: string, key?: string, value?: unknown) => unknown;
  }
  export interface ParsedArguments {
    [name: string]: unknown;
    _: (string | number)[];
  }
  export function parseArgs(
    arguments_: readonly string[],
    options?: ParseOptions,
  ): ParsedArguments;
}

declare module "@std/jsonc" {
  export type JsonValue =
    | { [key: string]: JsonValue | undefined }
    | JsonValue[]
    | string
    | number
    | boolean
    | null;
  export function parse(text: string): JsonValue;
}

declare module "@std/text/levenshtein-distance" {
  export function levenshteinDistance(one: string, other: string): number;
}

declare module "@std/yaml" {
  export interface ParseOptions {
    schema?: "core" | "default" | "failsafe" | "json" | "extended";
  }
  export interface StringifyOptions {
    schema?: "core" | "default" | "failsafe" | "json" | "extended";
    lineWidth?: number;
    useAnchors?: boolean;
  }
  export function parse(content: string, options?: ParseOptions): unknown;
  export function stringify(data: unknown, options?: StringifyOptions): string;
}
