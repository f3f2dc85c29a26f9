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

describe('a reply with its quote', () => {
  it('has the signature in between in plain text', () => {
    const { text, html } = quoteBelow({ text: 'Use water.\n', html: null }, quoted, 'The shop\n');
    expect(text).toBe(`Use water.\n\n-- \nThe shop\n\n${LINE}\n> It burns.\n>\n>> What is it?\n> Help`);
    expect(html).toBeNull();
  });

  it('in HTML does not let the sender break out of the quote', () => {
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

  it('quotes mail without a text part as the text of its HTML', () => {
    const { text } = quoteBelow({ text: 'Yes', html: null }, { ...quoted, text: null }, null);
    expect(text).toBe(`Yes\n\n${LINE}\n> It burns.`);
  });

  it('quotes mail without an HTML part as escaped text', () => {
    const { html } = quoteBelow({ text: null, html: 'Yes' }, { ...quoted, html: null, text: '<script>\n&' }, null);
    expect(html).toContain('>&lt;script&gt;<br>\n&amp;</blockquote>');
  });

  it('quotes an empty mail as nothing', () => {
    expect(quoteBelow({ text: 'Yes', html: null }, { ...quoted, text: null, html: null }, '')).toEqual({
      text: `Yes\n\n${LINE}\n>`,
      html: null,
    });
  });

  it('does not let names add lines, tags or text direction marks', () => {
    const from = '"\u202eAnn\r\nwrote:\r\n<b>" <ann@home.example>';
    const { text, html } = quoteBelow({ text: 'Yes', html: 'Yes' }, { ...quoted, from, text: 'x', html: null }, null);
    expect(text?.split('\n')).toHaveLength(4);
    expect(text).not.toMatch(/[\r\u202e]/);
    expect(html).not.toContain('<b>');
  });

  it('quotes the beginning of a long mail', () => {
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

  it('has one closing tag when the body had a hundred thousand', () => {
    const { html } = quoteBelow({ text: null, html: '</body>'.repeat(100_000) }, quoted, null);
    expect(html!.endsWith('</div>\n</body>')).toBe(true);
  });
});

it('a forwarded mail names its sender and recipients', () => {
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
