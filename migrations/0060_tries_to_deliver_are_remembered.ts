import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { id, time } = columnsFor(knex);
  await knex.schema.createTable('delivery_attempts', (table) => {
    id(table, 'email_id').notNullable();
    id(table, 'id').notNullable();
    time(table, 'created_at').notNullable();
    table.integer('attempt').notNullable();
    table.text('destination').notNullable();
    // Null where no mail server was spoken to.
    table.text('mx');
    table.text('address');
    table.text('tls_version');
    table.text('tls_cipher');
    // A machine may sleep in the middle of a try: 2^31 ms are 25 days.
    time(table, 'duration_ms').notNullable();
    // JSON: each recipient with outcome, reason and reply.
    table.text('recipients').notNullable();
    // Commands and replies, one to a line, without content.
    table.text('transcript');
    // GET /emails/{email_id}/attempts, and the removal of an email.
    table.primary(['email_id', 'id']);
  });
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.dropTable('delivery_attempts');
}
