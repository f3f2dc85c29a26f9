import {
  checkPermission,
  findFieldNotByApps,
  scopeOfFields,
  scopesLacking,
  type CallerKind,
  type Operation,
  type Requirement,
  type Role,
} from '../../contract/index.ts';
import { refuse, type Refusal } from '../../platform/refusal.ts';
import type { Store } from '../../platform/store.ts';
import { decideAdmission, type GrantLimits } from './grant-limits.ts';

export type Permission = 'full_access' | 'sending_access';

export type Actor =
  | { kind: 'api_key'; keyId: string; permission: Permission; domainId: string | null }
  /** A key that was the password of SMTP submission: it sends, whatever else the key may do. */
  | { kind: 'smtp_credential'; keyId: string; domainId: string | null }
  /**
   * A person who is signed in; `role` is the one in the team that the person uses at the moment, null while there is
   * none. `closedBecause` states the reason if a team is closed to this session.
   */
  | {
      kind: 'session';
      sessionId: string;
      userId: string;
      name: string;
      role: Role | null;
      closedBecause?: string;
    }
  /** Another app, acting for the team within the permissions that the person of `userId` gave it and still has. */
  | {
      kind: 'oauth_grant';
      grantId: string;
      clientId: string;
      /** The name of the app as its consent page showed it. */
      clientName: string;
      userId: string;
      name: string;
      scopes: readonly string[];
      role: Role;
      limits: GrantLimits;
      /**
       * Set for a call that a person approved: the number of subscribed contacts that its broadcast would have reached
       * at that moment; null if it sends none.
       */
      approvedContacts?: number | null;
      /** A sample of those contacts, as text. */
      approvedAudience?: string | null;
      /** Set for a call that a person approved: when the draft that it sends or publishes was last changed. */
      approvedDraftAt?: number | null;
    }
  /** An operator of the installation, with a token. Belongs to no team and cannot access one. */
  | {
      kind: 'operator';
      operatorId: string;
      name: string;
      /** True for the token that a local command creates for the account that runs it. */
      isOfMachine?: true;
    }
  /** The program itself. */
  | { kind: 'job'; name: string };

/** The identity of a credential; `teamId` is null for an operator, and for a person without a team. */
export interface Identity<Who extends Actor = Actor> {
  teamId: string | null;
  actor: Who;
}

/** The program that a person calls with: its address, and the cookies that it keeps for us. */
export interface Browser {
  address: string;
  userAgent: string;
  cookie(name: string): string | undefined;
  keep(name: string, value: string, seconds: number): void;
  forget(name: string): void;
}

/** A call of a person for something of their own, in whatever team: their teams, an invitation, signing out. */
export interface UserCtx<Held extends Store = Store> {
  store: Held;
  actor: Extract<Actor, { kind: 'session' }>;
  browser: Browser;
  requestId: string;
}

/** A call that needs no credential. */
export interface NobodyCtx<Held extends Store = Store> {
  store: Held;
  browser: Browser;
  /** The bearer token of the call; an operation with a credential of its own verifies it. */
  bearer?: string | undefined;
  requestId: string;
  /** Aborted when the caller's connection ends. */
  whenGone?: () => AbortSignal;
}

/** A call for the installation as a whole: no team is concerned. */
export interface OperatorCtx<Held extends Store = Store> {
  store: Held;
  actor: Extract<Actor, { kind: 'operator' }>;
  requestId: string;
}

/**
 * A call for one team, as nearly all are. Functions that also query DNS and make requests take a `Ctx<World>`. Callers
 * always pass the full World; the type of `Ctx` limits what a function may use.
 */
export interface Ctx<Held extends Store = Store> {
  store: Held;
  teamId: string;
  actor: Actor;
  requestId: string;
  /** Aborted when the caller's connection ends; only callers on the network have one. */
  whenGone?: () => AbortSignal;
}

/** The context of a call, by the kind of its caller; `toCallerKind` of the contract states the kind of an operation. */
export interface CtxFor<Held extends Store = Store> extends Record<CallerKind, object> {
  team: Ctx<Held>;
  user: UserCtx<Held>;
  operator: OperatorCtx<Held>;
  nobody: NobodyCtx<Held>;
}

/** Returns the refusal of work that was canceled because its caller disconnected. Only the request log sees this refusal. */
export const callerGone = (): Refusal =>
  refuse('validation_error', { status: 400, say: 'The connection ended before the request was answered.' });

/** Returns the id of the caller's key, sent by HTTP or as the password of SMTP submission. */
export const readKeyId = (actor: Actor): string | null =>
  actor.kind === 'api_key' || actor.kind === 'smtp_credential' ? actor.keyId : null;

