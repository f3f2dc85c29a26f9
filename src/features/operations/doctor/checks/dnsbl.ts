import { ABSENT_POINT, PRESENT_POINT, readListing, reversed } from '../../../../protocol/dnsbl/index.ts';
import { findingOf } from '../../findings/index.ts';
import { nothingSeen, skipped, whyNotSending, type Check, type Examination, type Seen } from '../check.ts';

const REASON_CHARS_MAX = 200;

interface Listed {
  address: string;
  zone: string;
  says: string;
}

/**
 * Asks each list whether it works before what it says is believed: many answer no public resolver, some ended and list the
 * whole world, and a resolver may invent answers. One list that works and has the address is enough for a finding.
 */
export const checkDnsbl: Check = async (examination) => {
  const why = whyNotSending(examination.world);
  if (why !== undefined) return skipped(why);
  const { dnsbl_zones: zones } = examination.world.config.doctor;
  if (zones.length === 0) return skipped('doctor.dnsbl_zones names none');
  const { addresses, unknown } = examination.own;
  const seen = nothingSeen();
  if (unknown !== undefined) seen.unknown.push({ says: unknown });
  const found = (await Promise.all(zones.map((zone) => askZone(examination, zone, seen)))).flat();
  if (found.length > 0) {
    const summary = `${found.map(({ address, zone, says }) => `${address} is on ${zone}${says}`).join('; ')}.`;
    const subjects = found.map(subjectOf);
    const [first] = found;
    const words = `Find out what was sent and end it, then ask for removal at ${first?.zone ?? 'the list'}; what is waiting, says`;
    const advice = { words, command: 'rasket queue' };
    seen.findings.push(findingOf('address_listed', { summary, subjects, advice }));
  } else if (addresses.length > 0 && seen.unknown.length < zones.length * addresses.length) {
    seen.says.push(`${addresses.join(', ')}: on none of the lists that answer`);
  }
  return seen;
};

const subjectOf = ({ address, zone }: Pick<Listed, 'address' | 'zone'>): string => `${address} ${zone}`;

async function askZone(examination: Examination, zone: string, seen: Seen): Promise<Listed[]> {
  const { addresses } = examination.own;
  const cannot = (address: string, says: string): void =>
    void seen.unknown.push({
      subject: subjectOf({ address, zone }),
      says: `whether ${address} is on ${zone}: ${says}`,
    });
  const fault = await faultOfZone(examination, zone);
  if (fault !== undefined) {
    for (const address of addresses) cannot(address, fault);
    return [];
  }
  const found = await Promise.all(
    addresses.map(async (address): Promise<Listed[]> => {
      const name = `${reversed(address)}.${zone}`;
      const answer = await examination.ask(name, 'A');
      if (answer.kind === 'none') return [];
      if (answer.kind === 'failed') {
        cannot(address, answer.reason);
        return [];
      }
      const listing = readListing(answer.records);
      if (listing.kind === 'listed')
        return [{ address, zone, says: ` (${listing.codes.join(', ')}${await reasonOf(examination, name)})` }];
      cannot(address, listing.kind === 'refused' ? listing.why : `it answers ${listing.said}, as no list does`);
      return [];
    }),
  );
  return found.flat();
}

/** RFC 5782 §5. */
async function faultOfZone({ ask }: Examination, zone: string): Promise<string | undefined> {
  const [present, absent] = await Promise.all(
    [PRESENT_POINT, ABSENT_POINT].map((point) => ask(`${reversed(point)}.${zone}`, 'A')),
  );
  for (const answer of [present, absent]) {
    if (answer?.kind === 'failed') return `it does not answer (${answer.reason})`;
    const listing = answer?.kind === 'found' ? readListing(answer.records) : undefined;
    if (listing?.kind === 'refused') return listing.why;
    if (listing?.kind === 'odd') return `the resolver answers ${listing.said} for it, as no list does`;
  }
  if (absent?.kind === 'found') return 'it lists every address';
  return present?.kind === 'found'
    ? undefined
    : 'it lacks its test entry: it has ended, or answers this resolver nothing';
}

/** Where to read on, as the list says. */
async function reasonOf({ ask }: Examination, name: string): Promise<string> {
  const answer = await ask(name, 'TXT');
  const text = answer.kind === 'found' ? (answer.records[0] ?? '') : '';
  const plain = text.replaceAll(/[^\x20-\x7e]/g, '').slice(0, REASON_CHARS_MAX);
  return plain === '' ? '' : `: ${plain}`;
}
