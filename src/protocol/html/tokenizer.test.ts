import { RUNS, someHtml } from './hostile-html.test-helper.ts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { endOfBody, startOfBody } from './body-places.ts';
import { HtmlTokenizer, type TokenKind } from './tokenizer.ts';

interface Token {
  kind: TokenKind;
  start: number;
  end: number;
  name: string;
}

function readTokens(html: string, limits: readonly number[] = []): Token[] {
  const tokens = new HtmlTokenizer(html);
  const found: Token[] = [];
  for (const limit of [...limits, html.length]) {
    for (let kind = tokens.next(limit); kind !== 'end' && kind !== 'paused'; kind = tokens.next(limit)) {
      const isTag = kind === 'start tag' || kind === 'end tag';
      found.push({ kind, start: tokens.start, end: tokens.end, name: isTag ? tokens.name : '' });
    }
  }
  return found;
}

const SIGNS: Partial<Record<TokenKind, string>> = {
  comment: '#',
  declaration: '!',
  cdata: '[]',
  unfinished: '…',
};

/** Returns tokens as a line: tags by their names, text as it is, and a sign for everything else. */
const formatTokens = (html: string): string =>
  readTokens(html)
    .map(({ kind, start, end, name }) => {
      if (kind === 'text') return JSON.stringify(html.slice(start, end));
      if (kind === 'start tag') return `<${name}>`;
      return kind === 'end tag' ? `</${name}>` : (SIGNS[kind] ?? kind);
    })
    .join(' ');

describe('the HTML tokenizer reads tokens as a browser does', () => {
  // The expectations were compared with the tokens of parse5's whole parser.
  it.each([
    ['<!-->a', '# "a"'],
    ['<!--->a', '# "a"'],
    ['<!---->a', '# "a"'],
    ['<!--!>a-->b', '# "b"'],
    ['<!-- --!>a', '# "a"'],
    ['<!----!>a', '# "a"'],
    ['<!---!>a-->', '#'],
    ['<!--<!-->a', '# "a"'],
    ['<!-- <!-- -->a-->', '# "a-->"'],
    ['<!-- > -- > a', '#'],
    ['<!->a', '! "a"'],
    ['<!>a', '! "a"'],
    ['<!doctype html PUBLIC ">">', '! "\\">"'],
    ['<?xml version="1.0"?>a', '! "a"'],
    ['<![if !mso]>a<![endif]>', '! "a" !'],
    ['<![CDATA[ > a ]]>', '! " a ]]>"'],
    ['</>a</ b>c</3>', '! "a" ! "c" !'],
    ['1 < 2 <3 << a', '"1 < 2 <3 << a"'],
    ['a </', '"a </"'],
    ['a <', '"a <"'],
    ['a <b', '"a " …'],
    ['a <b x="', '"a " …'],
    ['a <!', '"a " …'],
    ['a <!-- b', '"a " #'],
    ['<A/B=C>', '<a>'],
    ['<a x=">">', '<a>'],
    ["<a x='>'>", '<a>'],
    ['<a x=>b', '<a> "b"'],
    ['<a "x>">', '<a> "\\">"'],
    ['<a x=y">"', '<a> "\\""'],
    ['<a =">b', '<a> "b"'],
    ['<lin\u212a>', '<lin\u212a>'],
    ['<a\0b>', '<a\0b>'],
    ['<p\r\nx\r\n>a\r\n</p\f>', '<p> "a\\r\\n" </p>'],
    ['<script>a<b></scriptx></SCRIPT x>c', '<script> "a<b></scriptx>" </script> "c"'],
    ['<script><!--<script></script>a--></script>b', '<script> "<!--<script></script>a-->" </script> "b"'],
    ['<script><!--</script>a', '<script> "<!--" </script> "a"'],
    ['<script><!--><script></script>a', '<script> "<!--><script>" </script> "a"'],
    ['<script><!--<scriptx></script>a', '<script> "<!--<scriptx>" </script> "a"'],
    ['<script><!--<script>--></script>a', '<script> "<!--<script>-->" </script> "a"'],
    ['<script>a', '<script> "a"'],
    ['<title>a<b></title>c', '<title> "a<b>" </title> "c"'],
    ['<textarea></textareax></textarea/>a', '<textarea> "</textareax>" </textarea> "a"'],
    ['<style></sty</style>a', '<style> "</sty" </style> "a"'],
    ['<xmp><!--</xmp>-->', '<xmp> "<!--" </xmp> "-->"'],
    ['<iframe><p></iframe>', '<iframe> "<p>" </iframe>'],
    ['<noembed><p></noembed>', '<noembed> "<p>" </noembed>'],
    ['<noframes><p></noframes>', '<noframes> "<p>" </noframes>'],
    ['<noscript><p></noscript>', '<noscript> <p> </noscript>'],
    ['<plaintext><p></plaintext>', '<plaintext> "<p></plaintext>"'],
    ['<style/><p></style>', '<style> "<p>" </style>'],
    ['<svg><style><!-- </style> --></style>a', '<svg> <style> # </style> "a"'],
    ['<svg><title><b></title><script><g>', '<svg> <title> <b> </title> <script> <g>'],
    ['<svg><![CDATA[ > ]] ]>]]>a', '<svg> [] "a"'],
    ['<svg/><![CDATA[ > ]]>', '<svg> ! " ]]>"'],
    ['<svg><p><style><b></style>', '<svg> <p> <style> "<b>" </style>'],
    ['<svg></p><style><b>', '<svg> </p> <style> "<b>"'],
    ['<svg><desc><style><b></style></desc><style><b>', '<svg> <desc> <style> "<b>" </style> </desc> <style> <b>'],
    ['<svg><font><style><g><font color=x><style><g>', '<svg> <font> <style> <g> <font> <style> "<g>"'],
    ['<svg><svg></svg><style><g></svg><style><g>', '<svg> <svg> </svg> <style> <g> </svg> <style> "<g>"'],
    ['<svg><title>a</svg><style><b>', '<svg> <title> "a" </svg> <style> "<b>"'],
    ['<svg><title><i>a</i></svg><style><b>', '<svg> <title> <i> "a" </i> </svg> <style> "<b>"'],
    ['<math><mi><style><b></style></mi><style><g>', '<math> <mi> <style> "<b>" </style> </mi> <style> <g>'],
    ['<math><mi><mglyph><style><g>', '<math> <mi> <mglyph> <style> <g>'],
    ['<math><annotation-xml><style><g>', '<math> <annotation-xml> <style> <g>'],
    ['<math><annotation-xml encoding="Text/HTML"><style><g>', '<math> <annotation-xml> <style> "<g>"'],
  ])('%j is read as %s', (html, line) => {
    expect(formatTokens(html)).toBe(line);
  });

  it('the first of two equal attributes counts, and values are found where they are written', () => {
    const html = '<a X=1 y = \'2\' x="3" z =w>';
    const tokens = new HtmlTokenizer(html);
    expect(tokens.next()).toBe('start tag');
    expect(['x', 'y', 'z', 'w', 'v'].map((name) => tokens.readAttribute(name))).toEqual(['1', '2', 'w', '', '']);
    expect(html.slice(tokens.findAttribute('y')?.start, tokens.findAttribute('y')?.end)).toBe('2');
    expect(tokens.findAttribute('w')).toBeUndefined();
  });
});

