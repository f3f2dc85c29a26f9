import type { Kind } from './kind.ts';
import { entryName, entrySections, sections } from './settings.ts';

export const sectionNames: readonly string[] = [...Object.keys(sections), ...Object.keys(entrySections)];

const fixedKinds = new Map<string, Kind<unknown>>(
  Object.entries(sections).flatMap(([section, kinds]) =>
    Object.entries(kinds).map(([name, kind]): [string, Kind<unknown>] => [`${section}.${name}`, kind]),
  ),
);

const entryFields = new Map<string, Map<string, Kind<unknown>>>(
  Object.entries(entrySections).map(([section, { fields }]) => [
    section,
    new Map<string, Kind<unknown>>(Object.entries(fields)),
  ]),
);

/** The kind of a key, or undefined when no setting has that name. */
export function findKind(key: string): Kind<unknown> | undefined {
  const entry = splitEntryKey(key);
  return fixedKinds.get(key) ?? (entry && entryFields.get(entry.section)?.get(entry.field));
}

export function splitEntryKey(key: string): { section: string; name: string; field: string } | undefined {
  const [section = '', name = '', field, ...rest] = key.split('.');
  if (field === undefined || rest.length > 0 || !entryFields.has(section) || !entryName.test(name)) return undefined;
  return { section, name, field };
}

/** All keys there are, given the entries that exist, such as `regions.eu-west-1`. */
export function listKeys(entries: Iterable<string>): string[] {
  const keys = [...fixedKinds.keys()];
  for (const entry of entries) {
    const fields = entryFields.get(entry.split('.')[0] ?? '');
    keys.push(...[...(fields?.keys() ?? [])].map((field) => `${entry}.${field}`));
  }
  return keys;
}

export function isEntrySection(section: string): boolean {
  return entryFields.has(section);
}

/** `http.port` is RASKET_HTTP_PORT, `regions.eu-west-1.sandbox` is RASKET_REGIONS_EU_WEST_1_SANDBOX. */
export function variableName(key: string): string {
  return `RASKET_${key.toUpperCase().replaceAll(/[.-]/g, '_')}`;
}
