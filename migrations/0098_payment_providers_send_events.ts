import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { id, time } = columnsFor(knex);
  // Events of a payment provider, so that one that comes twice is read once.
  await knex.schema.createTable('payment_events', (table) => {
    table.text('provider').notNullable();
    table.text('event_id').notNullable();
    // Null where it concerns no team of this installation.
    id(table, 'team_id');
    time(table, 'received_at').notNullable();
    // Null until what it was about is known.
    time(table, 'read_at');
    table.primary(['provider', 'event_id']);
    // The daily removal of old ones.
    table.index(['received_at'], 'payment_events_by_time');
  });
  await knex.schema.alterTable('team_subscriptions', (table) => {
    // When the provider was last asked.
    time(table, 'asked_at');
    // Since when a change is known that no event had told; null again with the next event.
    time(table, 'missed_since');
    table.index(['missed_since'], 'team_subscriptions_by_missed_since');
    // The hourly look at periods that are over.
    table.index(['current_period_end'], 'team_subscriptions_by_period_end');
  });
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.alterTable('team_subscriptions', (table) => {
    table.dropIndex(['missed_since'], 'team_subscriptions_by_missed_since');
    table.dropIndex(['current_period_end'], 'team_subscriptions_by_period_end');
  });
  await knex.schema.alterTable('team_subscriptions', (table) => table.dropColumns('asked_at', 'missed_since'));
  await knex.schema.dropTable('payment_events');
}
