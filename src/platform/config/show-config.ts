import { stringify } from 'smol-toml';
import { findKind, listKeys, variableName } from './keys.ts';
import { entrySections } from './settings.ts';
import type { Config, Source, Sources } from './settings.ts';

/** The whole configuration as TOML, with the origin of what is no default beside it. Secrets are masked: do not load it again. */
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

function writeValue(config: Config, key: string): string {
  const value = key.split('.').reduce<unknown>((table, name) => (table as Record<string, unknown>)[name], config);
  const kind = findKind(key);
  const shown = kind?.mask === undefined ? value : kind.mask(value);
  return stringify({ value: kind?.toToml(shown) })
    .trim()
    .slice('value = '.length);
}

function describeOrigin(source: Source, key: string): string {
  switch (source) {
    case 'default':
      return '';
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
