import { expect, it } from 'vitest';
import { loadOrganizationFinder } from './organization.ts';

it.each([
  ['example.com', 'example.com'],
  ['a.b.example.com', 'example.com'],
  ['a.example.co.uk', 'example.co.uk'],
  ['co.uk', 'co.uk'],
  ['a.owner.github.io', 'owner.github.io'],
  ['a.unlisted.example', 'unlisted.example'],
  ['192.0.2.1', '192.0.2.1'],
  ['[2001:db8::1]', '[2001:db8::1]'],
])('the organizational domain of %s is %s', async (name, organization) => {
  const findOrganization = await loadOrganizationFinder();
  expect(findOrganization(name)).toBe(organization);
});
