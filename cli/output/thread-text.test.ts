import { expect, it } from 'vitest';
import { textOfHtml } from './thread-text.ts';

it.each([
  ['<p>Hello</p><p>Ada &amp; Bob</p>', 'Hello\n\nAda & Bob'],
  ['a<br>b<br/>c', 'a\nb\nc'],
  ['<style>p{}</style><script>alert(1)</script><!-- no > -->text', 'text'],
  ['<a href="https://example.org/x">here</a>', 'here <https://example.org/x>'],
  ['<a href="https://example.org">https://example.org</a>', 'https://example.org'],
  ['<a href="javascript:alert(1)">click</a>', 'click'],
  ['<img src="http://tracker.example/p.gif" alt="a cat"><img src=x>', '[a cat]'],
  ['&#65;&#x42;&nbsp;&unknown;&#0;&#xD800;', 'AB &unknown;\uFFFD\uFFFD'],
  ['<ul><li>one<li>two</ul>', '- one\n- two'],
  ['<ul><li>one</li> <li>two</li></ul><p>end</p>', '- one\n- two\n\nend'],
  ['<ol><li><p>one</p></li><li><div>two</div></li></ol>', '- one\n- two'],
  ['<ul><li></li><li>two</li></ul>', '-\n- two'],
  ['<div>a</div>\n<div>b</div><div><br></div><div><div>c</div></div>', 'a\nb\n\nc'],
  ['<table><tr><th>Item</th> <th>Price</th></tr> <tr><td>Book</td><td>20</td></tr></table>', 'Item  Price\nBook  20'],
  ['no end <b', 'no end'],
  ['Yes.<blockquote>It <b>burns</b>.<p>Help</p></blockquote>Ann', 'Yes.\n> It burns.\n> Help\nAnn'],
  ['a<blockquote>b<blockquote>c</blockquote></blockquote></blockquote>d', 'a\n> b\n>> c\nd'],
  ['a<blockquote></blockquote>b<blockquote>c', 'a\nb\n> c'],
  ['<style>never closed', ''],
])('the text of %s is extracted', (html, text) => expect(textOfHtml(html)).toBe(text));

it.each([
  '<',
  '<a',
  '<!--',
  '<style>',
  '<blockquote>',
  '<blockquote>a<p>',
  '</td> <div>',
  '<li>',
  '<a href="',
  '&',
  '</a>',
  '<a href="https://e.org">',
])('the text of a megabyte of %s is extracted within seconds', (piece) => {
  const began = performance.now();
  textOfHtml(piece.repeat(1_000_000 / piece.length));
  expect(performance.now() - began).toBeLessThan(3000);
});
