import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { id, time } = columnsFor(knex);
  // Accounts that were asked for: each with a password and a token of its own, so that nobody chooses the password of another.
  await knex.schema.createTable('sign_ups', (table) => {
    id(table, 'id').primary();
    table.text('email').notNullable();
    // The address as it is compared, as in users.
    table.text('email_key').notNullable();
    table.text('name');
    table.text('password_hash').notNullable();
    table.text('token_hash').notNullable().unique();
    // From where it was asked for.
    table.text('address');
    time(table, 'created_at').notNullable();
    time(table, 'expires_at').notNullable();
    // When it was decided that it gets a mail: an address has few in an hour.
    time(table, 'admitted_at');
    // Null while the mail is still to be handed over.
    time(table, 'mailed_at');
    // Why there was no mail.
    table.text('fault');
    // When the account was made.
    time(table, 'verified_at');
    // How many mails an address had lately.
    table.index(['email_key', 'admitted_at']);
    // The hourly removal of what has ended.
    table.index(['expires_at']);
  });
  await knex.raw('create index sign_ups_unmailed on sign_ups (id) where mailed_at is null');
  await knex.schema.createTable('password_resets', (table) => {
    id(table, 'id').primary();
    table.text('email_key').notNullable();
    // Null until it was found out whether the address has an account.
    id(table, 'user_id');
    table.text('token_hash').notNullable().unique();
    table.text('address');
    table.text('user_agent');
    table.text('request_id');
    time(table, 'created_at').notNullable();
    time(table, 'expires_at').notNullable();
    time(table, 'admitted_at');
    time(table, 'mailed_at');
    table.text('fault');
    time(table, 'used_at');
    table.index(['email_key', 'admitted_at']);
    table.index(['expires_at']);
  });
  await knex.raw('create index password_resets_unmailed on password_resets (id) where mailed_at is null');
  await addNoticesAndFailures(knex);
  await knex.schema.alterTable('emails', (table) => {
    // Holds a token of a person: the team whose domain it is sent from does not read it.
    table.integer('is_account_mail').notNullable().defaultTo(0);
  });
}

async function addNoticesAndFailures(knex: Knex): Promise<void> {
  const { id, time } = columnsFor(knex);
  // What a person is told by mail of a change of their account.
  await knex.schema.createTable('account_notices', (table) => {
    id(table, 'id').primary();
    id(table, 'user_id').notNullable();
    table.text('kind').notNullable();
    table.text('address');
    time(table, 'created_at').notNullable();
    time(table, 'mailed_at');
    table.text('fault');
    table.index(['created_at']);
  });
  await knex.raw('create index account_notices_unmailed on account_notices (id) where mailed_at is null');
  // Attempts to sign in that failed, until it was found out whether they concern an account.
  await knex.schema.createTable('failed_sign_ins', (table) => {
    id(table, 'id').primary();
    table.text('email_key').notNullable();
    table.text('address');
    table.text('user_agent');
    table.text('request_id');
  });
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.alterTable('emails', (table) => table.dropColumn('is_account_mail'));
  for (const name of ['failed_sign_ins', 'account_notices', 'password_resets', 'sign_ups'])
    await knex.schema.dropTable(name);
}
