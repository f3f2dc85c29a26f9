import { creationTime } from '../../../platform/ids/index.ts';
import type { Store } from '../../../platform/store/index.ts';
import { normalizeAddress } from '../../../protocol/address/index.ts';
import { foldText } from '../../../protocol/contact-filter/index.ts';
import type { ContactRow } from './contacts.store.ts';
import { storedValues, type Values } from './property-values.ts';

export interface ContactFields {
  email: string;
  /** Where it is known already. */
  email_key?: string;
  first_name: string | null;
  last_name: string | null;
  unsubscribed: boolean;
  values: Values;
}

export const foldedName = (name: string | null): string | null => (name === null ? null : foldText(name));

/** What follows from the fields. */
export function columnsOf({ email, email_key, first_name, last_name, unsubscribed, values }: ContactFields) {
  return {
    email,
    email_key: email_key ?? normalizeAddress(email),
    first_name,
    last_name,
    first_name_key: foldedName(first_name),
    last_name_key: foldedName(last_name),
    unsubscribed: unsubscribed ? 1 : 0,
    ...storedValues(values),
  };
}

/**
 * Makes the row of a contact. Its time is that of the id, whose order lists and date filters follow; never later than
 * now.
 */
export function newContact(store: Store, teamId: string, fields: ContactFields): ContactRow {
  const id = store.ids.uuid();
  const at = creationTime(id, store.clock);
  return { team_id: teamId, id, ...columnsOf(fields), created_at: at, updated_at: at };
}
