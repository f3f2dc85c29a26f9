import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { renderEmail, renderSharePage } from '../../src/ports/http/share-page/share-page.ts';
import { closeDrawings, disarmHtml } from '../../src/protocol/safe-html/index.ts';
import { framed, unframed } from '../api/shares/shared.ts';
import { scaled } from '../rig/scale.ts';
import { hostileHtml } from './hostile-html.ts';

const corpus = hostileHtml('http://evil.example');

const OURS = /^(?:!doctype|html|head|meta|title|style|body|header|main|footer|section|details|summary)$/;
const OUR_TEXT = /^(?:h1|h2|dl|div|dt|dd|bdi|time|ul|ol|li|span|p|pre|a|iframe)$/;

const renderPage = async (html: string): Promise<string> => {
  const page = renderSharePage({
    email: {
      id: '019a9c1e-7d52-7c3a-9a54-0b8f4c1f2e77',
      from: html.slice(0, 300),
      to: [html.slice(0, 300)],
      cc: [html.slice(0, 300)],
      replyTo: [html.slice(0, 300)],
      subject: html.slice(0, 300),
      lastEvent: 'delivered',
      createdAt: 1_800_000_000_000,
      scheduledAt: null,
      expiresAt: 1_800_000_600_000,
      attachments: [
        {
          id: 'a',
          email_id: 'e',
          position: 0,
          filename: html.slice(0, 255),
          content_type: 'text/plain',
          content_disposition: 'attachment',
          content_id: null,
          size: 1,
          message_start: null,
          message_end: null,
          message_encoding: null,
        },
      ],
    },
    content: await renderEmail({ html, text: html, images: new Map() }),
    withRemoteImages: false,
  });
  return page.toString();
};

/** Every name that a parser could give an element, wherever it begins to read. */
const names = (html: string): string[] =>
  Array.from(html.matchAll(/<(?=([a-z][^\t\n\f\r />]*))/gi), ([, name = '']) => name.toLowerCase());

const DANGEROUS =
  /^(?:script|link|meta|base|iframe|frame|frameset|object|embed|applet|form|input|button|svg|math|template|video|audio|noscript|portal|fencedframe|textarea|select|plaintext|xmp|isindex|bgsound)$/;

describe.each(corpus)('the hostile HTML “$name”', ({ html }) => {
  it('stays inside the srcdoc attribute, and everything outside is ours', async () => {
    const page = await renderPage(html);
    expect(page.match(/ srcdoc="/g)).toHaveLength(1);
    expect(framed(page).endsWith(disarmHtml(closeDrawings(html)))).toBe(true);
    const around = unframed(page);
    for (const name of names(around)) expect(name).toMatch(new RegExp(`${OURS.source}|${OUR_TEXT.source}`));
    expect(around.match(/<iframe[^>]*>/g)).toEqual([expect.stringContaining(' sandbox="" ')]);
    for (const [, value = ''] of around.matchAll(/="([^"]*)"/g)) expect(value).not.toContain('evil');
    expect(around).not.toMatch(/<[^>]*\son\w+=/i);
  });

  it('contains no dangerous element and no link target after disarming', () => {
    const disarmed = disarmHtml(html);
    expect(names(disarmed).filter((name) => DANGEROUS.test(name))).toEqual([]);
    expect(disarmed.match(/(?<!data-)href[\t\n\f\r ]*=/gi)).toBeNull();
    expect(disarmHtml(disarmed).match(/(?<!data-)href[\t\n\f\r ]*=/gi)).toBeNull();
  });
});

describe('any disarmed HTML', () => {
  const pieces = fc.constantFrom(
    '<',
    '>',
    '/',
    '"',
    "'",
    '=',
    ' ',
    '\n',
    '\f',
    '\u00a0',
    '\u000b',
    '&',
    ';',
    '-',
    '!',
    '--',
    '<!--',
    '-->',
    '</',
    'script',
    'LINK',
    'a',
    'p',
    'style',
    'title',
    'head',
    'href',
    'HREF',
    'src',
    'x-',
    'data-',
    '&lt;',
    '&quot;',
    '&#60;',
    'base',
    'meta',
    'iframe',
    'o:p',
    'ſcript',
    '\u212a',
    '<![CDATA[',
    ']]>',
    '<?',
    '$&',
    "$'",
  );
  const text = fc.array(pieces, { maxLength: 40 }).map((parts) => parts.join(''));

  it('contains no dangerous element, however its tags start', () => {
    fc.assert(
      fc.property(text, (html) => names(disarmHtml(html)).every((name) => !DANGEROUS.test(name))),
      { numRuns: scaled(500) },
    );
  });

  it('contains no href with a value, however it is spelled', () => {
    const attributes = (html: string): string[] =>
      Array.from(html.matchAll(/([^\t\n\f\r />="'<]*)[\t\n\f\r ]*=/g), ([, name = '']) => name.toLowerCase());
    fc.assert(
      fc.property(text, (html) => attributes(disarmHtml(html)).every((name) => !/^(?:\w+:)?href$/.test(name))),
      { numRuns: scaled(500) },
    );
  });

  it('ends where the source ended, and the frame contains it whole', async () => {
    await fc.assert(
      fc.asyncProperty(text, async (html) => {
        const page = await renderPage(html);
        return framed(page).endsWith(disarmHtml(closeDrawings(html))) && page.split(' srcdoc="').length === 2;
      }),
      { numRuns: scaled(100) },
    );
  });
});

describe('disarming', () => {
  it.each([
    '<!doctype html><html><head><title>Hello</title><style>p > a{color:red}</style></head><body bgcolor="#fff"><p class="x">Hi</p></body></html>',
    '<table role="presentation" width="600"><tr><td style="padding:8px"><img src="https://x.example/a.png" alt=""></td></tr></table>',
    '<!--[if mso]><p>Outlook</p><![endif]--> 1 < 2 && a <b>bold</b><br/>',
    '<H1>Loud</H1>',
  ])('does not change %s', (html) => expect(disarmHtml(html)).toBe(html));

  it.each([
    ['<a href="https://x.example">x</a>', '<a data-href="https://x.example">x</a>'],
    ['<o:p>&nbsp;</o:p>', '<x-o:p>&nbsp;</x-o:p>'],
    ['<meta charset="utf-8"><p>x', '<head charset="utf-8"><p>x'],
    ['<script>1</script>', '<x-script>1</x-script>'],
    ['<form><input name=a></form>', '<x-form><head name=a></x-form>'],
    ['the href attribute', 'the href attribute'],
  ])('turns %s into %s', (html, disarmed) => expect(disarmHtml(html)).toBe(disarmed));
});
