import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { scanHtml, trackHtml } from './track-html.ts';

const PIXEL = 'http://t.test/o/p.gif';

/** Tracks every link as `http://t.test/c/<n>`, and returns the targets of the links. */
function track(html: string): { html: string; targets: string[] } {
  const targets: string[] = [];
  return { html: trackHtml(html, { link: (target) => `http://t.test/c/${targets.push(target) - 1}` }), targets };
}

/** Replaces the tracked addresses by the original ones. */
function untrack(tracked: string, original: string): string {
  const places = scanHtml(original).links.map(({ start, end }) => original.slice(start, end));
  const own = scanHtml(tracked).links.map(({ start, end }) => ({ start, end, text: tracked.slice(start, end) }));
  let html = tracked;
  own.forEach(({ start, end, text }, i) => {
    if (!text.startsWith('http://t.test/c/')) return;
    const shift = html.length - tracked.length;
    html = html.slice(0, start + shift) + (places[i] ?? '') + html.slice(end + shift);
  });
  return html;
}

describe('a link that is tracked', () => {
  it.each<[name: string, html: string, tracked: string, ...targets: string[]]>([
    ['in double quotes', '<a href="http://a.test/x">', '<a href="@0">', 'http://a.test/x'],
    ['in single quotes', `<a href='https://a.test/?q="1"'>`, `<a href='@0'>`, 'https://a.test/?q="1"'],
    ['without quotes', '<a href=http://a.test/x>', '<a href=@0>', 'http://a.test/x'],
    ['without quotes, its slash is its own', '<a href=http://a.test/>x', '<a href=@0>x', 'http://a.test/'],
    ['in capitals', '<A HREF="HTTP://A.TEST/X">', '<A HREF="@0">', 'HTTP://A.TEST/X'],
    ['with white space about', '<a\n href\t=\n "\n http://a.test/ \t"\f>', '<a\n href\t=\n "@0"\f>', 'http://a.test/'],
    ['with a line break inside', '<a href="http://a.\r\ntest/x\ty">', '<a href="@0">', 'http://a.test/xy'],
    [
      'with references',
      '<a href="http://a.test/?a=1&amp;b=2&#38;c=3&#x26;d">',
      '<a href="@0">',
      'http://a.test/?a=1&b=2&c=3&d',
    ],
    [
      'with bare ampersands',
      '<a href="http://a.test/?a=1&copy=2&lt=3&b">',
      '<a href="@0">',
      'http://a.test/?a=1&copy=2&lt=3&b',
    ],
    [
      'with a reference without semicolon',
      '<a href="http://a.test/&eacute/&amp/">',
      '<a href="@0">',
      'http://a.test/é/&/',
    ],
    ['with a colon as reference', '<a href="http&colon;&sol;&sol;a.test/">', '<a href="@0">', 'http://a.test/'],
    [
      'with a C1 reference',
      '<a href="http://a.test/&#150;&#0;&#xD800;">',
      '<a href="@0">',
      'http://a.test/–\uFFFD\uFFFD',
    ],
    ['beyond ASCII', '<a href="http://bücher.test/ä?ö#ü">', '<a href="@0">', 'http://bücher.test/ä?ö#ü'],
    ['with a space inside', '<a href="http://a.test/a b">', '<a href="@0">', 'http://a.test/a b'],
    [
      'the first of two',
      '<a href="http://a.test/1" href="http://a.test/2">',
      '<a href="@0" href="http://a.test/2">',
      'http://a.test/1',
    ],
    [
      'behind other attributes',
      '<a class="x>y" title=\'>\' href="http://a.test/">',
      '<a class="x>y" title=\'>\' href="@0">',
      'http://a.test/',
    ],
    ['behind slashes', '<a/href="http://a.test/"/>', '<a/href="@0"/>', 'http://a.test/'],
    [
      'behind an attribute without value',
      '<a download href="http://a.test/">',
      '<a download href="@0">',
      'http://a.test/',
    ],
    ['behind a name that begins with "="', '<a =x href="http://a.test/">', '<a =x href="@0">', 'http://a.test/'],
    ['close to the value before it', '<a id="1"href="http://a.test/">', '<a id="1"href="@0">', 'http://a.test/'],
    ['of an image map', '<area shape=rect href="http://a.test/">', '<area shape=rect href="@0">', 'http://a.test/'],
    [
      'behind a stray "<"',
      '1 < 2 <3 <> << <a href="http://a.test/">',
      '1 < 2 <3 <> << <a href="@0">',
      'http://a.test/',
    ],
    [
      'behind a doctype',
      '<!DOCTYPE html PUBLIC ">"><a href="http://a.test/">',
      '<!DOCTYPE html PUBLIC ">"><a href="@0">',
      'http://a.test/',
    ],
    [
      'behind empty comments',
      '<!--><a href="http://a.test/1"><!---><a href="http://a.test/2">',
      '<!--><a href="@0"><!---><a href="@1">',
      'http://a.test/1',
      'http://a.test/2',
    ],
    [
      'behind a comment that ends oddly',
      '<!-- x --!><a href="http://a.test/">',
      '<!-- x --!><a href="@0">',
      'http://a.test/',
    ],
    [
      'that Outlook alone does not see',
      '<![if !mso]><a href="http://a.test/"><![endif]>',
      '<![if !mso]><a href="@0"><![endif]>',
      'http://a.test/',
    ],
    [
      'behind a processing instruction',
      '<?xml version="1.0"?><a href="http://a.test/">',
      '<?xml version="1.0"?><a href="@0">',
      'http://a.test/',
    ],
    [
      'behind a broken end tag',
      '</ x><//a></><a href="http://a.test/">',
      '</ x><//a></><a href="@0">',
      'http://a.test/',
    ],
    [
      'behind a script',
      '<script>"<a href=x>"</scriptx></SCRIPT ><a href="http://a.test/">',
      '<script>"<a href=x>"</scriptx></SCRIPT ><a href="@0">',
      'http://a.test/',
    ],
    [
      'behind a comment in a script',
      '<script><!-- </script><a href="http://a.test/">',
      '<script><!-- </script><a href="@0">',
      'http://a.test/',
    ],
    [
      'with clicktracking that is not off',
      '<a clicktracking=on href="http://a.test/">',
      '<a clicktracking=on href="@0">',
      'http://a.test/',
    ],
    [
      'without scripting',
      '<noscript><a href="http://a.test/"></noscript>',
      '<noscript><a href="@0"></noscript>',
      'http://a.test/',
    ],
  ])('is recognized %s', (_name, html, expected, ...targets) => {
    expect(track(html)).toEqual({ html: expected.replace(/@(\d)/g, 'http://t.test/c/$1'), targets });
  });
});

