import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { time } = columnsFor(knex);
  await knex.schema.alterTable('sso_connections', (table) => {
    // Since when the provider fails; null while it does not.
    time(table, 'failing_since');
    // 'down' or 'wrong'.
    table.text('fault_kind');
    // 'discovery' or 'exchange': what has to work for it to be over.
    table.text('fault_step');
    table.text('fault');
  });
  await knex.schema.alterTable('sso_domains', (table) => {
    // When a domain that was proven ceased to be; null once it is proven again.
    time(table, 'lost_at');
  });
  await knex.schema.alterTable('sessions', (table) => {
    // Whether its cookie has the prefix __Host-: one without it is taken for no session that has begun since.
    table.integer('host_cookie').notNullable().defaultTo(0);
  });
  // What is in trouble, however much is not.
  await knex.raw(
    'create index sso_connections_failing on sso_connections (team_id, failing_since) where failing_since is not null',
  );
  await knex.raw('create index sso_domains_lost on sso_domains (team_id, lost_at) where lost_at is not null');
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('drop index sso_domains_lost');
  await knex.raw('drop index sso_connections_failing');
  await knex.schema.alterTable('sessions', (table) => table.dropColumn('host_cookie'));
  await knex.schema.alterTable('sso_domains', (table) => table.dropColumn('lost_at'));
  await knex.schema.alterTable('sso_connections', (table) => {
    table.dropColumns('failing_since', 'fault_kind', 'fault_step', 'fault');
  });
}
