import { expect, it } from 'vitest';
import { contentIdsIn, embedImages, linksIn } from './embed-images.ts';
import { escapeHtml } from './escape-html.ts';

it('a content id is percent-decoded, and an invalid encoding is kept as it is', () => {
  expect([...contentIdsIn('<img src=cid:a%2Bb><img src=cid:%ff><img src=cid:plain>')]).toEqual(['a+b', '%ff', 'plain']);
});

it('only the first thousand of a hundred thousand image addresses are looked up', () => {
  const html = Array.from({ length: 100_000 }, (_, i) => `<img src="cid:%ff${i}">`).join('');
  expect(contentIdsIn(html).size).toBe(1000);
  let looks = 0;
  const images = new Map([['x', 'data:']]);
  images.get = () => void looks++;
  expect(embedImages(html, images, 1000)).toBe(html);
  expect(looks).toBe(1000);
});

it.each([
  ['<img src="CID:p">', 1],
  ["<img src = 'cid:p'>", 1],
  ['<img alt=x src=cid:p>', 1],
  ['<img srcset="cid:p 1x, cid:p 2x">', 2],
  ['<td background="cid:p">', 1],
  ['<image href="cid:p"/><image xlink:href="cid:p"/>', 2],
  ['<video poster="cid:p">', 1],
  ['<p style="background: url(cid:p), url( \'cid:p\' ), url(&quot;cid:p&quot;)">', 3],
  ['<style>p { background: URL("cid:p") }</style>', 1],
  ['<p>see cid:p, or "cid:p"</p>', 0],
  ['<script>load("cid:p")</script>', 0],
  ['<img alt="cid:p" data-src="cid:p">', 0],
])('%s contains %d embedded images, unescaped and escaped', (html, count) => {
  const images = new Map([['p', 'data:']]);
  for (const one of [html, escapeHtml(html)]) {
    expect(contentIdsIn(one).size).toBe(Math.min(count, 1));
    expect(embedImages(one, images, 1000)).toBe(count === 0 ? one : one.replaceAll(/cid:p/gi, 'data:'));
  }
});

it.each(['cid:', 'src=cid:', 'srcset="cid:a ', 'url(cid:', `src=${' '.repeat(40)}`, `url(${' '.repeat(20)}'cid:`])(
  'a broken text of a megabyte is processed in bounded time: %j',
  (piece) => {
    expect(contentIdsIn(piece.repeat(1_000_000 / piece.length)).size).toBeLessThanOrEqual(1000);
  },
);

it('linksIn lists each address once, and gives up on a text that only repeats the same one', () => {
  const same = '<a href="https://a.example">'.repeat(100);
  expect(linksIn(`${same}<a href=https://b.example>`, 10)).toEqual(['https://a.example', 'https://b.example']);
  expect(linksIn(`${same.repeat(50)}<a href=https://b.example>`, 10)).toEqual(['https://a.example']);
});

it('linksIn ignores text that a browser does not read as a tag', () => {
  const html =
    '<!-- <a href="https://a.example"> --><a data-href="https://b.example"><p title=\'href="https://c.example"\'><style><a href="https://d.example"></style>href="https://e.example"<a title=">" href="https://f.example">';
  expect(linksIn(html, 10)).toEqual(['https://f.example']);
});
