/**
 * How each provider takes the mail of each source and sending domain. Recipients are counted in the transaction that settles
 * their deliveries, so that a process that is killed loses none. Reads sum up the counts by any of the three, and judge them.
 */
export {
  addReputationCounts,
  bringBackReputationCounts,
  claimReports,
  CAUSES_AGAINST_SOURCE,
  domainsInTrouble,
  hourAt,
  listReportedLate,
  rollReputationCounts,
  sumBySource,
  sumDomains,
  sumMailOfProviders,
  sumOutcomes,
  sumSourceDay,
  sumSubject,
  sumTeams,
  type DomainSums,
  type MailSpan,
  type MailSubject,
  type OutcomeSums,
  type ProviderMail,
  type ReputationCount,
  type ReputationKey,
} from './reputation.store.ts';
export { sumCauses, type CauseCount, type Direction, type Level, type Outcomes, type Rates } from './judge.ts';
export type { GroupBy, GroupKey, ReputationFilter } from './reputation-groups.store.ts';
export { hasSourceSent, summarizeReputation, type Days, type GroupQuery, type GroupReputation } from './summarize.ts';
