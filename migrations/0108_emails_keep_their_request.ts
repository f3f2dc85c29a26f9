import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  // The request or session of SMTP that an email was accepted in. Null in rows of before.
  await knex.schema.alterTable('emails', (table) => void table.text('request_id'));
  // The lines of the log about a delivery name it, and a claim reads no other table for them.
  await knex.schema.alterTable('deliveries', (table) => void table.text('request_id'));
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.alterTable('deliveries', (table) => table.dropColumn('request_id'));
  await knex.schema.alterTable('emails', (table) => table.dropColumn('request_id'));
}
