import type { Knex } from 'knex';

/** As 0064 does for contacts. */
export async function up(knex: Knex): Promise<void> {
  const isPg = knex.client.config.client === 'pg';
  // GET /suppressions with `search`; SQLite has the unique index of a team's addresses.
  if (isPg)
    await knex.raw('create index suppressions_email_start on suppressions (team_id, email_key collate "C", id)');
  // GET /logs with `search`.
  const byPoints = isPg ? ' collate "C"' : '';
  await knex.raw(`create index request_logs_endpoint_start on request_logs (team_id, endpoint${byPoints}, id)`);
}

export async function down(knex: Knex): Promise<void> {
  const isPg = knex.client.config.client === 'pg';
  await knex.raw('drop index request_logs_endpoint_start');
  if (isPg) await knex.raw('drop index suppressions_email_start');
}
