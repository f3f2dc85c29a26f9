import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

/** What a search may leave out: of each block of an inbox's emails, which groups of letters stand in it. */
export async function up(knex: Knex): Promise<void> {
  const { id } = columnsFor(knex);
  const isPg = knex.client.config.client === 'pg';
  await knex.schema.createTable('inbox_search_blocks', (table) => {
    table.increments('id');
    id(table, 'inbox_id').notNullable();
    id(table, 'first_id').notNullable();
    id(table, 'last_id').notNullable();
    if (isPg) table.specificType('grams', 'integer[]').notNullable();
    // Where the index of an inbox ends, and which of its blocks are behind its oldest email.
    table.unique(['inbox_id', 'last_id']);
  });
  if (isPg) await knex.raw('create index inbox_search_blocks_grams on inbox_search_blocks using gin (grams)');
  else {
    await knex.raw(
      `create virtual table inbox_search_grams using fts5 (grams, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii')`,
    );
  }
}

export async function down(knex: Knex): Promise<void> {
  if (knex.client.config.client !== 'pg') await knex.raw('drop table inbox_search_grams');
  await knex.schema.dropTable('inbox_search_blocks');
}
