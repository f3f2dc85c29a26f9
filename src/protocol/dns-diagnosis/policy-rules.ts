import { readStsRecord } from '../mta-sts.ts';
import { readTlsReportRecord } from '../tls-report/index.ts';
import { quoted, shapeFault, shown, type Comparison, type Observations, type Wanted } from './observations.ts';

const wrong = (sentence: string): Comparison => ({ verdict: 'wrong', sentence });

/** How a record of one kind is recognized, and one that was meant to be of it. */
interface PolicyForm {
  kind: 'BIMI' | 'DMARC' | 'MTA-STS' | 'TLS-RPT';
  version: string;
  isOne: (text: string) => boolean;
  similar: RegExp;
}

export const isDmarc = (text: string): boolean => /^v\s*=\s*DMARC1\s*(;|$)/.test(text);
/** RFC 8461 §3.1 and RFC 8460 §3 permit a blank before the semicolon and nowhere else. */
export const isSts = (text: string): boolean => /^v=STSv1[ \t]*;/.test(text);
export const isTlsReports = (text: string): boolean => /^v=TLSRPTv1[ \t]*;/.test(text);

const DMARC: PolicyForm = { kind: 'DMARC', version: 'v=DMARC1;', isOne: isDmarc, similar: /dmarc|(^|;)\s*p\s*=/i };
const STS: PolicyForm = { kind: 'MTA-STS', version: 'v=STSv1;', isOne: isSts, similar: /sts/i };
const TLS_REPORTS: PolicyForm = { kind: 'TLS-RPT', version: 'v=TLSRPTv1;', isOne: isTlsReports, similar: /tls-?rpt/i };

/** Explains why a name has no record of a kind: one is malformed, or there is none. */
export function withoutPolicy(
  wanted: Pick<Wanted, 'name'>,
  texts: readonly string[],
  { kind, version, isOne, similar }: PolicyForm,
): Comparison {
  for (const text of texts) {
    const fault = shapeFault(text, isOne);
    if (fault) return wrong(`The ${kind} record at ${wanted.name} ${fault}.`);
  }
  const meant = texts.find((text) => similar.test(text));
  if (meant === undefined) return { verdict: 'absent', sentence: null };
  return wrong(
    `The TXT record at ${wanted.name} says ${quoted(meant)}, which is no ${kind} record because it does not begin with "${version}".`,
  );
}

/** RFC 7489 §6.3: a record begins with its version, and states the policy for mail that fails. */
export function compareDmarc(wanted: Wanted, texts: readonly string[], siblings: Observations['siblings']): Comparison {
  const [policy, ...others] = texts.filter(isDmarc);
  if (policy === undefined) return withoutPolicy(wanted, texts, DMARC);
  if (others.length > 0) {
    return wrong(
      `There are ${others.length + 1} DMARC records at ${wanted.name}, so receivers follow none of them; keep one.`,
    );
  }
  const p = findTag(policy, 'p');
  if (p === undefined || !['none', 'quarantine', 'reject'].includes(p)) {
    const what = p === undefined ? 'no p= tag' : `p=${quoted(p)}`;
    return wrong(`The DMARC record at ${wanted.name} has ${what}; p must be none, quarantine or reject.`);
  }
  return {
    verdict: 'right',
    sentence: misaligned(wanted, policy, p, siblings ?? []) ?? withoutReports(wanted, policy),
  };
}

export const findTag = (text: string, tag: string): string | undefined =>
  text
    .split(';')
    .map((part) => part.split('=', 2).map((side) => side.trim().toLowerCase()))
    .find(([name]) => name === tag)?.[1];

/**
 * Our mail is signed for the domain itself, which is aligned in every mode; its return path is a subdomain, which is
 * aligned only in relaxed mode. One of the two must be aligned.
 */
