import type { components } from '../../contract/index.ts';

/** What was found out about the sender of a received email, as it is kept and shown. */
export type Authentication = components['schemas']['ReceivedAuthentication'];
