import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

const DUE = 'deliveries_due on deliveries (failing, due_at)';
const DUE_BY_TEAM = 'deliveries_due_by_team on deliveries (failing, team_id, due_at, destination)';

export async function up(knex: Knex): Promise<void> {
  const { id, time } = columnsFor(knex);
  await knex.schema.createTable('operators', (table) => {
    id(table, 'id').primary();
    table.text('name').notNullable();
    table.text('token_hash').notNullable().unique();
    table.text('token_prefix').notNullable();
    time(table, 'created_at').notNullable();
    time(table, 'revoked_at');
  });
  await knex.schema.createTable('queue_holds', (table) => {
    id(table, 'id').primary();
    // 'destination', 'team_id' or 'email_id', and which.
    table.text('kind').notNullable();
    table.text('value').notNullable();
    table.text('reason').notNullable();
    table.text('created_by').notNullable();
    time(table, 'created_at').notNullable();
    table.unique(['kind', 'value']);
  });
  await knex.schema.alterTable('deliveries', (table) => {
    // The hold that a claim met; such a row is in no lane, and due_at says since when.
    id(table, 'hold_id');
  });
  await knex.raw('drop index deliveries_due');
  await knex.raw('drop index deliveries_due_by_team');
  // As before, without what is held: however much that is, a look at the queue does not read it.
  await knex.raw(`create index ${DUE} where lease_owner is null and hold_id is null`);
  await knex.raw(`create index ${DUE_BY_TEAM} where lease_owner is null and hold_id is null`);
  // What a hold that ends gives back, piece by piece. Mail that nobody holds pays nothing for it.
  await knex.raw('create index deliveries_held on deliveries (hold_id, id) where hold_id is not null');
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('drop index deliveries_held');
  await knex.raw('drop index deliveries_due_by_team');
  await knex.raw('drop index deliveries_due');
  await knex.raw(`create index ${DUE} where lease_owner is null`);
  await knex.raw(`create index ${DUE_BY_TEAM} where lease_owner is null`);
  await knex.schema.alterTable('deliveries', (table) => table.dropColumns('hold_id'));
  await knex.schema.dropTable('queue_holds');
  await knex.schema.dropTable('operators');
}
