import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { closeDrawings, disarmHtml, plainHtml } from './disarm-html.ts';
import { escapeHtml } from './escape-html.ts';

const KEPT = [
  'html head body title style article section nav aside header footer main address hgroup h1 h2 h3 h4 h5 h6',
  'p pre blockquote ol ul li dl dt dd menu dir figure figcaption div center hr br wbr',
  'a abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd label mark nobr picture q rp rt ruby s',
  'samp small source span strike strong sub sup time tt u var',
  'table caption colgroup col tbody thead tfoot tr th td details summary map area',
].flatMap((line) => line.split(' '));
const VOID = 'base basefont bgsound command embed frame input isindex keygen link meta param track'.split(' ');
const NAME_END = '(?=[\\t\\n\\f\\r />]|$)';
const OTHER_NAME = `(?=[a-z])(?!(?:${KEPT.join('|')})${NAME_END})`;

/** Reference implementation of disarming in regular expressions: easy to read, and many times slower. */
const disarmedByPatterns = (html: string): string =>
  html
    .replace(new RegExp(`<(?:${VOID.join('|')})${NAME_END}`, 'gi'), '<head')
    .replace(new RegExp(`<${OTHER_NAME}`, 'gi'), '<x-')
    .replace(new RegExp(`</${OTHER_NAME}`, 'gi'), '</x-')
    .replace(/(?:href|attributionsrc)(?=[\t\n\f\r ]*[=>]|[\t\n\f\r ]+[a-z-]+[\t\n\f\r ]*=)/gi, 'data-$&');

