import { refuse, Refusal } from '../../../platform/refusal/index.ts';
import type { Store } from '../../../platform/store/index.ts';
import { markEventRead, noteEvent, removeEventsBefore } from '../invoices/index.ts';
import { findTeam } from '../../../tenancy/teams/index.ts';
import type { EventRequest, PaymentProvider } from './payment-provider.ts';
import { readSubscription } from './read-subscription.ts';

/** Clocks differ by less; what was signed earlier has been copied and sent again. */
const SIGNED_WITHIN_MS = 300_000;
const ID_CHARS_MAX = 255;
const KEPT_MS = 30 * 86_400_000;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Takes an event of a provider. It is believed in one thing alone, that something has changed for a team: what holds is asked of
 * the provider. It returns once that is written, so that an event whose answer is lost may come again; one that was read is not
 * read twice.
 */
export async function takeEvent(store: Store, provider: PaymentProvider, request: EventRequest): Promise<void> {
  const event = await provider.readEvent(request);
  if (!event) throw unbelieved('It bears no signature of the payment provider.');
  const now = store.clock.now();
  if (Math.abs(now - event.signedAt) > SIGNED_WITHIN_MS) {
    throw unbelieved(
      'It was signed more than five minutes from now; the provider signs it anew when it sends it again.',
    );
  }
  if (event.id === '' || event.id.length > ID_CHARS_MAX) throw unbelieved('Its id must be of 1 to 255 characters.');
  const teamId = await ownTeam(store, event.teamId);
  const noted = { provider: provider.name, eventId: event.id, teamId: teamId ?? null };
  if ((await noteEvent(store.db, noted, now)).isRead) return;
  if (teamId !== undefined) await mustRead(store, provider, teamId);
  await markEventRead(store.db, noted, store.clock.now());
}

/** Events of other things, and of others who share the account of the provider, are nothing to us. */
async function ownTeam({ db }: Store, id: string | undefined): Promise<string | undefined> {
  if (id === undefined || !UUID.test(id)) return undefined;
  return (await findTeam(db, id.toLowerCase()))?.id;
}

async function mustRead(store: Store, provider: PaymentProvider, teamId: string): Promise<void> {
  try {
    await readSubscription(store, provider, teamId);
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw refuse('service_unavailable', {
      say: 'The payment provider could not be asked what has changed; send the event again.',
      because: error,
    });
  }
}

const unbelieved = (say: string): Refusal =>
  refuse('validation_error', { status: 400, say: `The event is refused. ${say}` });

/** Providers give up sending an event again long before. */
export const forgetPaymentEvents = ({ db, clock }: Store): Promise<number> =>
  removeEventsBefore(db, clock.now() - KEPT_MS);
