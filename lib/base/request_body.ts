/**
 * Bodies of requests to servers of this process, and of their answers to it.
 * @module
 */

/** Returns the text of a body, or `undefined` if it has more bytes than `limit`; reading stops there. */
export async function readBody(
  message: Request | Response,
  limit: number,
): Promise<string | undefined> {
  if (Number(message.headers.get("content-length")) > limit) return undefined;
  const decoder = new TextDecoder();
  let length = 0;
  let text = "";
  for await (const chunk of message.body ?? []) {
    length += chunk.length;
    if (length > limit) return undefined;
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
