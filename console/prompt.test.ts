import { expect, it } from 'vitest';
import { emails } from '../cli/families/index.ts';
import { listActions, itemKeys, sections } from './catalog.ts';
import { entriesFor, readCommand } from './prompt.ts';

const actions = listActions(emails, itemKeys(emails), false);
const found = (line: string): string[] => entriesFor(line, sections, actions).map(({ name }) => name);

it('an empty prompt lists every screen and every action, each with a description', () => {
  const all = entriesFor('', sections, actions);
  expect(all.length).toBe(sections.length + actions.length + 2);
  expect(all.filter(({ says }) => says === '')).toEqual([]);
});

it.each([
  ['con', ['contacts', 'contact-properties']],
  ['prop', ['contact-properties']],
  ['whk', ['webhooks']],
  ['send', ['send']],
  ['q', ['quit']],
  ['dns', ['domains']],
  ['nonsense', []],
])('the prompt lists the closest matches for %s first', (line, names) => {
  expect(found(line).slice(0, names.length || 1)).toEqual(names);
});

it('the filter after a screen name is not listed as an entry of its own', () => {
  expect(found('emails status=bounced')).toEqual([]);
  expect(readCommand('emails status=bounced', sections, [])).toMatchObject({ kind: 'section', rest: 'status=bounced' });
  expect(readCommand('send now', sections, ['send'])).toEqual({ kind: 'surplus', label: 'send' });
  expect(readCommand('nonsense', sections, ['send'])).toEqual({ kind: 'unknown', word: 'nonsense' });
});
