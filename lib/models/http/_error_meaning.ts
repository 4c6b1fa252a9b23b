/**
 * What an HTTP error of a server means: whose fault it is, and why asking again cannot help. Which statuses are asked
 * again otherwise is in `endpoint.ts`.
 * @module
 */

import type { APIError } from "openai";
import { fieldOf, isJsonObject } from "../../base/json.ts";
import type { FailedAttempt } from "../../calls/trace.ts";
import type { Permanent } from "../model.ts";

/** What an HTTP error means. */
export interface ErrorMeaning {
  /**
   * The model's own doing, which is never asked again: calls that the server could not read, or a reply or
   * question that its content filter stopped. Omitted if there is no reply.
   */
  readonly reply?: "unreadable" | "filtered";
  /** What the model wrote, as far as the server says; only with `reply`. */
  readonly generated?: string;
  /** Why asking again cannot help, if that is known. */
  readonly why?: string;
  /** What must change before any request can succeed; only with `why`. */
  readonly permanent?: Permanent;
  /** `infrastructure` if only the service can have caused it; default `unclear`. */
  readonly fault?: FailedAttempt["cause"];
}

/** How to recognize an error: all of the fields given must fit. */
interface Signature extends ErrorMeaning {
  /** HTTP statuses. */
  readonly status?: readonly number[];
  /** The error's `code` or `type`, or the `code` of its `innererror`. */
  readonly code?: readonly string[];
  /**
   * The error's text; for errors of a model also the whole error, in which a gateway hands on that of a server.
   * The first group, if any, is what the model wrote.
   */
  readonly says?: RegExp;
  /** Whether the error came as JSON: a firewall answers with a page. */
  readonly isJson?: true;
}

/**
 * Statuses of overload and of gateways without a server behind them, Cloudflare's included. With 408, 520 and
 * 524 there was one, which may have waited for a model.
 */
const INFRASTRUCTURE: readonly number[] = [429, 502, 503, 504, 521, 522, 523, 529];

/** Characters of an error's text that are searched. */
const MAX_SEARCHED = 20_000;

const CONTEXT = "the conversation exceeds its context length";
const NO_MODEL = "there is no such model: check its name, and the address that it is asked at";

