/**
 * What servers say: every code, status, finish reason and sentence that is known, and what it means.
 *
 * Servers quote what a model wrote, so that a model may choose words. Codes, types and finish reasons are no words of
 * a model and come first. What words alone select is never asked again as if the service had failed, and leaves out
 * no trial without the mark that it was not valid at the first attempt.
 * @module
 */

import type { FailedAttempt } from "../../calls/trace.ts";
import type { FinishReason, Permanent } from "../model.ts";

/** What follows from a meaning. */
export interface Effect {
  /**
   * The model's own doing, which is never asked again: calls that the server could not read, or a reply or
   * question that its content filter stopped. Omitted if there is no reply.
   */
  readonly reply?: "unreadable" | "filtered";
  /** How the reply ended, where that is a finish reason. */
  readonly finish?: FinishReason;
  /** Why asking again cannot help, if that is known. */
  readonly why?: string;
  /** What must change before any request can succeed; only with `why`. */
  readonly permanent?: Permanent;
  /** `infrastructure` if only the service can have caused it; default `unclear`. */
  readonly fault?: FailedAttempt["cause"];
}

/** All meanings, and what follows from each. */
export const MEANINGS = {
  filtered: { reply: "filtered", finish: "filter" },
  "unreadable call": { reply: "unreadable" },
  end: { finish: "stop" },
  calls: { finish: "calls" },
  "cut off": { finish: "length" },
  "too long": { why: "the conversation exceeds its context length" },
  "too large": { why: "the request is larger than its rate limit" },
  credit: { why: "its account has no credit left", permanent: "credit" },
  key: {
    why:
      "the server refuses the key, or the key may not use this model: set the right one in its " +
      "variable, OPENAI_API_KEY or that of the provider, or name another in apiKeyVariable",
    permanent: "key",
  },
  model: {
    why: "there is no such model: check its name, and the address that it is asked at",
    permanent: "model",
  },
  address: { why: "the server knows no such address", permanent: "address" },
  "no tools": {
    why: "it takes no tools: set api to a text format (hermes), or start it with a parser of calls",
    permanent: "option",
  },
  "responses only": {
    why: 'it takes no tools beside reasoning: set api: "responses", or reasoningEffort: "none"',
    permanent: "option",
  },
  "broken inference": {},
  overload: { fault: "infrastructure" },
  "rate limit": { fault: "infrastructure" },
} as const satisfies Readonly<Record<string, Effect>>;

/** What a server means. */
export type Meaning = keyof typeof MEANINGS;

/** How to recognize what a server says: all of the fields given must fit. */
interface Words {
  /** HTTP statuses, or those that a body names; 0 stands for an answer that has neither. */
  readonly status?: readonly number[];
  /** Codes, types and reasons of the error, in lower case, with spaces between. */
  readonly code?: string;
  /** Finish reasons, in lower case with underscores, with spaces between. */
  readonly finish?: string;
  /** The words, one of them, without quotes and backslashes. */
  readonly says?: readonly RegExp[];
  /** Other words that must not be there. */
  readonly not?: RegExp;
  /** What the model wrote, as the first group, in the words as they came. */
  readonly wrote?: RegExp;
  /** Whether it only means so before the server has answered any request. */
  readonly first?: true;
  /** Whether the answer must be JSON, or at least no page: firewalls answer with a page. */
  readonly form?: "JSON" | "no page";
}

/** A row of the table. */
export interface WordsRow extends Words {
  /** Who says so, and where that is documented or reported. */
  readonly from: string;
  /** What it means. */
  readonly means: Meaning;
}

/** Words about a request, in which a server may quote nothing that a model has just written. */
const OF_REQUEST =
  /\b(?:request|payload|body|schemas?|template|grammar|response_format|messages?\W{0,3}\d|arguments as JSON|loading|upstream|connection|content-type)\b/i;

/**
 * What servers say, by what it means, and by who says it. The gateways' statuses 502 to 529 are those without a server
 * behind them, Cloudflare's included; with 408, 520 and 524 there was one, which may have waited for a model.
 */
