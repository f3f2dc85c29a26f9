import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { id } = columnsFor(knex);
  // Attachments, sources and long bodies that are too small for files of their own, of what was sent and what was received.
  await knex.schema.createTable('contents', (table) => {
    // The email that it belongs to.
    id(table, 'owner_id').notNullable();
    table.text('name').notNullable();
    table.binary('content').notNullable();
    // Reading one, and removing all that an email has.
    table.primary(['owner_id', 'name']);
  });
  // Most of it is compressed already, and a part of it can be read without the rest.
  if (knex.client.config.client === 'pg')
    await knex.raw('alter table contents alter column content set storage external');
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.dropTable('contents');
}
