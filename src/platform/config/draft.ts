import { entryName, entrySections } from './settings.ts';
import type { Source } from './settings.ts';
import { findKind, isEntrySection, listKeys, sectionNames, splitEntryKey } from './keys.ts';
import type { Kind } from './kind.ts';
import { findNearest } from '../../contract/index.ts';
import { isTable, spellKey } from './toml-tree.ts';
import type { Leaf } from './toml-tree.ts';

/** The configuration while layers are laid over each other: it goes on after a fault, so that all are found. */
export interface Draft {
  readonly values: Map<string, unknown>;
  readonly sources: Map<string, Source>;
  /** The named entries that exist, such as `regions.eu-west-1`. */
  readonly entries: Set<string>;
  readonly faults: Set<string>;
  /** What is odd and does no harm. */
  readonly warnings: Set<string>;
  /** Keys that a fault was about: a rule over several keys says nothing sensible while one of them is wrong. */
  readonly unsound: Set<string>;
}

/** Where a value stands: `shownAs` begins its faults. */
export interface Origin {
  readonly source: Source;
  readonly shownAs: string;
}

export function emptyDraft(): Draft {
  return {
    values: new Map(),
    sources: new Map(),
    entries: new Set(),
    faults: new Set(),
    warnings: new Set(),
    unsound: new Set(),
  };
}

export const copyOf = (draft: Draft): Draft => ({
  values: new Map(draft.values),
  sources: new Map(draft.sources),
  entries: new Set(draft.entries),
  faults: new Set(draft.faults),
  warnings: new Set(draft.warnings),
  unsound: new Set(draft.unsound),
});

export function applyLeaf(draft: Draft, leaf: Leaf, origin: Origin): void {
  const key = spellKey(leaf.path);
  const kind = findKind(key);
  if (kind !== undefined) {
    const entry = splitEntryKey(key);
    if (entry !== undefined) draft.entries.add(`${entry.section}.${entry.name}`);
    assign(draft, { key, kind, raw: leaf.raw }, origin);
    return;
  }
  if (acceptsEmptyTable(draft, leaf)) return;
  draft.faults.add(`${origin.shownAs}: ${refuseStructure(leaf) ?? refuseUnknownKey(draft, key)}`);
}

/** Gives entries of one's own the defaults of their section's template, for what they leave out. */
export function fillEntries(draft: Draft, defaults: ReadonlyMap<string, unknown>): void {
  for (const entry of draft.entries) {
    const section = entry.slice(0, entry.indexOf('.')) as keyof typeof entrySections;
    const { template, fields } = entrySections[section];
    for (const field of Object.keys(fields)) {
      const key = `${entry}.${field}`;
      if (draft.values.has(key)) continue;
      draft.values.set(key, defaults.get(`${section}.${template}.${field}`));
      draft.sources.set(key, 'default');
    }
  }
}

function assign(draft: Draft, given: { key: string; kind: Kind<unknown>; raw: unknown }, origin: Origin): void {
  const { key, kind, raw } = given;
  const parsed = kind.read(raw);
  if ('value' in parsed) {
    draft.values.set(key, parsed.value);
    draft.sources.set(key, origin.source);
    return;
  }
  draft.unsound.add(key);
  for (const { at, expects, got } of parsed.unfit) {
    const quoted = kind.mask === undefined ? quote(got) : 'a value that is not shown, because it is secret';
    draft.faults.add(`${origin.shownAs}: ${key}${at} must be ${expects}; got ${quoted}`);
  }
}

/** `[http]` alone changes nothing, `[regions.home]` alone makes a region. */
function acceptsEmptyTable(draft: Draft, leaf: Leaf): boolean {
  if (!isTable(leaf.raw) || !isPlaceOfTable(leaf.path)) return false;
  if (leaf.path.length === 2) draft.entries.add(leaf.path.join('.'));
  return true;
}

function isPlaceOfTable([section = '', name, ...rest]: readonly string[]): boolean {
  if (rest.length > 0) return false;
  return name === undefined ? sectionNames.includes(section) : isEntrySection(section) && entryName.test(name);
}

function refuseStructure({ path, raw }: Leaf): string | undefined {
  const [section = '', name] = path;
  if (isEntrySection(section) && name !== undefined && !entryName.test(name)) {
    return `${spellKey([section, name])} is no usable name; use lower-case letters, digits and single hyphens, such as ${section}.my-own`;
  }
  if (!isPlaceOfTable(path)) return undefined;
  const key = spellKey(path);
  return `${key} must be a table of settings, [${key}]; got ${quote(raw)}`;
}

function refuseUnknownKey(draft: Draft, key: string): string {
  const [section = '', name] = key.split('.');
  const own = isEntrySection(section) && name !== undefined ? [`${section}.${name}`] : [];
  const keys = listKeys([...own, ...draft.entries]);
  const above = keys.find((one) => key.startsWith(`${one}.`));
  const ending = `.${key.slice(key.lastIndexOf('.') + 1)}`;
  const nearest = above ?? findNearest(key, [...keys, ...sectionNames], ending);
  if (nearest === undefined) return `${key} is not a setting; config/default.toml lists them all`;
  draft.unsound.add(nearest);
  return `${key} is not a setting; did you mean ${nearest}?`;
}

/** Long enough to recognise the value, short enough for one line; what could be a password in a URL is left out of any value. */
function quote(raw: unknown): string {
  if (isTable(raw)) return 'a table';
  if (raw instanceof Date) return 'a date';
  const written = typeof raw === 'string' || Array.isArray(raw) ? JSON.stringify(raw, writeBigint) : String(raw);
  const safe = written.replaceAll(/:[^"\s]*@/g, ':***@');
  return safe.length > 80 ? `${safe.slice(0, 77)}...` : safe;
}

function writeBigint(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value;
}
