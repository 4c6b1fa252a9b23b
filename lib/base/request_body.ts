/**
 * Bodies of requests to servers of this process, and of their answers to it.
 * @module
 */

/** Returns the text of a body, or `undefined` if it has more bytes than `limit`; reading stops there. */
export async function readBody(
  message: Request | Response,
  limit: number,
): Promise<string | undefined> {
  // The answer to HEAD has the length of a body that does not come.
  const { body, headers } = message;
  if (body !== null && Number(headers.get("content-length")) > limit) {
    await body.cancel();
    return undefined;
  }
  const decoder = new TextDecoder();
  let length = 0;
  let text = "";
  for await (const chunk of body ?? []) {
    length += chunk.length;
    if (length > limit) return undefined;
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
