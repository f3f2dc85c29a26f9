import { systemClock } from '../../platform/clock/index.ts';
import type { World } from '../../platform/world/index.ts';
import type { Authentication } from '../received-emails/index.ts';
import type { Checks } from './authenticate.ts';
import type { Authenticator } from './authenticator.ts';
import { scan } from './clamd.ts';
import type { Arrival } from './inbound-message.ts';
import type { MessageContent } from './message-content.ts';
import { scoreOf, type Spam } from './rspamd.ts';
import type { Deferral } from './receive-result.ts';

/** What screening decides about a message before it is stored. */
export type ScreenResult =
  | { kind: 'keep'; authentication: Authentication; virus: string | undefined }
  /** The DMARC policy of its domain asks to refuse it; undefined: its From names no single domain. */
  | { kind: 'refuse'; domain: string | undefined }
  /** A check that decides gave no answer in time. */
  | { kind: 'defer'; deferral: Deferral };

/** Runs all checks at the same time. Only viruses and DMARC decide; the other results are stored for readers of the message. */
export async function screenMessage(
  world: World,
  { authenticate }: Authenticator,
  arrival: Arrival,
  recipients: readonly string[],
): Promise<ScreenResult> {
  const { receiving } = world.config;
  const waitMs = receiving.judge_seconds * 1000;
  if (arrival.isOwnNotice === true) {
    const authentication = { ...(await authenticate(arrival)), verdict: 'pass' as const, spam: null };
    return { kind: 'keep', authentication, virus: undefined };
  }
  const [checks, virus, spam] = await Promise.all([
    authenticate(arrival),
    virusIn(world, arrival.content, waitMs),
    spamScore(world, arrival, recipients, waitMs),
  ]);
  if (virus === NO_ANSWER) return { kind: 'defer', deferral: { why: 'no_scanner' } };
  const { result, policy, domain } = checks.dmarc;
  // Otherwise a message that is made too costly to check would get past DMARC.
  if (result === 'temperror' && receiving.dmarc === 'refuse') {
    return { kind: 'defer', deferral: { why: 'unchecked' } };
  }
  const isUnaskable = result === 'permerror' && domain === null;
  if (isUnaskable && receiving.dmarc === 'refuse') return { kind: 'refuse', domain: undefined };
  const isDisowned = result === 'fail' && (policy === 'reject' || policy === 'quarantine');
  if (isDisowned && policy === 'reject' && receiving.dmarc === 'refuse') {
    return { kind: 'refuse', domain: domain ?? '' };
  }
  const isSuspicious = ((isDisowned || isUnaskable) && receiving.dmarc !== 'keep') || spam?.is_spam === true;
  const verdict = isSuspicious ? 'suspicious' : isAuthenticated(checks) ? 'pass' : 'unauthenticated';
  return { kind: 'keep', authentication: { ...checks, verdict, spam }, virus };
}

const isAuthenticated = ({ spf, dkim, dmarc }: Checks): boolean =>
  [spf, dmarc, ...dkim].some(({ result }) => result === 'pass');

const NO_ANSWER = Symbol('no answer');

async function virusIn(
  world: World,
  content: MessageContent,
  timeoutMs: number,
): Promise<string | typeof NO_ANSWER | undefined> {
  const { clamd, clamd_down: whenDown } = world.config.receiving;
  if (clamd === '') return undefined;
  try {
    return await scan(await content.whole(), { ...hostAndPort(clamd), clock: systemClock, timeoutMs });
  } catch (error) {
    world.log.error({ err: error, whenDown }, 'clamd does not answer');
    return whenDown === 'defer' ? NO_ANSWER : undefined;
  }
}

async function spamScore(
  world: World,
  arrival: Arrival,
  recipients: readonly string[],
  timeoutMs: number,
): Promise<Spam | null> {
  const { rspamd } = world.config.receiving;
  if (rspamd === '') return null;
  const raw = await arrival.content.whole();
  return scoreOf({ ...arrival, raw }, recipients, { ...hostAndPort(rspamd), clock: systemClock, timeoutMs }).catch(
    (error: unknown) => {
      world.log.error({ err: error }, 'rspamd does not answer');
      return null;
    },
  );
}

function hostAndPort(text: string): { host: string; port: number } {
  const at = text.lastIndexOf(':');
  return { host: text.slice(0, at).replace(/^\[|\]$/g, ''), port: Number(text.slice(at + 1)) };
}
