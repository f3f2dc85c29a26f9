import { cutText, type TlsPolicies, type TlsSession } from '../deliver/index.ts';
import { createSecureResolver, findTlsa, type SelfTestResult } from '../../platform/resolver/index.ts';
import type { World } from '../../platform/world.ts';
import { buildFinding, type Finding } from '../../platform/finding.ts';
import { BoundedMap } from '../../platform/limits/index.ts';
import { createStsPolicies } from './sts-policies.ts';

/** The resolver is tested this often; more often while it does not pass. */
const TEST_MS = 86_400_000;
const RETEST_MS = 300_000;
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
  let stopTesting = (): void => {};
  let isStopped = false;

  async function test(): Promise<void> {
    if (!resolver) return;
    const result = await resolver.selfTest();
    const before = proof?.kind;
    noteResult(result);
    if (proof?.kind === 'does_not_validate') log.warn({ server, detail: proof.detail }, 'DANE is off');
    if (result.kind === 'rejects_signed') log.error({ server, detail: result.detail }, 'the resolver rejects answers');
    if (result.kind === 'unanswered') log.warn({ server, detail: result.detail }, 'the resolver could not be tested');
    if (proof?.kind === 'validates' && before !== 'validates') log.info({ server }, 'DANE is on');
    if (!isStopped) stopTesting = clock.timer(result.kind === 'validates' ? TEST_MS : RETEST_MS, () => void test());
  }

  /**
   * Turns DANE off only on proof that the resolver believes what is forged: whoever can suppress or change an answer could
   * otherwise do it.
   */
  function noteResult(result: SelfTestResult): void {
    if (result.kind === 'validates' || result.kind === 'does_not_validate') {
      proof = result;
      trouble = undefined;
      return;
    }
    // A resolver that rejects something has begun to validate.
    if (result.kind === 'rejects_signed' && proof?.kind === 'does_not_validate') proof = undefined;
    trouble = { result, since: trouble?.result.kind === result.kind ? trouble.since : clock.now() };
  }

  return {
    isExempt: (domain) => exempt.has(domain),
    findSts: (domain, teamId) => (followsSts ? sts.find(domain, teamId) : Promise.resolve({ kind: 'none' })),
    findDane(teamId) {
      if (!resolver || proof?.kind === 'does_not_validate') return undefined;
      const lookUps = resolver.forTenant(teamId);
      return { isTested: proof?.kind === 'validates', mx: lookUps.mx, findTlsa: (host) => findTlsa(lookUps, host, 25) };
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
      }
      if (trouble?.result.kind === 'rejects_signed') {
        const summary = `The resolver ${server} of dns.dnssec_resolver rejects authentic answers: ${trouble.result.detail}. Mail to signed domains waits, because DANE stays on.`;
        found.push(buildFinding('dnssec_resolver_failing', { summary, since: trouble.since }));
      }
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
