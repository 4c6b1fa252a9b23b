/**
 * Questions: whether a text asks its reader something, or for his consent; the words are English, question marks are those
 * of all scripts.
 * @module
 */

/** A question mark; one within an address asks nothing. */
const MARK = /\?(?!\w)|[՞؟፧⁇⁈⁉⸮꘏︖﹖？]/;
/** What asks without a question mark. */
const REQUEST =
  /\b(?:please|let me know|tell me|I(?:'ll| will)? need|(?:reply|answer|type|say) (?:with )?["'“]?yes)\b|\(y(?:es)?(?:\/| or )no?\)/i;
/** Courtesies: they ask for nothing in particular. */
const COURTESY =
  /\b(?:else|more|further|another|assist(?:ance)?|help|rate|feedback|survey|service|nice day|everything|how are you)\b/i;
/** What asks for leave to do something. */
const CONSENT =
  /\b(?:confirm|proceed|(?:reply|answer|type|say) (?:with )?["'“]?yes|go ahead|agree|consent|approve|sure|ready to|yes or no|(?:shall|should|may|can) (?:I|we)|(?:do|would) you (?:want|like|wish) (?:me |us )?to|is (?:that|this|it) (?:ok(?:ay)?|right|correct|all right|alright|fine)|ok(?:ay)?(?=\W*$))\b|\by(?:es)?\/no?\b/i;

/** Sentences that are looked at, from the end of a text: the others are seldom still open. */
const LAST = 2;
/** Characters of a text that are looked at, from its end. */
const REACH = 1000;

/** Whether a text asks its reader something. */
export function asks(text: string): boolean {
  return sentencesOf(text).some((sentence) =>
    (MARK.test(sentence) || REQUEST.test(sentence)) && !COURTESY.test(sentence)
  );
}

/** Whether the end of a text asks its reader for consent. */
export function asksConsent(text: string): boolean {
  return sentencesOf(text.slice(-REACH)).slice(-LAST).some((sentence) =>
    (MARK.test(sentence) || REQUEST.test(sentence)) && CONSENT.test(sentence) &&
    !COURTESY.test(sentence)
  );
}

function sentencesOf(text: string): string[] {
  return text.split(/(?<=[.!?՞؟፧⁇⁈⁉⸮꘏︖﹖？])\s+|\n+/).filter((one) => one.trim() !== "");
}
