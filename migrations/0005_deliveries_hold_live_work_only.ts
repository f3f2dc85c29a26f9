import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { id, time } = columnsFor(knex);
  // One row for each email and destination domain; gone as soon as its last recipient has an outcome.
  await knex.schema.createTable('deliveries', (table) => {
    id(table, 'id').primary();
    id(table, 'email_id').notNullable();
    id(table, 'team_id').notNullable();
    id(table, 'domain_id').notNullable();
    table.text('destination').notNullable();
    table.text('recipients').notNullable();
    table.text('region').notNullable();
    table.text('tls').notNullable();
    table.integer('attempt').notNullable();
    time(table, 'accepted_at').notNullable();
    // When it may be claimed: the time of the next attempt or, while claimed, the end of the lease.
    time(table, 'due_at').notNullable();
    table.text('lease_owner');
    // Set before the final dot of DATA may be written; from then on it is never sent again.
    time(table, 'handed_off_at');
    // With the destination, so that a look past a slow one reads this index alone.
    table.index(['due_at', 'destination']);
    // A cancellation or a deletion finds its rows. What a dead node held, or a claim whose answer was
    // lost, is found by reading the table: rare enough to need no index.
    table.index(['email_id']);
  });
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.dropTable('deliveries');
}
