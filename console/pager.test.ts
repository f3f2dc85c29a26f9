import { expect, it } from 'vitest';
import { PAGE, Pager, WINDOW, type PageQuery } from './pager.ts';

const { signal } = new AbortController();

/** Returns a list of so many rows, newest first, paged as the API does. */
function createList(count: number) {
  const toId = (number: number) => ({ id: `01900000-0000-7000-8000-${String(number).padStart(12, '0')}` });
  const ids = Array.from({ length: count }, (_, at) => toId(count - at));
  const asked: PageQuery[] = [];
  const ask = (query: PageQuery) => {
    asked.push(query);
    const { limit, after, before } = query;
    const newer = ids.filter(({ id }) => before !== undefined && id > before);
    const older = ids.filter(({ id }) => after === undefined || id < after);
    const data = before === undefined ? older.slice(0, limit) : newer.slice(-limit);
    return Promise.resolve({ data, has_more: (before === undefined ? older : newer).length > limit });
  };
  return { ids, asked, ask, add: () => ids.unshift(toId(ids.length + 1)) };
}

it('the pager goes to the end of a list of any length and back with a bounded window', async () => {
  const { ids, ask } = createList(1000);
  const pager = new Pager(ask, false);
  await pager.refresh(signal);
  const seen = new Set(pager.rows.map(({ id }) => id));
  for (let pages = 0; pager.hasBehind && pages < 100; pages++) {
    await pager.behind(signal);
    for (const { id } of pager.rows) seen.add(id);
    expect(pager.rows.length).toBeLessThanOrEqual(WINDOW);
    expect(pager.rows[0]).toEqual(ids[pager.skipped ?? -1]);
  }
  expect(seen.size).toBe(1000);
  expect(pager.rows.at(-1)).toEqual(ids.at(-1));
  for (let pages = 0; pager.hasBefore && pages < 100; pages++) await pager.before(signal);
  expect(pager.rows).toEqual(ids.slice(0, WINDOW));
  expect([pager.hasBehind, pager.skipped]).toEqual([true, 0]);
});

it('a refresh at the beginning adds new rows and keeps the rows that were loaded after them', async () => {
  const { ids, ask, add } = createList(120);
  const pager = new Pager(ask, false);
  await pager.refresh(signal);
  await pager.behind(signal);
  add();
  await pager.refresh(signal);
  expect(pager.rows).toEqual(ids.slice(0, 2 * PAGE + 1));
  expect(pager.hasBehind).toBe(true);
});

it('a refresh that leaves a gap drops the rows after it, so that no row is skipped', async () => {
  const { ids, ask, add } = createList(120);
  const pager = new Pager(ask, false);
  await pager.refresh(signal);
  await pager.behind(signal);
  for (let more = 0; more < 2 * PAGE; more++) add();
  await pager.refresh(signal);
  expect(pager.rows).toEqual(ids.slice(0, PAGE));
  expect(pager.hasBehind).toBe(true);
});

it('a refresh of a list that pages in one direction starts at the beginning', async () => {
  const { ids, ask, asked } = createList(400);
  const pager = new Pager(ask, true);
  await pager.refresh(signal);
  for (let pages = 0; pages < 6; pages++) await pager.behind(signal);
  await pager.before(signal);
  expect(pager.rows).toEqual(ids.slice(0, PAGE));
  expect(asked.filter(({ before }) => before !== undefined)).toEqual([]);
});

it('a response that arrives after the screen was left changes nothing', async () => {
  const leaving = new AbortController();
  const { ask } = createList(10);
  const pager = new Pager(ask, false);
  const load = pager.refresh(leaving.signal);
  leaving.abort();
  await expect(load).rejects.toThrow();
  expect(pager.rows).toEqual([]);
});

it('the end of a list of any length is one page away, and paging back skips no row', async () => {
  const { ids, ask, asked } = createList(1000);
  const pager = new Pager(ask, false);
  await pager.refresh(signal);
  await pager.last(signal);
  expect(asked).toHaveLength(2);
  expect(pager.rows).toEqual(ids.slice(-PAGE));
  expect([pager.hasBefore, pager.hasBehind]).toEqual([true, false]);
  for (let pages = 0; pager.hasBefore && pages < 100; pages++) await pager.before(signal);
  expect(pager.rows).toEqual(ids.slice(0, WINDOW));
});

it('“last” moves one page ahead in a list that pages in one direction', async () => {
  const { ids, ask } = createList(400);
  const pager = new Pager(ask, true);
  await pager.refresh(signal);
  await pager.last(signal);
  expect(pager.rows).toEqual(ids.slice(0, 2 * PAGE));
  expect(pager.hasBehind).toBe(true);
});

it('a refresh in the middle keeps the position, and notices deleted rows', async () => {
  const { ids, ask } = createList(1000);
  const pager = new Pager(ask, false);
  await pager.refresh(signal);
  for (let pages = 0; pages < 6; pages++) await pager.behind(signal);
  const from = ids.indexOf(pager.rows[0] ?? { id: '' });
  const [gone] = ids.splice(from + 100, 1);
  await pager.refresh(signal, 100);
  expect(pager.rows).not.toContainEqual(gone);
  expect(pager.rows).toEqual(ids.slice(from, from + WINDOW - 1));
  expect(pager.hasBefore).toBe(true);
});

it('a late response to an earlier request does not undo a later one', async () => {
  const { ids, ask } = createList(1000);
  const waiting: (() => void)[] = [];
  const slow = async (query: PageQuery) => {
    if (query.before === undefined && waiting.length === 0 && pager.isLoaded)
      await new Promise<void>((resolve) => void waiting.push(resolve));
    return ask(query);
  };
  const pager: Pager<{ id: string }> = new Pager(slow, false);
  await pager.refresh(signal);
  const look = pager.refresh(signal);
  await pager.last(signal);
  waiting[0]?.();
  await look;
  expect(pager.rows).toEqual(ids.slice(-PAGE));
});

it('a refresh drops the last rows of a list that no longer has them', async () => {
  const { ids, ask } = createList(30);
  const pager = new Pager(ask, false);
  await pager.refresh(signal);
  ids.splice(25);
  await pager.refresh(signal);
  expect(pager.rows).toEqual(ids);
});

it('a refresh shows a row once that has moved from the end of a list to its beginning', async () => {
  const { ids } = createList(2 * PAGE);
  /** Threads are in the order of their newest email, so that an answer moves a thread to the beginning. */
  const order = [...ids];
  const askInOrder = ({ limit, after }: PageQuery) => {
    const from = after === undefined ? 0 : order.findIndex(({ id }) => id === after) + 1;
    return Promise.resolve({ data: order.slice(from, from + limit), has_more: order.length > from + limit });
  };
  for (const count of [20, 2 * PAGE]) {
    order.splice(0, order.length, ...ids.slice(0, count));
    const pager = new Pager(askInOrder, false);
    await pager.refresh(signal);
    await pager.behind(signal);
    order.unshift(...order.splice(-1));
    await pager.refresh(signal);
    expect(pager.rows).toEqual(order);
  }
});
