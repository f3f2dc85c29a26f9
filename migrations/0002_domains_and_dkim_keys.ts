import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { id, time } = columnsFor(knex);
  await knex.schema.createTable('domains', (table) => {
    id(table, 'id').primary();
    id(table, 'team_id').notNullable().references('teams.id');
    table.text('name').notNullable();
    table.text('status').notNullable();
    table.text('region').notNullable();
    table.integer('open_tracking').notNullable();
    table.integer('click_tracking').notNullable();
    table.text('tracking_subdomain').notNullable();
    table.text('custom_return_path').notNullable();
    table.text('tls').notNullable();
    time(table, 'created_at').notNullable();
    // When a call last asked for verification or a new key: one call a minute.
    time(table, 'asked_at');
    // When its records were last looked up, by a call or by the sweep.
    time(table, 'checked_at');
    time(table, 'first_checked_at');
    time(table, 'verified_at');
    // Looked up for every send, and a team has a name once.
    table.unique(['team_id', 'name']);
    // GET /domains.
    table.index(['team_id', 'id']);
  });
  // One team at a time may send from a name; the database decides the race between two verifications.
  await knex.raw('create unique index domains_name_verified_once on domains (name) where verified_at is not null');
  await knex.schema.createTable('domain_records', (table) => {
    id(table, 'domain_id').notNullable();
    table.integer('position').notNullable();
    table.text('record').notNullable();
    table.text('name').notNullable();
    table.text('type').notNullable();
    table.text('value').notNullable();
    table.integer('priority');
    table.text('status').notNullable();
    table.primary(['domain_id', 'position']);
  });
  await knex.schema.createTable('dkim_keys', (table) => {
    id(table, 'id').primary();
    id(table, 'domain_id').notNullable();
    table.text('selector').notNullable();
    table.text('algorithm').notNullable();
    table.text('private_key_sealed').notNullable();
    time(table, 'created_at').notNullable();
    table.index(['domain_id']);
  });
}

export async function down(knex: Knex): Promise<void> {
  for (const table of ['dkim_keys', 'domain_records', 'domains']) await knex.schema.dropTable(table);
}
