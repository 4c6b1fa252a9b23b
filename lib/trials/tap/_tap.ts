/**
 * The tap of one trial: watches what the agent asks models, and matches the calls of their replies with those that
 * the agent carries out.
 *
 * A call is judged as the model wrote it. What an agent's framework makes of it (hides it, repairs it, asks again) is
 * recorded beside it, and excuses nothing.
 * @module
 */

import { inTime } from "../../base/deadline.ts";
import { isErrorOf, reasonOf } from "../../base/errors.ts";
import { defined, printable } from "../../base/json.ts";
import { redact } from "../../base/redact.ts";
import { BodyRoom, type BodyShare, readBody } from "../../base/request_body.ts";
import type { FailedAttempt, Omission } from "../../calls/trace.ts";
import { ModelFault } from "../../models/http/endpoint.ts";
import {
  InfrastructureError,
  type Model,
  type ModelReply,
  type ModelServer,
} from "../../models/model.ts";
import {
  type AgentRequest,
  apiOfPath,
  readAgentRequest,
} from "../../models/openai/agent_request.ts";
import {
  copied,
  readFault,
  readWatched,
  type Server,
  type WatchedReply,
} from "../../models/openai/watched_reply.ts";
import type { Message } from "../../tools/message.ts";
import type { ToolResult } from "../../tools/tool.ts";
import {
  isLimited,
  type Limited,
  type Session,
  type Watched,
  type WatchedRequest,
} from "../agent/session.ts";
import { inThisContext } from "../../base/tracing.ts";
import { AnnouncedCalls, type AnnouncedCallsOptions, ownCallsOf } from "./_announced_calls.ts";
import {
  awaited,
  brokenOff,
  inReplyTime,
  isSequel,
  ofOtherModel,
  passOn,
  refusalFor,
  refuse,
  type Send,
  sendingTo,
  serverAt,
  showsText,
  withChoice,
} from "./_requests.ts";
import { type Address, openAddress } from "../../base/loopback.ts";
import { SUBMIT } from "./_mcp_server.ts";
import { bodyRule, MAX_BODIES } from "./_tools_over_http.ts";
import { ASK, OfferedNames } from "./_offered_names.ts";
import type { OwnTurns } from "./_own_turns.ts";

/** Bytes of a request, at most. */
const MAX_REQUEST = 64 * 2 ** 20;

/** Milliseconds that calls may take once the agent has answered, at most. */
const LAST_CALLS = 5_000;

/** What a tap belongs to. */
export interface TapOptions extends Omit<AnnouncedCallsOptions, "names"> {
  /** Takes the replies. */
  readonly session: Session;
  /** The model under test. */
  readonly model: Model;
}

/** What a turn needs of the tap. */
export interface Turn {
  /** Receives the messages of the conversation. */
  readonly heard: (message: Message) => void;
  /** Answers requests for functions; `undefined` to a request for anything else. */
  readonly serve: (
    request: Request,
    path: string,
    share: BodyShare,
  ) => Promise<Response | undefined>;
  /** Texts that stand before the user's message, by what they are of. */
  readonly before: Readonly<Partial<Record<Omission, string>>>;
  /** Finds what the agent says in the name of the user; omitted where the test has him. */
  readonly own?: OwnTurns | undefined;
}

/** A request under way, until its reply is read to its end. */
interface Underway {
  /** Whether its answer has begun, whose calls the agent may have. */
  hasBegun: boolean;
  /** Gives it up if its answer has not begun. */
  readonly giveUp: (reason: unknown) => void;
  ended: Promise<unknown>;
}

/** The tap of one trial. */
export class Tap implements AsyncDisposable {
  /** Settles with the limit that the agent's requests or calls reached, if they do. */
  readonly limited: Promise<Limited>;