/** Returns the one domain that a caller's key may send from; null for any of the team's. */
export const readPinnedDomain = (actor: Actor): string | null =>
  actor.kind === 'api_key' || actor.kind === 'smtp_credential' ? actor.domainId : null;

/** Returns the grant of an app; null for any other caller. */
export const readGrantId = (actor: Actor): string | null => (actor.kind === 'oauth_grant' ? actor.grantId : null);

/** Returns the name of an app; null for any other caller. */
export const readAppName = (actor: Actor): string | null => (actor.kind === 'oauth_grant' ? actor.clientName : null);

/** The contacts to whom a person approved a broadcast; nulls if nobody had to approve it. */
export interface Approved {
  contacts: number | null;
  /** A sample of them, as text. */
  audience: string | null;
}

const NOT_APPROVED: Approved = { contacts: null, audience: null };

export const readApproved = (actor: Actor): Approved =>
  actor.kind === 'oauth_grant'
    ? { contacts: actor.approvedContacts ?? null, audience: actor.approvedAudience ?? null }
    : NOT_APPROVED;

/**
 * Throws if an app would change mail of others that its limits do not let it change. Called in the transaction of a
 * change for which the app was admitted because it alone had written the draft: somebody else may have changed the
 * draft since, for example while a file was fetched.
 */
export function mustMayAlter(actor: Actor, { isOwn }: { isOwn: boolean }): void {
  if (isOwn || actor.kind !== 'oauth_grant' || decideAdmission(actor.limits, 'alters_mail') === 'may') return;
  throw refuse('invalid_permission', {
    say: 'Nothing was changed, because somebody else changed this at the same time. Read it again, and repeat the request.',
  });
}

/**
 * Refuses a caller whose credential does not reach an operation. Every listener calls this once, before the operation
 * runs.
 */
export function authorize(actor: Actor, requirement: Requirement): void {
  switch (checkPermission(actor, requirement)) {
    case 'reached':
      return;
    case 'sends_only':
      throw onlySends();
    case 'lacks_scope':
      throw lacksScope(actor.kind === 'oauth_grant' ? scopesLacking(requirement, actor.scopes) : []);
    case 'lacks_role': {
      const role = actor.kind === 'session' || actor.kind === 'oauth_grant' ? actor.role : null;
      throw refuse('invalid_permission', {
        say: `This requires the role ${requirement.role} or higher in the team; your role is ${role}.`,
      });
    }
    case 'lacks_team': {
      const reason = actor.kind === 'session' ? actor.closedBecause : undefined;
      throw refuse('invalid_permission', {
        say: reason ?? 'This route requires a team; choose the team of this session first.',
      });
    }
    case 'other_kind':
      throw notByThisCredential(describeCredential(actor.kind, requirement));
  }
}

/** Refuses an app that names fields that no app may set, or that need a second scope. */
export function authorizeFields(actor: Actor, operation: Operation, body: unknown): void {
  if (actor.kind !== 'oauth_grant') return;
  const closed = findFieldNotByApps(operation, body);
  if (closed) {
    throw refuse('invalid_permission', {
      say: `${closed.field} ${closed.does}, which no app may do; omit it. A person who is signed in, or an API key with full_access, can set it.`,
    });
  }
  const lacking = scopeOfFields(operation, body, actor.scopes);
  if (!lacking) return;
  const { field, scope } = lacking;
  throw refuse('invalid_permission', { say: `This access token lacks the scope ${scope}, which ${field} needs.` });
}

const lacksScope = (scopes: readonly string[]): Refusal =>
  refuse('invalid_permission', {
    say: `This access token lacks the ${scopes.length > 1 ? 'scopes' : 'scope'} ${scopes.join(' and ')}.`,
  });

function describeCredential(kind: Actor['kind'], { permission }: Requirement): string {
  switch (kind) {
    case 'operator':
      return 'an operator’s token; use an API key of the team';
    case 'session':
      return 'a session';
    case 'oauth_grant':
      return 'an access token';
    default:
      return `an API key${suggestCredential(permission)}`;
  }
}

function suggestCredential(permission: Requirement['permission']): string {
  if (permission === 'operator') return '; use the token of an operator';
  return permission === 'session' ? '; sign in as a person' : '';
}

const onlySends = (): Refusal =>
  refuse('restricted_api_key', {
    status: 401,
    say: 'This API key can only send emails; use a key with full_access for this route.',
  });

const notByThisCredential = (credential: string): Refusal =>
  refuse('invalid_permission', { say: `This route does not accept ${credential}.` });
