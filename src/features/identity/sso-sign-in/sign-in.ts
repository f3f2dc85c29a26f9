import { timingSafeEqual } from 'node:crypto';
import { hashToken } from '../../../platform/secrets/index.ts';
import type { World } from '../../../platform/world/index.ts';
import type { NobodyCtx } from '../../../tenancy/access/index.ts';
import { audited } from '../../../tenancy/audit/index.ts';
import { beginSession } from '../sessions/index.ts';
import {
  admit,
  domainOfAddress,
  readAddress,
  redirectUriOf,
  type Admission,
  type ProviderClaims,
  type Unadmitted,
} from '../sso/index.ts';
import { connectionById, connectionOfDomain, noteAnswer, type ConnectionRow } from '../../../tenancy/sso-rows/index.ts';
import { keepAttempt, newAttempt, takeAttempt, type Attempt } from './attempt.ts';
import { ProviderFault } from './provider-fault.ts';
import { authorizationUrl, redeem } from './redeem.ts';

/** Why a person is not signed in. */
export type SignInFault =
  | Unadmitted
  | 'bad_email'
  /** No provider speaks for the domain of the address; said of every address of it alike. */
  | 'no_sso'
  /** This browser has begun no such sign-in, or too long ago. */
  | 'no_attempt'
  | 'answered_before'
  | 'provider_down'
  | 'provider_wrong'
  /** The provider itself said no: `said` is its word. */
  | 'provider_refused';

export interface NotSignedIn {
  kind: 'refused';
  why: SignInFault;
  /** The host of the provider, where it is known. */
  provider?: string;
  said?: string;
}

/** Sends a person to the provider of the team that has proven the domain of their address. */
export async function startSignIn(
  { store, browser }: NobodyCtx<World>,
  { email, next }: { email: string; next: string | undefined },
): Promise<{ kind: 'led'; to: string } | NotSignedIn> {
  const address = readAddress(email);
  const domain = address === undefined ? undefined : domainOfAddress(address);
  if (address === undefined || domain === undefined) return { kind: 'refused', why: 'bad_email' };
  const connection = await connectionOfDomain(store.db, domain);
  if (!connection) return { kind: 'refused', why: 'no_sso' };
  const attempt = newAttempt(store, connection.id, next);
  return withProvider(store, connection, async () => {
    const to = await authorizationUrl(store, connection, {
      ...{ attempt, email: address, redirectUri: redirectUriOf(store) },
    });
    keepAttempt(store, browser, attempt);
    return { kind: 'led', to };
  });
}

/** Takes the answer of a provider, as the browser brought it, and begins a session. */
export async function finishSignIn(
  ctx: NobodyCtx<World>,
  answer: URLSearchParams,
): Promise<{ kind: 'signed_in'; next: string | undefined } | NotSignedIn> {
  const { store, browser } = ctx;
  const attempt = takeAttempt(store, browser);
  if (!attempt || !isSame(answer.get('state') ?? '', attempt.state)) return { kind: 'refused', why: 'no_attempt' };
  const isFirst = await store.db.tx((tx) => noteAnswer(tx, hashToken(attempt.state), store.clock.now()));
  if (!isFirst) return { kind: 'refused', why: 'answered_before' };
  const connection = await connectionById(store.db, attempt.connectionId);
  if (!connection) return { kind: 'refused', why: 'connection_gone' };
  const provider = hostOf(connection);
  const error = answer.get('error');
  if (error !== null && isOfIssuer(answer, connection)) {
    return { kind: 'refused', why: 'provider_refused', provider, said: error.slice(0, 100) };
  }
  return withProvider(store, connection, async () => {
    const claims = await redeem(store, connection, { attempt, answer: answerUrl(store, answer) });
    const admission = await admitAudited(ctx, connection, claims);
    if (admission.kind === 'refused') return { ...admission, provider };
    await beginSession(ctx, admission.user, async () => undefined, { ssoTeamId: admission.teamId });
    return { kind: 'signed_in', next: attempt.next };
  });
}

async function withProvider<T>(
  { log }: World,
  connection: ConnectionRow,
  work: () => Promise<T>,
): Promise<T | NotSignedIn> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ProviderFault)) throw error;
    const { issuer, team_id: teamId } = connection;
    log.warn({ err: error, issuer, teamId }, 'a sign-in through a provider failed');
    const why = error.kind === 'down' ? 'provider_down' : 'provider_wrong';
    return { kind: 'refused', why, provider: hostOf(connection) };
  }
}

/** The audit log says whom the provider has brought in, or linked; a sign-in of a person who is linked already makes no entry. */
async function admitAudited(
  { store, browser, requestId }: NobodyCtx<World>,
  connection: ConnectionRow,
  claims: ProviderClaims,
): Promise<Admission> {
  const watched = audited(store, {
    ...{ action: 'team_member.linked', team_id: connection.team_id, subject_id: null },
    ...{ actor_kind: 'user', actor_id: null, actor_name: claims.email ?? null },
    ...{ address: browser.address, user_agent: browser.userAgent.slice(0, 500), request_id: requestId },
    details: JSON.stringify({ issuer: connection.issuer, subject: claims.subject.slice(0, 255) }),
  });
  return admit(watched.store, connection.id, claims);
}

/** Another provider's refusal is nothing that this one said (RFC 9207). */
const isOfIssuer = (answer: URLSearchParams, { issuer }: ConnectionRow): boolean =>
  answer.get('iss') === null || answer.get('iss') === issuer;

function answerUrl(world: World, answer: URLSearchParams): URL {
  const url = new URL(redirectUriOf(world));
  url.search = answer.toString();
  return url;
}

const hostOf = ({ issuer }: ConnectionRow): string => URL.parse(issuer)?.host ?? issuer;

function isSame(given: string, wanted: Attempt['state']): boolean {
  const [a, b] = [Buffer.from(hashToken(given)), Buffer.from(hashToken(wanted))];
  return timingSafeEqual(a, b);
}
