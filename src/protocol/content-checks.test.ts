import { describe, expect, it } from 'vitest';
import { checkContent, type CheckName, type CheckedContent } from './content-checks.ts';

const KNOWN = ['FIRST_NAME', 'LAST_NAME', 'EMAIL', 'UNSUBSCRIBE_URL', 'PREFERENCES_URL', 'PLAN'];
const LETTERS = 'Letters enough. '.repeat(60);

const whole: CheckedContent = {
  subject: 'News',
  previewText: 'What is new',
  html: `<p>${LETTERS}</p><a href="https://example.com">More</a><a href="{{{UNSUBSCRIBE_URL}}}">Leave</a>`,
  text: null,
  isKnown: (key) => KNOWN.includes(key.toUpperCase()),
};
const checked = (change: Partial<CheckedContent>) =>
  Object.fromEntries(checkContent({ ...whole, ...change }).map((check) => [check.name, check]));
const checkStatus = (name: CheckName, change: Partial<CheckedContent>) => checked(change)[name]?.status;
const link = (href: string) => ({ html: `${whole.html}<a href="${href}">x</a>` });
const body = (html: string) => ({ html: `${whole.html}${html}` });

it('the ten content checks run in one order, and an email without faults passes them all', () => {
  expect(checkContent(whole).map(({ name, status }) => `${name} ${status}`)).toEqual([
    'variables pass',
    'links pass',
    'link_types pass',
    'subject pass',
    'preview_text pass',
    'alt_text pass',
    'image_weight pass',
    'text_and_images pass',
    'size pass',
    'unsubscribe pass',
  ]);
});

it('a check reports everything that it finds, the worst first, and counts what it does not list', () => {
  const links = [
    '<a href="http://plain.example">x</a>',
    '<a href="javascript:alert(1)">x</a>',
    '<img alt="" src="http://plain.example/a.png">',
    '<iframe src="{{{PLAN}}}"></iframe>',
  ];
  const types = checked(body(links.join('')))['link_types'];
  expect(types).toMatchObject({
    status: 'fail',
    message: expect.stringMatching(
      /would run code.*merge variable is the address.*link begins with http:.* \(and 1 more\)$/,
    ),
  });
  expect(types?.details).toEqual([
    'javascript:alert(1)',
    '<iframe src="{{{PLAN}}}"></iframe>',
    'http://plain.example',
    'http://plain.example/a.png',
  ]);
  const subject = `Re: ${'long '.repeat(20)}`;
  expect(checked({ subject })['subject']?.message).toMatch(/begins with Re:.*has 103 characters/);
  const many = Array.from({ length: 25 }, (_, i) => `<a href="page${i}">x</a>`).join('');
  const details = checked(body(many))['links']?.details;
  expect([details?.length, details?.at(-1)]).toEqual([20, '… and 6 more']);
});

describe('the check of variables', () => {
  it.each([
    ['{{{NICK}}}', 'fail'],
    ['{{{NICK|friend}}}', 'pass'],
    ['{{{NICK|}}}', 'pass'],
    ['{{{NICK|friend}}} {{{NICK}}}', 'fail'],
    ['{{{plan}}} {{{PLAN}}} {{{FIRST_NAME}}}', 'pass'],
    ['{{NICK}}', 'fail'],
    ['Hi {{ contact.first_name | default: "you" }}', 'fail'],
    ['{{#if vip}}', 'fail'],
    ['*|FNAME|*', 'fail'],
    ['%%first_name%%', 'fail'],
    ['%recipient.name%', 'fail'],
    ['{{{{NICK}}}}', 'fail'],
    ['100%% sure, {{}} and *| nothing |*', 'pass'],
  ])('with %s ends as %s in every text', (written, status) => {
    for (const change of [{ subject: written }, { previewText: written }, body(written), { text: written }]) {
      expect(checkStatus('variables', change)).toBe(status);
    }
  });

  it('lists each unknown variable once', () => {
    expect(checked({ subject: '{{{B}}}{{{A}}}', text: '{{{A}}}' })['variables']?.details).toEqual([
      '{{{B}}}',
      '{{{A}}}',
    ]);
  });
});

