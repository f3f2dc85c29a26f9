import type { FieldFault } from '../../platform/refusal/index.ts';
import { parseMailbox, type Mailbox } from '../../protocol/address/index.ts';

export interface ReadMailboxes {
  texts: string[];
  mailboxes: Mailbox[];
}

/** Reads an address field, one address or a list; one fault per address, by its place in the list. */
export function readMailboxes(
  field: string,
  value: string | string[] | null | undefined,
  faults: FieldFault[],
): ReadMailboxes {
  const isList = Array.isArray(value);
  const texts = value === null || value === undefined ? [] : isList ? value : [value];
  const mailboxes: Mailbox[] = [];
  texts.forEach((text, i) => {
    const path = isList ? `${field}.${i}` : field;
    const parsed = parseMailbox(text);
    if (parsed.ok) mailboxes.push(parsed.mailbox);
    else faults.push({ path, message: `${path}: ${parsed.fault}` });
  });
  return { texts: texts.map((text) => text.trim()), mailboxes };
}
