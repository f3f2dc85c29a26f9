import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { id, time } = columnsFor(knex);
  await knex.schema.createTable('approvals', (table) => {
    id(table, 'id').primary();
    id(table, 'team_id').notNullable().references('teams.id');
    id(table, 'grant_id').notNullable();
    table.text('client_name').notNullable();
    table.text('operation_id').notNullable();
    // The call, a JSON object, and its hash by which the same call is known.
    table.text('call').notNullable();
    table.text('call_hash').notNullable();
    // Of what the call names and its text does not hold: the broadcast, the templates.
    table.text('seen_hash').notNullable();
    // The ids of that, a JSON array: while the call waits, its app leaves them as they are.
    table.text('subject_ids').notNullable();
    // 'pending', 'running', 'done', 'failed', 'rejected' or 'expired'; a pending one expires by its time too.
    table.text('status').notNullable();
    table.text('decided_by_kind');
    table.text('decided_by_name');
    table.text('reason');
    // JSON.
    table.text('result');
    table.text('error');
    time(table, 'created_at').notNullable();
    time(table, 'expires_at').notNullable();
    time(table, 'decided_at');
    // GET /approvals, newest first, of all, of a status and of an app.
    table.index(['team_id', 'id'], 'approvals_of_team');
    table.index(['team_id', 'status', 'id'], 'approvals_of_team_by_status');
    table.index(['grant_id', 'id'], 'approvals_of_grant');
    // What an app has asked for already.
    table.index(['grant_id', 'call_hash', 'id'], 'approvals_by_call');
    // The daily removal.
    table.index(['created_at'], 'approvals_by_age');
  });
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.dropTable('approvals');
}
