import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { id, time } = columnsFor(knex);
  await knex.schema.createTable('webhook_listeners', (table) => {
    table.text('id').primary();
    id(table, 'team_id').notNullable().references('teams.id');
    // JSON array of event types.
    table.text('events').notNullable();
    table.text('secret_sealed').notNullable();
    // The stream that is open, as a name nobody else has; null between two streams.
    table.text('holder');
    // When the stream last gave a sign of life, or ended.
    time(table, 'seen_at').notNullable();
    table.bigInteger('last_batch').notNullable().defaultTo(0);
    time(table, 'created_at').notNullable();
    // Which listeners of a team an event goes to.
    table.index(['team_id', 'id']);
  });
  const isPg = knex.client.config.client === 'pg';
  await knex.raw(`create table webhook_listener_events (
    listener_id text not null,
    event_id ${isPg ? 'uuid' : 'text'} not null,
    type text not null,
    created_at bigint not null,
    batch bigint,
    sent_at bigint,
    primary key (listener_id, event_id)) ${isPg ? '' : 'without rowid'}`);
  // What a stream sends next.
  await knex.raw(
    'create index webhook_listener_events_waiting on webhook_listener_events (listener_id, event_id) where batch is null',
  );
  // What was sent and need not be kept for a stream that breaks off.
  await knex.raw(
    'create index webhook_listener_events_sent on webhook_listener_events (listener_id, sent_at) where sent_at is not null',
  );
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.dropTable('webhook_listener_events');
  await knex.schema.dropTable('webhook_listeners');
}