const escapedByPatterns = (text: string): string =>
  text
    .replace(/&/g, '&amp;')
    .replace(/</g, '&lt;')
    .replace(/>/g, '&gt;')
    .replace(/"/g, '&quot;')
    .replace(/'/g, '&#39;');

const piece = fc.oneof(
  fc.constantFrom(
    ...'< > / " \' = & - a z x 7'.split(' '),
    ' ',
    '\n',
    '\f',
    '\t',
    '\r',
    '\u000b',
    '\u00a0',
    '</',
    '<!--',
  ),
  fc.constantFrom('href', 'HREF', 'attributionsrc', 'AttributionSrc', 'hre', 'attribution', 'ping', 'a-b'),
  fc.constantFrom(...KEPT, ...VOID, 'script', 'SCRIPT', 'svg', 'Link', 'BASE', 'h7', 'tablex', 'ſcript', 'ä', '😀'),
);
const text = fc.array(piece, { maxLength: 30 }).map((parts) => parts.join(''));

describe('disarming and escaping of bytes', () => {
  it('equals the result of the patterns', () => {
    fc.assert(
      fc.property(text, (html) => {
        expect(disarmHtml(html)).toBe(disarmedByPatterns(html));
        expect(escapeHtml(html)).toBe(escapedByPatterns(html));
      }),
      { numRuns: 20 * (fc.readConfigureGlobal()?.numRuns ?? 100) },
    );
  });

  const repeats = ['<a', '</a', '<z', '<base ', 'href=', 'href ', '"', '&', "'", 'ä', '<abbr ', 'href a ', 'href a= '];
  it.each([...repeats, '<href=', '<href>', '</href '])('equals it for two megabytes of %j', (repeated) => {
    const html = repeated.repeat((2 * 1024 * 1024) / repeated.length);
    expect(disarmHtml(html) === disarmedByPatterns(html)).toBe(true);
    expect(escapeHtml(html) === escapedByPatterns(html)).toBe(true);
  });
});

const MAX = 100_000;

describe('HTML of an untrusted sender inside our own page', () => {
  it.each([
    ['<p style="color:red" onclick="x()">Hi <b>you</b></p>', '<p>Hi <b>you</b></p>'],
    ['<html><head><title>x</title><style>p{}</style></head><body>a</body></html>', 'a'],
    ['a<script>alert("</p>")</script>b', 'ab'],
    ['a<SCRIPT>never closed', 'a'],
    ['İ<style>p{}</style>b', 'İb'],
    ['<img src="https://t.example/1.gif"><img src=x alt="A cat">', '[A cat]'],
    ['<img src=x onerror=alert(1) alt="<script>">', '[&lt;script&gt;]'],
    ['<a href="https://a.example/?x=1&amp;y=2">this</a>', 'this (https://a.example/?x=1&amp;y=2)'],
    ['<a href="https://a.example/">https://a.example/</a>', 'https://a.example/'],
    ['<a href="javascript:alert(1)">this</a>', 'this'],
    ['<a href="data:text/html,x">this</a>', 'this'],
    [
      '<a href="https://a.example/">one<a href="https://b.example/">two',
      'one (https://a.example/)two (https://b.example/)',
    ],
    ['</blockquote></div></body></html>after', 'after'],
    ['<div><blockquote>never closed', '<div><blockquote>never closed</blockquote></div>'],
    ['<b><p>crossed</b></p>', '<b><p>crossed</p></b>'],
    ['<form action=https://a.example><input type=password>x</form>', 'x'],
    ['<iframe src=x><p>inside</p></iframe>b', 'b'],
    ['<svg><style><img src=x></style></svg>b', 'b'],
    ['a<!-- <b> -->c<!DOCTYPE x><?php ?>d', 'acd'],
    ['a<!-- never closed <b>', 'a'],
    ['<p title="a>b">c</p>', '<p>c</p>'],
    ['<p title="never closed>c</p>', ''],
    ['1 < 2 & 3 > 2 &lt;b&gt;', '1 &lt; 2 & 3 &gt; 2 &lt;b&gt;'],
    ['<<b>>x', '&lt;<b>&gt;x</b>'],
    ['<b\0r>x', '<br>x'],
    ['<!-->a<!-- b --!>c</ d>e', 'ace'],
    ['<script><!--<script></script>a--></script>b', 'b'],
    ['<style></stylex>a</style>b', 'b'],
    ['<p title="a" =\'>\'>b', "<p>'&gt;b</p>"],
    ['<table background=x><tr><td width=1>a</td></tr></table>', '<table><tr><td>a</td></tr></table>'],
  ])('is reduced to safe elements: %j', (html, plain) => {
    expect(plainHtml(html, MAX)).toBe(plain);
  });

  const piece = fc.constantFrom(
    '<',
    '>',
    '/',
    '"',
    "'",
    '=',
    ' ',
    '&',
    '&lt;',
    '<!--',
    '-->',
    '</',
    'a',
    'İ',
    '\0',
    '<p>',
    '</p>',
    '<b x=">">',
    '<a href="https://a.example/"',
    '<script>',
    '</script>',
    '<img src=x onerror=y>',
    '<div style=x>',
    '</div>',
    '<blockquote>',
    '</blockquote>',
    '<table>',
    '</table>',
    '<br/>',
    '<style',
    '<svg/onload=x>',
    'href=',
    'alt="<b>"',
  );

  it('has no attributes, no other elements, and closes what it opens', () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        const plain = plainHtml(pieces.join(''), MAX);
        const open: string[] = [];
        for (const [tag, slash, name] of plain.matchAll(/<(\/?)([^<>]*)>/g)) {
          expect(tag).toMatch(/^<\/?(?:p|b|div|blockquote|table|br)>$/);
          if (slash === '/') expect(open.pop()).toBe(name);
          else if (name !== 'br') open.push(name!);
        }
        expect(open).toEqual([]);
        expect(plain.replaceAll(/<\/?[a-z]+>/g, '')).not.toMatch(/[<>]/);
        expect(disarmHtml(plain).replaceAll('data-href', 'href')).toBe(plain);
      }),
      { numRuns: 20 * (fc.readConfigureGlobal()?.numRuns ?? 100) },
    );
  });

  it.each(['<div>', '<a href="https://a.example/">', '<b "', '<!--', '</div>', '<style>', '<', '<p ="'])(
    'is processed in bounded time, however broken: %j',
    (one) => {
      const plain = plainHtml(one.repeat(1_000_000 / one.length), 1_000_000);
      expect(plain.length).toBeLessThan(30_000_000);
      expect((plain.match(/<div>/g) ?? []).length).toBeLessThanOrEqual(100);
    },
  );

  it('is truncated to its beginning when it is long', () => {
    expect(plainHtml('<p>abc</p><p>def</p>', 14)).toBe('<p>abc</p><p>d</p>');
  });
});