describe('an unchanged part of the HTML is', () => {
  it.each([
    ['a relative link', '<a href="/x">'],
    ['a link without scheme', '<a href="//a.test/x">'],
    ['a mail address', '<a href="mailto:a@a.test">'],
    ['a telephone number', '<a href="tel:+4930">'],
    ['an anchor', '<a href="#x">'],
    ['an inline picture', '<a href="cid:logo">'],
    ['a script', '<a href="javascript:alert(1)">'],
    ['a script with a line break', '<a href="java\nscript:alert(1)">'],
    ['data', '<a href="data:text/html,http://a.test/">'],
    ['another scheme', '<a href="ftp://a.test/">'],
    ['a scheme with one slash', '<a href="http:/a.test/">'],
    ['no address at all', '<a href="http://">'],
    ['an address that cannot be', '<a href="http://a b.test/">'],
    ['a control character', '<a href="http://a.test/\x01x">'],
    ['a control character as reference', '<a href="http://a.test/&#1;x">'],
    ['an unknown reference', '<a href="http://a.test/&nope;">'],
    ['what a merge left over', '<a href="http://a.test/{{{name}}}">'],
    ['a whole link that a merge left over', '<a href="{{{link}}}">'],
    ['nothing', '<a href="">'],
    ['no value', '<a href>'],
    ['a target over 4096 bytes', `<a href="http://a.test/${'x'.repeat(4096)}">`],
    ['an opt-out', '<a data-rasket-no-track href="http://a.test/">'],
    ['an opt-out behind the link', '<a href="http://a.test/" DATA-RASKET-NO-TRACK="">'],
    ['an opt-out of another service', `<a clicktracking='OFF' href="http://a.test/">`],
    ['another element', '<link href="http://a.test/"><base href="http://a.test/"><abbr href="http://a.test/">'],
    ['another attribute', '<a xhref="http://a.test/" data-href="http://a.test/" hre="http://a.test/">'],
    ['an end tag', '</a href="http://a.test/">'],
    ['text', 'http://a.test/ href="http://a.test/"'],
    ['a comment', '<!-- <a href="http://a.test/"> -->'],
    ['a comment with a tag end', '<!-- > <a href="http://a.test/"> -- > -->'],
    ['what Outlook alone sees', '<!--[if mso]><a href="http://a.test/"><![endif]-->'],
    ['a comment without end', '<!-- <a href="http://a.test/">'],
    ['a CDATA section', '<![CDATA[ <b> <a href="http://a.test/"> ]]>'],
    ['a script', '<script>x = \'<a href="http://a.test/">\'</script>'],
    ['a script in a script in a comment', '<script><!--<script></script><a href="http://a.test/">--></script>'],
    ['a style', '<style><a href="http://a.test/"></style>'],
    ['a title', '<title><a href="http://a.test/"></title>'],
    ['a text field', '<TEXTAREA><a href="http://a.test/"></textarea>'],
    ['an old example', '<xmp><a href="http://a.test/"></xmp>'],
    ['plain text', '<plaintext><a href="http://a.test/"></plaintext>'],
    ['a value', `<p title='<a href="http://a.test/">'>`],
    ['a tag that does not end', '<a href="http://a.test/"'],
    ['a value that does not end', '<a href="http://a.test/>'],
  ])('%s', (_name, html) => {
    expect(track(html)).toEqual({ html, targets: [] });
  });

  it('any link beyond the five thousandth', () => {
    const { targets } = track('<a href="http://a.test/">'.repeat(5001));
    expect(targets).toHaveLength(5000);
  });

  it('a page of more than two million characters, and no smaller one', () => {
    const html = '<a href="http://a.test/">'.padEnd(2 * 1024 * 1024);
    expect(track(html).targets).toHaveLength(1);
    expect(track(`${html} `)).toEqual({ html: `${html} `, targets: [] });
    expect(trackHtml(`${html} `, { pixel: PIXEL })).toBe(`${html} `);
  });

  it('no address of the longest tracked length, which is tracked', () => {
    const target = `http://a.test/${'x'.repeat(4096 - 14)}`;
    expect(track(`<a href="${target}">`).targets).toEqual([target]);
  });
});

