import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

const ENTRIES = ['audit_log', 'request_logs'];

/**
 * An id may run ahead of a clock that was set back, so it does not say when something happened. Entries of the audit
 * log and of the request logs therefore have a column for the time; older entries use the time of their ids. A message
 * of the playground names its delivery, so that one that is delivered again after a crash is recognized.
 */
export async function up(knex: Knex): Promise<void> {
  const { id, time } = columnsFor(knex);
  for (const name of ENTRIES) await knex.schema.alterTable(name, (table) => void time(table, 'created_at'));
  await knex.schema.alterTable('playground_messages', (table) => void id(table, 'delivery_id'));
  // Serves the question whether a delivery was captured already.
  await knex.raw('create unique index playground_messages_delivery on playground_messages (delivery_id)');
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('drop index playground_messages_delivery');
  await knex.schema.alterTable('playground_messages', (table) => void table.dropColumn('delivery_id'));
  for (const name of ENTRIES) await knex.schema.alterTable(name, (table) => void table.dropColumn('created_at'));
}
