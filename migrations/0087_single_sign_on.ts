import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { id, time } = columnsFor(knex);
  await knex.schema.createTable('sso_connections', (table) => {
    // A connection to another issuer, or as another client, is another row: what was known by the old one ends with it.
    id(table, 'id').primary();
    id(table, 'team_id').notNullable().unique().references('teams.id');
    table.text('issuer').notNullable();
    table.text('client_id').notNullable();
    // Sealed with the instance key.
    table.text('client_secret').notNullable();
    table.integer('enforced').notNullable().defaultTo(0);
    // Of a person who comes in for the first time: 'viewer' or 'member'.
    table.text('default_role').notNullable();
    // When somebody has signed in through it for the first time.
    time(table, 'tested_at');
    time(table, 'created_at').notNullable();
    time(table, 'updated_at').notNullable();
  });
  await knex.schema.createTable('sso_domains', (table) => {
    id(table, 'id').primary();
    id(table, 'team_id').notNullable().references('teams.id');
    table.text('domain').notNullable();
    // What the TXT record must say.
    table.text('proof').notNullable();
    table.text('diagnosis');
    time(table, 'verified_at');
    // 0 before anybody has looked.
    time(table, 'checked_at').notNullable();
    time(table, 'created_at').notNullable();
    table.unique(['team_id', 'domain']);
  });
  // A domain that is proven is one team's: its addresses are sent to one provider.
  await knex.raw('create unique index sso_domains_proven on sso_domains (domain) where verified_at is not null');
  await knex.schema.createTable('sso_identities', (table) => {
    id(table, 'id').primary();
    id(table, 'connection_id').notNullable().references('sso_connections.id').onDelete('cascade');
    id(table, 'user_id').notNullable().references('users.id');
    // As the provider knows the person; null for a person who was removed from the team without having signed in by it.
    table.text('subject');
    time(table, 'created_at').notNullable();
    table.unique(['connection_id', 'subject']);
    table.unique(['connection_id', 'user_id']);
  });
  // Sign-ins whose answer has come: the same one is not taken twice. Only hashes.
  await knex.schema.createTable('sso_answers', (table) => {
    table.text('state_hash').primary();
    time(table, 'at').notNullable();
    // The hourly removal of what is too old to be answered anyway.
    table.index(['at'], 'sso_answers_by_age');
  });
  await knex.schema.alterTable('sessions', (table) => {
    // The team through whose provider it began; null for one that began with a password.
    id(table, 'sso_team_id');
    table.index(['sso_team_id'], 'sessions_by_sso_team');
  });
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.alterTable('sessions', (table) => {
    table.dropIndex(['sso_team_id'], 'sessions_by_sso_team');
    table.dropColumn('sso_team_id');
  });
  for (const table of ['sso_answers', 'sso_identities', 'sso_domains', 'sso_connections'])
    await knex.schema.dropTable(table);
}
