import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { id, time } = columnsFor(knex);
  await knex.schema.createTable('teams', (table) => {
    id(table, 'id').primary();
    table.text('name').notNullable();
    table.text('slug').notNullable().unique();
    table.text('risk_state').notNullable();
    table.text('plan_code').notNullable();
    time(table, 'created_at').notNullable();
  });
  await knex.schema.createTable('api_keys', (table) => {
    id(table, 'id').primary();
    id(table, 'team_id').notNullable().references('teams.id');
    table.text('name').notNullable();
    table.text('token_hash').notNullable().unique();
    table.text('key_prefix').notNullable();
    table.text('permission').notNullable();
    id(table, 'domain_id');
    table.text('status').notNullable();
    time(table, 'created_at').notNullable();
    time(table, 'last_used_at');
    table.text('last_used_request_log_id');
    // GET /api-keys, newest first. A team has few keys: its filters run over this index.
    table.index(['team_id', 'id']);
  });
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.dropTable('api_keys');
  await knex.schema.dropTable('teams');
}
