import { describe, expect, it } from 'vitest';
import { listSigners, textOfHtml } from './message-text.ts';

describe('the text of HTML', () => {
  it.each([
    ['<p>It works.</p>', 'It works.'],
    ['<h1>Hi</h1><p>One\n  two<br>three</p>', 'Hi\n\nOne two\nthree'],
    ['<style>p{color:red}</style><p>a</p><script>b()</script>', 'a'],
    ['<head><title>x</title></head><body>a</body>', 'a'],
    ['<p>See <a href="https://a.example/?x=1&amp;y=2">this</a>.</p>', 'See this (https://a.example/?x=1&y=2).'],
    ['<a href=https://a.example/>https://a.example/</a>', 'https://a.example/'],
    ['<a name=x>a</a> <a title="b" HREF = \'https://a.example\'>c</a >', 'a c (https://a.example)'],
    ['<a href=x>a <a href=y>b</a> c</a>', 'a b (x) c'],
    [`<a href=x>${'a'.repeat(501)}<a href=y>b</a>`, `${'a'.repeat(501)}b (y)`],
    ['<a href=x>never closed', 'never closed'],
    ['a<svg><title>Logo</svg><p>b', 'a\n\nb'],
    ['a<svg><style>p{}<path></svg>b', 'ab'],
    ['a<svg><script>x()<p>b', 'a\n\nb'],
    ['a<svg><style>p{}</style><path>b', 'ab'],
    ['a<svg><svg><title>x</svg></svg><style>p{}</style>b', 'ab'],
    ['<ul><li>a<li>b</ul>', '- a\n- b'],
    ['<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>', 'a  b\n\nc'],
    ['1 &lt; 2 &amp;amp; &#8364;&#x20AC; &nope; &#0;', '1 < 2 &amp; €€ &nope; \uFFFD'],
    ['a<!-- b -->c', 'ac'],
    ['<!doctype html><html><body><p>Hello</p></body></html>', 'Hello'],
    [
      '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" "http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd">\n<p>a</p>',
      'a',
    ],
    ['<?xml version="1.0" encoding="UTF-8"?><p>a</p>', 'a'],
    ['<!--[if mso]><p>Outlook</p><![endif]--><![if !mso]><p>others</p><![endif]>', 'others'],
    [`<a href="https://a.example"><img style="${'x'.repeat(900)}" alt="Wide"></a>`, 'Wide (https://a.example)'],
    ['<a href="https://a.example"><img src="x.png" alt="Our shop"></a>', 'Our shop (https://a.example)'],
    ["<a href='https://a.example'><b>To</b> <IMG ALT = 'the&nbsp;shop' src=x></a>", 'To the shop (https://a.example)'],
    ['<a href="https://a.example"><img src="x.png" alt=""></a>', '(https://a.example)'],
    ['<img src="x.png" alt="decoration"><p>a</p>', 'a'],
    [
      '<p><img src="x.png" alt="New teas\n in November"></p><img alt="From 12&nbsp;EUR"><img alt="">',
      'New teas in November\nFrom 12 EUR',
    ],
    ['<div>Preview&#847;&zwnj;&nbsp;&#847;&zwnj;&nbsp;&#847;&zwnj;&nbsp;</div><p>a</p>', 'Preview\n\na'],
    ['<a href="https://a.example"><img alt="a > b" src=x></a><p title="1 < 2">c</p>', 'a > b (https://a.example)\n\nc'],
    ['<a data-href="https://b.example" href="https://a.example">a</a>', 'a (https://a.example)'],
    ['<p>می\u200Cخواهم</p>', 'می\u200Cخواهم'],
    ['2 < 3 and 3 > 2', '2 < 3 and 3 > 2'],
    ['<style>never closed', ''],
    ['<pre>\n\n  a\n\n\n b\n</pre>c<br><br><br>d', '  a\n\n\n b\n\nc\n\nd'],
    ['<pre>a<b> b</b>\r\n<a href=x>c\nd</a>', 'a b\nc\nd (x)'],
    ['<pre> \n \n</pre>', ''],
    ['<head><title>x</title><body>a', 'a'],
    ['<title></head></title><p>a</p>', 'a'],
    ["<p title=it's>a</p>", 'a'],
    ['<!--> a <!-- b --!> c', 'a c'],
    ['a</ b>c</3>d<d', 'acd'],
    ['<script><!--<script></script>a--></script>b', 'b'],
    ['<textarea><b>a</b></textarea><iframe><p>b</p></iframe>', '<b>a</b>'],
    ['<a href="https://a.example/<b>">a</a>', 'a (https://a.example/<b>)'],
    ['<p>a&nbsp;&nbsp;b&#10;&#10;&#10;c so&shy;fter</p>', 'a  b c softer'],
    [
      '<p>Yes.</p><blockquote><p>a<p>b<blockquote>c<br>d</blockquote></blockquote><p>e',
      'Yes.\n\n> a\n>\n> b\n>\n>> c\n>> d\n\ne',
    ],
    ['<blockquote>a</blockquote></blockquote>b<blockquote> </blockquote>', '> a\n\nb'],
    ['a<blockquote><pre>b\n  c</pre>never closed', 'a\n\n> b\n>   c\n>\n> never closed'],
    [`${'<blockquote>'.repeat(100)}a`, `${'>'.repeat(30)} a`],
  ])('is extracted from %j', (html, text) => {
    expect(textOfHtml(html)).toBe(text);
  });
});

it.each([
  '<a href=x>',
  '<a ',
  '<a href="',
  '<!--',
  '<!',
  '<?',
  '<style>',
  '<',
  '&#',
  '<a href=x><img alt=',
  '<pre>',
  '<pre>\n\n',
  '&aaaaaa',
  '\u200B ',
  '\u200B\u00A0',
])('the text of broken HTML is extracted in bounded time: %j', (piece) => {
  const text = textOfHtml(piece.repeat(200_000 / piece.length));
  expect(text.length).toBeLessThanOrEqual(200_000);
});

// With a single pattern that searches for links, 20 KB took a second, and twice as much four.
it.each(['<a ', '<a href="', '<a href=x', '<a href=x>'])(
  'the text of a tag of 200,000 characters is extracted in bounded time: %j',
  (begin) => {
    for (const piece of ['href = ', 'href=x ', ' href="', " href='"]) {
      expect(textOfHtml(begin + piece.repeat(200_000 / piece.length)).length).toBeLessThanOrEqual(200_010);
    }
  },
);

it('the signatures of a message are read from its header alone, folded or not', () => {
  const message = [
    'DKIM-Signature: v=1; a=rsa-sha256; c=relaxed/relaxed; d=example.com;',
    ' s=one; bh=abc=; b=x',
    'dkim-signature: v=1;d=example.org;s=two;a=ed25519-sha256;b=y',
    'Subject: d=wrong; s=wrong',
    '',
    'DKIM-Signature: d=body; s=body; a=none',
  ].join('\r\n');
  expect(listSigners(Buffer.from(message))).toEqual([
    { domain: 'example.com', selector: 'one', algorithm: 'rsa-sha256' },
    { domain: 'example.org', selector: 'two', algorithm: 'ed25519-sha256' },
  ]);
});

describe('text that a browser shows', () => {
  it.each([
    ['after a head that never ends', '<html><head><title>x</title><p>Hello', 'Hello'],
    ['after an empty style of an image', 'a<svg><style/></svg><p>b', 'a\n\nb'],
    ['after a template in the head', '<head><template><p>no</template></head>yes', 'yes'],
  ])('is in the text of a message %s', (_, html, text) => {
    expect(textOfHtml(html)).toBe(text);
  });
});
