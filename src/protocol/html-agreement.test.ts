import { RUNS, someHtml } from './html/hostile-html.test-helper.ts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HtmlTokenizer } from './html/index.ts';
import { parseMerge, findMergePlaces, renderMerge } from './merge.ts';
import { textOfHtml } from './read-message/index.ts';
import { linksIn, plainHtml } from './safe-html/index.ts';
import { findTargets, listStartTags } from './track-links/index.ts';

describe('for any HTML', () => {
  it('tracking, merging and the list of links agree on which text is a link', () => {
    const target = 'http://probe.test/';
    fc.assert(
      fc.property(someHtml, someHtml, (before, after) => {
        const html = `${before}<a href="${target}">${after}`;
        const anchors = listStartTags(html).filter(({ name, attributes }) => name === 'a' && attributes.has('href'));
        const isLink = anchors.some(({ attributes }) => attributes.get('href') === target);
        const isTracked = findTargets(html).links.some((link) => link.target === target);
        const places = findMergePlaces(parseMerge(html.replace(target, '{{{A}}}')));
        expect(places[0]?.isAnchor).toBe(isLink);
        expect(isTracked).toBe(isLink && !isInCdata(before));
        if (isLink) expect(linksIn(html, 10)).toContain(target);
      }),
      RUNS,
    );
  });

  it('a value in visible text is merged as text', () => {
    const word = 'probe7';
    fc.assert(
      fc.property(someHtml, someHtml, (before, after) => {
        // `plainHtml` removes the character before it reads anything: "<!--\\0>" becomes a whole comment.
        fc.pre(!before.includes('\0'));
        const [place] = findMergePlaces(parseMerge(`${before} {{{A}}}${after}`));
        for (const text of [textOfHtml(`${before} ${word}${after}`), plainHtml(`${before} ${word}${after}`, 10_000)]) {
          // A value in a CDATA section could end it, and is not written.
          if (text.includes(word)) expect(place?.is).toBe(endsInCdata(before) ? 'nowhere' : 'text');
        }
      }),
      RUNS,
    );
  });

  it('a value in a conditional comment is merged as outside of it', () => {
    fc.assert(
      fc.property(someHtml, (before) => {
        const [inside] = findMergePlaces(parseMerge(`<!--[if mso]>${before}{{{A}}}`));
        fc.pre(!/--!?>/.test(before));
        expect(inside?.isInComment).toBe(true);
        const [outside] = findMergePlaces(parseMerge(`${before}{{{A}}}`));
        expect({ is: inside?.is, isBare: inside?.isBare }).toEqual({ is: outside?.is, isBare: outside?.isBare });
      }),
      RUNS,
    );
  });

  it.each([
    '"',
    "'",
    '>',
    '-->',
    '--!>',
    '-',
    ' onclick=x ',
    '<script>',
    '</style>',
    ']]>',
    '<![endif]-->',
    '=',
    '`',
    '/',
  ])('the value %j changes no markup, in a conditional comment either', (value) => {
    fc.assert(
      fc.property(someHtml, someHtml, fc.constantFrom('', '<!--[if mso]>', '<p title="'), (before, after, start) => {
        const text = parseMerge(`${start}${before}{{{A}}}${after}`);
        const [place] = findMergePlaces(text);
        const render = (given: string): string =>
          renderMerge(text, { given: new Map([['A', given]]) }, { escape: 'html', areForeign: true });
        expect(listMarkup(render(value))).toEqual(listMarkup(render('x')));
        if (place?.isInComment !== true || start !== '<!--[if mso]>') return;
        const content = (given: string): string => render(given).slice(start.length);
        expect(listMarkup(content(value))).toEqual(listMarkup(content('x')));
      }),
    );
  });
});

describe('a drawing that the end tag of an element around it ends', () => {
  it('a script after a drawing that an end tag around it ended is a script, in which no value is merged', () => {
    const html = '<div><svg></div><script>var s=`<b>{{{A}}}</b>`</script>';
    expect(findMergePlaces(parseMerge(html))[0]?.is).toBe('nowhere');
    expect(textOfHtml(html)).toBe('');
  });

  it('a link after a drawing that an end tag around it ended is read, although a CDATA section could begin before it', () => {
    const html = '<div><svg></div><![CDATA[> <a href="https://evil.example/">BUY</a>';
    expect(linksIn(html, 10)).toEqual(['https://evil.example/']);
    expect(textOfHtml(html)).toContain('BUY');
    expect(plainHtml(html, 1000)).toContain('BUY');
  });

  it('a style after a drawing that an end tag around it ended is a style, whose text nobody sees', () => {
    const html = '<div><svg></div><style><b>{{{UNSUBSCRIBE_URL}}} to unsubscribe</b></style>';
    expect(textOfHtml(html)).toBe('');
    expect(findMergePlaces(parseMerge(html))[0]?.is).toBe('css');
  });
});

describe('a CDATA section', () => {
  it.each([
    '<svg><text><![CDATA[shown <b> & more]]></text></svg>',
    '<svg><foreignObject><![CDATA[shown <b> & more]]></foreignObject></svg>',
    '<math><mi><![CDATA[shown <b> & more]]></mi></math>',
    '<svg><text><![CDATA[shown <b> & more',
  ])('a CDATA section is text where browsers show it: %s', (html) => {
    expect(textOfHtml(html)).toBe('shown <b> & more');
  });

  it.each(['<svg><foreignObject><div><![CDATA[hidden>]]>', '<![CDATA[hidden>]]>', '<svg><style><![CDATA[hidden>]]>'])(
    'a CDATA section is no text where browsers show none of it: %s',
    (html) => {
      expect(textOfHtml(html)).not.toContain('hidden');
    },
  );

  it('a CDATA section in an image that never ends is shown in plain HTML too, as text', () => {
    expect(plainHtml('<svg><text><![CDATA[1 < 2 & 3]]>', 1000)).toBe('1 &lt; 2 &amp; 3');
  });
});

/** Lists the tokens of HTML without their texts: the kind of each, and the names of its element and its attributes. */
function listMarkup(html: string): string[] {
  const tokens = new HtmlTokenizer(html);
  const found: string[] = [];
  for (let kind = tokens.next(); kind !== 'end'; kind = tokens.next()) {
    const names = Array.from({ length: tokens.attributeCount }, (_, index) => tokens.attributeName(index));
    found.push(kind.endsWith('tag') ? `${kind} ${tokens.name} ${names.join()}` : kind);
  }
  return found;
}

function endsInCdata(html: string): boolean {
  const tokens = new HtmlTokenizer(html);
  let last = '';
  for (let kind = tokens.next(); kind !== 'end'; kind = tokens.next()) last = kind;
  return last === 'cdata' && !html.endsWith(']]>');
}

/** Returns whether tracking leaves a link behind this text alone, whatever a browser makes of it. */
function isInCdata(before: string): boolean {
  const tokens = new HtmlTokenizer(before);
  for (let kind = tokens.next(); kind !== 'end'; kind = tokens.next()) {
    const isOpen = (kind === 'declaration' || kind === 'unfinished') && before.startsWith('<![CDATA[', tokens.start);
    if (isOpen && !before.slice(tokens.start).includes(']]>')) return true;
  }
  return false;
}
