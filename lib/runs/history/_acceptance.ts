/**
 * Acceptances: small files, each of which says that a person made a recorded run a release.
 * @module
 */

import { z } from "zod";
import { parseWith } from "../../base/input.ts";
import { cannot } from "../../base/errors.ts";
import { defined } from "../../base/json.ts";
import { checksumOf } from "../_baseline_file.ts";
import { sealed } from "../accept.ts";
import { type RecordFile, TIME } from "./record.ts";

/** The file of an acceptance. */
export interface AcceptanceFile {
  readonly v: 1;
  readonly kind: "acceptance";
  /** The checksum of the record that is accepted. */
  readonly record: string;
  /** The name of the release. */
  readonly name: string;
  /** Set if it is the anchor from now on; else omitted. */
  readonly anchor?: true;
  /** When it was accepted. */
  readonly acceptedAt: string;
  /** The checksum of the acceptance before it; omitted for the first one. */
  readonly after?: string;
  /** A hash of the rest of the file, which reveals accidental edits. */
  readonly checksum: string;
}

const ACCEPTANCE_FILE: z.ZodType<AcceptanceFile> = z.strictObject({
  v: z.literal(1),
  kind: z.literal("acceptance"),
  record: z.string(),
  name: z.string().min(1),
  anchor: z.literal(true).exactOptional(),
  acceptedAt: TIME,
  after: z.string().exactOptional(),
  checksum: z.string(),
});

/**
 * Checks a value that was read from a file.
 *
 * @throws {InputError} If it is no acceptance, or was edited.
 */
export function parseAcceptance(value: unknown, path: string): AcceptanceFile {
  const acceptance = parseWith(ACCEPTANCE_FILE, value, path);
  const { checksum, ...rest } = acceptance;
  if (checksum === checksumOf(rest)) return acceptance;
  throw cannot(`use ${path}`, "its checksum must be that of its content", "it was changed");
}

/** What an acceptance says beside its time. */
export interface AcceptanceOptions extends Pick<AcceptanceFile, "name" | "after"> {
  /** Whether it is the anchor from now on. */
  readonly anchor: boolean;
}

/** Returns the acceptance of a record. */
export function acceptanceOf(
  record: Pick<RecordFile, "checksum">,
  { name, anchor, after }: AcceptanceOptions,
  now: Date,
): AcceptanceFile {
  return sealed({
    ...{ v: 1, kind: "acceptance", record: record.checksum, name } as const,
    ...(anchor ? { anchor: true as const } : {}),
    acceptedAt: now.toISOString(),
    ...defined({ after }),
  });
}

/** The name of the file of an acceptance. */
export function acceptanceName({ acceptedAt, checksum }: AcceptanceFile): string {
  return `${acceptedAt.slice(0, 10)}-${checksum.slice(0, 12)}.accepted.json`;
}
