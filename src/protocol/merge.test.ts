import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeAttribute } from './html-references/index.ts';
import {
  PlaceReader,
  collectKeys,
  mergedChars,
  parseMerge,
  findMergePlaces,
  nameEncodings,
  renderMerge,
  writeMerge,
  type MergeValues,
} from './merge.ts';

const values = (given: Record<string, string>, fallbacks: Record<string, string> = {}): MergeValues => ({
  given: new Map(Object.entries(given)),
  fallbacks: new Map(Object.entries(fallbacks)),
});
const raw = (text: string, given: Record<string, string> = {}, fallbacks: Record<string, string> = {}): string =>
  renderMerge(text, values(given, fallbacks), { escape: 'none' });

describe('a merge value is taken from', () => {
  it.each([
    ['the given value', 'Hi {{{NAME|friend}}}!', { NAME: 'Ada' }, { NAME: 'you' }, 'Hi Ada!'],
    ['the given value even when it is empty', 'Hi {{{NAME|friend}}}!', { NAME: '' }, { NAME: 'you' }, 'Hi !'],
    ['the inline default when no value is given', 'Hi {{{NAME|friend}}}!', {}, { NAME: 'you' }, 'Hi friend!'],
    ['an empty inline default when no value is given', 'Hi {{{NAME|}}}!', {}, { NAME: 'you' }, 'Hi !'],
    ['the fallback when there is no inline default', 'Hi {{{NAME}}}!', {}, { NAME: 'you' }, 'Hi you!'],
    ['nothing when there is no fallback', 'Hi {{{NAME}}}!', {}, {}, 'Hi !'],
  ] as const)('%s', (_, text, given, fallbacks, expected) => {
    expect(raw(text, given, fallbacks)).toBe(expected);
  });

  it('its own default at one place, and from the fallback at another without a default', () => {
    expect(raw('{{{A|x}}}{{{A}}}{{{A|y}}}', {}, { A: 'f' })).toBe('xfy');
  });

  it.each(['constructor', '__proto__', 'toString', 'hasOwnProperty'])('a variable with the key %s', (key) => {
    expect(raw(`{{{${key}}}}`)).toBe('');
    expect(renderMerge(`{{{${key}}}}`, { given: new Map([[key, 'v']]) }, { escape: 'none' })).toBe('v');
  });
});

describe('a merge variable', () => {
  it.each([
    ['{{{ A }}}', 'v'],
    ['{{{A |d}}}', 'v'],
    ['{{{{A}}}}', '{v}'],
    ['{{{{{A}}}}}', '{{v}}'],
    ['{{{A}}}{{{A}}}', 'vv'],
    [`{{{${'K'.repeat(50)}}}}`, ''],
    ['{{{B|a b, c!\n"<>&|}}}', 'a b, c!\n"<>&|'],
    ['{{{X|{{{A}}}}}}', '{{{X|v}}}'],
  ])('turns %j into %j', (text, expected) => expect(raw(text, { A: 'v' })).toBe(expected));

  it.each([
    '{{A}}',
    '{{{}}}',
    '{{{ }}}',
    '{{{A B}}}',
    '{{{A-B}}}',
    '{{{a.b}}}',
    '{{{#if A}}}',
    '{{{\nA}}}',
    '{{{A}}',
    '{{{A|d}}',
    '{{{Ä}}}',
    '{ {{A}}}',
    `{{{${'K'.repeat(51)}}}}`,
  ])('is not recognized in %j, which stays unchanged', (text) =>
    expect(raw(text, { A: 'v', K: 'v', B: 'v' })).toBe(text),
  );

  it('is listed for every key that a text uses', () => {
    expect(collectKeys(parseMerge('{{{A}}} x {{{b_2|z}}}{{{A|y}}} {{C}} {{{D-E}}}'))).toEqual(new Set(['A', 'b_2']));
  });
});

describe('escaping', () => {
  const hostile = `<script>alert("1")</script>&'`;

  it('in HTML applies to values, inline defaults and fallbacks', () => {
    const safe = '&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;&#39;';
    const text = `<b title='{{{A}}}'>{{{B|${hostile}}}}</b>{{{C}}}`;
    const merged = renderMerge(text, values({ A: hostile }, { C: hostile }), { escape: 'html' });
    expect(merged).toBe(`<b title='${safe}'>${safe}</b>${safe}`);
  });

  it('in plain text changes nothing', () => expect(raw('{{{A}}}', { A: hostile })).toBe(hostile));

  it('does not interpret replacement patterns in a value', () =>
    expect(raw('{{{A}}}', { A: "$& $' $1" })).toBe("$& $' $1"));
});

