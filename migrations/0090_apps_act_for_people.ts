import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { id, time } = columnsFor(knex);
  await knex.schema.createTable('oauth_grants', (table) => {
    id(table, 'id').primary();
    id(table, 'team_id').notNullable().references('teams.id');
    id(table, 'user_id').notNullable().references('users.id');
    // The membership that it was given in: who comes back into a team comes back without old grants.
    id(table, 'member_id').notNullable();
    table.text('client_id').notNullable().references('oauth_clients.client_id');
    // What the app called itself when the person let it in.
    table.text('client_name').notNullable();
    table.text('client_logo_uri');
    // Separated by spaces.
    table.text('scopes').notNullable();
    // 'api', which is everything, or 'mcp'.
    table.text('resource').notNullable();
    // Of the code that it came from, so that the code is known when it comes again.
    table.text('code_hash').notNullable().unique();
    // SHA-256 of what all refresh tokens of the grant begin with, by which one that came before is known; null once they are given back.
    table.text('refresh_family').unique();
    // That of the newest of them, which is the only one that is accepted.
    table.text('refresh_hash');
    // Refreshes within an hour, and when that hour began.
    table.integer('refreshes').notNullable().defaultTo(0);
    time(table, 'refreshes_since');
    time(table, 'created_at').notNullable();
    // To the minute.
    time(table, 'last_used_at');
    time(table, 'revoked_at');
    table.text('revoked_reason');
    // GET /oauth/grants, newest first.
    table.index(['team_id', 'id'], 'oauth_grants_of_team');
    // What ends with a person, and with a client.
    table.index(['user_id'], 'oauth_grants_of_user');
    table.index(['client_id'], 'oauth_grants_of_client');
    // The daily removal.
    table.index(['revoked_at'], 'oauth_grants_by_end');
    table.index(['created_at'], 'oauth_grants_by_age');
  });
  await knex.schema.createTable('oauth_tokens', (table) => {
    table.text('token_hash').primary();
    id(table, 'grant_id').notNullable().references('oauth_grants.id').onDelete('CASCADE');
    // 'access' or 'refresh'.
    table.text('kind').notNullable();
    table.text('scopes').notNullable();
    table.text('resource').notNullable();
    time(table, 'expires_at').notNullable();
    // All tokens of a grant.
    table.index(['grant_id'], 'oauth_tokens_of_grant');
    // The hourly removal.
    table.index(['expires_at'], 'oauth_tokens_by_expiry');
  });
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.dropTable('oauth_tokens');
  await knex.schema.dropTable('oauth_grants');
}
