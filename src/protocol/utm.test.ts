import { describe, expect, it } from 'vitest';
import { makeUtmValue, removeUtm, tagHtmlLinks, tagTextLinks } from './utm.ts';

const NEWS = { source: 'example', medium: 'email', campaign: 'a & b' };
const HTML = 'utm_source=example&amp;utm_medium=email&amp;utm_campaign=a%20%26%20b';
const TEXT = HTML.replaceAll('&amp;', '&');

describe('tagHtmlLinks', () => {
  it.each([
    ['https://x.example', `https://x.example?${HTML}`],
    ['https://x.example/p?b=2&amp;a=1', `https://x.example/p?b=2&amp;a=1&amp;${HTML}`],
    ['https://x.example/p?', `https://x.example/p?${HTML}`],
    ['https://x.example/p?a=1&amp;', `https://x.example/p?a=1&amp;${HTML}`],
    ['https://x.example/p#part?x', `https://x.example/p?${HTML}#part?x`],
    ['https://x.example/p?a=&#x41;', `https://x.example/p?a=&#x41;&amp;${HTML}`],
    ['https://x.example/p?a&#part', `https://x.example/p?a&${HTML}#part`],
    ['https://x.example/?my_utm_source=own', `https://x.example/?my_utm_source=own&amp;${HTML}`],
    ['https://x.example/p?a=&#65;#part', `https://x.example/p?a=&#65;&amp;${HTML}#part`],
    [' HTTP://x.example/p ', ` HTTP://x.example/p?${HTML} `],
    [
      'https://x.example/{{{ID}}}?e={{{EMAIL|a#?b}}}#{{{ID}}}',
      `https://x.example/{{{ID}}}?e={{{EMAIL|a#?b}}}&amp;${HTML}#{{{ID}}}`,
    ],
    [
      'https://x.example/?UTM_Source=mine&amp;utm_campaign=own',
      'https://x.example/?UTM_Source=mine&amp;utm_campaign=own&amp;utm_medium=email',
    ],
  ])('turns the link %s into %s', (before, after) => {
    expect(tagHtmlLinks(`<a href="${before}">x</a>`, NEWS)).toBe(`<a href="${after}">x</a>`);
  });

  it('a link gets each of the five parameters, with every character that ends an attribute encoded', () => {
    const five = { source: 's', medium: 'm', campaign: `it's "<new>"`, term: 't', content: 'ä' };
    expect(tagHtmlLinks('<a href="https://x.example">x</a>', five)).toBe(
      '<a href="https://x.example?utm_source=s&amp;utm_medium=m&amp;utm_campaign=it%27s%20%22%3Cnew%3E%22&amp;utm_term=t&amp;utm_content=%C3%A4">x</a>',
    );
  });

  it.each([
    '<a href="{{{UNSUBSCRIBE_URL}}}">x</a>',
    '<a href="{{{VIEW_IN_BROWSER_URL}}}">x</a>',
    '<a href="{{{link|https://x.example}}}">x</a>',
    '<a href="mailto:a@x.example">x</a>',
    '<a href="/relative">x</a>',
    '<a data-rasket-no-track href="https://x.example">x</a>',
    '<img src="https://x.example/p.png"><link href="https://x.example/s.css">',
    '<!-- <a href="https://x.example"> -->',
    '<a href="https://x.example/?utm_source=a&utm_medium=b&utm_campaign=c">x</a>',
  ])('leaves %s as it is', (html) => expect(tagHtmlLinks(html, NEWS)).toBe(html));
});

it.each([
  ['See https://x.example/p.', `See https://x.example/p?${TEXT}.`],
  ['(https://x.example/p?a=1#b) and', `(https://x.example/p?a=1&${TEXT}#b) and`],
  ['https://x.example/?e={{{EMAIL|urlencode}}}\nNext', `https://x.example/?e={{{EMAIL|urlencode}}}&${TEXT}\nNext`],
  ['<HTTPS://x.example/p>', `<HTTPS://x.example/p?${TEXT}>`],
  ['https://x.example/p?a&#1', `https://x.example/p?a&${TEXT}#1`],
  ['{{{UNSUBSCRIBE_URL}}} and ftp://x.example', '{{{UNSUBSCRIBE_URL}}} and ftp://x.example'],
])('the text %j becomes %j', (before, after) => expect(tagTextLinks(before, NEWS)).toBe(after));

it.each([
  ['https://x.example/p?utm_source=a&b=2&UTM_x=c#d', 'https://x.example/p?b=2#d'],
  ['https://x.example/p?utm_source=a', 'https://x.example/p'],
  ['https://x.example/p?b=utm_x&utm_source=a', 'https://x.example/p?b=utm_x'],
  ['https://x.example/p?b=utm_source=a', 'https://x.example/p?b=utm_source=a'],
  ['https://x.example/p#?utm_source=a', 'https://x.example/p#?utm_source=a'],
])('removeUtm turns %s into %s', (before, after) => expect(removeUtm(before)).toBe(after));

it.each([
  ['Example Ltd.', 'example-ltd'],
  ['Große Änderung 2026!', 'große-änderung-2026'],
  ['—', ''],
  ['ﬁrst', 'first'],
  ['x'.repeat(150), 'x'.repeat(100)],
])('makeUtmValue turns %j into %j', (name, value) => expect(makeUtmValue(name)).toBe(value));
