/**
 * A server whose model never says the same twice, for tests on what is asked again.
 */

import { sayingServer } from "./saying_server.ts";

/** Serves a model that calls `weather`, each time of another city, and then answers. */
export function drawingServer(state = { model: "mine-1" }) {
  return sayingServer(({ number, body }) => {
    const isOver = (body["messages"] as { role: string }[]).at(-1)!.role === "tool";
    const city = JSON.stringify({ city: `city ${number}` });
    const said = isOver ? { text: "Fine." } : { calls: [{ name: "weather", arguments: city }] };
    return { ...state, ...said };
  });
}
