import { isoTime } from '../../../platform/clock/index.ts';
import type { CertificateStanding } from '../../../platform/server-tls/index.ts';
import { findingOf, type Finding } from './finding.ts';

const DAY_MS = 86_400_000;
/** Renewals come weeks before the end; short-lived certificates are renewed at two thirds of their life. */
const EXPIRING_MS = 14 * DAY_MS;
const EXPIRING_SHARE = 1 / 5;

const here = (words: string) => ({ words: `On the server’s machine, ${words}`, command: null });

const STATUS = { words: 'As an operator, see why it was not renewed', command: 'rasket tls status' };

/** What is wrong with the certificate that our ports show. */
export function certificateFindings(
  { file, isIssued, startsAt, endsAt, fault }: CertificateStanding,
  { now, isCapturing }: { now: number; isCapturing: boolean },
): Finding[] {
  const subjects = file === '' ? [] : [file];
  const named = file === '' ? '' : ` ${file}`;
  if (fault !== undefined) {
    const unusable = { summary: `${fault}.`, subjects, advice: here('mend its files') };
    return [findingOf('certificate_unusable', unusable), ...expiry()];
  }
  return expiry();

  function expiry(): Finding[] {
    // Where no mail leaves the machine, no certificate is asked for.
    if (endsAt === undefined) return file === '' && !isCapturing ? [findingOf('certificate_self_signed')] : [];
    if (endsAt <= now) {
      const summary = `The certificate${named} expired at ${isoTime(endsAt)}.`;
      const advice = isIssued ? STATUS : here('put a renewed one in its place');
      return [findingOf('certificate_expired', { summary, subjects, since: endsAt, advice })];
    }
    const lifeMs = startsAt === undefined ? Infinity : endsAt - startsAt;
    if (endsAt - now > Math.min(EXPIRING_MS, lifeMs * EXPIRING_SHARE)) return [];
    const summary = `The certificate${named} expires at ${isoTime(endsAt)}.`;
    const advice = isIssued ? STATUS : here('renew it');
    return [findingOf('certificate_expiring', { summary, subjects, advice })];
  }
}
