import { systemClock } from '../../platform/clock.ts';
import type { Resolver } from '../../platform/resolver/index.ts';
import { cutText } from './cut-text.ts';
import type { TlsInfo } from './delivery-job.ts';
import { planRelay } from './mx-route.ts';
import type { Relay } from './relay.ts';
import { wantsLogin } from './reply-outcome.ts';
import { openSession } from './smtp-session.ts';
import { RFC_TIMEOUTS } from './timeouts.ts';

export interface RelayExamination {
  isGood: boolean;
  /** The fault that the operator has to correct; undefined if there is none, or the relay cannot be reached at the moment. */
  fault?: 'login' | 'settings';
  /** Description of the fault at each address that was tried; empty if there was none. */
  faults: string[];
  /** The address of the relay that answered. */
  address: string | null;
  tls: TlsInfo;
  /** Commands and replies of each address that a connection was attempted to, without secrets. */
  dialogues: { address: string; transcript: string[] }[];
}

export interface ExaminationOptions {
  resolver: Resolver;
  heloName: string;
  openMs: number;
  signal: AbortSignal;
}

/** Connects to a relay and logs in as a delivery would, and sends nothing. */
export async function examineRelay(
  relay: Relay,
  { resolver, heloName, openMs, signal }: ExaminationOptions,
): Promise<RelayExamination> {
  const ended: RelayExamination = { isGood: false, faults: [], address: null, tls: null, dialogues: [] };
  const route = await planRelay(relay, { resolver });
  if (route.kind !== 'route') {
    const fault = route.reason === 'relay_misconfigured' ? { fault: 'settings' as const } : {};
    return { ...ended, ...fault, faults: [route.detail] };
  }
  for (const target of route.targets) {
    const opened = await openSession(target, {
      clock: systemClock,
      heloName: relay.heloName ?? heloName,
      openMs,
      timeouts: RFC_TIMEOUTS,
      signal,
      relay,
      tls: { policy: 'opportunistic', verifyEnforced: false, skip: false },
    });
    if (opened.kind === 'open') {
      const { connection, tls } = opened.session;
      const gone = new Promise<void>((done) => (connection.onClosed = done));
      connection.quit(RFC_TIMEOUTS.quitMs);
      await gone;
      const { address } = connection;
      const dialogues = [...ended.dialogues, { address, transcript: connection.transcript.lines() }];
      return { isGood: true, faults: ended.faults, address, tls, dialogues };
    }
    ended.faults.push(cutText(opened.detail));
    ended.address = target.address;
    if (opened.transcript) ended.dialogues.push({ address: target.address, transcript: opened.transcript });
    if (opened.reason !== 'relay_misconfigured') continue;
    ended.fault = opened.reply !== undefined && wantsLogin(opened.reply) ? 'login' : 'settings';
    // A login refused at one address of a relay is refused at the others too.
    break;
  }
  return ended;
}
