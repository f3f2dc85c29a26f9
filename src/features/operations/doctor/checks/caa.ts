import { caaIdentities } from '../../../../protocol/acme/index.ts';
import { permitsIssuer } from '../../../../protocol/dns-diagnosis/index.ts';
import { asksForCertificates, hostNames } from '../../certificates/index.ts';
import { findingOf } from '../../findings/index.ts';
import { nothingSeen, skipped, type Check, type Examination } from '../check.ts';

const BODY_BYTES_MAX = 256 * 1024;

/** Whether the authority of the settings may issue for our names. */
export const checkCaa: Check = async (examination) => {
  const { config } = examination.world;
  if (!asksForCertificates(config)) return skipped('No authority is asked for certificates');
  const seen = nothingSeen();
  const issuers = await issuersOf(examination, new URL(config.acme.directory));
  if (typeof issuers === 'string') {
    seen.unknown.push({ says: `which CAA records let the authority issue: ${issuers}` });
    return seen;
  }
  const wrong: { name: string; at: string }[] = [];
  for (const name of hostNames(config)) {
    const isWildcard = name.startsWith('*.');
    const nearest = await nearestSet(examination, isWildcard ? name.slice(2) : name);
    if (nearest === undefined) seen.says.push(`No CAA record keeps anybody from issuing for ${name}`);
    else if ('reason' in nearest)
      seen.unknown.push({ subject: name, says: `the CAA records of ${name}: ${nearest.reason}` });
    else if (issuers.some((issuer) => permitsIssuer(nearest.records, issuer, { isWildcard })))
      seen.says.push(`The CAA records at ${nearest.at} let ${issuers.join(', ')} issue for ${name}`);
    else wrong.push({ name, at: nearest.at });
  }
  const [first] = wrong;
  if (first) {
    const issuer = issuers[0] ?? '';
    const many = wrong.map(({ name }) => name);
    const summary = `The CAA records at ${first.at} do not let ${issuer} issue for ${many.join(', ')}.`;
    const advice = {
      words: `Add the CAA record: 0 ${first.name.startsWith('*.') ? 'issuewild' : 'issue'} "${issuer}" at ${first.at}, then`,
      command: 'rasket tls renew',
    };
    seen.findings.push(findingOf('caa_forbids', { summary, subjects: many, advice }));
  }
  return seen;
};

/** RFC 8555 §9.7.6: the authority says by which names it is called in CAA records. */
async function issuersOf({ world, signal }: Examination, url: URL): Promise<string[] | string> {
  let left = BODY_BYTES_MAX;
  const limits = { signal, mayTake: (bytes: number) => (left -= bytes) >= 0 };
  const answer = await world.authority.send({ method: 'GET', url, headers: { accept: 'application/json' } }, limits);
  if (answer.kind === 'failed') return `${url.host} does not answer (${answer.fault.kind})`;
  const names = answer.status === 200 ? caaIdentities(answer.body) : [];
  return names.length === 0 ? `${url.host} does not say by which name it is called` : names;
}

/** RFC 8659 §3: the set of the nearest name upwards that has one. */
async function nearestSet({ ask }: Examination, name: string) {
  const labels = name.split('.');
  for (let at = 0; at < labels.length; at++) {
    const here = labels.slice(at).join('.');
    const answer = await ask(here, 'CAA');
    if (answer.kind === 'failed') return { reason: `${here}: ${answer.reason}` };
    if (answer.kind === 'found') return { at: here, records: answer.records };
  }
  return undefined;
}