function misaligned(
  wanted: Wanted,
  policy: string,
  p: string,
  siblings: NonNullable<Observations['siblings']>,
): string | null {
  const signing = siblings.filter(({ wanted: { record } }) => record === 'DKIM');
  const returnPath = siblings.filter(({ wanted: { record } }) => record === 'SPF');
  if (signing.length === 0 || signing.some(({ isRight }) => isRight)) return null;
  const from = returnPath[0]?.wanted.name ?? 'the return path';
  const isStrict = findTag(policy, 'aspf') === 's';
  if (!isStrict && returnPath.length > 0 && returnPath.every(({ isRight }) => isRight)) return null;
  const spf = isStrict ? `aspf=s does not take SPF of ${from} for ${wanted.domain}` : `SPF of ${from} is not in place`;
  const fate = p === 'none' ? 'fails DMARC' : `fails DMARC and meets p=${p}`;
  return `Mail from ${wanted.domain} ${fate}, because the DKIM record is not in place and ${spf}; publish the DKIM record first.`;
}

/** A record of the owner's own is as good; only its reports do not come here. */
function withoutReports(wanted: Wanted, policy: string): string | null {
  const [ours] = listTargets(wanted.value);
  if (ours === undefined || listTargets(policy).includes(ours)) return null;
  return `The DMARC record at ${wanted.name} is valid, but its reports are not sent to this service; to see them here, add ${shown(ours, 300)} to its rua= tag.`;
}

/** A size limit may follow an address (RFC 7489 §6.2). */
const listTargets = (policy: string): string[] =>
  (findTag(policy, 'rua') ?? '')
    .split(',')
    .map((target) => target.trim().replace(/![^!]*$/, ''))
    .filter(Boolean);

/** RFC 8460 §3: exactly one record counts. One of the owner's own is as good as ours. */
export function compareTlsReports(wanted: Wanted, texts: readonly string[]): Comparison {
  const [record, ...others] = texts.filter(isTlsReports);
  if (record === undefined) return withoutPolicy(wanted, texts, TLS_REPORTS);
  if (others.length > 0) {
    return wrong(
      `There are ${others.length + 1} TLS-RPT records at ${wanted.name}, so senders report to none of them; keep one.`,
    );
  }
  const found = readTlsReportRecord([record]);
  if (!found) {
    return wrong(
      `The TLS-RPT record at ${wanted.name} says ${quoted(record)}, which names no address for reports; it needs rua=mailto: and an address.`,
    );
  }
  const [ours] = readTlsReportRecord([wanted.value])?.rua ?? [];
  const isHere = found.rua.some(
    (target) => ours?.kind === 'mailto' && target.kind === 'mailto' && sameAddress(target.address, ours.address),
  );
  if (isHere || ours?.kind !== 'mailto') return { verdict: 'right', sentence: null };
  return {
    verdict: 'right',
    sentence: `The TLS-RPT record at ${wanted.name} is valid, but its reports are not sent to this service; to see them here, add mailto:${shown(ours.address, 300)} to its rua= field.`,
  };
}

const sameAddress = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();

/** RFC 8461 §3.1: exactly one record counts, and a sender that knows its id keeps the policy that it has. */
export function compareSts(wanted: Wanted, texts: readonly string[]): Comparison {
  const [record, ...others] = texts.filter(isSts);
  if (record === undefined) return withoutPolicy(wanted, texts, STS);
  if (others.length > 0) {
    return wrong(
      `There are ${others.length + 1} MTA-STS records at ${wanted.name}, so senders follow no policy; keep the one shown.`,
    );
  }
  const id = readStsRecord([record])?.id;
  if (id === undefined) {
    return wrong(
      `The MTA-STS record at ${wanted.name} says ${quoted(record)}, which has no id of 1 to 32 letters and digits; it must be the value shown.`,
    );
  }
  if (id === readStsRecord([wanted.value])?.id) return { verdict: 'right', sentence: null };
  return wrong(
    `The MTA-STS record at ${wanted.name} has the id ${quoted(id)} of another policy, so senders that know that one do not read the present policy; replace it with the value shown.`,
  );
}
