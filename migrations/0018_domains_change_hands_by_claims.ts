import type { Knex } from 'knex';
import { columnsFor } from './columns.ts';

export async function up(knex: Knex): Promise<void> {
  const { id, time } = columnsFor(knex);
  await knex.schema.createTable('domain_claims', (table) => {
    id(table, 'id').primary();
    id(table, 'team_id').notNullable();
    // The claimant's own copy of the domain; the claim outlives it.
    id(table, 'domain_id').notNullable();
    table.text('name').notNullable();
    // What the TXT record has to say.
    table.text('proof').notNullable();
    table.text('status').notNullable();
    table.text('record_status').notNullable();
    table.text('diagnosis');
    table.text('blocked_reason');
    table.text('failure_reason');
    time(table, 'created_at').notNullable();
    time(table, 'expires_at').notNullable();
    // When DNS was last asked; 0 before that.
    time(table, 'checked_at').notNullable();
    time(table, 'concluded_at');
    // GET /domains/{domain_id}/claim: the latest.
    table.index(['domain_id', 'id']);
  });
  // A domain has one open claim; the database decides between two that are made at the same time.
  await knex.raw(`create unique index domain_claims_open_once on domain_claims (domain_id) where status = 'pending'`);
  // The hourly check, those not looked at for longest first.
  await knex.raw(`create index domain_claims_to_check on domain_claims (checked_at, id) where status = 'pending'`);
  // All who claim one name, whom a takeover holds and settles.
  await knex.raw(`create index domain_claims_of_name on domain_claims (name, id) where status = 'pending'`);
  // Whether a copy of a name has lost it to another team.
  await knex.raw(`create index domain_claims_completed on domain_claims (name) where status = 'completed'`);
  // Whether a domain has scheduled mail; other mail never enters this index.
  await knex.raw(`create index emails_scheduled_by_domain on emails (domain_id) where last_event = 'scheduled'`);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('drop index emails_scheduled_by_domain');
  await knex.schema.dropTable('domain_claims');
}
