import { systemClock } from '../../../platform/clock/index.ts';
import type { World } from '../../../platform/world/index.ts';
import type { MessageReading } from '../../../protocol/read-message/index.ts';
import type { DroppedReason, NewReceivedEmail } from '../../../resources/received-emails/index.ts';
import { planOf, storageOf } from '../../../resources/usage/index.ts';
import type { InboundMessage } from './inbound-message.ts';
import { createMessageReaders } from './message-readers.ts';
import { droppedRows, receivedRows, type ReceivedRows } from './received-rows.ts';
import { createWriteReceived } from './write-received.ts';

/** Its id for one team. */
export interface Received {
  teamId: string;
  id: string;
}

export interface StoreMessage {
  /** Within bounds of time and memory, whatever it is; in turns of the parties that bring messages. */
  read(party: string, raw: Buffer): Promise<MessageReading>;
  /** Resolves when the message is stored for each of its teams, and synced. */
  store(message: InboundMessage, reading: MessageReading): Promise<Received[]>;
  close(): Promise<void>;
}

/** Real messages have a few dozen parts and a few kilobytes of headers. */
const LIMITS = { depthMax: 64, headerBytesMax: 512 * 1024, partsMax: 1000 };

export function createStoreMessage(world: World): StoreMessage {
  const readMs = world.config.receiving.read_seconds * 1000;
  const { read, close } = createMessageReaders({ clock: systemClock, readMs, limits: LIMITS });
  const write = createWriteReceived(world);

  async function store(message: InboundMessage, reading: MessageReading): Promise<Received[]> {
    if (!reading.isRead) world.log.info({ because: reading.because }, 'a received message could not be read');
    const teams = [...message.teams].map(([teamId, receivedFor]) =>
      receivedRows(world, message, { teamId, receivedFor, reading }),
    );
    const fitting: ReceivedRows[] = [];
    for (const team of teams) {
      if (message.withoutContent?.has(team.rows.email.team_id)) fitting.push(withoutFiles(team, 'inbound_rule'));
      else fitting.push((await mayFit(team.rows)) ? team : withoutFiles(team, 'storage_quota'));
    }
    for (const { files } of fitting) if (files.length > 0) await world.blobs.putAll(files);
    // A commit whose answer is lost may stand, so that a failure takes no file away: the sweep does if nobody needs it.
    const written = await write(fitting.map(({ rows }) => rows));
    for (const [i, { rows, files }] of fitting.entries()) {
      if (files.length > 0 && written[i]?.isKept !== true) await world.blobs.remove(rows.email.id);
    }
    return written.map(({ id }, i) => ({ teamId: fitting[i]?.rows.email.team_id ?? '', id }));
  }

  /** Spares the disk what the commit would drop. */
  async function mayFit({ email }: NewReceivedEmail): Promise<boolean> {
    const plan = await planOf(world, world.db, email.team_id);
    return (await storageOf(world.db, email.team_id)) + email.stored_bytes <= plan.received_storage_mb * 1024 * 1024;
  }

  const withoutFiles = ({ rows }: ReceivedRows, reason: DroppedReason): ReceivedRows => ({
    rows: droppedRows(rows, rows.email.dropped_reason === 'virus' ? 'virus' : reason),
    files: [],
  });

  return { read, store, close };
}
