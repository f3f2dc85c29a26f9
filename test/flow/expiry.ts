import type { Removed } from '../../src/features/installation/upkeep/remove-expired.ts';
import { recordEvents } from '../../src/mail/events/index.ts';
import { insertEmails } from '../../src/mail/emails/index.ts';
import type { Scene } from '../rig/scene.ts';
import { HOUR } from './mail.ts';

const UNSHARED = { shared_body_id: null, merge_values: null };

export const DAY = 24 * HOUR;

/** Runs the job once, as the minute would. */
export async function removeExpired(scene: Scene): Promise<Removed> {
  return (await scene.app.jobs.find((job) => job.name === 'remove-expired')?.run()) as Removed;
}

/** Writes `count` emails of a team with a body and two events each, as if they had been sent at `at`. */
export async function writeSent(
  scene: Scene,
  teamId: string,
  count: number,
  { bodyChars = 10, scheduledAt = null as number | null, state = 'delivered' as 'delivered' | 'scheduled' } = {},
): Promise<string[]> {
  const { db, ids, clock } = scene.app.world;
  const at = clock.now();
  const made = Array.from({ length: count }, () => ids.uuid());
  for (let from = 0; from < count; from += 1000) {
    const part = made.slice(from, from + 1000);
    await db.tx(async (tx) => {
      await insertEmails(
        tx,
        part.map((id) => ({ email: row(id), body: buildBody(id), attachments: [], contents: [] })),
      );
      await recordEvents(
        tx,
        ids,
        part.flatMap((subjectId) =>
          (['email.sent', 'email.delivered'] as const).map((type) => ({ teamId, type, subjectId, at })),
        ) as Parameters<typeof recordEvents>[2],
      );
    });
  }
  return made;

  function row(id: string) {
    const nothing = { cc_list: null, bcc_list: null, reply_to_list: null, tags: null, headers: null };
    return {
      ...nothing,
      id,
      team_id: teamId,
      api_key_id: null,
      domain_id: id,
      sender: 'a@example.com',
      to_list: '["b@example.org"]',
      subject: 'Hello',
      message_id: `<${id}@example.com>`,
      topic_id: null,
      template_id: null,
      attachment_count: 0,
      has_message: 0,
      last_event: state,
      created_at: at,
      scheduled_at: scheduledAt,
      search_text: 'hello',
      mail_from: null,
      asked: null,
      broadcast_id: null,
      automation_id: null,
      run_depth: null,
      contact_id: null,
      is_marketing: 0,
      is_bulk: 0,
      first_attempt_at: null,
      is_account_mail: 0,
      request_id: null,
    };
  }
  function buildBody(id: string) {
    return { email_id: id, html: null, text: 'x'.repeat(bodyChars), html_in_blob: 0, text_in_blob: 0, ...UNSHARED };
  }
}

/** Counts the rows of each table about these emails. */
export async function traces(scene: Scene, emailIds: readonly string[]): Promise<Record<string, number>> {
  const columns = {
    emails: 'id',
    email_bodies: 'email_id',
    email_attachments: 'email_id',
    email_tags: 'email_id',
    contents: 'owner_id',
    email_shares: 'email_id',
    events: 'subject_id',
  };
  const found: Record<string, number> = {};
  for (const [table, column] of Object.entries(columns)) {
    const sql = `select ${column} as id from ${table}`;
    const rows = await scene.app.world.db.all<{ id: string }>(sql);
    found[table] = rows.filter((row) => emailIds.includes(row.id)).length;
  }
  return found;
}
