import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { id, time } = columnsFor(knex);
  await knex.schema.createTable('custom_events', (table) => {
    id(table, 'id').primary();
    id(table, 'team_id').notNullable().references('teams.id');
    table.text('name').notNullable();
    // JSON, key to type; null where a payload may hold anything.
    table.text('payload_schema');
    time(table, 'created_at').notNullable();
    time(table, 'updated_at').notNullable();
    time(table, 'deleted_at');
    // GET /events.
    table.index(['team_id', 'id']);
  });
  // POST /events/send; and no two live events of a team have one name.
  await knex.raw('create unique index custom_events_name on custom_events (team_id, name) where deleted_at is null');
  await knex.schema.createTable('automations', (table) => {
    id(table, 'id').primary();
    id(table, 'team_id').notNullable().references('teams.id');
    table.text('name').notNullable();
    table.text('status').notNullable();
    // The active version, and what starts it: an event of the team's own as it was when the version was written, or a type of
    // event of the platform. An event that is deleted and declared anew is another one.
    table.integer('version').notNullable();
    id(table, 'trigger_event_id');
    table.text('trigger_type');
    time(table, 'created_at').notNullable();
    time(table, 'updated_at').notNullable();
    time(table, 'deleted_at');
    // GET /automations, with and without `status`.
    table.index(['team_id', 'id']);
    table.index(['team_id', 'status', 'id']);
  });
  // Which automations an event starts.
  const enabled = "status = 'enabled' and deleted_at is null";
  await knex.raw(
    `create index automations_event on automations (trigger_event_id) where trigger_event_id is not null and ${enabled}`,
  );
  await knex.raw(
    `create index automations_type on automations (team_id, trigger_type) where trigger_type is not null and ${enabled}`,
  );
  // Never written again.
  await knex.schema.createTable('automation_versions', (table) => {
    id(table, 'automation_id').notNullable();
    table.integer('version').notNullable();
    // JSON: steps and connections.
    table.text('graph').notNullable();
    time(table, 'created_at').notNullable();
    table.primary(['automation_id', 'version']);
  });
  await createRuns(knex);
}

async function createRuns(knex: Knex): Promise<void> {
  const { id, time } = columnsFor(knex);
  await knex.schema.createTable('automation_runs', (table) => {
    id(table, 'id').primary();
    id(table, 'team_id').notNullable();
    id(table, 'automation_id').notNullable();
    table.integer('version').notNullable();
    id(table, 'contact_id').notNullable();
    // JSON: what the event that started it said.
    table.text('payload');
    table.text('status').notNullable();
    // Where it stands: the step that is carried out next, and from when on. Null for the first.
    table.text('step_key');
    time(table, 'due_at').notNullable();
    time(table, 'created_at').notNullable();
    time(table, 'started_at');
    time(table, 'completed_at');
    // Why it failed.
    table.text('error');
    table.text('lease_owner');
    time(table, 'lease_until');
    // GET /automations/{automation_id}/runs, with and without `status`.
    table.index(['automation_id', 'id']);
    table.index(['automation_id', 'status', 'id']);
    // The runs of a contact that is erased.
    table.index(['contact_id']);
  });
  // What is to be carried out, the longest due first.
  await knex.raw("create index automation_runs_due on automation_runs (due_at) where status = 'running'");
  // What a process that is gone had leased.
  await knex.raw('create index automation_runs_leased on automation_runs (lease_owner) where lease_owner is not null');
  // What was done. A step that a run has not come to has no row.
  await knex.schema.createTable('automation_run_steps', (table) => {
    id(table, 'run_id').notNullable();
    table.text('step_key').notNullable();
    table.text('status').notNullable();
    // JSON.
    table.text('output');
    table.text('error');
    time(table, 'started_at').notNullable();
    time(table, 'completed_at');
    table.primary(['run_id', 'step_key']);
  });
}

export async function down(knex: Knex): Promise<void> {
  const tables = ['automation_run_steps', 'automation_runs', 'automation_versions', 'automations', 'custom_events'];
  for (const table of tables) await knex.schema.dropTable(table);
}
