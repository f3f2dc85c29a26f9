import type { PostalAddress } from '../../contract/index.ts';
import type { Store } from '../../platform/store/index.ts';
import { setMissingAddress } from './teams.store.ts';

/** Nobody takes this for the address of a sender. */
const PLACEHOLDER: PostalAddress = {
  line1: 'Placeholder Street 1',
  line2: null,
  city: 'Playground',
  state: null,
  postal_code: '00000',
  country: 'US',
};

/**
 * Gives a team without a postal address a placeholder, so that its broadcasts can be sent. For the development profile alone:
 * mail that reaches people has to name where its sender is.
 */
export async function keepPlaceholderAddress(store: Store, teamId: string): Promise<void> {
  if (store.config.profile !== 'development') throw new Error('placeholder address outside the development profile');
  await setMissingAddress(store.db, teamId, JSON.stringify(PLACEHOLDER));
}
