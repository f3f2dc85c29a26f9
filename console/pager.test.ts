import { expect, it } from 'vitest';
import { PAGE, Pager, WINDOW, type PageQuery } from './pager.ts';

const { signal } = new AbortController();

/** A list of so many rows, newest first, paged as the API does. */
function listOf(count: number) {
  const ids = Array.from({ length: count }, (_, at) => ({ id: String(count - at) }));
  const asked: PageQuery[] = [];
  const ask = (query: PageQuery) => {
    asked.push(query);
    const { limit, after, before } = query;
    const at = ids.findIndex(({ id }) => id === (after ?? before));
    const data = before === undefined ? ids.slice(at + 1, at + 1 + limit) : ids.slice(Math.max(0, at - limit), at);
    const has_more = before === undefined ? at + 1 + limit < ids.length : at - limit > 0;
    return Promise.resolve({ data, has_more });
  };
  return { ids, asked, ask, add: () => ids.unshift({ id: String(Number(ids[0]?.id ?? 0) + 1) }) };
}

it('goes through a list of any length and back, holding a window of it', async () => {
  const { ids, ask } = listOf(1000);
  const pager = new Pager(ask, false);
  await pager.refresh(signal);
  const seen = new Set(pager.rows.map(({ id }) => id));
  for (let pages = 0; pager.hasBehind && pages < 100; pages++) {
    await pager.behind(signal);
    for (const { id } of pager.rows) seen.add(id);
    expect(pager.rows.length).toBeLessThanOrEqual(WINDOW);
  }
  expect(seen.size).toBe(1000);
  expect(pager.rows.at(-1)).toEqual(ids.at(-1));
  for (let pages = 0; pager.hasBefore && pages < 100; pages++) await pager.before(signal);
  expect(pager.rows).toEqual(ids.slice(0, WINDOW));
  expect(pager.hasBehind).toBe(true);
});

it('a look at the beginning adds what is new and keeps what was loaded behind it', async () => {
  const { ids, ask, add } = listOf(120);
  const pager = new Pager(ask, false);
  await pager.refresh(signal);
  await pager.behind(signal);
  add();
  await pager.refresh(signal);
  expect(pager.rows).toEqual(ids.slice(0, 2 * PAGE + 1));
  expect(pager.hasBehind).toBe(true);
});

it('a look that has a gap behind it forgets what was there: nothing is left out unseen', async () => {
  const { ids, ask, add } = listOf(120);
  const pager = new Pager(ask, false);
  await pager.refresh(signal);
  await pager.behind(signal);
  for (let more = 0; more < 2 * PAGE; more++) add();
  await pager.refresh(signal);
  expect(pager.rows).toEqual(ids.slice(0, PAGE));
  expect(pager.hasBehind).toBe(true);
});

it('a list that is paged in one direction begins anew', async () => {
  const { ids, ask, asked } = listOf(400);
  const pager = new Pager(ask, true);
  await pager.refresh(signal);
  for (let pages = 0; pages < 6; pages++) await pager.behind(signal);
  await pager.before(signal);
  expect(pager.rows).toEqual(ids.slice(0, PAGE));
  expect(asked.filter(({ before }) => before !== undefined)).toEqual([]);
});

it('an answer that comes after one has left changes nothing', async () => {
  const leaving = new AbortController();
  const { ask } = listOf(10);
  const pager = new Pager(ask, false);
  const load = pager.refresh(leaving.signal);
  leaving.abort();
  await expect(load).rejects.toThrow();
  expect(pager.rows).toEqual([]);
});