const WORDS: { readonly [Name in Meaning]: Readonly<Record<string, Words>> } = {
  filtered: {
    "Gemini, z.ai, Bedrock, Cohere: https://ai.google.dev/api/generate-content#FinishReason": {
      finish: "content_filter content_filtered sensitive safety recitation blocklist spii " +
        "prohibited_content image_safety image_recitation image_prohibited_content refusal " +
        "guardrail_intervened guardrails model_armor error_toxic moderation blocked unsafe risk " +
        "content_policy content_policy_violation",
    },
    // Azure may send no more than the inner code.
    "OpenAI, Azure: https://learn.microsoft.com/azure/ai-services/openai/concepts/content-filter": {
      code: "content_filter content_policy_violation responsibleaipolicyviolation " +
        "content_filter_error invalid_prompt cyber_policy safety_violation",
    },
    "DashScope: https://help.aliyun.com/zh/model-studio/error-code": {
      code: "data_inspection_failed datainspectionfailed",
    },
    "Volcengine Ark: https://www.volcengine.com/docs/82379/1299023": {
      code: "sensitivecontentdetected inputtextsensitivecontentdetected inputtextriskdetection " +
        "outputtextsensitivecontentdetected outputtextriskdetection",
    },
    "z.ai, MiniMax: https://platform.minimax.io/docs/api-reference/errorcode": {
      code: "1301 contentfilter base_resp_1026 base_resp_1027",
    },
    "Portkey, Helicone, Stepfun: https://portkey.ai/docs/product/guardrails": {
      code:
        "hooks_failed prompt_threat_detected censorship_blocked failedoperation.contentviolation",
    },
    "LiteLLM: https://docs.litellm.ai/docs/exception_mapping": {
      says: [/ContentPolicyViolation|violated (?:guardrail|content safety)|content blocked:/i],
    },
    "xAI: https://github.com/UKGovernmentBEIS/inspect_ai/pull/2267": {
      says: [/Content violates usage guidelines|\bSAFETY_CHECK_TYPE/i],
    },
    "DeepSeek: https://github.com/deepseek-ai/DeepSeek-V2/issues/30": {
      says: [/(?:^|[:-] )Content Exists Risk\b/i],
    },
    "Gemini, MiniMax: https://ai.google.dev/api/generate-content#BlockReason": {
      says: [/\bPROHIBITED_CONTENT\b|\bblockReason\b|\bnew_sensitive\b/],
    },
    "OpenRouter, Azure, Anthropic: https://openrouter.ai/docs/api-reference/errors": {
      status: [0, 400, 403, 422, 424, 446, 451],
      says: [
        /\binput was flagged\b|\bflagged (?:by|for|as) .{0,40}(?:moderation|violat|polic|content|safety)/i,
        /\b(?:rejected|blocked|filtered)\b.{0,60}(?:safety|content (?:filter|management|polic|moderation)|moderation|usage polic|Responsible AI|security)/i,
        /may (?:contain|involve) .{0,20}(?:inappropriate|sensitive|unsafe)|content management polic/i,
        /considered high risk|violate our usage polic|not meet safety requirements|sensitive (?:info|content)/i,
      ],
      not: /\b(?:account|api key|organi[sz]ation)\b/i,
    },
    "Zhipu, Baidu, in Chinese: https://docs.bigmodel.cn/cn/faq/api-code": {
      says: [/[含在及发].{0,12}(?:不安全|敏感|违规|不当|风险)|内容(?:安全|审核|违规)/],
    },
  },
  "unreadable call": {
    "Gemini, Bedrock: https://ai.google.dev/api/generate-content#FinishReason": {
      finish:
        "malformed_function_call unexpected_tool_call function_call_filter invalid_tool_call " +
        "malformed_tool_call malformed_tool_use malformed_model_output malformed_response",
    },
    "Groq, TGI: https://console.groq.com/docs/tool-use": {
      code: "tool_use_failed output_parse_failed tool_error",
    },
    "Groq behind a gateway: https://github.com/groq/groq-typescript/issues/103": {
      says: [
        /\btool_use_failed\b|\bfailed_generation\b|failed to call a function|tool call validation failed/i,
      ],
    },
    "Ollama: https://github.com/ollama/ollama/issues/17638": {
      says: [
        /error parsing tool call|^failed to parse JSON: |no reverse mapping found for func|^tool \S+ not found$/,
      ],
      wrote: /error parsing tool call: raw='([^]*)', err=/,
    },
    "llama.cpp until 2026: https://github.com/ggml-org/llama.cpp/issues/23838": {
      says: [/Failed to parse input at pos \d|empty grammar stack after accepting|^Invalid diff:/],
      wrote: /\bFailed to parse input at pos \d+: ?([^]*)/,
    },
    "llama.cpp: https://github.com/ggml-org/llama.cpp/issues/27025": {
      says: [
        /\b(?:model|assistant)s? (?:has )?(?:produced|generated|returned|wrote|emitted|output)\b.{0,80}\b(?:not match|not conform|not valid|not be parsed|malformed|unpars\w+|invalid)/i,
        /\b(?:model|assistant)s? (?:output|response|generation)\b.{0,60}\b(?:not match|not conform|not be parsed|malformed|unpars\w+)/i,
      ],
      not: OF_REQUEST,
    },
    "vLLM, of gpt-oss: https://github.com/vllm-project/vllm/issues/51977": {
      says: [/HarmonyError|tokens? remaining in (?:message )?header|token \d+ while expecting/i],
    },
    "Ollama, of Qwen and GLM: https://github.com/ollama/ollama/issues/12064": {
      says: [
        /\bXML syntax error on|parse XML\b|expected element (?:type )?<|element <.{0,60}closed/,
      ],
    },
    "vLLM: https://github.com/kubernetes-sigs/inference-perf/issues/695": {
      says: [/validation errors? for list\[(?:function|tool)|generated tool calls? did not match/i],
    },
    "Bedrock: https://docs.aws.amazon.com/nova/latest/userguide/tool-use-definition.html": {
      says: [/\binvalid sequence as part of ToolUse/i],
    },
    "LM Studio, TGI, SGLang: https://github.com/lmstudio-ai/lmstudio-js/issues/493": {
      says: [
        /\b(?:fail\w*|unable|errors?|cannot|could not|couldn't|invalid|malformed)\b.{0,60}\b(?:pars\w+|decod\w+|extract\w*|generat\w+)\b.{0,60}\b(?:tool|function)[ _-]?(?:calls?|use)/i,
        /\b(?:tool|function)[ _-]?(?:calls?|use)\b.{0,60}\b(?:pars(?:e|er|ing)|decod\w+|validation)\b.{0,40}\b(?:fail\w*|errors?|exception)/i,
        /\b(?:fail\w*|unable|errors?|cannot|could not)\b.{0,40}\b(?:pars\w+|decod\w+)\b.{0,40}(?:\b(?:model|assistant|llm)s? (?:output|response|reply|generation|completion|result)|generated text|fc related)/i,
        /\b(?:malformed|unparse?able|unreadable) (?:tool|function)[ _-]?calls?\b/i,
      ],
      not: OF_REQUEST,
    },
  },
  end: {
    "OpenAI, Anthropic, Cohere, llama.cpp: https://docs.cohere.com/reference/chat": {
      finish: "stop end_turn stop_sequence complete completed eos eos_token done end finished",
    },
  },
  calls: {
    "OpenAI, Anthropic, Cohere: https://docs.cohere.com/reference/chat": {
      finish: "tool_calls tool_call function_call function_calls tool_use",
    },
  },
  "cut off": {
    "OpenAI, Gemini, Mistral, Anthropic, z.ai: https://docs.mistral.ai/api": {
      finish:
        "length max_tokens max_output_tokens max_completion_tokens max_new_tokens max_length " +
        "model_length length_limit token_limit time_limit incomplete truncated max_tokens_reached " +
        "model_context_window_exceeded context_window_exceeded context_length " +
        "context_length_exceeded max_context_length",
    },
  },
  "too long": {
    "OpenAI, llama.cpp, z.ai: https://platform.openai.com/docs/guides/error-codes": {
      code: "context_length_exceeded exceed_context_size_error 1261 base_resp_1039",
    },
    "vLLM, Anthropic, TGI: https://docs.anthropic.com/en/api/errors": {
      status: [0, 400, 413, 422, 500],
      says: [
        /(?:exceed|maximum|larger|longer|greater).{0,60}context.{0,12}(?:length|window|size)/i,
        /context.{0,12}(?:length|window|size).{0,60}(?:exceed|maximum|limit|too|is \d|n_ctx)/i,
        /(?:prompt|input) is too long|input (?:token count|length).{0,40}exceed|Range of input length/i,
        /exceeded model token limit|maximum prompt length|max_new_tokens must be|\bn_keep\b.*\bn_ctx/i,
      ],
    },
  },
  "too large": {
    "OpenAI, Groq, of tokens per minute: https://console.groq.com/docs/errors": {
      status: [413, 429],
      says: [/request (?:body )?too large/i],
    },
  },
  credit: {
    // Only codes say so with 429: words of quota and billing are also used for limits per minute.
    "OpenAI, Moonshot: https://platform.moonshot.ai/docs/api/chat#error-reference": {
      code:
        "insufficient_quota billing_hard_limit_reached billing_not_active account_deactivated " +
        "exceeded_current_quota_error insufficient_user_quota access_terminated budget_exceeded",
      not: /token-limit|allocated quota/i,
    },
    "z.ai, MiniMax, DashScope, Ark: https://help.aliyun.com/zh/model-studio/error-code": {
      code: "1113 base_resp_1008 arrearage accountoverdueerror insufficient_balance creditserror " +
        "insufficient_credits insufficient_funds payment_required billing_error " +
        "allocationquota.freetieronly setlimitexceeded 1309",
    },
    "Anthropic, xAI, Gemini: https://docs.anthropic.com/en/api/errors": {
      status: [0, 400, 401, 403, 412, 429],
      says: [
        /credit balance is too low|insufficient (?:account )?(?:balance|credits?|funds)|余额不足|欠费/i,
        /(?:out of|not enough|used all|exhausted|have any)\b.{0,20}\bcredits\b|credits are depleted/i,
        /\baccount\b.{0,30}\b(?:suspended|overdue|in arrears)|please recharge|balance is insufficient/i,
        /reached your specified API usage limits/,
      ],
    },
    "DeepSeek, OpenRouter: https://api-docs.deepseek.com/quick_start/error_codes": {
      status: [402],
    },
  },
  key: {
    "Gemini, MiniMax, Groq: https://ai.google.dev/gemini-api/docs/troubleshooting": {
      code: "api_key_invalid invalid_api_key invalidapikey api_key_expired authentication_error " +
        "invalid_authentication_error base_resp_1004 base_resp_2049 organization_restricted",
    },
    "Gemini, xAI, Anthropic: https://ai.google.dev/gemini-api/docs/troubleshooting": {
      status: [400, 403],
      says: [
        /(?:invalid|incorrect|wrong|missing|expired) (?:x-)?api[ _-]?key|organization has been disabled/i,
        /api[ _-]?key (?:is |was |has )?(?:not valid|invalid|incorrect|missing|expired|not found)/i,
      ],
    },
    "all, where the words say so: https://platform.openai.com/docs/guides/error-codes": {
      status: [403],
      form: "JSON",
      says: [/api[ _-]?key|unauthori[sz]ed|not authori[sz]ed|credentials|authentication/i],
    },
    "all: https://platform.openai.com/docs/guides/error-codes": { status: [401], form: "no page" },
    "all, before an answer: https://platform.openai.com/docs/guides/error-codes": {
      status: [403],
      form: "JSON",
      first: true,
    },
  },
  model: {
    "OpenAI, Azure, z.ai, Ark, Groq: https://docs.z.ai/api-reference/api-code": {
      code: "model_not_found deploymentnotfound 1211 model_not_supported invalid_model " +
        "modelnotfound modelnotopen invalidendpointormodel.notfound unknown_model " +
        "model_not_available model_decommissioned modelerror",
    },
    "Anthropic: https://docs.anthropic.com/en/api/errors": {
      status: [404],
      code: "not_found_error",
      says: [/^model\b/i],
    },
    "Ollama, vLLM, Gemini, OpenRouter: https://docs.ollama.com/api/errors": {
      status: [0, 400, 404, 422],
      says: [
        /\bmodels?\b.{0,120}(?:not found|not exist\b|is invalid)|\binvalid model(?: name| id|:|$)/i,
        /\b(?:no such|unknown|not a valid|not found the) model\b|模型不存在|No models loaded/i,
        /No endpoints (?:found|available) (?:for|matching)\b|No allowed providers|on-demand throughput/i,
      ],
      not: /tool_call|\bmessages\b|conversation/i,
    },
  },
  address: {
    "LM Studio, Azure: https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/618": {
      status: [0, 400, 404, 500],
      says: [/Unexpected endpoint or method|^404 NOT_FOUND$|api[ -]version (?:is )?not supported/i],
    },
    "all, before an answer: https://platform.openai.com/docs/guides/error-codes": {
      status: [404, 405],
      not: /No endpoints found/,
      first: true,
    },
  },
  "no tools": {
    "Ollama, OpenRouter, LiteLLM: https://github.com/ollama/ollama/issues/8517": {
      status: [400, 404, 422, 500, 501],
      says: [
        /\bnot support (?:the )?(?:tools|(?:tool|function)[ -]?(?:use|calls?|calling)|functions)\b/i,
        /(?:tools|tool use|(?:tool|function) calling) (?:is|are) not (?:supported|available|enabled)/i,
        /No endpoints found that support tool use|(?:param|parameters): ?[[{]?tools\b/i,
      ],
    },
    "vLLM, llama.cpp: https://docs.vllm.ai/en/latest/features/tool_calling.html": {
      says: [/--tool-call-parser|--enable-auto-tool-choice|tool\w* param requires --jinja/],
    },
  },
  "responses only": {
    "OpenAI: https://platform.openai.com/docs/guides/reasoning": {
      status: [400, 404],
      says: [/reasoning_effort are not supported|(?:use|only supported in) \/?v1\/responses/i],
    },
  },
  "broken inference": {
    "z.ai, OpenRouter, vLLM: https://docs.z.ai/api-reference/llm/chat-completion": {
      finish: "error network_error server_error internal_error model_error abort aborted timeout " +
        "cancel canceled cancelled user_cancel interrupted failed unavailable overloaded " +
        "timed_out missing_thought_signature error_limit disconnected",
    },
    "OpenRouter, TGI, of what is behind: https://openrouter.ai/docs/api-reference/errors": {
      says: [
        /^provider returned error|upstream (?:error|request failed)|failed during generation/i,
      ],
    },
  },
  overload: {
    "DeepSeek: https://api-docs.deepseek.com/api/create-chat-completion": {
      finish: "insufficient_system_resource",
    },
    "OpenAI: https://platform.openai.com/docs/guides/error-codes": {
      status: [500],
      code: "server_error",
      says: [/^the server had an error/i],
    },
    "Gemini: https://ai.google.dev/gemini-api/docs/troubleshooting": {
      status: [500],
      code: "internal",
      says: [/^an internal error has occurred/i],
    },
    "Anthropic: https://docs.anthropic.com/en/api/errors": {
      status: [500],
      code: "api_error overloaded_error",
      says: [/^(?:internal server error|overloaded)$/i],
    },
    // What a gateway hands on may be of the model's making.
    "gateways: https://developers.cloudflare.com/support/troubleshooting/http-status-codes": {
      status: [502, 503, 504, 521, 522, 523, 529],
      not:
        /^(?!\s*<(?:!|html)|upstream connect|no healthy).*(?:upstream|provider|exception|invalid|generat|tool|SSE stream|InternalError)/i,
    },
  },
  "rate limit": {
    "all: https://platform.openai.com/docs/guides/rate-limits": { status: [429] },
    "z.ai, MiniMax, Moonshot: https://docs.z.ai/api-reference/api-code": {
      code: "1302 1303 1305 base_resp_1002 base_resp_1041 base_resp_2045 rate_limit_exceeded " +
        "rate_limit_error rate_limit_reached_error resource_exhausted engine_overloaded_error",
    },
  },
};

/**
 * All that is known of what servers say: the first row that fits says what it means. Codes come before words, and
 * words before what a status alone says, or a code of overload, as words may say more.
 */
export const SERVER_WORDS: readonly WordsRow[] = Object.entries(WORDS).flatMap(([means, rows]) =>
  Object.entries(rows).map(([from, words]) => ({ means: means as Meaning, from, ...words }))
).sort((one, other) => rank(one) - rank(other));

function rank({ means, code, says }: WordsRow): number {
  if (code !== undefined && (says !== undefined || !("fault" in MEANINGS[means]))) return 0;
  return says === undefined ? 2 : 1;
}
