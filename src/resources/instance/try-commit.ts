import type { Store } from '../../platform/store/index.ts';
import { writeSetting } from './instance.store.ts';

/** Writes something that means nothing and is synced like accepted mail: whether a commit succeeds is not known otherwise. */
export const tryCommit = ({ db, clock }: Pick<Store, 'db' | 'clock'>): Promise<void> =>
  writeSetting(db, 'last_tried_commit', null, clock.now());
