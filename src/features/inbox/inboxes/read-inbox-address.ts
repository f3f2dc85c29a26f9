import { invalidField, invalidFields } from '../../../platform/refusal/index.ts';
import { normalizeAddress, parseAddress, parseDomainName } from '../../../protocol/address/index.ts';
import type { Ctx } from '../../../tenancy/access/index.ts';
import { findDomainByName, maySend, receivingNames, type DomainRow } from '../../../mail/domains/index.ts';

/** Before the domain of an inbox that has whatever its domain has no other inbox for. */
const CATCH_ALL = '*@';

export interface InboxAddress {
  address: string;
  key: string;
  domain: DomainRow;
  receivingAddress: string | null;
}

/** Reads the address of a new inbox; its domain has to send, and to receive unless the mail is forwarded here. */
export async function readInboxAddress(
  { store, teamId }: Ctx,
  { email_address: given, forwarding = false }: { email_address: string; forwarding?: boolean | undefined },
): Promise<InboxAddress> {
  const { address, key, domainName } = readAddress(given.trim());
  const domain = await findDomainByName(store.db, teamId, domainName);
  if (!domain) throw unfit(`${domainName} is no domain of this team; add it first`);
  if (!maySend(domain)) throw unfit(`${domainName} is not verified for sending, so that nobody could be answered`);
  if (!forwarding) {
    if (domain.receiving === 'enabled') return { address, key, domain, receivingAddress: null };
    throw unfit(`${domainName} does not receive mail; enable receiving for it, or say forwarding: true`);
  }
  if (key.startsWith(CATCH_ALL)) throw unfit('an inbox with forwarding needs an address, not *@ and a domain');
  const names = await receivingNames(store.db, teamId);
  const name = names.includes(domainName) ? domainName : names[0];
  if (name === undefined) {
    throw invalidField(
      'forwarding',
      'forwarding needs a domain of this team that receives mail; enable receiving for one first.',
    );
  }
  return { address, key, domain, receivingAddress: `inbox-${store.ids.hex(8)}@${name}` };
}

function readAddress(given: string): { address: string; key: string; domainName: string } {
  if (given.startsWith(CATCH_ALL)) {
    const parsed = parseDomainName(given.slice(CATCH_ALL.length));
    if (!parsed.ok) throw malformed(parsed.fault);
    const key = `${CATCH_ALL}${parsed.domain}`;
    return { address: key, key, domainName: parsed.domain };
  }
  const parsed = parseAddress(given);
  if (!parsed.ok) throw malformed(parsed.fault);
  const { address, domain } = parsed.mailbox;
  return { address, key: normalizeAddress(address), domainName: domain };
}

const malformed = (says: string) => invalidFields([{ path: 'email_address', message: `email_address: ${says}` }]);
const unfit = (says: string) => invalidField('email_address', `email_address: ${says}`);

/** Every key under which an inbox may have mail to an address; the first one that there is has it. */
export function inboxKeysOf(address: string): string[] {
  const key = normalizeAddress(address);
  const at = key.lastIndexOf('@');
  const local = key.slice(0, at);
  // A tag may stand behind an address that has a plus sign itself.
  const untagged = [local.lastIndexOf('+'), local.indexOf('+')]
    .filter((plus) => plus > 0)
    .map((plus) => `${local.slice(0, plus)}${key.slice(at)}`);
  return [key, ...untagged, `${CATCH_ALL}${key.slice(at + 1)}`];
}
