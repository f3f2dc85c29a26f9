import { refuse } from '../../platform/refusal/index.ts';
import type { HmacSha256 } from '../../protocol/hmac/index.ts';
import { newWebhookSecret, webhookKey, webhookSecretBytes } from '../../protocol/webhook-signature/index.ts';
import type { Ctx } from '../../resources/access/index.ts';
import { NO_EVENT, type StreamPosition } from './listen-frames.ts';
import {
  countOpen,
  findListener,
  handOver,
  holdListenersOf,
  insertListener,
  listIdle,
  olderTransactionsOver,
  removeListeners,
} from './listen.store.ts';
import { stopwatch } from '../../platform/clock/index.ts';

/** Every one costs a connection, and a row for each event of the team. */
export const STREAMS_PER_TEAM_MAX = 10;
/** Whose process died without a word stops counting after this: three signs of life were missed. */
export const SILENCE_MS_MAX = 45_000;
/** Transactions that began before the listener stood are waited for, but not one that never ends. */
const OLDER_MS_MAX = 5000;
const PURPOSE = 'webhook listener secret';

export interface ListenInput {
  events: readonly string[];
  /** Where an earlier stream of this listener broke off. */
  position?: StreamPosition | undefined;
}

/** A listener in the hands of one stream. */
export interface OpenListener {
  id: string;
  holder: string;
  events: readonly string[];
  key: HmacSha256;
  /** Null where it was shown before. */
  secret: string | null;
  position: StreamPosition;
  resumed: boolean;
}

/**
 * Takes a listener up again where its reader left it, or makes a new one. From here on every event of the team that is
 * recorded waits for it, in the transaction that records it.
 */
export async function openListener(ctx: Ctx, input: ListenInput): Promise<OpenListener> {
  const { world, teamId } = ctx;
  const at = world.clock.now();
  const holder = world.ids.uuid();
  const events = JSON.stringify(input.events);
  const opened = await world.db.tx(async (tx): Promise<OpenListener> => {
    await holdListenersOf(tx, teamId);
    const position = input.position;
    const found = position && (await findListener(tx, teamId, position.listenerId));
    const open = await countOpen(tx, teamId, at - SILENCE_MS_MAX, found?.id ?? '');
    if (open >= STREAMS_PER_TEAM_MAX) throw tooMany();
    if (found) {
      await handOver(tx, found.id, position, { events, holder, at });
      const key = webhookKey(world.secrets.open(found.secret_sealed, PURPOSE));
      return { id: found.id, holder, events: input.events, key, secret: null, position, resumed: true };
    }
    await removeListeners(tx, (await listIdle(tx, teamId)).slice(STREAMS_PER_TEAM_MAX));
    const id = world.ids.prefixed('lsn_');
    const secret = newWebhookSecret(Buffer.from(world.ids.hex(webhookSecretBytes), 'hex'));
    const row = { id, team_id: teamId, events, secret_sealed: world.secrets.seal(secret, PURPOSE), last_batch: 0 };
    await insertListener(tx, row, holder, at);
    const start = { listenerId: id, batch: 0, eventId: NO_EVENT };
    return { id, holder, events: input.events, key: webhookKey(secret), secret, position: start, resumed: false };
  });
  const elapsedMs = stopwatch();
  await olderTransactionsOver(world.db, () => elapsedMs() > OLDER_MS_MAX);
  return opened;
}

const tooMany = () =>
  refuse('validation_error', {
    status: 422,
    say: `A team may have ${STREAMS_PER_TEAM_MAX} listeners open at once; end one of them first.`,
  });
