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
  // The expectations were compared with the tokens of parse5's whole parser, and with Chromium.
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
    ['<svg><title><b></title><script><g>', '<svg> <title> <b> </title> <script> "<g>"'],
    ['<svg><title></title><script><g>', '<svg> <title> </title> <script> <g>'],
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

  // The expectations were compared with Chromium.
  it.each([
    ['the div around it', '<div><svg></div>', true],
    ['the outer one of two divs around it', '<div id=1><div><svg></div>', true],
    ['a div that is not open', '<svg></div>', false],
    ['a div around the foreignObject', '<div><svg><foreignObject></div>', false],
    ['a div around a text integration point of MathML', '<div><math><mi></div>', false],
    ['the svg around a div of its foreignObject', '<svg><foreignObject><div></svg>', false],
    ['the svg around an open span of its foreignObject', '<svg><foreignObject><span></svg>', false],
    ['the svg around an empty foreignObject', '<svg><foreignObject></svg>', true],
    ['the span around it', '<span><svg></span>', true],
    ['a span that is outside of a div around it', '<span><div><svg></span>', false],
    ['the b around the div around it, which stays open', '<b><div><svg></b>', true],
    ['a b that ended with the p before it, and is open again', '<p><b></p>x<svg></b>', true],
    ['a p that is not open', '<svg></p>', true],
    ['a br', '<svg><g></br>', true],
    ['a template around it', '<template><svg><desc></template>', true],
    ['a template that is not open', '<svg></template>', false],
    ['the form around it, which ends alone', '<form><svg></form>', false],
    ['the cell around its foreignObject', '<table><tr><td><svg><foreignObject></td>', true],
    ['the table before which it is placed', '<table><svg></table>', true],
    ['a heading of another level', '<h1><svg></h2>', true],
    ['the list item, from within a list of its own', '<li><ul><svg></li>', false],
    ['an element of the same name in it', '<g><svg><g></g>', false],
    ['the body', '<body><svg></body>', false],
    ['the button around it', '<button><svg></button>', true],
    ['a font without a color', '<font><svg><font></font>', false],
  ])('the end tag of %s is read as in a browser: %j ends the drawing: %j', (_what, before, ends) => {
    const tokens = new HtmlTokenizer(before);
    while (tokens.next() !== 'end');
    expect(tokens.foreignDepth === 0).toBe(ends);
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
  const nested = [
    '<b>',
    '<div><svg></div>',
    '<svg><g></p>',
    '<b><div></b>',
    '<p><b x=1>',
    '<svg><foreignObject><div>',
    '<table><tr><td>',
    '<form><div></form>',
    '<template>',
    '<object><b>',
    '<svg></table>',
  ];
  const others = ['<script>', '<script><!--', '<title></', '<svg><![CDATA[', '<svg><style>', '</p', '<svg>]]>'];
  it.each([...patterns, ...nested, ...others])('in a megabyte of %j, whole and in pieces', (pattern) => {
    const html = pattern.repeat(1_000_000 / pattern.length);
    const whole = new HtmlTokenizer(html);
    while (whole.next() !== 'end');
    expect(whole.charsRead).toBeLessThan(4 * html.length);
    expect(whole.elementSteps).toBeLessThan(4 * html.length);
    const cut = new HtmlTokenizer(html);
    for (let limit = 100; limit < html.length; limit += 100) while (cut.next(limit) !== 'paused');
    expect(cut.charsRead).toBeLessThan(4 * html.length);
  });

  const many = (tag: string, length = 500_000): string => tag.repeat(length / tag.length);
  it.each([
    ['open elements and end tags that do not end them', '<svg>' + many('<g>') + many('</h>')],
    ['open elements of HTML and drawings that an end tag ends', many('<div>') + many('<svg></div>')],
    ['spans in formatting elements that end around a block', `<svg></svg>${many('<b><span>')}<div>${many('</b>')}`],
    ['formatting elements that each paragraph opens again', `<svg></svg>${many('<b x=1><b x=2>')}${many('<p>x')}`],
  ])('in a megabyte of %s', (_what, html) => {
    const tokens = new HtmlTokenizer(html);
    while (tokens.next() !== 'end');
    expect(tokens.elementSteps).toBeLessThan(20 * html.length);
  });
});
