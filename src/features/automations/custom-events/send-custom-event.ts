import type { BodyOf } from '../../../contract/index.ts';
import { enrol } from '../../../mail/events/index.ts';
import { notFound, refuse } from '../../../platform/refusal/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { contactNamed } from '../../audience/contacts/index.ts';
import { findCustomEventNamed } from './custom-events.store.ts';
import { mustBePayload } from './payload.ts';

/** Each automation that starts at it has a run for the contact when this is answered. */
export async function sendCustomEvent({ store, teamId }: Ctx, input: BodyOf<'sendEvent'>) {
  const { event: name, payload } = input;
  const contact = contactOf(input);
  await store.db.tx(async (tx) => {
    const event = await findCustomEventNamed(tx, teamId, name);
    if (!event) throw notFound('Event');
    mustBePayload(payload ?? {}, event.payload_schema);
    // Held: a contact that is erased meanwhile would leave its run behind.
    const { id: contactId } = await contactNamed(tx, teamId, contact, true);
    await enrol(tx, store.ids, [{ teamId, contactId, by: { eventId: event.id }, payload, at: store.clock.now() }]);
  });
  return { object: 'event' as const, event: name };
}

function contactOf({ contact_id: id, email }: BodyOf<'sendEvent'>): string {
  if (id !== undefined && email !== undefined) {
    const say = 'contact_id and email exclude each other; give one of them.';
    throw refuse('validation_error', { status: 422, say, errors: [{ path: 'email', message: say }] });
  }
  const named = id ?? email;
  if (named === undefined) {
    throw refuse('missing_required_field', {
      say: 'Missing required field: contact_id or email. One of them is needed.',
    });
  }
  return named;
}
