import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  // Subscribed contacts of the segment when a person approved the send of an app; null for any other broadcast.
  await knex.schema.alterTable('broadcasts', (table) => void table.integer('approved_contacts'));
  await knex.raw(`update broadcasts set approved_contacts = (
      select max(seen_contacts) from approvals
      where approvals.broadcast_id = broadcasts.id and approvals.status in ('running', 'done'))
    where status in ('scheduled', 'queued', 'sending')`);
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.alterTable('broadcasts', (table) => table.dropColumn('approved_contacts'));
}
