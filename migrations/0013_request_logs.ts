import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { id } = columnsFor(knex);
  // One row for each answered request of a team, written behind the answer. Bodies stand last, so that a list reads past
  // none of them. The id is the request's and carries its time; no foreign keys, for each would be a look-up per row.
  await knex.schema.createTable('request_logs', (table) => {
    id(table, 'team_id').notNullable();
    id(table, 'id').notNullable();
    id(table, 'api_key_id');
    table.text('method').notNullable();
    table.text('endpoint').notNullable();
    table.integer('response_status').notNullable();
    table.text('user_agent');
    table.text('request_body');
    table.text('response_body');
    // GET /logs, GET /logs/{id}, and retention, which goes by team.
    table.primary(['team_id', 'id']);
  });
  // GET /logs with `response_status`, which asks for refusals alone: what went well, nearly all of it, is not in this index.
  await knex.raw(
    `create index request_logs_refusals on request_logs (team_id, response_status, id) where response_status >= 400`,
  );
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.dropTable('request_logs');
}
