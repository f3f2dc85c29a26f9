import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { id, time } = columnsFor(knex);
  await knex.schema.createTable('contact_properties', (table) => {
    id(table, 'id').primary();
    id(table, 'team_id').notNullable().references('teams.id');
    table.text('key').notNullable();
    // Merge variables name a property in either letter case, so that two keys may not differ by it alone.
    table.text('key_folded').notNullable();
    table.text('type').notNullable();
    // What stands for it in the values of contacts: a key that is declared anew gets another one, and finds no old value.
    table.integer('slot').notNullable();
    // JSON.
    table.text('fallback_value');
    time(table, 'created_at').notNullable();
    // Its values are removed in small batches, and then the row.
    time(table, 'deleted_at');
    // GET /contact-properties.
    table.index(['team_id', 'id']);
    table.unique(['team_id', 'slot']);
  });
  // A key is declared once among what is not deleted.
  await knex.raw(
    'create unique index contact_properties_live_key on contact_properties (team_id, key_folded) where deleted_at is null',
  );
  // Which are to be cleared out.
  await knex.raw('create index contact_properties_deleted on contact_properties (id) where deleted_at is not null');
  await createContacts(knex);
}

/**
 * A contact's values stand twice: in its row, where one read finds them all and a condition can look at any of them, and in
 * two tables that are nothing but an index, in the order of property, value and contact, so that a condition that few meet
 * reads those few. Both databases have that; an index on a path of JSON would need one for each property of each team.
 */
async function createContacts(knex: Knex): Promise<void> {
  const isPg = knex.client.config.client === 'pg';
  const uuid = isPg ? 'uuid' : 'text';
  const time = isPg ? 'bigint' : 'integer';
  const json = isPg ? 'jsonb' : 'text';
  const clustered = isPg ? '' : 'without rowid';
  await knex.raw(`create table contacts (
    team_id ${uuid} not null references teams (id),
    id ${uuid} not null,
    email text not null,
    email_key text not null,
    first_name text,
    last_name text,
    first_name_key text,
    last_name_key text,
    unsubscribed smallint not null default 0,
    properties ${json},
    folded ${json},
    created_at ${time} not null,
    updated_at ${time} not null,
    primary key (team_id, id)) ${clustered}`);
  // An address is one contact's alone, found by it in every letter case.
  await knex.raw('create unique index contacts_email on contacts (team_id, email_key)');
  for (const [table, type] of [
    ['contact_texts', 'text'],
    ['contact_numbers', isPg ? 'double precision' : 'real'],
  ] as const) {
    await knex.raw(`create table ${table} (
      property_id ${uuid} not null,
      value ${type} not null,
      contact_id ${uuid} not null,
      primary key (property_id, value, contact_id)) ${clustered}`);
  }
  await knex.raw(`create table contact_counts (
    team_id ${uuid} primary key,
    contacts ${time} not null) ${clustered}`);
}

export async function down(knex: Knex): Promise<void> {
  for (const table of ['contact_counts', 'contact_numbers', 'contact_texts', 'contacts', 'contact_properties']) {
    await knex.schema.dropTable(table);
  }
}
