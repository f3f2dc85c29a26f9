import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { id, time } = columnsFor(knex);
  // The last minute's replays of a team, which all nodes count together. There are never more than its limit.
  await knex.schema.createTable('webhook_replays', (table) => {
    id(table, 'team_id').notNullable().references('teams.id');
    id(table, 'id').notNullable();
    time(table, 'made_at').notNullable();
    table.primary(['team_id', 'id']);
  });
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.dropTable('webhook_replays');
}
