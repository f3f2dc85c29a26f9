import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { time } = columnsFor(knex);
  // Attempts that have not succeeded, by account, by address and by both; only hashes of them are kept.
  await knex.schema.createTable('sign_in_attempts', (table) => {
    table.text('party').primary();
    table.integer('failures').notNullable();
    time(table, 'since').notNullable();
    // The hourly removal of what limits nothing any more.
    table.index(['since'], 'sign_in_attempts_by_age');
  });
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.dropTable('sign_in_attempts');
}
