import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.schema.alterTable('received_emails', (table) => {
    // Why a rule did not pass the message on; null where it did, or where none says so.
    table.text('not_forwarded');
  });
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.alterTable('received_emails', (table) => table.dropColumn('not_forwarded'));
}
