import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  await createBroadcasts(knex);
  await createReport(knex);
  await markMail(knex);
  // The switch of all mail to many, beside the one of all mail.
  await knex('instance_settings').insert({
    name: 'sending.marketing',
    value: JSON.stringify({ isOn: true, reason: null }),
  });
}

async function createBroadcasts(knex: Knex): Promise<void> {
  const { id, time } = columnsFor(knex);
  // A body that many emails share, stored once. What each recipient has of its own stands with the email.
  await knex.schema.createTable('shared_bodies', (table) => {
    id(table, 'id').primary();
    id(table, 'team_id').notNullable();
    table.text('html');
    table.text('text');
    time(table, 'created_at').notNullable();
  });
  await knex.schema.createTable('broadcasts', (table) => {
    id(table, 'id').primary();
    id(table, 'team_id').notNullable().references('teams.id');
    table.text('name').notNullable();
    // No reference: a deleted segment stays named.
    id(table, 'segment_id');
    table.text('sender').notNullable();
    table.text('subject').notNullable();
    table.text('reply_to_list').notNullable();
    table.text('preview_text');
    table.text('html');
    table.text('text');
    id(table, 'topic_id');
    id(table, 'template_id');
    table.text('status').notNullable();
    time(table, 'created_at').notNullable();
    time(table, 'updated_at').notNullable();
    time(table, 'scheduled_at');
    time(table, 'sent_at');
    // 1 where checks that fail were acknowledged.
    table.integer('acknowledged').notNullable().defaultTo(0);
    // Emails a minute; null for as fast as the queue takes them.
    table.integer('rate_per_minute');
    // What is fixed when it is sent: later changes of domain, template and draft leave it as it is.
    id(table, 'domain_id');
    id(table, 'body_id');
    id(table, 'template_version_id');
    // How far sending has come. `cursor_id` is the last contact of the last page that is done, `total` the members that were
    // counted at the start.
    time(table, 'started_at');
    id(table, 'cursor_id');
    table.integer('recipients').notNullable().defaultTo(0);
    table.integer('excluded').notNullable().defaultTo(0);
    table.integer('total');
    // Why it does not move at the moment, and goes on by itself.
    table.text('waiting_reason');
    table.text('held_reason');
    time(table, 'held_since');
    table.text('failed_reason');
    table.text('lease_owner');
    time(table, 'lease_until');
    // GET /broadcasts, with and without `status`.
    table.index(['team_id', 'id']);
    table.index(['team_id', 'status', 'id']);
  });
  // What is to be worked on, the longest due first.
  await knex.raw(
    "create index broadcasts_due on broadcasts (scheduled_at) where status in ('scheduled', 'queued', 'sending')",
  );
}

/** Whom a broadcast went to and what came of it; who was left out and why; the links that were clicked. */
async function createReport(knex: Knex): Promise<void> {
  const isPg = knex.client.config.client === 'pg';
  const uuid = isPg ? 'uuid' : 'text';
  const clustered = isPg ? '' : 'without rowid';
  const counts = ['sent', 'delivered', 'opened', 'clicked', 'complained', 'unsubscribed', 'suppressed'];
  // One row an address, whatever becomes of its contact: nobody gets a broadcast twice. Rows stand in the order in which they
  // are written, and not by address: what happens to a page of emails then happens to neighbours.
  await knex.raw(`create table broadcast_recipients (
    broadcast_id ${uuid} not null,
    email_key text not null,
    id ${uuid} not null,
    contact_id ${uuid},
    email text not null,
    email_id ${uuid},
    excluded text,
    ${counts.map((name) => `${name} integer not null default 0,`).join('\n    ')}
    bounced text,
    primary key (broadcast_id, email_key))`);
  await knex.raw('create index broadcast_recipients_order on broadcast_recipients (broadcast_id, id)');
  // The events of an email.
  await knex.raw(
    'create unique index broadcast_recipients_email on broadcast_recipients (email_id) where email_id is not null',
  );
  // GET /broadcasts/{id}/recipients by its `type`, and GET /broadcasts/{id}/exclusions.
  const kinds = [
    ...counts.map((name) => [name, `${name} > 0`] as const),
    ...['bounced', 'excluded'].map((name) => [name, `${name} is not null`] as const),
  ];
  for (const [name, condition] of kinds) {
    await knex.raw(
      `create index broadcast_recipients_${name} on broadcast_recipients (broadcast_id, id) where ${condition}`,
    );
  }
  // The hash is of the address, which may be longer than an index takes.
  await knex.raw(`create table broadcast_links (
    broadcast_id ${uuid} not null,
    url_hash text not null,
    id ${uuid} not null,
    url text not null,
    clicks integer not null default 0,
    unique_clicks integer not null default 0,
    primary key (broadcast_id, url_hash)) ${clustered}`);
  // GET /broadcasts/{id}/clicked-links.
  await knex.raw('create unique index broadcast_links_order on broadcast_links (broadcast_id, id)');
  // Which links of a broadcast an email's recipient has clicked.
  await knex.raw(`create table broadcast_link_clicks (
    email_id ${uuid} not null,
    link_id ${uuid} not null,
    clicks integer not null default 0,
    primary key (email_id, link_id)) ${clustered}`);
}

async function markMail(knex: Knex): Promise<void> {
  const { id } = columnsFor(knex);
  await knex.schema.alterTable('emails', (table) => void id(table, 'broadcast_id'));
  await knex.schema.alterTable('deliveries', (table) => void id(table, 'broadcast_id'));
  await knex.schema.alterTable('email_bodies', (table) => {
    id(table, 'shared_body_id');
    // JSON: the values of the merge variables that the shared body uses.
    table.text('merge_values');
  });
  // The emails of a broadcast, and what of it still waits.
  await knex.raw('create index emails_broadcast on emails (broadcast_id, id) where broadcast_id is not null');
  await knex.raw('create index deliveries_broadcast on deliveries (broadcast_id) where broadcast_id is not null');
}

export async function down(knex: Knex): Promise<void> {
  await knex('instance_settings').where({ name: 'sending.marketing' }).delete();
  for (const table of ['deliveries', 'emails']) await knex.raw(`drop index ${table}_broadcast`);
  await knex.schema.alterTable('email_bodies', (table) => void table.dropColumns('shared_body_id', 'merge_values'));
  for (const name of ['deliveries', 'emails']) {
    await knex.schema.alterTable(name, (table) => void table.dropColumn('broadcast_id'));
  }
  const tables = ['broadcast_link_clicks', 'broadcast_links', 'broadcast_recipients', 'broadcasts', 'shared_bodies'];
  for (const table of tables) await knex.schema.dropTable(table);
}
