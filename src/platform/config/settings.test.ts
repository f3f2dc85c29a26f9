import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { listKeys } from './settings.ts';

const folder = new URL('../../../config/', import.meta.url);
const defaultFile = readFileSync(new URL('default.toml', folder), 'utf8');
const developmentFile = readFileSync(new URL('development.toml', folder), 'utf8');

/** The shipped files have one key a line, each with its reason above it; this parser supports no other TOML. */
function readKeys(toml: string): { keys: string[]; entries: string[]; withoutReason: string[] } {
  const found = { keys: [] as string[], entries: [] as string[], withoutReason: [] as string[] };
  let section = '';
  for (const [index, line] of toml.split('\n').entries()) {
    section = /^\[(.+)\]$/.exec(line)?.[1] ?? section;
    const name = /^([\w-]+) = /.exec(line)?.[1];
    if (name === undefined) continue;
    found.keys.push(`${section}.${name}`);
    if (section.includes('.') && !found.entries.includes(section)) found.entries.push(section);
    const above = toml.split('\n')[index - 1] ?? '';
    if (!/^# \S.{15,}[.]$/.test(above)) found.withoutReason.push(`${section}.${name}`);
  }
  return found;
}

function compare(toml: string): { missing: string[]; unknown: string[]; withoutReason: string[] } {
  const { keys, entries, withoutReason } = readKeys(toml);
  const known = new Set(listKeys(entries));
  return {
    missing: [...known].filter((key) => !keys.includes(key)),
    unknown: keys.filter((key) => !known.has(key)),
    withoutReason,
  };
}

describe('config/default.toml', () => {
  it('contains every setting, no other, and a reason above each', () => {
    expect(readKeys(defaultFile).keys.length).toBeGreaterThan(60);
    expect(compare(defaultFile)).toEqual({ missing: [], unknown: [], withoutReason: [] });
  });

  it.each([
    { why: 'a setting left out', planted: defaultFile.replace(/^port = .*\n/m, ''), found: { missing: ['http.port'] } },
    {
      why: 'a setting nobody knows',
      planted: defaultFile.replace('[http]\n', '[http]\n# A setting that nobody reads.\nspeed = 1\n'),
      found: { unknown: ['http.speed'] },
    },
    {
      why: 'no comment',
      planted: defaultFile.replace(/^#.*\n(?=port = )/m, ''),
      found: { withoutReason: ['http.port'] },
    },
    {
      why: 'an empty comment',
      planted: defaultFile.replace(/^#.*\n(?=port = )/m, '#\n'),
      found: { withoutReason: ['http.port'] },
    },
    {
      why: 'a line between',
      planted: defaultFile.replace(/\n(?=port = )/, '\n\n'),
      found: { withoutReason: ['http.port'] },
    },
  ])('is checked by a rule that detects $why', ({ planted, found }) => {
    expect(compare(planted)).toEqual({ missing: [], unknown: [], withoutReason: [], ...found });
  });
});

describe('config/development.toml', () => {
  it('contains only known settings, with a reason above each', () => {
    expect(compare(developmentFile)).toMatchObject({ unknown: [], withoutReason: [] });
  });
});