const braces = fc.array(fc.constantFrom('{', '}', '{{{', '}}}', '|', 'A', 'B', ' ', '<', '&', 'x'), { maxLength: 60 });
const someText = fc.oneof(
  fc.string(),
  braces.map((parts) => parts.join('')),
);
const someKey = fc.stringMatching(/^[A-Za-z0-9_]{1,50}$/);

describe('the filter of a merge variable', () => {
  const value = "a+b&c/d'é@x.org";

  it.each([
    ['{{{A|urlencode}}}', "a%2Bb%26c%2Fd'%C3%A9%40x.org"],
    ['{{{ A | urlencode }}}', "a%2Bb%26c%2Fd'%C3%A9%40x.org"],
    ['{{{A|urlpath}}}', "a+b&c/d'%C3%A9@x.org"],
    ['{{{A|x|urlencode}}}', "a%2Bb%26c%2Fd'%C3%A9%40x.org"],
    ['{{{B|New York|urlencode}}}', 'New%20York'],
    ['{{{B||urlencode}}}', ''],
    ['{{{C|urlencode}}}', 'f%26'],
    ['{{{B|urlencode |}}}', 'urlencode |'],
    ['{{{B|urlencoded}}}', 'urlencoded'],
  ])('in plain text turns %s into %j', (text, expected) => {
    const given = { given: new Map([['A', value]]), fallbacks: new Map([['C', 'f&']]) };
    expect(renderMerge(text, given, { escape: 'none' })).toBe(expected);
    expect(mergedChars(text, given, { escape: 'none' })).toBeGreaterThanOrEqual(expected.length);
  });

  it.each([
    ['<p>{{{A|urlencode}}} {{{A}}}</p>', '<p>a%2Bb%26c%2Fd&#39;%C3%A9%40x.org a+b&amp;c/d&#39;é@x.org</p>'],
    ['<a href="/?e={{{A|urlencode}}}">', '<a href="/?e=a%2Bb%26c%2Fd&#39;%C3%A9%40x.org">'],
    ['<a href="/p/{{{A|urlencode}}}">', '<a href="/p/a%2Bb%26c%2Fd&#39;%C3%A9%40x.org">'],
  ])('in HTML encodes once and escapes: %s', (html, expected) => {
    for (const areForeign of [false, true]) {
      const given = values({ A: value });
      expect(renderMerge(html, given, { escape: 'html', areForeign })).toBe(expected);
      expect(mergedChars(html, given, { escape: 'html', areForeign })).toBeGreaterThanOrEqual(expected.length);
    }
  });

  it('is written back as it was read', () => {
    for (const text of ['{{{A|urlencode}}}', '{{{A|x y|urlpath}}}', '{{{A||urlencode}}}', '{{{A|b|}}} c {{{D}}}'])
      expect(writeMerge(parseMerge(text))).toBe(text);
  });

  it('is named in HTML for each variable that is in the path or the query of a URL', () => {
    const html = '<a href="https://a.test/{{{A}}}?b={{{B|x}}}&c={{{C|urlpath}}}">{{{D}}}</a><a href="{{{E}}}">x</a>';
    expect(nameEncodings(html)).toBe(
      '<a href="https://a.test/{{{A|urlpath}}}?b={{{B|x|urlencode}}}&c={{{C|urlpath}}}">{{{D}}}</a><a href="{{{E}}}">x</a>',
    );
  });
});

