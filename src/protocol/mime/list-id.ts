/** RFC 2919 §2. */
const LIST_ID_CHARS_MAX = 255;

/**
 * Formats the value of List-Id for a list that has an id of its own at a domain (RFC 2919); undefined if the domain's name
 * leaves no room for it.
 */
export function formatListId(id: string, domain: string): string | undefined {
  const value = `${id.toLowerCase()}.${domain}`;
  return value.length > LIST_ID_CHARS_MAX ? undefined : `<${value}>`;
}
