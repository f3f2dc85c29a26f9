import { expect, it } from 'vitest';
import { newLinks } from './new-links.ts';

const links = (html: string, sources: string[] = [], text = '') => newLinks({ html, text }, sources);

it.each([
  { why: 'a link', html: '<a href="https://a.example/x">x</a>', found: ['https://a.example/x'] },
  { why: 'a link without quotes', html: '<a href=https://a.example/x>x</a>', found: ['https://a.example/x'] },
  {
    why: 'a link in character references',
    html: '<a href="https&#58;//a.example/">x</a>',
    found: ['https://a.example/'],
  },
  { why: 'a picture', html: '<img src="//a.example/p.gif">', found: ['//a.example/p.gif'] },
  { why: 'a background', html: '<td style="background:url(https://a.example/b)">', found: ['https://a.example/b'] },
  {
    why: 'a style sheet',
    html: '<style>p{background:url("https://a.example/c")}</style>',
    found: ['https://a.example/c'],
  },
  { why: 'a mailto link', html: '<a href="mailto:eve@a.example">x</a>', found: ['mailto:eve@a.example'] },
  { why: 'an email address in the text', html: '<p>Write to eve@a.example.</p>', found: ['eve@a.example'] },
  { why: 'a host with a path', html: '<p>Go to a.example/pay now</p>', found: ['a.example/pay'] },
  {
    why: 'a host that mail programs turn into a link',
    html: '<p>Go to Pay-Here.com, now.</p>',
    found: ['Pay-Here.com'],
  },
  { why: 'a telephone link', html: '<a href="tel:+4930123">call</a>', found: ['tel:+4930123'] },
  {
    why: 'no host when a sentence lacks its space',
    html: '<p>We close on Friday.See you at 9.30, e.g. by bus.</p>',
    found: [],
  },
  { why: 'no anchor on the page itself', html: '<a href="#top">x</a>', found: [] },
  { why: 'a link that is written out', html: '<p>Go to https://a.example/y.</p>', found: ['https://a.example/y'] },
])('findNewLinks finds $why', ({ html, found }) => expect(links(html)).toEqual(found));

it('findNewLinks ignores a link that a source contains, in any notation', () => {
  const sources = ['See https://a.example/x?a=1&b=2.', '<a href="HTTPS://B.example">b</a>'];
  expect(links('<a href="https://a.example/x?a=1&amp;b=2">a</a><a href="https://b.example/">b</a>', sources)).toEqual(
    [],
  );
});

it('findNewLinks ignores a link that a source contains with or without its scheme', () => {
  const sources = ['Write to ada@shop.example or see https://shop.example/a and shop.example/b.'];
  const html = '<a href="mailto:ada@shop.example">x</a> shop.example/a <a href="https://shop.example/b">b</a>';
  expect(links(html, sources, 'Shop.Example/a, ada@shop.example')).toEqual([]);
});

it('findNewLinks is not deceived by a link that starts like one in a source', () => {
  expect(links('<a href="https://a.example.evil.example/">a</a>', ['https://a.example'])).toEqual([
    'https://a.example.evil.example/',
  ]);
  expect(links('<a href="https://a.example/?to=evil">a</a>', ['https://a.example/'])).toHaveLength(1);
});

it('findNewLinks reads an address of a hundred thousand dots, and drops the dots at its end', () => {
  const stops = '.'.repeat(99_000);
  expect(links('', [`http://${stops}a`], `See https://a.example/x).,! http://${stops}b`)).toHaveLength(2);
  expect(links('', [], 'See https://a.example/x).,!')).toEqual(['https://a.example/x']);
});

it('findNewLinks reads long and hostile texts within seconds', () => {
  const began = performance.now();
  const found = links('<a href="https://a.example/'.repeat(3000) + '<'.repeat(20_000) + 'url('.repeat(5000), [
    '['.repeat(90_000),
  ]);
  expect(found.length).toBeLessThanOrEqual(100);
  expect(performance.now() - began).toBeLessThan(2000);
});
