import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { id } = columnsFor(knex);
  await knex.schema.createTable('audit_log', (table) => {
    // Its time is in it.
    id(table, 'id').primary();
    // Whose it is; null for what concerns the whole installation.
    id(table, 'team_id');
    table.text('action').notNullable();
    table.text('subject_id');
    // 'api_key', 'operator', or 'command' for what was typed on the machine itself.
    table.text('actor_kind').notNullable();
    table.text('actor_id');
    table.text('actor_name');
    table.text('address');
    table.text('user_agent');
    table.text('request_id');
    // JSON, without secrets.
    table.text('details');
  });
  // GET /audit; GET /operator/audit and the removal of what is old go by the key.
  await knex.raw('create index audit_log_by_team on audit_log (team_id, id) where team_id is not null');
  // Nothing is ever written over. What is removed is removed by its age.
  if (knex.client.config.client === 'pg') {
    await knex.raw(`create function audit_log_is_append_only() returns trigger language plpgsql as
      $$ begin raise exception 'audit_log is append-only'; end $$`);
    await knex.raw(`create trigger audit_log_append_only before update on audit_log
      for each statement execute function audit_log_is_append_only()`);
  } else {
    await knex.raw(`create trigger audit_log_append_only before update on audit_log
      begin select raise(abort, 'audit_log is append-only'); end`);
  }
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.dropTable('audit_log');
  if (knex.client.config.client === 'pg') await knex.raw('drop function audit_log_is_append_only()');
}
