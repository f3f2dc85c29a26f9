import { describe, expect, it } from 'vitest';
import { collectKeys, parseMerge, renderMerge } from '../../../protocol/merge.ts';
import type { PropertyRow } from '../../audience/contact-properties/contact-properties.store.ts';
import { fallbacksIn, buildMergeValues, rendered, renderSubject, type MergedContact } from './merge-values.ts';

const property = (key: string, slot: number, fallback: string | number | null = null): PropertyRow => ({
  id: `p${slot}`,
  team_id: 't',
  key,
  key_folded: key.toLowerCase(),
  type: 'string',
  slot,
  created_at: 0,
  fallback_value: fallback === null ? null : JSON.stringify(fallback),
});
const PROPERTIES = [property('Plan', 1, 'free'), property('seats', 2, 5), property('note', 3)];
const ADA: MergedContact = { email: 'ada@example.org', first_name: 'Ada', last_name: null, properties: '{"1":"pro"}' };
const LINKS = { UNSUBSCRIBE_URL: 'https://example.com/u', PREFERENCES_URL: 'https://example.com/p' };

const known = (properties: PropertyRow[]) => ({ properties, fallbacks: fallbacksIn(properties) });
const merged = (text: string, contact = ADA, properties = PROPERTIES, escape: 'html' | 'none' = 'none'): string =>
  renderMerge(text, rendered(buildMergeValues(contact, known(properties), collectKeys(parseMerge(text))), LINKS), {
    escape,
  });

describe('a merge value is', () => {
  it.each([
    ['the value of the field', '{{{FIRST_NAME|x}}} {{{EMAIL}}}', 'Ada ada@example.org'],
    ['the value of a field in lower case', '{{{first_name}}}', 'Ada'],
    ['the default when the field is empty', '{{{LAST_NAME|friend}}}', 'friend'],
    ['empty when there is no default', '[{{{LAST_NAME}}}]', '[]'],
    ['the value of a property in any letter case', '{{{plan}}} {{{PLAN}}} {{{Plan|x}}}', 'pro pro pro'],
    ['the default rather than the fallback of the property', '{{{SEATS|one}}} {{{SEATS}}}', 'one 5'],
    ['an empty default rather than the fallback', '[{{{SEATS|}}}]', '[]'],
    ['empty when the property has no fallback', '[{{{NOTE}}}]', '[]'],
    ['empty for a property that is not declared', '[{{{OTHER}}}] {{{OTHER|d}}}', '[] d'],
    ['a link', '{{{UNSUBSCRIBE_URL}}}', 'https://example.com/u'],
    ['not merged a second time', '{{{FIRST_NAME}}}', '{{{EMAIL}}}', { ...ADA, first_name: '{{{EMAIL}}}' }],
    [
      'shown when it is false or zero',
      '{{{PLAN}}} {{{SEATS}}}',
      'false 0',
      { ...ADA, properties: '{"1":false,"2":0}' },
    ],
    ['read from an object as PostgreSQL returns it', '{{{PLAN}}}', 'gold', { ...ADA, properties: { '1': 'gold' } }],
    ['the default when a property is empty', '{{{PLAN|x}}} {{{PLAN}}}', 'x free', { ...ADA, properties: '{"1":""}' }],
  ] as [string, string, string, MergedContact?][])('%s', (_, text, expected, contact) => {
    expect(merged(text, contact)).toBe(expected);
  });
});

it.each(['UNSUBSCRIBE_URL', 'EMAIL', 'first_name'])('no property overrides %s', (key) => {
  const stolen = [property(key, 1)];
  const contact = { ...ADA, properties: '{"1":"https://evil.example"}' };
  expect(merged('{{{UNSUBSCRIBE_URL}}} {{{EMAIL}}} {{{FIRST_NAME}}}', contact, stolen)).toBe(
    'https://example.com/u ada@example.org Ada',
  );
});

it.each(['__proto__', 'constructor', 'toString'])('a property with the key %s is treated like any other', (key) => {
  expect(merged(`[{{{${key}}}}]`)).toBe('[]');
  const values = buildMergeValues({ ...ADA, properties: '{"1":"v"}' }, known([property(key, 1)]), [key]);
  expect(merged(`{{{${key}}}} {{{FIRST_NAME}}}`, { ...ADA, properties: '{"1":"v"}' }, [property(key, 1)])).toBe(
    'v Ada',
  );
  // The values survive being stored as JSON and read back.
  expect(renderMerge(`{{{${key}}}}`, rendered(JSON.parse(JSON.stringify(values)), {}), { escape: 'none' })).toBe('v');
});

it('a merge value is escaped in HTML and raw in text', () => {
  const contact = { ...ADA, first_name: `<b>"'&` };
  expect(merged('{{{FIRST_NAME}}}', contact, PROPERTIES, 'html')).toBe('&lt;b&gt;&quot;&#39;&amp;');
  expect(merged('{{{FIRST_NAME}}}', contact)).toBe(`<b>"'&`);
});

it('only the merge values that the content uses are stored', () => {
  expect(buildMergeValues(ADA, known(PROPERTIES), ['PLAN', 'SEATS'])).toEqual({
    given: { PLAN: 'pro' },
    fallbacks: { SEATS: '5' },
  });
});

it.each(['Ada\r\nBcc: evil@example.org', 'Ada\n', 'Ada\u2028x', 'A\0b\tc'])(
  'a subject stays on one line with the name %j',
  (name) => {
    const values = rendered(buildMergeValues({ ...ADA, first_name: name }, known([]), ['FIRST_NAME']), {});
    const subject = renderSubject('Hi {{{FIRST_NAME}}}!', values);
    expect(subject).toMatch(/^Hi A[^\p{Cc}\p{Zl}\p{Zp}]*!$/u);
  },
);
