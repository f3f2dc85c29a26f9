import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Value } from '../../src/platform/db/index.ts';
import { HOSTILE } from './db-seam.ts';
import { openScratchDb, type ScratchDb } from './scratch-db.ts';

let scratch: ScratchDb;
beforeAll(async () => {
  scratch = await openScratchDb();
  await scratch.db.withKnex((knex) =>
    knex.schema.createTable('things', (table) => {
      table.uuid('id').primary();
      table.text('name');
      table.bigInteger('n');
      table.binary('body');
      table.double('ratio');
    }),
  );
});
afterAll(() => scratch.close());

const COLUMNS = ['id', 'name', 'n', 'body', 'ratio'];

it.each([null, Buffer.from([0, 1, 255])])('many rows are read as they were written: %s', async (body) => {
  const { db } = scratch;
  const rows = HOSTILE.map((name, i): Value[] => [randomUUID(), name, 2 ** 53 - 1 - i, body, i / 10]);
  rows.push([randomUUID(), null, null, null, null]);
  expect(await db.insertMany('things', COLUMNS, rows)).toBe(rows.length);
  for (const [id, name, n, bytes, ratio] of rows) {
    const back = await db.get('select * from things where id = ?', [id as string]);
    expect(back).toEqual({ id, name, n, body: bytes, ratio });
  }
});
