import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { id, time } = columnsFor(knex);
  await knex.schema.alterTable('teams', (table) => {
    // JSON, because it is written and read as a whole: who is told of what concerns the team.
    table.text('admin_emails');
  });
  await knex.schema.createTable('webhooks', (table) => {
    table.text('id').primary();
    id(table, 'team_id').notNullable().references('teams.id');
    table.text('endpoint').notNullable();
    // JSON array of event types.
    table.text('events').notNullable();
    table.text('status').notNullable();
    table.text('secret_sealed').notNullable();
    table.text('previous_secret_sealed');
    time(table, 'previous_secret_until');
    time(table, 'created_at').notNullable();
    time(table, 'disabled_at');
    // 'manual' or 'failing'.
    table.text('disabled_reason');
    // When the team's admins were told that it failed; null while they have to be, or need not be.
    time(table, 'admins_told_at');
    time(table, 'last_success_at');
    // The first failed attempt since the last success.
    time(table, 'failing_since');
    // One process at a time sends to an endpoint.
    table.text('lease_owner');
    time(table, 'lease_until');
    // Set first; the rows go in small batches.
    time(table, 'deleted_at');
    // GET /webhooks, newest first, and which endpoints of a team an event goes to.
    table.index(['team_id', 'id']);
  });
  await createEventTables(knex);
}

/** What grows with every event lies in the order in which it is read: by endpoint or team, then by time. */
async function createEventTables(knex: Knex): Promise<void> {
  const isPg = knex.client.config.client === 'pg';
  const uuid = isPg ? 'uuid' : 'text';
  const time = isPg ? 'bigint' : 'integer';
  const clustered = isPg ? '' : 'without rowid';
  await knex.raw(`create table webhook_events (
    webhook_id text not null,
    event_id ${uuid} not null,
    team_id ${uuid} not null,
    type text not null,
    status text not null,
    parked smallint not null default 0,
    attempt_count integer not null default 0,
    tries smallint not null default 0,
    last_http_status smallint,
    due_at ${time},
    created_at ${time} not null,
    primary key (webhook_id, event_id)) ${clustered}`);
  // The next events of an endpoint. Live work alone: its cost does not grow with history.
  await knex.raw(
    'create index webhook_events_due on webhook_events (webhook_id, due_at, event_id) where due_at is not null',
  );
  // GET /webhooks/{id}/events by status.
  await knex.raw('create index webhook_events_by_status on webhook_events (webhook_id, status, event_id)');
  // The same by type and status, and by type alone as the four statuses of it. Without a filter the primary key serves.
  await knex.raw(
    'create index webhook_events_by_type_and_status on webhook_events (webhook_id, type, status, event_id)',
  );
  // GET /webhooks/{id}/parked, oldest first.
  await knex.raw('create index webhook_events_parked on webhook_events (webhook_id, event_id) where parked = 1');
  // The exact bytes that are signed; by team first, so that what is past retention is one range.
  await knex.raw(`create table webhook_payloads (
    event_id ${uuid} not null,
    team_id ${uuid} not null,
    payload text not null,
    primary key (team_id, event_id)) ${clustered}`);
  await knex.raw(`create table webhook_attempts (
    webhook_id text not null,
    event_id ${uuid} not null,
    id text not null,
    attempt_number integer not null,
    http_status_code smallint,
    response text,
    error text,
    duration_ms integer not null,
    sent_at ${time} not null,
    primary key (webhook_id, event_id, id)) ${clustered}`);
}

export async function down(knex: Knex): Promise<void> {
  for (const table of ['webhook_attempts', 'webhook_payloads', 'webhook_events', 'webhooks']) {
    await knex.schema.dropTable(table);
  }
  await knex.schema.alterTable('teams', (table) => table.dropColumns('admin_emails'));
}
