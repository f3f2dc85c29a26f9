import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { time } = columnsFor(knex);
  // Whoever moves a job's slot forward runs it; the other nodes find it moved.
  await knex.schema.createTable('cron_runs', (table) => {
    table.text('job').primary();
    time(table, 'slot').notNullable();
  });
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.dropTable('cron_runs');
}
