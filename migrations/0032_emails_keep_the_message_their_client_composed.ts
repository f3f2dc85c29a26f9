import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { id } = columnsFor(knex);
  await knex.schema.alterTable('emails', (table) => {
    // Its client composed it: the bytes stand in email_messages or in the blob store, and are sent as they are.
    table.integer('has_message').notNullable().defaultTo(0);
  });
  await knex.schema.createTable('email_messages', (table) => {
    id(table, 'email_id').primary();
    table.text('head').notNullable();
    // One character for each byte; null where the body is a blob.
    table.text('body');
    table.integer('body_bytes').notNullable();
    table.text('body_hash').notNullable();
    table.text('html_parts');
    table.integer('is_eight_bit').notNullable();
    table.integer('needs_smtp_utf8').notNullable();
  });
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.dropTable('email_messages');
  await knex.schema.alterTable('emails', (table) => table.dropColumn('has_message'));
}
