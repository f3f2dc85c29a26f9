import { expect, it } from 'vitest';
import { newLinks } from './new-links.ts';

const links = (html: string, sources: string[] = [], text = '') => newLinks({ html, text }, sources);

it.each([
  { why: 'a link', html: '<a href="https://a.example/x">x</a>', found: ['https://a.example/x'] },
  { why: 'one without quotes', html: '<a href=https://a.example/x>x</a>', found: ['https://a.example/x'] },
  { why: 'one in references', html: '<a href="https&#58;//a.example/">x</a>', found: ['https://a.example/'] },
  { why: 'a picture', html: '<img src="//a.example/p.gif">', found: ['//a.example/p.gif'] },
  { why: 'a background', html: '<td style="background:url(https://a.example/b)">', found: ['https://a.example/b'] },
  {
    why: 'a style sheet',
    html: '<style>p{background:url("https://a.example/c")}</style>',
    found: ['https://a.example/c'],
  },
  { why: 'an address to write to', html: '<a href="mailto:eve@a.example">x</a>', found: ['mailto:eve@a.example'] },
  { why: 'no place on the page itself', html: '<a href="#top">x</a>', found: [] },
  { why: 'one that is written out', html: '<p>Go to https://a.example/y.</p>', found: ['https://a.example/y'] },
])('finds $why', ({ html, found }) => expect(links(html)).toEqual(found));

it('leaves what stood in a source, however it is written there', () => {
  const sources = ['See https://a.example/x?a=1&b=2.', '<a href="HTTPS://B.example">b</a>'];
  expect(links('<a href="https://a.example/x?a=1&amp;b=2">a</a><a href="https://b.example/">b</a>', sources)).toEqual(
    [],
  );
});

it('is not deceived by an address that a source holds a part of', () => {
  expect(links('<a href="https://a.example.evil.example/">a</a>', ['https://a.example'])).toEqual([
    'https://a.example.evil.example/',
  ]);
  expect(links('<a href="https://a.example/?to=evil">a</a>', ['https://a.example/'])).toHaveLength(1);
});

it('takes long and hostile texts in a moment', () => {
  const began = performance.now();
  const found = links('<a href="https://a.example/'.repeat(3000) + '<'.repeat(20_000) + 'url('.repeat(5000), [
    '['.repeat(90_000),
  ]);
  expect(found.length).toBeLessThanOrEqual(100);
  expect(performance.now() - began).toBeLessThan(2000);
});
