import { refuse } from '../../platform/refusal.ts';
import type { Executor } from '../../platform/db/index.ts';
import type { Store } from '../../platform/store.ts';
import { readChangedAt, readSetting, writeSetting } from './instance.store.ts';

export interface SendSwitch {
  isOn: boolean;
  /** The operator's reason for switching it off; null if none was given, and while it is on. */
  reason: string | null;
  /** It was switched off because the installation is a restored copy. */
  isRestored?: boolean;
}

/** The switches of all mail, and of marketing mail alone. */
export type SendSwitchName = 'sending' | 'sending.marketing';
const REASON_CHARS_MAX = 200;

/**
 * Creates a reader of whether this installation sends all mail, or marketing mail. The value is cached until somebody
 * changes the switch.
 */
export function createSendSwitch(
  store: Pick<Store, 'db'>,
  switchName: SendSwitchName = 'sending',
): () => Promise<SendSwitch> {
  const read = store.db.memo(
    ['instance_settings'],
    async (name) => (await readSetting<SendSwitch>(store.db, name)) ?? { isOn: true, reason: null },
  );
  return () => read(switchName);
}

/** Returns when the switch was last changed. */
export const sendSwitchMovedAt = (
  { db }: Pick<Store, 'db'>,
  switchName: SendSwitchName = 'sending',
): Promise<number | null> => readChangedAt(db, switchName);

export async function setSending(
  store: Store,
  wanted: { isOn: boolean; reason?: string | undefined },
  switchName: SendSwitchName = 'sending',
): Promise<void> {
  const reason = wanted.reason?.trim() ?? '';
  if (/[\p{Cc}\p{Zl}\p{Zp}]/u.test(reason) || reason.length > REASON_CHARS_MAX) {
    throw refuse('validation_error', {
      status: 422,
      say: `A reason must be one line of at most ${REASON_CHARS_MAX} characters; got ${reason.length}.`,
    });
  }
  const value: SendSwitch = { isOn: wanted.isOn, reason: wanted.isOn || reason === '' ? null : reason };
  // Switching a restored copy off again is no confirmation.
  if (!wanted.isOn && (await readSetting<SendSwitch>(store.db, switchName))?.isRestored) value.isRestored = true;
  await writeSetting(store.db, switchName, value, store.clock.now());
}

/** Switches sending off until somebody confirms that the original of this copy sends no more. */
export async function switchOffRestored(
  tx: Executor,
  { madeAt, at }: { madeAt: string | undefined; at: number },
): Promise<void> {
  const before = await readSetting<SendSwitch>(tx, 'sending');
  const was =
    before?.isOn === false && !before.isRestored && before.reason !== null ? `; before: ${before.reason}` : '';
  const from = madeAt === undefined ? 'restored copy' : `restored from a backup of ${madeAt}`;
  const reason = `${from}, not confirmed${was}`.slice(0, REASON_CHARS_MAX);
  await writeSetting(tx, 'sending', { isOn: false, reason, isRestored: true } satisfies SendSwitch, at);
}
