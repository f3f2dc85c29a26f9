import { cutText, type TlsPolicies, type TlsSession } from '../deliver/index.ts';
import { createSecureResolver, findTlsa, type SelfTestResult } from '../../platform/resolver/index.ts';
import { isoTime } from '../../platform/clock.ts';
import type { World } from '../../platform/world.ts';
import { buildFinding, type Finding } from '../../platform/finding.ts';
import { BoundedMap } from '../../platform/limits/index.ts';
import { createStsPolicies } from './sts-policies.ts';

/** The resolver is asked for the signed name this often, and for the bogus one too while it does not pass. */
const CHECK_MS = 300_000;
/** A resolver that passes is asked for the bogus name this often, which others operate. */
const TEST_MS = 86_400_000;
/** A resolver that is restarted is not reported. */
const SILENT_MS = 600_000;
/** Mail that waits for the test is reported after this. */
const UNTESTED_MS = 3_600_000;
/** A resolver that does not answer must not keep the server from starting. */
const START_MS = 3_000;

const UNMET_MAX = 1000;
/** Mail that waits is tried at least this often. */
const UNMET_MS = 86_400_000;
const SUBJECTS_MAX = 20;

/** Mail to a domain that waits for a mail server that meets its policy. */
interface Unmet {
  detail: string;
  since: number;
  at: number;
}

/** A test of the resolver that proved nothing. */
interface Trouble {
  result: Extract<SelfTestResult, { kind: 'rejects_signed' | 'unanswered' }>;
  since: number;
}

export interface RecipientPolicies extends TlsPolicies {
  /** Resolves when it is known whether the resolver validates, or after some seconds. */
  start(): Promise<void>;
  /** Records how TLS went with a mail server. */
  noteSession(session: TlsSession): void;
  findings(): Finding[];
  stop(): void;
}

