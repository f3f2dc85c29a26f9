import { stringify, parse } from 'smol-toml';
import { deliverySetting, PROVIDERS_FILE, shippedProviders } from './provider-settings.ts';
import {
  entrySections,
  findKind,
  listKeys,
  splitEntryKey,
  variableName,
  type Config,
  type Source,
  type Sources,
} from './settings.ts';

/**
 * Renders the whole configuration as TOML, with a comment on the origin of each value that is not a default. Secrets
 * are masked: do not load it again.
 */
export function showConfig(config: Config, sources: Sources): string {
  const lines: string[] = [];
  let section = '';
  for (const key of listKeys(listEntries(config))) {
    const dot = key.lastIndexOf('.');
    if (key.slice(0, dot) !== section) {
      section = key.slice(0, dot);
      lines.push(...(lines.length > 0 ? [''] : []), `[${section}]`);
    }
    const origin = describeOrigin(sources.get(key) ?? 'default', key);
    lines.push(`${key.slice(dot + 1)} = ${writeValue(config, key)}${origin}`);
  }
  return `${lines.join('\n')}\n`;
}

function listEntries(config: Config): string[] {
  return (Object.keys(entrySections) as (keyof typeof entrySections)[]).flatMap((section) =>
    Object.keys(config[section]).map((name) => `${section}.${name}`),
  );
}

/** By a part of the configuration that copies with other plans share. */
const remembered = new WeakMap<Config['delivery'], Sources>();

/** Remembers the source of each value of a configuration. */
export const rememberSources = (config: Config, sources: Sources): void =>
  void remembered.set(config.delivery, sources);

/** Names the origin of a value, for people: a file that comes with the program, the settings file, or a variable. */
export function describeSetting(config: Config, key: string): string {
  const source = remembered.get(config.delivery)?.get(key) ?? 'default';
  switch (source) {
    case 'default': {
      const entry = splitEntryKey(key);
      if (entry?.section !== 'providers') return 'config/default.toml';
      return shippedProviders().keys.has(key) ? PROVIDERS_FILE : (deliverySetting(entry.field) ?? PROVIDERS_FILE);
    }
    case 'profile':
      return 'the profile';
    case 'file':
      return 'the settings file';
    case 'env':
      return variableName(key);
    case 'override':
      return 'an override';
  }
}

const readValue = (config: Config, key: string): unknown =>
  key.split('.').reduce<unknown>((table, name) => (table as Record<string, unknown>)[name], config);

function writeValue(config: Config, key: string): string {
  const value = readValue(config, key);
  const kind = findKind(key);
  const shown = kind?.mask === undefined ? value : kind.mask(value);
  return stringify({ value: kind?.toToml(shown) })
    .trim()
    .slice('value = '.length);
}

function describeOrigin(source: Source, key: string): string {
  switch (source) {
    case 'default':
      return describeProviderDefault(key);
    case 'profile':
      return '  # from the profile';
    case 'file':
      return '  # from the file';
    case 'env':
      return `  # from the environment, ${variableName(key)}`;
    case 'override':
      return '  # from an override';
  }
}

/** Names the shipped file that has the value of a provider, or the setting of [delivery] that it follows. */
function describeProviderDefault(key: string): string {
  const entry = splitEntryKey(key);
  if (entry?.section !== 'providers') return '';
  if (shippedProviders().keys.has(key)) return `  # from ${PROVIDERS_FILE}`;
  const setting = deliverySetting(entry.field);
  return setting === undefined ? '' : `  # as ${setting}`;
}

/** Reports whether the settings file itself contains a secret, such as the password of a relay. */
export const holdsSecret = (config: Config, sources: Sources): boolean =>
  listKeys(listEntries(config)).some((key) => {
    if (sources.get(key) !== 'file') return false;
    const value = readValue(config, key);
    const mask = findKind(key)?.mask;
    return mask !== undefined && mask(value) !== value;
  });

interface Read {
  sources: Sources;
  file: string | undefined;
  /** The content of the file. */
  text: string;
}

/**
 * Returns the place where a setting gets its value, as the prefix of a fault: `rasket.toml:12`, or the name of a
 * variable.
 */
export function locateSetting(key: string, { sources, file, text }: Read): string {
  const source = sources.get(key);
  if (source === 'env') return variableName(key);
  if (source !== 'file' || file === undefined) return 'the configuration';
  const line = findLine(text, key);
  return line === undefined ? file : `${file}:${line}`;
}

/** Finds the line of a TOML text that sets a key whose value is on one line. */
function findLine(text: string, key: string): number | undefined {
  const lines = text.split('\n');
  const path = key.split('.');
  const name = path.at(-1) ?? '';
  for (const [at, line] of lines.entries()) {
    if (line.includes(name) && holds(lines.slice(0, at + 1).join('\n'), path)) return at + 1;
  }
  return undefined;
}

function holds(text: string, path: readonly string[]): boolean {
  try {
    let table: unknown = parse(text, { integersAsBigInt: 'asNeeded' });
    for (const name of path) table = (table as Record<string, unknown> | undefined)?.[name];
    return table !== undefined;
  } catch {
    // The text ends within a value of several lines.
    return false;
  }
}
