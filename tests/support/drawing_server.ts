/**
 * A server whose model never says the same twice, for tests on what is asked again.
 */

/** Serves a model that calls `weather`, each time of another city, and then answers. */
export function drawingServer() {
  const state = { requests: 0, model: "mine-1" };
  const options = { port: 0, hostname: "127.0.0.1", onListen() {} };
  const server = Deno.serve(options, async (request) => {
    const { messages } = await request.json();
    const number = ++state.requests;
    const call = {
      id: `call_${number}`,
      type: "function",
      function: { name: "weather", arguments: JSON.stringify({ city: `city ${number}` }) },
    };
    const isOver = messages.at(-1).role === "tool";
    return Response.json({
      ...{ id: "x", object: "chat.completion", created: 1, model: state.model },
      choices: [{
        index: 0,
        finish_reason: isOver ? "stop" : "tool_calls",
        message: {
          role: "assistant",
          ...(isOver ? { content: "Fine." } : { content: null, tool_calls: [call] }),
        },
      }],
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    });
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}/v1`,
    state,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}
