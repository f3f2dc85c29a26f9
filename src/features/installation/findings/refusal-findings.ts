import { isoTime } from '../../../platform/clock.ts';
import type { Executor } from '../../../platform/db/index.ts';
import type { ReplyCause } from '../../../protocol/smtp-reply/index.ts';
import {
  buildFinding,
  type Finding,
  type OperatorCause,
  type OwnerCause,
  type Refusals,
} from '../../../platform/finding.ts';
import { readDomainNames } from './findings.store.ts';

interface Remedy {
  /** Cause of the refusals, as a phrase. */
  because: string;
  words: string;
  /** Command with a placeholder for the domain or an email. */
  command: string;
}

const FOR_OPERATOR: Readonly<Record<OperatorCause, Remedy>> = {
  ptr_helo: {
    because: 'reverse DNS or the EHLO name of this server',
    words: 'On the server’s machine, see what is wrong with reverse DNS and the EHLO name, and correct it',
    command: 'rasket doctor',
  },
  ip_reputation: {
    because: 'the reputation of the address that mail is sent from',
    words: 'Find out what was sent, stop it, then ask for delisting as the reply says. Check the blocklists',
    command: 'rasket doctor',
  },
  rate: {
    because: 'the amount of mail from this server',
    words:
      'Mail is retried automatically; if the problem persists, send less at a time. As an operator, see what waits',
    command: 'rasket queue',
  },
  tls_required: {
    because: 'a connection without encryption',
    words: 'As an operator, see in the SMTP dialogue why TLS was not established',
    command: 'rasket queue explain EMAIL',
  },
  protocol: {
    because: 'the SMTP dialogue or a mail loop',
    words: 'As an operator, see in the SMTP dialogue what the mail server refused',
    command: 'rasket queue explain EMAIL',
  },
};

const RECORDS = { words: 'See what is wrong with the records of the domain', command: 'rasket domains get DOMAIN' };

const FOR_OWNER: Readonly<Record<OwnerCause, Remedy>> = {
  authentication: { because: 'its authentication (SPF, DKIM, DMARC)', ...RECORDS },
  sender_address: { because: 'the address of the sender', ...RECORDS },
  domain_reputation: {
    because: 'the reputation of the domain',
    words:
      'Send only to people who asked for your mail, and ask for delisting as the reply says. See the whole dialogue',
    command: 'rasket explain EMAIL',
  },
};

const isOwnerCause = (cause: ReplyCause): cause is OwnerCause => Object.hasOwn(FOR_OWNER, cause);

/**
 * Returns the findings of a process about refusals: one for each cause that the operator has to fix, and one that
 * contains those about sending domains, for `findRefusedDomains`.
 */
export function refusalFindings(refusals: readonly Refusals[]): Finding[] {
  const ofServer = refusals.filter(({ domain }) => domain === null);
  const ofDomains = refusals.filter(({ domain }) => domain !== null);
  return [
    ...reportEach('server_refused', ofServer, ({ receiver, region }) => `${receiver} (${region})`),
    ...(ofDomains.length === 0 ? [] : [{ ...buildFinding('domain_refused'), refusals: ofDomains }]),
  ];
}

/**
 * Returns findings about the refused domains of one team or of all teams, from the reports of all nodes; ignores
 * deleted domains.
 */
export async function findRefusedDomains(
  db: Executor,
  reported: readonly Finding[],
  teamId: string | undefined,
): Promise<Finding[]> {
  const refusals = reported
    .flatMap((finding) => finding.refusals ?? [])
    .filter(({ domain }) => teamId === undefined || domain?.teamId === teamId);
  if (refusals.length === 0) return [];
  const ids = refusals.flatMap(({ domain }) => domain?.id ?? []);
  const names = await readDomainNames(db, [...new Set(ids)]);
  const nameDomain = ({ domain }: Refusals): string => names.get(domain?.id ?? '') ?? '';
  const found = reportEach(
    'domain_refused',
    refusals.filter((one) => nameDomain(one) !== ''),
    nameDomain,
  );
  if (teamId !== undefined) return found;
  return found.map((finding) => {
    const { words, command } = finding.advice;
    return {
      ...finding,
      advice: { words: `With a key of its team, ${words.charAt(0).toLowerCase()}${words.slice(1)}`, command },
    };
  });
}

/** Number of receivers that must refuse for one cause before it is attributed to this server. */
const INDEPENDENT_MIN = 3;

/**
 * Counts receivers that are operated independently. A mail server name costs nothing, so all names below one registered
 * domain count once; under registries with three labels, too many are merged.
 */
function countIndependent(refusals: readonly Refusals[]): number {
  return new Set(refusals.map(({ receiver }) => receiver.split('.').slice(-2).join('.'))).size;
}

/** Makes one finding per cause. Its summary is about the receiver that refused most. */
function reportEach(
  code: 'server_refused' | 'domain_refused',
  refusals: readonly Refusals[],
  nameSubject: (one: Refusals) => string,
): Finding[] {
  return [...Map.groupBy(refusals, ({ cause }) => cause)].map(([cause, those]) => {
    const [most, ...others] = those.toSorted((a, b) => b.count - a.count) as [Refusals, ...Refusals[]];
    const { because, words, command } = isOwnerCause(cause) ? FOR_OWNER[cause] : FOR_OPERATOR[cause];
    const whose = code === 'domain_refused' ? `of ${nameSubject(most)} ` : '';
    const more =
      others.length === 0
        ? ''
        : ` ${others.length} more ${others.length === 1 ? 'receiver does' : 'receivers do'} the same.`;
    const isOurFault = code === 'server_refused' && countIndependent(those) >= INDEPENDENT_MIN;
    const times = `${most.count} times since ${isoTime(most.since)}`;
    return buildFinding(code, {
      severity: isOurFault ? 'error' : 'warning',
      summary: `${most.receiver} refuses mail ${whose}because of ${because} (${cause}), ${times}: ${most.reply}.${more}`,
      subjects: [...new Set(those.map((one) => `${nameSubject(one)}: ${cause}`))],
      since: Math.min(...those.map(({ since }) => since)),
      advice: {
        words,
        command: command.replace('DOMAIN', nameSubject(most)).replace('EMAIL', most.emailId),
      },
    });
  });
}
