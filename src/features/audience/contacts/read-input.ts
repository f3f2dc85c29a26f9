import { invalidFields, refuse } from '../../../platform/refusal/index.ts';
import { normalizeAddress, parseMailbox } from '../../../protocol/address/index.ts';

/** A bare address of a body. */
export function readEmail(text: string): string {
  const parsed = parseMailbox(text);
  if (!parsed.ok) throw invalidFields([{ path: 'email', message: `email: ${parsed.fault}` }]);
  if (parsed.mailbox.name !== '') {
    throw invalidFields([{ path: 'email', message: 'email must be an address without a name.' }]);
  }
  return parsed.mailbox.address;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** The path of a contact is its id or its address. */
export function readContactName(text: string): { id: string } | { emailKey: string } {
  if (UUID.test(text)) return { id: text.toLowerCase() };
  const parsed = parseMailbox(text);
  if (parsed.ok && parsed.mailbox.name === '') return { emailKey: normalizeAddress(parsed.mailbox.address) };
  throw refuse('invalid_parameter', { say: 'A contact is named by its id or by its address.' });
}
