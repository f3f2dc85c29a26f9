import { expect, it } from 'vitest';
import { estimateOrganizationalDomain } from './submitter.ts';

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
])('the reports of %s count for %s', (domain, organizational) => {
  expect(estimateOrganizationalDomain(domain)).toBe(organizational);
});
