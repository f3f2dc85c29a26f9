import { parse } from 'smol-toml';
import { variableName } from './keys.ts';
import type { Sources } from './settings.ts';

interface Read {
  sources: Sources;
  file: string | undefined;
  /** What the file holds. */
  text: string;
}

/** Where a setting has its value from, to begin a fault with: `rasket.toml:12`, or the name of a variable. */
export function placeOf(key: string, { sources, file, text }: Read): string {
  const source = sources.get(key);
  if (source === 'env') return variableName(key);
  if (source !== 'file' || file === undefined) return 'the configuration';
  const line = lineOf(text, key);
  return line === undefined ? file : `${file}:${line}`;
}

/** The line with which a TOML text begins to have a key whose value stands on one line. */
function lineOf(text: string, key: string): number | undefined {
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
    // It ends within a value of several lines.
    return false;
  }
}
