import type { World } from '../../../platform/world/index.ts';
import type { DeliveryJob } from '../deliver/index.ts';
import { insertCaptured, MESSAGE_BLOB, subjectOf } from './captured-messages.store.ts';

export async function captureMessage(world: World, job: DeliveryJob, message: Buffer): Promise<void> {
  const id = world.ids.uuid();
  await world.blobs.put(MESSAGE_BLOB(id), message);
  await insertCaptured(world.db, {
    id,
    email_id: job.emailId,
    team_id: job.teamId,
    mail_from: job.mailFrom,
    recipients: JSON.stringify(job.recipients),
    subject: await subjectOf(world.db, job.emailId),
    size: message.length,
    created_at: world.clock.now(),
  });
}
