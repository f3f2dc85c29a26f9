import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { id, time } = columnsFor(knex);
  await knex.schema.createTable('users', (table) => {
    id(table, 'id').primary();
    table.text('email').notNullable();
    // The address as it is compared: two spellings that a reader takes for one address are one user.
    table.text('email_key').notNullable().unique();
    table.text('name');
    // Null for a person who has never chosen a password.
    table.text('password_hash');
    time(table, 'email_verified_at');
    // Null while signing in asks for no second factor.
    time(table, 'mfa_enabled_at');
    time(table, 'created_at').notNullable();
  });
  await knex.schema.createTable('team_members', (table) => {
    id(table, 'id').primary();
    id(table, 'team_id').notNullable().references('teams.id');
    id(table, 'user_id').notNullable().references('users.id');
    // 'viewer', 'member', 'admin' or 'owner'.
    table.text('role').notNullable();
    // Signs in with a password although the team demands single sign-on.
    table.integer('sso_exempt').notNullable().defaultTo(0);
    time(table, 'created_at').notNullable();
    table.unique(['team_id', 'user_id']);
    // The teams of a person.
    table.index(['user_id', 'id'], 'team_members_of_user');
    // GET /team/members, newest first.
    table.index(['team_id', 'id'], 'team_members_of_team');
  });
  await knex.schema.createTable('sessions', (table) => {
    id(table, 'id').primary();
    table.text('token_hash').notNullable().unique();
    id(table, 'user_id').notNullable().references('users.id');
    // Null while the person has no team.
    id(table, 'current_team_id').references('teams.id');
    time(table, 'created_at').notNullable();
    time(table, 'last_used_at').notNullable();
    time(table, 'expires_at').notNullable();
    table.text('address');
    table.text('user_agent');
    // Signing out everywhere, and what ends with a role.
    table.index(['user_id', 'id'], 'sessions_of_user');
    // The hourly removal of what has expired.
    table.index(['expires_at'], 'sessions_by_expiry');
  });
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.dropTable('sessions');
  await knex.schema.dropTable('team_members');
  await knex.schema.dropTable('users');
}
