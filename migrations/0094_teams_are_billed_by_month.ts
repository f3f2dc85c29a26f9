import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { id, time } = columnsFor(knex);
  // Which plan a team has had since when; days of a month are charged by it.
  await knex.schema.createTable('team_plans', (table) => {
    id(table, 'id').primary();
    id(table, 'team_id').notNullable().references('teams.id');
    table.text('plan_code').notNullable();
    time(table, 'since').notNullable();
    table.index(['team_id', 'id']);
  });
  // As far as is known: nothing before the first row of plan_terms is charged.
  await knex.raw(
    'insert into team_plans (id, team_id, plan_code, since) select id, id, plan_code, created_at from teams',
  );
  // What a plan of the configuration was since when, a JSON object; the last one of a code serves its teams when the plan is gone.
  await knex.schema.createTable('plan_terms', (table) => {
    id(table, 'id').primary();
    table.text('plan_code').notNullable();
    table.text('terms').notNullable();
    time(table, 'since').notNullable();
    table.index(['plan_code', 'id']);
  });
  // Months that are closed for all teams, as 2026-11.
  await knex.schema.createTable('billing_months', (table) => {
    table.text('month').primary();
    time(table, 'closed_at').notNullable();
  });
  // ... and for one team, with an invoice or without.
  await knex.schema.createTable('billing_team_months', (table) => {
    id(table, 'team_id').notNullable().references('teams.id');
    table.text('month').notNullable();
    time(table, 'closed_at').notNullable();
    table.primary(['team_id', 'month']);
  });
  await knex.schema.createTable('invoice_series', (table) => {
    table.text('series').primary();
    table.bigInteger('last_number').notNullable();
  });
  // Kept for ever: books are.
  await knex.schema.createTable('invoices', (table) => {
    id(table, 'id').primary();
    id(table, 'team_id').notNullable().references('teams.id');
    table.text('number').notNullable().unique();
    table.text('month').notNullable();
    // All of it, as it was issued: a JSON object.
    table.text('content').notNullable();
    time(table, 'issued_at').notNullable();
    table.unique(['team_id', 'month']);
    // GET /billing/invoices.
    table.index(['team_id', 'id']);
  });
  // What a payment provider said last of a team's subscription.
  await knex.schema.createTable('team_subscriptions', (table) => {
    id(table, 'team_id').primary().references('teams.id');
    // Null until the provider has answered once.
    table.text('status');
    time(table, 'current_period_start');
    time(table, 'current_period_end');
    // Questions to the provider are counted as they begin; the answer to an older one never replaces that to a newer one.
    table.bigInteger('asked').notNullable();
    table.bigInteger('answered').notNullable();
  });
}

export async function down(knex: Knex): Promise<void> {
  for (const table of [
    'team_subscriptions',
    'invoices',
    'invoice_series',
    'billing_team_months',
    'billing_months',
    'plan_terms',
    'team_plans',
  ])
    await knex.schema.dropTable(table);
}
