import type { Knex } from 'knex';

/** Events by status alone are those of each type: a quarter of what a delivery writes was this index. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw('drop index webhook_events_by_status');
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('create index webhook_events_by_status on webhook_events (webhook_id, status, event_id)');
}
