import { applyLeaf } from './draft.ts';
import type { Draft } from './draft.ts';
import { findKind, listKeys, variableName } from './keys.ts';
import { findNearest } from '../../contract/index.ts';
import { entrySections } from './settings.ts';

/** Read by the launcher, the command line and the tests; no settings of the server. */
const otherNames = [
  'RASKET_API_KEY',
  'RASKET_URL',
  'RASKET_DATA',
  'RASKET_CONFIG',
  'RASKET_PROFILE',
  'RASKET_BASE_URL',
  'RASKET_DEV_API_KEY',
];
const otherPrefixes = ['RASKET_TEST_', 'RASKET_BENCH_', 'RASKET_CI_'];

/** Variables set the entries that exist already; they make none, since a name's hyphens cannot be told from its end. */
export function applyEnvironment(draft: Draft, env: Readonly<Record<string, string | undefined>>): void {
  const keys = new Map(listKeys(draft.entries).map((key) => [variableName(key), key]));
  for (const [name, text] of Object.entries(env).toSorted(([one], [other]) => (one < other ? -1 : 1))) {
    if (text === undefined || !isOurs(name)) continue;
    const key = keys.get(name);
    const kind = key === undefined ? undefined : findKind(key);
    if (key === undefined || kind === undefined) noteUnknownName(draft, name, keys);
    else applyLeaf(draft, { path: key.split('.'), raw: kind.fromText(text) }, { source: 'env', shownAs: name });
  }
}

function isOurs(name: string): boolean {
  if (!name.startsWith('RASKET_') || otherNames.includes(name)) return false;
  return !otherPrefixes.some((prefix) => name.startsWith(prefix));
}

/** What looks like a slip of typing stops the start; a name like no setting is another program's, and is only told of. */
function noteUnknownName(draft: Draft, name: string, keys: ReadonlyMap<string, string>): void {
  const nearest = findNearest(name.toUpperCase(), [...keys.keys(), ...otherNames], name.slice('RASKET'.length));
  const key = keys.get(nearest ?? '');
  if (key !== undefined) draft.unsound.add(key);
  const hint = nearest === undefined ? '' : `; did you mean ${key === undefined ? nearest : `${nearest} (${key})`}?`;
  const section = findSectionOfMissingEntry(name);
  if (section !== undefined) {
    const known = [...draft.entries].filter((entry) => entry.startsWith(`${section}.`)).join(', ');
    draft.faults.add(
      `environment: ${name} fits none of ${known}; add [${section}.<name>] to your file to have another${hint}`,
    );
  } else if (nearest === undefined) {
    draft.warnings.add(`environment: ${name} is not a setting and is ignored; config/default.toml lists them all`);
  } else {
    draft.faults.add(`environment: ${name} is not a setting${hint}`);
  }
}

/** The section whose field the name ends in, when what stands between them is the name of no entry. */
function findSectionOfMissingEntry(name: string): string | undefined {
  for (const [section, { fields }] of Object.entries(entrySections)) {
    const prefix = `RASKET_${section.toUpperCase()}_`;
    if (name.startsWith(prefix) && Object.keys(fields).some((field) => name.endsWith(`_${field.toUpperCase()}`))) {
      return section;
    }
  }
  return undefined;
}
