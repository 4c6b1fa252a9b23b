/**
 * Schema fits: whether a schema gives parsed JSON back as it is. zod copies every object, and asks for every field that
 * there may be: of a large file most time would go there.
 * @module
 */

import type { z } from "zod";
import { isJsonObject, isObject, isWithin } from "./json.ts";

type Fits = (value: unknown) => boolean;

/** Levels of parts of which a schema says nothing, at most: others are left to whoever limits the whole. */
const MAX_LEVELS = 400;

/** Whether a part of which the schema says nothing is shallow. */
const isShallow: Fits = (value) => !isObject(value) || isWithin(value, { levels: MAX_LEVELS });

/**
 * Returns a function that is true of parsed JSON only if the schema gives it back as it is. Where it is not, the schema
 * itself must be asked: of some types it alone knows what fits, and it says why something does not.
 */
export function schemaFit(schema: z.core.$ZodType): Fits {
  const fits = typeFit(schema as z.core.$ZodTypes);
  const { def, traits } = schema._zod;
  const checks = [
    ...traits.has("$ZodCheck") ? [schema as unknown as z.core.$ZodCheck] : [],
    ...def.checks ?? [],
  ];
  if (checks.length === 0) return fits;
  return (value) => {
    if (!fits(value)) return false;
    const payload = { value: value as never, issues: [] };
    for (const { _zod: check } of checks) void check.check(payload);
    return payload.issues.length === 0 && payload.value === value;
  };
}

/** Returns a function that is true of what fits the type of a schema, whatever it checks as well. */
function typeFit(schema: z.core.$ZodTypes): Fits {
  const { def } = schema._zod;
  switch (def.type) {
    case "string":
      return (value) => typeof value === "string";
    case "boolean":
      return (value) => typeof value === "boolean";
    case "number":
      return Number.isFinite;
    case "any":
    case "custom":
      return isShallow;
    case "literal":
    case "enum": {
      const { values } = schema._zod;
      return (value) => values!.has(value as string);
    }
    case "optional":
    case "default":
    case "catch":
      return schemaFit(def.innerType);
    case "nullable": {
      const fits = schemaFit(def.innerType);
      return (value) => value === null || fits(value);
    }
    case "array": {
      const fits = schemaFit(def.element);
      return (value) => Array.isArray(value) && value.every(fits);
    }
    case "union":
      return "discriminator" in def
        ? unionFit(def as z.core.$ZodDiscriminatedUnionDef)
        : () => false;
    case "object":
      return objectFit(def);
    default:
      return () => false;
  }
}

function unionFit({ discriminator, options }: z.core.$ZodDiscriminatedUnionDef): Fits {
  const byKind = new Map(options.flatMap((option) => {
    const fits = schemaFit(option);
    return [...option._zod.propValues![discriminator]!].map((kind) => [kind, fits] as const);
  }));
  return (value) =>
    isJsonObject(value) && byKind.get(value[discriminator] as string)?.(value) === true;
}

function objectFit({ shape, catchall }: z.core.$ZodObjectDef): Fits {
  const fields = Object.entries(shape);
  const fits = new Map(fields.map(([name, field]) => [name, schemaFit(field)]));
  const isLoose = catchall?._zod.def.type === "unknown";
  // What must be there, or gets a value where it is not.
  const awaited = fields.flatMap(([name, { _zod }]) =>
    _zod.optin === undefined || _zod.optout !== "optional" ? name : []
  );
  return (value) => {
    if (!isJsonObject(value)) return false;
    for (const name in value) {
      const fit = fits.get(name);
      // zod leaves out the name that is no name.
      const isFit = fit === undefined
        ? isLoose && name !== "__proto__" && isShallow(value[name])
        : fit(value[name]);
      if (!isFit) return false;
    }
    return awaited.every((name) => value[name] !== undefined);
  };
}