describe('the tracking pixel', () => {
  const withPixel = (html: string): string => trackHtml(html, { pixel: PIXEL }).replace(/<img src="[^>]*>/, '◆');

  it.each([
    ['before the end of the body', '<html><body>x</body></html>', '<html><body>x◆</body></html>'],
    ['before the last end of several', '<body>x</body>y</BODY >', '<body>x</body>y◆</BODY >'],
    ['at the end of a fragment', '<p>x</p>', '<p>x</p>◆'],
    ['at the end of text', 'x < y', 'x < y◆'],
    ['at the end of nothing', '', '◆'],
    ['not for a body’s end in a comment', '<body>x</body><!-- </body> -->', '<body>x◆</body><!-- </body> -->'],
    ['not for a body’s end in a script', 'x<script>"</body>"</script>y', 'x<script>"</body>"</script>y◆'],
    ['before a comment without end', '<p>x<!-- y', '<p>x◆<!-- y'],
    ['before a tag without end', '<p>x<a href="', '<p>x◆<a href="'],
    ['before a style without end', '<p>x<style>y', '<p>x◆<style>y'],
    ['not in a value', '<p title="</body>">x', '<p title="</body>">x◆'],
  ])('is inserted %s', (_name, html, expected) => {
    expect(withPixel(html)).toBe(expected);
  });

  it('is one transparent dot that screen readers skip', () => {
    expect(trackHtml('', { pixel: PIXEL })).toBe(
      `<img src="${PIXEL}" width="1" height="1" alt="" style="border:0;width:1px;height:1px">`,
    );
  });

  it('is inserted together with the tracked links', () => {
    expect(
      trackHtml('<body><a href="http://a.test/"></body><a href="http://b.test/">', {
        link: (target) => `${target}&"'<>t`,
        pixel: PIXEL,
      }),
    ).toBe(
      `<body><a href="http://a.test/&amp;&#34;&#39;&#60;&#62;t"><img src="${PIXEL}" width="1" height="1" alt="" ` +
        `style="border:0;width:1px;height:1px"></body><a href="http://b.test/&amp;&#34;&#39;&#60;&#62;t">`,
    );
  });
});

describe('any HTML', () => {
  const piece = fc.oneof(
    fc.constantFrom(
      '<a href="http://a.test/">',
      "<a href='http://a.test/?a&amp;b'>",
      '<a href=http://a.test/',
      '</a>',
      '<!--',
      '-->',
      '<script>',
      '</script>',
      '<style',
      '</style>',
      '<title>',
      '</title>',
      '<![CDATA[',
      ']]>',
      '<![if',
      '>',
      '"',
      "'",
      '=',
      '/',
      ' ',
      '\n',
      '<',
      '</',
      '&',
      'href',
      '</body>',
      '<textarea>',
      '</textarea>',
      '<a ',
      '{{{x}}}',
    ),
    fc.string({ unit: 'binary', maxLength: 8 }),
  );
  const someHtml = fc.array(piece, { maxLength: 60 }).map((pieces) => pieces.join(''));

  it('is restored when the tracked addresses are replaced by the original ones', () => {
    fc.assert(
      fc.property(someHtml, (html) => {
        expect(untrack(track(html).html, html)).toBe(html);
      }),
      { numRuns: 5 * (fc.readConfigureGlobal()?.numRuns ?? 100) },
    );
  });

  it('keeps its links separate from the pixel, which is outside every element', () => {
    fc.assert(
      fc.property(someHtml, (html) => {
        const tracked = trackHtml(html, { pixel: PIXEL });
        const at = tracked.indexOf(`<img src="${PIXEL}"`);
        expect(tracked.slice(0, at) + tracked.slice(at).replace(/^<img [^>]*>/, '')).toBe(html);
        // A link in its place would be found.
        const probe = `${tracked.slice(0, at)}<a href="http://probe.test/">`;
        expect(scanHtml(probe).links.at(-1)?.end).toBe(probe.length - 2);
      }),
      { numRuns: 5 * (fc.readConfigureGlobal()?.numRuns ?? 100) },
    );
  });

  it.each([
    '<a href=',
    '<a href="',
    '<a ',
    '<',
    '</',
    '<!--',
    '<!',
    '<![CDATA[',
    '<script>',
    '<script><!--',
    '&',
    "<a '",
    '<a\n',
  ])('of two megabytes of %j is scanned a few times at most', (repeated) => {
    const html = repeated.repeat(Math.floor((2 * 1024 * 1024) / repeated.length));
    expect(scanHtml(html).read).toBeLessThan(html.length * 4);
    expect(track(html).html).toBe(html);
  });
});
