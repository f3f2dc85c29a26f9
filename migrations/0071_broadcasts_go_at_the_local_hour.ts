import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { time } = columnsFor(knex);
  await knex.schema.alterTable('broadcasts', (table) => {
    // 1 where it goes to each contact at its local hour.
    table.integer('local_time').notNullable().defaultTo(0);
    // Fixed when it is sent: what the clocks of each contact have to show, as if it were UTC.
    time(table, 'local_at');
    // The moment of the zones whose contacts it goes to, or has gone to last.
    time(table, 'pass_at');
    // When it is to be looked at again; null while it is being sent.
    time(table, 'next_at');
  });
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.alterTable('broadcasts', (table) => {
    table.dropColumns('local_time', 'local_at', 'pass_at', 'next_at');
  });
}
