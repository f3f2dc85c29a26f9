import { isSameAddress } from '../../../../platform/resolver/index.ts';
import { findingOf } from '../../findings/index.ts';
import { directRegions, listed, nothingSeen, skipped, whyNotSending, type Check, type Examination } from '../check.ts';

/** Each name that is said in EHLO has to be in DNS, and should lead to an address that mail is sent from. */
export const checkHelo: Check = async (examination) => {
  const { world } = examination;
  const why = whyNotSending(world);
  if (why !== undefined) return skipped(why);
  const said = directRegions(world).map(({ helo_name: name }) => name || world.config.instance.host);
  const seen = nothingSeen();
  const wrong: { name: string; says: string }[] = [];
  for (const [name, verdict] of await Promise.all(
    [...new Set(said)].map(async (one) => [one, await judge(examination, one)] as const),
  )) {
    if (verdict.kind === 'right') seen.says.push(verdict.says);
    else if (verdict.kind === 'unknown') seen.unknown.push({ subject: name, says: verdict.says });
    else wrong.push({ name, says: verdict.says });
  }
  if (wrong.length > 0) {
    const summary = `${wrong.map(({ says }) => says).join('; ')}.`;
    seen.findings.push(findingOf('helo_name_wrong', { summary, subjects: wrong.map(({ name }) => name) }));
  }
  return seen;
};

async function judge({ ask, own, isResolverSane }: Examination, name: string) {
  const answers = await Promise.all([ask(name, 'A'), ask(name, 'AAAA')]);
  const addresses = answers.flatMap((answer) => (answer.kind === 'found' ? answer.records : []));
  const failed = answers.find((answer) => answer.kind === 'failed');
  const unknown = (what: string) => ({ kind: 'unknown' as const, says: `where ${name}, said in EHLO, leads: ${what}` });
  const leadsHere = own.addresses.some((address) => addresses.some((one) => isSameAddress(one, address)));
  if (leadsHere) return { kind: 'right' as const, says: `${name}, said in EHLO, leads here` };
  if (failed?.kind === 'failed') return unknown(failed.reason);
  if (addresses.length === 0) {
    if (!(await isResolverSane())) return unknown('the resolver finds nothing at all');
    return { kind: 'wrong' as const, says: `${name}, said in EHLO, has no address in DNS` };
  }
  if (own.addresses.length === 0 || own.unknown !== undefined) return unknown('which addresses are ours is not known');
  const there = `${name}, said in EHLO, leads to ${listed(addresses)}`;
  return { kind: 'wrong' as const, says: `${there}, and mail is sent from ${listed(own.addresses)}` };
}
