import { cutText, type TlsPolicies, type TlsSession } from '../deliver/index.ts';
import { createSecureResolver, findTlsa, type SelfTestResult } from '../../platform/resolver/index.ts';
import type { World } from '../../platform/world.ts';
import { buildFinding, type Finding } from '../../platform/finding.ts';
import { BoundedMap } from '../../platform/limits/index.ts';
import { createStsPolicies } from './sts-policies.ts';

/** The resolver is tested this often; more often while DANE is off because it failed. */
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
  let state: SelfTestResult | { kind: 'untested' } = { kind: 'untested' };
  let stopTesting = (): void => {};
  let isStopped = false;

  async function test(): Promise<void> {
    if (!resolver) return;
    const result = await resolver.selfTest();
    const before = state;
    // Without an answer nothing changes: whoever can suppress one could otherwise switch DANE off.
    if (result.kind !== 'unanswered' || state.kind === 'untested') state = result;
    if (state.kind === 'does_not_validate') log.warn({ server, detail: state.detail }, 'DANE is off');
    if (result.kind === 'unanswered') log.warn({ server, detail: result.detail }, 'the resolver could not be tested');
    if (state.kind === 'validates' && before.kind !== 'validates') log.info({ server }, 'DANE is on');
    if (!isStopped) stopTesting = clock.timer(result.kind === 'validates' ? TEST_MS : RETEST_MS, () => void test());
  }

  return {
    isExempt: (domain) => exempt.has(domain),
    findSts: (domain, teamId) => (followsSts ? sts.find(domain, teamId) : Promise.resolve({ kind: 'none' })),
    findDane(teamId) {
      if (!resolver || state.kind === 'does_not_validate') return undefined;
      const lookUps = resolver.forTenant(teamId);
      return { isTested: state.kind === 'validates', mx: lookUps.mx, findTlsa: (host) => findTlsa(lookUps, host, 25) };
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
      if (state.kind === 'does_not_validate') {
        const summary = `DANE is off, because the resolver ${server} of dns.dnssec_resolver does not validate: ${state.detail}.`;
        found.push(buildFinding('dane_off', { summary }));
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
