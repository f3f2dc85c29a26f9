import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { id, time } = columnsFor(knex);
  await knex.schema.createTable('suppressions', (table) => {
    table.text('id').primary();
    id(table, 'team_id').notNullable().references('teams.id');
    table.text('email').notNullable();
    table.text('email_key').notNullable();
    table.text('origin').notNullable();
    id(table, 'source_id');
    time(table, 'created_at').notNullable();
    // Asked before every hand-off, and an address is suppressed once per team.
    table.unique(['team_id', 'email_key']);
    // GET /suppressions, with and without `origin`.
    table.index(['team_id', 'id']);
    table.index(['team_id', 'origin', 'id']);
  });
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.dropTable('suppressions');
}
