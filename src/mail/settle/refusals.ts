import { isReported, type Refusals } from '../../platform/finding.ts';
import { isSimulatorDomain } from '../../platform/config/index.ts';
import { replyRules } from '../../platform/reply-rules/index.ts';
import type { World } from '../../platform/world.ts';
import { CAUSES, findProvider, replyText, type ReplyCause } from '../../protocol/smtp-reply/index.ts';
import { cutText } from '../deliver/index.ts';
import type { DeliveryRow, Outcome } from '../queue/index.ts';
import { causeFor } from './conclude.ts';
import { BoundedMap } from '../../platform/limits/index.ts';

/** Refusals of fewer emails than this are an accident. */
const SEVERAL = 5;
/** Refusals are forgotten when no more come for this long. */
const RECENT_MS = 24 * 3_600_000;
/**
 * Maximum number of entries, however many receivers refuse; the receiver that refused longest ago is forgotten first.
 */
const KEPT_MAX = 1000;
/** Length of the quotation of a reply in a finding. */
const REPLY_CHARS_MAX = 200;

interface Counted extends Refusals {
  /** The first emails, as many as it takes to report them. */
  emails: Set<string>;
  lastAt: number;
}

/**
 * Counts the refusals that the operator or the owner of a sending domain can do something about, by cause and receiver.
 * The next mail that the receiver accepts clears them. In memory only: a refusal that lasts is counted again after a
 * restart.
 */
export interface RefusalCounter {
  note(row: DeliveryRow, outcomes: readonly Outcome[]): void;
  /** Lists what is worth reporting. */
  list(): Refusals[];
}

export function createRefusalCounter({ clock, config }: Pick<World, 'clock' | 'config'>): RefusalCounter {
  /** Keyed by domain or region with receiver, then by cause. */
  const counted = new BoundedMap<string, Map<ReplyCause, Counted>>(KEPT_MAX);

  function addRefusal(row: DeliveryRow, refused: Refused): void {
    const { cause, receiver, reply } = refused;
    const isOfDomain = CAUSES[cause].responsible === 'domain owner';
    const key = isOfDomain ? domainKey(row, receiver) : regionKey(row, receiver);
    const now = clock.now();
    const causes = counted.get(key) ?? new Map<ReplyCause, Counted>();
    const known = causes.get(cause);
    const before = known !== undefined && known.lastAt > now - RECENT_MS ? known : undefined;
    const emails = before?.emails ?? new Set<string>();
    if (emails.size < SEVERAL) emails.add(row.email_id);
    causes.set(cause, {
      cause,
      receiver,
      domain: isOfDomain ? { teamId: row.team_id, id: row.domain_id } : null,
      region: row.region,
      count: (before?.count ?? 0) + 1,
      since: before?.since ?? now,
      emailId: row.email_id,
      reply: cutText(reply, REPLY_CHARS_MAX),
      emails,
      lastAt: now,
    });
    counted.set(key, causes);
  }

  return {
    note(row, outcomes) {
      if (isSimulatorDomain(config, row.destination)) return;
      for (const refused of findRefusals(row, outcomes)) addRefusal(row, refused);
      if (counted.size === 0) return;
      const taken = outcomes.find((outcome) => outcome.kind === 'delivered');
      if (!taken) return;
      const receiver = nameReceiver(taken.mx, row.destination);
      counted.delete(domainKey(row, receiver));
      counted.delete(regionKey(row, receiver));
    },
    list() {
      const after = clock.now() - RECENT_MS;
      const recent = [...counted.values()]
        .flatMap((causes) => [...causes.values()])
        .filter(({ emails, lastAt }) => emails.size >= SEVERAL && lastAt > after);
      return recent.map(({ emails: _emails, lastAt: _lastAt, ...refusals }) => refusals);
    },
  };
}

interface Refused {
  cause: Refusals['cause'];
  receiver: string;
  reply: string;
}

/** Finds the refusals of one attempt, each cause once however many recipients it had. */
function findRefusals(row: DeliveryRow, outcomes: readonly Outcome[]): Refused[] {
  const found = new Map<ReplyCause, Refused>();
  for (const outcome of outcomes) {
    if (outcome.kind !== 'bounced' && outcome.kind !== 'deferred') continue;
    // A destination that is down was not contacted, and has the reply of the previous attempt.
    if (!outcome.reply || outcome.reason === 'destination_down') continue;
    const cause = causeFor(outcome);
    if (cause === undefined || !isReported(cause) || found.has(cause)) continue;
    found.set(cause, { cause, receiver: nameReceiver(outcome.mx, row.destination), reply: replyText(outcome.reply) });
  }
  return [...found.values()];
}

const domainKey = (row: DeliveryRow, receiver: string): string => `${row.team_id} ${row.domain_id} ${receiver}`;

const regionKey = (row: DeliveryRow, receiver: string): string => `${row.region} ${receiver}`;

/** Names the operator of a mail server: its provider, or else the domain that its name is in. */
function nameReceiver(mx: string | undefined, destination: string): string {
  if (mx === undefined) return destination;
  const provider = findProvider(replyRules().providers, mx);
  if (provider !== undefined) return provider;
  const labels = mx.toLowerCase().replace(/\.$/, '').split('.');
  return labels.slice(labels.length > 2 ? 1 : 0).join('.');
}
