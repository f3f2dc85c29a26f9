import type { World } from '../../platform/world/index.ts';
import type { DeliveryJob } from '../deliver/index.ts';
import { announceCaptured } from './capture-waits.ts';
import { insertCaptured, isCaptured, MESSAGE_BLOB, subjectOf, type CapturedRow } from './captured-messages.store.ts';

/** Stores a message once, even if it is delivered again because a crash lost the record of the first delivery. */
export async function captureMessage(world: World, job: DeliveryJob, message: Buffer): Promise<void> {
  if (await isCaptured(world.db, job.id)) return;
  const id = world.ids.uuid();
  await world.blobs.put(MESSAGE_BLOB(id), message);
  const row: CapturedRow = {
    id,
    email_id: job.emailId,
    delivery_id: job.id,
    team_id: job.teamId,
    mail_from: job.mailFrom,
    recipients: JSON.stringify(job.recipients),
    subject: await subjectOf(world.db, job.emailId),
    size: message.length,
    created_at: world.clock.now(),
  };
  if (await insertCaptured(world.db, row)) announceCaptured(world.db, row);
  else await world.blobs.remove(id);
}
