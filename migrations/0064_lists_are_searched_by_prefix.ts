import type { Knex } from 'knex';

/** Lists are searched by what a text begins with. PostgreSQL compares as its locale does, unless an index says otherwise. */
export async function up(knex: Knex): Promise<void> {
  const isPg = knex.client.config.client === 'pg';
  const byPoints = isPg ? ' collate "C"' : '';
  // GET /contacts and GET /segments/{id}/contacts with `search`; SQLite has contacts_email for addresses.
  if (isPg) await knex.raw('create index contacts_email_start on contacts (team_id, email_key collate "C", id)');
  for (const name of ['first_name', 'last_name']) {
    await knex.raw(`create index contacts_${name}_start on contacts (team_id, ${name}_key${byPoints}, id)
      where ${name}_key is not null`);
  }
}

export async function down(knex: Knex): Promise<void> {
  const isPg = knex.client.config.client === 'pg';
  for (const name of [...(isPg ? ['email'] : []), 'first_name', 'last_name']) {
    await knex.raw(`drop index contacts_${name}_start`);
  }
}
