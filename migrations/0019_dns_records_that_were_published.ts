import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { id, time } = columnsFor(knex);
  // Neither refers to domains: what was published has to be removed after its domain is gone.
  await knex.schema.createTable('dns_published', (table) => {
    id(table, 'id').primary();
    id(table, 'domain_id').notNullable();
    table.text('provider').notNullable();
    table.text('zone').notNullable();
    table.text('name').notNullable();
    table.text('type').notNullable();
    table.text('value').notNullable();
    table.integer('priority');
    time(table, 'created_at').notNullable();
    // What a domain has published.
    table.index(['domain_id', 'id']);
  });
  // Domains whose records are published by themselves.
  await knex.schema.createTable('dns_setups', (table) => {
    id(table, 'domain_id').primary();
    id(table, 'team_id').notNullable();
    table.text('domain_name').notNullable();
    table.text('provider').notNullable();
    table.text('zone').notNullable();
    // Of the records last published: what differs from it is to be published.
    table.text('fingerprint').notNullable();
    table.integer('failures').notNullable().defaultTo(0);
    table.text('fault');
    // Null while nothing has failed.
    time(table, 'retry_at');
    time(table, 'created_at').notNullable();
    // Who else has published for a name.
    table.index(['domain_name']);
  });
  // Who else wants a record, by the names that can want it.
  await knex.raw('create index domains_by_name on domains (name)');
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('drop index domains_by_name');
  await knex.schema.dropTable('dns_setups');
  await knex.schema.dropTable('dns_published');
}