it('plain HTML keeps what follows a self-closing image', () => {
  expect(plainHtml('a<svg/>b<p>c</p><math/>d', 100)).toBe('ab<p>c</p>d');
});

it.each([
  ['a<svg><path d="M0"><p>b</p>c', 'a<p>b</p>c'],
  ['a<svg><title>x<b>y</b></svg>b', 'ab'],
  ['a<svg><style>p{}</svg>b', 'ab'],
  ['a<svg><script>alert(1)<p>b</p>', 'a<p>b</p>'],
  ['a<svg><g></p>b', 'ab'],
  ['a<svg><path>b <g>c', 'ab c'],
  ['a<svg><script>alert(1)</script><style/>b', 'ab'],
  ['a<math><mi>x<p>b</p></math>c', 'ac'],
  ['a<math><mrow><p>b</p>c', 'a<p>b</p>c'],
])('plain HTML keeps the text after an image that is left open: %s', (html, plain) => {
  expect(plainHtml(html, 1000)).toBe(plain);
});

describe('an image that is left open', () => {
  it.each([
    ['a<svg><path><p>b</p>', 'a<svg><path></svg><p>b</p>'],
    ['a<svg><svg><g><div>b', 'a<svg><svg><g></svg></svg><div>b'],
    ['a<svg/>b', 'a<svg/></svg>b'],
    ['a<svg>b', 'a<svg></svg>b'],
    ['a<svg><svg>b</svg>c', 'a<svg></svg><svg>b</svg>c'],
    ['a<svg><title>b</svg>c', 'a<svg><title>b</title></svg>c'],
    ['a<svg><title/></svg>c', 'a<svg><title/></title></svg>c'],
    ['a<svg><style>b<p>c', 'a<svg><style>b</style></svg><p>c'],
    ['a<svg><style/><g/></svg>c', 'a<svg><style/></style><g/></svg>c'],
    ['a<math><mi>x</mi></math>b', 'a<math><mi>x</mi></math>b'],
    ['a<svg><g></p>b', 'a<svg><g></svg></p>b'],
    ['<!-- <svg> -->b<p title="<svg>">', '<!-- <svg> -->b<p title="<svg>">'],
    ['<svg><title>a</title><style>b</style><g/></svg>c', '<svg><title>a</title><style>b</style><g/></svg>c'],
  ])('is closed where a browser leaves it: %s', (html, closed) => {
    expect(closeDrawings(html)).toBe(closed);
  });

  it('is disarmed after it is closed, whatever it contains', () => {
    const someSvg = fc.array(
      fc.oneof(piece, fc.constantFrom('<svg>', '</svg>', '<svg/>', '<title>', '<style>', '<p>')),
    );
    fc.assert(
      fc.property(someSvg, (pieces) => {
        const disarmed = disarmHtml(closeDrawings(pieces.join('')));
        expect(disarmed).not.toMatch(/<\/?(?:script|svg|link|base)(?=[\t\n\f\r />]|$)/i);
      }),
    );
  });

  it.each(['<svg>', '<svg><title>', '<svg><style><p>', '<svg/>', '<svg></svg>', '<math><mi><svg>', '</svg>'])(
    'is closed in a megabyte of %j by at most as many end tags as there are tags',
    (one) => {
      const html = one.repeat(1_000_000 / one.length);
      expect(closeDrawings(html).length).toBeLessThan(4 * html.length);
      expect(plainHtml(html, 1_000_000).length).toBeLessThan(html.length);
    },
  );
});
