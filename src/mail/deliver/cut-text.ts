/** Bounds what is kept of one text of a mail server; whole replies may be a megabyte. */
export const PEER_TEXT_CHARS_MAX = 1000;

/** Cuts a text between two characters; one that was cut ends with an ellipsis. */
export function cutText(text: string, charsMax = PEER_TEXT_CHARS_MAX): string {
  if (text.length <= charsMax) return text;
  // Half of a pair of surrogates is no text: PostgreSQL refuses it in JSON.
  return `${text.slice(0, charsMax - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}
