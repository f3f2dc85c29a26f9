import { reverseName } from '../../../protocol/dnsbl/index.ts';
import { findingOf } from '../../../resources/findings/index.ts';
import { isIPv6, nothingSeen, skipped, whyNotSending, type Check, type Examination } from '../check.ts';

const NAMES_MAX = 10;

type Reverse =
  | { kind: 'confirmed'; name: string }
  | { kind: 'wrong'; says: string }
  | { kind: 'unknown'; says: string };

/** Each address that mail is sent from has to have a name, and one of its names has to lead back to it. */
export const checkReverseDns: Check = async (examination) => {
  const why = whyNotSending(examination.world);
  if (why !== undefined) return skipped(why);
  const { addresses, unknown } = examination.own;
  const seen = nothingSeen();
  if (unknown !== undefined) seen.unknown.push({ says: unknown });
  const wrong: { address: string; says: string }[] = [];
  for (const [address, reverse] of await Promise.all(
    addresses.map(async (one) => [one, await judge(examination, one)] as const),
  )) {
    if (reverse.kind === 'confirmed') seen.says.push(`${address} is ${reverse.name}, which leads back to it`);
    else if (reverse.kind === 'unknown') seen.unknown.push({ subject: address, says: reverse.says });
    else wrong.push({ address, says: reverse.says });
  }
  if (wrong.length > 0) {
    const summary = `${wrong.map(({ says }) => says).join('; ')}.`;
    seen.findings.push(findingOf('reverse_dns_wrong', { summary, subjects: wrong.map(({ address }) => address) }));
  }
  return seen;
};

async function judge({ ask, isResolverSane }: Examination, address: string): Promise<Reverse> {
  const found = await ask(reverseName(address), 'PTR');
  if (found.kind === 'failed') return { kind: 'unknown', says: `the name of ${address}: ${found.reason}` };
  if (found.kind === 'none') {
    if (await isResolverSane()) return { kind: 'wrong', says: `${address} has no name in reverse DNS` };
    return { kind: 'unknown', says: `the name of ${address}: the resolver finds nothing at all` };
  }
  const names = found.records.slice(0, NAMES_MAX);
  const answers = await Promise.all(names.map((name) => ask(name, isIPv6(address) ? 'AAAA' : 'A')));
  const at = answers.findIndex(
    (answer) => answer.kind === 'found' && answer.records.some((one) => isSame(one, address)),
  );
  if (at >= 0) return { kind: 'confirmed', name: names[at] ?? '' };
  const failed = answers.find((answer) => answer.kind === 'failed');
  if (failed?.kind === 'failed') return { kind: 'unknown', says: `where ${names.join(', ')} leads: ${failed.reason}` };
  return { kind: 'wrong', says: `${address} is ${names.join(', ')} in reverse DNS, which does not lead back to it` };
}

/** One address of IPv6 has many spellings. */
export const isSame = (a: string, b: string): boolean => reverseName(a) === reverseName(b);
