import type { Knex } from 'knex';

/**
 * Makes unscheduled mail due whatever the clock says, so that a clock that is set back does not delay it. A delivery
 * that waits for a time (its schedule, its next attempt, the end of a deferral) has `waits` 1, which earlier versions
 * also write.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.schema.alterTable('deliveries', (table) => void table.smallint('waits').notNullable().defaultTo(1));
  await knex.raw(`update deliveries set waits = 0 where attempt = 0 and awaits_domain = 0
    and not exists (select 1 from emails where emails.id = deliveries.email_id and emails.scheduled_at is not null)`);
  await indexDue(knex, 'lane, waits, due_at', 'lane, team_id, waits, due_at, destination');
}

export async function down(knex: Knex): Promise<void> {
  await indexDue(knex, 'lane, due_at', 'lane, team_id, due_at, destination');
  await knex.schema.alterTable('deliveries', (table) => void table.dropColumn('waits'));
}

/** Serves the claims of the queue: the oldest due of a lane, and the oldest due of a lane and a team. */
async function indexDue(knex: Knex, columns: string, columnsByTeam: string): Promise<void> {
  await knex.raw('drop index deliveries_due');
  await knex.raw('drop index deliveries_due_by_team');
  const unclaimed = 'where lease_owner is null and hold_id is null';
  await knex.raw(`create index deliveries_due on deliveries (${columns}) ${unclaimed}`);
  await knex.raw(`create index deliveries_due_by_team on deliveries (${columnsByTeam}) ${unclaimed}`);
}
