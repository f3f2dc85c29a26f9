import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { id, time } = columnsFor(knex);
  await knex.schema.alterTable('sessions', (table) => {
    // 'browser', by a cookie, or 'device', by a token that a program sends.
    table.text('kind').notNullable().defaultTo('browser');
    // What the program calls itself.
    table.text('client_name');
  });
  // Programs that wait for a person to approve them; a row is gone once its session has begun.
  await knex.schema.createTable('device_logins', (table) => {
    id(table, 'id').primary();
    table.text('device_code_hash').notNullable().unique();
    table.text('user_code_hash').notNullable().unique();
    table.text('client_name').notNullable();
    table.text('address').notNullable();
    table.text('user_agent').notNullable();
    // 'pending', 'approved' or 'denied'.
    table.text('status').notNullable();
    // The session in which it was approved; what begins is a copy of it, where it still lives.
    id(table, 'session_id');
    // When the program last asked.
    time(table, 'polled_at');
    time(table, 'created_at').notNullable();
    time(table, 'expires_at').notNullable();
    // The hourly removal of what has expired.
    table.index(['expires_at'], 'device_logins_by_expiry');
  });
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.dropTable('device_logins');
  await knex('sessions').where({ kind: 'device' }).delete();
  await knex.schema.alterTable('sessions', (table) => table.dropColumns('kind', 'client_name'));
}
