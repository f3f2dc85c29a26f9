import { findReverseDns } from '../../../../platform/resolver/index.ts';
import { findingOf } from '../../findings/index.ts';
import { nothingSeen, skipped, whyNotSending, type Check, type Examination } from '../check.ts';

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
  const found = await findReverseDns(ask, address);
  switch (found.kind) {
    case 'confirmed':
      return found;
    case 'none':
      if (await isResolverSane()) return { kind: 'wrong', says: `${address} has no name in reverse DNS` };
      return { kind: 'unknown', says: `the name of ${address}: the resolver finds nothing at all` };
    case 'elsewhere':
      return {
        kind: 'wrong',
        says: `${address} is ${found.names.join(', ')} in reverse DNS, which does not lead back to it`,
      };
    case 'unknown': {
      const what = found.names.length === 0 ? `the name of ${address}` : `where ${found.names.join(', ')} leads`;
      return { kind: 'unknown', says: `${what}: ${found.reason}` };
    }
  }
}
