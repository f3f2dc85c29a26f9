import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { time } = columnsFor(knex);
  await knex.schema.alterTable('domains', (table) => {
    table.text('sending').notNullable().defaultTo('enabled');
    // "unsupported" until the team has said once what it wants.
    table.text('receiving').notNullable().defaultTo('unsupported');
    // When a record of a verified capability was first seen absent or wrong; null while all is well.
    time(table, 'failing_since');
    // Since when the name is its team's, sent from or not.
    time(table, 'held_at');
    time(table, 'receiving_since');
    time(table, 'receiving_verified_at');
    time(table, 'receiving_failing_since');
  });
  await knex.schema.alterTable('domain_records', (table) => {
    table.integer('required').notNullable().defaultTo(1);
    // DKIM records: what the key they publish is for at present.
    table.text('key_status');
  });
  await knex.schema.alterTable('dkim_keys', (table) => {
    table.text('status').notNullable().defaultTo('active');
    // RSA keys only.
    table.integer('bits');
    // When it got this status; null for keys that have been active from the first.
    time(table, 'status_at');
  });
  await knex.schema.alterTable('deliveries', (table) => {
    // 1 while its next attempt waits for its domain to be verified again.
    table.integer('awaits_domain').notNullable().defaultTo(0);
  });
  // What is let go every minute; other mail never enters this index.
  await knex.raw('create index deliveries_awaiting_domain on deliveries (domain_id) where awaits_domain = 1');
  await knex('dkim_keys').update({ bits: 2048 });
  await knex('domain_records').where({ record: 'DKIM' }).update({ key_status: 'active' });
  await knex('domain_records').where({ record: 'Tracking' }).update({ required: 0 });
  await knex('domains')
    .whereNotNull('verified_at')
    .update({ held_at: knex.ref('verified_at') });
  // A name is one team's at a time, verified or waiting for a new key; the database decides the race for it.
  await knex.raw('drop index domains_name_verified_once');
  await knex.raw('create unique index domains_name_held_once on domains (name) where held_at is not null');
  // The sweep takes those not looked at for longest first.
  await knex.raw('create index domains_checked_at on domains ((coalesce(checked_at, 0)), id)');
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('drop index domains_checked_at');
  await knex.raw('drop index deliveries_awaiting_domain');
  await knex.schema.alterTable('deliveries', (table) => table.dropColumns('awaits_domain'));
  await knex.raw('drop index domains_name_held_once');
  await knex.raw('create unique index domains_name_verified_once on domains (name) where verified_at is not null');
  await knex.schema.alterTable('dkim_keys', (table) => {
    table.dropColumns('status', 'bits', 'status_at');
  });
  await knex.schema.alterTable('domain_records', (table) => {
    table.dropColumns('required', 'key_status');
  });
  await knex.schema.alterTable('domains', (table) => {
    table.dropColumns(
      'sending',
      'receiving',
      'failing_since',
      'held_at',
      'receiving_since',
      'receiving_verified_at',
      'receiving_failing_since',
    );
  });
}