it('a variable of another service is shown as it is written', () => {
  expect(checked({ subject: 'Hi {{first_name}}', text: '*|FNAME|* {{first_name}}' })['variables']?.details).toEqual([
    '{{first_name}}',
    '*|FNAME|*',
  ]);
});

it.each(['RE: Your order', 'fw: News', 'Fwd:News', 'AW: Angebot', 'Re[2]: x'])(
  'the subject "%s" looks like an answer and gets a warning',
  (subject) => {
    expect(checked({ subject })['subject']).toMatchObject({ status: 'warn', message: expect.stringMatching(/answer/) });
  },
);

it.each(['Re-opening our shop: May 5', 'Reply: yes', 'Free: news', 'Tracks: new'])(
  'the subject "%s" does not look like an answer',
  (subject) => {
    expect(checkStatus('subject', { subject })).toBe('pass');
  },
);

it('HTML that Gmail clips gets a warning, in bytes of UTF-8', () => {
  expect(checkStatus('size', { html: 'a'.repeat(102 * 1024) })).toBe('pass');
  expect(checkStatus('size', { html: 'a'.repeat(102 * 1024 + 1) })).toBe('warn');
  expect(checked({ html: 'ä'.repeat(60 * 1024) })['size']?.message).toMatch(/^The HTML has 120 KB; Gmail/);
});

it('a picture that is loaded by http gets a warning', () => {
  const picture = body('<img alt="" src="http://example.com/a.png">');
  expect(checked(picture)['link_types']).toMatchObject({ status: 'warn', details: ['http://example.com/a.png'] });
  expect(checkStatus('link_types', body('<img alt="" src="https://example.com/a.png">'))).toBe('pass');
});

describe('the check of links', () => {
  it.each([
    ['<a href={{{PLAN}}}>x</a>', 'fail'],
    ['<a title="it\'s" href=https://example.com/{{{PLAN}}}>x</a>', 'fail'],
    ['<img alt="" src = {{{PLAN}}}>', 'fail'],
    ['<a href="https://example.com/?a={{{PLAN}}}" title="b = {{{PLAN}}}">x</a>', 'pass'],
    ['<p>a = {{{PLAN}}} <b>a={{{PLAN}}}</b></p>', 'pass'],
    ['<!-- <a href={{{PLAN}}}>x</a> -->', 'pass'],
    ['<a title="1 < 2" href={{{PLAN}}}>x</a>', 'fail'],
  ])('for %s, a merge variable in an attribute, ends as %s', (written, status) => {
    expect(checkStatus('links', body(written))).toBe(status);
  });

  it.each([
    '',
    ' ',
    '#',
    '#top',
    'example.com',
    'www.example.com/a',
    '/page',
    '//example.com',
    'https://',
    'https:example.com',
    'htp://example.com',
    '?a=1',
    'ftp://example.com/a',
    'mailto:',
    '{{{PLAN|#}}}',
    'page/{{{PLAN}}}',
  ])('fails for the link %j', (href) => expect(checkStatus('links', link(href))).toBe('fail'));

  it.each([
    'https://example.com',
    ' https://example.com ',
    'HTTPS://EXAMPLE.COM/a?b=c&amp;d=e#f',
    'http://example.com',
    'https://example.com/{{{PLAN}}}?m={{{EMAIL}}}',
    'https&colon;&sol;&sol;example.com',
    'mailto:a@example.com',
    'tel:+491',
    '{{{UNSUBSCRIBE_URL}}}',
    '{{{PLAN}}}',
    '{{{PLAN|https://example.com}}}',
  ])('passes for the link %j', (href) => expect(checkStatus('links', link(href))).toBe('pass'));

  it('lists an unquoted attribute with its tag, without the quoted values', () => {
    const written = '<p>{{{PLAN}}}</p><a title="{{{PLAN|it\'s}}}" class=x href={{{PLAN}}}>x</a>';
    expect(checked(body(written))['links']?.details).toEqual(['<a title="" class=x href={{{PLAN}}}>x</a>']);
  });

  it.each([
    ['https://a.example/?e={{{EMAIL}}}', ['https://a.example/?e={{{EMAIL}}}']],
    ['See (https://a.example/{{{PLAN|x}}}/y)', ['https://a.example/{{{PLAN}}}']],
    ['https://a.example/?e={{{EMAIL|urlencode}}}&p={{{PLAN}}}', ['https://a.example/?e=x&p={{{PLAN}}}']],
    ['https://a.example/?e={{{EMAIL|urlencode}}} {{{EMAIL}}}', undefined],
    ['{{{PLAN}}}/?e=1 https://{{{PLAN}}} https://a.example {{{PLAN}}}', undefined],
  ])('finds variables that are not encoded in the addresses of the text %s', (text, details) => {
    const { links } = checked({ text });
    expect(links).toMatchObject({ status: details === undefined ? 'pass' : 'warn', details: details ?? [] });
    if (details !== undefined) expect(links?.message).toContain('{{{KEY|urlencode}}}');
  });

  it('ignores an anchor without an address and links in comments', () => {
    expect(
      checkStatus('links', body('<a name="x">x</a><!-- <a href="#">y</a> --><area href="https://example.com">')),
    ).toBe('pass');
    expect(checkStatus('links', body('<area href="#">'))).toBe('fail');
  });
});

