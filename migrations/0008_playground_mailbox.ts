import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { id, time } = columnsFor(knex);
  // What the development profile caught instead of sending; the message itself lies in the blob store.
  await knex.schema.createTable('playground_messages', (table) => {
    id(table, 'id').primary();
    id(table, 'email_id').notNullable();
    id(table, 'team_id').notNullable();
    table.text('mail_from').notNullable();
    table.text('recipients').notNullable();
    table.text('subject').notNullable();
    table.integer('size').notNullable();
    time(table, 'created_at').notNullable();
    table.index(['team_id', 'id']);
  });
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.dropTable('playground_messages');
}
