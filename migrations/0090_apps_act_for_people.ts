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
    // Separated by spaces.
    table.text('scopes').notNullable();
    // 'api', which is everything, or 'mcp'.
    table.text('resource').notNullable();
    // Of the code that it came from, so that the code is known when it comes again.
    table.text('code_hash').notNullable().unique();
    time(table, 'created_at').notNullable();
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
    // When a refresh token was exchanged: it is kept, so that it is known when it comes again.
    time(table, 'used_at');
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
