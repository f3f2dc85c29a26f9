/**
 * How each provider takes the mail of each source and sending domain. Recipients are counted in the transaction that settles
 * their deliveries, so that a process that is killed loses none.
 */
export {
  addReputationCounts,
  domainsInTrouble,
  hourAt,
  listSendingDomains,
  rollReputationCounts,
  sumBySource,
  sumDomains,
  sumOutcomes,
  sumSourceDay,
  sumSubject,
  sumTeams,
  type DomainSums,
  type MailSubject,
  type OutcomeSums,
  type ReputationCount,
  type ReputationKey,
} from './reputation.store.ts';
