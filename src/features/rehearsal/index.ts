/**
 * Rehearsals: an internet on this machine, with mailbox providers that limit, refuse, fail and report as real ones do,
 * so that mail can be sent to millions of readers who do not exist. Here are the profiles, which are data; `start.ts`
 * starts the servers.
 */
export { ProfileFault, checkProfile, listProfileNames, loadProfile, readProfile } from './read-profile.ts';
export type { Behaviour, DomainData, Profile, ProviderData, Stage } from './behaviour.ts';
export {
  createReceivers,
  decideFate,
  type Fate,
  listRecipients,
  type Host,
  type Receiver,
  type RehearsedDomain,
} from './receivers.ts';
export type { Seen, SeenConnection, SeenMessage, SeenRefusal, SeenReport, SeenSummary, Selection } from './seen.ts';
