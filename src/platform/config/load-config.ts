import { readFileSync } from 'node:fs';
import { readProgramFile } from '../../program-files/index.ts';
import { findConflicts, findNameFault } from './cross-checks.ts';
import {
  listKeys,
  entryName,
  entrySections,
  findKind,
  isEntrySection,
  sectionNames,
  splitEntryKey,
  variableName,
  type Config,
  type DeepPartial,
  type Source,
  type Sources,
} from './settings.ts';
import type { Kind } from './kind.ts';
import { deliverySetting, PROVIDERS_FILE, shippedProviders } from './provider-settings.ts';
import { rememberSources } from './show-config.ts';
import { findNearest } from '../../contract/index.ts';
import { parse, TomlError } from 'smol-toml';

interface Loaded {
  config: Config;
  sources: Sources;
  warnings: string[];
}

/** Thrown before anything is started; `faults` has one line for each thing to correct. */
export class ConfigFault extends Error {
  override readonly name = 'ConfigFault';
  readonly faults: readonly string[];
  /** The settings with the defaults in place of those at fault; undefined if that is not possible. */
  readonly remaining: Loaded | undefined;

  constructor(faults: readonly string[], remaining?: Loaded) {
    const count = faults.length === 1 ? '1 fault' : `${faults.length} faults`;
    super(`The configuration has ${count}:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`);
    this.faults = faults;
    this.remaining = remaining;
  }
}

/** One value of a file with its path; an empty table is a leaf too, because `[regions.home]` alone creates a region. */
interface Leaf {
  readonly path: readonly string[];
  readonly raw: unknown;
}

type TomlFile = { readonly tree: object } | { readonly fault: string };

const ADVICE: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file; give the path of a TOML file',
  EISDIR: 'it is a folder; give the path of a TOML file',
  EACCES: 'permission denied; check owner and mode of the file and of the folders above it',
};

/** Reads a whole file; any fault is reported on one line that begins with the file's name. */
function readTomlFile(read: () => Uint8Array, shownAs: string): TomlFile {
  let bytes: Uint8Array;
  try {
    bytes = read();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    return {
      fault: `${shownAs}: the file cannot be read (${code}); ${ADVICE[code] ?? 'give the path of a TOML file'}`,
    };
  }
  try {
    const content = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    // Integers too large for a number come as bigint, so that their setting can name its range.
    return { tree: parse(content, { integersAsBigInt: 'asNeeded' }) };
  } catch (error) {
    if (error instanceof TomlError) return { fault: describeSyntaxFault(error, shownAs) };
    return { fault: `${shownAs}: the file is not UTF-8 text, which TOML requires` };
  }
}

function listLeaves(tree: object, path: readonly string[] = []): Leaf[] {
  const leaves: Leaf[] = [];
  for (const [name, raw] of Object.entries(tree)) {
    const here = [...path, name];
    if (isTable(raw) && Object.keys(raw).length > 0) leaves.push(...listLeaves(raw, here));
    else if (raw !== undefined) leaves.push({ path: here, raw });
  }
  return leaves;
}

/** The parser's tables have no prototype; those of a program that passes settings have one. */
function isTable(raw: unknown): raw is object {
  if (typeof raw !== 'object' || raw === null) return false;
  const prototype: unknown = Object.getPrototypeOf(raw);
  return prototype === null || prototype === Object.prototype;
}

/** Spells a key as TOML does: `"http.port"` in quotes is a single name and not a setting. */
function spellKey(path: readonly string[]): string {
  return path.map((name) => (/^[\w-]+$/.test(name) ? name : JSON.stringify(name))).join('.');
}

/** Uses only the first line of the parser's message: the other lines quote the file, which may contain a password. */
function describeSyntaxFault(error: TomlError, shownAs: string): string {
  const [first = ''] = error.message.split('\n');
  return `${shownAs}:${error.line}:${error.column}: ${first.replace('Invalid TOML document: ', 'not valid TOML: ')}`;
}

/** Variables for the launcher, the command line and the tests, which are not settings of the server. */
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

/**
 * Variables set values of existing entries only; they cannot create one, because hyphens within a name and the end of
 * the name look the same.
 */
