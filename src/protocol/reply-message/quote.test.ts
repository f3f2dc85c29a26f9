import { describe, expect, it } from 'vitest';
import { forwardBelow, quoteBelow, type QuotedMessage } from './index.ts';

const quoted: QuotedMessage = {
  from: 'Ann <ann@home.example>',
  to: ['support@shop.example'],
  cc: ['bob@home.example'],
  subject: 'Printer',
  at: new Date(Date.UTC(2026, 10, 20, 12)),
  text: 'It burns.\n\n> What is it?\nHelp',
  html: '<p onclick="x()">It <b>burns</b>.<img src="https://t.example/p.gif"></p></blockquote>',
};
const LINE = 'On Fri, 20 Nov 2026 12:00:00 +0000, Ann <ann@home.example> wrote:';

describe('an answer with what it answers', () => {
  it('in plain text, with the signature between', () => {
    const { text, html } = quoteBelow({ text: 'Use water.\n', html: null }, quoted, 'The shop\n');
    expect(text).toBe(`Use water.\n\n-- \nThe shop\n\n${LINE}\n> It burns.\n>\n>> What is it?\n> Help`);
    expect(html).toBeNull();
  });

  it('in HTML, of which the stranger cannot leave the quote', () => {
    const { text, html } = quoteBelow(
      { text: null, html: '<html><body><p>Use water.</p></body></html>' },
      quoted,
      'The <shop>',
    );
    expect(text).toBeNull();
    expect(html).toBe(
      `<html><body><p>Use water.</p>\n<div><p>-- <br>The &lt;shop&gt;</p>\n<p>${LINE.replace('<', '&lt;').replace('>', '&gt;')}</p>\n` +
        '<blockquote type="cite" style="margin:0 0 0 .8ex;border-left:1px solid #ccc;padding-left:1ex"><p>It <b>burns</b>.</p></blockquote></div>\n</body></html>',
    );
  });

  it('a mail with HTML alone is quoted as the text of it', () => {
    const { text } = quoteBelow({ text: 'Yes', html: null }, { ...quoted, text: null }, null);
    expect(text).toBe(`Yes\n\n${LINE}\n> It burns.`);
  });

  it('a mail with text alone is quoted as text in HTML', () => {
    const { html } = quoteBelow({ text: null, html: 'Yes' }, { ...quoted, html: null, text: '<script>\n&' }, null);
    expect(html).toContain('>&lt;script&gt;<br>\n&amp;</blockquote>');
  });

  it('an empty mail is quoted as nothing', () => {
    expect(quoteBelow({ text: 'Yes', html: null }, { ...quoted, text: null, html: null }, '')).toEqual({
      text: `Yes\n\n${LINE}\n>`,
      html: null,
    });
  });

  it('names cannot write lines, tags or turn the line around', () => {
    const from = '"\u202eAnn\r\nwrote:\r\n<b>" <ann@home.example>';
    const { text, html } = quoteBelow({ text: 'Yes', html: 'Yes' }, { ...quoted, from, text: 'x', html: null }, null);
    expect(text?.split('\n')).toHaveLength(4);
    expect(text).not.toMatch(/[\r\u202e]/);
    expect(html).not.toContain('<b>');
  });

  it('of a long mail the beginning is quoted', () => {
    const { text, html } = quoteBelow(
      { text: 'Yes', html: 'Yes' },
      { ...quoted, text: 'a b c\r\n'.repeat(1_000_000), html: '<i>x</i>'.repeat(1_000_000) },
      null,
    );
    expect(text!.length).toBeLessThan(500_000);
    expect(text!.endsWith('\n> a b c\n> […]')).toBe(true);
    expect(html!.length).toBeLessThan(300_000);
    expect(html).toContain('<p>[…]</p></blockquote>');
  });

  it('a body that ends a hundred thousand times is closed once more', () => {
    const { html } = quoteBelow({ text: null, html: '</body>'.repeat(100_000) }, quoted, null);
    expect(html!.endsWith('</div>\n</body>')).toBe(true);
  });
});

it('a mail that is passed on names who wrote it to whom', () => {
  const { text, html } = forwardBelow(
    { text: 'See below', html: 'See below' },
    { ...quoted, subject: 'Printer\r\n<b>' },
    'The shop',
  );
  expect(text).toBe(
    'See below\n\n-- \nThe shop\n\n---------- Forwarded message ---------\nFrom: Ann <ann@home.example>\n' +
      'Date: Fri, 20 Nov 2026 12:00:00 +0000\nSubject: Printer <b>\nTo: support@shop.example\nCc: bob@home.example\n\n' +
      'It burns.\n\n> What is it?\nHelp',
  );
  expect(html).toContain('Subject: Printer &lt;b&gt;<br>');
  expect(html).not.toMatch(/<img|onclick/);
});