describe('the check of link types', () => {
  it.each([
    'javascript:alert(1)',
    'JaVaScRiPt:alert(1)',
    ' javascript:alert(1)',
    '\u0001javascript:alert(1)',
    'java\tscript:alert(1)',
    'java\nscript:alert(1)',
    'java&#x0A;script:alert(1)',
    'java&Tab;script:alert(1)',
    'java&NewLine;script&colon;alert&lpar;1&rpar;',
    'java&Tab;script:alert(1)&nosuchthing;',
    '&#106;&#97;&#118;&#97;&#115;&#99;&#114;&#105;&#112;&#116;&#58;alert(1)',
    '&#x6A&#x61&#x76&#x61&#x73&#x63&#x72&#x69&#x70&#x74&#x3A;alert(1)',
    '&#0000106javascript:'.replace('&#0000106', '&#0000032'),
    'vbscript:msgbox(1)',
    'VBScript:msgbox(1)',
    'data:text/html,<script>alert(1)</script>',
    'data:text/html;base64,PHNjcmlwdD4=',
    'DATA&#58;text/html,x',
    'data:image/svg+xml,<svg onload=alert(1)>',
    'java{{{PLAN}}}script:alert(1)',
    '{{{PLAN|javascript:alert(1)}}}',
    '{{{PLAN}}}javascript:alert(1)',
  ])('fails for the link %j, which runs code', (href) => {
    expect(checkStatus('link_types', { html: `<a href='${href}'>x</a>` })).toBe('fail');
    expect(checkStatus('links', { html: `<a href='${href}'>x</a>` })).toBe('pass');
  });

  it.each([
    '<a HREF=javascript:alert(1)>x</a>',
    "<A\nhref\n=\n'javascript:alert(1)'>x</A>",
    '<a/href="javascript:alert(1)">x</a>',
    '<a x href="javascript:alert(1)" href="https://example.com">x</a>',
    '<svg><a xlink:href="javascript:alert(1)">x</a></svg>',
    '<form action="javascript:alert(1)"><button formaction="vbscript:x">y</button></form>',
    '<iframe src="data:text/html,x"></iframe>',
    '<object data="javascript:alert(1)"></object>',
    '<img src="javascript:alert(1)">',
    '<meta http-equiv="refresh" content="0; url=javascript:alert(1)">',
    '<a title=">" href="javascript:alert(1)">x</a>',
  ])('fails for %s, which runs code', (html) => expect(checkStatus('link_types', { html })).toBe('fail'));

  it.each([
    '<a href="https://example.com/?q=javascript:alert(1)">x</a>',
    '<a title="javascript:alert(1)" href="https://example.com">x</a>',
    '<img alt="" src="data:image/png;base64,AAAA">',
    '<!-- <a href="javascript:alert(1)">x</a> -->',
    '<a href="https://example.com" href="javascript:alert(1)">x</a>',
    '<p>javascript:alert(1)</p>',
  ])('passes for %s', (html) => expect(checkStatus('link_types', { html })).toBe('pass'));

  it.each([
    ['<script src="{{{PLAN}}}"></script>', '<script src="{{{PLAN}}}"></script>'],
    ['<iframe title="x" src="https://{{{PLAN}}}/"></iframe>', '<iframe title="" src="https://{{{PLAN}}}/"></iframe>'],
    ['<meta content="0;url={{{PLAN}}}" http-equiv=refresh>', '<meta content="0;url={{{PLAN}}}" http-equiv=refresh>'],
    ['<form action="{{{PLAN|https://example.com}}}">', '<form action="{{{PLAN|https://example.com}}}">'],
    ['<!--[if mso]><link href="{{{PLAN}}}"><![endif]-->', '<link href="{{{PLAN}}}"><![endif]-->'],
  ])('fails for %s, where a contact would choose what is loaded', (html, detail) => {
    expect(checked({ html })['link_types']).toMatchObject({ status: 'fail', details: [detail] });
  });

  it('passes for a merge variable in the query of a form or as an image', () => {
    const html = '<form action="https://example.com/?e={{{EMAIL}}}"></form><img alt="" src="{{{PLAN}}}">';
    expect(checkStatus('link_types', { html })).toBe('pass');
  });

  it.each(['<script>', '<!--', '<p title="', '" title=\''])(
    'reads no markup in the default of a merge variable: %s',
    (markup) => {
      const html = `<p title="{{{PLAN|${markup}}}}">{{{PLAN|${markup}}}}</p><a href="javascript:alert(1)">x</a>${LETTERS}`;
      expect(checkStatus('link_types', { html })).toBe('fail');
      expect(checkStatus('text_and_images', { html: `<img alt="" src="a">${html}` })).toBe('pass');
    },
  );

  it('warns about an http link', () => {
    expect(checked(link('http://example.com/a'))['link_types']).toMatchObject({
      status: 'warn',
      details: ['http://example.com/a'],
    });
  });
});