/** The known errors; the first one that fits says what it means. */
const SIGNATURES: readonly Signature[] = [
  // Calls that the server's own parser could not read.
  // https://github.com/ollama/ollama/issues/17638 and /12884
  {
    says: /error parsing tool call(?:: raw='([^]*)', err=|)/,
    reply: "unreadable",
  },
  // https://github.com/ggml-org/llama.cpp/issues/23838 and /20761
  {
    status: [500],
    says: /^(?:500 )?Failed to parse input at pos \d+: ?([^]*)/,
    reply: "unreadable",
  },
  // https://console.groq.com/docs/tool-use and github.com/groq/groq-typescript/issues/103
  { says: /\btool_use_failed\b|\bfailed_generation\b/, reply: "unreadable" },
  // vLLM where a call is required: https://github.com/kubernetes-sigs/inference-perf/issues/695
  { says: /validation errors? for list\[function/, reply: "unreadable" },
  // Amazon Nova: https://docs.aws.amazon.com/nova/latest/userguide/tool-use-definition.html
  { says: /produced (?:an? )?invalid sequence as part of ToolUse/i, reply: "unreadable" },

  // Questions and replies that a content filter stopped: Azure may send no more than the inner code.
  // https://learn.microsoft.com/azure/ai-services/openai/concepts/content-filter
  {
    status: [400],
    code: ["content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation"],
    reply: "filtered",
  },
  // https://platform.openai.com/docs/guides/reasoning, of prompts against its usage policy
  { status: [400], code: ["invalid_prompt"], reply: "filtered" },
  // https://openrouter.ai/docs/api-reference/errors, of moderated models
  { status: [403], says: /\binput was flagged\b/i, reply: "filtered" },

  // Requests that will never fit.
  { status: [400, 413], code: ["context_length_exceeded"], why: CONTEXT },
  {
    status: [400, 413],
    says: /context.{0,12}(length|window|size)|prompt is too long/i,
    why: CONTEXT,
  },
  // A single request of more tokens than a minute has: OpenAI and Groq.
  {
    status: [413, 429],
    says: /request too large/i,
    why: "the request is larger than its rate limit",
  },

  // Accounts, keys, names and addresses.
  // Codes only: messages also mention quota and billing for limits per minute.
  {
    status: [400, 402, 429],
    code: [
      ...["insufficient_quota", "insufficient_balance", "billing_hard_limit_reached"],
      ...["billing_not_active", "account_deactivated"],
    ],
    why: "its account is out of credit, which no waiting changes",
    permanent: "credit",
  },
  {
    status: [402],
    why: "its account is out of credit, which no waiting changes",
    permanent: "credit",
  },
  {
    status: [401, 403],
    isJson: true,
    why: "the server refuses the key, or the key may not use this model: set the right one in " +
      "OPENAI_API_KEY, or name its variable in apiKeyVariable",
    permanent: "key",
  },
  { status: [400, 404], code: ["model_not_found"], why: NO_MODEL, permanent: "model" },
  {
    status: [400, 404],
    says:
      /\bmodel\b.{0,200}(?:not found|(?:does|do) not exist|not a valid model)|\binvalid model(?: name| id|:|$)/i,
    why: NO_MODEL,
    permanent: "model",
  },
  { status: [404, 405], why: "the server knows no such address", permanent: "address" },

  // What known services say when they fail.
  // https://platform.openai.com/docs/guides/error-codes
  { status: [500], says: /^the server had an error/i, fault: "infrastructure" },
  // https://ai.google.dev/gemini-api/docs/troubleshooting
  { status: [500], says: /^an internal error has occurred/i, fault: "infrastructure" },
  // https://docs.anthropic.com/en/api/errors
  {
    status: [500],
    code: ["api_error", "overloaded_error"],
    says: /^(?:internal server error|overloaded)$/i,
    fault: "infrastructure",
  },
  // OpenRouter writes this for every error of a provider.
  { says: /^provider returned error/i, fault: "unclear" },
  { status: INFRASTRUCTURE, fault: "infrastructure" },
];

/** Returns what an HTTP error means. */
export function errorMeaning({ status, code, type, error, message }: APIError): ErrorMeaning {
  const text = errorText(error, message).slice(0, MAX_SEARCHED);
  const whole = isJsonObject(error) ? JSON.stringify(error).slice(0, MAX_SEARCHED) : "";
  const inner = isJsonObject(error) ? fieldOf(error["innererror"], "code") : undefined;
  for (const { status: statuses, code: codes, says, isJson, ...meaning } of SIGNATURES) {
    if (statuses?.includes(status ?? 0) === false) continue;
    // Some servers send numbers.
    if (codes?.some((one) => one === code || one === type || one === inner) === false) continue;
    if (isJson && error === undefined) continue;
    const found = says?.exec(text) ?? (meaning.reply === "unreadable" ? says?.exec(whole) : null);
    if (says !== undefined && found === null) continue;
    if (meaning.reply !== "unreadable") return meaning;
    return { ...meaning, generated: generatedText(error) ?? found?.[1] ?? "" };
  }
  return {};
}

/** Returns the text of an error, as the server wrote it. */
function errorText(error: unknown, message: string): string {
  if (typeof error === "string") return error;
  const text = isJsonObject(error) ? error["message"] : undefined;
  return typeof text === "string" ? text : message;
}

/** Returns what a model wrote, where the server sends it along. */
function generatedText(error: unknown): string | undefined {
  const text = isJsonObject(error) ? error["failed_generation"] : undefined;
  return typeof text === "string" ? text : undefined;
}
