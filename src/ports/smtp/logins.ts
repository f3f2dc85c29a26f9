import type { World } from '../../platform/world/index.ts';
import { Refusal } from '../../platform/refusal/index.ts';
import { mustReach } from '../../tenancy/access/index.ts';
import { createAuthentication } from '../../tenancy/api-keys/index.ts';
import type { Credentials, Login, Session } from './door.ts';
import { createFailedLogins } from './failed-logins.ts';
import { replyTo } from './refusal-reply.ts';
import { SmtpReply } from './smtp-reply.ts';

const USER_NAMES = new Set(['rasket', 'resend']);
/** Failed logins of one connection; a program that goes on has the wrong key. */
const FAILURES_MAX = 3;
const FOR_ANOTHER =
  'Nobody acts for somebody else here; leave the authorization identity empty, or give the user name there';
/** What POST /emails requires. */
const SENDS = { permission: 'sending_access', scope: 'emails:send', role: 'member' } as const;

export interface Logins {
  /** Throws the refusal, after a delay unless it is the first failure. */
  logIn(session: Session, credentials: Credentials): Promise<Login>;
  /** Checks the login again: a key may be revoked, or its team suspended, at any time. */
  mustStillLive(login: Login): Promise<void>;
}

/** Logins with an API key as the password. */
export function createLogins(world: World): Logins {
  const authenticate = createAuthentication(world);
  const failed = createFailedLogins(world.clock, world.config.submission.failed_logins_max);
  const failures = new WeakMap<Session, number>();
  const passwords = new WeakMap<Login, string>();

  async function identify(password: string): Promise<Login> {
    const { teamId, actor } = await authenticate(password);
    const login: Login = { teamId, actor: { kind: 'smtp_credential', keyId: actor.keyId, domainId: actor.domainId } };
    mustReach(login.actor, SENDS);
    passwords.set(login, password);
    return login;
  }

  async function refuseLogin(session: Session, reply: SmtpReply): Promise<never> {
    world.mailLog.loginRefused({ address: session.remoteAddress, reason: reply.message });
    const count = (failures.get(session) ?? 0) + 1;
    failures.set(session, count);
    await failed.note(session.remoteAddress);
    if (count < FAILURES_MAX) throw reply;
    throw new SmtpReply(421, '4.7.0', `${FAILURES_MAX} logins have failed; connect again with a valid API key`);
  }

  return {
    async logIn(session, { username, password, actsFor }) {
      const found = await identify(password).catch((error: unknown) => asReply(error));
      // Only failures are limited by address: a key cannot be guessed, so a program with a wrong key must not keep out
      // others behind the same address.
      if (found instanceof SmtpReply) failed.mayTry(session.remoteAddress);
      if (found instanceof SmtpReply) return refuseLogin(session, found);
      if (!USER_NAMES.has(username.toLowerCase()) && username !== found.actor.keyId) {
        return refuseLogin(session, new SmtpReply(535, '5.7.8', 'The user name is "rasket", or the id of the API key'));
      }
      if (actsFor === '' || actsFor.toLowerCase() === username.toLowerCase()) return found;
      return refuseLogin(session, new SmtpReply(535, '5.7.8', FOR_ANOTHER));
    },
    async mustStillLive(login) {
      const found = await identify(passwords.get(login) ?? '').catch((error: unknown) => asReply(error));
      if (found instanceof SmtpReply) throw found;
    },
  };
}

function asReply(error: unknown): SmtpReply {
  if (error instanceof Refusal) return replyTo(error);
  throw error;
}
