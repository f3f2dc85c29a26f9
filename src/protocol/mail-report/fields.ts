/** Fields of one group, by name in lower case; the first of a name counts. */
export type Fields = ReadonlyMap<string, string>;

const GROUPS_MAX = 200;

/** The groups of fields in a report part (RFC 3464 §2.1, RFC 5965 §3.1): fields as in a header, groups apart by blank lines. */
export function fieldGroups(content: Uint8Array): Fields[] {
  const text = Buffer.from(content.buffer, content.byteOffset, content.byteLength)
    .toString('utf8')
    .replaceAll('\r\n', '\n');
  return text
    .split(/\n[ \t]*\n/)
    .filter((group) => group.trim() !== '')
    .slice(0, GROUPS_MAX)
    .map(fieldsIn);
}

export function fieldsIn(group: string): Fields {
  const fields = new Map<string, string>();
  for (const line of group.replaceAll(/\n[ \t]+/g, ' ').split('\n')) {
    const colon = line.indexOf(':');
    if (colon <= 0) continue;
    const name = line.slice(0, colon).trim().toLowerCase();
    if (!fields.has(name)) fields.set(name, line.slice(colon + 1).trim());
  }
  return fields;
}

/** In one run over the value, however long it is and however many at signs stand in it. `rfc822; someone@example.org`, or as some write it `<someone@example.org>`; undefined where no address stands there. */
export function addressIn(value: string | undefined): string | undefined {
  if (value === undefined) return undefined;
  const bare = value.replace(/^[a-z0-9-]+\s*;/i, '').trim();
  const address = /<([^<>\s@]+@[^<>\s@]+)>/.exec(bare)?.[1] ?? bare.split(/\s+/, 1)[0] ?? '';
  return /^[^\s<>@]+@[^\s<>@]+$/.test(address) ? address : undefined;
}
