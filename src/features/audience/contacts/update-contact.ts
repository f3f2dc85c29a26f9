import type { UpdateContactRequest } from '../../../contract/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { declaredProperties } from '../contact-properties/index.ts';
import { askAnew } from './contact-topics.ts';
import { contactNamed, contactOfSegment } from './find-contact.ts';
import { carryToAddress } from './opt-outs.ts';
import { readEmail } from './read-input.ts';
import { tellOf } from './tell.ts';
import { writeChange } from './write-change.ts';

/** Within `segment`, only a contact that is in it is found. */
export async function updateContact(
  { store, teamId }: Ctx,
  name: string,
  input: UpdateContactRequest,
  segment?: string,
) {
  const { email, ...change } = input;
  const address = email === undefined ? undefined : readEmail(email);
  const id = await store.db.tx(async (tx) => {
    if (segment !== undefined) await contactOfSegment(tx, teamId, { segment, contact: name });
    const before = await contactNamed(tx, teamId, name, true);
    if (Object.values(input).every((value) => value === undefined)) return before.id;
    const declared = await declaredProperties(tx, teamId);
    let after = await writeChange(store, tx, {
      before,
      change: { ...change, email: address },
      declared,
      source: 'api',
    });
    if (after.email_key !== before.email_key) {
      after = await carryToAddress(store, tx, after, { hasConsent: input.unsubscribed === false });
      await askAnew(store, tx, after);
    }
    await tellOf(store, tx, 'contact.updated', after);
    return before.id;
  });
  return { object: 'contact' as const, id };
}
