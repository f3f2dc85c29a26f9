import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { listOperations, loadContract } from '../contract/index.ts';
import { docsStyleHash, renderDocsPage } from './docs-page.ts';

const document = loadContract();
const page = renderDocsPage(document);

test('every operation has its anchor, method, path and example call', () => {
  for (const { operationId, operation } of listOperations(document)) {
    expect(page).toContain(`<article id="${operationId}">`);
    expect(page).toContain(`href="#${operationId}"`);
    expect(page).toContain(operation.summary.replaceAll("'", '&#39;'));
  }
  expect(page.match(/<pre tabindex="0">curl /g)).toHaveLength(listOperations(document).length);
});

test('every link inside the page leads somewhere', () => {
  const ids = new Set([...page.matchAll(/ id="([^"]+)"/g)].map((match) => match[1]));
  for (const [, target] of page.matchAll(/href="#([^"]+)"/g)) expect(ids, target).toContain(target);
});

test('the page needs no script, no inline style attribute and no other host', () => {
  expect(page).not.toMatch(/<script|<link|<img|<iframe|<form|@import|url\(/i);
  expect(page).not.toMatch(/<[^>]+\s(style|on\w+)=/i);
  expect([...page.matchAll(/(?:href|src)="([^#"][^"]*)"/g)]).toEqual([]);
});

test('the hash for the Content-Security-Policy is the hash of the one style element', () => {
  const styles = [...page.matchAll(/<style>([\s\S]*?)<\/style>/g)];
  expect(styles).toHaveLength(1);
  const digest = createHash('sha256')
    .update(styles[0]?.[1] ?? '')
    .digest('base64');
  expect(docsStyleHash).toBe(`sha256-${digest}`);
});

test('text of the document cannot become markup', () => {
  const hostile = structuredClone(document);
  const evil = `"><script>alert('x')</script>`;
  const poison = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    for (const [key, value] of Object.entries(node)) {
      const isText = ['description', 'summary', 'title', 'meaning', 'example', 'default', 'pattern'].includes(key);
      if (isText && typeof value !== 'object') (node as Record<string, unknown>)[key] = evil;
      else poison(value);
    }
  };
  poison(hostile);
  const rendered = renderDocsPage(hostile);
  expect(rendered).toContain('&lt;script&gt;');
  expect(rendered).not.toContain('<script');
});

test('a quote in an example cannot leave the shell quotes of the example call', () => {
  const quoting = structuredClone(document);
  const media = quoting.paths['/suppressions']?.post?.requestBody?.content['application/json'];
  if (!media) throw new Error('POST /suppressions has a JSON body');
  media.example = { email: "o'brien@example.org" };
  expect(renderDocsPage(quoting)).toContain('o&#39;\\&#39;&#39;brien@example.org');
});

test('fields name their type and rules, nested ones by their path', () => {
  expect(page).toMatch(/<code>tags\[\]\.<wbr>name<\/code>.*?matches <code>\^\[A-Za-z0-9_-\]\{1,256\}\$<\/code>/);
  expect(page).toMatch(
    /<code>limit<\/code> <small>query<\/small><\/td><td>integer<\/td><td>at least 1; at most 100; default <code>20<\/code>/,
  );
});
