/**
 * Everything outside the program that background work may touch: the Store, and the Net, which leads to other machines.
 * Made once by startApp; nothing reaches for the outside past it.
 */
import type { ApiCall } from './api-call.ts';
import type { GuardedFetch } from './fetch/index.ts';
import type { OwnConnections } from './network/index.ts';
import type { Inspector, Resolver } from './resolver/index.ts';
import type { Store } from './store.ts';

export type { Store };

/** DNS and HTTP. Rules and stores never see it, because they must not wait for another machine. */
export interface Net {
  resolver: Resolver;
  /** Asks a zone's own name servers, to say what is wrong with it. */
  inspector: Inspector;
  /** HTTP to an API that the operator chose, with a credential. */
  callApi: ApiCall;
  /** HTTP to addresses that somebody else chose. */
  fetch: GuardedFetch;
  /** HTTP to the providers that teams sign in through. */
  providers: Pick<GuardedFetch, 'send'>;
  /** HTTP to the server of the model that the settings name; loopback where they name that. */
  modelFetch: Pick<GuardedFetch, 'pool'>;
  /** HTTP to the authority that issues certificates. */
  authority: Pick<GuardedFetch, 'send'>;
  /** HTTP to the collector of traces that the settings name; loopback where they name that. */
  collector: Pick<GuardedFetch, 'send'>;
  /** Of deliveries, which may lead to a port of ours. */
  ownConnections: OwnConnections;
}

export type World = Store & Net;
