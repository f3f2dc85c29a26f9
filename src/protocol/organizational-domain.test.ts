import { expect, it } from 'vitest';
import { areRelated, estimateOrganizationalDomain } from './organizational-domain.ts';

it.each([
  ['google.com', 'google.com'],
  ['a.b.reports.google.com', 'google.com'],
  ['reports.example.co.uk', 'example.co.uk'],
  ['example.co.uk', 'example.co.uk'],
  ['co.uk', 'co.uk'],
  ['mail.example.de', 'example.de'],
  ['co.com', 'co.com'],
  ['example', 'example'],
  ['[192.0.2.1]', '[192.0.2.1]'],
  ['192.0.2.1', '192.0.2.1'],
])('the organizational domain of %s is estimated as %s', (domain, organizational) => {
  expect(estimateOrganizationalDomain(domain)).toBe(organizational);
});

it.each([
  ['example.com', 'example.com', true],
  ['example.com', 'mail.example.com', true],
  ['mail.example.com', 'example.com', true],
  ['a.example.com', 'b.example.com', false],
  ['example.com', 'myexample.com', false],
  ['com', 'example.com', false],
])('%s and %s are related: %s', (one, other, expected) => {
  expect(areRelated(one, other)).toBe(expected);
});