describe('for every text and value', () => {
  it('a merged value is never expanded again', () => {
    fc.assert(
      fc.property(someText, someText, (before, value) => {
        const text = `${before.replaceAll(/[{}]/g, '')}{{{A}}}`;
        const given = { A: `${value}{{{B}}}`, B: 'expanded' };
        expect(raw(text, given)).toBe(before.replaceAll(/[{}]/g, '') + given.A);
      }),
    );
  });

  it('a text without three braces stays unchanged', () => {
    fc.assert(
      fc.property(someText, (text) => {
        fc.pre(!text.includes('{{{'));
        expect(raw(text, { A: 'v' })).toBe(text);
      }),
    );
  });

  it('every occurrence of a key is replaced', () => {
    fc.assert(
      fc.property(someKey, fc.string(), fc.array(fc.stringMatching(/^[^{}]*$/)), (key, value, around) => {
        const given = new Map([[key, value]]);
        expect(renderMerge(around.join(`{{{${key}}}}`), { given }, { escape: 'none' })).toBe(around.join(value));
      }),
    );
  });

  it('escaped HTML adds no tag, no quote and no entity of its own', () => {
    fc.assert(
      fc.property(someText, (value) => {
        const html = renderMerge('{{{A}}}', values({ A: value }), { escape: 'html' });
        expect(html).not.toMatch(/[<>"']/);
        expect(html.replaceAll(/&(amp|lt|gt|quot|#39);/g, '')).not.toContain('&');
      }),
    );
  });

  it('the merged length is known in advance', () => {
    fc.assert(
      fc.property(someText, someText, fc.constantFrom('html' as const, 'none' as const), (text, value, escape) => {
        const given = values({ A: value }, { B: value });
        expect(mergedChars(text, given, { escape })).toBe(renderMerge(text, given, { escape }).length);
      }),
    );
  });

  it('a parsed template renders like its text', () => {
    fc.assert(
      fc.property(someText, (text) => {
        const given = values({ A: 'v' });
        expect(renderMerge(parseMerge(text), given, { escape: 'html' })).toBe(
          renderMerge(text, given, { escape: 'html' }),
        );
      }),
    );
  });
});

// Quadratic work would take minutes, which is longer than a test may take.
describe('hostile text is merged in linear time', () => {
  const n = 100_000;
  it.each([
    ['{', '{'.repeat(n)],
    ['}', '}'.repeat(n)],
    ['{{{ and }}}', '{{{'.repeat(n) + '}}}'.repeat(n)],
    ['open variables', '{{{A'.repeat(n)],
    ['open defaults', '{{{A|'.repeat(n)],
    ['one endless default', `{{{A|${'x'.repeat(n * 10)}`],
    ['one endless key', `{{{${'A'.repeat(n * 10)}}}}`],
    ['endless spaces', `{{{${' '.repeat(n * 10)}`],
    ['endless spaces behind a key', `{{{A${' '.repeat(n * 10)}`],
    ['spaces before each brace', '{{{A '.repeat(n)],
    ['closed by two', '{{{A|b}}'.repeat(n)],
  ])('with many repetitions of %s', (_, text) => {
    const merged = raw(text, { A: 'v' });
    expect(merged).toBe(text);
  });

  it.each([
    ['an attribute with an endless name', `<p ${'x'.repeat(n * 10)}="`],
    ['a tag with an endless name', `<p${'x'.repeat(n * 10)} title="`],
    ['an endless value', `<a href="${'x'.repeat(n * 10)}`],
    ['an endless comment', `<!--${'-'.repeat(n * 10)}`],
    ['endless attributes', `<p ${'x '.repeat(n * 10)}title="`],
    ['a link around nothing', `<a href="{{{A}}}">${'<b>'.repeat(n)}`],
    ['a drawing without end', '<svg><![CDATA['],
    ['the content of a tag', '<meta content="'],
    ['a conditional comment', '<!--[if mso]><p title="'],
    ['a condition without end', '<!--[if '],
  ])('the places of many variables are found in %s', (_, begin) => {
    const text = parseMerge(begin + '{{{A}}}'.repeat(n));
    expect(findMergePlaces(text)).toHaveLength(text.filter((part) => typeof part !== 'string').length);
  });

  it('a value that is used in many places is measured without being written out', () => {
    const given = values({ A: 'x'.repeat(2000) });
    const text = parseMerge('{{{A}}}'.repeat(290_000));
    expect(mergedChars(text, given, { escape: 'none' })).toBe(580_000_000);
  });
});

describe('merge values from untrusted senders', () => {
  const render = (text: string, given: Record<string, string>): string =>
    renderMerge(text, values(given), { escape: 'html', areForeign: true });

  it.each([
    ['<a href="{{{A}}}">x</a>', { A: 'javascript:alert(1)' }],
    ["<a href='{{{A}}}'>x</a>", { A: 'JavaScript:alert(1)' }],
    ['<a href={{{A}}}>x</a>', { A: 'vbscript:x' }],
    ['<a href=" {{{A}}}">x</a>', { A: 'java\nscript:alert(1)' }],
    ['<a href="{{{A}}}{{{B}}}">x</a>', { A: 'java', B: 'script:alert(1)' }],
    ['<iframe src="{{{A}}}"></iframe>', { A: 'data:text/html,<script>alert(1)</script>' }],
  ])('cannot make a link that runs code: %j', (text, given) => {
    expect(render(text, given as unknown as Record<string, string>)).not.toMatch(/script:|data:/i);
  });

  it.each([
    ['<a href="{{{A}}}">x</a>', 'https://example.com/javascript:'],
    ['<a href="https://{{{A}}}/">x</a>', 'javascript:8443'],
    ['<p>{{{A}}}</p>', 'javascript: the good parts'],
    ['<p title="About {{{A}}}">x</p>', 'javascript: the good parts'],
    ['<img src="{{{A}}}">', 'data:image/png;base64,AAAA'],
    ['<a title="x" href="/">{{{A}}}</a>', 'javascript:alert(1)'],
  ])('stay unchanged elsewhere: %j', (text, value) => {
    expect(render(text, { A: value })).toBe(text.replace('{{{A}}}', value));
  });

  it.each<[place: string, text: string, value: string, expected: string]>([
    ['a query', '<a href="https://a.example/?e={{{A}}}&x=1">', 'a+b&c@x.org', '?e=a%2Bb%26c%40x.org&x=1">'],
    ['a query after a long path', `<a href="/${'p'.repeat(500)}?e={{{A}}}">`, 'a&b', '?e=a%26b">'],
    ['a fragment', "<a href='https://a.example#{{{A}}}'>", 'a b"', "#a%20b%22'>"],
    ['a path', '<img src="https://a.example/{{{A}}}.png">', 'a/50% off?&x=1#y', '/a/50%25%20off%3F&amp;x=1%23y.png">'],
    ['a path after a reference', '<a href="/a&#38;b/{{{A}}}">', 'x/y', '/a&#38;b/x/y">'],
    [
      'a query after a whole address',
      '<a href="{{{A}}}?e={{{A}}}">',
      'https://a.example/?x',
      'https://a.example/?x?e=https%3A%2F%2Fa.example%2F%3Fx">',
    ],
    ['a path after a whole address', '<a href="{{{A}}}/{{{A}}}">', 'a?b', '"a?b/a%3Fb">'],
    ['a query of another scheme', '<a href="mailto:x@a.example?subject={{{A}}}">', 'a&b', 'subject=a%26b">'],
    ['an address without quotes', '<a href=https://a.example/?e={{{A}}}>', 'a b', '?e=a%20b>'],
    ['half of a surrogate pair', '<a href="/?e={{{A}}}">', '\uD800', '?e=%EF%BF%BD">'],
  ])('in %s of a URL are percent-encoded: %j', (_, text, value, expected) => {
    const merged = render(text, { A: value });
    expect(merged.endsWith(expected), merged).toBe(true);
    expect(
      mergedChars(parseMerge(text), values({ A: value }), { escape: 'html', areForeign: true }),
    ).toBeGreaterThanOrEqual(merged.length);
  });

  it.each([
    ['<a href="{{{A}}}">x</a>', 'https://a.example/?x=1'],
    ['<a href=" {{{A}}}">x</a>', 'https://a.example/?x=1'],
    ['<a href="{{{B}}}{{{A}}}">x</a>', 'https://a.example/?x=1'],
    ['<a href="https://{{{A}}}.example/">x</a>', 'a.b:8443'],
    ['<p class="a/{{{A}}}">x</p>', 'a b?c'],
    ['<p>https://a.example/?e={{{A}}}</p>', 'a+b@x.org'],
  ])('that are a whole URL, a host or not in a URL are not encoded: %j', (text, value) => {
    expect(render(text, { A: value })).toBe(text.replace('{{{B}}}', '').replace('{{{A}}}', value));
  });

  it.each<[place: string, text: string, value: string, expected: string]>([
    ['text', '<p>{{{A}}}</p>', '<b>&', '<p>&lt;b&gt;&amp;</p>'],
    ['an attribute in quotes', '<p title="{{{A}}}">', '" x=\'', '<p title="&quot; x=&#39;">'],
    ['one without', '<p title={{{A}}}>', 'a b=`c`\n', '<p title=a&#32;b&#61;&#96;c&#96;&#10;>'],
    ['the middle of one without', '<p title=x{{{A}}}y>', ' ', '<p title=x&#32;y>'],
    ['one without, by nothing', '<p title={{{A}}} class=c>', '', '<p title="" class=c>'],
    ['one without, behind spaces', '<p title = {{{A}}}>', 'a b', '<p title = a&#32;b>'],
    ['a comment', '<!--{{{A}}}-->', '--!>-->', '<!--&#45;&#45;!&gt;&#45;&#45;&gt;-->'],
    ['a comment that ends by its bracket', '<!--{{{A}}}><i {{{A}}}>-->{{{A}}}', 'x', '<!--x><i x>-->x'],
    [
      'a style',
      '<style>p{color:{{{A}}}}</style>',
      'red}*{x:url(',
      '<style>p{color:red\\7d \\2a \\7b x\\3a url\\28 }</style>',
    ],
    [
      'a color, a number and a word',
      '<p style="color:{{{A}}}">',
      '#f00 1.5% Größe',
      '<p style="color:#f00 1.5% Größe">',
    ],
    ['a style of one element', "<p style='color:{{{A}}}'>", "red;';", "<p style='color:red\\3b \\27 \\3b '>"],
    ['the end of a style', '<style></sty{{{A}}}le><p {{{A}}}>', 'x', '<style></style><p >'],
    ['a title', '<title>{{{A}}}</title><p {{{A}}}>', '</title>', '<title>&lt;/title&gt;</title><p >'],
    ['a script', '<script>"{{{A}}}"</script>{{{A}}}', 'x', '<script>""</script>x'],
    ['a handler', '<p OnClick="f(\'{{{A}}}\')">', "');g('", '<p OnClick="f(\'\')">'],
    ['a page in the page', '<iframe srcdoc="{{{A}}}">', '<p>', '<iframe srcdoc="">'],
    ['the name of a tag', '<{{{A}}}>x</{{{A}}}>', 'script', '<>x</>'],
    ['the rest of such a name', '<scr{{{A}}}>', 'ipt', '<scr>'],
    ['the name of an attribute', '<p {{{A}}}>', 'onclick=x', '<p >'],
    ['the rest of such a name', '<p on{{{A}}}="x">', 'click', '<p on="x">'],
    ['a declaration', '<!{{{A}}}><?{{{A}}}>', '--', '<!><?>'],
    ['what only looks like a tag', '1 < 2 {{{A}}}', '<', '1 < 2 &lt;'],
    ['text behind a bracket that opens nothing', '<3 {{{A}}}', '<', '<3 &lt;'],
    ['a quote within the other', `<p title="it's {{{A}}}" class={{{A}}}>`, 'a b', `<p title="it's a b" class=a&#32;b>`],
    ['a slash behind an attribute', '<p title=a/{{{A}}}>', 'b c', '<p title=a/b&#32;c>'],
    ['an alt text', '<img alt="{{{A}}}">', 'javascript: the good parts', '<img alt="javascript: the good parts">'],
  ])('in %s are escaped or left out: %j', (_, text, value, expected) => {
    expect(render(text, { A: value })).toBe(expected);
  });

  it.each<[name: string, text: string, values: Record<string, string>, expected: string]>([
    [
      'an empty value does not end a comment',
      '<!--{{{A}}}><i {{{B}}}>-->',
      { A: '', B: 'onclick=x' },
      '<!-- ><i onclick=x>-->',
    ],
    ['an empty value does not end one by its dashes', '<!-- --{{{A}}}><i {{{B}}}>-->', { B: 'x' }, '<!-- -- ><i x>-->'],
    [
      'a value completes no end tag of a title',
      '<title><{{{A}}}title><p {{{B}}}>',
      { A: '/', B: 'x' },
      '<title><title><p x>',
    ],
    [
      'a value completes no end tag of a style',
      '<style><{{{A}}}style>{{{B}}}',
      { A: '/', B: '<p>' },
      '<style><style>\\3c p\\3e ',
    ],
    [
      'a handler without quotes goes on to the next word',
      '<p onclick={{{A}}} title={{{B}}}>',
      { A: 'x', B: 'alert(1)' },
      '<p onclick= title=>',
    ],
    [
      'a script in a drawing is a script',
      '<svg><script>{{{A}}}</script>{{{B}}}',
      { A: 'x', B: 'y' },
      '<svg><script></script>y',
    ],
    ['a style in a drawing is a style', '<svg><style>{{{A}}}</style>', { A: '}' }, '<svg><style>\\7d </style>'],
    ['a drawing ends where HTML goes on', '<svg><p><script>{{{A}}}</script>', { A: 'x' }, '<svg><p><script></script>'],
    [
      'a section of characters holds no value',
      '<svg><![CDATA[ > {{{A}}} ]]>{{{B}}}',
      { A: 'x', B: 'y' },
      '<svg><![CDATA[ >  ]]>y',
    ],
    [
      'a script in a comment in a script is one',
      '<script><!--<script></script>{{{A}}}',
      { A: 'x' },
      '<script><!--<script></script>',
    ],
    ['a tag that never ends holds values', '<p title="{{{A}}}', { A: '">' }, '<p title="&quot;&gt;'],
    [
      'a text field holds text',
      '<textarea>{{{A}}}</textarea>',
      { A: '</textarea>' },
      '<textarea>&lt;/textarea&gt;</textarea>',
    ],
    ['a template holds HTML', '<template><p {{{A}}}>{{{B}}}', { A: 'x', B: '<' }, '<template><p >&lt;'],
    [
      'HTML without scripts is HTML',
      '<noscript><p title={{{A}}}>',
      { A: '</noscript> x' },
      '<noscript><p title=&lt;/noscript&gt;&#32;x>',
    ],
    ['the text behind "plaintext" is text', '<plaintext><p {{{A}}}>', { A: 'x' }, '<plaintext><p x>'],
    ['the first value that is there begins an attribute', '<p title={{{A}}}{{{B}}} c>', { B: 'x' }, '<p title=x c>'],
    ['an attribute of empty values is empty', '<p title={{{A}}}{{{B}}} c>', {}, '<p title="" c>'],
    [
      'a quote behind an empty value begins no value',
      `<p title={{{A}}}"><p title="{{{B}}}">`,
      { B: 'onclick' },
      `<p title=&#32;"><p title="onclick">`,
    ],
  ])('cannot break the structure of HTML: %s', (_, text, given, expected) => {
    const merged = render(text, given);
    expect(merged).toBe(expected);
    expect(mergedChars(parseMerge(text), values(given), { escape: 'html', areForeign: true })).toBeGreaterThanOrEqual(
      merged.length,
    );
  });

  it.each<[text: string, values: Record<string, string>, expected: string]>([
    ['<!--[if mso]><p title={{{A}}}><![endif]-->', { A: 'x onclick=y' }, '<p title=x&#32;onclick&#61;y>'],
    ['<!--[if mso]><p title={{{A}}} class=c><![endif]-->', {}, '<p title="" class=c>'],
    ['<!--[if gte mso 9]><p title="{{{A}}}"><![endif]-->', { A: '"-->' }, '<p title="&quot;&#45;&#45;&gt;">'],
    ['<!--[if mso]><a href="{{{A}}}">x</a><![endif]-->', { A: 'javascript:alert(1)' }, '<a href="">x</a>'],
    ['<!--[if mso]><a href="https://a.test/?x={{{A}}}"><![endif]-->', { A: 'a b-c&d' }, '?x=a%20b&#45;c%26d">'],
    ['<!--[if mso]><a href="/{{{A}}}"><![endif]-->', { A: '?' }, '<a href="/%3F">'],
    ['<!--[if mso]><style>p{color:{{{A}}}}</style><![endif]-->', { A: 'red}*{' }, 'color:red\\7d \\2a \\7b }'],
    ['<!--[if mso]><p style="color:{{{A}}}"><![endif]-->', { A: 'a-b;--c' }, 'color:a-b\\3b \\2d \\2d c">'],
    ['<!--[if mso]><script>{{{A}}}</script>{{{A}}}<![endif]-->', { A: 'x' }, '<script></script>x<'],
    ['<!--[if mso]><p onclick="{{{A}}}" {{{A}}}><![endif]-->', { A: 'x' }, '<p onclick="" >'],
    ['<!--[if mso]><p {{{A}}}>-{{{B}}}-><![endif]-->', { A: '', B: '' }, '<p >- -><'],
    ['<!--[if mso]><p -{{{A}}}->{{{B}}}<![endif]-->', { A: 'x', B: '' }, '<p -_-><'],
    ['<!--[if {{{A}}}]><p><![endif]-->{{{A}}}', { A: 'mso' }, '<!--[if ]><p><![endif]-->mso'],
    ['<!-- [IF mso]><p title={{{A}}}><![endif]-->', { A: 'a b' }, '<p title=a&#32;b>'],
    ['<!--[if !mso]><!--><p title={{{A}}}><!--<![endif]-->', { A: 'a b-c' }, '<p title=a&#32;b-c>'],
    ['<![if !mso]><p title={{{A}}}><![endif]>{{{A}}}', { A: '- b' }, '<p title=-&#32;b><![endif]>- b'],
    ['<!--[if mso]><i title="<![endif]--><p title={{{A}}}>', { A: 'a b' }, '<p title=a&#32;b>'],
    ['<!--[if mso]><i title="<![endif]--><!-- {{{A}}}-->', { A: 'a-b' }, '<!-- a&#45;b-->'],
    ['<!--{{{A}}}[if mso]><p title={{{A}}}><![endif]-->', { A: 'a b' }, '<!--a b[if mso]><p title=a b>'],
  ])('are escaped in a conditional comment by their position in its HTML: %s', (text, given, expected) => {
    const merged = render(text, given);
    expect(merged).toContain(expected);
    expect(mergedChars(parseMerge(text), values(given), { escape: 'html', areForeign: true })).toBeGreaterThanOrEqual(
      merged.length,
    );
  });

  it.each([
    '<script src="{{{A}}}"></script>',
    '<svg><script xlink:href="{{{A}}}"></script></svg>',
    '<link rel=stylesheet href="{{{A}}}">',
    '<LINK rel=stylesheet HREF = "{{{A}}}">',
    '<base href="{{{A}}}">',
    '<base href="https://{{{A}}}/">',
    '<script src="https://a.test/{{{A}}}"></script>',
    '<meta http-equiv=refresh content="{{{A}}}">',
    '<meta content="0;url={{{A}}}" http-equiv=refresh>',
    '<meta content="0;url={{{A}}}" name=x http-equiv=refresh>',
    '<meta http-equiv="{{{A}}}" content=x>',
    '<iframe src="{{{A}}}"></iframe>',
    '<frame src="{{{A}}}">',
    '<object data="{{{A}}}"></object>',
    '<embed src="{{{A}}}">',
    '<param name=src value="{{{A}}}">',
    '<form action="{{{A}}}"></form>',
    '<button formaction="{{{A}}}">x</button>',
    '<a href="https://a.test" ping="{{{A}}}">x</a>',
    '<svg><use href="{{{A}}}"/></svg>',
    '<svg><a><animate attributeName=href to="{{{A}}}"/></a></svg>',
    '<svg><a><animate values="x;{{{A}}}" attributeName=href /></a></svg>',
    '<svg><a><set to="{{{A}}}" attributeName="xlink:href"/></a></svg>',
    '<svg><a><set to="https://a.test" attributeName="{{{A}}}"/></a></svg>',
    '<style>@import url({{{A}}});</style>',
    '<style>p{} @IMPORT "{{{A}}}";</style>',
    '<svg><style>@import "{{{A}}}";</style></svg>',
    '<!--[if mso]><link rel=stylesheet href="{{{A}}}"><![endif]-->',
    '<!--[if mso]><meta content="{{{A}}}" http-equiv=refresh><![endif]-->',
  ])('never choose what is loaded, followed or submitted to: %s', (text) => {
    for (const value of ['https://evil.test/', '//evil.test', 'href', '0;url=https://evil.test'])
      expect(render(text, { A: value })).toBe(text.replace('{{{A}}}', ''));
    expect(render(text.replace('{{{A}}}', '{{{A|x}}}'), {})).toBe(text.replace('{{{A}}}', ''));
  });

  it('are left out of an address without quotes so that no other text becomes the address', () => {
    expect(render('<iframe src={{{A}}} class=c>', { A: 'x' })).toBe('<iframe src="" class=c>');
  });

  it.each([
    '<form action="https://a.test/?e={{{A}}}">',
    '<iframe src="https://a.test/page?e={{{A}}}"></iframe>',
    '<meta name=description content="{{{A}}}">',
    '<meta content="{{{A}}}" property="og:title">',
    '<meta content="{{{A}}}',
    '<img src="{{{A}}}">',
    '<svg><image href="{{{A}}}"/></svg>',
    '<style>@import url(a.css);p{color:{{{A}}}}</style>',
    '<a href="{{{A}}}">x</a>',
    '<input value="{{{A}}}">',
  ])('stay in data, images and links: %s', (text) => {
    expect(render(text, { A: 'Ada' })).toBe(text.replace('{{{A}}}', 'Ada'));
  });

  it('never make a merge longer than it was measured', () => {
    const where = fc.constantFrom(
      '<p style="{{{A}}}">',
      '<p title={{{A}}}>',
      '<p style={{{A}}}>',
      '<!--{{{A}}}-->',
      '<a href=/?{{{A}}}>',
      '<!--[if mso]><p style={{{A}}} title={{{A}}}><a href=/{{{A}}}><style>{{{A}}}',
      '<!--[if -{{{A}}}]>-{{{A}}}<p -{{{A}}}-',
    );
    fc.assert(
      fc.property(
        where,
        fc.string({ unit: fc.constantFrom('-', '{', ' ', "'", '<', 'ä', '😀', '\uD800', '=') }),
        (text, value) => {
          const measured = mergedChars(parseMerge(text), values({ A: value }), { escape: 'html', areForeign: true });
          expect(render(text, { A: value }).length).toBeLessThanOrEqual(measured);
        },
      ),
    );
  });

  it('include defaults and fallbacks, which are escaped the same way', () => {
    const text = '<p title={{{A|a b}}} {{{B|x}}}>{{{C}}}';
    const given = values({}, { C: '<' });
    expect(renderMerge(text, given, { escape: 'html', areForeign: true })).toBe('<p title=a&#32;b >&lt;');
  });
});

describe('a merge value at the start of a URL', () => {
  const render = (html: string, values: Record<string, string>): string =>
    renderMerge(parseMerge(html), { given: new Map(Object.entries(values)) }, { escape: 'html', areForeign: true });

  it.each([
    ['blanks before the scheme', '<a href="{{{A}}}">', { A: `${' '.repeat(200)}javascript:alert(1)` }],
    ['blanks inside of the scheme', '<a href="{{{A}}}">', { A: `j${'\t'.repeat(490)}avascript:alert(1)` }],
    ['a scheme of two values', '<a href="{{{A}}}{{{B}}}">', { A: ' '.repeat(200), B: 'javascript:alert(1)' }],
    ['blanks without end', '<a href="{{{A}}}">', { A: `${' '.repeat(5000)}javascript:alert(1)` }],
    ['a character reference of the author before the value', '<a href="&#32;{{{A}}}">', { A: 'javascript:alert(1)' }],
    ['a scheme that the author began', '<a href="&#106;ava{{{A}}}">', { A: 'script:alert(1)' }],
    ['a reference that the value completes', '<object data="&{{{A}}}">', { A: '#106;avascript:alert(1)' }],
  ])('runs no code: %s', (_, html, values) => {
    const rendered = render(html, values);
    const address = /"(.*)"/.exec(rendered)?.[1] ?? '';
    expect(new URL(decodeAttribute(address), 'https://base.test/').protocol).toBe('https:');
  });

  it('is kept when it runs no code', () => {
    expect(render('<a href="{{{A}}}">', { A: 'https://x.test/?a=1&b=2' })).toBe(
      '<a href="https://x.test/?a=1&amp;b=2">',
    );
  });
});

describe('the reader of merge places reads each character a few times at most', () => {
  it.each([
    '{{{A}}}',
    '<p hidden>{{{A}}}',
    '<p {{{A}}}',
    '<p title="{{{A}}}',
    '<a href="{{{A}}}">',
    '<meta content="{{{A}}}" ',
    '<meta content="{{{A}}}">',
    '<!--{{{A}}}',
    '<!--{{{A}}}-->',
    '<!--[if {{{A}}}',
    '<!--[if {{{A}}}-->',
    '<!--[if mso]>{{{A}}}',
    '<!--[if mso]><p {{{A}}}-->',
    '<!--[if mso]><!-- {{{A}}}',
    '<svg><title>{{{A}}}',
    '<svg><script>{{{A}}}</svg>',
    '<script><!--{{{A}}}',
    '<style>{{{A}}}</',
    '<style>@import {{{A}}}',
  ])('in a megabyte of %j', (pattern) => {
    const html = pattern.repeat(1_000_000 / pattern.length);
    const reader = new PlaceReader(parseMerge(html));
    expect(reader.readAll()).toHaveLength(Math.floor(1_000_000 / pattern.length));
    expect(reader.charsRead).toBeLessThan(4 * html.length);
  });

  it.each([
    ['an attribute', '<p data-', '="'],
    ['an attribute in a conditional comment', '<!--[if mso]><p data-', '="'],
    ['a condition', '<!--[if ', ''],
    ['a conditional comment', '<!--[if mso]>', ''],
    ['a comment', '<!--', ''],
    ['a tag', '<', ' title="'],
  ])('in %s with an endless name before a hundred thousand variables', (_, before, after) => {
    const html = `${before}${'x'.repeat(500_000)}${after}${'{{{A}}}'.repeat(100_000)}`;
    const reader = new PlaceReader(parseMerge(html));
    expect(reader.readAll()).toHaveLength(100_000);
    expect(reader.charsRead).toBeLessThan(4 * html.length);
  });
});