describe('the check of', () => {
  it.each([
    ['', 'fail'],
    ['   ', 'fail'],
    ['x'.repeat(60), 'pass'],
    ['😀'.repeat(60), 'pass'],
    ['x'.repeat(61), 'warn'],
    [`Hi {{{FIRST_NAME|${'x'.repeat(58)}}}}`, 'warn'],
    [`Hi {{{FIRST_NAME}}} ${'x'.repeat(50)}`, 'pass'],
  ])('a subject %j ends as %s', (subject, status) => expect(checkStatus('subject', { subject })).toBe(status));

  it.each([
    [null, 'warn'],
    [' ', 'warn'],
    ['x'.repeat(150), 'pass'],
    ['x'.repeat(151), 'warn'],
  ])('a preview text %j ends as %s', (previewText, status) =>
    expect(checkStatus('preview_text', { previewText })).toBe(status),
  );

  it('alt texts warns about an image without one, and takes an empty one as decoration', () => {
    const images = body('<img src="https://example.com/a.png"><img alt src="b"><img alt="" src="c">');
    expect(checked(images)['alt_text']).toMatchObject({ status: 'warn', details: ['https://example.com/a.png'] });
    expect(checkStatus('alt_text', body('<img alt="A chair" src="a">'))).toBe('pass');
  });

  it('embedded images warns above 1 MB', () => {
    const picture = (bytes: number) => `<img alt="" src="data:image/png;base64,${'A'.repeat(bytes / 0.75)}">`;
    expect(checkStatus('image_weight', body(picture(600 * 1024)))).toBe('pass');
    expect(checkStatus('image_weight', body(picture(600 * 1024).repeat(2)))).toBe('warn');
    expect(checkStatus('image_weight', body('<img alt="" src="https://example.com/large.png">'))).toBe('pass');
  });

  it('text and images warns when images predominate', () => {
    const picture = '<img alt="" src="https://example.com/a.png">';
    expect(checkStatus('text_and_images', { html: `${picture}<p>Buy now</p>` })).toBe('warn');
    expect(checkStatus('text_and_images', { html: picture.repeat(50) + LETTERS })).toBe('pass');
    expect(checkStatus('text_and_images', { html: '<p>Short</p>' })).toBe('pass');
    expect(checkStatus('text_and_images', { html: `${picture}<style>${LETTERS}</style>` })).toBe('warn');
  });

  it('unsubscribe links warns when a body has none', () => {
    expect(checkStatus('unsubscribe', { html: '<p>Hi</p>' })).toBe('warn');
    expect(checkStatus('unsubscribe', { html: '<a href="{{{PREFERENCES_URL}}}">x</a>' })).toBe('pass');
    expect(checkStatus('unsubscribe', { html: '{{{UNSUBSCRIBE_URL}}}', text: 'Hi' })).toBe('warn');
    expect(checkStatus('unsubscribe', { html: null, text: 'Leave: {{{ unsubscribe_url }}}' })).toBe('pass');
  });

  it.each([
    ['></a>', 'warn'],
    ['> &nbsp;\u200b<b></b><!-- leave --></a>', 'warn'],
    [' class=x></a> {{{FIRST_NAME|you}}}', 'warn'],
    ['', 'warn'],
    ['><style>p{}</style></a>', 'warn'],
    ['>leave</a>', 'pass'],
    ['><b>leave</b></a>', 'pass'],
    ['><img src="https://example.com/x.png" alt="leave"></a>', 'pass'],
    ['>{{{FIRST_NAME|leave}}}</a>', 'pass'],
    [`>${' '.repeat(100_000)}</a>`, 'pass'],
  ])('unsubscribe links counts only a link with visible content: %s', (rest, status) => {
    expect(checkStatus('unsubscribe', { html: `<a href="{{{UNSUBSCRIBE_URL}}}"${rest}` })).toBe(status);
    expect(checkStatus('unsubscribe', { html: `<A title='x' HREF={{{UNSUBSCRIBE_URL}}}${rest}` })).toBe(status);
  });

  it.each([
    ['<title>#</title>', 'warn'],
    ['<!-- # -->', 'warn'],
    ['<!-- <a href="#">leave</a> -->', 'warn'],
    ['<!--[if mso]><a href="#">leave</a><![endif]-->', 'warn'],
    ['<!--[if mso]>#<![endif]-->', 'warn'],
    ['<p title="#">x</p>', 'warn'],
    ['<p data-href="#" class="#">x</p>', 'warn'],
    ['<img alt="#" src="https://example.com/x.png">', 'warn'],
    ['<img alt="" src="#">', 'warn'],
    ['<input value="#">', 'warn'],
    ['<link href="#">', 'warn'],
    ['</a href="#">x', 'warn'],
    ['<template>#</template>', 'warn'],
    ['<textarea>#</textarea>', 'warn'],
    ['<iframe>#</iframe>', 'warn'],
    ['<select><option>#</option></select>', 'warn'],
    ['<style>#</style>', 'warn'],
    ['<script>#</script>', 'warn'],
    ['<svg><title>#</title></svg>', 'warn'],
    ['<p hidden>#</p>', 'warn'],
    ['<dialog>#</dialog>', 'warn'],
    ['<div style="color:red; DISPLAY : none">#</div>', 'warn'],
    ['<div style="display&colon;none">#</div>', 'warn'],
    ['<div style="visibility:hidden">#</div>', 'warn'],
    ['<div style="display:none"><div>x</div><img src="a"><a href="#">leave</a></div>', 'warn'],
    ['<a href="#" style="display:none">leave</a>', 'warn'],
    ['<a style="display:none" href="#">leave</a>', 'warn'],
    ['<a href="#"><span hidden>leave</span></a>', 'warn'],
    ['<a href="#"><img hidden src="https://example.com/x.png"></a>', 'warn'],
    ['<a href="#"><title>leave</title></a>', 'warn'],
    [`<a href="#">${'<b>'.repeat(2000)}</a>`, 'warn'],
    ['<div style="display:none">x</div>#', 'pass'],
    ['<div style="display:none"><div></div></div><a href="#">leave</a>', 'pass'],
    ['<p hidden>x<p>#', 'pass'],
    ['<p style="background:display;no:none">#</p>', 'pass'],
    ['<img hidden src="a"><br hidden>#', 'pass'],
    ['<svg hidden/>#', 'pass'],
    ['<svg><title>x</title><defs><g/></defs></svg>#', 'pass'],
    ['<svg><defs><path><p>#</p>', 'pass'],
    ['<svg><metadata></svg>#', 'pass'],
    ['<noscript>#</noscript>', 'pass'],
    ['<dialog open>#</dialog>', 'pass'],
    ['<title>x</title><template>x</template><select><option>x</select>#', 'pass'],
    ['<a href="https://example.com/?to=#">leave</a>', 'pass'],
    ['<a href="#"><span hidden>x</span>leave</a>', 'pass'],
    ['<p hidden><a href="#">leave</a></p><p>#</p>', 'pass'],
    ['<a href="#">x', 'pass'],
    ['<map><area alt="leave" href="#"></map>', 'pass'],
    ['<map hidden><area alt="leave" href="#"></map>', 'warn'],
  ])('unsubscribe links counts only a link or displayed text: %s', (html, status) => {
    expect(checkStatus('unsubscribe', { html: html.replaceAll('#', '{{{UNSUBSCRIBE_URL}}}') })).toBe(status);
  });

  it('unsubscribe links finds one after any number of empty links, in time that grows with the length', () => {
    const empty = '<a href="{{{UNSUBSCRIBE_URL}}}">';
    expect(checkStatus('unsubscribe', { html: empty.repeat(5000) })).toBe('warn');
    expect(checkStatus('unsubscribe', { html: `${empty.repeat(5000)}<a href="{{{UNSUBSCRIBE_URL}}}">x</a>` })).toBe(
      'pass',
    );
  });
});

// Quadratic work would take minutes, which is longer than a test may take.
describe('the time of all checks is bounded for hostile text', () => {
  it.each([
    '<a href="',
    '<a href=javascript:',
    '<a ',
    '<!--',
    '{{{A',
    '&',
    '<img src=data:,',
    '<a href="#">',
    '</',
    '</head ',
    '<p hidden>',
    '<p style="display:none;',
    '<div style="; ; {',
    '<div hidden>{{{A}}}',
    '<!--[if mso]><p title="{{{A}}}',
    '<!--[if {{{A}}}',
    '<meta content="{{{A}}}" ',
    '{{',
    '{{a ',
    '*|A',
    '%%a',
  ])('with a megabyte of %s', (piece) => {
    expect(checkContent({ ...whole, html: piece.repeat(1_000_000 / piece.length) })).toHaveLength(10);
  });
});
