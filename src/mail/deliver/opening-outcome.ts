import type { Target } from './mx-route.ts';
import type { DeferReason, Deferral, JobOutcome } from './delivery-job.ts';
import type { Opened } from './smtp-session.ts';

export type FailedTarget = Extract<Opened, { kind: 'failed' }> & {
  mx: string;
  /** It was not tried, because its address had failed a moment ago. */
  isOld?: boolean;
  /** Why its address was down. */
  downReason?: DeferReason;
};

/** The outcome of a route whose targets have all failed. */
export function allFailed(failures: FailedTarget[]): JobOutcome {
  const detail = failures.map((failure) => failure.detail).join('; ');
  // The best host decides, but a host that replied counts before one that could not be reached.
  const tried = failures.filter((failure) => !failure.isOld);
  const among = tried.length > 0 ? tried : failures;
  const telling = among.find((failure) => failure.reply) ?? among[0];
  const reply = {
    ...(telling?.reply ? { reply: telling.reply } : {}),
    ...(telling?.cause ? { cause: telling.cause } : {}),
    ...(telling ? { mx: telling.mx } : {}),
  };
  if (failures.length > 0 && failures.every((failure) => failure.takesNoMail)) {
    return { kind: 'bounced', reason: 'takes_no_mail', detail, ...reply };
  }
  const down = telling?.downReason === undefined ? {} : { downReason: telling.downReason };
  return { kind: 'deferred', reason: telling?.reason ?? 'unreachable', detail, ...reply, ...down };
}

/** Returns the outcome for mail that is not tried after this one. */
export function asDown<V extends JobOutcome>(outcome: V): V {
  if (outcome.kind === 'bounced' || outcome.reason === 'destination_down') return outcome;
  const detail = `Not tried, because a moment ago: ${outcome.detail}`;
  return { ...outcome, reason: 'destination_down', detail, downReason: outcome.reason };
}

const OF_NO_ADDRESS: ReadonlySet<DeferReason> = new Set([
  'tls_unavailable',
  'tls_policy_unmet',
  'relay_misconfigured',
  'source_unavailable',
  'stopping',
]);

/** Returns what a failure says about all names at the address; undefined if it was about TLS, or the host takes no mail. */
export function addressOutcome({ mx, ...failure }: FailedTarget): Deferral | undefined {
  const { reason, detail, reply, takesNoMail } = failure;
  if (takesNoMail || OF_NO_ADDRESS.has(reason)) return undefined;
  return { kind: 'deferred', reason, detail, mx, ...(reply ? { reply } : {}) };
}

export function notTried(target: Target, outcome: Deferral): FailedTarget {
  const { reason, detail, reply, downReason } = asDown(outcome);
  const said = reply ? { reply } : {};
  return { kind: 'failed', reason, detail, takesNoMail: false, mx: target.host, isOld: true, downReason, ...said };
}

export function tookTooLong(target: Target, openMs: number): FailedTarget {
  const detail = `${target.host} [${target.address}]: not tried, because opening a connection took ${openMs} ms before it`;
  return { kind: 'failed', reason: 'timeout', detail, takesNoMail: false, mx: target.host, isOld: true };
}
