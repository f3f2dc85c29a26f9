import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { time } = columnsFor(knex);
  await knex.schema.createTable('greylist', (table) => {
    // Of a network, a sender and a recipient, or of a network alone that has come again: a hash.
    table.text('key').primary();
    time(table, 'seen_at').notNullable();
    time(table, 'expires_at').notNullable();
    // What can be forgotten.
    table.index(['expires_at']);
  });
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.dropTable('greylist');
}
