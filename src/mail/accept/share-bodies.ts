import type { World } from '../../platform/world/index.ts';
import type { Ctx } from '../../tenancy/access/index.ts';
import type { SharedBody } from '../emails/index.ts';
import type { SharedBodyRow } from '../shared-bodies/index.ts';
import { findVersionContent } from '../../features/templates/templates/index.ts';
import type { Prepared } from './prepare.ts';
import type { AcceptedRows } from './rows.ts';

/** A body that emails of one request share, before the ids of the emails are known. */
export type NewSharedBody = Omit<SharedBodyRow, 'first_email_id' | 'last_email_id'>;

/** Shared bodies are rows of one commit, during which the one thread does nothing else. */
const SHARED_BYTES_MAX = 4 * 1024 * 1024;

/**
 * Makes the emails of one request that name the same large template share its body; each stores only its own values. An
 * email keeps its own body if no other names its template, if its values are too large for a row, and if the commit would
 * write too many bytes. Returns all emails in their order, and the bodies to write with them.
 */
export async function shareBodies(
  world: World,
  { teamId }: Ctx,
  prepared: readonly Prepared[],
): Promise<{ prepared: Prepared[]; bodies: NewSharedBody[] }> {
  const bodies: NewSharedBody[] = [];
  const shares = new Map<Prepared, SharedBody>();
  let left = SHARED_BYTES_MAX;
  for (const [versionId, emails] of groupByVersion(world, prepared)) {
    if (emails.length < 2) continue;
    const content = await findVersionContent(world.db, versionId);
    // The template may have been deleted since it was rendered.
    if (!content) continue;
    const { html, text } = content;
    const bytes = Buffer.byteLength(html) + Buffer.byteLength(text ?? '');
    if (bytes > left) continue;
    left -= bytes;
    const bodyId = world.ids.uuid();
    bodies.push({ id: bodyId, team_id: teamId, html, text, created_at: world.clock.now() });
    for (const { one, values } of emails) shares.set(one, { bodyId, values });
  }
  return { prepared: prepared.map((one) => ({ ...one, shared: shares.get(one) })), bodies };
}

/** Groups emails with values that fit into a row by the version of their template. */
function groupByVersion(
  { config }: World,
  prepared: readonly Prepared[],
): Map<string, { one: Prepared; values: string }[]> {
  const groups = new Map<string, { one: Prepared; values: string }[]>();
  for (const one of prepared) {
    if (!one.merged) continue;
    const { versionId, values } = one.merged;
    if (Buffer.byteLength(values) > config.storage.inline_bytes) continue;
    const group = groups.get(versionId);
    if (group) group.push({ one, values });
    else groups.set(versionId, [{ one, values }]);
  }
  return groups;
}

/** Completes the rows of shared bodies with the ids of the emails that share them. */
export const sharedBodyRows = (bodies: readonly NewSharedBody[], emails: readonly AcceptedRows[]): SharedBodyRow[] =>
  bodies.map((body) => {
    const ids = emails.filter((rows) => rows.body.shared_body_id === body.id).map(({ email }) => email.id);
    ids.sort();
    const first = ids[0];
    const last = ids.at(-1);
    if (first === undefined || last === undefined) throw new Error(`no email refers to the new shared body ${body.id}`);
    return { ...body, first_email_id: first, last_email_id: last };
  });
