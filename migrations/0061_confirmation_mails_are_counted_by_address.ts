import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { id, time } = columnsFor(knex);
  // When an address was last mailed about a topic. It outlives the contact, so that it never holds the address itself.
  await knex.schema.createTable('topic_confirmation_mails', (table) => {
    id(table, 'topic_id').notNullable();
    table.text('email_hash').notNullable();
    // Of the last of them, as `topic_confirmations.id`.
    id(table, 'asking_id').notNullable();
    time(table, 'last_at').notNullable();
    time(table, 'second_last_at');
    time(table, 'third_last_at');
    table.primary(['topic_id', 'email_hash']);
    // The hourly removal of what limits nothing any more.
    table.index(['last_at'], 'topic_confirmation_mails_by_age');
  });
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.dropTable('topic_confirmation_mails');
}
