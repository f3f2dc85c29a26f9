import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { id, time } = columnsFor(knex);
  // Null for a person who may sign in.
  await knex.schema.alterTable('users', (table) => void time(table, 'disabled_at'));
  await knex.schema.createTable('mfa_secrets', (table) => {
    id(table, 'id').primary();
    id(table, 'user_id').notNullable().unique().references('users.id');
    // In Base32, sealed with the instance key.
    table.text('secret').notNullable();
    // The newest step of 30 seconds whose code was used.
    table.bigInteger('last_step');
    time(table, 'created_at').notNullable();
    // Null until the person has shown a code of it; from then on the same as users.mfa_enabled_at.
    time(table, 'confirmed_at');
  });
  // The hourly removal of what was never confirmed.
  await knex.raw('create index mfa_secrets_unconfirmed on mfa_secrets (created_at) where confirmed_at is null');
  await knex.schema.createTable('mfa_recovery_codes', (table) => {
    id(table, 'user_id').notNullable().references('users.id');
    table.text('code_hash').notNullable();
    table.primary(['user_id', 'code_hash']);
  });
  // What a person entered wrong, by kind: 'code', 'recovery_code' or 'password'.
  await knex.schema.createTable('mfa_failures', (table) => {
    id(table, 'user_id').notNullable().references('users.id');
    table.text('kind').notNullable();
    table.integer('failures').notNullable();
    time(table, 'since').notNullable();
    table.primary(['user_id', 'kind']);
    // The hourly removal of what limits nothing any more.
    table.index(['since'], 'mfa_failures_by_age');
  });
  // Who has shown a password, and is asked for a code.
  await knex.schema.createTable('mfa_challenges', (table) => {
    id(table, 'id').primary();
    table.text('token_hash').notNullable().unique();
    // Of the cookie of the browser that was challenged.
    table.text('browser_hash').notNullable();
    id(table, 'user_id').notNullable().references('users.id');
    // Of what is kept of the password, and which secret: with another one of either the challenge has ended.
    table.text('password_hash').notNullable();
    id(table, 'secret_id').notNullable();
    table.integer('failures').notNullable();
    time(table, 'expires_at').notNullable();
    // The hourly removal of what has expired.
    table.index(['expires_at'], 'mfa_challenges_by_expiry');
  });
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.dropTable('mfa_challenges');
  await knex.schema.dropTable('mfa_failures');
  await knex.schema.dropTable('mfa_recovery_codes');
  await knex.schema.dropTable('mfa_secrets');
  await knex.schema.alterTable('users', (table) => table.dropColumn('disabled_at'));
}
