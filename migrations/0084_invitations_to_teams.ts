import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { id, time } = columnsFor(knex);
  await knex.schema.createTable('team_invitations', (table) => {
    id(table, 'id').primary();
    id(table, 'team_id').notNullable().references('teams.id');
    table.text('email').notNullable();
    // The address as it is compared, as in users.
    table.text('email_key').notNullable();
    table.text('role').notNullable();
    table.text('token_hash').notNullable().unique();
    // The person who invited.
    id(table, 'invited_by').notNullable();
    time(table, 'created_at').notNullable();
    time(table, 'expires_at').notNullable();
    // Null while the mail is still to be handed over.
    time(table, 'mailed_at');
    // Why there was no mail.
    table.text('fault');
    time(table, 'accepted_at');
    // GET /teams/{team_id}/invitations.
    table.index(['team_id', 'id']);
    // The daily removal of what has ended.
    table.index(['expires_at']);
  });
  // No address has two open invitations to one team.
  await knex.raw(
    'create unique index team_invitations_open on team_invitations (team_id, email_key) where accepted_at is null',
  );
  // The mails that are still to be handed over.
  await knex.raw('create index team_invitations_unmailed on team_invitations (id) where mailed_at is null');
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.dropTable('team_invitations');
}
