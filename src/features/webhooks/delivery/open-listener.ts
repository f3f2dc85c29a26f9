import type { KeyObject } from 'node:crypto';
import { refuse } from '../../../platform/refusal/index.ts';
import type { SealedColumn } from '../../../platform/secrets/index.ts';
import { newWebhookSecret, webhookKey, webhookSecretBytes } from '../../../protocol/webhook-signature/index.ts';
import { lockTeam, type Ctx } from '../../../tenancy/access/index.ts';
import { NO_EVENT, type StreamPosition } from './listener-frames.ts';
import {
  countOpen,
  findListener,
  resumeListener,
  insertListener,
  listIdle,
  olderTransactionsOver,
  removeListeners,
} from './listeners.store.ts';
import { stopwatch } from '../../../platform/clock/index.ts';

/** Each stream costs a connection, and a row for each event of the team. */
export const STREAMS_PER_TEAM_MAX = 10;
/** A stream whose process died counts no more after this: three signs of life were missed. */
export const SILENCE_MS_MAX = 45_000;
/** Limit for waiting for transactions that began before the listener existed: one might never end. */
const OLDER_MS_MAX = 5000;
const PURPOSE = 'webhook listener secret';

export const SEALED_LISTENER_SECRETS: SealedColumn = {
  table: 'webhook_listeners',
  column: 'secret_sealed',
  purpose: PURPOSE,
};

export interface ListenInput {
  events: readonly string[];
  /** Where an earlier stream of this listener broke off. */
  position?: StreamPosition | undefined;
}

/** A listener that one stream holds. */
export interface OpenListener {
  id: string;
  holder: string;
  events: readonly string[];
  key: KeyObject;
  /** Null if it was shown before. */
  secret: string | null;
  position: StreamPosition;
  resumed: boolean;
}

/**
 * Resumes a listener where its client left it, or makes a new one. From then on each event of the team is recorded for
 * it, in the event's own transaction.
 */
export async function openListener(ctx: Ctx, input: ListenInput): Promise<OpenListener> {
  const { store, teamId } = ctx;
  const at = store.clock.now();
  const holder = store.ids.uuid();
  const events = JSON.stringify(input.events);
  const opened = await store.db.tx(async (tx): Promise<OpenListener> => {
    await lockTeam(tx, teamId);
    const position = input.position;
    const found = position && (await findListener(tx, teamId, position.listenerId));
    const open = await countOpen(tx, teamId, at - SILENCE_MS_MAX, found?.id ?? '');
    if (open >= STREAMS_PER_TEAM_MAX) throw tooMany();
    if (found) {
      await resumeListener(tx, found.id, position, { events, holder, at });
      const key = webhookKey(store.secrets.open(found.secret_sealed, PURPOSE, found.id));
      return { id: found.id, holder, events: input.events, key, secret: null, position, resumed: true };
    }
    await removeListeners(tx, (await listIdle(tx, teamId)).slice(STREAMS_PER_TEAM_MAX));
    const id = store.ids.prefixed('lsn_');
    const secret = newWebhookSecret(Buffer.from(store.ids.hex(webhookSecretBytes), 'hex'));
    const sealed = store.secrets.seal(secret, PURPOSE, id);
    const row = { id, team_id: teamId, events, secret_sealed: sealed, last_batch: 0 };
    await insertListener(tx, row, holder, at);
    const start = { listenerId: id, batch: 0, eventId: NO_EVENT };
    return { id, holder, events: input.events, key: webhookKey(secret), secret, position: start, resumed: false };
  });
  const elapsedMs = stopwatch();
  await olderTransactionsOver(store.db, () => elapsedMs() > OLDER_MS_MAX);
  return opened;
}

const tooMany = () =>
  refuse('validation_error', {
    status: 422,
    say: `A team may have ${STREAMS_PER_TEAM_MAX} listeners open at once; end one of them first.`,
  });
