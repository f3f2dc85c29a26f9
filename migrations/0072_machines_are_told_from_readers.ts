import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

/** What machines opened and clicked is counted beside what people did. */
const COUNTS = {
  metric_counts: ['machine_opened', 'machine_clicked'],
  broadcast_recipients: ['machine_opened', 'machine_clicked'],
  broadcast_links: ['machine_clicks'],
};

export async function up(knex: Knex): Promise<void> {
  for (const [name, columns] of Object.entries(COUNTS)) {
    await knex.schema.alterTable(name, (table) => {
      for (const column of columns) table.integer(column).notNullable().defaultTo(0);
    });
  }
  // Clicks that wait for what else is clicked in the same email: a person follows one link after the other.
  const { id, time } = columnsFor(knex);
  await knex.schema.createTable('tracked_clicks', (table) => {
    // Of the event that it becomes.
    id(table, 'id').primary();
    id(table, 'email_id').notNullable();
    time(table, 'clicked_at').notNullable();
    table.text('link').notNullable();
    table.text('ip_address').notNullable();
    table.text('user_agent').notNullable();
    // The ones that have waited longest.
    table.index(['clicked_at', 'id']);
    // What else waits of the same email.
    table.index(['email_id']);
  });
}

export async function down(knex: Knex): Promise<void> {
  await knex.schema.dropTable('tracked_clicks');
  for (const [name, columns] of Object.entries(COUNTS)) {
    await knex.schema.alterTable(name, (table) => void table.dropColumns(...columns));
  }
}