/** Creates the policies that deliveries follow, as the settings say. */
export function createTlsPolicies(world: World): RecipientPolicies {
  const { config, clock, log } = world;
  const { mta_sts: followsSts, tls_exceptions: exceptions } = config.delivery;
  const exempt = new Set(exceptions.map((name) => name.toLowerCase()));
  const sts = createStsPolicies(world);
  const { dnssec_resolver: server, timeout_ms: timeoutMs, tries } = config.dns;
  const resolver =
    server === '' ? undefined : createSecureResolver({ server, timeoutMs, tries, now: () => clock.now() });
  const unmet = new BoundedMap<string, Unmet>(UNMET_MAX);
  /** The last proof that the resolver validates, or that it does not. */
  let proof: Extract<SelfTestResult, { kind: 'validates' | 'does_not_validate' }> | undefined;
  let trouble: Trouble | undefined;
  /** When the resolver last passed the whole test. */
  let passedAt = -Infinity;
  let stopTesting = (): void => {};
  let isStopped = false;

  async function test(): Promise<void> {
    if (!resolver) return;
    const sincePassedMs = clock.now() - passedAt;
    const isShort = trouble === undefined && sincePassedMs >= 0 && sincePassedMs < TEST_MS;
    const result = isShort ? await resolver.testSigned() : await resolver.selfTest();
    if (result) noteResult(result);
    if (!isStopped) stopTesting = clock.timer(CHECK_MS, () => void test());
  }

  /**
   * Turns DANE off only on proof that the resolver believes what is forged: whoever can suppress or change an answer could
   * otherwise do it.
   */
  function noteResult(result: SelfTestResult): void {
    const before = proof?.kind;
    if (result.kind === 'validates' || result.kind === 'does_not_validate') {
      proof = result;
      trouble = undefined;
      passedAt = result.kind === 'validates' ? clock.now() : -Infinity;
    } else {
      // A resolver that rejects something has begun to validate.
      if (result.kind === 'rejects_signed' && proof?.kind === 'does_not_validate') proof = undefined;
      const since = trouble && isSameTrouble(result, trouble.result) ? trouble.since : clock.now();
      trouble = { result, since };
    }
    if (proof?.kind === 'does_not_validate') log.warn({ server, detail: proof.detail }, 'DANE is off');
    if (result.kind === 'rejects_signed') log.error({ server, detail: result.detail }, 'the resolver rejects answers');
    if (result.kind === 'unanswered') log.warn({ server, detail: result.detail }, 'the resolver could not be tested');
    if (proof?.kind === 'validates' && before !== 'validates') log.info({ server }, 'DANE is on');
  }

  function describeTrouble({ result, since }: Trouble): Finding[] {
    const who = `The resolver ${server} of dns.dnssec_resolver`;
    const { detail } = result;
    const elapsedMs = clock.now() - since;
    if (result.kind === 'rejects_signed') {
      const summary = `${who} rejects authentic answers: ${detail}. Mail to signed domains waits, because DANE stays on.`;
      return [buildFinding('dnssec_resolver_failing', { summary, since })];
    }
    if (result.name === 'signed') {
      if (elapsedMs < SILENT_MS) return [];
      const summary = `${who} has not answered since ${isoTime(since)}: ${detail}. All mail waits, and bounces when its retry period ends.`;
      return [buildFinding('dnssec_resolver_failing', { summary, since })];
    }
    // What has passed once stays proven.
    if (elapsedMs < UNTESTED_MS || proof?.kind === 'validates') return [];
    const summary = `${who} could not be tested since ${isoTime(since)}: ${detail}. REQUIRETLS mail that only DNSSEC could prove waits.`;
    return [buildFinding('dnssec_resolver_untested', { summary, since })];
  }

  return {
    isExempt: (domain) => exempt.has(domain),
    findSts: (domain, teamId) => (followsSts ? sts.find(domain, teamId) : Promise.resolve({ kind: 'none' })),
    findDane(teamId) {
      if (!resolver || proof?.kind === 'does_not_validate') return undefined;
      const lookUps = resolver.forTenant(teamId);
      return {
        server,
        isTested: proof?.kind === 'validates',
        mx: lookUps.mx,
        findTlsa: (host) => findTlsa(lookUps, host, 25),
      };
    },
    start: () =>
      new Promise((done) => {
        const cancel = clock.timer(START_MS, done);
        void test().then(() => {
          cancel();
          done();
        });
      }),
    noteSession({ domain, unmet: detail, results }) {
      const now = clock.now();
      if (detail !== undefined)
        unmet.set(domain, {
          detail: cutText(detail),
          since: unmet.get(domain)?.since ?? now,
          at: now,
        });
      else if (results.length > 0) unmet.delete(domain);
    },
    findings() {
      const found: Finding[] = [];
      if (proof?.kind === 'does_not_validate') {
        const summary = `DANE is off, because the resolver ${server} of dns.dnssec_resolver does not validate: ${proof.detail}.`;
        found.push(buildFinding('dane_off', { summary }));
      } else if (trouble) found.push(...describeTrouble(trouble));
      const recent = [...unmet].filter(([, { at }]) => at > clock.now() - UNMET_MS);
      const [first] = recent.toSorted(([, a], [, b]) => a.since - b.since);
      if (first) {
        const [domain, { detail, since }] = first;
        const summary = `Mail to ${domain} waits: ${detail}`;
        const subjects = recent.map(([name]) => name).slice(0, SUBJECTS_MAX);
        found.push(buildFinding('tls_policy_unmet', { summary, subjects, since }));
      }
      return found;
    },
    stop() {
      isStopped = true;
      stopTesting();
      resolver?.close();
    },
  };
}

const isSameTrouble = (result: Trouble['result'], before: Trouble['result']): boolean =>
  before.kind === result.kind &&
  (result.kind === 'rejects_signed' || (before.kind === 'unanswered' && before.name === result.name));
