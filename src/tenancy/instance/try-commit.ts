import type { Store } from '../../platform/store.ts';
import { writeSetting } from './instance.store.ts';

/** Commits a write without meaning, synced like accepted mail, because only a commit shows whether commits succeed. */
export const tryCommit = ({ db, clock }: Pick<Store, 'db' | 'clock'>): Promise<void> =>
  writeSetting(db, 'last_tried_commit', null, clock.now());