  readonly #options: TapOptions;
  readonly #limit = Promise.withResolvers<Limited>();
  readonly #controller = new AbortController();
  readonly #underway = new Set<Underway>();
  /** The calls of the agent that have not ended. */
  readonly #making = new Set<Promise<string>>();
  readonly #bodies = new BodyRoom(MAX_BODIES);
  readonly #names: OfferedNames;
  readonly #calls: AnnouncedCalls;
  readonly #failed: FailedAttempt[] = [];
  /** Requests come from a server of all trials, and belong to this one. */
  readonly #answerHere = inThisContext((request: Request, path: string) =>
    this.#answer(request, path)
  );
  #address: Address | undefined;
  #over: Limited | undefined;
  /** The fault of the user, which ends the trial whatever the agent makes of it. */
  #spoiled: InfrastructureError | undefined;
  /** What the user is told at present; he answers one text after another. */
  #saying: Promise<unknown> = Promise.resolve();
  /** Whether the agent works on a message: between messages, and after the last, nothing is sent for it. */
  #isWorking = false;
  #hasSeen = false;
  /** The requests that came by, without those that the agent itself broke off. */
  #asked = 0;
  #fault: InfrastructureError | undefined;
  #turn: Turn | undefined;
  /** What no request of the turn has shown so far. */
  #omits: readonly Omission[] = [];

  /** Watches nothing yet. */
  constructor(options: TapOptions) {
    this.#options = options;
    this.limited = this.#limit.promise;
    const tools = options.environment.tools.map(({ name }) => name);
    const names = this.#names = new OfferedNames([...tools, SUBMIT, ASK]);
    this.#calls = new AnnouncedCalls({ ...options, names }, (result) => this.#give(result));
  }

  /** The limit that was reached, if one was. */
  get over(): Limited | undefined {
    return this.#over;
  }

  /** Whether a reply has come by. */
  get hasSeen(): boolean {
    return this.#hasSeen;
  }

  /**
   * Whether what the model called was seen, be it that a limit or fault came before its first reply: some request came
   * by, and every call that the agent made was that of a reply, or in place of one. What another client asks, what a
   * model writes into texts, and functions under names of the agent's own show in calls that no reply made.
   */
  get isWatched(): boolean {
    return this.#asked > 0 && !this.#calls.hasUnannounced;
  }

  /** Why the last request got no reply, if that is neither the model's doing nor the agent's. */
  get fault(): InfrastructureError | undefined {
    if (this.#spoiled !== undefined) return this.#spoiled;
    const fault = this.#fault;
    const isOuter = fault?.fault === "infrastructure" || fault?.retryable ||
      fault?.permanent !== undefined;
    return isOuter ? fault : undefined;
  }

  /** Aborts when the trial is over. */
  get signal(): AbortSignal {
    const { signal } = this.#options.session;
    return AbortSignal.any([this.#controller.signal, ...(signal === undefined ? [] : [signal])]);
  }

  /**
   * Opens the address of the trial, with the server if it is the first.
   *
   * @throws {InfrastructureError} If the server cannot start.
   */
  async open(): Promise<Address> {
    return this.#address ??= await openAddress(this.#answerHere).catch((cause) => {
      const reason = printable(redact(reasonOf(cause)), 300);
      throw new InfrastructureError(`Cannot listen for the agent: ${reason}`, { cause });
    });
  }

  /** Begins a turn. */
  begin(turn: Turn): void {
    this.#turn = turn;
    this.#omits = Object.keys(turn.before) as Omission[];
    // All is settled of the turn before, whose requests a new one may look like.
    this.#calls.forget();
    this.#isWorking = true;
  }

  /** Watches a request, wherever it goes; those below the trial's address go to the model under test. */
  readonly fetch: typeof fetch = async (input, init) => {
    const given = input instanceof Request ? input : undefined;
    const url = new URL(given?.url ?? String(input));
    const base = this.#address?.url;
    if (base !== undefined && url.href.startsWith(`${base}/`)) {
      const path = url.href.slice(base.length).replace(/[?#].*$/, "");
      const request = new Request(input, init);
      return await awaited(this.#answer(request, path), request.signal);
    }
    const method = (init?.method ?? given?.method ?? "GET").toUpperCase();
    const api = method === "POST" ? apiOfPath(url.pathname) : undefined;
    if (api === undefined) return await fetch(input, init);
    const request = new Request(input, init);
    const asked = this.#read(api, await request.clone().text());
    if (asked === undefined) return await fetch(request);
    const server = serverAt(url, asked.model);
    const choice = this.#names.choiceIn(asked.tools, this.#options.environment.toolChoice);
    const send = sendingTo(url, request, { asked, choice, server });
    const answering = this.#exchange(asked, server, request.signal, send);
    return await awaited(answering, request.signal);
  };

  /**
   * Says a text to the user while the agent works, and returns what he says.
   *
   * @param say Tells him, once all that the model said before is heard.
   * @throws {Error} If the trial is over, or he spoils it.
   */
  async tell(say: () => Promise<string | undefined>): Promise<string | undefined> {
    const saying = this.#saying.then(async () => {
      await this.#readBegun();
      if (this.#ended !== undefined || !this.#isWorking) throw new Error(overText(this.#ended));
      return await this.#options.session.apart(say).catch((error) => {
        if (isErrorOf(error, InfrastructureError)) this.#spoiled ??= error;
        this.#limit.reject(error);
        this.#controller.abort(error);
        throw error;
      });
    });
    this.#saying = saying.catch(() => {});
    return await saying;
  }

  /** Carries out a call of the agent, which it may have from a reply; by its id there, if the agent gives it. */
  async execute(name: string, written: string, id?: string): Promise<string> {
    const making = this.#execute(name, written, id);
    this.#making.add(making);
    try {
      return await making;
    } finally {
      this.#making.delete(making);
    }
  }

  /** Waits a moment for calls that the agent did not wait for: they count as well. */
  async waitForCalls(): Promise<void> {
    const deadline = { timeout: LAST_CALLS, outOfTime: () => undefined, signal: this.signal };
    await inTime(() => Promise.allSettled(this.#making), deadline).catch(() => {});
  }

  async #execute(name: string, written: string, id: string | undefined): Promise<string> {
    await this.#readBegun();
    const { environment } = this.#options;
    // The agent may have the calls of the very reply that reached a limit.
    if (this.#ended !== undefined && !environment.exhausted) throw new Error(overText(this.#ended));
    // At the end calls are only refused.
    if (environment.ended || environment.exhausted) return await environment.call(name, written);
    if (this.hasSeen) return await this.#calls.execute(name, written, id);
    this.#calls.hasUnannounced = true;
    const content = await environment.call(name, written);
    return this.#give({ callId: "", name, content });
  }

  /** Waits for the replies under way, and records what the agent left of their calls: it holds them if it has answered. */
  async settle({ hasAnswered = false } = {}): Promise<void> {
    this.#isWorking = false;
    // Nobody waits for them any more.
    for (const { giveUp } of this.#underway) giveUp(new DOMException("given up", "AbortError"));
    while (this.#underway.size > 0) await Promise.all(this.#ends());
    await this.#saying;
    await this.#calls.close(hasAnswered && this.#over === undefined);
  }

  /** Ends what the agent still does. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isWorking = false;
    this.#controller.abort(new Error("The trial is over"));
    await Promise.all([...this.#ends(), this.#saying]);
    await this.#address?.[Symbol.asyncDispose]();
  }

  /** Answers a request below the trial's address. */
  async #answer(request: Request, path: string): Promise<Response> {
    using share = this.#bodies.share();
    const served = await this.#turn?.serve(request, path, share);
    if (served !== undefined) return served;
    const below = path.startsWith("/v1/") ? path.slice("/v1".length) : undefined;
    if (below === undefined) return refuse(404, `There is no ${printable(path, 100)}`);
    const server = await this.#server();
    if (request.method === "GET" && below === "/models") {
      const { model: id } = server;
      return Response.json({ object: "list", data: [{ id, object: "model", created: 0 }] });
    }
    if (request.method !== "POST") {
      return refuse(405, `The method must be POST: it is ${request.method}`);
    }
    const text = await readBody(request, MAX_REQUEST, share);
    if (text === undefined) return refuse(413, `The body ${bodyRule(MAX_REQUEST)}`);
    const api = apiOfPath(below);
    const asked = api && this.#read(api, text);
    if (asked === undefined) {
      return this.#refusal ?? await passOn(server, { path: below, text, signal: this.signal });
    }
    const { toolChoice } = this.#options.environment;
    const body = withChoice(asked, this.#names.choiceIn(asked.tools, toolChoice));
    const send: Send = (watched) => server.forward({ path: below, body, ...watched });
    return await this.#exchange(asked, server, request.signal, send);
  }

  /** Reads a request, and the names under which it offers functions; `undefined` if it is none for a reply. */
  #read(api: AgentRequest["api"], text: string): AgentRequest | undefined {
    const asked = readAgentRequest(api, text);
    if (asked !== undefined) this.#names.learn(asked.tools);
    return asked;
  }

  /** The server that a model without one gets. */
  #made: ModelServer | undefined;

  /** The server of the model under test; one without a server gets one. */
  async #server(): Promise<ModelServer> {
    const { model } = this.#options;
    if (model.server !== undefined) return model.server;
    const { serverOf } = await import("../../simulated/model_server.ts");
    return this.#made ??= serverOf(model);
  }

  /**
   * Sends a request, and reads the reply while the agent gets it. A request that the agent gives up is not answered;
   * an answer that has begun is read to its end.
   */
  async #exchange(
    request: AgentRequest,
    server: Server,
    given: AbortSignal,
    send: Send,
  ): Promise<Response> {
    this.#asked++;
    const replaces = await this.#follow(request);
    const refusal = this.#refusal;
    if (refusal !== undefined) return refusal;
    const { n } = request.body;
    if (typeof n === "number" && n > 1) {
      return refuse(400, "n must be 1: of several replies at once only one could be judged");
    }
    const answer = Promise.withResolvers<Response>();
    // A reply may be complete before the agent waits for it.
    answer.promise.catch(() => {});
    const sending = new AbortController();
    const one: Underway = {
      ...{ hasBegun: false, ended: Promise.resolve() },
      giveUp: (reason) => one.hasBegun || sending.abort(reason),
    };
    this.#underway.add(one);
    given.addEventListener("abort", () => one.giveUp(given.reason));
    if (given.aborted) one.giveUp(given.reason);
    this.#omits = this.#omits.filter((part) => !showsText(request, this.#turn!.before[part]!));
    const omits = this.#omits.length === 0 ? undefined : this.#omits;
    const { model, session, environment } = this.#options;
    const isOther = request.model !== "" && request.model !== (model.server?.model ?? model.name);
    const { messages, tools } = request;
    // A guardrail, or a title, may well be cut off: that is for the agent to handle.
    const offered = new Set(tools.map(({ name }) => this.#names.plain(name)));
    const beside = isOther ||
      environment.tools.length > 0 && !environment.tools.some(({ name }) => offered.has(name));
    for (const content of beside ? [] : this.#turn!.own?.find(request) ?? []) {
      this.#turn!.heard({ role: "user", content });
    }
    let read: WatchedReply | undefined;
    let number = 0;
    const watch = async (asked: WatchedRequest): Promise<Watched> => {
      number = asked.context.request;
      let duration = 0;
      let failed: readonly FailedAttempt[] = [];
      try {
        const { signal } = this;
        const sent = await send(
          { ...asked, signal: AbortSignal.any([signal, sending.signal]) },
          answer,
        );
        one.hasBegun = true;
        ({ duration, failed = [] } = sent);
        const started = performance.now();
        const { passed, text } = copied(sent.response, signal);
        answer.resolve(passed);
        read = readWatched(request, await inReplyTime(text, asked), server);
        duration += performance.now() - started;
      } catch (error) {
        // Retrying wraps it.
        const fault = isErrorOf(error, InfrastructureError) && isErrorOf(error.cause, ModelFault)
          ? error.cause
          : error;
        if (!isErrorOf(fault, ModelFault)) throw isOther ? ofOtherModel(error) : error;
        answer.resolve(refusalFor(fault));
        read = readFault(fault, request, server);
        // The last one got the reply that the fault stands for.
        if (isErrorOf(error, InfrastructureError)) failed = error.failed.slice(0, -1);
      }
      this.#hasSeen = true;
      const all = [...this.#failed.splice(0), ...failed];
      const { calls, ownCalls } = ownCallsOf(request, read, { environment, names: this.#names });
      return {
        reply: { ...read.reply, calls, duration, ...(all.length === 0 ? {} : { failed: all }) },
        replaces,
        ownCalls,
        omits,
        model: isOther ? request.model : undefined,
      };
    };
    one.ended = session.ask({ messages, tools, beside, watch }).then(
      (reply) => {
        if (isLimited(reply)) this.end(reply);
        else this.#announce(request, read!.id, number, reply);
        // Without an answer so far a limit was reached before.
        answer.resolve(refuse(400, overText(undefined)));
      },
      (error) => {
        const fault = isErrorOf(error, InfrastructureError) ? error : brokenOff(error, server);
        this.#fault = fault;
        if (fault !== error && this.#over === undefined) this.#asked--;
        if (one.hasBegun) this.#calls.breakOff(request);
        // What the agent gives up is no failure of a server.
        if (!sending.signal.aborted) this.#failed.push(...fault.failed);
        if (isErrorOf(error, InfrastructureError)) answer.resolve(refusalFor(error));
        else answer.reject(error);
      },
    ).then(() => this.#underway.delete(one));
    return await answer.promise;
  }

  /** The answer to any request while the agent has nothing to work on; else `undefined`. */
  get #refusal(): Response | undefined {
    const over = this.#ended;
    return over === undefined && this.#isWorking ? undefined : refuse(400, overText(over));
  }

  /** The limit or the user's fault that ended the trial, if one did. */
  get #ended(): Pick<Limited, "message"> | undefined {
    return this.#over ?? this.#spoiled;
  }

  /** When the requests under way end: all of them, or those whose answer has begun. */
  #ends(hasBegun = false): Promise<unknown>[] {
    return [...this.#underway].filter((one) => one.hasBegun || !hasBegun).map(({ ended }) => ended);
  }

  /** Waits until the replies are read that have begun, whose calls the agent may have. */
  async #readBegun(): Promise<void> {
    while (this.#ends(true).length > 0) await Promise.all(this.#ends(true));
  }

  /** Takes a reply, whose calls the agent may carry out from now on. */
  #announce(request: AgentRequest, id: string, number: number, reply: ModelReply): void {
    const { text, carried } = reply;
    this.#fault = undefined;
    if (reply.calls.length === 0) this.#turn?.own?.answered(reply, id);
    this.#calls.announce({ request, id, number }, reply.calls);
    const calls = reply.calls.map((call) => ({ ...call, name: this.#names.plain(call.name) }));
    this.#turn?.heard({ role: "assistant", content: text, calls, ...defined({ carried }) });
  }

  /** Closes the replies that a request goes on from; returns the request whose reply it asks for again. */
  async #follow(request: AgentRequest): Promise<number | undefined> {
    // A reply that the agent has just got to its end is read to its end in the same turn of the event loop.
    if (this.#ends(true).length > 0) await new Promise((resolve) => setTimeout(resolve));
    if (isSequel(request)) await this.#readBegun();
    return await this.#calls.follow(request);
  }

  /** Gives the result of a call to the agent, and ends the trial if that was one call too many. */
  #give(result: ToolResult): string {
    if (result.callId !== "") this.#turn?.heard({ role: "tool", ...result });
    if (this.#options.environment.exhausted) {
      this.end({ kind: "call_limit", message: "a call past the limit was made" });
    }
    return result.content;
  }

  /** Ends the trial by a limit. */
  end(limited: Limited): void {
    if (this.#spoiled !== undefined) return;
    this.#over ??= limited;
    this.#limit.resolve(this.#over);
    this.#controller.abort(new Error(overText(limited)));
  }
}

/** Says that the trial is over, and why. */
export function overText(over: Pick<Limited, "message"> | undefined): string {
  return over === undefined ? "The trial is over" : `The trial is over: ${over.message}`;
}