function applyEnvironment(draft: Draft, env: Readonly<Record<string, string | undefined>>): void {
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

/**
 * A name that looks like a typo stops the start; any other unknown name belongs to another program and only causes a
 * warning.
 */
function noteUnknownName(draft: Draft, name: string, keys: ReadonlyMap<string, string>): void {
  const nearest = findNearest(name.toUpperCase(), [...keys.keys(), ...otherNames], name.slice('RASKET'.length));
  const key = keys.get(nearest ?? '');
  if (key !== undefined) draft.unsound.add(key);
  const hint = nearest === undefined ? '' : `; did you mean ${key === undefined ? nearest : `${nearest} (${key})`}?`;
  const section = findSectionOfMissingEntry(name);
  if (section !== undefined) {
    const known = [...draft.entries].filter((entry) => entry.startsWith(`${section}.`)).join(', ');
    draft.faults.add(
      `environment: ${name} matches none of ${known}; add [${section}.<name>] to your file to create another one${hint}`,
    );
  } else if (nearest === undefined) {
    draft.warnings.add(`environment: ${name} is not a setting and is ignored; config/default.toml lists them all`);
  } else {
    draft.faults.add(`environment: ${name} is not a setting${hint}`);
  }
}

/** Returns the section if the name ends in one of its fields, but the part between is not the name of an entry. */
function findSectionOfMissingEntry(name: string): string | undefined {
  for (const [section, { fields }] of Object.entries(entrySections)) {
    const prefix = `RASKET_${section.toUpperCase()}_`;
    if (name.startsWith(prefix) && Object.keys(fields).some((field) => name.endsWith(`_${field.toUpperCase()}`))) {
      return section;
    }
  }
  return undefined;
}

export interface ConfigInput {
  /** A TOML file with the values that differ from the defaults. */
  readonly file?: string | undefined;
  readonly profile?: 'production' | 'development' | undefined;
  /** Also requires the settings that real mail needs. */
  readonly isServing?: boolean | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Takes precedence over everything; for flags and tests. */
  readonly overrides?: DeepPartial<Config> | undefined;
}

/** Merges the layers, later ones over earlier ones; throws a ConfigFault with every fault of every layer. */
export function loadConfig(input: ConfigInput): Loaded {
  const draft = copyDraft((shippedDefaults ??= readDefaults()));
  const defaults = new Map(draft.values);
  if (input.profile === 'development') applyFile(draft, shipped('development.toml'), 'profile');
  const { file } = input;
  const isRead = file === undefined || applyFile(draft, { read: () => readFileSync(file), shownAs: file }, 'file');
  applyEnvironment(draft, input.env);
  for (const leaf of listLeaves(input.overrides ?? {}))
    applyLeaf(draft, leaf, { source: 'override', shownAs: 'override' });
  fillEntries(draft, defaults);
  addMissing(draft);
  if (draft.faults.size > 0 && isIncomplete(draft)) throw new ConfigFault([...draft.faults]);
  const config = assemble(draft.values, input.profile ?? 'production');
  addConflicts(draft, config);
  // If the file cannot be read, its value of the name is unknown.
  if (input.isServing && isRead) addNameFault(draft, config, input.file);
  const loaded = { config, sources: draft.sources, warnings: [...draft.warnings] };
  if (draft.faults.size > 0) throw new ConfigFault([...draft.faults], loaded);
  rememberSources(config, draft.sources);
  return loaded;
}

/** Cached, because this largest layer is the same for every call of a process. */
let shippedDefaults: Draft | undefined;

function readDefaults(): Draft {
  const draft = emptyDraft();
  applyFile(draft, shipped('default.toml'), 'default');
  applyProviders(draft);
  return draft;
}

/** Applies the limits of providers; the reactions in the same file are no settings. */
function applyProviders(draft: Draft): void {
  const content = readTomlFile(() => readProgramFile(PROVIDERS_FILE), PROVIDERS_FILE);
  if ('fault' in content) {
    draft.faults.add(content.fault);
    return;
  }
  const { providers } = content.tree as { providers?: object };
  for (const leaf of listLeaves({ providers })) applyLeaf(draft, leaf, { source: 'default', shownAs: PROVIDERS_FILE });
}

interface Layer {
  readonly read: () => Uint8Array;
  readonly shownAs: string;
}

function shipped(name: string): Layer {
  return { read: () => readProgramFile(`config/${name}`), shownAs: `config/${name}` };
}

function applyFile(draft: Draft, file: Layer, source: Source): boolean {
  const content = readTomlFile(file.read, file.shownAs);
  if ('fault' in content) {
    draft.faults.add(content.fault);
    return false;
  }
  for (const leaf of listLeaves(content.tree)) applyLeaf(draft, leaf, { source, shownAs: file.shownAs });
  return true;
}

function isIncomplete(draft: Draft): boolean {
  return listKeys(draft.entries).some((key) => !draft.values.has(key));
}

function addMissing(draft: Draft): void {
  for (const key of listKeys(draft.entries)) {
    if (draft.values.has(key) || draft.unsound.has(key)) continue;
    draft.faults.add(`config/default.toml: ${key} is missing; restore the file that came with this version`);
  }
}

function addConflicts(draft: Draft, config: Config): void {
  for (const { keys, text } of findConflicts(config)) {
    if (!keys.some((key) => draft.unsound.has(key))) draft.faults.add(text);
  }
}

function addNameFault(draft: Draft, config: Config, file: string | undefined): void {
  const source = draft.sources.get('instance.host') ?? 'default';
  const fault = findNameFault(config, { source, file });
  if (fault !== undefined) draft.faults.add(fault);
}

function assemble(values: ReadonlyMap<string, unknown>, profile: Config['profile']): Config {
  const root: Record<string, unknown> = { profile };
  for (const [key, value] of values) {
    const path = key.split('.');
    const last = path.pop() ?? '';
    let table = root;
    for (const name of path) table = (table[name] ??= {}) as Record<string, unknown>;
    table[last] = value;
  }
  // Every key of the table of kinds was read by its kind and none is missing, which is what the type says.
  return freeze(root) as unknown as Config;
}

function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  for (const part of Object.values(value)) freeze(part);
  return Object.freeze(value);
}

