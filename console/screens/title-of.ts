/** What a person calls an item. */
export function titleOf(item: object): string {
  const { name, subject, email, endpoint, type, key, id } = item as Readonly<Record<string, unknown>>;
  const title = [name, subject, email, endpoint, type, key, id].find((text) => typeof text === 'string' && text !== '');
  return String(title ?? '');
}
