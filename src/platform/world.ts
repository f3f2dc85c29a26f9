/**
 * Everything outside the program that background work may use: the Store, and the Net, which reaches other machines.
 * Created once by startApp; no code accesses the outside in any other way.
 */
import type { ApiCall } from './api-call.ts';
import type { GuardedFetch } from './fetch/index.ts';
import type { OwnConnections } from './network/index.ts';
import type { Inspector, Resolver } from './resolver/index.ts';
import type { Store } from './store.ts';

export type { Store };

/** DNS and HTTP. Rules and stores have no access to it, because they must not wait for another machine. */
export interface Net {
  resolver: Resolver;
  /** Queries a zone's own name servers, to diagnose it. */
  inspector: Inspector;
  /** HTTP to an API that the operator chose, with a credential. */
  callApi: ApiCall;
  /** HTTP to addresses that somebody else chose. */
  fetch: GuardedFetch;
  /** HTTP to the providers that teams sign in through. */
  providers: Pick<GuardedFetch, 'send'>;
  /** HTTP to the configured model server, which may be on loopback if the settings say so. */
  modelFetch: Pick<GuardedFetch, 'pool'>;
  /** HTTP to the authority that issues certificates. */
  authority: Pick<GuardedFetch, 'send'>;
  /** HTTP to the configured trace collector, which may be on loopback if the settings say so. */
  collector: Pick<GuardedFetch, 'send'>;
  /** Tracks the connections of deliveries, which may lead to one of our own ports. */
  ownConnections: OwnConnections;
}

export type World = Store & Net;
