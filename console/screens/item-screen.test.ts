import { expect, it } from 'vitest';
import { findShortTitle } from './item-screen.ts';

const id = '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e91';

it.each([
  ['an approval by what it does', { id, summary: 'Send an email', grant: { client_name: 'Desk' } }, 'Send an email'],
  ['a grant by its app', { id, client: { name: 'Newsletter Desk' } }, 'Newsletter Desk'],
  ['an app by its name', { id, client_name: 'Report builder' }, 'Report builder'],
  ['an item without a name by the end of its id', { id }, '4c1f2e91'],
])('the title names %s', (_, item, title) => expect(findShortTitle(item)).toBe(title));
