import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { time } = columnsFor(knex);
  await knex.schema.alterTable('webhooks', (table) => {
    // Of the last attempt at any event; null where there was none since the endpoint has its address.
    time(table, 'last_attempt_at');
    table.smallint('last_http_status');
    // Where there was no answer.
    table.text('last_error');
  });
  // The findings of an installation: what is in trouble, however many endpoints and domains are not.
  await knex.raw(
    "create index webhooks_in_trouble on webhooks (id) where deleted_at is null and (failing_since is not null or status = 'disabled')",
  );
  await knex.raw(
    'create index domains_in_trouble on domains (id) where failing_since is not null or receiving_failing_since is not null',
  );
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('drop index domains_in_trouble');
  await knex.raw('drop index webhooks_in_trouble');
  await knex.schema.alterTable('webhooks', (table) => {
    table.dropColumns('last_attempt_at', 'last_http_status', 'last_error');
  });
}
