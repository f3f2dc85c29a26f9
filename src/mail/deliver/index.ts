// Delivers a message to the mail servers of one destination and says, for each recipient, how that ended. It promises that the
// final dot is never written before the hand-off is durable, that a failure after the dot is never taken for retryable,
// and that network trouble comes back as an outcome, not as an exception. It never decides when to try again.
export { createCapture } from './capture.ts';
export { cutText, PEER_TEXT_CHARS_MAX } from './cut-text.ts';
export { createDeliver } from './create-deliver.ts';
export { buildDeliverOptions, chooseSource, createRelayChoice, hasDomainRelays, readRelay } from './deliver-options.ts';
export { examineRelay, type RelayExamination } from './examine-relay.ts';
export type { Relay } from './relay.ts';
export type { DeliverLimits, DeliverOptions, DeliverStats, Delivery, Egress, RelayTrouble } from './create-deliver.ts';
export type {
  BounceReason,
  Conversation,
  DeferReason,
  Deliver,
  DeliverContext,
  DeliveryJob,
  HandOff,
  OutboundMessage,
  RecipientOutcome,
  TlsInfo,
  Via,
} from './delivery-job.ts';
export type { Obstacle, SiteTarget, Traffic } from './pool.ts';
export type { CountedPolicy, DaneLookUps, SessionFault, StsResult, StsState, TlsPolicies } from './tls-policy.ts';
export type { TlsSession } from './tls-session.ts';
export {
  describeThrottle,
  findMailStream,
  type MailStream,
  type Throttle,
  type ThrottledServers,
  type Throttles,
  type ThrottleTarget,
} from './throttles.ts';
export type { OtherSources, PooledJob, Proxy, ReceiverPlace, Source, SourceChoice, Sources } from './source.ts';
export type { SmtpTimeouts } from './timeouts.ts';
export { createIpv6Readiness } from './address-family.ts';
