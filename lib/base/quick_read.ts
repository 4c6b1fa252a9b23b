/**
 * Quick reading: what a schema makes of parsed JSON, where it fits. zod copies every object and asks every field of it;
 * of a large file most time would go there.
 * @module
 */

import { z } from "zod";
import { isJsonObject, isObject, isWithin } from "./json.ts";

/** Returns what a schema makes of a value; {@linkcode UNFIT} if it does not fit, or only the schema itself can tell. */
type Read = (value: unknown) => unknown;

/** Stands for a value that does not fit. */
const UNFIT = Symbol("unfit");

/** Levels of parts of which a schema says nothing, at most: others are left to whoever limits the whole. */
const MAX_LEVELS = 400;

/** Reads a part of which the schema says nothing, or nothing that is known here. */
const readPart: Read = (value) =>
  isObject(value) && !isWithin(value, { levels: MAX_LEVELS }) ? UNFIT : value;

/**
 * Returns a function that makes of parsed JSON what the schema does, parts that do not change as they are, not as
 * copies; `undefined` of what does not fit, or nests deep: only the schema can say why.
 */
export function quickReader<T extends object>(
  schema: z.ZodType<T>,
): (value: unknown) => T | undefined {
  const read = readerOf(schema);
  return (value) => {
    const result = read(value);
    return result === UNFIT ? undefined : result as T;
  };
}

/** Lets zod itself read. */
function byZod(schema: z.core.$ZodType): Read {
  return (value) => {
    if (readPart(value) === UNFIT) return UNFIT;
    const { data, success } = z.safeParse(schema, value);
    return success ? data : UNFIT;
  };
}

/** Makes of the schema, which alone says what fits, a reader of the same values. */
function readerOf(schema: z.core.$ZodType): Read {
  const read = unchecked(schema as z.core.$ZodTypes);
  if (read === undefined) return byZod(schema);
  const { def, traits } = schema._zod;
  const checks = [
    ...traits.has("$ZodCheck") ? [schema as unknown as z.core.$ZodCheck] : [],
    ...def.checks ?? [],
  ];
  if (checks.length === 0) return read;
  return (value) => {
    const payload = { value: read(value) as never, issues: [] };
    if (payload.value === UNFIT) return UNFIT;
    for (const { _zod: check } of checks) void check.check(payload);
    return payload.issues.length === 0 ? payload.value : UNFIT;
  };
}

/** Returns a reader by the type of a schema alone; `undefined` for types that are left to zod. */
function unchecked(schema: z.core.$ZodTypes): Read | undefined {
  const { def } = schema._zod;
  switch (def.type) {
    case "string":
      return (value) => typeof value === "string" ? value : UNFIT;
    case "boolean":
      return (value) => typeof value === "boolean" ? value : UNFIT;
    case "number":
      return (value) => Number.isFinite(value) ? value : UNFIT;
    case "any":
      return readPart;
    case "literal":
    case "enum": {
      const { values } = schema._zod;
      return (value) => values!.has(value as string) ? value : UNFIT;
    }
    case "optional":
    case "default":
      return readerOf(def.innerType);
    case "nullable": {
      const read = readerOf(def.innerType);
      return (value) => value === null ? null : read(value);
    }
    case "catch": {
      const [read, rest] = [readerOf(def.innerType), byZod(schema)];
      return (value) => {
        const result = read(value);
        return result === UNFIT ? rest(value) : result;
      };
    }
    case "array":
      return arrayReader(readerOf(def.element));
    case "union":
      return "discriminator" in def
        ? unionReader(def as z.core.$ZodDiscriminatedUnionDef)
        : undefined;
    case "object":
      return def.catchall?._zod.def.type === "unknown" ? objectReader(def.shape) : undefined;
    default:
      return undefined;
  }
}

function arrayReader(read: Read): Read {
  return (value) => {
    if (!Array.isArray(value)) return UNFIT;
    let result = value;
    for (let place = 0; place < value.length; place++) {
      const item = read(value[place]);
      if (item === UNFIT) return UNFIT;
      if (item === value[place]) continue;
      if (result === value) result = [...value];
      result[place] = item;
    }
    return result;
  };
}

function unionReader({ discriminator, options }: z.core.$ZodDiscriminatedUnionDef): Read {
  const readers = new Map(options.flatMap((option) => {
    const read = readerOf(option);
    return [...option._zod.propValues![discriminator]!].map((value) => [value, read] as const);
  }));
  return (value) => {
    const read = isJsonObject(value) && readers.get(value[discriminator] as string);
    return read ? read(value) : UNFIT;
  };
}

function objectReader(shape: z.core.$ZodShape): Read {
  const fields = Object.entries(shape);
  const readers = new Map(fields.map(([name, field]) => [name, readerOf(field)]));
  // What must be there, or gets a value where it is not.
  const awaited = fields.filter(([, { _zod }]) =>
    _zod.optin === undefined || _zod.optout !== "optional"
  )
    .map(([name, field]) => [name, field._zod.optin && byZod(field)] as const);
  return (value) => {
    if (!isJsonObject(value)) return UNFIT;
    let result: Record<string, unknown> = value;
    for (const name in value) {
      // zod leaves it out.
      if (name === "__proto__") return UNFIT;
      const read = readers.get(name) ?? readPart;
      const inner = read(value[name]);
      if (inner === UNFIT) return UNFIT;
      if (inner === value[name]) continue;
      if (result === value) result = { ...value };
      result[name] = inner;
    }
    for (const [name, absent] of awaited) {
      if (value[name] !== undefined) continue;
      const inner = absent === undefined ? UNFIT : absent(undefined);
      if (inner === UNFIT) return UNFIT;
      if (inner === undefined) continue;
      if (result === value) result = { ...value };
      result[name] = inner;
    }
    return result;
  };
}
