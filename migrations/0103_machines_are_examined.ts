import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { id, time } = columnsFor(knex);
  // The last examination of each machine, check by check.
  await knex.schema.createTable('examinations', (table) => {
    table.text('machine').notNullable();
    table.text('check_name').notNullable();
    // 'passed', 'failed', 'unknown' or 'skipped'.
    table.text('state').notNullable();
    table.text('summary').notNullable();
    // JSON array of findings.
    table.text('findings').notNullable();
    time(table, 'checked_at').notNullable();
    // When all of it was last known.
    time(table, 'known_at').notNullable();
    table.primary(['machine', 'check_name']);
  });
  // Free bytes on the disk of the data folder, hour by hour.
  await knex.schema.createTable('disk_samples', (table) => {
    table.text('machine').notNullable();
    time(table, 'at').notNullable();
    table.bigInteger('free_bytes').notNullable();
    table.primary(['machine', 'at']);
  });
  // One row: what was told last.
  await knex.schema.createTable('findings_told', (table) => {
    table.integer('id').primary();
    table.integer('version').notNullable();
    // JSON array of findings, each of one thing.
    table.text('findings').notNullable();
    time(table, 'told_at').notNullable();
  });
  // What is still to be told of a change, and what was.
  await knex.schema.createTable('finding_notices', (table) => {
    id(table, 'id').primary();
    // 'command' or 'url'.
    table.text('channel').notNullable();
    table.text('body').notNullable();
    // 'waiting', 'begun', 'told' or 'failed'.
    table.text('state').notNullable();
    table.integer('attempts').notNullable();
    time(table, 'next_try_at').notNullable();
    time(table, 'created_at').notNullable();
    // What is due, and what was begun and never ended.
    table.index(['state', 'next_try_at'], 'finding_notices_by_try');
    table.index(['created_at'], 'finding_notices_by_age');
  });
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.dropTable('finding_notices');
  await knex.schema.dropTable('findings_told');
  await knex.schema.dropTable('disk_samples');
  await knex.schema.dropTable('examinations');
}