/** The configuration while layers are merged: it continues after a fault, so that all faults are found. */
interface Draft {
  readonly values: Map<string, unknown>;
  readonly sources: Map<string, Source>;
  /** The named entries that exist, such as `regions.eu-west-1`. */
  readonly entries: Set<string>;
  readonly faults: Set<string>;
  /** Problems that do no harm. */
  readonly warnings: Set<string>;
  /** Keys with a fault: a rule over several keys is not checked while one of them is wrong. */
  readonly unsound: Set<string>;
}

/** The origin of a value; `shownAs` is the prefix of its faults. */
interface Origin {
  readonly source: Source;
  readonly shownAs: string;
}

function emptyDraft(): Draft {
  return {
    values: new Map(),
    sources: new Map(),
    entries: new Set(),
    faults: new Set(),
    warnings: new Set(),
    unsound: new Set(),
  };
}

const copyDraft = (draft: Draft): Draft => ({
  values: new Map(draft.values),
  sources: new Map(draft.sources),
  entries: new Set(draft.entries),
  faults: new Set(draft.faults),
  warnings: new Set(draft.warnings),
  unsound: new Set(draft.unsound),
});

function applyLeaf(draft: Draft, leaf: Leaf, origin: Origin): void {
  const key = spellKey(leaf.path);
  const kind = findKind(key);
  if (kind !== undefined) {
    const entry = splitEntryKey(key);
    if (entry !== undefined) draft.entries.add(`${entry.section}.${entry.name}`);
    if (entry?.section === 'providers' && keepsValue(draft, key, leaf.raw)) return;
    assign(draft, { key, kind, raw: leaf.raw }, origin);
    return;
  }
  if (acceptsEmptyTable(draft, leaf)) return;
  draft.faults.add(`${origin.shownAs}: ${refuseStructure(leaf) ?? refuseUnknownKey(draft, key)}`);
}

/** Reports whether a value of a provider is empty, and so keeps the shipped one or the one of everyone else. */
const keepsValue = (draft: Draft, key: string, raw: unknown): boolean =>
  raw === '' || (Array.isArray(raw) && raw.length === 0 && draft.values.has(key));

/** Fills the fields that added entries omit: from their section's template, or with the limits of everyone else. */
function fillEntries(draft: Draft, defaults: ReadonlyMap<string, unknown>): void {
  for (const entry of draft.entries) {
    const section = entry.slice(0, entry.indexOf('.')) as keyof typeof entrySections;
    const { template, fields } = entrySections[section];
    for (const field of Object.keys(fields)) {
      const key = `${entry}.${field}`;
      if (draft.values.has(key)) continue;
      const value =
        template === undefined
          ? findProviderDefault(draft, entry, field)
          : defaults.get(`${section}.${template}.${field}`);
      draft.values.set(key, value);
      draft.sources.set(key, 'default');
    }
  }
}

function findProviderDefault(draft: Draft, entry: string, field: string): unknown {
  if (field === 'title') return entry.slice(entry.indexOf('.') + 1);
  const setting = deliverySetting(field);
  return setting === undefined ? shippedProviders().defaults.get(field) : draft.values.get(setting);
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
    const quoted = kind.mask === undefined ? quote(got) : 'a secret value (not shown)';
    draft.faults.add(`${origin.shownAs}: ${key}${at} must be ${expects}; got ${quoted}`);
  }
}

/** `[http]` alone changes nothing, but `[regions.home]` alone creates a region. */
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
    return `${spellKey([section, name])} is not a valid name; use lower-case letters, digits and single hyphens, such as ${section}.my-own`;
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

/**
 * Long enough to recognize the value, short enough for one line. Anything that could be a password in a URL is masked.
 */
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
