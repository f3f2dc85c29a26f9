import type { World } from '../../platform/world/index.ts';
import type { MessageReading } from '../../protocol/read-message/index.ts';
import { contentsPlacer, putFiles } from '../contents/index.ts';
import type { DroppedReason, NewReceivedEmail } from '../received-emails/index.ts';
import { planOf, storageOf } from '../../tenancy/usage/index.ts';
import { forInboxes } from './into-threads.ts';
import { letGoLarge } from './let-go.ts';
import type { InboundMessage } from './inbound-message.ts';
import { droppedRows, receivedRows, type ReceivedRows } from './received-rows.ts';
import { createWriteReceived } from './write-received.ts';

/** The id of a stored message for one of its teams. */
export interface Received {
  teamId: string;
  id: string;
}

/** Resolves when the message is stored for each of its teams, and synced. */
export type StoreMessage = (message: InboundMessage, reading: MessageReading) => Promise<Received[]>;

export function createStoreMessage(world: World): StoreMessage {
  const write = createWriteReceived(world);

  /** Spares the disk what the commit would drop. */
  async function mayFit({ email }: NewReceivedEmail): Promise<boolean> {
    const plan = await planOf(world, world.db, email.team_id);
    return (await storageOf(world.db, email.team_id)) + email.stored_bytes <= plan.received_storage_mb * 1024 * 1024;
  }

  const withoutFiles = ({ rows }: ReceivedRows, reason: DroppedReason): ReceivedRows => ({
    rows: droppedRows(rows, rows.email.dropped_reason === 'virus' ? 'virus' : reason),
    files: [],
  });

  return async (message, reading) => {
    if (!reading.isRead) world.log.info({ because: reading.because }, 'a received message could not be read');
    const placeContents = contentsPlacer(world);
    const teams = [...message.teams].map(([teamId, receivedFor]) =>
      receivedRows(world, message, { teamId, receivedFor, reading, placeContents }),
    );
    const fitting: ReceivedRows[] = [];
    for (const team of teams) {
      if (message.isAccountMail) fitting.push(withoutFiles(team, 'account_mail'));
      else if (message.withoutContent?.has(team.rows.email.team_id)) fitting.push(withoutFiles(team, 'inbound_rule'));
      else fitting.push((await mayFit(team.rows)) ? team : withoutFiles(team, 'storage_quota'));
    }
    for (const { rows, files } of fitting) rows.contents.push(...(await putFiles(world, files)));
    // The source is needed for forwards, by its caller.
    const stored = fitting.flatMap(({ files }) => files.map(({ content }) => content));
    for (const content of stored) if (content !== message.raw) letGoLarge(content);
    // A commit whose answer was lost may stand, so a failure here removes no file: the orphan sweep does, if no row needs it.
    const about = forInboxes(reading, message.mailFrom);
    const written = await write({ teams: fitting.map(({ rows }) => rows), about });
    for (const [i, { rows, files }] of fitting.entries()) {
      if (files.length > 0 && written[i]?.isKept !== true) await world.blobs.remove(rows.email.id);
    }
    return written.map(({ id }, i) => ({ teamId: fitting[i]?.rows.email.team_id ?? '', id }));
  };
}
