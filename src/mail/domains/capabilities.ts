import { refuse } from '../../platform/refusal/index.ts';
import type { Store } from '../../platform/store/index.ts';
import type { DomainRow } from './domain-rows.ts';

/** Whether mail may be sent from it now: DNS bears it out, and the team has not switched it off. */
export const maySend = (domain: DomainRow): boolean => domain.verified_at !== null && domain.sending === 'enabled';

/** Whether DNS decides over domains. In the development profile it does not: nothing leaves the machine. */
export const isDnsAsked = ({ config }: Pick<Store, 'config'>): boolean =>
  config.profile !== 'development' || !config.delivery.capture;

/** In the development profile a verified domain is not required: its own one has no DNS, and nothing leaves the machine. */
export const isVerifiedWithoutDns = (store: Store, { verified_at: at }: Pick<DomainRow, 'verified_at'>): boolean =>
  store.config.delivery.capture && at !== null;

/** A domain that does neither is for nothing. `named` is the capability that the caller asked to switch. */
export function mustBeOfUse(domain: Pick<DomainRow, 'sending' | 'receiving'>, named: 'sending' | 'receiving'): void {
  if (domain.sending === 'enabled' || domain.receiving === 'enabled') return;
  const message =
    named === 'sending'
      ? 'capabilities.sending cannot be disabled while receiving is not enabled: the domain would be for nothing; delete it instead.'
      : 'capabilities.receiving cannot be disabled while sending is disabled: the domain would be for nothing; delete it instead.';
  throw refuse('validation_error', { status: 422, say: message, errors: [{ path: `capabilities.${named}`, message }] });
}
