import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { id, time } = columnsFor(knex);
  // Our account at each authority that was ever named, by the address of its directory.
  await knex.schema.createTable('acme_accounts', (table) => {
    table.text('directory').primary();
    id(table, 'id').notNullable();
    // Sealed with the instance key.
    table.text('private_key').notNullable();
    // Null until the authority knows the key.
    table.text('url');
    time(table, 'created_at').notNullable();
    // The hour that the orders are counted in.
    time(table, 'hour').notNullable();
    table.integer('orders_in_hour').notNullable();
  });
  await knex.schema.createTable('certificates', (table) => {
    id(table, 'id').primary();
    // The first of its names, and what it is called.
    table.text('name').notNullable().unique();
    // 'host' for this installation, 'tracking' for a host that leads tracked links to us.
    table.text('kind').notNullable();
    // All that it is to be for, sorted, with a blank between.
    table.text('names').notNullable();
    // What is shown; null until there is one. The key is sealed with the instance key.
    table.text('chain');
    table.text('private_key');
    // Grows with each that is issued, so that other processes see it.
    table.integer('version').notNullable().defaultTo(0);
    time(table, 'starts_at');
    time(table, 'ends_at');
    // The order under way, and the sealed key that it is for: known before the authority is told to issue.
    table.text('order_url');
    table.text('order_key');
    table.integer('wants_new_key').notNullable().defaultTo(0);
    time(table, 'next_try_at').notNullable();
    table.integer('failures').notNullable().defaultTo(0);
    // Since when it fails; null while it does not.
    time(table, 'failing_since');
    table.text('error');
    id(table, 'lease_owner');
    time(table, 'lease_until');
    time(table, 'created_at').notNullable();
    // What is due.
    table.index(['next_try_at'], 'certificates_by_next_try');
  });
  await knex.schema.createTable('acme_challenges', (table) => {
    table.text('token').primary();
    id(table, 'certificate_id').notNullable();
    // 'http-01' or 'tls-alpn-01'.
    table.text('kind').notNullable();
    table.text('name').notNullable();
    // What is answered; no secret.
    table.text('key_authorization').notNullable();
    time(table, 'expires_at').notNullable();
    // What is asked for at the TLS port, and what goes with its certificate.
    table.index(['name'], 'acme_challenges_by_name');
    table.index(['certificate_id'], 'acme_challenges_by_certificate');
    table.index(['expires_at'], 'acme_challenges_by_end');
  });
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.dropTable('acme_challenges');
  await knex.schema.dropTable('certificates');
  await knex.schema.dropTable('acme_accounts');
}
