import { describe, expect, it } from 'vitest';
import { ownPath, withNext } from './elements.ts';

const OWN = [
  '/',
  '/account',
  '/account?x=1#y',
  '/oauth/authorize?redirect_uri=https%3A%2F%2Fevil.example%2F',
  '/a//b',
  '/@x',
  '/%2F%2Fevil.example',
  '/%09/x',
];
const FOREIGN = [
  '',
  'account',
  '//evil.example',
  '///evil.example',
  '/\\evil.example',
  '\\\\evil.example',
  '/a\\b',
  '\\/evil.example',
  'https://evil.example',
  'http:/evil.example',
  'javascript:alert(1)',
  'data:text/html,x',
  'https:evil.example',
  '/\t/evil.example',
  '/\n/evil.example',
  '/\r\nSet-Cookie: x=1',
  '\t//evil.example',
  ' /account',
  '/ac count',
  '/\0',
  '/.//evil.example',
  '/..//evil.example',
  '/x/..//evil.example',
  '/././/evil.example',
  '/%2e//evil.example',
  '/\u2028',
  '/é',
  '/\u3002',
  `/${'a'.repeat(2000)}`,
];

describe('the page a person is sent to next', () => {
  it.each(OWN)('may be %j', (path) => {
    expect(ownPath(path)).toBe(path);
    expect(new URL(path, 'https://mail.example.com').host).toBe('mail.example.com');
  });

  it.each(FOREIGN)('may not be %j', (path) => expect(ownPath(path)).toBeUndefined());

  it('is kept whole in a query', () => {
    const led = withNext('/sign-in?said=x', '/account?a=1&b=2');
    expect(new URL(led, 'https://x.example').searchParams.get('next')).toBe('/account?a=1&b=2');
  });
});
