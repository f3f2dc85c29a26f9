import type { Knex } from 'knex';

/** What `POST /webhooks/trigger` made up stands in the outbox beside what happened, and says so. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw('alter table webhook_events add column is_test smallint not null default 0');
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('alter table webhook_events drop column is_test');
}
