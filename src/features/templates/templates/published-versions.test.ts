import { expect, it } from 'vitest';
import { createVersionCache } from './published-versions.ts';
import type { VersionRow } from './templates.store.ts';

function buildRow(id: string, html: string): VersionRow {
  const nothing = { template_id: 't', sender: null, subject: null, text: null, reply_to_list: '[]', variables: '[]' };
  return { ...nothing, id, html, created_at: 0 };
}

function cacheOver(rows: Record<string, string>, bytesMax: number) {
  const loads: string[] = [];
  const read = createVersionCache((id) => {
    loads.push(id);
    const html = rows[id];
    return Promise.resolve(html === undefined ? undefined : buildRow(id, html));
  }, bytesMax);
  return { loads, read };
}

const KB = 'x'.repeat(512);

it('a published version is loaded once', async () => {
  const { loads, read } = cacheOver({ a: KB }, 1_000_000);
  expect(await read('a')).toBe(await read('a'));
  expect(loads).toEqual(['a']);
});

it('a version that was not found is queried again', async () => {
  const { loads, read } = cacheOver({}, 1_000_000);
  expect([await read('a'), await read('a')]).toEqual([undefined, undefined]);
  expect(loads).toEqual(['a', 'a']);
});

it('the least recently used version is evicted when memory runs out', async () => {
  // Each takes a good 2 KB; four fit.
  const { loads, read } = cacheOver({ a: KB, b: KB, c: KB, d: KB, e: KB }, 9000);
  for (const id of ['a', 'b', 'c', 'd', 'a', 'e', 'a', 'c', 'd', 'e']) await read(id);
  expect(loads).toEqual(['a', 'b', 'c', 'd', 'e']);
  await read('b');
  expect(loads).toEqual(['a', 'b', 'c', 'd', 'e', 'b']);
});

it('a version that would take much of the memory is loaded each time and evicts nothing', async () => {
  const { loads, read } = cacheOver({ a: KB, large: KB.repeat(3) }, 9000);
  await read('a');
  expect((await read('large'))?.html).toEqual([KB.repeat(3)]);
  for (const id of ['large', 'a', 'a']) await read(id);
  expect(loads).toEqual(['a', 'large', 'large']);
});

it('variables count towards the memory of a version', async () => {
  const { loads, read } = cacheOver({ a: '{{{A}}}'.repeat(100) }, 40_000);
  for (const id of ['a', 'a']) await read(id);
  expect(loads).toEqual(['a', 'a']);
});

it('a version that many callers read at once is counted once', async () => {
  const { loads, read } = cacheOver({ a: KB, b: KB, c: KB, d: KB }, 9000);
  await Promise.all([read('a'), read('a'), read('a'), read('a')]);
  for (const id of ['b', 'c', 'd', 'a', 'b', 'c', 'd']) await read(id);
  expect(loads).toEqual(['a', 'a', 'a', 'a', 'b', 'c', 'd']);
});