describe('places in the body', () => {
  it.each([
    ['<body>a</body>', 7, 6],
    ['<!-- <body> </body> --><body>a</body>b</body><!-- </body> -->', 38, 29],
    ['<title><body></title></head>a', 29, 28],
    ['<!doctype html>\n<html>\n<p>a', 27, 23],
    ['a<!-- b', 1, 0],
    ['a</', 1, 0],
    ['', 0, 0],
  ])('of %j are found, with the end at %d and the start at %d', (html, end, start) => {
    expect([endOfBody(html), startOfBody(html)]).toEqual([end, start]);
  });
});

describe('for any HTML', () => {
  it('tokens cover the text from its start to its end without gaps', () => {
    fc.assert(
      fc.property(someHtml, (html) => {
        let at = 0;
        for (const { start, end } of readTokens(html)) {
          expect(start).toBe(at);
          expect(end).toBeGreaterThan(start);
          at = end;
        }
        expect(at).toBe(html.length);
      }),
      RUNS,
    );
  });

  it('a text that is read in pieces has the tokens of the whole text', () => {
    fc.assert(
      fc.property(someHtml, fc.array(fc.nat(100)), (html, cuts) => {
        const limits = cuts.filter((cut) => cut < html.length).toSorted((a, b) => a - b);
        expect(readTokens(html, limits)).toEqual(readTokens(html));
      }),
      RUNS,
    );
  });

  it('a skipped character changes only positions', () => {
    const HOLE = '\uFFFC';
    const kinds = (tokens: HtmlTokenizer): string[] => {
      const found: string[] = [];
      for (let kind = tokens.next(); kind !== 'end'; kind = tokens.next()) {
        const names = Array.from({ length: tokens.attributeCount }, (_, index) => tokens.attributeName(index));
        found.push(kind === 'start tag' ? `${kind} ${tokens.name} ${names.join()}` : kind);
      }
      return found;
    };
    fc.assert(
      fc.property(someHtml, fc.nat(60), (html, cut) => {
        const at = Math.min(cut, html.length);
        const tokens = new HtmlTokenizer(`${html.slice(0, at)}${HOLE}${html.slice(at)}`);
        const before: string[] = [];
        for (let kind = tokens.next(at); kind !== 'paused'; kind = tokens.next(at)) before.push(kind);
        // Nothing has to be skipped inside text and comments.
        fc.pre(tokens.region === 'markup');
        tokens.skip();
        expect([...before, ...kinds(tokens)].map((kind) => kind.split(' ', 1)[0])).toEqual(
          kinds(new HtmlTokenizer(html)).map((kind) => kind.split(' ', 1)[0]),
        );
      }),
      RUNS,
    );
  });
});

describe('the tokenizer reads each character a few times at most', () => {
  const patterns = [
    '<',
    '<a ',
    '<a href="',
    '<a x=1 ',
    '<!--',
    '<!-->',
    '</',
    '&',
    '"',
    '<div>',
    '<svg>',
    '<math><mi>',
  ];
  const others = ['<script>', '<script><!--', '<title></', '<svg><![CDATA[', '<svg><style>', '</p', '<svg>]]>'];
  it.each([...patterns, ...others])('in a megabyte of %j, whole and in pieces', (pattern) => {
    const html = pattern.repeat(1_000_000 / pattern.length);
    const whole = new HtmlTokenizer(html);
    while (whole.next() !== 'end');
    expect(whole.charsRead).toBeLessThan(4 * html.length);
    const cut = new HtmlTokenizer(html);
    for (let limit = 100; limit < html.length; limit += 100) while (cut.next(limit) !== 'paused');
    expect(cut.charsRead).toBeLessThan(4 * html.length);
  });
});
