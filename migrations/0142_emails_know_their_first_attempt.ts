import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { id, time } = columnsFor(knex);
  await knex.schema.alterTable('emails', (table) => {
    // When its delivery was first begun: its Date header, and the time of its signature. Null before.
    time(table, 'first_attempt_at');
    // The automation that sent it. Null for all other mail, and for what was accepted before.
    id(table, 'automation_id');
  });
  // Mail on its way keeps the date that it was sent with before.
  await knex.raw(`update emails set first_attempt_at = coalesce(scheduled_at, created_at)
    where id in (select email_id from deliveries where attempt > 0)`);
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.alterTable('emails', (table) => table.dropColumns('first_attempt_at', 'automation_id'));
}
