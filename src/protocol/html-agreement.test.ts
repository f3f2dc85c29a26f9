import { RUNS, someHtml } from './html/hostile-html.test-helper.ts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HtmlTokenizer } from './html/index.ts';
import { parseMerge, findMergePlaces } from './merge.ts';
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
        const [place] = findMergePlaces(parseMerge(`${before} {{{A}}}${after}`));
        for (const text of [textOfHtml(`${before} ${word}${after}`), plainHtml(`${before} ${word}${after}`, 10_000)]) {
          if (text.includes(word)) expect(place?.is).toBe('text');
        }
      }),
      RUNS,
    );
  });
});

/** Returns whether tracking leaves a link behind this text alone, whatever a browser makes of it. */
function isInCdata(before: string): boolean {
  const tokens = new HtmlTokenizer(before);
  for (let kind = tokens.next(); kind !== 'end'; kind = tokens.next()) {
    const isOpen = (kind === 'declaration' || kind === 'unfinished') && before.startsWith('<![CDATA[', tokens.start);
    if (isOpen && !before.slice(tokens.start).includes(']]>')) return true;
  }
  return false;
}
