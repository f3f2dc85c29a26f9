import { notFound } from '../../platform/refusal/index.ts';
import type { Store } from '../../platform/store/index.ts';
import { emailRowsByIds, emailSizes, presentEnvelope, storyOf } from '../emails/index.ts';
import { slugsOf } from '../../tenancy/teams/index.ts';
import { pendingDeliveries, queuedRows } from '../queue/index.ts';
import { shownSubject } from './shown-subject.ts';

/** An email of any team on its way, in the queue or past it; it may be named by one of its deliveries. */
export async function readQueuedEmail(store: Store, emailOrDelivery: string) {
  const { db } = store;
  const id = emailOrDelivery.toLowerCase();
  const [delivery] = await queuedRows(db, [id]);
  const [email] = await emailRowsByIds(db, [delivery?.email_id ?? id]);
  if (!email) throw notFound('Email');
  const [slugs, sizes] = await Promise.all([slugsOf(db, [email.team_id]), emailSizes(store, [email.id])]);
  return {
    object: 'queued_email' as const,
    id: email.id,
    team_id: email.team_id,
    team: slugs.get(email.team_id) ?? '',
    request_id: email.request_id,
    ...presentEnvelope(email),
    ...shownSubject(store, email.subject),
    size: sizes.get(email.id) ?? 0,
    ...(await storyOf(db, email.id)),
    pending: await pendingDeliveries(store, email.id),
  };
}
