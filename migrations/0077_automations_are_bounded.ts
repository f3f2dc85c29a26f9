import type { Knex } from 'knex';

export async function up(knex: Knex): Promise<void> {
  await knex.schema.alterTable('automation_runs', (table) => {
    // How many runs, one started by the effects of the other, led to this one.
    table.integer('depth').notNullable().defaultTo(0);
    // How often the step where it stands failed by an error of the service.
    table.integer('tries').notNullable().defaultTo(0);
    // The runs of a contact that is erased; and how many an automation began for it of late.
    table.dropIndex(['contact_id']);
    table.index(['contact_id', 'automation_id', 'created_at'], 'automation_runs_of_contact');
  });
  // What each team has due, the longest due first.
  await knex.raw(
    "create index automation_runs_team_due on automation_runs (team_id, due_at, id) where status = 'running'",
  );
  // Ended runs, for their removal by age.
  await knex.raw(
    'create index automation_runs_ended on automation_runs (team_id, completed_at) where completed_at is not null',
  );
}

export async function down(knex: Knex): Promise<void> {
  for (const index of ['automation_runs_ended', 'automation_runs_team_due', 'automation_runs_of_contact']) {
    await knex.raw(`drop index ${index}`);
  }
  await knex.schema.alterTable('automation_runs', (table) => {
    table.index(['contact_id']);
    table.dropColumns('depth', 'tries');
  });
}
