import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { id, time } = columnsFor(knex);
  await knex.schema.createTable('idempotency_keys', (table) => {
    id(table, 'team_id').notNullable();
    table.text('key').notNullable();
    table.text('request_hash').notNullable();
    table.text('response').notNullable();
    time(table, 'expires_at').notNullable();
    table.primary(['team_id', 'key']);
    // The sweep removes what is older than a day.
    table.index(['expires_at']);
  });
  await knex.schema.createTable('rate_limits', (table) => {
    table.text('bucket').primary();
    table.double('tokens').notNullable();
    time(table, 'updated_at').notNullable();
  });
  // Nodes share the buckets; a crash may forget them, so they need not reach the disk.
  if (knex.client.config.client === 'pg') await knex.raw('alter table rate_limits set unlogged');
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.dropTable('rate_limits');
  await knex.schema.dropTable('idempotency_keys');
}
