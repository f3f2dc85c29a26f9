/**
 * How each provider takes the mail of each source and sending domain. Recipients are counted in the transaction that settles
 * their deliveries, so that a process that is killed loses none.
 */
export {
  addReputationCounts,
  rollReputationCounts,
  sumBySource,
  sumOutcomes,
  sumSourceDay,
  type ReputationCount,
  type ReputationKey,
} from './reputation.store.ts';
