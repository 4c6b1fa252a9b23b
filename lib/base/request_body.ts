/**
 * Bodies of requests to servers of this process, and of their answers to it.
 * @module
 */

/** Room for bodies that are held at the same time: each may be small enough, and all of them too many. */
export class BodyRoom {
  #left: number;

  /** Has room for this many bytes. */
  constructor(bytes: number) {
    this.#left = bytes;
  }

  /** Begins to take room for one body, which has it until that is disposed of. */
  share() {
    let taken = 0;
    return {
      /** Takes room for more bytes; returns whether there was as much. */
      take: (bytes: number): boolean => {
        if (bytes > this.#left) return false;
        this.#left -= bytes;
        taken += bytes;
        return true;
      },
      [Symbol.dispose]: () => {
        this.#left += taken;
        taken = 0;
      },
    };
  }
}

/** What a body takes of the room that it shares with others. */
export type BodyShare = ReturnType<BodyRoom["share"]>;

/**
 * Returns the text of a body, or `undefined` if it has more bytes than `limit`, or than there is room for; reading stops
 * there.
 */
export async function readBody(
  message: Request | Response,
  limit: number,
  share?: BodyShare,
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
    if (length > limit || share?.take(chunk.length) === false) return undefined;
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
