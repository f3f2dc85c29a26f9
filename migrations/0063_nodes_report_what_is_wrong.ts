import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { id, time } = columnsFor(knex);
  // What every process knows of itself alone. A row is renewed each half minute, and gone with its process or by its age.
  await knex.schema.createTable('node_reports', (table) => {
    id(table, 'id').notNullable().primary();
    table.text('name').notNullable();
    table.text('version').notNullable();
    // JSON array.
    table.text('roles').notNullable();
    time(table, 'started_at').notNullable();
    time(table, 'seen_at').notNullable();
    // JSON array.
    table.text('findings').notNullable();
  });
  await knex.schema.alterTable('domains', (table) => {
    // When it stopped being verified because its records were gone; null for one that never was, and once it is again.
    time(table, 'lost_at');
    time(table, 'receiving_lost_at');
  });
  await knex.raw('drop index webhooks_in_trouble');
  await knex.raw('drop index domains_in_trouble');
  // GET /findings of a team and of the installation: what is in trouble, however much is not.
  await knex.raw(
    'create index webhooks_failing on webhooks (team_id, id) where deleted_at is null and failing_since is not null',
  );
  await knex.raw(
    `create index domains_losing on domains (team_id, id) where lost_at is not null or receiving_lost_at is not null
      or (verified_at is not null and failing_since is not null)
      or (receiving_verified_at is not null and receiving_failing_since is not null)`,
  );
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('drop index domains_losing');
  await knex.raw('drop index webhooks_failing');
  await knex.raw(
    "create index webhooks_in_trouble on webhooks (id) where deleted_at is null and (failing_since is not null or status = 'disabled')",
  );
  await knex.raw(
    'create index domains_in_trouble on domains (id) where failing_since is not null or receiving_failing_since is not null',
  );
  await knex.schema.alterTable('domains', (table) => {
    table.dropColumns('lost_at', 'receiving_lost_at');
  });
  await knex.schema.dropTable('node_reports');
}
