import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { id, time } = columnsFor(knex);
  await knex.schema.createTable('events', (table) => {
    id(table, 'id').primary();
    id(table, 'team_id').notNullable();
    table.text('type').notNullable();
    // The email, domain or suppression it is about.
    table.text('subject_id').notNullable();
    table.text('data');
    time(table, 'created_at').notNullable();
    // The history of one email.
    table.index(['subject_id', 'id']);
  });
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.dropTable('events');
}
