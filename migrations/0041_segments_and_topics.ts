import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { id, time } = columnsFor(knex);
  await knex.schema.createTable('segments', (table) => {
    id(table, 'id').primary();
    id(table, 'team_id').notNullable().references('teams.id');
    table.text('name').notNullable();
    // JSON; null for a segment of explicit members alone.
    table.text('filter');
    time(table, 'created_at').notNullable();
    // Broadcasts that were sent to it still name it.
    time(table, 'deleted_at');
  });
  await knex.schema.createTable('topics', (table) => {
    id(table, 'id').primary();
    id(table, 'team_id').notNullable().references('teams.id');
    table.text('name').notNullable();
    table.text('description');
    table.text('default_subscription').notNullable();
    table.text('visibility').notNullable();
    time(table, 'created_at').notNullable();
    time(table, 'deleted_at');
  });
  for (const table of ['segments', 'topics']) {
    // The list, newest first; a name is free again once its holder is deleted.
    await knex.raw(`create index ${table}_live on ${table} (team_id, id) where deleted_at is null`);
    await knex.raw(`create unique index ${table}_live_name on ${table} (team_id, name) where deleted_at is null`);
  }
  await createChoices(knex);
}

/** What was said of single contacts: who is in a segment whatever its filter says, and who wants a topic. */
async function createChoices(knex: Knex): Promise<void> {
  const isPg = knex.client.config.client === 'pg';
  const uuid = isPg ? 'uuid' : 'text';
  const time = isPg ? 'bigint' : 'integer';
  const clustered = isPg ? '' : 'without rowid';
  await knex.raw(`create table segment_members (
    segment_id ${uuid} not null,
    contact_id ${uuid} not null,
    primary key (segment_id, contact_id)) ${clustered}`);
  // GET /contacts/{contact}/segments, and what goes with a contact.
  await knex.raw('create index segment_members_of_contact on segment_members (contact_id)');
  await knex.raw(`create table contact_topics (
    contact_id ${uuid} not null,
    topic_id ${uuid} not null,
    subscription text not null,
    primary key (contact_id, topic_id)) ${clustered}`);
  // What a contact, or somebody for it, decided. It stays when the contact is erased, and then knows a hash alone.
  await knex.raw(`create table consent_records (
    id ${uuid} primary key,
    team_id ${uuid} not null references teams (id),
    contact_id ${uuid} not null,
    email_hash text not null,
    action text not null,
    topic_id ${uuid},
    source text not null,
    created_at ${time} not null) ${clustered}`);
  // A contact's activity, newest first.
  await knex.raw('create index consent_records_of_contact on consent_records (contact_id, id)');
  // Whether an address was ever told of, also after its erasure.
  await knex.raw('create index consent_records_of_email on consent_records (team_id, email_hash)');
}

export async function down(knex: Knex): Promise<void> {
  for (const table of ['consent_records', 'contact_topics', 'segment_members', 'topics', 'segments']) {
    await knex.schema.dropTable(table);
  }
}
