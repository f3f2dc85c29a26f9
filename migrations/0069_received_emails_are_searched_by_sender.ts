import { domainToASCII } from 'node:url';
import type { Knex } from 'knex';

const BATCH = 1000;

/** GET /emails/receiving with `search`. Emails that stand already are given what they are searched by. */
export async function up(knex: Knex): Promise<void> {
  const isPg = knex.client.config.client === 'pg';
  await knex.schema.alterTable('received_emails', (table) => {
    // The address of From, or the envelope's sender, in the form in which addresses are compared; null where there is none.
    table.text('sender_key');
  });
  for (let rows = await oldest(knex, undefined); rows.length > 0; rows = await oldest(knex, rows.at(-1)?.id)) {
    const keys = JSON.stringify(rows.map(({ id, sender, mail_from }) => [id, keyOf(sender, mail_from)]));
    await knex.raw(
      isPg
        ? `update received_emails r set sender_key = k.pair->>1 from jsonb_array_elements(?::jsonb) as k(pair)
           where r.id = (k.pair->>0)::uuid`
        : `update received_emails set sender_key = json_extract(k.value, '$[1]') from json_each(?) as k
           where received_emails.id = json_extract(k.value, '$[0]')`,
      [keys],
    );
  }
  await knex.raw(`create index received_emails_sender_start on received_emails
    (team_id, sender_key${isPg ? ' collate "C"' : ''}, id) where sender_key is not null`);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw('drop index received_emails_sender_start');
  await knex.schema.alterTable('received_emails', (table) => table.dropColumn('sender_key'));
}

interface Sent {
  id: string;
  sender: string;
  mail_from: string;
}

async function oldest(knex: Knex, behind: string | undefined): Promise<Sent[]> {
  const rows = knex<Sent>('received_emails').select('id', 'sender', 'mail_from').orderBy('id').limit(BATCH);
  return behind === undefined ? rows : rows.where('id', '>', behind);
}

function keyOf(sender: string, mailFrom: string): string | null {
  const named = /^(?:"(?:[^"\\]|\\.)*"|[^"<]*) <(.+)>$/.exec(sender)?.[1];
  const written = named ?? (/@[^"@\s]+$/.test(sender) ? sender : mailFrom);
  if (written === '') return null;
  const at = written.lastIndexOf('@');
  const folded = written.normalize('NFC').toLowerCase();
  const domain = written.slice(at + 1);
  const key =
    at <= 0 || domain === ''
      ? folded
      : `${written.slice(0, at).normalize('NFC').toLowerCase()}@${domainToASCII(domain) || domain.toLowerCase()}`;
  const kept = key.slice(0, 400);
  return kept.isWellFormed() ? kept : kept.slice(0, -1);
}
