import type { Command } from 'commander';
import { sayNames } from '../../families/named.ts';
import { eventTypes } from '../../families/webhooks.ts';
import { act, declareCommand } from '../declare.ts';
import { addFlags } from '../declare-family.ts';

/** Declares `listen` and `replay`, which run for a while. */
export function declareStreams(webhooks: Command): void {
  const listen = declareCommand(webhooks, 'listen', {
    summary: 'get events on this machine, without a public address',
    description:
      'Streams the team’s events and posts each to an address of your choice, signed as a webhook would be, with a secret of this listener’s own that is shown at the start. Each is posted once: what your program does not take is not sent again, and cannot be replayed. Ends with Ctrl-C. With --json each event is printed as it came.',
    example: 'webhooks listen --forward-to http://localhost:8080/hook --events email.delivered,email.bounced',
  })
    .option('--forward-to <url>', 'where to post events; without it they are only printed')
    .action(act(async (session, _, options) => (await import('./listen.ts')).listenWebhooks(session, options)));
  addFlags(listen, { events: { ...eventTypes, says: 'only these types, separated by commas (default: all)' } });
  declareCommand(webhooks, 'replay', {
    summary: 'send an event again, or all that failed or were parked',
    description:
      'Sends an event once more, with the same id and the same bytes; or every event of all enabled endpoints that failed (--failed), or that was parked because its endpoint was disabled (--parked), oldest first. A team may replay ten events a minute, so many of them take their time.',
    example: 'webhooks replay --failed --parked --since 2h',
  })
    .argument('[webhook]', sayNames('webhook_id', false))
    .argument('[event]', sayNames('event_id', false))
    .option('--failed', 'all events whose ten attempts failed')
    .option('--parked', 'all events that happened or were waiting while their endpoint was disabled')
    .option(
      '--since <time>',
      'of these, not older than 30m, 2h, 7d or an ISO 8601 time (default: 24h of what failed, all that is parked)',
    )
    .option('--webhook <endpoint>', 'of these, only those of this endpoint')
    .option('--dry-run', 'only show what would be sent again')
    .action(
      act(async (session, words, options) => (await import('./replay.ts')).replayEvents(session, words, options)),
    );
}
