/**
 * The categories of errors of tools, and what helps against each (Pipeline, "Robust Tool Execution").
 * @module
 */

/**
 * Every category of error.
 *
 * - `validation`: the arguments are invalid; the tool did nothing.
 * - `unknown_tool`: no tool has that name.
 * - `not_found`: the requested thing does not exist.
 * - `permission`: the caller may not access it.
 * - `rate_limit`: too many calls; a later one may succeed.
 * - `timeout`: no result in time; the call may have had an effect.
 * - `cancelled`: the caller aborted the call.
 * - `malformed_return`: the tool returned what its declared schema does not allow.
 * - `execution`: any other failure while the tool ran.
 */
export const TOOL_ERRORS = [
  "validation",
  "unknown_tool",
  "not_found",
  "permission",
  "rate_limit",
  "timeout",
  "cancelled",
  "malformed_return",
  "execution",
] as const;

/** A category of error. */
export type ToolErrorCategory = typeof TOOL_ERRORS[number];

/**
 * What helps against an error of each category: the same call again, other arguments, or another tool; nothing
 * where asking again gives no permission, or where the call may have had an effect that another could repeat.
 */
export const REMEDIES: Readonly<
  Record<ToolErrorCategory, "retry" | "repair" | "replace" | undefined>
> = {
  validation: "repair",
  unknown_tool: "replace",
  not_found: "replace",
  permission: undefined,
  rate_limit: "retry",
  timeout: "retry",
  cancelled: undefined,
  malformed_return: undefined,
  execution: undefined,
};

/** At most this many calls of other tools are made in place of one call. */
export const MAX_ALTERNATIVES = 5;
