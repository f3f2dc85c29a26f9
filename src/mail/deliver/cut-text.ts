/** Limit for what is stored of one text of a mail server; whole replies may have a megabyte. */
export const PEER_TEXT_CHARS_MAX = 1000;

/** Cuts a text between two characters; one that was cut ends with an ellipsis. */
export function cutText(text: string, charsMax = PEER_TEXT_CHARS_MAX): string {
  if (text.length <= charsMax) return text;
  // Removes half of a surrogate pair, which PostgreSQL refuses in JSON.
  return `${text.slice(0, charsMax - 1).replace(/[\ud800-\udbff]$/, '')}…`;
}
